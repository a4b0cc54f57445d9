"""Walking down the trees of a forest, kept as flat arrays."""

import numpy as np
from numba import njit

NO_CHILD = -1


@njit(cache=True, nogil=True)
def leaf_sums(X, roots, feature, threshold, left, right, gap_left, value):
    """Sum over all trees of the value of the leaf that each row falls into.

    The arrays are those of `fewlabel.auto._trees.TreeTable`, which checks that no index leads outside of them.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns), float64
        NaN marks a gap.
    roots : ndarray of int32
        First node of each tree.
    feature, left, right : ndarray of shape (n_nodes,), int32
        Column to look at, and the nodes to go on to; `left` is ``NO_CHILD`` at a leaf.
    threshold : ndarray of shape (n_nodes,), float64
        A row goes left if its value is at most this.
    gap_left : ndarray of shape (n_nodes,), bool
        Whether a row with a gap goes left.
    value : ndarray of shape (n_nodes, n_outputs), float64

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
    """
    n_outputs = value.shape[1]
    total = np.zeros((X.shape[0], n_outputs))
    for i in range(X.shape[0]):
        for root in roots:
            node = root
            while left[node] != NO_CHILD:
                x = X[i, feature[node]]
                goes_left = gap_left[node] if np.isnan(x) else x <= threshold[node]
                node = left[node] if goes_left else right[node]
            for k in range(n_outputs):
                total[i, k] += value[node, k]
    return total
