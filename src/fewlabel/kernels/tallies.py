"""Counts of the values of a column, in one pass."""

import numpy as np

from fewlabel.jit import njit


@njit(cache=True, nogil=True)
def tally(values, cuts, low, high, counts, logs):
    """Count values by interval, and sum the logarithms of their sizes.

    Parameters
    ----------
    values : ndarray of float64
        NaN is skipped.
    cuts : ndarray of float64
        Ascending; interval k holds ``(cuts[k - 1], cuts[k]]``.
    low, high : float
    counts : ndarray of shape (len(cuts) + 1,), int64
        Values per interval are added.
    logs : ndarray of shape (3,)
        Number, sum and sum of squares of log2|x| of the values other than 0 are added.

    Returns
    -------
    int
        Number of values outside [low, high].
    """
    far, n_logs, total, squares = 0, 0, 0.0, 0.0
    for x in values:
        if np.isnan(x):
            continue
        k = 0
        for cut in cuts:
            k += cut < x
        counts[k] += 1
        far += x < low or x > high
        if x != 0.0:
            size = np.log2(abs(x))
            n_logs += 1
            total += size
            squares += size * size
    logs[0] += n_logs
    logs[1] += total
    logs[2] += squares
    return far
