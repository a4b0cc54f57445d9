"""What more labels would add, as far as the learning curve and its intervals say anything about it."""

import numpy as np

from fewlabel.auto import AutoClassifier, LearningCurve, learning_curve
from fewlabel.rows import Rows
from fewlabel.types import PlainDict

_GAIN = 0.01
_FURTHEST = 8  # times the present labels: the power law is not trusted beyond
_N_AHEAD = 12


def forecast(auto: AutoClassifier, encoded: Rows, n: int, name: str, seed: int) -> PlainDict | None:
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
    more, text = _outlook(curve, auto.headline_["low"], n, name)
    ahead: list[int] = []
    if more is not None:
        furthest = min(n + more, _FURTHEST * n)
        # Even steps on the logarithmic axis of the figure.
        steps = np.geomspace(n, max(furthest, n + 1), _N_AHEAD)
        ahead = sorted(set(steps.astype(int).tolist()))
    scores_ahead = [float(1 - curve.error * (v / n) ** -curve.slope) for v in ahead]
    return {
        "labels": curve.labels,
        "scores": np.clip(curve.scores, 0, 1).tolist(),
        "low": curve.low,
        "high": curve.high,
        "ahead_labels": ahead,
        "ahead_scores": scores_ahead,
        "more_labels": more,
        "gain": _GAIN,
        "score_name": name,
        "text": text,
    }


def _outlook(curve: LearningCurve, certain: float, n: int, name: str) -> tuple[int | None, str]:
    """Labels that a gain takes, and a sentence on it; without a forecast there is no number either."""
    if curve.error <= _GAIN and certain >= 1 - _GAIN:
        return None, f"By this curve, the {name} is already within {_GAIN} of 1: more labels can hardly improve it."
    if curve.error <= _GAIN:
        text = (
            f"By this curve, the {name} is near 1, but {n} labels only show that it is {certain:.2f} or more, so no "
            "forecast is made."
        )
        return None, text
    # The score with all labels has to be higher than with few of them by more than chance.
    rises = curve.low[-1] > curve.scores[0]
    more = curve.needed(_GAIN, n) if rises else None
    if more is None:
        return None, "The score does not rise clearly with the number of labels, so no forecast is made."
    return more, f"By this curve, +{_GAIN} {name} takes about {rough(more)} more labels."


def rough(number: int) -> str:
    """Round to two significant digits."""
    digits = max(len(str(number)) - 2, 0)
    return f"{round(number, -digits):,}"
