"""Sums of logistic functions over pairs of rows, without the pairs in memory."""

import numpy as np

from fewlabel.jit import njit

NODES_PER_UNIT = 16  # spacing of the grid, in units of the score
MASS_UNIT = 2.0**60  # integers per unit of weight on the grid
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
        factor = inverse[a]
        weight = better_weights[a]
        slope = 0.0
        curvature = 0.0
        for b in range(direct.size):
            x = factor * direct[b]
            right = 1.0 / (1.0 + x)  # the only division: it takes longer than all the rest
            wrong = x * right
            right_wrong = wrong * right
            slope += worse_weights[b] * wrong
            curvature += worse_weights[b] * right_wrong
            worse[0, b] += weight * wrong
            worse[1, b] += weight * right_wrong
        better[0, a] += slope
        better[1, a] += curvature


@njit(cache=True, nogil=True)
def exact_slopes(order, powers, weights, factor, bounds, pairs):
    """Negative gradient and Hessian of the logistic loss at each row, summed over all pairs.

    Parameters
    ----------
    order : ndarray of shape (n_rows,), int64
        The rows of each group in the order in which they are summed.
    powers : ndarray of shape (2, n_rows)
        :math:`e^{-f}` and :math:`e^f` of each row, f being the distance of its score from a center.
    weights : ndarray of shape (n_rows,)
    factor : float
        Of the derivatives.
    bounds : ndarray of shape (4,), int64
        Rows ``bounds[g]:bounds[g + 1]`` are group g.
    pairs : ndarray of shape (n_pairs, 3)
        Group of the better rows, group of the worse ones, and weight of their pairs.

    Returns
    -------
    ndarray of shape (2, n_rows)
    """
    n = order.size
    # Copies in the order of the sums: the innermost loop then reads them one after another.
    inverse = powers[0][order]
    direct = powers[1][order]
    ordered_weights = weights[order]
    derivatives = np.zeros((2, n))
    for p in range(pairs.shape[0]):
        better_group = np.int64(pairs[p, 0])
        worse_group = np.int64(pairs[p, 1])
        coefficient = pairs[p, 2]
        better = slice(bounds[better_group], bounds[better_group + 1])
        worse = slice(bounds[worse_group], bounds[worse_group + 1])
        sums = np.zeros((2, n))
        pair_sums(
            inverse[better],
            direct[worse],
            ordered_weights[better],
            ordered_weights[worse],
            sums[:, better],
            sums[:, worse],
        )
        for k in range(n):
            # The loss falls with the score of a better row, and rises with that of a worse one.
            is_worse = worse.start <= k < worse.stop
            derivatives[0, order[k]] += -coefficient * sums[0, k] if is_worse else coefficient * sums[0, k]
            derivatives[1, order[k]] += coefficient * sums[1, k]
    for i in range(n):
        for r in range(2):
            derivatives[r, i] *= factor * weights[i]
    return derivatives


@njit(cache=True, nogil=True)
def spread(scores, weights, bounds, scale, n_nodes):
    """Spread the weights of each group over the four nodes around each score (cubic Lagrange polynomials).

    Integers, in multiples of 1 / `MASS_UNIT`, so that the result does not depend on the order of the rows.

    Parameters
    ----------
    scores, weights, bounds
        As in `exact_slopes`.
    scale : (float, float)
        Node k is the score ``scale[0] + (k - MARGIN) / scale[1]``.
    n_nodes : int

    Returns
    -------
    ndarray of shape (3, n_nodes), int64
    """
    mass = np.zeros((3, n_nodes), dtype=np.int64)
    basis = np.empty(4)
    for g in range(3):
        of_group = mass[g]
        for i in range(bounds[g], bounds[g + 1]):
            k = _place(scores[i], scale, basis)
            for m in range(4):
                of_group[k + m] += np.int64(np.rint(MASS_UNIT * weights[i] * basis[m]))
    return mass


@njit(cache=True, nogil=True)
def node_loss(mass, pairs, nodes_per_unit):
    """Mean logistic loss of all pairs of rows that are spread over the nodes of a grid.

    Parameters
    ----------
    mass : ndarray of shape (3, n_nodes)
        Weight of each group at the nodes.
    pairs
        As in `exact_slopes`.
    nodes_per_unit : float
        The work grows with the square of the number of nodes.

    Returns
    -------
    float
    """
    n_nodes = mass.shape[1]
    loss = np.empty(2 * n_nodes - 1)  # at every distance of two nodes
    for k in range(loss.size):
        distance = (k + 1 - n_nodes) / nodes_per_unit
        loss[k] = max(distance, 0.0) + np.log1p(np.exp(-abs(distance)))
    total = 0.0
    for p in range(pairs.shape[0]):
        better = mass[np.int64(pairs[p, 0])]
        worse = mass[np.int64(pairs[p, 1])]
        for k in range(n_nodes):
            if better[k] != 0.0:  # most nodes of a group with few rows are empty
                total += pairs[p, 2] * better[k] * _dot(worse, loss[n_nodes - 1 - k :])
    return total


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _dot(a, b):
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@njit(cache=True, nogil=True)
def node_slopes(mass, pairs, nodes_per_unit):
    """Negative gradient and Hessian of the logistic loss of a row of each group at each node, shape (3, 2, n_nodes).

    Parameters
    ----------
    mass, pairs, nodes_per_unit
        As in `node_loss`.
    """
    n_nodes = mass.shape[1]
    wrong = np.empty(2 * n_nodes - 1)  # at every distance of two nodes: of a worse row above a better one
    for k in range(wrong.size):
        wrong[k] = 1.0 / (1.0 + np.exp((n_nodes - 1 - k) / nodes_per_unit))
    right = wrong[::-1].copy()
    curvature = wrong * right
    slopes = np.zeros((3, 2, n_nodes))
    for p in range(pairs.shape[0]):
        better = np.int64(pairs[p, 0])
        worse = np.int64(pairs[p, 1])
        for k in range(n_nodes):
            first = n_nodes - 1 - k
            # The loss falls with the score of a better row, and rises with that of a worse one.
            above = pairs[p, 2] * mass[worse, k]
            if above != 0.0:
                _add_multiple(above, right[first:], slopes[better, 0])
                _add_multiple(above, curvature[first:], slopes[better, 1])
            below = pairs[p, 2] * mass[better, k]
            if below != 0.0:
                _add_multiple(-below, wrong[first:], slopes[worse, 0])
                _add_multiple(below, curvature[first:], slopes[worse, 1])
    return slopes


@njit(cache=True, nogil=True)
def _add_multiple(factor, terms, total):
    """Add a multiple of the first terms: each sum has the order of the nodes, whatever the processor."""
    for k in range(total.size):
        total[k] += factor * terms[k]


@njit(cache=True, nogil=True)
def interpolate(scores, weights, bounds, slopes, scale, factor, derivatives):
    """Set the derivatives of the rows by cubic interpolation of the slopes of their groups at the nodes.

    Parameters
    ----------
    scores, weights, bounds, factor
        As in `exact_slopes`.
    slopes : ndarray of shape (3, 2, n_nodes)
        Of `node_slopes`.
    scale : (float, float)
        As in `spread`.
    derivatives : ndarray of shape (2, n_rows)
        Written.
    """
    basis = np.empty(4)
    for g in range(3):
        gradient = slopes[g, 0]
        hessian = slopes[g, 1]
        for i in range(bounds[g], bounds[g + 1]):
            k = _place(scores[i], scale, basis)
            slope = 0.0
            curvature = 0.0
            for m in range(4):
                slope += basis[m] * gradient[k + m]
                curvature += basis[m] * hessian[k + m]
            derivatives[0, i] = factor * weights[i] * slope
            derivatives[1, i] = factor * weights[i] * curvature


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
