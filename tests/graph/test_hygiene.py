"""Graphs of real tables: the order of the rows, copies, outliers, missing values, categories."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fewlabel import LabelSpreadingClassifier, PathNeighborsClassifier, TableClassifier, make_two_moons
from fewlabel.graph._space import learn_space, place
from fewlabel.graph._vertices import merge_copies
from fewlabel.kernels import points
from fewlabel.neighbors import RowSearch

MODELS = [PathNeighborsClassifier, LabelSpreadingClassifier]
pytestmark = pytest.mark.filterwarnings("ignore:only .* of the unlabeled rows are connected:UserWarning")


def categories(seed, n=120, n_columns=5, n_values=3):
    """A table of categories: most distances are tied, and rows have copies."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, size=(n, n_columns)).astype(float)
    y = np.where(rng.random(n) < 0.2, (X.sum(axis=1) > n_columns).astype(int), -1)
    y[:2] = [0, 1]
    return X, y, rng


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), n_neighbors=st.integers(1, 12), gaps=st.booleans())
def test_the_order_of_the_rows_does_not_matter(kind, seed, n_neighbors, gaps):
    X, y, rng = categories(seed)
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    order = rng.permutation(len(X))
    one, other = kind(n_neighbors).fit(X, y), kind(n_neighbors).fit(X[order], y[order])
    np.testing.assert_array_equal(other.transduction_, one.transduction_[order])
    np.testing.assert_array_equal(other.label_distributions_, one.label_distributions_[order])
    np.testing.assert_array_equal(other.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_copies_of_all_rows_change_nothing(kind, seed):
    X, y, _ = categories(seed)
    once, often = kind().fit(X, y), kind().fit(np.repeat(X, 12, axis=0), np.repeat(y, 12))
    np.testing.assert_array_equal(often.transduction_[::12], once.transduction_)
    np.testing.assert_allclose(often.label_distributions_[::12], once.label_distributions_, rtol=1e-6)
    np.testing.assert_array_equal(often.reached_[::12], once.reached_)


def test_weights_are_copies():
    X, y, rng = categories(0)
    weight = rng.integers(0, 4, size=len(X))
    weight[:2] = 1
    weighted = LabelSpreadingClassifier().fit(X, y, sample_weight=weight)
    copied = LabelSpreadingClassifier().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("kind", MODELS)
def test_one_outlier_does_not_squash_a_column(kind):
    X, y, true = make_two_moons(return_true=True, random_state=0)
    X, y = np.vstack([X, [[500.0, 0.0]]]), np.append(y, -1)
    assert np.mean(kind().fit(X, y).transduction_[:-1] == true) == 1.0
    assert np.mean(kind(scale="range").fit(X, y).transduction_[:-1] == true) < 0.95


@pytest.mark.parametrize("kind", MODELS)
def test_rows_out_of_reach_are_uncertain_and_a_warning_says_so(kind):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)) * 0.1 + center for center in ([0, 0], [5, 0], [9, 0], [14, 0])])
    y = np.full(80, -1)
    y[0], y[20] = 0, 1
    with pytest.warns(UserWarning, match=r"only 49% of the unlabeled rows are connected .* Increase n_neighbors"):
        model = kind(3, scale=False).fit(X, y)
    assert not model.reached_[40:].any()
    assert (model.transduction_[40:] == 1).all()
    np.testing.assert_allclose(model.label_distributions_[40:], 0.5)
    np.testing.assert_allclose(model.predict_proba(X[40:]), 0.5)


@pytest.mark.parametrize("kind", MODELS)
def test_tables_with_text_and_gaps(kind):
    rng = np.random.default_rng(0)
    city = rng.choice(["Graz", "Wien", "Linz"], size=200)
    age = np.where(city == "Graz", 60, 30) + rng.normal(size=200)
    table = pd.DataFrame({"city": city, "age": np.where(rng.random(200) < 0.2, np.nan, age)})
    y = np.where(np.arange(200) % 8 == 0, np.where(city == "Graz", "old", "young"), None)
    model = TableClassifier(kind()).fit(table, y)
    assert np.mean(model.predict(table) == np.where(city == "Graz", "old", "young")) > 0.97


# The space, the vertices, the search ---------------------------------------------------------------------------------


def test_distances_of_categories_and_gaps():
    X = np.array([[0.0, 7.0], [10.0, 7.0], [10.0, 2.0], [np.nan, 2.0], [5.0, np.nan]])
    space = learn_space(X, "euclidean", True, np.array([1]))
    rows = place(X, space, "euclidean")
    distances = np.linalg.norm(rows[:, None] - rows, axis=2)
    assert distances[0, 1] == pytest.approx(1)  # the range of the numbers
    assert distances[1, 2] == pytest.approx(1)  # two categories
    assert distances[2, 4] == pytest.approx(np.hypot(0.5, 1))  # a missing category is a category
    gap = np.std([0, 0.5, 1])
    assert distances[3, 2] == pytest.approx(np.hypot(0.5, gap))  # from the median, and apart from it
    new = place(np.array([[10.0, 99.0]]), space, "euclidean")
    assert np.linalg.norm(new - rows[1]) == pytest.approx(np.sqrt(0.5))  # a new category: halfway to all others


def test_columns_without_outliers_are_scaled_to_their_range():
    X = np.random.default_rng(0).normal(size=(300, 4)) * [1, 10, 100, 1000]
    np.testing.assert_allclose(learn_space(X, "euclidean", True, np.array([], int))["divisor"], np.ptp(X, axis=0))


def test_sparse_rows_with_gaps_are_refused():
    X = csr_array(np.array([[0.0, np.nan], [1.0, 0.0], [2.0, 1.0]]))
    with pytest.raises(ValueError, match="sparse rows hold NaN"):
        PathNeighborsClassifier().fit(X, [0, 1, -1])


@pytest.mark.parametrize("sparse", [False, True])
def test_copies_are_merged_and_vertices_do_not_depend_on_the_order(sparse):
    X, _, rng = categories(1, n=60, n_columns=3)
    X[X == 0] = -0.0
    X[::7] = np.abs(X[::7])  # 0 and -0 are equal
    rows = csr_array(X) if sparse else X
    vertices, vertex = merge_copies(rows)
    dense = vertices.toarray() if sparse else vertices
    np.testing.assert_array_equal(dense[vertex], X)
    assert len(dense) == len(np.unique(X + 0.0, axis=0))
    order = rng.permutation(len(X))
    again, _ = merge_copies(rows[order])
    np.testing.assert_array_equal(again.toarray() if sparse else again, dense)


def test_rows_with_equal_hashes_are_compared(monkeypatch):
    monkeypatch.setattr(points, "hashes", lambda bits, columns, indptr: np.zeros(len(indptr) - 1, np.uint64))
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    vertices, vertex = merge_copies(X)
    np.testing.assert_array_equal(vertices[vertex], X)
    assert len(vertices) == 2


@pytest.mark.parametrize("sparse", [False, True])
def test_neighbors_are_the_first_by_distance_and_position(sparse):
    X = merge_copies(categories(2, n=90, n_columns=20, n_values=2)[0])[0]  # more columns than a tree is used for
    total = np.abs(X[:, None] - X).sum(axis=2)  # of 0 and 1, so that it is the squared distance, too
    np.fill_diagonal(total, 100)
    expected = np.argsort(total, axis=1, kind="stable")[:, :6]
    search = RowSearch(csr_array(X) if sparse else X, "euclidean", "auto", 6)
    found, lengths = search.graph()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(lengths**2, np.take_along_axis(total, expected, axis=1))
    np.testing.assert_array_equal(search.query(search.rows)[0][:, 0], np.arange(len(X)))


def test_new_rows_one_by_one_or_together():
    X, y, _ = categories(3, n_columns=18, n_values=2)
    for kind in MODELS:
        model = kind().fit(X, y)
        new = categories(4, n_columns=18, n_values=2)[0][:20]
        one_by_one = np.vstack([model.predict_proba(row[None]) for row in new])
        np.testing.assert_array_equal(model.predict_proba(new), one_by_one)


@pytest.mark.parametrize("kind", MODELS)
def test_dense_and_sparse_rows_may_be_mixed(kind):
    X, y, _ = categories(5)
    dense, sparse = kind().fit(X, y), kind().fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.predict_proba(X), dense.predict_proba(csr_array(X)), rtol=1e-6)
