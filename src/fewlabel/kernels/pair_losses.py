"""Sums of logistic functions over pairs of rows, without the pairs in memory."""

import numpy as np

from fewlabel.jit import njit

NODES_PER_UNIT = 16  # spacing of the grid, in units of the score
MARGIN = 2  # nodes of the grid below the lowest and above the highest score


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def pair_sums(inverse, direct, better_weights, worse_weights, better, worse):
    r"""Slope and curvature of the logistic loss at each row, over all pairs of a better and a worse row.

    With :math:`s_{ab} = 1 / (1 + e^{f_a - f_b})`, adds :math:`\sum_b w_b s_{ab}` and :math:`\sum_b w_b s_{ab} (1 -
    s_{ab})` to the columns of `better`, and the same sums over a to those of `worse`. One division per pair, no pair is
    kept.

    Parameters
    ----------
    inverse, direct : ndarray
        :math:`e^{-f_a}` of the better rows and :math:`e^{f_b}` of the worse ones.
    better_weights, worse_weights : ndarray
    better, worse : ndarray of shape (2, n_better) and (2, n_worse)
        Changed in place.
    """
    for a in range(inverse.size):
        factor, weight = inverse[a], better_weights[a]
        slope, curvature = 0.0, 0.0
        for b in range(direct.size):
            x = factor * direct[b]
            wrong = x / (1.0 + x)
            right_wrong = wrong / (1.0 + x)
            slope += worse_weights[b] * wrong
            curvature += worse_weights[b] * right_wrong
            worse[0, b] += weight * wrong
            worse[1, b] += weight * right_wrong
        better[0, a] += slope
        better[1, a] += curvature


@njit(cache=True, nogil=True)
def order_free_sum(values):
    """Sum of non-negative numbers by way of integers: the same in any order."""
    largest = 0.0
    for i in range(values.size):
        largest = max(largest, values[i])
    if not largest > 0.0:
        return 0.0
    unit = sum_unit(values.size, largest)
    return whole_sum(values, unit) / unit


@njit(cache=True, nogil=True)
def sum_unit(n, largest):
    """Integers per unit, so that `n` numbers up to `largest` have a sum of at most 2**61."""
    return 2.0 ** (61 - np.ceil(np.log2(n))) / largest


@njit(cache=True, nogil=True)
def whole_sum(values, unit):
    """Sum of numbers, each times `unit` and rounded to an integer."""
    total = 0
    for i in range(values.size):
        total += np.int64(np.rint(values[i] * unit))
    return total


@njit(cache=True, nogil=True)
def spread(scores, weights, unit, grid, scale, start, stop):
    """Spread the weights of rows ``start:stop`` over the four nodes around each score (cubic Lagrange polynomials).

    Integers, in `unit`, so that the result does not depend on the order of the rows.

    Parameters
    ----------
    scores, weights : ndarray
    unit : float
        Number of integer units per unit of weight.
    grid : ndarray of int64
        The size and type of the result; node k is the score ``scale[0] + (k - MARGIN) / scale[1]``.
    scale : (float, float)

    Returns
    -------
    ndarray of int64
    """
    mass = np.zeros_like(grid)
    basis = np.empty(4)
    for i in range(start, stop):
        k = _place(scores[i], scale, basis)
        for m in range(4):
            mass[k + m] += np.int64(np.rint(unit * weights[i] * basis[m]))
    return mass


@njit(cache=True, nogil=True)
def interpolate(scores, nodes, scale, values, start, stop):
    """Add the cubic interpolation of each function in `nodes` at the scores to `values`, for rows ``start:stop``."""
    basis = np.empty(4)
    for i in range(start, stop):
        k = _place(scores[i], scale, basis)
        for r in range(nodes.shape[0]):
            value = 0.0
            for m in range(4):
                value += basis[m] * nodes[r, k + m]
            values[r, i] += value


@njit(cache=True, nogil=True, inline="always")
def _place(score, scale, basis):
    """The first of the four nodes around a score; writes their Lagrange polynomials."""
    x = (score - scale[0]) * scale[1]
    k = np.int64(x)
    s = x - k
    basis[0] = -s * (s - 1.0) * (s - 2.0) / 6.0
    basis[1] = (s + 1.0) * (s - 1.0) * (s - 2.0) / 2.0
    basis[2] = -(s + 1.0) * s * (s - 2.0) / 2.0
    basis[3] = (s + 1.0) * s * (s - 1.0) / 6.0
    return k + MARGIN - 1
