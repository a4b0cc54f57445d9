"""What positive-unlabeled classifiers share: reading `y`, the prior, the threshold, and probabilities."""

import warnings
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np
from sklearn.utils import check_random_state

from fewlabel.base import Share, parametrized
from fewlabel.calibration import calibrate_pu
from fewlabel.exceptions import PriorWarning
from fewlabel.labels import read_pu, sorted_classes
from fewlabel.prior import class_prior, largest_prior
from fewlabel.warning_filters import caller_level

__all__ = ["PositiveUnlabeled", "check_prior_fits"]

_SLACK = 0.01  # a prior this far above what the data support is not worth a warning


def check_prior_fits(prior, X, positive, *, sure=False):
    """Warn of a given prior that the data cannot support.

    Parameters
    ----------
    prior : float
    X : ndarray of shape (n_samples, n_features)
    positive : ndarray of bool of shape (n_samples,)
        The labeled positives; all other rows are unlabeled.
    sure : bool, default=False
        Whether it is known already that it is too large.
    """
    ceiling = largest_prior(X, positive)
    if prior > ceiling + _SLACK or sure:
        most = f", at most {ceiling:.2f}" if prior > ceiling else ""
        warnings.warn(
            f"prior={prior:g} is more than the data can support{most}: with so many positives, more of the unlabeled "
            "rows would look like the labeled ones. Too many rows will be called positive. Lower it, leave it out to "
            "estimate it, or check that the labeled positives are drawn like the others",
            PriorWarning,
            stacklevel=caller_level(),
        )


@parametrized
class PositiveUnlabeled:
    """Mixin before a `RankingClassifier`: rows are positive (+1) or unlabeled (0), and `prior` makes up for the rest.

    A subclass has the parameter `random_state`, and calls `_find_prior` first in its `_fit`.
    """

    _: KW_ONLY
    prior: Share | None = None
    threshold: Literal["prior", "zero"] = "prior"

    _needed_signs = (0, 1)

    def _read_labels(self, y):
        classes, positive = read_pu(y)
        classes, (_, self.positive_) = sorted_classes(classes)
        return classes, positive.astype(np.int8)

    def _find_prior(self, X, signs, weight):
        """The prior that was given, or an estimate."""
        if self.prior is not None:
            return float(self.prior)
        positive = signs > 0
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        least = 1.0 / (np.count_nonzero(~positive) + 1)
        return float(np.clip(class_prior(X, positive, seed, weight).prior, least, 1.0 - least))

    def _finish(self, X, signs, weight, scores):
        """Warn of a given prior that the data cannot support.

        Nothing is calibrated: the slope is limited by the number of rows, and one class has no labels to test it on.
        """
        if self.prior is not None:
            check_prior_fits(self.prior, X, signs > 0)

    def _make_classifier(self, scores, signs, weight):
        at_prior = self.threshold == "prior"
        self.offset_, self.calibration_ = calibrate_pu(scores, signs > 0, self.prior_, weight, at_prior=at_prior)
