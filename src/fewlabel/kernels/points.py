"""Rows as points: a number for each row's values, and exact distances.

Rows are dense, or the arrays (data, indices, indptr) of a CSR matrix with sorted indices.
"""

import numpy as np
from numba import types
from numba.extending import overload

from fewlabel.jit import njit

# Constants of SplitMix64.
_MIX_1 = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_3 = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def hashes(bits, columns, indptr):
    """Give each row a number that depends only on its values: the sum of the mixed bits of its nonzero entries.

    Parameters
    ----------
    bits : ndarray of uint64
        The entries, as 64 bits each.
    columns : ndarray of int
        Their columns.
    indptr : ndarray of shape (n_rows + 1,)
        The entries of row i are ``bits[indptr[i]:indptr[i + 1]]``.

    Returns
    -------
    ndarray of shape (n_rows,), uint64
    """
    total = np.zeros(indptr.size - 1, np.uint64)
    for i in range(total.size):
        for e in range(indptr[i], indptr[i + 1]):
            # Zeros do not count, so that dense and sparse rows have the same number.
            if bits[e] != 0:
                total[i] += _mix(bits[e] ^ _mix(np.uint64(columns[e] + 1)))
    return total


@njit(cache=True, nogil=True)
def _mix(z):
    """The output function of SplitMix64: every bit of the result depends on every bit of z."""
    z = z + _MIX_1
    z = (z ^ (z >> np.uint64(30))) * _MIX_2
    z = (z ^ (z >> np.uint64(27))) * _MIX_3
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def distances(A, B, neighbors):
    """Compute the distance of each row of A to the given rows of B by subtraction: equal rows have distance 0.

    Parameters
    ----------
    A, B : ndarray of shape (n, n_features) and (m, n_features), or tuples (data, indices, indptr)
        Dense rows, or the arrays of two CSR matrices with sorted indices.
    neighbors : ndarray of shape (n, k), int32
        Rows of B; -1 for none.

    Returns
    -------
    ndarray of shape (n, k)
    """
    total = np.zeros(neighbors.shape)
    for i in range(neighbors.shape[0]):
        for m in range(neighbors.shape[1]):
            if neighbors[i, m] >= 0:
                total[i, m] = _distance(A, i, B, neighbors[i, m])
    return total


def _distance(A, i, B, j):
    """Distance of row i of A to row j of B."""


@overload(_distance, inline="always", jit_options={"cache": True, "nogil": True})  # a call costs a quarter of the time
def _distance_overload(A, i, B, j):
    return _dense_distance if isinstance(A, types.Array) else _sparse_distance


def _dense_distance(A, i, B, j):
    total = 0.0
    for f in range(A.shape[1]):
        difference = A[i, f] - B[j, f]
        total += difference * difference
    return total


def _sparse_distance(A, i, B, j):
    a_data, a_columns, a_indptr = A
    b_data, b_columns, b_indptr = B
    p = a_indptr[i]
    q = b_indptr[j]
    p_end = a_indptr[i + 1]
    q_end = b_indptr[j + 1]
    total = 0.0
    # Both rows at once, in the order of their columns: subtracting norms would leave equal rows apart.
    while p < p_end or q < q_end:
        if q == q_end or (p < p_end and a_columns[p] < b_columns[q]):
            difference = a_data[p]
            p += 1
        elif p == p_end or b_columns[q] < a_columns[p]:
            difference = -b_data[q]
            q += 1
        else:
            difference = a_data[p] - b_data[q]
            p += 1
            q += 1
        total += difference * difference
    return total
