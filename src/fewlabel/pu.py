"""What positive-unlabeled classifiers share: reading `y`, the prior, the threshold, and probabilities."""

import math
import numbers
import warnings

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.utils import check_random_state

from fewlabel.base import Interval, StrOptions
from fewlabel.exceptions import PriorWarning
from fewlabel.labels import read_pu
from fewlabel.prior import class_prior, largest_prior

__all__ = ["PositiveUnlabeled"]

_SLACK = 0.01  # a prior this far above what the data support is not worth a warning


class PositiveUnlabeled:
    """Mixin before a `RankingClassifier`: rows are positive (+1) or unlabeled (0), and `prior` makes up for the rest.

    A subclass has the parameters `prior`, `threshold` and `random_state`, and calls `_find_prior` first in its `_fit`.
    """

    _needed_signs = (0, 1)
    _prior_constraints: dict = {
        "prior": [Interval(numbers.Real, 0, 1, closed="neither"), None],
        "threshold": [StrOptions({"prior", "zero"})],
    }

    def _read_labels(self, y):
        classes, positive, hidden = read_pu(y)
        return _two_classes(classes, hidden), positive.astype(np.int8)

    def _find_prior(self, X, signs):
        """The prior that was given, or an estimate; warns of a given one that the data cannot support."""
        positive = signs > 0
        if self.prior is None:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            least = 1.0 / (np.count_nonzero(~positive) + 1)
            return float(np.clip(class_prior(X, positive, seed), least, 1.0 - least))
        ceiling = largest_prior(X, positive)
        if self.prior > ceiling + _SLACK:
            warnings.warn(
                f"prior={self.prior:g} is more than the data can support: were so many of the unlabeled "
                "rows positive, "
                f"more of them would look like the labeled ones (at most {ceiling:.2f}). Lower it, leave "
                "it out to have it "
                "estimated, or check that the labeled positives are drawn like the others",
                PriorWarning,
                stacklevel=5,
            )
        return float(self.prior)

    def _make_classifier(self, scores, signs, weight):
        weight = np.ones(len(scores)) if weight is None else weight
        positive, unlabeled = signs > 0, signs == 0
        of_unlabeled, u_weight = _in_order(scores[unlabeled], weight[unlabeled])
        if scores.min() == scores.max():  # nothing was learned: the more likely class
            self.offset_, self.calibration_ = logit(self.prior_) - scores[0], np.array([1.0, 0.0])
            return
        cut = _prior_cut(of_unlabeled, u_weight, self.prior_) if self.threshold == "prior" else 0.0
        self.offset_ = -cut
        of_positive, p_weight = _in_order(scores[positive], weight[positive])
        surest = math.log1p(math.fsum(weight))
        slope = _pu_slope(of_positive - cut, p_weight, of_unlabeled - cut, u_weight, self.prior_, surest)
        self.calibration_ = np.array([slope, 0.0])


def _two_classes(classes, hidden):
    """Name the class of the rows that are not positive, where `y` does not."""
    if len(classes) == 2:
        return classes
    positive = classes[0]
    if len(hidden) == 1:
        negative = hidden[0]
    elif isinstance(positive, (bool, np.bool_)):
        negative = not positive
    elif isinstance(positive, str):
        negative = f"not {positive}"
    else:
        negative = 0 if positive != 0 else 1
    if isinstance(positive, str):
        return np.array([negative, positive], dtype=object)
    return np.array([negative, positive], dtype=classes.dtype)


def _in_order(scores, weight):
    order = np.lexsort((weight, scores))  # sums then do not depend on the order of the rows
    return scores[order], weight[order] / math.fsum(weight)


def _prior_cut(scores, weight, prior):
    """The cut between sorted scores above which a share of the unlabeled rows lies that is nearest to the prior."""
    last = np.flatnonzero(np.diff(scores) > 0)  # a cut parts different scores
    if len(last) == 0:  # the positives lie apart from all unlabeled rows
        return scores[0]
    above = 1.0 - np.cumsum(weight)[last]
    k = last[np.argmin(np.abs(above - prior))]
    middle = 0.5 * scores[k] + 0.5 * scores[k + 1]
    return scores[k] if middle >= scores[k + 1] else middle


def _pu_slope(p, p_weight, u, u_weight, prior, surest):
    r"""Slope :math:`a \ge 0` of the log-odds :math:`a \cdot decision` that minimizes the unbiased logistic PU risk.

    .. math:: \overline{\log(1 + e^{a u})} - \pi\, a\, \overline{p}

    It is cut short where the log-odds of a training row would exceed `surest`.
    """
    furthest = max(np.abs(p).max(), np.abs(u).max())
    if furthest < np.finfo(float).tiny:  # nothing to be sure of, and dividing by it would overflow
        return 0.0
    pull = prior * float(p_weight @ p)

    def gradient(slope):
        return float(u_weight @ (expit(slope * u) * u)) - pull

    steepest = surest / furthest
    if gradient(0.0) >= 0:
        return steepest * 1e-3
    return steepest if gradient(steepest) <= 0 else brentq(gradient, 0.0, steepest, xtol=1e-12 * steepest)
