"""Names of the figures that are reported, and how they are written."""

import math
from typing import Any

import numpy as np
import pandas as pd

from fewlabel.decisions import Estimate
from fewlabel.types import PlainDict

# In the order in which they are shown.
FIGURES = {
    "auc": "AUC",
    "accuracy": "accuracy",
    "share": "rows flagged",
    "precision": "precision",
    "recall": "recall",
    "lift": "lift",
    "cost": "cost per row",
}
_PERCENT = ("accuracy", "agrees", "share", "flagged", "precision", "recall")


def estimate_text(name: str, estimate: PlainDict | None) -> str:
    """A figure with its interval; "" if there is none.

    Examples
    --------
    >>> from fewlabel.reporting import estimate_text
    >>> estimate_text("recall", {"value": 0.5, "low": 0.25, "high": 0.75})
    '50.0% (25.0% to 75.0%)'
    >>> estimate_text("share", {"value": 0.1, "low": 0.1, "high": 0.1})  # counted, not estimated
    '10.0%'
    """
    if estimate is None:
        return ""
    value, low, high = number_texts(name, estimate)
    return value if low == high else f"{value} ({low} to {high})"


def number_texts(name: str, estimate: PlainDict) -> list[str]:
    """Value, low and high of a figure as texts."""
    form = "{:.1%}" if name in _PERCENT else "{:.3f}"
    return [form.format(estimate[part]) for part in ("value", "low", "high")]


def end_text(end: float, positives_only: bool) -> str:
    """The upper end of an interval of a score: without labeled negatives nothing shows a perfect one.

    Examples
    --------
    >>> from fewlabel.reporting.figures import end_text
    >>> end_text(1.0, positives_only=False), end_text(1.0, positives_only=True), end_text(0.987, positives_only=True)
    ('1.000', '1', '0.987')
    """
    text = f"{end:.3f}"
    return "1" if positives_only and text == "1.000" else text


def signed(number: float, digits: int = 3) -> str:
    """Format a number with its sign, a minus sign rather than a hyphen, and no sign on zero.

    Examples
    --------
    >>> from fewlabel.reporting.figures import signed
    >>> signed(0.0123), signed(-0.5), signed(-0.0001)
    ('+0.012', '−0.500', '0.000')
    """
    text = f"{number:+.{digits}f}"
    # Rounded to zero: a sign would claim a direction.
    if float(text) == 0:
        return text[1:]
    return text.replace("-", "\N{MINUS SIGN}")


def plain(value: Any) -> Any:
    """Values as JSON can hold them: dicts, lists, texts, finite numbers, booleans and None.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.decisions import Estimate
    >>> from fewlabel.reporting.figures import plain
    >>> plain({"a": np.array([1, 2]), "b": Estimate(0.5, np.float64(0.25), 1.0), "c": float("nan")})
    {'a': [1, 2], 'b': {'value': 0.5, 'low': 0.25, 'high': 1.0}, 'c': None}
    """
    if isinstance(value, Estimate):
        # A page holds hundreds of them.
        return {name: _rounded(number) for name, number in value._asdict().items()}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


def _rounded(number: float) -> float | None:
    return None if math.isnan(number) else round(float(number), 6)


def value_text(value: Any, digits: int = 4) -> str:
    """A value of a table, for people; "" if it is missing.

    Examples
    --------
    >>> from fewlabel.reporting import value_text
    >>> value_text(3.14159), value_text(None), value_text(["a", 1])
    ('3.142', '', "['a', 1]")
    """
    # Lists are values, too, and pandas would look for gaps in them.
    if value is None or (np.isscalar(value) and pd.isna(value)):
        return ""
    return f"{value:.{digits}g}" if isinstance(value, (float, np.floating)) else str(value)
