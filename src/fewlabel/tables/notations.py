"""Notations: how a column writes its numbers (1.234,50 €) or dates (31/12/2024), found at fit and kept for new rows."""

import re
import warnings

import pandas as pd

from fewlabel.exceptions import TableError
from fewlabel.text import short

PLAIN, ISO, NAMED_MONTH = "1234.5", "2024-12-31", "31 Dec 2024"
# Notation of a number: decimal separator, thousands separator. The first that reads every value is taken, so 1,234 is
# one thousand two hundred and thirty-four.
_NUMBERS = {
    PLAIN: (r"\.", None),
    "1,234.5": (r"\.", ","),
    "1.234,5": (",", r"\."),
    "1 234.5": (r"\.", " "),
    "1 234,5": (",", " "),
    "1'234.5": (r"\.", "['\N{RIGHT SINGLE QUOTATION MARK}]"),
}
_SPACES = re.compile("[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}]")
_CURRENCY = r"[$\N{EURO SIGN}\N{POUND SIGN}\N{YEN SIGN}]"
# Notation of a date: the positions of year, month and day.
_DATES = {
    ISO: (0, 1, 2),
    "31/12/2024": (2, 1, 0),
    "12/31/2024": (2, 0, 1),
    "31/12/24": (2, 1, 0),
    "12/31/24": (2, 0, 1),
    "24/12/31": (0, 1, 2),
}
_YEAR_FIRST = r"\s*\d{4}([-/.])(?:0?[1-9]|1[0-2])(?:\1\d{1,2})?(?:[T ,].*)?$"
_PARTS = re.compile(r"^(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})((?:[T ,].*)?)$")
_CENTURY = 69  # two-digit years from here on are of the 20th century, as in POSIX


def find_number_notation(texts: pd.Series) -> str | None:
    """Return the notation in which every text is a number, or None."""
    if pd.to_numeric(texts, errors="coerce").notna().all():
        return PLAIN
    if not texts.iloc[:50].str.contains(r"\d").all():
        return None
    return next((name for name in _NUMBERS if _plain_numbers(texts, name).notna().all()), None)


def parse_numbers(texts: pd.Series, notation: str = PLAIN) -> pd.Series:
    """Convert texts to floats, NaN where a text is no number in this notation; "true" is 1 and "false" 0."""
    numbers = pd.to_numeric(texts if notation == PLAIN else _plain_numbers(texts, notation), errors="coerce")
    failed = numbers.isna() & texts.notna()
    if failed.any():
        # A currency sign; or a chunk of nothing but true and false, which arrives as booleans in another chunk.
        others = pd.to_numeric(_plain_numbers(texts[failed], notation))
        words = texts[failed].map(lambda v: str(v).strip().lower()).map({"true": 1.0, "false": 0.0})
        numbers = numbers.astype("float64")
        numbers[failed] = words.astype("float64").fillna(others.astype("float64"))
    return numbers


def _plain_numbers(texts: pd.Series, notation: str) -> pd.Series:
    """Texts rewritten with a decimal point and nothing else; missing where a text is not in this notation."""
    decimal, thousands = _NUMBERS[notation]
    grouped = rf"[1-9]\d{{0,2}}(?:{thousands}\d{{3}})+|" if thousands else ""
    pattern = re.compile(
        rf"^([-+]?)\s*{_CURRENCY}?\s*([-+]?)((?:{grouped}\d+)(?:{decimal}\d*)?|{decimal}\d+)((?:[eE][-+]?\d+)?)"
        rf"\s*{_CURRENCY}?$"
    )

    def rewritten(value: object) -> str | None:
        text = _SPACES.sub(" ", str(value)).strip().replace("\N{MINUS SIGN}", "-")
        found = pattern.match(text)
        if found is None or (found[1] and found[2]):
            return None
        number = re.sub(thousands, "", found[3]) if thousands else found[3]
        return found[1] + found[2] + re.sub(decimal, ".", number) + found[4]

    return texts.astype(object).map(rewritten, na_action="ignore")


def find_date_notation(texts: pd.Series, dayfirst: bool | None = None) -> str | None:
    """Return the one notation in which every text is a date, or None.

    Parameters
    ----------
    texts : Series of str
        Without gaps. Its name stands in the error.
    dayfirst : bool, default=None
        Which of two readings to take where both fit every date.

    Raises
    ------
    TableError
        If more than one order of day, month and year fits every date, and `dayfirst` does not decide.
    """
    if not texts.iloc[:200].str.contains(r"\d{1,4}[-/.:]\d{1,2}").all():  # pandas reads more than this as dates
        return None
    fitting = [name for name in _DATES if _fits(texts.iloc[:200], name) and _fits(texts, name)]
    if not fitting:
        named = texts.iloc[:200].str.contains(r"[A-Za-z]{3}").all() and texts.str.contains(r"\d{4}").all()
        fitting = [NAMED_MONTH] if named else []
    if len(fitting) > 1 and texts.nunique() > 1:
        fitting = _decided(texts, fitting, dayfirst)
    return fitting[0] if fitting and parse_dates(texts, fitting[0]).notna().all() else None


def _decided(texts: pd.Series, fitting: list[str], dayfirst: bool | None) -> list[str]:
    """The notation that `dayfirst` picks of several that fit every date."""
    if dayfirst is not None:
        start = "31" if dayfirst else "12"
        return [name for name in fitting if name.startswith(start)] or fitting[-1:]
    raise TableError(
        f"column {short(texts.name)!r} has dates such as {short(texts.iloc[0], 30)}, which can be read as "
        f"{' or as '.join(fitting)}: choose with --day-first or --month-first (in Python dayfirst=True or False), or "
        "write the dates as 2024-12-31"
    )


def parse_dates(texts: pd.Series, notation: str = ISO) -> pd.Series:
    """Convert texts to dates without a time zone; what is neither in this notation nor year-month-day is missing."""
    if notation == NAMED_MONTH:
        return _to_dates(texts.where(texts.str.contains(r"[A-Za-z]{3}", na=False)))
    year_first = texts.where(texts.str.match(_YEAR_FIRST, na=False))
    return _to_dates(year_first if notation == ISO else year_first.fillna(_year_first(texts, notation)))


def _fits(texts: pd.Series, notation: str) -> bool:
    return bool(texts.str.match(_YEAR_FIRST).all() if notation == ISO else _year_first(texts, notation).notna().all())


def _year_first(texts: pd.Series, notation: str) -> pd.Series:
    """Texts rewritten as year-month-day and the time; missing where a text is not in this notation."""
    year_length = 4 if "2024" in notation else 2

    def rewritten(text: str) -> str | None:
        found = _PARTS.match(text.strip())
        if found is None:
            return None
        year, month, day = ((found[1], found[3], found[4])[k] for k in _DATES[notation])
        if len(year) != year_length or not 1 <= int(month) <= 12 or not 1 <= int(day) <= 31:
            return None
        if year_length == 2:
            year = str(int(year) + (2000 if int(year) < _CENTURY else 1900))
        return f"{year}-{month:0>2}-{day:0>2}{found[5]}"

    return texts.astype(object).map(rewritten, na_action="ignore")


def _to_dates(texts: pd.Series) -> pd.Series:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dates = pd.to_datetime(texts, errors="coerce", utc=True, format="mixed")
    return dates.dt.tz_localize(None)
