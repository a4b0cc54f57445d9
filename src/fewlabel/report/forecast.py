"""What more labels would add, as far as the learning curve and its intervals say anything about it."""

from typing import Any

import numpy as np

from fewlabel.auto import AutoClassifier, LearningCurve, learning_curve
from fewlabel.rows import Rows

_GAIN = 0.01


def forecast(auto: AutoClassifier, encoded: Rows, n: int, name: str, seed: int) -> dict[str, Any] | None:
    """The learning curve and a sentence on it; None if no method could be fitted to fewer labels.

    Parameters
    ----------
    auto : AutoClassifier
        Fitted to these rows.
    encoded : Rows
    n : int
        Number of labels.
    name : str
        Of the score.
    seed : int
    """
    curve = learning_curve(auto, encoded, seed=seed)
    if curve is None:
        return None
    more = curve.needed(_GAIN, n) if _rises(curve) else None
    ahead: list[int] = []
    if curve.slope > 0 and _rises(curve):
        furthest = min(n + more, 8 * n) if more is not None else 4 * n
        ahead = sorted({int(v) for v in np.geomspace(n, max(furthest, n + 1), 12)})
    return {
        "labels": curve.labels,
        "scores": [float(np.clip(s, 0, 1)) for s in curve.scores],
        "low": curve.low,
        "high": curve.high,
        "ahead_labels": ahead,
        "ahead_scores": [float(1 - curve.error * (v / n) ** -curve.slope) for v in ahead],
        "more_labels": more,
        "gain": _GAIN,
        "score_name": name,
        "text": _sentence(curve, more, auto.headline_["low"], n, name),
    }


def _rises(curve: LearningCurve) -> bool:
    """Whether the score with all labels is higher than with few of them by more than chance."""
    return curve.low[-1] > curve.scores[0]


def _sentence(curve: LearningCurve, more: int | None, certain: float, n: int, name: str) -> str:
    if curve.error <= _GAIN and certain >= 1 - _GAIN:
        return f"By this curve, the {name} is already within {_GAIN} of 1: more labels can hardly improve it."
    if curve.error <= _GAIN:
        return (
            f"By this curve, the {name} is near 1, but {n} labels only show that it is {certain:.2f} or more, so no "
            "forecast is made."
        )
    if more is None:
        return "The score does not rise clearly with the number of labels, so no forecast is made."
    return f"By this curve, +{_GAIN} {name} takes about {_rough(more)} more labels."


def _rough(number: int) -> str:
    """Round to two significant digits."""
    digits = max(len(str(number)) - 2, 0)
    return f"{round(number, -digits):,}"
