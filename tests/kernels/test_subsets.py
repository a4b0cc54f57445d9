"""Incremental distances, subset scores, ReliefF's updates and groups of equal rows, beside naive twins."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabel.kernels import subsets
from reference import selection as reference


@st.composite
def tables(draw, most_rows=14, most_columns=5):
    """A small table sorted by class: scaled numbers on a coarse grid, so that there are ties, and codes; with gaps."""
    sizes = draw(st.lists(st.integers(1, most_rows // 2), min_size=2, max_size=4))
    n, d = sum(sizes), draw(st.integers(1, most_columns))
    nominal = np.array(draw(st.lists(st.booleans(), min_size=d, max_size=d)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = np.where(nominal, rng.integers(0, 3, (n, d)), rng.integers(0, 9, (n, d)) / 8)
    values[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    y = np.repeat(np.arange(len(sizes)), sizes)
    return values, nominal, y, np.r_[0, np.cumsum(sizes)].astype(np.int64)


def squared_distances(values, nominal, subset, queries):
    """Squared distances in a subset, a cell at a time."""
    total = np.zeros((len(queries), len(values)))
    for i, q in enumerate(queries):
        for j in range(len(values)):
            for f in subset:
                a, b = values[q, f], values[j, f]
                if np.isnan(a) or np.isnan(b):
                    total[i, j] += 1
                else:
                    total[i, j] += float(a != b) if nominal[f] else (a - b) ** 2
    return total


def kernel_scores(values, nominal, starts, subset, queries, k):
    columns = np.ascontiguousarray(values.T)
    squared = np.zeros((len(queries), len(values)))
    for f in subset:
        subsets.add_column(columns[f], nominal[f], queries, squared)
    candidates = np.setdiff1d(np.arange(values.shape[1]), subset)
    return candidates, subsets.subset_scores(columns, nominal, candidates, starts, queries, squared, k)


def test_subset_score_by_hand():
    # Query 0.0 of class 0 (0.0, 0.2, 0.6), class 1 (0.5, 1.0): two misses at 0.5 and 1.0, two hits at 0.2 and 0.6.
    columns, nominal = np.array([[0.0, 0.2, 0.6, 0.5, 1.0]]), np.array([False])
    starts, query, none = np.array([0, 3, 5]), np.array([0]), np.zeros((1, 5))
    for k, expected in ((1, 0.5 - 0.2), (2, 0.75 - 0.4), (9, 0.75 - 0.4)):
        score = subsets.subset_scores(columns, nominal, np.array([0]), starts, query, none, k)
        np.testing.assert_allclose(score, [expected], atol=1e-15)


def test_three_classes_weigh_by_their_shares():
    # Query of class 0 (one row: no hit); class 1 has 3 rows at distance 1, class 2 one at distance 0.5.
    columns, nominal = np.array([[0.0, 1.0, 1.0, 1.0, 0.5]]), np.array([False])
    starts, query = np.array([0, 1, 4, 5]), np.array([0])
    score = subsets.subset_scores(columns, nominal, np.array([0]), starts, query, np.zeros((1, 5)), 2)
    np.testing.assert_allclose(score, [0.75 * 1 + 0.25 * 0.5])


@settings(max_examples=60)
@given(tables(), st.integers(0, 4), st.integers(1, 20))
def test_distances_grow_column_by_column(table, n_chosen, k):
    values, nominal, y, _ = table
    subset = list(range(min(n_chosen, values.shape[1])))
    queries = np.arange(len(y))[:: max(1, k % 3)]
    squared = np.zeros((len(queries), len(y)))
    for f in subset:
        subsets.add_column(np.ascontiguousarray(values[:, f]), nominal[f], queries, squared)
    np.testing.assert_allclose(squared, squared_distances(values, nominal, subset, queries), atol=1e-12)


@settings(max_examples=120)
@given(tables(), st.integers(0, 4), st.integers(1, 20))
def test_subset_scores_equal_explicit_neighbors(table, n_chosen, k):
    values, nominal, y, starts = table
    subset = list(range(values.shape[1]))[: min(n_chosen, values.shape[1] - 1)]
    queries = np.arange(len(y))
    candidates, scores = kernel_scores(values, nominal, starts, subset, queries, k)
    expected = [reference.subset_score(values, nominal, y, [*subset, f], queries, k) for f in candidates]
    np.testing.assert_allclose(scores / len(queries), expected, atol=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("n_chosen", [0, 1, 6])
def test_subset_scores_of_a_large_table_equal_explicit_neighbors(n_chosen, missing):
    """Many rows a class: most of them are left out by their distance in the present subset."""
    rng = np.random.default_rng(n_chosen)
    values = np.column_stack([rng.random((900, 6)), rng.integers(0, 4, (900, 3))]).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    values[:, 5] *= 1e-9  # a column that all but stands still
    nominal = np.arange(9) >= 6
    y, starts = np.repeat([0, 1], [600, 300]), np.array([0, 600, 900])
    queries = np.array([0, 7, 599, 600, 899])
    candidates, scores = kernel_scores(values, nominal, starts, list(range(n_chosen)), queries, 10)
    for f, score in zip(candidates, scores):
        expected = reference.subset_score(values, nominal, y, [*range(n_chosen), f], queries, 10)
        assert score / 5 == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40)
@given(tables(), st.integers(1, 9), st.integers(0, 10**6))
def test_the_order_of_the_rows_of_a_class_does_not_matter(table, k, seed):
    values, nominal, _, starts = table
    rng = np.random.default_rng(seed)
    order = np.concatenate([a + rng.permutation(b - a) for a, b in pairwise(starts)])
    queries = np.arange(len(values))
    _, scores = kernel_scores(values, nominal, starts, [], queries, k)
    _, others = kernel_scores(values[order], nominal, starts, [], queries, k)
    np.testing.assert_allclose(scores, others, atol=1e-10)


@settings(max_examples=60)
@given(tables(), st.integers(1, 20))
def test_relief_weights_equal_the_naive_version(table, k):
    values, nominal, y, starts = table
    n_values = np.array([max(1, len(np.unique(c[~np.isnan(c)]))) if n else 0 for c, n in zip(values.T, nominal)])
    weights = subsets.relief_weights(values, n_values, starts, np.arange(len(y)), k)
    np.testing.assert_allclose(weights / len(y), reference.relieff(values, n_values, y, k), atol=1e-12)
