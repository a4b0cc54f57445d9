"""Shortest paths on graphs of nearest neighbors, by length or by the sum of exponentials of the edges.

The second cost is stored as its logarithm, so that it cannot overflow: an edge is stored as its exponent, a path as the
log-sum-exp of its edges, and a row at the end of a path, without any edge, has the logarithm of 0.
"""

import math

import numpy as np

from fewlabel.jit import njit

_WAITING, _SETTLED = -1, -2  # place in the heap of a row that has not been reached, or whose path is final


@njit(cache=True, nogil=True)
def log_add(a, b):
    """Logarithm of exp(a) + exp(b)."""
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


@njit(cache=True, nogil=True)
def adjacency(neighbors, lengths, directed):
    """List the rows that lead to each row in one step, as concatenated lists.

    Parameters
    ----------
    neighbors : ndarray of shape (n_rows, k), int32
        The rows that each row leads to; -1 for none.
    lengths : ndarray of shape (n_rows, k)
        Lengths of the steps.
    directed : bool
        If False, every step can also be taken backward.

    Returns
    -------
    indptr : ndarray of shape (n_rows + 1,), int64
        The rows that lead to row i are ``rows[indptr[i]:indptr[i + 1]]``.
    rows : ndarray of int32
    steps : ndarray of float64
        Length of each step.
    """
    n, k = neighbors.shape
    indptr = np.zeros(n + 2, np.int64)  # counts are shifted by one place, and become the places to write to
    for i in range(n):
        for m in range(k):
            if neighbors[i, m] >= 0:
                indptr[neighbors[i, m] + 2] += 1
                if not directed:
                    indptr[i + 2] += 1
    for i in range(2, n + 2):
        indptr[i] += indptr[i - 1]
    rows, steps = np.empty(indptr[n + 1], np.int32), np.empty(indptr[n + 1])
    for i in range(n):
        for m in range(k):
            j = neighbors[i, m]
            if j < 0:
                continue
            rows[indptr[j + 1]], steps[indptr[j + 1]] = i, lengths[i, m]
            indptr[j + 1] += 1
            if not directed:
                rows[indptr[i + 1]], steps[indptr[i + 1]] = j, lengths[i, m]
                indptr[i + 1] += 1
    return indptr[: n + 1], rows, steps


@njit(cache=True, nogil=True)
def shortest_paths(indptr, rows, steps, sources, exponential):
    r"""Find the cheapest path from every row to any of the sources, by one run of Dijkstra's algorithm.

    The cost of a path is :math:`\sum_e d_e`, or, if `exponential`, :math:`\log \sum_e e^{d_e}`.
    Among equal costs the path found first is kept: the one whose next row is cheaper, then that of the earlier source.

    Parameters
    ----------
    indptr, rows, steps : ndarray
        The graph, as returned by `adjacency`.
    sources : ndarray of int64
        Rows at which paths end.
    exponential : bool
        Which cost to use.

    Returns
    -------
    cost : ndarray of shape (n_rows,)
        ``inf`` where no path leads to a source; at the sources 0, or -inf if `exponential`.
    origin : ndarray of shape (n_rows,), int32
        The source at which the path ends; -1 for none.
    successor : ndarray of shape (n_rows,), int32
        The next row on the path; -1 for none.
    step : ndarray of shape (n_rows,)
        Length of the step to it.
    order : ndarray of int32
        The rows with a path, by cost: a row comes after its successor.
    """
    n = indptr.size - 1
    cost, step = np.full(n, np.inf), np.zeros(n)
    origin, successor = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    order, n_settled = np.empty(n, np.int32), 0
    heap, place, found, size, clock = np.empty(n, np.int32), np.full(n, _WAITING, np.int32), np.zeros(n, np.int64), 0, 0
    for s in sources:
        cost[s], origin[s], found[s] = -np.inf if exponential else 0.0, s, clock
        heap[size] = s
        clock += 1
        size += 1
        _rise(heap, place, cost, found, size - 1)
    while size > 0:
        u = heap[0]
        size -= 1
        if size > 0:
            heap[0] = heap[size]
            _sink(heap, place, cost, found, size)
        place[u] = _SETTLED
        order[n_settled] = u
        n_settled += 1
        for e in range(indptr[u], indptr[u + 1]):
            v = rows[e]
            if place[v] == _SETTLED:
                continue
            through = log_add(steps[e], cost[u]) if exponential else cost[u] + steps[e]
            if through < cost[v]:
                cost[v], origin[v], successor[v], step[v], found[v] = through, origin[u], u, steps[e], clock
                clock += 1
                if place[v] == _WAITING:
                    heap[size], place[v] = v, size
                    size += 1
                _rise(heap, place, cost, found, place[v])
    return cost, origin, successor, step, order[:n_settled]


@njit(cache=True, nogil=True)
def _before(u, v, cost, found):
    return cost[u] < cost[v] or (cost[u] == cost[v] and found[u] < found[v])


@njit(cache=True, nogil=True)
def _rise(heap, place, cost, found, i):
    """Move the row at place i of the heap up to where it belongs."""
    row = heap[i]
    while i > 0:
        parent = (i - 1) // 2
        if not _before(row, heap[parent], cost, found):
            break
        heap[i] = heap[parent]
        place[heap[i]] = i
        i = parent
    heap[i] = row
    place[row] = i


@njit(cache=True, nogil=True)
def _sink(heap, place, cost, found, size):
    """Move the row at the top of the heap down to where it belongs."""
    row, i = heap[0], 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _before(heap[child + 1], heap[child], cost, found):
            child += 1
        if not _before(heap[child], row, cost, found):
            break
        heap[i] = heap[child]
        place[heap[i]] = i
        i = child
    heap[i] = row
    place[row] = i


@njit(cache=True, nogil=True)
def path_costs(successor, step, order, delta):
    r"""Compute the logarithm of :math:`\sum_e e^{d_e / \delta}` along paths that were found by another cost.

    Parameters
    ----------
    successor, step, order : ndarray
        As returned by `shortest_paths`.
    delta : float
        The scale :math:`\delta`.

    Returns
    -------
    ndarray of shape (n_rows,)
        -inf at the source, inf where there is no path.
    """
    cost = np.full(successor.size, np.inf)
    for v in order:
        u = successor[v]
        cost[v] = -np.inf if u < 0 else log_add(step[v] / delta, cost[u])
    return cost


@njit(cache=True, nogil=True)
def keep_cheaper(best, best_tree, cost, tree, successors, steps, delta, tolerance):
    """Replace the best paths so far by those of a tree where they cost less; changes `best` and `best_tree`.

    If costs differ by less than `tolerance`, their logarithms may have lost the digits that matter: the edges that
    both paths share are then left out, and the rest is compared.

    Parameters
    ----------
    best : ndarray of shape (n_rows,)
    best_tree : ndarray of shape (n_rows,), int32
        Position of the tree the best path is in; -1 for none.
    cost : ndarray of shape (n_rows,)
        Costs in the tree.
    tree : int
        Position of the tree.
    successors, steps : ndarray of shape (n_trees, n_rows)
    """
    for i in range(best.size):
        if cost[i] == np.inf:
            continue
        cheaper = best_tree[i] < 0 or cost[i] < best[i]
        # At a source, -inf minus -inf is NaN, the comparison is False, and the source keeps its own tree.
        if best_tree[i] >= 0 and abs(cost[i] - best[i]) <= tolerance * max(1.0, abs(best[i])):
            old = _edges(successors[best_tree[i]], steps[best_tree[i]], i)
            new = _edges(successors[tree], steps[tree], i)
            cheaper = _cheaper(new, old, delta)
        if cheaper:
            best[i], best_tree[i] = cost[i], tree


@njit(cache=True, nogil=True)
def _edges(successor, step, row):
    """The edges of the path from a row, longest first."""
    n, v = 0, row
    while successor[v] >= 0:
        n += 1
        v = successor[v]
    edges, v = np.empty(n), row
    for m in range(n):
        edges[m] = step[v]
        v = successor[v]
    return np.sort(edges)[::-1]


@njit(cache=True, nogil=True)
def _cheaper(a, b, delta):
    cost_a, cost_b = -np.inf, -np.inf
    i = j = 0
    while i < a.size or j < b.size:
        if i < a.size and j < b.size and a[i] == b[j]:
            i, j = i + 1, j + 1
        elif j == b.size or (i < a.size and a[i] > b[j]):
            cost_a = log_add(a[i] / delta, cost_a)
            i += 1
        else:
            cost_b = log_add(b[j] / delta, cost_b)
            j += 1
    return cost_a < cost_b


@njit(cache=True, nogil=True)
def extend(neighbors, lengths, cost, exponential):
    """Compute the costs of the paths of new rows, whose first step leads to one of their neighbors.

    A neighbor at distance 0 is the row itself: no step is taken, and other neighbors are ignored.

    Parameters
    ----------
    neighbors : ndarray of shape (n_new, k), int32
        Neighbors of each new row; -1 for none.
    lengths : ndarray of shape (n_new, k)
        Distances to them.
    cost : ndarray of shape (n_rows, n_kinds)
        Costs of the rows, one column per kind of path.
    exponential : bool
        Which cost to use.

    Returns
    -------
    new_cost : ndarray of shape (n_new, n_kinds)
    through : ndarray of shape (n_new, n_kinds), int32
        The neighbor on the cheapest path; -1 for none.
    """
    n, k = neighbors.shape
    new_cost = np.full((n, cost.shape[1]), np.inf)
    through = np.full((n, cost.shape[1]), -1, np.int32)
    for i in range(n):
        known = False
        for m in range(k):
            known |= neighbors[i, m] >= 0 and lengths[i, m] == 0
        for m in range(k):
            j, length = neighbors[i, m], lengths[i, m]
            if j >= 0 and not (known and length > 0):
                _take_step(i, j, length, cost, exponential, new_cost, through)
    return new_cost, through


@njit(cache=True, nogil=True, inline="always")  # a call costs a third of the time of `extend`
def _take_step(i, j, length, cost, exponential, new_cost, through):
    """Lower the costs of new row i where the paths of its neighbor j are cheaper."""
    for c in range(cost.shape[1]):
        value = cost[j, c]
        if value == np.inf:
            continue
        if length > 0:
            value = log_add(length, value) if exponential else length + value
        tie = value == new_cost[i, c] and j < through[i, c]
        if value < new_cost[i, c] or tie:
            new_cost[i, c], through[i, c] = value, j
