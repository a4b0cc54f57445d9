"""Shortest paths and their costs."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree

from fewlabel.kernels import paths
from reference import paths as reference


def random_graph(n=60, k=4, seed=0, directed=False):
    rng = np.random.default_rng(seed)
    neighbors = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)], dtype=np.int32)
    lengths = rng.random((n, k)) + 0.01
    return neighbors, lengths, paths.adjacency(neighbors, lengths, directed)


def as_matrix(graph):
    """Edge i -> j at [i, j], the shorter of two."""
    indptr, rows, steps = graph
    matrix = np.full((len(indptr) - 1, len(indptr) - 1), np.inf)
    for j in range(len(indptr) - 1):
        for e in range(indptr[j], indptr[j + 1]):
            matrix[rows[e], j] = min(matrix[rows[e], j], steps[e])
    return matrix


def test_log_add():
    assert paths.log_add(1.0, 2.0) == pytest.approx(math.log(math.e + math.e**2), rel=1e-15)
    assert paths.log_add(-np.inf, 3.0) == 3.0
    assert paths.log_add(-np.inf, -np.inf) == -np.inf
    assert paths.log_add(1e8, 1.0) == 1e8


def test_adjacency_by_hand():
    neighbors = np.array([[1, 2], [0, -1], [1, -1]], dtype=np.int32)
    lengths = np.array([[1.0, 2.0], [3.0, 9.0], [4.0, 9.0]])
    indptr, rows, steps = paths.adjacency(neighbors, lengths, True)
    assert indptr.tolist() == [0, 1, 3, 4]
    assert rows.tolist() == [1, 0, 2, 0]
    assert steps.tolist() == [3.0, 1.0, 4.0, 2.0]
    indptr, rows, steps = paths.adjacency(neighbors, lengths, False)
    assert indptr.tolist() == [0, 3, 6, 8]
    assert sorted(zip(rows[:3].tolist(), steps[:3].tolist())) == [(1, 1.0), (1, 3.0), (2, 2.0)]


def test_cheapest_path_by_hand():
    # 0 is labeled. From 2, one step of 2.5 is shorter than 1 + 1.6, and dearer: e^2.5 = 12.2 against e + e^1.6 = 7.7.
    neighbors = np.array([[-1, -1], [0, -1], [0, 1]], dtype=np.int32)
    graph = paths.adjacency(neighbors, np.array([[0, 0], [1.0, 0], [2.5, 1.6]]), True)
    cost, origin, successor, step, order = paths.shortest_paths(*graph, np.array([0]), True)
    np.testing.assert_allclose(cost, [-np.inf, 1.0, math.log(math.e + math.exp(1.6))])
    assert successor.tolist() == [-1, 0, 1]
    assert step.tolist() == [0.0, 1.0, 1.6]
    assert (order.tolist(), origin.tolist()) == ([0, 1, 2], [0, 0, 0])
    cost, _, successor, _, _ = paths.shortest_paths(*graph, np.array([0]), False)
    assert (cost.tolist(), successor.tolist()) == ([0.0, 1.0, 2.5], [-1, 0, 0])


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_lengths_are_scipys(directed, seed):
    graph = random_graph(seed=seed, directed=directed)[2]
    sources = np.array([3, 11, 40])
    cost, origin, _, _, order = paths.shortest_paths(*graph, sources, False)
    matrix = as_matrix(graph)
    to_sources = dijkstra(csr_matrix(np.where(np.isinf(matrix), 0, matrix)).T, indices=sources)
    np.testing.assert_allclose(cost, to_sources.min(axis=0), rtol=1e-13)
    np.testing.assert_array_equal(origin, np.where(np.isinf(cost), -1, sources[to_sources.argmin(axis=0)]))
    assert sorted(order) == np.flatnonzero(np.isfinite(cost)).tolist()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-3, 1.0, 30.0, 1e8]), directed=st.booleans())
def test_invariants_of_the_tree(seed, scale, directed):
    neighbors, lengths, _ = random_graph(30, 3, seed)
    graph = paths.adjacency(neighbors, lengths * scale, directed)
    sources = np.array([1, 5, 17])
    cost, origin, successor, step, order = paths.shortest_paths(*graph, sources, True)
    assert (cost[sources] == -np.inf).all()
    assert not np.isnan(cost).any()
    inner = order[len(sources) :]
    np.testing.assert_array_equal(origin[inner], origin[successor[inner]])
    # The cost never falls away from the labels. It need not rise: a step of 1 after one of 40 is below the last digit.
    assert (cost[inner] >= cost[successor[inner]]).all()
    np.testing.assert_array_equal(cost[inner], [paths.log_add(step[v], cost[successor[v]]) for v in inner])
    matrix = as_matrix(graph)
    for i, j in zip(*np.nonzero(np.isfinite(matrix))):
        if cost[j] < np.inf:
            assert cost[i] <= paths.log_add(matrix[i, j], cost[j])


def test_a_small_step_after_a_large_one_is_below_the_last_digit():
    """Costs do not rise strictly along every path, whatever exact arithmetic says."""
    assert paths.log_add(1.0, 40.0) == 40.0


@pytest.mark.parametrize("seed", range(5))
def test_steep_exponentials_minimize_the_longest_edge(seed):
    graph = random_graph(40, 4, seed)[2]
    sources = np.array([0, 1, 2])
    cost = paths.shortest_paths(graph[0], graph[1], graph[2] * 1e7, sources, True)[0] / 1e7
    matrix = as_matrix(graph)
    tree = minimum_spanning_tree(csr_matrix(np.where(np.isinf(matrix), 0, matrix))).toarray()
    tree = np.maximum(tree, tree.T)
    minimax = np.full((3, 40), np.inf)
    for s in sources:  # on the spanning tree there is one path, and no other has a smaller largest edge
        minimax[s, s] = -np.inf
        waiting = [s]
        while waiting:
            i = waiting.pop()
            for j in np.flatnonzero(tree[i]):
                if minimax[s, j] == np.inf:
                    minimax[s, j] = max(minimax[s, i], tree[i, j])
                    waiting.append(j)
    np.testing.assert_allclose(cost, minimax.min(axis=0), atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_flat_exponentials_count_the_steps(seed):
    graph = random_graph(40, 2, seed)[2]
    sources = np.array([0, 1])
    cost = paths.shortest_paths(graph[0], graph[1], graph[2] * 1e-9, sources, True)[0]
    hops = paths.shortest_paths(graph[0], graph[1], np.ones_like(graph[2]), sources, False)[0]
    np.testing.assert_allclose(np.exp(cost), hops, rtol=1e-6)


def test_ties_go_to_the_earlier_source_and_unreached_rows_stay():
    neighbors = np.array([[2], [2], [0], [4], [3]], dtype=np.int32)
    graph = paths.adjacency(neighbors, np.ones((5, 1)), False)
    for exponential in (False, True):
        cost, origin, successor, _, order = paths.shortest_paths(*graph, np.array([0, 1]), exponential)
        assert origin.tolist() == [0, 1, 0, -1, -1]
        assert successor.tolist() == [-1, -1, 0, -1, -1]
        assert cost[3] == cost[4] == np.inf
        assert order.tolist() == [0, 1, 2]


def test_costs_along_a_tree():
    graph = random_graph(seed=1)[2]
    _, _, successor, step, order = paths.shortest_paths(*graph, np.array([7]), False)
    cost = paths.path_costs(successor, step, order, 0.1)
    for v in order:
        edges, u = [], v
        while successor[u] >= 0:
            edges.append(step[u])
            u = successor[u]
        expected = np.logaddexp.reduce(np.array(edges) / 0.1) if edges else -np.inf
        assert cost[v] == pytest.approx(expected, rel=1e-12)


def test_paths_of_one_bottleneck_are_compared_without_it():
    # Row 0 steps 100 to row 1; from there 5 to the first source (row 2), and 4 to the second (row 3).
    successors = np.array([[1, 2, -1, -1], [1, 3, -1, -1]], dtype=np.int32)
    steps = np.array([[100.0, 5, 0, 0], [100.0, 4, 0, 0]])
    orders = np.array([[2, 1, 0], [3, 1, 0]])
    best, tree = np.full(4, np.inf), np.full(4, -1, np.int32)
    for t in range(2):
        cost = paths.path_costs(successors[t], steps[t], orders[t], 1.0)
        assert cost[0] == 100.0  # the digits that decide are lost
        paths.keep_cheaper(best, tree, cost, t, successors, steps, 1.0, 1e-9)
    assert tree.tolist() == [1, 1, 0, 1]


def test_extend_takes_the_best_first_step():
    neighbors = np.array([[0, 1], [1, 2], [2, -1]], dtype=np.int32)
    lengths = np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    cost = np.array([[0.0, 5.0], [3.0, 4.0], [np.inf, np.inf]])
    new, through = paths.extend(neighbors, lengths, cost, False)
    assert new.tolist() == [[2.0, 5.0], [3.0, 4.0], [np.inf, np.inf]]
    assert through.tolist() == [[0, 1], [1, 1], [-1, -1]]
    new, _ = paths.extend(neighbors, lengths, cost, True)
    assert new[0, 0] == pytest.approx(np.logaddexp(2.0, 0.0))
    assert new[1].tolist() == [3.0, 4.0]  # an equal row: no step


# Naive twins, on whatever Hypothesis draws ---------------------------------------------------------------------------


@st.composite
def graphs(draw):
    """Up to 9 rows, up to 3 steps from each (some missing), lengths that tie, and steps of length 0."""
    n, k = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    neighbors = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)], dtype=np.int32)
    neighbors[rng.random(neighbors.shape) < 0.15] = -1
    lengths = rng.integers(0, 5, neighbors.shape) * draw(st.sampled_from([0.1, 1.0, 40.0]))
    return neighbors, lengths


def as_edges(neighbors, lengths, directed):
    """{row: {row: length}}, the shorter of two steps."""
    edges = {i: {} for i in range(len(neighbors))}
    for i, (ends, steps) in enumerate(zip(neighbors.tolist(), lengths.tolist())):
        for j, length in zip(ends, steps):
            if j >= 0:
                edges[i][j] = min(length, edges[i].get(j, np.inf))
                if not directed:
                    edges[j][i] = min(length, edges[j].get(i, np.inf))
    return edges


@settings(max_examples=80)
@given(graphs(), st.booleans(), st.sampled_from(["exponential", "length"]), st.integers(0, 10**6))
def test_costs_are_those_of_a_run_for_each_pair(graph, directed, cost, seed):
    neighbors, lengths = graph
    codes = np.where(np.random.default_rng(seed).random(len(neighbors)) < 0.3, 1, -1)
    codes[seed % len(codes)] = 1
    expected = reference.labels(as_edges(neighbors, lengths, directed), codes, cost, "cheapest", 1.0)
    adjacency = paths.adjacency(neighbors, lengths, directed)
    found, origin, *_ = paths.shortest_paths(*adjacency, np.flatnonzero(codes > 0), cost == "exponential")
    for i, (total, _) in enumerate(expected):
        assert (total is None) == (origin[i] < 0) == (found[i] == np.inf)
        if total is not None and codes[i] < 0:
            value = reference.log(total) if cost == "exponential" else float(total)
            assert found[i] == pytest.approx(value, rel=1e-12, abs=1e-12)


edge_lists = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 3.5, 90.0, 90.25, 700.0]), max_size=6)


@settings(max_examples=100)
@given(edge_lists, edge_lists)
def test_paths_are_compared_with_all_digits(a, b):
    exact_a, exact_b = exact_cost(a), exact_cost(b)
    sorted_a, sorted_b = (np.sort(np.array(edges, dtype=float))[::-1] for edges in (a, b))
    assert paths._cheaper(sorted_a, sorted_b, 0.5) == (exact_a < exact_b)


def exact_cost(edges, delta=Decimal("0.5")):
    with localcontext() as context:
        context.prec = 700  # e^1400 and 1 in one number
        return sum((Decimal(d) / delta).exp() for d in edges)


@settings(max_examples=60)
@given(graphs(), st.booleans(), st.integers(0, 10**6))
def test_extend_equals_the_best_of_all_first_steps(graph, exponential, seed):
    neighbors, lengths = graph
    rng = np.random.default_rng(seed)
    cost = np.where(rng.random((len(neighbors), 2)) < 0.2, np.inf, rng.integers(0, 4, (len(neighbors), 2)) * 1.0)
    found, through = paths.extend(neighbors, lengths, cost, exponential)
    for i, c in np.ndindex(found.shape):
        steps = [(length, j) for length, j in zip(lengths[i], neighbors[i]) if j >= 0]
        if any(length == 0 for length, _ in steps):
            steps = [(length, j) for length, j in steps if length == 0]
        add = np.logaddexp if exponential else np.add
        totals = [(cost[j, c] if length == 0 else add(length, cost[j, c]), j) for length, j in steps]
        best, row = min(totals, default=(np.inf, -1))
        assert found[i, c] == pytest.approx(best, rel=1e-12)
        if best == np.inf:
            assert through[i, c] == -1
        elif not exponential:  # sums of whole numbers tie exactly: the lower row wins
            assert through[i, c] == row
