"""Placements: where the scores of one sample fall among the scores of another, by sorting.

The AUC, its variance and the tests on it are means and variances of placements, so all of them cost O(n log n)
instead of a comparison of every pair.
"""

import numpy as np


def placements(high, low):
    """Compute the mid-rank placements of two samples in each other; a tie counts one half.

    .. math::
        \\psi_i = \\frac{1}{n} \\sum_{k=1}^{n} \\Big[1(l_k < h_i) + \\tfrac12 1(l_k = h_i)\\Big], \\qquad
        \\psi'_k = \\frac{1}{m} \\sum_{i=1}^{m} \\Big[1(h_i > l_k) + \\tfrac12 1(h_i = l_k)\\Big]

    Both means are the AUC of `high` against `low`.

    Parameters
    ----------
    high : ndarray of shape (m,)
        Scores of the sample that should rank high; no NaN.
    low : ndarray of shape (n,)
        Scores of the sample that should rank low; no NaN.

    Returns
    -------
    psi_high : ndarray of shape (m,)
        For each row of `high`, the share of `low` that it exceeds.
    psi_low : ndarray of shape (n,)
        For each row of `low`, the share of `high` that exceeds it.

    References
    ----------
    .. [1] Sun, X. and Xu, W. "Fast implementation of DeLong's algorithm for comparing the areas under correlated
       receiver operating characteristic curves." IEEE Signal Processing Letters 21(11), 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.kernels.ranks import placements
    >>> psi_high, psi_low = placements(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    >>> psi_high, psi_low
    (array([0.75, 1.  ]), array([1.  , 0.75]))
    """
    by_high = np.argsort(high)
    by_low = np.argsort(low)
    sorted_high = high[by_high]
    sorted_low = low[by_low]
    psi_high = np.empty(len(high))
    psi_low = np.empty(len(low))
    # Looking up sorted values reads memory in order, which is two to five times faster on large samples.
    psi_high[by_high] = _twice_midrank(sorted_low, sorted_high) / (2 * len(low))
    # Subtract integers, so that equal placements are exactly equal.
    psi_low[by_low] = (2 * len(high) - _twice_midrank(sorted_high, sorted_low)) / (2 * len(high))
    return psi_high, psi_low


def weighted_placements(high, low, high_weight, low_weight):
    """Compute the placements of two samples whose rows have weights: shares of weight instead of shares of rows.

    Parameters
    ----------
    high : ndarray of shape (m,)
        As in `placements`.
    low : ndarray of shape (n,)
    high_weight : ndarray of shape (m,)
        Weights of the rows of `high`; at least 0, their sum is positive.
    low_weight : ndarray of shape (n,)

    Returns
    -------
    psi_high : ndarray of shape (m,)
        For each row of `high`, the share of the weight of `low` that it exceeds. Its mean with `high_weight` is the
        weighted AUC.
    psi_low : ndarray of shape (n,)
        For each row of `low`, the share of the weight of `high` that exceeds it.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.kernels.ranks import weighted_placements
    >>> weighted_placements(np.array([2.0, 3.0]), np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    (array([0.75, 1.  ]), array([1.   , 0.875]))
    """
    return _share_below(low, low_weight, high), 1 - _share_below(high, high_weight, low)


def area(positive, score, weight=None):
    """Compute the area under the ROC curve; for few rows a hundred times faster than scikit-learn, which checks more.

    Parameters
    ----------
    positive : ndarray of shape (n,), bool
        Both values occur.
    score : ndarray of shape (n,)
        No NaN.
    weight : ndarray of shape (n,), default=None

    Returns
    -------
    float
        Equal for scores that order the rows in the same way, to the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.kernels.ranks import area
    >>> area(np.array([True, True, False, False]), np.array([2.0, 3.0, 1.0, 2.0]))
    0.875
    """
    high = score[positive]
    low = score[~positive]
    if weight is None:
        return float(_twice_midrank(np.sort(low), high).sum() / (2 * len(high) * len(low)))
    return float(np.average(_share_below(low, weight[~positive], high), weights=weight[positive]))


def _share_below(sample, weight, values):
    """Share of the weight of `sample` below each value; ties count one half."""
    # Rows with the same score are summed in one order, whatever that of the rows.
    order = np.lexsort((weight, sample))
    ordered = sample[order]
    below = np.append(0.0, np.cumsum(weight[order]))
    left = below[np.searchsorted(ordered, values, side="left")]
    right = below[np.searchsorted(ordered, values, side="right")]
    return (left + right) / (2 * below[-1])


def variance_of_mean(psi):
    """Compute the squared standard error of the mean of `psi`, exactly 0 if all its values are equal.

    Parameters
    ----------
    psi : ndarray of shape (n,)
        Placements, or sums and differences of them; at least two.

    Returns
    -------
    float
        The variance with n - 1 in the denominator, divided by n.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.kernels.ranks import variance_of_mean
    >>> variance_of_mean(np.array([0.75, 1.0]))
    0.015625
    """
    # Placements are multiples of 1 / 2n: a smaller spread is rounding error, not information.
    if np.ptp(psi) < 1e-12:
        return 0.0
    return float(np.var(psi, ddof=1) / len(psi))


def _twice_midrank(ordered, values):
    """Twice the number of elements of `ordered` below each value, plus the number equal to it."""
    return np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
