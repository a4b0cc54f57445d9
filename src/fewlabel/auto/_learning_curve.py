"""What more labels would bring: the score over the number of labels, and a power law through it."""

import math
from typing import NamedTuple

import numpy as np

from fewlabel.auto._crossfit import Job, quietly
from fewlabel.auto._intervals import interval
from fewlabel.auto._members import PORTFOLIO

_SHARES = (0.3, 0.45, 0.67, 1.0)
_MOST_MEMBERS = 2  # the heaviest members stand for the ensemble
_LEAST_SLOPE = 0.05  # a power law flatter than this promises labels without end


class LearningCurve(NamedTuple):
    """Out-of-fold score over the number of labels.

    Attributes
    ----------
    labels : list of int
        Labeled rows that were learned from.
    scores, low, high : list of float
        Score and its 95% interval.
    slope : float
        b of the error a n^(-b); not above 0 where more labels did not help.
    error : float
        1 - score by the power law, with all labels.
    """

    labels: list
    scores: list
    low: list
    high: list
    slope: float
    error: float

    def needed(self, gain, n_labels):
        """Labels beyond `n_labels` that a score higher by `gain` would take; None if that is not to be had."""
        if self.slope < _LEAST_SLOPE or self.error <= gain:
            return None
        factor = (self.error / (self.error - gain)) ** (1 / self.slope)
        more = n_labels * (factor - 1)
        return None if more > 1000 * n_labels else int(math.ceil(more))


def learning_curve(model, X, codes, *, seed=0):
    """Score the chosen members with fewer labels than there are.

    Parameters
    ----------
    model : AutoClassifier
        Fitted to these rows.
    X : ndarray of shape (n_samples, n_features)
    codes : ndarray of int
        Position of each row's class, ``-1`` where it is not known.
    seed : int, default=0

    Returns
    -------
    LearningCurve
    """
    weights = sorted(model.ensemble_weights_.items(), key=lambda pair: -pair[1])[:_MOST_MEMBERS]
    by_name = {m.name: m for m in PORTFOLIO}
    members = [by_name[name] for name, _ in weights]
    rows, pu = model.labeled_rows_, model.prior_ is not None
    kept = rows if pu else np.arange(len(codes))
    codes = (codes == 1).astype(np.int64) if pu else codes
    letter = {"binary": "b", "multiclass": "m"}.get(model.task_, "p")
    with quietly():
        job = Job(X[kept], codes[kept], letter, members, seed, model.prior_)
        ranks = [[job.with_fewer(member, share) for member in members] for share in _SHARES]
    n_labels = int((job.y == 1).sum()) if pu else len(job.y)
    sizes, found = [], []
    for share, of_members in zip(_SHARES, ranks):
        combined = sum(w * r for r, (_, w) in zip(of_members, weights)) / sum(w for _, w in weights)
        sizes.append(round(n_labels * share * (1 - 1 / job.n_splits)))
        found.append(interval(job.y, combined, model._scorer, model.prior_, seed))
    scores = [f[0] for f in found]
    slope, error = _power_law(np.array(sizes), 1 - np.array(scores), n_labels)
    return LearningCurve(sizes, scores, [f[1] for f in found], [f[2] for f in found], slope, error)


def _power_law(sizes, errors, n):
    """Slope b of a n^(-b) by least squares of the logarithms, and the error at `n`."""
    errors = np.maximum(errors, 1e-4)
    slope, constant = np.polyfit(np.log(sizes), np.log(errors), 1)
    return float(-slope), float(np.exp(constant + slope * np.log(n)))
