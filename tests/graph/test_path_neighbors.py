"""PathNeighborsClassifier: equal to the definitions, the thesis's claims, and odd input."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import minmax_scale

import fewlabel
from fewlabel import PathNeighborsClassifier, make_three_circles, make_two_moons
from fewlabel.exceptions import LabelError
from reference import paths as reference

FORMS = [("exponential", "cheapest"), ("exponential", "shortest"), ("length", "cheapest")]


def few_rows(seed, n=26, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.full(n, -1)
    chosen = rng.permutation(n)[: 2 * n_classes]
    y[chosen] = np.arange(2 * n_classes) % n_classes
    return X, y


# Equal to the definitions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cost", "path"), FORMS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("delta", [0.2, "min"])
@pytest.mark.parametrize("seed", range(3))
def test_classes_and_costs_are_those_of_a_run_for_each_pair(cost, path, directed, delta, seed):
    X, y = few_rows(seed)
    model = PathNeighborsClassifier(4, cost=cost, path=path, directed=directed, delta=delta, scale="range")
    model.fit(X, y)
    edges = reference.graph(minmax_scale(X), 4, directed)
    results = reference.labels(edges, y, cost, path, model.delta_)
    np.testing.assert_array_equal(model.reached_, [total is not None for total, _ in results])
    for i, (total, code) in enumerate(results):
        if total is not None:
            assert model.transduction_[i] == code
            expected = reference.log(total) if cost == "exponential" else float(total)
            assert model.path_costs_[i].min() == pytest.approx(expected, rel=1e-9)


def test_cosine_distances():
    X, y = few_rows(7)
    X = abs(X) + 0.1
    model = PathNeighborsClassifier(5, metric="cosine", scale=False).fit(X, y)
    edges = reference.graph(X, 5, False, "cosine")
    results = reference.labels(edges, y, "exponential", "cheapest", model.delta_)
    expected = [code for _, code in results]
    np.testing.assert_array_equal(model.transduction_[model.reached_], np.array(expected)[model.reached_])


def test_delta_is_a_multiple_of_the_median_edge_or_the_smallest():
    X, y = few_rows(1)
    directed = reference.graph(X, 6, True)
    lengths = [d for ends in directed.values() for d in ends.values()]
    fitted = [PathNeighborsClassifier(6, delta=d, scale=False).fit(X, y).delta_ for d in (0.2, 0.5, "min")]
    np.testing.assert_allclose(fitted, [0.2 * np.median(lengths), 0.5 * np.median(lengths), min(lengths)])


def test_direct_costs_are_never_above_those_of_two_steps():
    for seed in range(5):
        X, y = make_two_moons((60, 60), noise=0.2, random_state=seed)
        direct = PathNeighborsClassifier().fit(X, y).path_costs_
        two_step = PathNeighborsClassifier(path="shortest").fit(X, y).path_costs_
        rest = y < 0
        assert (direct[rest] <= two_step[rest] * (1 + 1e-12)).all()


def test_paths_end_where_origins_say():
    X, y, _ = make_three_circles(300, return_true=True, random_state=0)
    model = PathNeighborsClassifier().fit(X, y)
    for i in np.flatnonzero(model.reached_):
        row = i
        while model.successors_[row] >= 0:
            assert model.transduction_[row] == model.transduction_[i]
            row = model.successors_[row]
        assert row == model.origins_[i]
        assert y[row] == model.transduction_[i]


# The thesis's claims -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_two_moons, make_three_circles])
def test_moons_and_circles_without_error_on_20_seeds(make):
    for seed in range(20):
        X, y, true = make(noise=0.05, return_true=True, random_state=seed)
        np.testing.assert_array_equal(PathNeighborsClassifier().fit(X, y).transduction_, true)


def test_the_lower_bound_of_theorem_6_1_fails_as_printed():
    edges = np.array([1.25, 1.25])  # each at least 1, as the theorem asks
    L, cost = edges.sum(), np.exp(edges).sum()
    whole = math.floor(L)
    assert cost < (whole - 1) * math.e + math.exp(L - whole + 1)
    assert whole * math.exp(L / whole) <= cost * (1 + 1e-15)
    rng = np.random.default_rng(0)
    for _ in range(200):
        edges = 1 + rng.exponential(size=rng.integers(1, 8))
        L, cost = edges.sum(), np.exp(edges).sum()
        whole = math.floor(L)
        assert whole * math.exp(L / whole) * (1 - 1e-12) <= cost <= math.exp(L) * (1 + 1e-12)


def test_the_thesis_form():
    model = PathNeighborsClassifier.thesis(n_neighbors=10)
    assert (model.n_neighbors, model.path, model.delta, model.directed) == (10, "shortest", "min", True)
    X, y, true = make_two_moons(return_true=True, random_state=0)
    np.testing.assert_array_equal(model.fit(X, y).transduction_, true)


def test_all_rows_as_neighbors_and_length_is_the_nearest_labeled_row():
    X, y = few_rows(2)
    model = PathNeighborsClassifier(1000, cost="length", scale="range").fit(X, y)
    nearest = KNeighborsClassifier(1).fit(minmax_scale(X)[y >= 0], y[y >= 0]).predict(minmax_scale(X))
    np.testing.assert_array_equal(model.transduction_, nearest)


@pytest.mark.parametrize(("cost", "path"), FORMS)
def test_units_do_not_matter(cost, path):
    X, y = few_rows(3)
    one = PathNeighborsClassifier(5, cost=cost, path=path, scale=False).fit(X, y)
    for factor in (2.0**-30, 2.0**40):
        other = PathNeighborsClassifier(5, cost=cost, path=path, scale=False).fit(X * factor, y)
        np.testing.assert_array_equal(other.transduction_, one.transduction_)
    other = PathNeighborsClassifier(5, cost=cost, path=path).fit(X * [1e-8, 1e9] + 3, y)
    scaled = PathNeighborsClassifier(5, cost=cost, path=path).fit(X, y)
    np.testing.assert_array_equal(other.transduction_, scaled.transduction_)


def test_the_order_of_the_rows_does_not_matter():
    X, y, _ = make_two_moons(noise=0.2, return_true=True, random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    for path in ("cheapest", "shortest"):
        one = PathNeighborsClassifier(path=path).fit(X, y)
        other = PathNeighborsClassifier(path=path).fit(X[order], y[order])
        np.testing.assert_array_equal(one.transduction_[order], other.transduction_)
        np.testing.assert_allclose(one.label_distributions_[order], other.label_distributions_, atol=1e-12)


# Weights of classes, and new rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cost", "path"), FORMS)
def test_weights_are_shares_of_inverse_costs(cost, path):
    X, y = few_rows(4)
    model = PathNeighborsClassifier(8, cost=cost, path=path).fit(X, y)
    weights, costs = model.label_distributions_, model.path_costs_
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[weights.argmax(axis=1)], model.transduction_)
    np.testing.assert_array_equal(weights[y >= 0], np.eye(3)[y[y >= 0]])
    rest = np.flatnonzero((y < 0) & np.isfinite(costs).all(axis=1))
    inverse = np.exp(-costs[rest]) if cost == "exponential" else 1 / costs[rest]
    np.testing.assert_allclose(weights[rest], inverse / inverse.sum(axis=1, keepdims=True), rtol=1e-9)


@pytest.mark.parametrize(("cost", "path"), FORMS)
@pytest.mark.parametrize("delta", [0.2, 5.0, "min"])
def test_rows_of_the_fit_are_predicted_as_they_were_labeled(cost, path, delta):
    X, y, _ = make_three_circles(200, noise=0.15, return_true=True, random_state=1)
    model = PathNeighborsClassifier(6, cost=cost, path=path, delta=delta).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.transduction_)
    np.testing.assert_allclose(model.predict_proba(X), model.label_distributions_, atol=1e-9)


def test_new_rows_follow_the_moons():
    X, y = make_two_moons(random_state=0)
    new, _, true = make_two_moons(return_true=True, random_state=99)
    model = PathNeighborsClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(new), true)
    np.testing.assert_array_equal(model.decision_function(new) > 0, true)
    np.testing.assert_array_equal(model.predict_proba(new).argmax(axis=1), true)
    assert np.isfinite(model.decision_function(X)).all()


def test_decision_function_of_many_classes():
    X, y, _ = make_three_circles(return_true=True, random_state=0)
    model = PathNeighborsClassifier().fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (len(X), 3)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores.argmax(axis=1), model.transduction_)


def test_an_outlier_keeps_the_class_of_its_path_though_costs_are_equal_in_all_digits():
    rng = np.random.default_rng(0)
    near, far = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + [12, 0]
    X = np.vstack([near, far, [[-3000.0, 0.0]]])
    y = np.full(61, -1)
    y[0], y[30] = 0, 1
    model = PathNeighborsClassifier(40, scale=False).fit(X, y)
    assert model.path_costs_[60, 0] == pytest.approx(model.path_costs_[60, 1])
    assert model.transduction_[60] == 0
    assert model.label_distributions_[60].argmax() == 0


# Odd input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cost", ["exponential", "length"])
def test_unreached_rows_take_the_nearest_labeled_row(cost):
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(20, 2)) * 0.1 + center for center in ([0, 0], [5, 0], [9, 0])]
    X, y = np.vstack(groups), np.full(60, -1)
    y[0], y[20] = 0, 1
    model = PathNeighborsClassifier(3, cost=cost, scale=False).fit(X, y)
    assert not model.reached_[40:].any()
    assert (model.transduction_[40:] == 1).all()
    assert (model.origins_[40:] == 20).all()
    np.testing.assert_allclose(model.label_distributions_[40:], 1 / 2)
    assert (model.label_distributions_[40:, 1] > model.label_distributions_[40:, 0]).all()
    assert (model.path_costs_[40:] == np.inf).all()
    assert model.predict([[9.0, 0.1], [8.0, 0.0]]).tolist() == [1, 1]
    np.testing.assert_allclose(model.predict_proba([[9.0, 0.1]]), 1 / 2)
    assert np.isfinite(model.decision_function([[9.0, 0.1]])).all()


@pytest.mark.parametrize(("cost", "path"), FORMS)
@pytest.mark.parametrize("delta", [0.2, "min"])
def test_copies_of_rows(cost, path, delta):
    X, y, true = make_two_moons((60, 60), return_true=True, random_state=3)
    X, y, true = np.repeat(X, 4, axis=0), np.repeat(y, 4), np.repeat(true, 4)
    y[np.arange(len(y)) % 4 > 0] = -1
    model = PathNeighborsClassifier(12, cost=cost, path=path, delta=delta).fit(X, y)
    assert model.delta_ > 1e-6 or cost == "length"  # copies are at distance 0, not at 1e-8
    for start in range(0, len(X), 4):
        assert len(set(model.transduction_[start : start + 4])) == 1
    assert np.isfinite(model.label_distributions_).all()


def test_all_rows_equal_and_contradicting_labels():
    X, y = np.ones((8, 3)), np.array([1, 0, -1, -1, -1, -1, -1, -1])
    model = PathNeighborsClassifier().fit(X, y)
    assert model.transduction_[:2].tolist() == [1, 0]
    assert set(model.transduction_[2:]) == {0}  # as many labels of either class: the first
    assert model.predict(X[:1]).tolist() == [0]
    np.testing.assert_allclose(model.predict_proba(X[:1]), 1 / 2)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)


def test_edges_of_very_different_length_do_not_overflow():
    X = np.concatenate([[0.0, 1e-12], np.arange(1, 20), [1e7]])[:, None]
    y = np.full(len(X), -1)
    y[0], y[10] = 0, 1
    with np.errstate(over="raise", invalid="raise"):
        model = PathNeighborsClassifier(2, delta="min", scale=False).fit(X, y)
    assert np.isfinite(model.path_costs_[y < 0]).any()
    assert not np.isnan(model.label_distributions_).any()
    tiny = PathNeighborsClassifier(2, delta="min", scale=False).fit(
        np.r_[0, 1e-160, 1e150, 2e150][:, None], [0, -1, 1, -1]
    )
    assert tiny.transduction_.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_rows_give_the_model_of_dense_ones(metric):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 12)) < 0.4, rng.normal(size=(80, 12)), 0.0)
    y = np.where(rng.random(80) < 0.2, (X[:, 0] > X[:, 1]).astype(int), -1)
    dense = PathNeighborsClassifier(5, metric=metric).fit(X, y)
    sparse = PathNeighborsClassifier(5, metric=metric).fit(csr_matrix(X), y)
    np.testing.assert_allclose(sparse.path_costs_, dense.path_costs_, rtol=1e-9)
    np.testing.assert_array_equal(sparse.transduction_, dense.transduction_)
    new = np.where(rng.random((30, 12)) < 0.4, rng.normal(size=(30, 12)), 0.0)
    np.testing.assert_array_equal(sparse.predict(csr_matrix(new)), dense.predict(new))


def test_one_label_one_class_and_no_label():
    X = np.random.default_rng(0).normal(size=(10, 2))
    with pytest.raises(LabelError, match="no labeled row"):
        PathNeighborsClassifier().fit(X, [-1] * 10)
    with pytest.raises(LabelError, match="only one labeled class"):
        PathNeighborsClassifier().fit(X, [1] + [-1] * 9)
    with pytest.raises(LabelError, match="requires y"):
        PathNeighborsClassifier().fit(X, None)
    with pytest.raises(ValueError, match="delta"):
        PathNeighborsClassifier(delta=0.0).fit(X, [0, 1] * 5)


def test_names_of_classes_and_tables():
    X, true = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)[true]
    y = pd.Series(names).where(np.arange(150) % 5 == 0, None)
    model = PathNeighborsClassifier().fit(X, y)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert np.mean(model.transduction_ == names) > 0.85
    assert model.predict(X)[0] == "setosa"
    assert model.feature_names_in_.tolist() == X.columns.tolist()


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_polars_and_arrow(library):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    X, y = make_two_moons(random_state=0)
    names = np.array(["upper", "lower", None], dtype=object)[y].tolist()  # -1 is the last
    columns = {"a": X[:, 0], "b": X[:, 1]}
    if library == "polars":
        table, column = frames.DataFrame(columns), frames.Series(names)
    else:
        table, column = frames.table(columns), frames.array(names)
    model = PathNeighborsClassifier().fit(table, column)
    expected = PathNeighborsClassifier().fit(X, y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.transduction_ == "lower", expected.transduction_ == 1)
    np.testing.assert_array_equal(model.predict(table), model.transduction_)


def test_it_is_scored_on_labeled_rows():
    X, y = make_two_moons(labeled_per_class=20, random_state=0)
    folds = fewlabel.LabeledStratifiedKFold(4)
    assert cross_val_score(PathNeighborsClassifier(), X, y, cv=folds).min() == 1.0


@pytest.mark.parametrize("sparse", [False, True])
def test_a_saved_model_predicts_the_same(sparse, tmp_path):
    X, y = make_two_moons(random_state=0)
    X = csr_matrix(X) if sparse else X
    model = PathNeighborsClassifier().fit(X, y)
    fewlabel.save(model, tmp_path / "model.fewlabel")
    for again in (fewlabel.load(tmp_path / "model.fewlabel"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(again.transduction_, model.transduction_)


def test_an_approximate_graph_finds_the_moons():
    X, y, true = make_two_moons(return_true=True, random_state=0)
    model = PathNeighborsClassifier(algorithm="approximate", random_state=0).fit(X, y)
    assert model.recall_ > 0.95
    np.testing.assert_array_equal(model.transduction_, true)
    np.testing.assert_array_equal(model.predict(X), true)


# Generators -----------------------------------------------------------------------------------------------------------


def test_generators():
    X, y, true = make_two_moons(return_true=True, random_state=0)
    assert np.bincount(true).tolist() == [254, 246]
    assert (y[y >= 0] == true[y >= 0]).all()
    assert np.bincount(y[y >= 0]).tolist() == [3, 3]
    X, y, true = make_three_circles(return_true=True, noise=0.0, random_state=0)
    np.testing.assert_allclose(np.hypot(*X.T), np.array([0.5, 1.0, 1.5])[true])
    assert np.bincount(true).tolist() == [401] * 3
    assert np.bincount(y[y >= 0]).tolist() == [4, 4, 4]
    for make in (make_two_moons, make_three_circles):
        np.testing.assert_array_equal(make(random_state=1)[0], make(random_state=1)[0])
        with pytest.raises(ValueError, match="labeled"):
            make(labeled_per_class=0)
        with pytest.raises(ValueError, match="labeled"):
            make(labeled_per_class=1000)
