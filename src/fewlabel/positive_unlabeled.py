"""What positive-unlabeled classifiers share: reading `y`, the prior, the threshold, and probabilities."""

import numbers
import warnings

import numpy as np
from sklearn.utils import check_random_state

from fewlabel.base import Interval, StrOptions
from fewlabel.calibration import calibrate_pu
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
        classes, positive = read_pu(y)
        return classes, positive.astype(np.int8)

    def _find_prior(self, X, signs, weight):
        """The prior that was given, or an estimate; warns of a given one that the data cannot support."""
        positive = signs > 0
        if self.prior is None:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            least = 1.0 / (np.count_nonzero(~positive) + 1)
            return float(np.clip(class_prior(X, positive, seed, weight), least, 1.0 - least))
        ceiling = largest_prior(X, positive)
        if self.prior > ceiling + _SLACK:
            warnings.warn(
                f"prior={self.prior:g} is more than the data can support, at most {ceiling:.2f}: with so many "
                "positives, more of the unlabeled rows would look like the labeled ones. Too many rows will be "
                "called positive. Lower it, leave it out to estimate it, or check that the labeled positives are "
                "drawn like the others",
                PriorWarning,
                stacklevel=5,
            )
        return float(self.prior)

    def _make_classifier(self, scores, signs, weight):
        at_prior = self.threshold == "prior"
        self.offset_, self.calibration_ = calibrate_pu(scores, signs > 0, self.prior_, weight, at_prior=at_prior)
