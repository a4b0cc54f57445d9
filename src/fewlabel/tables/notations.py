"""The notation in which a column writes its numbers or dates, found at fit and kept for new rows."""

import re

from fewlabel.exceptions import TableError
from fewlabel.parts.notations import (
    CLOCK,
    DATE_NOTATIONS,
    MONTH,
    NAMED_MONTH,
    NUMBER_NOTATIONS,
    PLAIN,
    fits_order,
    parse_date,
    parse_number,
)
from fewlabel.text import short

_FIRST = 200  # texts that are looked at before all of them
_DATE_LIKE = re.compile(r"\d{1,4}[-/.:]\d{1,2}|" + MONTH, re.IGNORECASE)
_DIGIT = re.compile(r"\d")


def find_number_notation(texts: list[str]) -> str | None:
    """Return the notation in which every text is a number, or None."""
    if _all_numbers(texts, PLAIN):
        return PLAIN
    if not all(_DIGIT.search(text) for text in texts[:_FIRST]):
        return None
    return next((notation for notation in NUMBER_NOTATIONS if _all_numbers(texts, notation)), None)


def _all_numbers(texts: list[str], notation: str) -> bool:
    for text in texts:
        number = parse_number(text, notation)
        if number != number:
            return False
    return True


def find_date_notation(texts: list[str], name: str = "", dayfirst: bool | None = None) -> str | None:
    """Return the one notation in which every text is a date, or None.

    Parameters
    ----------
    texts : list of str
        Distinct, without gaps.
    name : str
        The column, for the error.
    dayfirst : bool, default=None
        Which of two readings to take where both fit every date.

    Raises
    ------
    TableError
        If more than one order of day, month and year fits every date, and `dayfirst` does not decide.
    """
    # Most text columns end here, before they are looked at from end to end.
    if not all(_DATE_LIKE.search(text) for text in texts[:_FIRST]):
        return None
    fitting = [notation for notation in DATE_NOTATIONS if all(fits_order(text, notation) for text in texts)]
    if len(fitting) > 1 and len(texts) > 1:
        fitting = _decided(texts, fitting, name, dayfirst)
    # Whether months are named, or there are only times, is seen by reading them.
    for notation in fitting[:1] or (NAMED_MONTH, CLOCK):
        if all(parse_date(text, notation) is not None for text in texts):
            return notation
    return None


def _decided(texts: list[str], fitting: list[str], name: str, dayfirst: bool | None) -> list[str]:
    """The notation that `dayfirst` picks of several that fit every date."""
    if dayfirst is not None:
        start = "31" if dayfirst else "12"
        return [notation for notation in fitting if notation.startswith(start)] or fitting[-1:]
    raise TableError(
        f"column {short(name)!r} has dates such as {short(texts[0], 30)}, which can be read as "
        f"{' or as '.join(fitting)}: choose with --day-first or --month-first (in Python dayfirst=True or False), or "
        "write the dates as 2024-12-31"
    )
