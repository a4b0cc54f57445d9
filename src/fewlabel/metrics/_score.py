"""Score interval of an AUC: Wilson's interval with the effective sample sizes of the two samples."""

import math

import numpy as np
from scipy import special

# Chosen on simulated scores (normal, exponential, unequal spread, tied, contaminated; AUC .5 to .99; 2 to 50 positives,
# 1 to 100 times as many negatives): the coverage of 95% intervals with 10 rows or more per sample is .92 to .98.
RATIO_UNSEEN = 0.7  # variance of the placements over A(1-A) while too few of them lie on the side to be bounded
WEIGHT_UNSEEN = 0.5  # weight of that ratio, where the data weigh (number of such placements)^3
_FREEDOM = 3.0  # degrees of freedom per row: the ratio is partly given, so that it has less noise than a variance


def score_interval(estimate, confidence):
    """Return both ends of the interval of the observed AUC."""
    auc, weights = estimate.observed, (estimate.weight_high, estimate.weight_low)
    low = _low_end(auc, zip((estimate.psi_high, estimate.psi_low), weights), confidence)
    # Negated scores mirror the interval about 1/2.
    high = 1 - _low_end(1 - auc, zip((1 - estimate.psi_high, 1 - estimate.psi_low), weights), confidence)
    return low, high


def _low_end(auc, samples, confidence):
    """Lower root t of (A-t)^2 = q^2 K t(1-t), with K = sum of ratio/size over the samples."""
    parts, freedom = [], []
    for psi, weight in samples:
        size = _effective_size(psi, weight)
        evidence = (size * (1 - auc)) ** 3
        ratio = (WEIGHT_UNSEEN * RATIO_UNSEEN + evidence * _ratio(psi, weight, auc)) / (WEIGHT_UNSEEN + evidence)
        parts.append(ratio / size)
        freedom.append(_FREEDOM * max(size - 1, 1))
    spread = sum(parts)
    if spread == 0:  # every placement is the same and none is unseen: a constant score
        return auc
    # Welch's degrees of freedom of a sum of two variances.
    q = -special.stdtrit(spread**2 / sum(part**2 / f for part, f in zip(parts, freedom)), (1 - confidence) / 2)
    k = q**2 * spread
    return max((auc + k / 2 - math.sqrt(k * auc * (1 - auc) + k**2 / 4)) / (1 + k), 0.0)


def _effective_size(psi, weight):
    """Kish's number of rows that would give the same variance without weights."""
    return len(psi) if weight is None else weight.sum() ** 2 / (weight**2).sum()


def _ratio(psi, weight, auc):
    """Variance of the placements over A(1-A), its largest possible value; 1 where it cannot be estimated."""
    if len(psi) < 2 or auc in (0, 1):
        return 1.0
    if weight is None:
        variance = np.var(psi, ddof=1)
    else:
        size = max(_effective_size(psi, weight), 1 + 1e-9)
        center = np.average(psi, weights=weight)
        variance = np.average((psi - center) ** 2, weights=weight) * size / (size - 1)
    return min(variance / (auc * (1 - auc)), 1.0)
