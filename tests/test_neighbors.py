"""The graph of nearest rows: the approximate search beside the exact one, and what must not change it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from fewlabel import neighbors
from fewlabel.kernels import points
from fewlabel.neighbors import Descent, RowSearch


def rows_of(kind, n=600, n_columns=8, seed=0):
    if kind == "sparse":
        return csr_array(random_array((n, 40), density=0.2, rng=np.random.default_rng(seed), format="csr"))
    rng = np.random.default_rng(seed)
    return rng.normal(scale=3, size=(5, n_columns))[rng.integers(5, size=n)] + rng.normal(size=(n, n_columns))


def share_found(exact, found):
    return np.mean([np.isin(a, b).mean() for a, b in zip(exact, found)])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_most_true_neighbors_are_found_and_the_recall_says_how_many(kind, metric):
    rows, new = rows_of(kind), rows_of(kind, n=60, seed=1)
    search, exact = (RowSearch(rows, metric, a, 7, random_state=0) for a in ("approximate", "brute"))
    (found, lengths), (true, true_lengths) = search.graph(), exact.graph()
    assert found.shape == true.shape
    assert (np.diff(lengths, axis=1) >= 0).all()
    assert not (found == np.arange(len(found))[:, None]).any()
    same = share_found(true, found)
    assert same > 0.95
    assert abs(search.recall - same) < 0.03
    assert exact.recall == 1.0
    np.testing.assert_allclose(lengths[:, 0], true_lengths[:, 0], rtol=0.3)
    assert share_found(exact.query(new)[0], search.query(new)[0]) > 0.9


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_threads_do_not_change_the_graph(kind, monkeypatch):
    monkeypatch.setattr("fewlabel.threads._CELLS_PER_THREAD", 10)  # else a small table is worked on by one thread
    rows, new = rows_of(kind), rows_of(kind, n=50, seed=1)
    one, three = (RowSearch(rows, "euclidean", "approximate", 5, n_jobs=n, random_state=0) for n in (1, 3))
    for a, b in zip((*one.graph(), *one.query(new)), (*three.graph(), *three.query(new))):
        np.testing.assert_array_equal(a, b)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), k=st.integers(1, 20), values=st.integers(1, 5))
def test_the_lists_hold_the_nearest_rows_of_small_tables(seed, n, k, values):
    """A list that can hold all rows does, and ties are decided by position, as in the exact search."""
    rows = np.random.default_rng(seed).integers(0, values, size=(n, 3)).astype(float)
    for own, other in zip(
        *(RowSearch(rows, "euclidean", a, k, random_state=0).graph() for a in ("approximate", "brute"))
    ):
        assert own.shape == other.shape
        if n <= k + 10:
            np.testing.assert_array_equal(own, other)


def test_trees_hold_each_row_once():
    rows = rows_of("dense", n=200)
    nodes, order = points.grow_tree(rows, 3, 10, True)
    assert sorted(order.tolist()) == list(range(200))
    leaves = nodes[nodes[:, 0] < 0, 2:]
    assert (leaves[:, 1] - leaves[:, 0] <= 10).all()
    assert np.array_equal(np.sort(np.concatenate([np.arange(a, b) for a, b in leaves])), np.arange(200))


def test_equal_rows_end_the_splits():
    nodes, order = points.grow_tree(np.ones((50, 2)), 0, 8, True)
    assert len(order) == 50
    assert len(nodes) > 1


def test_a_low_recall_is_a_warning(monkeypatch):
    monkeypatch.setattr(neighbors, "_MOST_PASSES", 0)
    monkeypatch.setattr(neighbors, "_N_TREES", 1)
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match=r"finds \d+% of the nearest neighbors, less than 95%"):
        Descent(rng.normal(size=(800, 40)), 10, True, None, np.random.RandomState(0))


@pytest.mark.parametrize(("n", "n_columns", "exact"), [(30, 8, True), (60, 8, False), (60, 4, True)])
def test_auto_is_exact_for_few_rows_or_columns(monkeypatch, n, n_columns, exact):
    monkeypatch.setattr(neighbors, "_LARGEST_EXACT", 50)
    search = RowSearch(rows_of("dense", n, n_columns), "euclidean", "auto", 3, random_state=0)
    assert (search._descent is None) == exact
