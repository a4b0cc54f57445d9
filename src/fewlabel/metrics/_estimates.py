"""AUC estimates from positives and negatives, positives and unlabeled rows, or unlabeled rows and negatives.

Write :math:`A_{PN}` for the AUC, the probability that a positive scores above a negative (ties count one half). With
:math:`\\theta_P` the share of positives among the unlabeled rows and :math:`\\theta_N = 1 - \\theta_P`, the other two
kinds of pairs determine it as well:

.. math::
    A_{PU} = \\theta_N A_{PN} + \\theta_P / 2, \\qquad A_{UN} = \\theta_P A_{PN} + \\theta_N / 2 .
"""

import math
from typing import NamedTuple

import numpy as np

from fewlabel import labels
from fewlabel.checks import check_share, is_number
from fewlabel.kernels.ranks import placements, variance_of_mean, weighted_placements
from fewlabel.metrics._inputs import PRIOR_MEANING, read_score, read_weight
from fewlabel.metrics._newcombe import newcombe_interval


class Estimate(NamedTuple):
    """The observed AUC of one sample against another, and the linear map from it to the AUC of P against N."""

    pairs: str
    psi_high: np.ndarray
    psi_low: np.ndarray
    shift: float = 0.0
    scale: float = 1.0
    prior_sd: float = 0.0
    weight_high: np.ndarray | None = None
    weight_low: np.ndarray | None = None

    @property
    def sizes(self):
        """Sizes of the two samples."""
        return len(self.psi_high), len(self.psi_low)

    @property
    def observed(self):
        """AUC of the two samples."""
        return float(np.average(self.psi_high, weights=self.weight_high))

    @property
    def auc(self):
        """AUC of positives against negatives."""
        return (self.observed - self.shift) / self.scale

    @property
    def prior_error(self):
        """Standard error of `auc` due to `prior_sd`; P-U and U-N differ in the sign of the slope only."""
        return self.prior_sd * abs(self.observed - 0.5) / self.scale**2

    def delong_variance(self):
        """DeLong's variance of `observed`; 0 where it cannot be estimated."""
        if min(self.sizes) < 2:
            return 0.0
        return variance_of_mean(self.psi_high) + variance_of_mean(self.psi_low)

    def variance(self):
        """Variance of `auc`; never 0, because a perfect ranking of two rows is not certain knowledge."""
        variance = self.delong_variance()
        if variance == 0:
            # Half of Newcombe's 95% interval is two standard errors.
            low, high = newcombe_interval(self.observed, *self.sizes, z=2.0)
            variance = ((high - low) / 4) ** 2
        return variance / self.scale**2 + self.prior_error**2


def estimate(pairs, high, low, prior=None, prior_sd=0.0):
    """Return the estimate from the scores of two samples; `high` should rank above `low`."""
    psi_high, psi_low = placements(high, low)
    if pairs == "pn":
        return Estimate(pairs, psi_high, psi_low)
    # Sakai et al. (2018): the observed AUC is a mixture with 1/2, for pairs of the same class.
    scale = 1 - prior if pairs == "pu" else prior
    return Estimate(pairs, psi_high, psi_low, (1 - scale) / 2, scale, prior_sd)


def weighted_estimate(y_true, y_score, sample_weight):
    """Return the estimate from labeled positives and negatives with weights; rows of weight 0 are left out."""
    signs = labels.read_binary(y_true).signs
    score = read_score(y_score, len(signs), "y_score")
    weight = read_weight(sample_weight, len(signs))
    labels.require_weight(signs[weight > 0], {1: "positive row", -1: "negative row"})
    high = (signs > 0) & (weight > 0)
    low = (signs < 0) & (weight > 0)
    psi_high, psi_low = weighted_placements(score[high], score[low], weight[high], weight[low])
    return Estimate("pn", psi_high, psi_low, weight_high=weight[high], weight_low=weight[low])


def read_estimate(y_true, y_score, pairs, prior, prior_sd):
    """Return the estimate from the requested pairs; for "auto" the one with the smallest variance."""
    if not (is_number(prior_sd) and 0 <= prior_sd < math.inf):
        raise ValueError(f"prior_sd={prior_sd!r} should be a number >= 0, the standard error of prior")
    if prior is not None:
        prior = check_share("prior", prior, PRIOR_MEANING)
    elif pairs != "pn":
        raise ValueError(
            f"pairs={pairs!r} needs prior, the share of positives among the unlabeled rows; pairs='pn' does not"
        )
    samples = _read_samples(y_true, y_score, pu=pairs == "pu")
    n_unlabeled = len(samples["u"])
    if pairs in ("pu", "un") and not n_unlabeled:
        raise ValueError(f"pairs={pairs!r} needs unlabeled rows, y_true has none: use pairs='pn'")
    requested = [pairs]
    if pairs == "auto":
        requested = ["pn", "pu", "un"] if n_unlabeled else ["pn"]
    estimates = [estimate(kind, samples[kind[0]], samples[kind[1]], prior, prior_sd) for kind in requested]
    return min(estimates, key=Estimate.variance)


def _read_samples(y_true, y_score, pu):
    """Scores of the positives, negatives and unlabeled rows."""
    read = labels.read(y_true)
    if pu and not (len(read.classes) == 2 and (read.codes < 0).any()):
        # Without labeled negatives beside unlabeled rows, y has its positive-unlabeled meaning.
        signs = labels.read_pu(y_true).positive.astype(np.int8)
    else:
        signs = labels.read_binary(y_true).signs
    score = read_score(y_score, len(signs), "y_score")
    return {"p": score[signs > 0], "n": score[signs < 0], "u": score[signs == 0]}
