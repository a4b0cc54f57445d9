"""Rows as points: a number for each row's values, exact distances, and the nearest rows, exact or nearly so.

Rows are dense, or the arrays (data, indices, indptr) of a CSR matrix with sorted indices.

The approximate search grows random trees, whose leaves give each row a few candidates, and then compares it with the
neighbors of its neighbors. Lists of neighbors are sorted by distance and then by position, so that the result does not
depend on the order in which candidates are met, nor on the number of threads.
"""

import numpy as np
from numba import types
from numba.extending import overload

from fewlabel.jit import njit

# Sums in any order, for vector instructions: distances that only choose rows are three times as fast.
_REORDER = {"reassoc", "contract", "nsz"}
_MIX_1, _MIX_2, _MIX_3 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


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
def nearest(A, B, chosen, own, k, squared):
    """Find the k nearest rows of B for chosen rows of A by exact distances; among equal ones the first.

    Parameters
    ----------
    A, B : ndarray of shape (n, n_features) and (m, n_features), or tuples (data, indices, indptr)
    chosen : ndarray of int64
        Rows of A.
    own : bool
        Whether A is B, and a row is not its own neighbor.
    k : int
        At most the number of candidates.
    squared : bool
        The sum of squares, or of absolute values.

    Returns
    -------
    found : ndarray of shape (n_chosen, k), int32
        Nearest first.
    """
    found = np.empty((chosen.size, k), np.int32)
    total = np.empty(k)
    for c in range(chosen.size):
        filled = 0
        for j in range(_n_rows(B)):
            if own and j == chosen[c]:
                continue
            d = _distance(A, chosen[c], B, j, squared)
            if filled == k and d >= total[k - 1]:
                continue
            m = min(filled, k - 1)
            while m > 0 and total[m - 1] > d:
                total[m], found[c, m] = total[m - 1], found[c, m - 1]
                m -= 1
            total[m], found[c, m] = d, j
            filled = min(filled + 1, k)
    return found


def _n_rows(A):
    """Number of rows."""


@overload(_n_rows, inline="always", jit_options={"cache": True, "nogil": True})
def _n_rows_overload(A):
    return (lambda A: A.shape[0]) if isinstance(A, types.Array) else (lambda A: A[2].size - 1)


@njit(cache=True, nogil=True)
def distances(A, B, neighbors, squared):
    """Compute the distance of each row of A to the given rows of B by subtraction: equal rows have distance 0.

    Parameters
    ----------
    A, B : ndarray of shape (n, n_features) and (m, n_features), or tuples (data, indices, indptr)
        Dense rows, or the arrays of two CSR matrices with sorted indices.
    neighbors : ndarray of shape (n, k), int32
        Rows of B; -1 for none.
    squared : bool
        The sum of squares, or of absolute values.

    Returns
    -------
    ndarray of shape (n, k)
    """
    total = np.zeros(neighbors.shape)
    for i in range(neighbors.shape[0]):
        for m in range(neighbors.shape[1]):
            if neighbors[i, m] >= 0:
                total[i, m] = _distance(A, i, B, neighbors[i, m], squared)
    return total


def _distance(A, i, B, j, squared):
    """Distance of row i of A to row j of B."""


@overload(_distance, inline="always", jit_options={"cache": True, "nogil": True})  # a call costs a quarter of the time
def _distance_overload(A, i, B, j, squared):
    return _dense_distance if isinstance(A, types.Array) else _sparse_distance


def _dense_distance(A, i, B, j, squared):
    total = 0.0
    for f in range(A.shape[1]):
        difference = A[i, f] - B[j, f]
        total += difference * difference if squared else abs(difference)
    return total


def _sparse_distance(A, i, B, j, squared):
    a_data, a_columns, a_indptr = A
    b_data, b_columns, b_indptr = B
    p, p_end, q, q_end = a_indptr[i], a_indptr[i + 1], b_indptr[j], b_indptr[j + 1]
    total = 0.0
    while p < p_end or q < q_end:
        if q == q_end or (p < p_end and a_columns[p] < b_columns[q]):
            difference = a_data[p]
            p += 1
        elif p == p_end or b_columns[q] < a_columns[p]:
            difference = -b_data[q]
            q += 1
        else:
            difference = a_data[p] - b_data[q]
            p, q = p + 1, q + 1
        total += difference * difference if squared else abs(difference)
    return total


@njit(cache=True, nogil=True, fastmath=_REORDER)
def grow_tree(A, seed, leaf_size, squared):
    """Split the rows at random until few are left: each row goes to the nearer one of two rows.

    Parameters
    ----------
    A : ndarray or tuple
        The rows.
    seed : int
    leaf_size : int
        Largest number of rows of a leaf.
    squared : bool
        The sum of squares, or of absolute values.

    Returns
    -------
    nodes : ndarray of shape (n_nodes, 4), int64
        The two rows and the two children of an inner node; for a leaf -1, -1, and the range of its rows in `order`.
    order : ndarray of int64
        The rows, leaf by leaf.
    """
    n = _n_rows(A)
    order, spare = np.arange(n), np.empty(n, np.int64)
    nodes = np.empty((max(1, 2 * n), 4), np.int64)
    starts, ends = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
    ends[0], made, state = n, 1, np.uint64(seed)
    node = 0
    while node < made:
        low, high = starts[node], ends[node]
        if high - low <= leaf_size:
            nodes[node, 0], nodes[node, 1], nodes[node, 2], nodes[node, 3] = -1, -1, low, high
        else:
            state = _mix(state)
            first = order[low + np.int64(state % np.uint64(high - low))]
            state = _mix(state)
            second = order[low + np.int64(state % np.uint64(high - low))]
            near, far = low, 0
            for place in range(low, high):
                row = order[place]
                if _near(A, row, A, first, squared) < _near(A, row, A, second, squared):
                    order[near] = row
                    near += 1
                else:
                    spare[far] = row
                    far += 1
            for m in range(far):
                order[near + m] = spare[m]
            if near == low or far == 0:  # the two rows are equal
                near = (low + high) // 2
            nodes[node, 0], nodes[node, 1], nodes[node, 2], nodes[node, 3] = first, second, made, made + 1
            starts[made], ends[made], starts[made + 1], ends[made + 1] = low, near, near, high
            made += 2
        node += 1
    return nodes[:made].copy(), order


@njit(cache=True, nogil=True, fastmath=_REORDER)
def join_leaves(A, leaves, order, found, total, squared):
    """Make the rows of each leaf candidates of each other; changes `found` and `total`.

    Parameters
    ----------
    leaves : ndarray of shape (n_leaves, 2), int64
        Ranges of `order`.
    found : ndarray of shape (n_rows, k), int32
        The nearest rows so far, -1 for none.
    total : ndarray of shape (n_rows, k), float64
        Their distances, infinite for none.
    """
    for leaf in range(len(leaves)):
        for a in range(leaves[leaf, 0], leaves[leaf, 1]):
            for b in range(a + 1, leaves[leaf, 1]):
                i, j = order[a], order[b]
                d = _near(A, i, A, j, squared)
                _push(found[i], total[i], j, d)
                _push(found[j], total[j], i, d)


@njit(cache=True, nogil=True)
def reverse(found, n_most):
    """Rows in whose lists a row is: an array of shape (n_rows, n_most), -1 for none; the first ones if more."""
    back = np.full((len(found), n_most), -1, np.int32)
    filled = np.zeros(len(found), np.int64)
    for m in range(found.shape[1]):  # the nearest first
        for i in range(len(found)):
            j = found[i, m]
            if j >= 0 and filled[j] < n_most:
                back[j, filled[j]] = i
                filled[j] += 1
    return back


@njit(cache=True, nogil=True, fastmath=_REORDER)
def descend(A, rows, lists, new, squared):
    """Make the neighbors of neighbors of each row candidates; a pass over a range of rows.

    Parameters
    ----------
    rows : tuple of int
        First row, and the one after the last.
    lists : tuple of ndarray
        The lists before the pass, `reverse` of them, and which of their entries the pass before has added.
    new : tuple of ndarray
        Neighbors, distances and fresh entries, which the pass changes in these rows.

    Returns
    -------
    int
        Number of new neighbors.
    """
    found, back, fresh = lists
    new_found, new_total, new_fresh = new
    changed = 0
    for i in range(rows[0], rows[1]):
        new_fresh[i, :] = False
        for m in range(found.shape[1] + back.shape[1]):
            forward = m < found.shape[1]
            j = found[i, m] if forward else back[i, m - found.shape[1]]
            if j < 0:
                continue
            if not forward:
                changed += _consider(A, i, j, new_found, new_total, new_fresh, squared)
            # A pair that both passes knew has been compared: one of the two steps must be new.
            known = forward and not fresh[i, m]
            for c in range(found.shape[1]):
                if found[j, c] >= 0 and found[j, c] != i and (fresh[j, c] or not known):
                    changed += _consider(A, i, found[j, c], new_found, new_total, new_fresh, squared)
    return changed


@njit(cache=True, nogil=True, fastmath=_REORDER)
def _consider(A, i, j, found, total, fresh, squared):
    """Put row j into the list of row i if it belongs there; 1 if so."""
    d = _near(A, i, A, j, squared)
    place = _push(found[i], total[i], j, d)
    if place < 0:
        return 0
    for m in range(found.shape[1] - 1, place, -1):
        fresh[i, m] = fresh[i, m - 1]
    fresh[i, place] = True
    return 1


@njit(cache=True, nogil=True, fastmath=_REORDER)
def walk(B, A, forest, graph, found, rows, squared):
    """Find near rows of A for rows of B: those of their leaves, then neighbors of the nearest until none is nearer.

    Parameters
    ----------
    B, A : ndarray or tuple
    forest : tuple of ndarray
        The nodes of all trees, one after the other, with the children's positions in it; the first node of each tree;
        the orders of the trees, of shape (n_trees, n_rows).
    graph : ndarray of shape (n_rows, k), int32
        The lists of the rows of A.
    found : ndarray of shape (n_new, k), int32
        Filled by this function; -1 before, and after it for none.
    rows : tuple of int
        The first row of B, and the one after the last.
    """
    nodes, roots, orders = forest
    k = found.shape[1]
    total, expanded = np.empty(k), np.empty(k, np.bool_)
    for i in range(rows[0], rows[1]):
        total[:] = np.inf
        for t in range(len(roots)):
            node = roots[t]
            while nodes[node, 0] >= 0:
                nearer = _near(B, i, A, nodes[node, 0], squared) < _near(B, i, A, nodes[node, 1], squared)
                node = nodes[node, 2] if nearer else nodes[node, 3]
            for place in range(nodes[node, 2], nodes[node, 3]):
                j = orders[t, place]
                _push(found[i], total, j, _near(B, i, A, j, squared))
        expanded[:] = False
        while True:
            m = 0
            while m < k and expanded[m]:
                m += 1
            if m == k or found[i, m] < 0:
                break
            expanded[m] = True
            for j in graph[found[i, m]]:
                if j < 0:
                    continue
                d = _near(B, i, A, j, squared)
                place = _push(found[i], total, j, d)
                if place >= 0:
                    for c in range(k - 1, place, -1):
                        expanded[c] = expanded[c - 1]
                    expanded[place] = False


@njit(cache=True, nogil=True)
def _push(found, total, j, d):
    """Insert row j at distance d into a sorted list unless it is in it; its place, -1 if it is too far."""
    k = len(found)
    if d > total[k - 1] or (d == total[k - 1] and j >= found[k - 1]):
        return -1
    for m in range(k):
        if found[m] == j:
            return -1
    m = k - 1
    while m > 0 and (total[m - 1] > d or (total[m - 1] == d and found[m - 1] > j)):
        total[m], found[m] = total[m - 1], found[m - 1]
        m -= 1
    total[m], found[m] = d, j
    return m


@njit(cache=True, nogil=True, fastmath=_REORDER)
def _near(A, i, B, j, squared):
    """Distance of row i of A to row j of B, for comparisons only."""
    return _distance(A, i, B, j, squared)
