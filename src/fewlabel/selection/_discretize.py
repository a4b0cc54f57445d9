"""Supervised discretization by minimum description length."""

import numpy as np


def mdl_cuts(values, y, n_classes):
    r"""Find the cut points of a numeric column by the minimum description length principle.

    The best cut of a range of N rows is accepted if its information gain exceeds

    .. math:: \frac{\log_2(M) + \log_2(3^k - 2) - (k H - k_1 H_1 - k_2 H_2)}{N},

    with M the number of candidate cuts between distinct values, H the class entropy and k the number of classes of the
    range and of its two parts. Both parts are then cut recursively.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        The column; NaN is ignored.
    y : ndarray of shape (n_rows,), int
        Classes 0 to ``n_classes - 1``.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_cuts,)
        The cuts in ascending order; empty if none is accepted.

    References
    ----------
    .. [1] Fayyad, U. M. and Irani, K. B. "Multi-interval discretization of continuous-valued attributes for
       classification learning." International Joint Conference on Artificial Intelligence, 1993. Using the number of
       candidate cuts instead of N - 1 is called better encoding in Weka.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.selection._discretize import mdl_cuts
    >>> mdl_cuts(np.arange(20.0), np.repeat([0, 1], 10), 2)
    array([9.5])
    """
    present = ~np.isnan(values)
    distinct, place = np.unique(values[present], return_inverse=True)
    counts = np.zeros((len(distinct) + 1, n_classes))
    np.add.at(counts, (place + 1, y[present]), 1)
    # Rows of each class below each distinct value.
    below = counts.cumsum(axis=0)
    ranges = [(0, len(distinct))]
    cuts = []
    while ranges:
        low, high = ranges.pop()
        cut = _accepted_cut(below, low, high)
        if cut is not None:
            cuts.append(distinct[cut - 1] / 2 + distinct[cut] / 2)
            ranges += [(low, cut), (cut, high)]
    return np.sort(np.array(cuts, dtype=np.float64))


def _accepted_cut(below, low, high):
    """Position of the distinct value at which the second part of the range starts, or None."""
    if high - low < 2:
        return None
    total = below[high] - below[low]
    left = below[low + 1 : high] - below[low]
    right = total - left
    n = total.sum()
    h = entropy(total)
    h_left = entropy(left)
    h_right = entropy(right)
    split = (left.sum(axis=1) * h_left + right.sum(axis=1) * h_right) / n
    # Rounding must not choose between equal cuts.
    best = int(np.argmin(np.round(split, 12)))
    k = np.count_nonzero(total)
    k_left = np.count_nonzero(left[best])
    k_right = np.count_nonzero(right[best])
    # Bits that describe the classes of the two parts, less those of the undivided range.
    code = np.log2(3.0**k - 2) - (k * h - k_left * h_left[best] - k_right * h_right[best])
    n_candidates = high - low - 1
    gain = h - split[best]
    accepted = gain > (np.log2(n_candidates) + code) / n
    return low + 1 + best if accepted else None


def entropy(counts):
    """Return the entropy in bits of counts along the last axis."""
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    logs = np.log2(shares, where=shares > 0, out=np.zeros_like(shares))
    return -np.sum(shares * logs, axis=-1)


def discretize(columns, y, n_classes):
    """Encode every column as 0, 1, ...: numeric ones by `mdl_cuts`, missing values with a separate code.

    Returns
    -------
    codes : ndarray of shape (n_features, n_rows), int64
    """
    codes = np.empty(columns.values.T.shape, dtype=np.int64)
    for j, values in enumerate(columns.values.T):
        parts = values
        if not columns.nominal[j]:
            parts = np.searchsorted(mdl_cuts(values, y, n_classes), values, side="right")
        # Missing values get the lowest code, which `Merits` relies on.
        parts = np.where(np.isnan(values), -1, parts)
        codes[j] = np.unique(parts, return_inverse=True)[1]
    return codes
