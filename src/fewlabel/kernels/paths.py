"""Shortest paths on graphs of nearest neighbors, by length or by the sum of exponentials of the edges.

The second cost is stored as its logarithm, so that it cannot overflow: an edge is stored as its exponent, a path as the
log-sum-exp of its edges, and a row at the end of a path, without any edge, has the logarithm of 0.
"""

import math
from heapq import heappop, heappush

import numpy as np

from fewlabel.jit import njit


@njit(cache=True, nogil=True)
def log_add(a, b):
    """Logarithm of exp(a) + exp(b)."""
    high = max(a, b)
    low = min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


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
    n_rows, k = neighbors.shape
    starts = np.repeat(np.arange(n_rows, dtype=np.int32), k)
    ends = neighbors.ravel()
    steps = lengths.ravel()
    if not directed:
        # Each step, and then the way back.
        both_ends = np.column_stack([starts, ends])
        starts = both_ends.ravel()
        ends = both_ends[:, ::-1].ravel()
        steps = np.repeat(steps, 2)
    present = np.flatnonzero((starts >= 0) & (ends >= 0))
    by_end = present[np.argsort(ends[present], kind="stable")]
    indptr = np.zeros(n_rows + 1, np.int64)
    np.cumsum(np.bincount(ends[present], minlength=n_rows), out=indptr[1:])
    return indptr, starts[by_end], steps[by_end]


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
    cost = np.full(n, np.inf)
    origin = np.full(n, -1, np.int32)
    successor = np.full(n, -1, np.int32)
    step = np.zeros(n)
    order = np.empty(n, np.int32)
    n_settled = 0
    cost[sources] = -np.inf if exponential else 0.0
    origin[sources] = sources
    # When each cost was found: equal costs leave the heap in this order.
    found_at = np.zeros(n, np.int64)
    found_at[sources] = np.arange(sources.size)
    clock = sources.size
    heap = [(cost[s], found_at[s], s) for s in sources]
    while heap:
        _, found, u = heappop(heap)
        # A cheaper path has been found since.
        if found != found_at[u]:
            continue
        order[n_settled] = u
        n_settled += 1
        for e in range(indptr[u], indptr[u + 1]):
            v = np.int64(rows[e])
            through = log_add(steps[e], cost[u]) if exponential else cost[u] + steps[e]
            # Never the case for a row that has left the heap: no step makes a path cheaper.
            if through < cost[v]:
                cost[v] = through
                origin[v] = origin[u]
                successor[v] = u
                step[v] = steps[e]
                found_at[v] = clock
                heappush(heap, (through, clock, v))
                clock += 1
    return cost, origin, successor, step, order[:n_settled]


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
        old = best_tree[i]
        cheaper = old < 0 or cost[i] < best[i]
        # At a source, -inf minus -inf is NaN, the comparison is False, and the source keeps its own tree.
        if old >= 0 and abs(cost[i] - best[i]) <= tolerance * max(1.0, abs(best[i])):
            old_edges = _edges(successors[old], steps[old], i)
            new_edges = _edges(successors[tree], steps[tree], i)
            cheaper = _cheaper(new_edges, old_edges, delta)
        if cheaper:
            best[i] = cost[i]
            best_tree[i] = tree


@njit(cache=True, nogil=True)
def _edges(successor, step, row):
    """The edges of the path from a row, longest first."""
    n = 0
    v = row
    while successor[v] >= 0:
        n += 1
        v = successor[v]
    edges = np.empty(n)
    v = row
    for m in range(n):
        edges[m] = step[v]
        v = successor[v]
    return np.sort(edges)[::-1]


@njit(cache=True, nogil=True)
def _cheaper(a, b, delta):
    """Whether path a costs less than path b; edges that both have are left out."""
    cost_a = -np.inf
    cost_b = -np.inf
    i = 0
    j = 0
    while i < a.size or j < b.size:
        if i < a.size and j < b.size and a[i] == b[j]:
            i += 1
            j += 1
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
    n_kinds = cost.shape[1]
    new_cost = np.full((n, n_kinds), np.inf)
    through = np.full((n, n_kinds), -1, np.int32)
    for i in range(n):
        known = False
        for m in range(k):
            known |= neighbors[i, m] >= 0 and lengths[i, m] == 0
        for m in range(k):
            j = neighbors[i, m]
            length = lengths[i, m]
            if j >= 0 and not (known and length > 0):
                _take_step(i, j, length, cost, exponential, new_cost, through)
    return new_cost, through


# Inlined: a call costs a third of the time of `extend`.
@njit(cache=True, nogil=True, inline="always")
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
            new_cost[i, c] = value
            through[i, c] = j
