"""The score as a function of the number of labels, and a power law fitted to it."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fewlabel.auto.attempts import attempt
from fewlabel.auto.crossfit import Training, crossfit
from fewlabel.auto.intervals import interval
from fewlabel.auto.members import PORTFOLIO
from fewlabel.auto.weights import combine, find_scorer
from fewlabel.prior import PriorEstimate
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


def learning_curve(model, rows, *, seed=0):
    """Score the chosen members with fewer labels than there are.

    Parameters
    ----------
    model : AutoClassifier
        Fitted to these rows.
    rows : Rows
        `X` holds numbers; with two classes, the positive one has code 1.
    seed : int, default=0

    Returns
    -------
    LearningCurve or None
        None if no chosen member can be fitted to fewer labels.
    """
    by_name = {m.name: m for m in PORTFOLIO}
    heaviest_first = sorted(model.ensemble_weights_, key=lambda name: -model.ensemble_weights_[name])
    members = [by_name[name] for name in heaviest_first]
    only_positives = model.prior_ is not None
    prior = None
    if only_positives:
        # The fit may have left out some of the unlabeled rows.
        positives = (rows.codes == 1).astype(np.int64)
        rows = replace(rows, codes=positives).take(model.labeled_rows_)
        prior = PriorEstimate(model.prior_, *model.prior_interval_, {}, model.prior_)
    training = Training(rows, model.task_, members, seed, prior, model.directions())
    ranks = {}
    for member in members:
        of_shares = _ranks_by_share(training, member, model.n_jobs)
        if of_shares is not None:
            ranks[member.name] = of_shares
        if len(ranks) == _MOST_MEMBERS:
            break
    if not ranks:
        return None
    n_labels = int((training.y == 1).sum()) if only_positives else len(training.y)
    weights = np.array([model.ensemble_weights_[name] for name in ranks])
    scorer = find_scorer(model.scoring if model.prior_ is None else "roc_auc")
    sizes = []
    intervals = []
    for k, share in enumerate(_SHARES):
        sizes.append(round(n_labels * share * training.training_share))
        ensemble = combine(weights / weights.sum(), np.array([of_shares[k] for of_shares in ranks.values()]))
        intervals.append(interval(training.tested_rows, ensemble, scorer, prior, seed, kind=model.interval))
    scores = [score for score, _, _ in intervals]
    low = [end for _, end, _ in intervals]
    high = [end for _, _, end in intervals]
    slope, error = _power_law(np.array(sizes), 1 - np.array(scores), n_labels)
    return LearningCurve(sizes, scores, low, high, slope, error)


def _ranks_by_share(training, member, n_jobs):
    """Ranks with each share of the labels; None if a fit fails."""

    def rank(share):
        return attempt(crossfit, training, member, 1, share)

    # The longest first, so that threads end at about the same time.
    longest_first = list(map_in_threads(rank, _SHARES[::-1], n_jobs))
    if any(isinstance(one, Exception) for one in longest_first):
        return None
    return [evidence.ranks for evidence in longest_first[::-1]]


def _power_law(sizes, errors, n):
    """Slope b of a n^(-b) by least squares of the logarithms, and the error at `n`."""
    errors = np.maximum(errors, 1e-4)
    slope, constant = np.polyfit(np.log(sizes), np.log(errors), 1)
    return float(-slope), float(np.exp(constant + slope * np.log(n)))
