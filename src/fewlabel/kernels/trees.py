"""Scores of tree ensembles that are stored as flat arrays."""

import numpy as np

from fewlabel.jit import njit

NO_CHILD = -1


@njit(cache=True, nogil=True)
def leaf_sums(X, start, roots, feature, threshold, children, missing_left, value):
    """Add up the values of the leaves that each row falls into, tree by tree.

    No index is checked here: the caller has to.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns), float64
        NaN marks a missing value.
    start : ndarray of shape (n_outputs,), float64 or float32
        The sums begin with these values, and have this type.
    roots : ndarray of int32
        First node of each tree.
    feature : ndarray of shape (n_nodes,), int32
        Column that a node compares.
    threshold : ndarray of shape (n_nodes,), float64
        A row goes left if its value is at most this.
    children : ndarray of shape (2, n_nodes), int32
        Left and right child; ``NO_CHILD`` at a leaf.
    missing_left : ndarray of shape (n_nodes,), bool
        Whether a row with a missing value goes left.
    value : ndarray of shape (n_nodes, n_outputs), of the type of `start`

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
    """
    n_outputs = value.shape[1]
    total = np.empty((X.shape[0], n_outputs), dtype=start.dtype)
    for i in range(X.shape[0]):
        total[i] = start
        for root in roots:
            node = root
            while children[0, node] != NO_CHILD:
                x = X[i, feature[node]]
                goes_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
                node = children[0, node] if goes_left else children[1, node]
            for k in range(n_outputs):
                total[i, k] += value[node, k]
    return total
