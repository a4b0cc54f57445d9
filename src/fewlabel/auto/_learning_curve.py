"""The score as a function of the number of labels, and a power law fitted to it."""

import math
from typing import NamedTuple

import numpy as np

from fewlabel.auto._attempt import attempt
from fewlabel.auto._crossfit import TrainingRows, crossfit_with_fewer
from fewlabel.auto._intervals import interval
from fewlabel.auto._members import PORTFOLIO
from fewlabel.auto._weights import combine
from fewlabel.folds import INDEPENDENT
from fewlabel.threads import map_in_threads

_SHARES = (0.3, 0.45, 0.67, 1.0)
_MOST_MEMBERS = 2  # the heaviest members stand for the ensemble
_LEAST_SLOPE = 0.05  # below it the power law would need an unlimited number of labels


class LearningCurve(NamedTuple):
    """Out-of-fold score over the number of labels.

    Attributes
    ----------
    labels : list of int
        Number of labeled rows in the training folds.
    scores, low, high : list of float
        Score and its 95% interval.
    slope : float
        b of the error a n^(-b); 0 or less if more labels did not help.
    error : float
        1 - score with all labels, by the power law.
    """

    labels: list
    scores: list
    low: list
    high: list
    slope: float
    error: float

    def needed(self, gain, n_labels):
        """Labels beyond `n_labels` for a score higher by `gain`; None if that is out of reach."""
        if self.slope < _LEAST_SLOPE or self.error <= gain:
            return None
        factor = (self.error / (self.error - gain)) ** (1 / self.slope)
        more = n_labels * (factor - 1)
        return None if more > 1000 * n_labels else int(math.ceil(more))


def learning_curve(model, X, codes, *, sampling=INDEPENDENT, seed=0):
    """Score the chosen members with fewer labels than there are.

    Parameters
    ----------
    model : AutoClassifier
        Fitted to these rows.
    X : ndarray of shape (n_samples, n_features)
    codes : ndarray of int
        Position of each row's class, ``-1`` where it is not known.
    sampling : Sampling, default=INDEPENDENT
        Groups, time and weights that the model was fitted with.
    seed : int, default=0

    Returns
    -------
    LearningCurve or None
        None if no chosen member can be fitted to fewer labels.
    """
    by_name = {m.name: m for m in PORTFOLIO}
    chosen = sorted(model.ensemble_weights_.items(), key=lambda pair: -pair[1])
    members = [by_name[name] for name, _ in chosen]
    pu = model.prior_ is not None
    kept = model.labeled_rows_ if pu else np.arange(len(codes))
    codes = (codes == 1).astype(np.int64) if pu else codes
    rows = TrainingRows(X[kept], codes[kept], model.task_, members, seed, model.prior_, sampling.take(kept))
    ranks, weights = [], []
    for member, (_, weight) in zip(members, chosen):
        jobs = [(crossfit_with_fewer, rows, member, share) for share in reversed(_SHARES)]  # the longest one first
        found = list(map_in_threads(lambda job: attempt(*job), jobs, model.n_jobs))[::-1]
        if not any(isinstance(one, Exception) for one in found):
            ranks.append(found)
            weights.append(weight)
        if len(ranks) == _MOST_MEMBERS:
            break
    if not ranks:
        return None
    n_labels = int((rows.y == 1).sum()) if pu else len(rows.y)
    shares = np.array(weights) / sum(weights)
    sizes, found = [], []
    for share, of_members in zip(_SHARES, zip(*ranks)):
        sizes.append(round(n_labels * share * rows.training_share))
        ensemble = combine(shares, np.array(of_members))
        found.append(interval(rows.tested_y, ensemble, model._scorer, model.prior_, seed, rows.tested_sampling))
    scores, low, high = (list(column) for column in zip(*found))
    slope, error = _power_law(np.array(sizes), 1 - np.array(scores), n_labels)
    return LearningCurve(sizes, scores, low, high, slope, error)


def _power_law(sizes, errors, n):
    """Slope b of a n^(-b) by least squares of the logarithms, and the error at `n`."""
    errors = np.maximum(errors, 1e-4)
    slope, constant = np.polyfit(np.log(sizes), np.log(errors), 1)
    return float(-slope), float(np.exp(constant + slope * np.log(n)))
