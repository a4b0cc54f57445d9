"""Selectors that use unlabeled rows, stability, columns that are refused, and tables that tell nothing."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

from fewlabel import (
    ConsistencySubsetSelector,
    CorrelationSubsetSelector,
    GraphScoreSelector,
    PseudoLabelSelector,
    ReliefFSelector,
    StabilitySelector,
    SubsetReliefSelector,
    hide_labels,
)
from fewlabel.metrics.shares import wilson

ALL = [
    SubsetReliefSelector,
    ReliefFSelector,
    CorrelationSubsetSelector,
    ConsistencySubsetSelector,
    GraphScoreSelector,
    PseudoLabelSelector,
    StabilitySelector,
]
RELIEF = [SubsetReliefSelector, ReliefFSelector]


def few_labels(seed=0, n=90, n_labeled=12):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.random((n, 5))
    X[:, 1] += y
    X[:, 3] -= 0.7 * y
    return X, y, hide_labels(y, n_labeled, random_state=seed)


def laplacian(W, f):
    return 0.5 * sum(W[i, j] * (f[i] - f[j]) ** 2 for i in range(len(f)) for j in range(len(f)))


def neighbor_weights(X, k):
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(distance, np.inf)
    W = np.zeros(distance.shape)
    np.put_along_axis(W, np.argsort(distance, axis=1)[:, :k], 1.0, axis=1)
    return np.maximum(W, W.T)


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_the_definitions(seed):
    X, _, few = few_labels(seed, n=30)
    Z = (X - X.min(0)) / np.ptp(X, axis=0)
    known = few >= 0
    same = np.where(known[:, None] & known & (few[:, None] == few), 1.0, 0.0)
    other = np.where(known[:, None] & known & (few[:, None] != few), 1.0, 0.0)
    W = neighbor_weights(Z, 4)
    within = 100.0 * same + np.where(known[:, None] & known, 0.0, W)
    degree = W.sum(axis=1)
    expected = {"lsdf": [], "constraint": [], "laplacian": [], "fisher": []}
    for f in Z.T:
        expected["lsdf"].append(laplacian(other, f) / laplacian(within, f))
        expected["constraint"].append(laplacian(other, f) / laplacian(same, f))
        centered = f - f @ degree / degree.sum()
        expected["laplacian"].append(-laplacian(W, centered) / (centered**2 @ degree))
        groups = [f[few == c] for c in range(3)]
        between = sum(len(group) * (group.mean() - f[known].mean()) ** 2 for group in groups)
        expected["fisher"].append(between / sum(len(group) * group.var() for group in groups))
    for score, values in expected.items():
        found = GraphScoreSelector(score, n_neighbors=4).fit(X, few).scores_
        np.testing.assert_allclose(found, values, rtol=1e-9, err_msg=score)


def test_a_nominal_column_is_a_block_of_indicators():
    X, y, few = few_labels()
    table = pd.DataFrame({"class": np.array(["a", "b", "c"])[y], "noise": X[:, 0], "constant": 1.0})
    for score in ("lsdf", "constraint"):
        model = GraphScoreSelector(score, n_features_to_select=1).fit(table, few)
        assert model.get_feature_names_out().tolist() == ["class"] or model.scores_[0] == 0  # no difference within
        assert model.scores_[2] == 0


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_rows_in_another_order_give_the_same_columns(seed):
    X, _, few = few_labels()
    order = np.random.default_rng(seed).permutation(len(X))
    for score in ("lsdf", "laplacian"):
        one, other = (GraphScoreSelector(score).fit(X[o], few[o]) for o in (slice(None), order))
        np.testing.assert_allclose(other.scores_, one.scores_, rtol=1e-9)


def test_pseudo_labels_are_those_of_the_teacher_and_labels_stay():
    X, y, few = few_labels()
    teacher = KNeighborsClassifier(1)
    model = PseudoLabelSelector(ReliefFSelector(2), teacher, random_state=0).fit(X, few)
    Z = (X - X.min(0)) / np.ptp(X, axis=0)
    known = few >= 0
    expected = np.where(known, few, teacher.fit(Z[known], few[known]).predict(Z))
    np.testing.assert_array_equal(model.pseudo_labels_, expected)
    np.testing.assert_array_equal(model.support_, ReliefFSelector(2, random_state=0).fit(X, expected).support_)
    full = PseudoLabelSelector(ReliefFSelector(2)).fit(X, y)
    np.testing.assert_array_equal(full.support_, ReliefFSelector(2).fit(X, y).support_)


def test_unlabeled_rows_find_the_columns_that_few_labels_miss():
    right = {"labels": 0, "pseudo": 0}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = np.arange(200) % 2
        X = rng.normal(size=(200, 16))
        X[:, :4] += 1.2 * y[:, None]
        few = hide_labels(y, 8, mechanism="per-class", random_state=seed)
        for name, model in (("labels", ReliefFSelector(4)), ("pseudo", PseudoLabelSelector(ReliefFSelector(4)))):
            right[name] += model.set_params(random_state=0).fit(X, few).support_[:4].sum()
    assert right["pseudo"] > right["labels"]


def test_shares_and_intervals_of_stability():
    X, _, few = few_labels(n_labeled=60)
    model = StabilitySelector(ReliefFSelector(2), n_draws=20, random_state=0).fit(X, few)
    assert model.get_support(indices=True).tolist() == [1, 3]
    assert model.scores_.sum() == pytest.approx(2.0)
    assert (model.intervals_[:, 0] <= model.scores_).all()
    assert (model.scores_ <= model.intervals_[:, 1]).all()
    np.testing.assert_array_equal(model.support_, model.intervals_[:, 0] > 0.5)
    again = StabilitySelector(ReliefFSelector(2), n_draws=20, random_state=0).fit(X, few)
    np.testing.assert_array_equal(again.scores_, model.scores_)


def test_wilson_by_hand():
    np.testing.assert_allclose(
        wilson(np.array([0.5, 0.0, 1.0]), 10, 0.95), [[0.2366, 0.7634], [0, 0.2775], [0.7225, 1]], atol=1e-4
    )


@pytest.mark.parametrize("selector", ALL)
@pytest.mark.parametrize("kind", ["text", "counter"])
def test_identifiers_are_refused(selector, kind):
    """A key separates all rows of the sample, and no new ones."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    key = [f"customer {k}" for k in range(150)] if kind == "text" else np.random.default_rng(0).permutation(150)
    with pytest.warns(UserWarning, match="column 'key' not considered"):
        model = selector().fit(X.assign(key=key), y)
    plain = selector().fit(X, y)
    assert model.refused_.tolist() == [False] * 4 + [True]
    assert not model.support_[4]
    assert 4 not in model.path_
    if selector not in (PseudoLabelSelector, StabilitySelector):
        np.testing.assert_array_equal(model.support_[:4], plain.support_)
    assert model.transform(X.assign(key=key)).shape == (150, model.support_.sum())


def test_only_identifiers_is_an_error():
    with pytest.raises(ValueError, match="identifiers only"), pytest.warns(UserWarning, match="not considered"):
        ReliefFSelector().fit(pd.DataFrame({"key": np.arange(40)}), np.arange(40) % 2)


@pytest.mark.parametrize("selector", RELIEF)
@pytest.mark.filterwarnings("ignore:no column is selected:UserWarning")
def test_nothing_is_selected_if_nothing_tells_the_classes(selector):
    rng = np.random.default_rng(0)
    draws = [(rng.random((60, 6)), rng.integers(0, 2, 60)) for _ in range(10)]
    assert sum(selector(random_state=0).fit(X, y).support_.any() for X, y in draws) <= 2


@pytest.mark.parametrize("selector", RELIEF)
def test_the_warning_names_the_remedy_and_a_number_is_kept(selector):
    X, y = np.random.default_rng(1).random((40, 4)), np.arange(40) % 2
    with pytest.warns(UserWarning, match="no column is selected.*n_features_to_select"):
        model = selector(random_state=0).fit(X, y)
    assert not model.support_.any()
    assert len(model.path_) == 0
    assert selector(2, random_state=0).fit(X, y).support_.sum() > 0
