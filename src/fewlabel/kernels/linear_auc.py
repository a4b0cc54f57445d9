"""Linear AUC: sums over all pairs by sorting, and coordinate, stochastic and online steps over single pairs.

A pair is a positive row i and a negative row j with ``z = x_i - x_j``; its loss is a function of ``1 - z.w``. The steps
take the rows as a matrix or as the tuple (data, indices, indptr) of a CSR matrix with sorted indices.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from fewlabel.jit import njit

_FAST = {"reassoc", "contract"}  # lets the compiler vectorize dot products


@njit(cache=True, nogil=True)
def pair_sums(s, u, t, v, width, squared):
    r"""Sum the loss and its slope over all pairs in one pass over sorted scores.

    With :math:`x_{ij} = 1 - s_i + t_j` the loss of a pair is 0 where :math:`x \le 0`, and otherwise :math:`x^2` if
    `squared`, else the smoothed hinge: :math:`x^2 / (2\,width)` below `width`, :math:`x - width / 2` above. The pass
    starts at the largest `s`, so that sums only grow where scores are far apart, and no digits cancel.

    Parameters
    ----------
    s, t : ndarray of shape (m,) and (n,)
        Scores in ascending order.
    u, v : ndarray of shape (m,) and (n,)
        Weights.
    width : float
        Width of the smoothing; ``inf`` if `squared`.
    squared : bool
        Squared hinge instead of hinge.

    Returns
    -------
    slopes : ndarray of shape (m,)
        :math:`\sum_j v_j \alpha_{ij}`, where :math:`\alpha_{ij}` is the slope of the loss in :math:`x_{ij}`.
    totals : ndarray of shape (2,)
        :math:`\sum_{ij} u_i v_j` of the unsmoothed loss, and of :math:`x (1 - \alpha)`, the duality gap due to the
        smoothing (0 if `squared`).
    lo, hi : ndarray of shape (m,), int64
        ``t[lo[i]:hi[i]]`` are the scores at which the loss of row i is curved.
    """
    m = s.size
    slopes = np.empty(m)
    first = np.empty(m, np.int64)
    last = np.empty(m, np.int64)
    totals = np.zeros(2)
    lo = hi = t.size
    # Sums of v, v x, v x^2 over the curved part t[lo:hi].
    w0 = w1 = w2 = 0.0
    # Sums of v, v x over the linear part t[hi:].
    l0 = l1 = 0.0
    for i in range(m - 1, -1, -1):
        low = s[i] - 1.0
        high = low + width
        # All x grow by it from the row before.
        step = s[i + 1] - s[i] if i < m - 1 else 0.0
        l1 += step * l0
        # From the curved to the linear part; their x still lack the step.
        while hi > lo and t[hi - 1] >= high:
            hi -= 1
            x = t[hi] - low
            l0 += v[hi]
            l1 += v[hi] * x
            w0 -= v[hi]
            w1 -= v[hi] * (x - step)
            w2 -= v[hi] * (x - step) ** 2
        if lo == hi:
            # The curved part is empty: drop its rounding errors, and skip to the first curved score.
            w0 = w1 = w2 = 0.0
            while hi > 0 and t[hi - 1] >= high:
                hi -= 1
                l0 += v[hi]
                l1 += v[hi] * (t[hi] - low)
            lo = hi
        else:
            w2 += step * (2.0 * w1 + step * w0)
            w1 += step * w0
        while lo > 0 and t[lo - 1] > low:
            lo -= 1
            x = t[lo] - low
            w0 += v[lo]
            w1 += v[lo] * x
            w2 += v[lo] * x * x
        first[i] = lo
        last[i] = hi
        if squared:
            slopes[i] = 2.0 * w1
            totals[0] += u[i] * w2
        else:
            # Rounding may leave w1 just below zero.
            slopes[i] = max(w1, 0.0) / width + l0
            totals[0] += u[i] * (w1 + l1)
            totals[1] += u[i] * (w1 - w2 / width)
    return slopes, totals, first, last


class PairRows(NamedTuple):
    """Rows and their classes. Pair ``i * len(negatives) + j`` consists of ``positives[i]`` and ``negatives[j]``.

    Attributes
    ----------
    X : ndarray of shape (n, d), or tuple of CSR arrays
    positives, negatives : ndarray of int64
        Positions of the rows of each class.
    """

    X: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray


class Averages(NamedTuple):
    """Means over the steps: of ``w`` they are ``w - drift / n``. Changed in place.

    Attributes
    ----------
    drift : ndarray of shape (d,)
        Sum over the steps of the number of steps before it times the change of ``w``; empty: no means are wanted.
    sums : ndarray of shape (2,)
        Number of steps n, and the sum over them of the dual sum.
    """

    drift: np.ndarray
    sums: np.ndarray


@njit(cache=True, nogil=True)
def coordinate_steps(rows, pairs, duals, w, scale, squared, averages, dual_sum):
    """Maximize the dual exactly in the variable of one pair after another (AUC-SDCD).

    Parameters
    ----------
    rows : PairRows
    pairs : ndarray of int
        The pairs, in this order.
    duals : ndarray of shape (len(positives) * len(negatives),)
        Changed in place, as is `w`.
    scale : float
        1 / (lambda k) with k the number of pairs: ``w`` is `scale` times the sum of ``duals * z``.
    squared : bool
        Squared hinge instead of hinge.
    averages : Averages
    dual_sum : float
        The sum of ``duals`` (of ``duals - duals**2 / 4`` if `squared`).

    Returns
    -------
    float
        The same after the steps.
    """
    # Once: reading a field costs as much as a short row.
    X, positives, negatives = rows
    drift, sums = averages
    n = negatives.size
    for pair in pairs:
        i = positives[pair // n]
        j = negatives[pair % n]
        margin, norm = _measure(X, i, j, w)
        old = duals[pair]
        new = _dual_step(old, margin, scale * norm, squared)
        if new != old:
            duals[pair] = new
            dual_sum += new - old
            if squared:
                dual_sum -= 0.25 * (new * new - old * old)
            _move(X, i, j, scale * (new - old), w)
            if drift.size:
                _move(X, i, j, sums[0] * scale * (new - old), drift)
        if drift.size:
            sums[0] += 1.0
            sums[1] += dual_sum
    return dual_sum


@njit(cache=True, nogil=True)
def stochastic_steps(rows, pairs, v, t, alpha, squared, duals):
    """Run modified stochastic gradient descent (AUC-MSGD) on ``v = t w``, so that the vector need not be scaled.

    Parameters
    ----------
    rows, pairs, squared
        As in `coordinate_steps`.
    v : ndarray of shape (d,)
        Changed in place.
    t : int
        Number of earlier steps.
    alpha : float
        The paper's lambda.
    duals : ndarray
        Takes the dual variable of each pair; empty: they are not kept.
    """
    X, positives, negatives = rows
    n = negatives.size
    for pair in pairs:
        i = positives[pair // n]
        j = negatives[pair % n]
        margin, norm = _measure(X, i, j, v)
        # Before the first step v is zero.
        margin /= max(t, 1)
        t += 1
        dual = _dual_step(0.0, margin, norm / (alpha * t), squared)
        if duals.size:
            duals[pair] = dual
        if dual != 0.0:
            _move(X, i, j, dual / alpha, v)


class Arrivals(NamedTuple):
    """Rows of a stream, in the order in which they arrive.

    Attributes
    ----------
    rows : ndarray of int64
        Positions of the rows.
    signs : ndarray of int8
        1 or -1 for each of them.
    draws : ndarray of float64
        A uniform number in [0, 1) for each of them, which chooses the slot in the reservoir.
    """

    rows: np.ndarray
    signs: np.ndarray
    draws: np.ndarray


class Reservoirs(NamedTuple):
    """Buffers of earlier rows, negatives first; changed in place.

    Attributes
    ----------
    rows : ndarray of shape (2, capacity), int64
        Positions of the buffered rows.
    filled, seen : ndarray of shape (2,), int64
        Number of rows in each buffer, and number of rows of each class so far.
    """

    rows: np.ndarray
    filled: np.ndarray
    seen: np.ndarray


@njit(cache=True, nogil=True)
def online_steps(X, arrivals, reservoirs, w, scale, gradual, squared, tally):
    """Run online AUC maximization (OAM).

    Each arriving row is paired with the buffered rows of the other class, then it may enter the buffer of its own.

    Parameters
    ----------
    X : ndarray of shape (n, d), or tuple of CSR arrays
        The arriving and the buffered rows.
    arrivals : Arrivals
    reservoirs : Reservoirs
        Changed in place, as is `w`.
    w : ndarray of shape (d,)
    scale : float
        The constant C of the method.
    gradual : bool
        One joint gradient step (OAM-gra, hinge only) instead of one step after the other (OAM-seq).
    squared : bool
    tally : ndarray of shape (3,)
        Of the dual variables of the steps, such that ``w`` is `scale` times the sum of ``duals * z``: their sum, the
        sum of their squares, and the largest; changed in place.
    """
    buffers, filled, seen = reservoirs
    violators = np.empty(buffers.shape[1], np.int64)
    for k in range(arrivals.rows.size):
        row = arrivals.rows[k]
        sign = arrivals.signs[k]
        own = 1 if sign > 0 else 0
        other = 1 - own
        seen[own] += 1
        # The buffered rows stand for all rows of their class so far.
        ratio = max(1.0, seen[other] / max(filled[other], 1))
        met = buffers[other, : filled[other]]
        if gradual:
            # The dual variables of the violators are 1.
            total = squares = 1.0 * _joint_step(X, row, sign, met, scale * ratio, w, violators)
            largest = min(total, 1.0)
        else:
            total, squares, largest = _sequential_steps(X, row, sign, met, scale * ratio, w, squared)
        tally[0] += total * ratio
        tally[1] += squares * ratio * ratio
        tally[2] = max(tally[2], largest * ratio)
        _enter(buffers[own], filled[own : own + 1], row, arrivals.draws[k], seen[own])


@njit(cache=True, nogil=True)
def fill_reservoirs(arrivals, reservoirs):
    """Let the arriving rows enter the buffers, without a step; `reservoirs` is changed in place."""
    buffers, filled, seen = reservoirs
    for k in range(arrivals.rows.size):
        own = 1 if arrivals.signs[k] > 0 else 0
        seen[own] += 1
        _enter(buffers[own], filled[own : own + 1], arrivals.rows[k], arrivals.draws[k], seen[own])


@njit(cache=True, nogil=True)
def _enter(buffer, filled, row, draw, n_seen):
    """Reservoir sampling: every row of a class so far is in its buffer with the same probability."""
    slot = filled[0]
    if slot < buffer.size:
        filled[0] += 1
    else:
        slot = np.int64(draw * n_seen)
    if slot < buffer.size:
        buffer[slot] = row


@njit(cache=True, nogil=True)
def _sequential_steps(X, row, sign, met, step, w, squared):
    """One step after the other; a pair is `sign` times `row` less one of the rows that are `met`.

    Returns the sum of the dual variables, that of their squares, and the largest.
    """
    total = squares = largest = 0.0
    for b in range(met.size):
        margin, norm = _measure(X, row, met[b], w)
        dual = _dual_step(0.0, sign * margin, step * norm, squared)
        total += dual
        squares += dual * dual
        largest = max(largest, dual)
        if dual != 0.0 and norm > 0.0:
            _move(X, row, met[b], sign * step * dual, w)
    return total, squares, largest


@njit(cache=True, nogil=True)
def _joint_step(X, row, sign, met, step, w, violators):
    """One gradient step over all pairs with a margin below 1, and their number; `violators` is working memory."""
    n_violators = 0
    for b in range(met.size):
        if sign * _measure(X, row, met[b], w)[0] < 1.0:
            violators[n_violators] = met[b]
            n_violators += 1
    for b in range(n_violators):
        _move(X, row, violators[b], sign * step, w)
    return n_violators


@njit(cache=True, nogil=True)
def _dual_step(old, margin, curvature, squared):
    """The optimal dual variable of a pair with all others fixed; `curvature` is scale * |z|^2."""
    if squared:
        return max(old + (1.0 - margin - 0.5 * old) / (curvature + 0.5), 0.0)
    if curvature == 0.0:
        # Equal rows: the loss is 1 for any w, and so is its dual variable.
        return 1.0
    return min(max(old + (1.0 - margin) / curvature, 0.0), 1.0)


def _measure(X, i, j, w):
    """``z.w`` and ``z.z`` of a pair."""


def _move(X, i, j, step, w):
    """Add ``step * z`` to `w`."""


@overload(_measure, inline="never", jit_options={"cache": True, "nogil": True, "fastmath": _FAST})
def _measure_overload(X, i, j, w):
    return _measure_dense if isinstance(X, types.Array) else _measure_sparse


@overload(_move, inline="never", jit_options={"cache": True, "nogil": True, "fastmath": _FAST})
def _move_overload(X, i, j, step, w):
    return _move_dense if isinstance(X, types.Array) else _move_sparse


def _measure_dense(X, i, j, w):
    margin = norm = 0.0
    for c in range(w.size):
        z = np.float64(X[i, c]) - np.float64(X[j, c])
        margin += z * w[c]
        norm += z * z
    return margin, norm


def _measure_sparse(X, i, j, w):
    data, indices, indptr = X
    margin = norm = 0.0
    p = indptr[i]
    q = indptr[j]
    p_end = indptr[i + 1]
    q_end = indptr[j + 1]
    # Both rows at once, so that the difference of equal rows is exactly 0.
    while p < p_end or q < q_end:
        left = indices[p] if p < p_end else w.size
        right = indices[q] if q < q_end else w.size
        z = 0.0
        if left <= right:
            z += data[p]
            p += 1
        if right <= left:
            z -= data[q]
            q += 1
        margin += z * w[min(left, right)]
        norm += z * z
    return margin, norm


def _move_dense(X, i, j, step, w):
    for c in range(w.size):
        w[c] += step * (np.float64(X[i, c]) - np.float64(X[j, c]))


def _move_sparse(X, i, j, step, w):
    data, indices, indptr = X
    for p in range(indptr[i], indptr[i + 1]):
        w[indices[p]] += step * data[p]
    for q in range(indptr[j], indptr[j + 1]):
        w[indices[q]] -= step * data[q]
