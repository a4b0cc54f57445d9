"""The graph of nearest rows: the approximate search beside the exact one, and what must not change it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from fewlabel import neighbors
from fewlabel.neighbors import RowSearch


def rows_of(kind, n=600, n_columns=8, seed=0):
    if kind == "sparse":
        return csr_array(random_array((n, 40), density=0.2, random_state=np.random.default_rng(seed), format="csr"))
    rng = np.random.default_rng(seed)
    return rng.normal(scale=3, size=(5, n_columns))[rng.integers(5, size=n)] + rng.normal(size=(n, n_columns))


def share_found(exact, found):
    return np.mean([np.isin(a, b).mean() for a, b in zip(exact, found)])


@pytest.mark.parametrize("n_columns", [3, 12])
def test_most_true_neighbors_are_found_and_the_recall_says_how_many(n_columns):
    rows, new = rows_of("dense", 1500, n_columns), rows_of("dense", 200, n_columns, seed=1)
    search, exact = (RowSearch(rows, "euclidean", a, 7, random_state=0) for a in ("approximate", "exact"))
    (found, lengths), (true, true_lengths) = search.graph(), exact.graph()
    assert found.shape == true.shape
    assert (np.diff(lengths, axis=1) >= 0).all()
    assert not (found == np.arange(len(found))[:, None]).any()
    same = share_found(true, found)
    assert same > 0.95
    assert abs(search.recall - same) < 0.02
    assert search.recall < 1.0 == exact.recall
    agree = found == true
    np.testing.assert_allclose(lengths[agree], true_lengths[agree], rtol=1e-12)
    assert share_found(exact.query(new)[0], search.query(new)[0]) > 0.9


def test_sparse_rows_are_searched_exactly():
    rows = rows_of("sparse")
    search, exact = (RowSearch(rows, "euclidean", a, 7, random_state=0) for a in ("approximate", "exact"))
    for own, other in zip(search.graph(), exact.graph()):
        np.testing.assert_array_equal(own, other)
    assert search.recall == 1.0


def test_threads_do_not_change_the_graph():
    rows, new = rows_of("dense", 2000), rows_of("dense", n=600, seed=1)
    one, three = (RowSearch(rows, "euclidean", "approximate", 5, n_jobs=n, random_state=0) for n in (1, 3))
    for a, b in zip((*one.graph(), *one.query(new)), (*three.graph(), *three.query(new))):
        np.testing.assert_array_equal(a, b)


def test_a_row_with_few_rows_in_its_cells_is_compared_with_all():
    """A far group of 3 rows is a cell of its own: 7 neighbors of each of them are elsewhere."""
    rows = rows_of("dense", 1000)
    rows[:3] = 1000.0 + np.arange(3)[:, None]
    search, exact = (RowSearch(rows, "euclidean", a, 7, random_state=0) for a in ("approximate", "exact"))
    np.testing.assert_array_equal(search.graph()[0][:3], exact.graph()[0][:3])


@pytest.mark.parametrize("change", [lambda rows: rows * 1e150, lambda rows: rows * 1e-150, lambda rows: rows + 1e6])
def test_single_precision_of_the_search_holds_all_numbers(change):
    rows = rows_of("dense", 1000, 3)
    plain, moved = (RowSearch(r, "euclidean", "approximate", 5, random_state=0) for r in (rows, change(rows)))
    assert moved.recall > 0.95
    assert share_found(plain.graph()[0], moved.graph()[0]) > 0.95


def test_rows_at_equal_distances_do_not_count_as_missed():
    """Of 2 ** 10 corners of a cube, 10 are at distance 1 and 45 at the next one: any of these will do."""
    rows = np.array(np.meshgrid(*[[0.0, 1.0]] * 10)).reshape(10, -1).T
    search = RowSearch(rows, "euclidean", "approximate", 12, random_state=0)
    assert search.recall >= 0.95
    lengths = search.graph()[1]
    assert np.mean(lengths <= np.sqrt(2)) > 0.95


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), k=st.integers(1, 20), values=st.integers(1, 5))
def test_the_lists_hold_the_nearest_rows_of_small_tables(seed, n, k, values):
    """A list that can hold all rows does, and ties are decided by position, as in the exact search."""
    rows = np.random.default_rng(seed).integers(0, values, size=(n, 3)).astype(float)
    for own, other in zip(
        *(RowSearch(rows, "euclidean", a, k, random_state=0).graph() for a in ("approximate", "exact"))
    ):
        assert own.shape == other.shape
        if n <= k + 10:
            np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize(("n", "n_columns", "exact"), [(30, 8, True), (60, 8, False), (60, 4, True)])
def test_auto_is_exact_for_few_rows_or_columns(monkeypatch, n, n_columns, exact):
    monkeypatch.setattr(neighbors, "_LARGEST_EXACT", 50)
    search = RowSearch(rows_of("dense", n, n_columns), "euclidean", "auto", 3, random_state=0)
    assert (search._cells is None) == exact
