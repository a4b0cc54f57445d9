"""Distinct rows as vertices of a graph, in an order that depends on their values alone."""

import numpy as np
from scipy.sparse import csr_array, issparse

from fewlabel.row_order import row_hashes


def merge_copies(rows):
    """Merge equal rows.

    The vertices are ordered by a hash of their values, so that nothing that follows depends on the order of the rows:
    not which of several rows at the same distance become neighbors, nor which of two paths of equal cost is taken.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n_samples, n_features)

    Returns
    -------
    vertices : ndarray or csr_array of shape (n_vertices, n_features)
    vertex : ndarray of shape (n_samples,)
        The vertex of each row.
    """
    if issparse(rows):
        rows = csr_array(rows)
        rows.eliminate_zeros()
    hashes = row_hashes(rows)
    order = np.argsort(hashes, kind="stable")
    before = order[:-1]
    after = order[1:]
    differs = hashes[before] != hashes[after]
    same = np.flatnonzero(~differs)
    # Equal hashes almost surely mean equal rows, but not surely.
    differs[same] = _differ(rows[before[same]], rows[after[same]])
    starts = np.append(True, differs)
    vertex = np.empty(rows.shape[0], dtype=np.intp)
    vertex[order] = np.cumsum(starts) - 1
    return rows[order[starts]], vertex


def _differ(first, second):
    """Whether each row differs from that of the other table."""
    if issparse(first):
        return abs(first - second).sum(axis=1) != 0
    return (first != second).any(axis=1)
