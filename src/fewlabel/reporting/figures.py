"""Names of the figures that are reported, and how they are written."""

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
