"""An order of the rows that depends on their values alone, for whatever draws rows by position."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from fewlabel.kernels import points

_BLOCK = 65_536  # rows whose columns are numbered at once


def row_hashes(X: Any) -> np.ndarray:
    """A number for each row that depends only on its values, the same for dense and sparse rows.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_columns)

    Returns
    -------
    ndarray of shape (n_rows,), uint64
    """
    if issparse(X):
        return points.hashes((X.data.astype(np.float64) + 0.0).view(np.uint64), X.indices, X.indptr)
    n_rows, n_columns = X.shape
    hashes = np.empty(n_rows, dtype=np.uint64)
    for start in range(0, n_rows, _BLOCK):
        # Equal values need equal bits: -0.0 becomes 0.0, and NaN one of its many patterns.
        block = np.asarray(X[start : start + _BLOCK], dtype=np.float64) + 0.0
        block[np.isnan(block)] = np.nan
        columns = np.tile(np.arange(n_columns), len(block))
        indptr = np.arange(len(block) + 1) * n_columns
        hashes[start : start + _BLOCK] = points.hashes(block.ravel().view(np.uint64), columns, indptr)
    return hashes


def value_order(X: Any, *others: np.ndarray | None) -> np.ndarray:
    """Positions that put the rows into an order of their own.

    The order is that of a hash: unlike sorted rows, neighbors in it have nothing in common.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_columns)
    *others : ndarray of shape (n_rows,) or None
        What else tells rows apart, such as their labels and weights.

    Returns
    -------
    ndarray of int of shape (n_rows,)
    """
    keys = [values for values in others if values is not None]
    return np.lexsort((*keys[::-1], row_hashes(X)))
