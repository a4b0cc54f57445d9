"""DeLong's test of two AUCs on the same rows."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from fewlabel import labels
from fewlabel.kernels.ranks import placements, variance_of_mean
from fewlabel.metrics._inputs import normal_quantile, read_score
from fewlabel.metrics._newcombe import newcombe_low
from fewlabel.metrics._score import RATIO_UNSEEN, WEIGHT_UNSEEN


class PairedAUCTest(NamedTuple):
    """The difference of two AUCs on the same rows.

    Attributes
    ----------
    difference : float
        ``auc_a - auc_b``.
    low, high : float
        The ends of its confidence interval.
    pvalue : float
        Two-sided p-value of the hypothesis that the AUCs are equal.
    auc_a, auc_b : float
        The two AUCs.
    """

    difference: float
    low: float
    high: float
    pvalue: float
    auc_a: float
    auc_b: float


def paired_auc_test(
    y_true: ArrayLike, score_a: ArrayLike, score_b: ArrayLike, *, confidence: float = 0.95
) -> PairedAUCTest:
    """Test the difference of two AUCs on the same rows by DeLong's method.

    With :math:`\\delta = \\psi^a - \\psi^b` the differences of the placements,

    .. math::
        D = A_a - A_b = \\bar\\delta_P, \\qquad
        V = s^2(\\delta_P)/n_P + s^2(\\delta_N)/n_N, \\qquad t = D/\\sqrt V ,

    and :math:`t` is compared with Student's distribution, with Welch's degrees of freedom of the sum :math:`V` of two
    variances. DeLong's test itself uses the normal distribution, and rejects too often when a class has few rows.
    Variances are raised where few rows are ranked badly, see Notes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels; the last class in sorted order is positive. Unlabeled rows are ignored. Each class needs two labeled
        rows.
    score_a, score_b : array-like of shape (n_samples,)
        The two scores; larger means more likely positive.
    confidence : float, default=0.95
        Nominal coverage of the interval.

    Returns
    -------
    PairedAUCTest
        Difference, its interval, p-value and the two AUCs.

    See Also
    --------
    auc_confidence_interval : Confidence interval of one AUC.

    Notes
    -----
    With an AUC near 1 only a few rows differ, and a sample may lack them: two scores of equal AUC and different
    distributions then differed significantly in up to 18% of the samples. As in
    :func:`auc_confidence_interval`, a variance :math:`s^2(\\delta_G)` is therefore

    .. math::
        \\frac{0.5 \\max\\{s^2(\\delta_G), v\\} + d_G^3\\, s^2(\\delta_G)}{0.5 + d_G^3}, \\qquad
        v = 0.35\\, [A_a(1-A_a) + A_b(1-A_b)], \\quad d_G = n_G \\min\\{A_a, 1-A_a, A_b, 1-A_b\\} ,

    which is :math:`s^2(\\delta_G)` once there are a few such rows. In simulations the test rejects in at most 6.5% of
    draws (`docs/intervals.md`).

    Scores that order the rows in the same way have difference 0, interval (0, 0) and p-value 1. If :math:`\\delta` is
    the same for all rows but not 0 (for instance if one score is perfect and the other constant), :math:`V` is 0 and
    DeLong's test would always reject. Newcombe's intervals of the two AUCs are then combined [2]_ as if they were
    independent, which is conservative; the p-value is that of the interval that just reaches 0.

    References
    ----------
    .. [1] DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. "Comparing the areas under two or more correlated
       receiver operating characteristic curves: a nonparametric approach." Biometrics 44(3), 1988.
    .. [2] Zou, G. Y. and Donner, A. "Construction of confidence limits about effect measures: a general approach."
       Statistics in Medicine 27(10), 2008.

    Examples
    --------
    >>> from fewlabel.metrics import paired_auc_test
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> test = paired_auc_test(y, [1, 2, 3, 5, 4, 6, 7, 8], [3, 5, 1, 6, 4, 2, 7, 8])
    >>> print(f"{test.auc_a:.3f} - {test.auc_b:.3f} = {test.difference:.3f}, p = {test.pvalue:.2f}")
    0.938 - 0.688 = 0.250, p = 0.33
    """
    # Raises an error for a confidence that is not between 0 and 1.
    normal_quantile(confidence)
    signs = labels.read_binary(y_true).signs
    a = read_score(score_a, len(signs), "score_a")
    b = read_score(score_b, len(signs), "score_b")
    high = signs > 0
    low = signs < 0
    n_high = np.count_nonzero(high)
    n_low = np.count_nonzero(low)
    if min(n_high, n_low) < 2:
        raise ValueError(
            f"paired_auc_test needs two labeled rows of each class, got {n_high} positive and {n_low} negative: "
            "label more rows, a variance cannot be estimated from one"
        )
    return compare_aucs((a[high], a[low]), (b[high], b[low]), confidence)


def compare_aucs(a, b, confidence):
    """Compare two scores, each given as those of the positives and those of the negatives."""
    high_a, low_a = placements(*a)
    high_b, low_b = placements(*b)
    sizes = [len(high_a), len(low_a)]
    auc_a = float(high_a.mean())
    auc_b = float(high_b.mean())
    difference = float((high_a - high_b).mean())
    variances = [variance_of_mean(high_a - high_b), variance_of_mean(low_a - low_b)]
    # Without a variance the test would reject any difference, however few the rows.
    if sum(variances) > 0:
        variances = _with_unseen(variances, sizes, auc_a, auc_b)
        low, high, pvalue = _welch(difference, variances, sizes, confidence)
    elif abs(difference) > 1e-12:
        low, high, pvalue = _conservative_difference(auc_a, auc_b, sizes, normal_quantile(confidence))
    else:
        low = high = difference
        pvalue = 1.0
    return PairedAUCTest(difference, max(low, -1.0), min(high, 1.0), pvalue, auc_a, auc_b)


def _with_unseen(variances, sizes, auc_a, auc_b):
    """Variances of the two means, not less than can be known while rows that either score ranks badly are unseen."""
    largest = (auc_a * (1 - auc_a) + auc_b * (1 - auc_b)) / 2
    share = min(auc_a, 1 - auc_a, auc_b, 1 - auc_b)
    raised = []
    for variance, n in zip(variances, sizes):
        least = max(variance, RATIO_UNSEEN * largest / n)
        # The number of rows that are ranked badly, as far as the sample shows.
        evidence = (n * share) ** 3
        raised.append((WEIGHT_UNSEEN * least + evidence * variance) / (WEIGHT_UNSEEN + evidence))
    return raised


def _welch(difference, variances, sizes, confidence):
    """Interval and p-value of a difference whose variance is the sum of two estimated ones."""
    variance = sum(variances)
    error = math.sqrt(variance)
    squares = [part**2 / (n - 1) for part, n in zip(variances, sizes)]
    freedom = variance**2 / sum(squares)
    half = float(-special.stdtrit(freedom, (1 - confidence) / 2)) * error
    pvalue = float(2 * special.stdtr(freedom, -abs(difference) / error))
    return difference - half, difference + half, pvalue


def _conservative_difference(auc_a, auc_b, sizes, z):
    """Interval and p-value of a difference of AUCs from their Newcombe intervals, as if they were independent."""

    def reach(auc_up, auc_down, z):
        """How far the true ``auc_up - auc_down`` may lie below its estimate."""
        down = auc_up - newcombe_low(auc_up, *sizes, z)
        up = 1 - newcombe_low(1 - auc_down, *sizes, z) - auc_down
        return math.hypot(down, up)

    difference = auc_a - auc_b
    larger = max(auc_a, auc_b)
    smaller = min(auc_a, auc_b)

    def beyond_zero(z):
        return reach(larger, smaller, z) - (larger - smaller)

    # The p-value is that of the interval that just reaches 0.
    z_max = 1.0
    while beyond_zero(z_max) < 0:
        z_max *= 2
    z_zero = optimize.brentq(beyond_zero, 0, z_max)
    low = difference - reach(auc_a, auc_b, z)
    high = difference + reach(auc_b, auc_a, z)
    return low, high, float(2 * special.ndtr(-z_zero))
