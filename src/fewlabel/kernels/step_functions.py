"""Scores of additive models: a step function per column."""

import numpy as np
from numba.types import Array, float32, float64, int64, void

from fewlabel.jit import njit

_SCORE_BLOCK = 256
_TABLE = {t: Array(t, 2, "A", readonly=True) for t in (float32, float64)}


@njit(
    [
        void(_TABLE[t], int64[::1], Array(t, 2, "C"), int64[::1], float64[:, ::1], float64[::1], int64, int64)
        for t in _TABLE
    ],
    cache=True,
    nogil=True,
)
def score(X, columns, edges, n_edges, values, scores, start, stop):
    """Add the step functions of an additive model to the scores of rows ``start:stop``.

    The interval of a value is found by counting the edges below it: a loop without branches that the compiler turns
    into vector code, so that an edge costs a fraction of a cycle per row. Stumps with equal edges share that cost.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    columns : ndarray of int64
        Column of each step function.
    edges : ndarray of shape (len(columns), width)
        Edges in the type of `X`.
    n_edges : ndarray of int64
    values : ndarray of shape (len(columns), width + 2)
        Value of each interval; the value for NaN is the last one.
    scores : ndarray of shape (n_samples,)
        Changed in place.
    """
    missing = values.shape[1] - 1
    x = np.empty(_SCORE_BLOCK, X.dtype)
    interval = np.empty(_SCORE_BLOCK, np.int32)
    for lo in range(start, stop, _SCORE_BLOCK):  # a block of rows stays in cache while its columns are read
        n = min(lo + _SCORE_BLOCK, stop) - lo
        for j in range(columns.size):
            e = columns[j]
            value = values[j]
            for i in range(n):
                x[i] = X[lo + i, e]
            interval[:] = 0
            for k in range(n_edges[j]):
                edge = edges[j, k]
                for i in range(_SCORE_BLOCK):
                    interval[i] += edge < x[i]
            for i in range(n):
                scores[lo + i] += value[np.uint32(interval[i] if x[i] == x[i] else missing)]


@njit(cache=True, nogil=True)
def add_scores(codes, table, columns, scores):
    """Add ``table[e, code]`` to the scores of the rows, for each of the given columns e."""
    for j in range(columns.size):
        code = codes[columns[j]]
        values = table[columns[j]]
        for i in range(scores.size):
            scores[i] += values[code[i]]
