"""Notations: how texts write numbers (1.234,50 €), dates (31/12/2024) and booleans, read one text at a time."""

import functools
import math
import re
from datetime import datetime, timedelta

from fewlabel.files import MISSING

PLAIN = "1234.5"
ISO = "2024-12-31"
NAMED_MONTH = "31 Dec 2024"
CLOCK = "23:59"
# Notation of a number: decimal separator, thousands separator. The first that reads every value is taken, so 1,234 is
# one thousand two hundred and thirty-four.
NUMBER_NOTATIONS = {
    PLAIN: (r"\.", None),
    "1,234.5": (r"\.", ","),
    "1.234,5": (",", r"\."),
    "1 234.5": (r"\.", " "),
    "1 234,5": (",", " "),
    "1'234.5": (r"\.", "['\N{RIGHT SINGLE QUOTATION MARK}]"),
}
# Notation of a date: the positions of year, month and day.
DATE_NOTATIONS = {
    ISO: (0, 1, 2),
    "31/12/2024": (2, 1, 0),
    "12/31/2024": (2, 0, 1),
    "31/12/24": (2, 1, 0),
    "12/31/24": (2, 0, 1),
    "24/12/31": (0, 1, 2),
}
TRUE_WORDS = frozenset({"true", "yes", "t", "y", "1", "1.0"})
FALSE_WORDS = frozenset({"false", "no", "f", "n", "0", "0.0"})
# Texts that stand for a missing value among categories and words, as in skrub.
NULL_TEXTS = (MISSING - {""}) | {"none", "?", "..."}

_SPACES = re.compile("[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}]")
_CURRENCY = r"[$\N{EURO SIGN}\N{POUND SIGN}\N{YEN SIGN}]"
_CENTURY = 69  # two-digit years from here on are of the 20th century, as in POSIX
_LONGEST_DATE = 100  # characters; longer texts are none, and are not kept in the cache
_KEPT_DATES = 50_000
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})(?:\2(\d{1,2}))?((?:[T ,].*)?)", re.ASCII)
_THREE_PARTS = re.compile(r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})((?:[T ,].*)?)", re.ASCII)
_TIME = re.compile(
    r"[T ,]\s*(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,9}))?)?)?\s*(?:([ap])\.?m\.?)?"
    r"\s*(z|utc|gmt|[-+]\d{2}(?::?\d{2})?)?",
    re.ASCII | re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = r"(" + "|".join(_MONTHS) + r")[a-z]{0,6}"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}[\s,.]+)?"
_BETWEEN = r"[\s.,/-]+"
# Also 31DEC2024, and Dec 2024 for its first day.
_DAY_FIRST = re.compile(
    rf"{_WEEKDAY}(?:{_DAY}[\s.,/-]*)?{MONTH}[\s.,/-]*(\d{{4}})((?:[T ,].*)?)", re.ASCII | re.IGNORECASE
)
_MONTH_FIRST = re.compile(
    rf"{_WEEKDAY}{MONTH}{_BETWEEN}{_DAY}{_BETWEEN}(\d{{4}})((?:[T ,].*)?)", re.ASCII | re.IGNORECASE
)
# "Tue Dec 31 10:00:00 2024": the year stands behind the time.
_YEAR_LAST = re.compile(r"(.*\s)(\d{1,2}:\d{2}\S*(?:\s[-+]?\w{3,5})?)\s(\d{4})", re.ASCII)
_MIDNIGHT = datetime(1900, 1, 1)  # the day of a time without one, as in strptime


def parse_number(text: str, notation: str = PLAIN) -> float:
    """The number that a text writes in a notation; NaN if there is none.

    Examples
    --------
    >>> from fewlabel.parts.notations import parse_number
    >>> parse_number("1.234,50 \N{EURO SIGN}", "1.234,5"), parse_number("1,5")
    (1234.5, nan)
    """
    # Python would read 1_000.
    if notation == PLAIN and "_" not in text:
        try:
            return float(text)
        except ValueError:
            pass
    decimal, thousands = NUMBER_NOTATIONS[notation]
    cleaned = _SPACES.sub(" ", text).strip().replace("\N{MINUS SIGN}", "-")
    match = _number_pattern(notation).fullmatch(cleaned)
    if match is None:
        return math.nan
    sign, second_sign, digits, exponent = match.groups()
    if sign and second_sign:
        return math.nan
    if thousands:
        digits = re.sub(thousands, "", digits)
    return float(sign + second_sign + re.sub(decimal, ".", digits) + exponent)


@functools.cache
def _number_pattern(notation):
    decimal, thousands = NUMBER_NOTATIONS[notation]
    grouped = rf"[1-9]\d{{0,2}}(?:{thousands}\d{{3}})+|" if thousands else ""
    return re.compile(
        rf"([-+]?)\s*{_CURRENCY}?\s*([-+]?)((?:{grouped}\d+)(?:{decimal}\d*)?|{decimal}\d+)((?:[eE][-+]?\d+)?)"
        rf"\s*{_CURRENCY}?"
    )


def as_number(text: str, notation: str = PLAIN) -> float:
    """As `parse_number`, of a column that is known to hold numbers: "true" is 1, and "false" 0."""
    number = parse_number(text, notation)
    if math.isnan(number):
        # Booleans in another file of the same table.
        number = {"true": 1.0, "false": 0.0}.get(text.strip().lower(), math.nan)
    return number


def as_boolean(text: str) -> float:
    """1 or 0 for the usual words, NaN for all others."""
    word = text.strip().lower()
    if word in TRUE_WORDS:
        return 1.0
    return 0.0 if word in FALSE_WORDS else math.nan


def is_null(text: str) -> bool:
    """Whether a text stands for a missing value."""
    return text in NULL_TEXTS or not text or text.isspace()


def parse_date(text: str, notation: str = ISO) -> datetime | None:
    """The moment that a text writes, in UTC without a time zone; None if there is none.

    Parameters
    ----------
    text : str
    notation : str
        A name of `DATE_NOTATIONS`, `NAMED_MONTH` or `CLOCK`, for times of the day. Dates with the year first are read
        in all but the last two.

    Examples
    --------
    >>> from fewlabel.parts.notations import parse_date
    >>> print(parse_date("31/12/2024 10:30", "31/12/2024"), parse_date("9999-12-31"))
    2024-12-31 10:30:00 9999-12-31 00:00:00
    """
    if len(text) > _LONGEST_DATE:
        return None
    return _parse_date(text.strip(), notation)


@functools.lru_cache(maxsize=_KEPT_DATES)
def _parse_date(text, notation):
    try:
        if notation == CLOCK:
            return _at_time(_MIDNIGHT, f" {text}") if ":" in text else None
        if notation == NAMED_MONTH:
            return _by_name(text)
        return _by_order(text, ISO) or (None if notation == ISO else _by_order(text, notation))
    except (ValueError, OverflowError):  # the 30th of February; the year 0; a time zone beyond the year 9999
        return None


def fits_order(text: str, notation: str) -> bool:
    """Whether a text is three numbers in the order of a date notation, with or without a time."""
    return len(text) <= _LONGEST_DATE and _ordered_parts(text.strip(), notation) is not None


def _by_name(text):
    text = _YEAR_LAST.sub(r"\1\3 \2", text)
    match = _DAY_FIRST.fullmatch(text)
    if match is not None:
        day, month, year, rest = match.groups()
    else:
        match = _MONTH_FIRST.fullmatch(text)
        if match is None:
            return None
        month, day, year, rest = match.groups()
    return _at_time(datetime(int(year), _MONTHS.index(month.lower()) + 1, int(day or 1)), rest)


def _by_order(text, notation):
    parts = _ordered_parts(text, notation)
    if parts is None:
        return None
    year, month, day, rest = parts
    return _at_time(datetime(year, month, day), rest)


def _ordered_parts(text, notation):
    """Year, month, day and what follows; None if the text is not in this notation."""
    if notation == ISO:
        match = _YEAR_FIRST.fullmatch(text)
        if match is None:
            return None
        year = int(match[1])
        month = int(match[3])
        day = int(match[4] or 1)
        return (year, month, day, match[5]) if 1 <= month <= 12 else None
    match = _THREE_PARTS.fullmatch(text)
    if match is None:
        return None
    written = (match[1], match[3], match[4])
    year, month, day = (written[position] for position in DATE_NOTATIONS[notation])
    if len(year) != (4 if "2024" in notation else 2) or not 1 <= int(month) <= 12 or not 1 <= int(day) <= 31:
        return None
    century = 0 if len(year) == 4 else 2000 if int(year) < _CENTURY else 1900
    return century + int(year), int(month), int(day), match[5]


def _at_time(day, rest):
    """A day and the time that follows it, in UTC; None if it is no time."""
    if not rest.strip(" ,"):
        return day
    match = _TIME.fullmatch(rest)
    if match is None:
        return None
    hour, minute, second, fraction, half, zone = match.groups()
    hour = int(hour)
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "pP" else 0)
    moment = day.replace(
        hour=hour,
        minute=int(minute or 0),
        second=int(second or 0),
        microsecond=int((fraction or "0")[:6].ljust(6, "0")),
    )
    if zone is None or zone.isalpha():
        return moment
    sign = -1 if zone[0] == "-" else 1
    hours = int(zone[1:3])
    minutes = int(zone[3:].lstrip(":") or 0)
    return moment - sign * timedelta(hours=hours, minutes=minutes)
