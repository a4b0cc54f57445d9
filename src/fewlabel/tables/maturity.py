"""Labels that arrive late: which rows are too young for theirs to count."""

import re
from typing import Any

import numpy as np

from fewlabel.exceptions import TableError
from fewlabel.tables.kinds import as_moments

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([hdw]?)", re.IGNORECASE)
_SECONDS = {"h": 3600, "d": 86_400, "w": 604_800}


def immature(times: Any, after: str, *, name: str = "time", dayfirst: bool | None = None) -> np.ndarray:
    """Rows whose label has not had time to arrive: "no default so far" of a new loan is not a negative.

    The present is the newest time in the table. A row that is younger than `after` at that moment is immature, whatever
    its label: positives that arrived early are of the same age as negatives that did not, and to count only the former
    would make new rows look worse than old ones. A row without a time is immature, too.

    Parameters
    ----------
    times : array-like of shape (n_rows,)
        From when on the label of each row was awaited, such as the day of the loan: dates, or numbers in one unit.
    after : str
        How long a label takes: "90d", "12w" or "36h"; of numbers, a number in their unit.
    name : str, default="time"
        Name of the column, for messages.
    dayfirst : bool, default=None
        How 03/04/2024 is read, see `TableEncoder`.

    Returns
    -------
    ndarray of bool of shape (n_rows,)

    Raises
    ------
    TableError
        If the column holds neither dates nor numbers, or `after` is not a duration in its unit.

    Examples
    --------
    >>> from fewlabel.tables import immature
    >>> immature(["2024-01-01", "2024-03-01", "2024-04-30", None], "60d")
    array([False, False,  True,  True])
    """
    moments = as_moments(times, name, dayfirst)
    written = _DURATION.fullmatch(after.strip())
    are_dates = moments.dtype.kind == "M"
    if written is None or bool(written[2]) != are_dates:
        expected = "a duration such as 90d, 12w or 36h" if are_dates else "a number, in the unit of the column"
        raise TableError(f"column {name!r} holds {'dates' if are_dates else 'numbers'}: {after!r} is not {expected}")
    amount: Any = float(written[1])
    if are_dates:
        amount = np.timedelta64(round(amount * _SECONDS[written[2].lower()]), "s")
    known = ~np.isnan(moments)
    if not known.any():
        return ~known
    young = np.ones(len(moments), dtype=bool)
    young[known] = moments[known].max() - moments[known] < amount
    return young
