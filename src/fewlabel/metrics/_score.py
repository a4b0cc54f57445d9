"""Score interval of an AUC: Wilson's interval with the effective sample sizes of the two samples."""

import math

import numpy as np
from scipy import special

from fewlabel.rows import effective_number

# Chosen on simulated scores (normal, exponential, unequal spread, tied, contaminated; AUC .5 to .99; 2 to 50 positives,
# 1 to 100 times as many negatives): the coverage of 95% intervals with 10 rows or more per sample is .92 to .98.
RATIO_UNSEEN = 0.7  # variance of the placements over A(1-A) while too few of them lie on the side to be bounded
WEIGHT_UNSEEN = 0.5  # weight of that ratio, where the data weigh (number of such placements)^3
_FREEDOM = 3.0  # degrees of freedom per row: the ratio is partly given, so that it has less noise than a variance


def score_interval(estimate, confidence):
    """Return both ends of the interval of the observed AUC."""
    high, high_weight = estimate.psi_high, estimate.weight_high
    low, low_weight = estimate.psi_low, estimate.weight_low
    auc = estimate.observed
    low_end = _low_end(auc, [(high, high_weight), (low, low_weight)], confidence)
    # Negated scores mirror the interval about 1/2.
    mirrored = _low_end(1 - auc, [(1 - high, high_weight), (1 - low, low_weight)], confidence)
    return low_end, 1 - mirrored


def _low_end(auc, samples, confidence):
    """Lower root t of (A-t)^2 = q^2 K t(1-t), with K = sum of ratio/size over the samples."""
    spread = 0.0
    # Squared parts of the spread over their degrees of freedom, for Welch's formula.
    squares = 0.0
    for psi, weight in samples:
        size = _effective_size(psi, weight)
        evidence = (size * (1 - auc)) ** 3
        ratio = (WEIGHT_UNSEEN * RATIO_UNSEEN + evidence * _ratio(psi, weight, auc)) / (WEIGHT_UNSEEN + evidence)
        part = ratio / size
        spread += part
        squares += part**2 / (_FREEDOM * max(size - 1, 1))
    # Every placement is the same and none is unseen: a constant score.
    if spread == 0:
        return auc
    # Welch's degrees of freedom of a sum of two variances.
    q = -special.stdtrit(spread**2 / squares, (1 - confidence) / 2)
    k = q**2 * spread
    half = math.sqrt(k * auc * (1 - auc) + k**2 / 4)
    return max((auc + k / 2 - half) / (1 + k), 0.0)


def _effective_size(psi, weight):
    """Number of rows that would give the same variance without weights."""
    return len(psi) if weight is None else effective_number(weight)


def _ratio(psi, weight, auc):
    """Variance of the placements over A(1-A), its largest possible value; 1 where it cannot be estimated."""
    if len(psi) < 2 or auc in (0, 1):
        return 1.0
    # A class whose weight lies on one row has size 1, and its variance would be divided by 0.
    size = max(_effective_size(psi, weight), 1 + 1e-9)
    center = np.average(psi, weights=weight)
    variance = np.average((psi - center) ** 2, weights=weight) * size / (size - 1)
    return min(variance / (auc * (1 - auc)), 1.0)
