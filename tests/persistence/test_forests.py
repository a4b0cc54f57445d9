"""Frozen forests: the scores of the libraries that grew them, bit for bit, and no index outside of the arrays."""

import copy
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from fewlabel.persistence import FrozenClassifier, FrozenSymmetricTrees, FrozenTrees
from fewlabel.persistence.forests import freeze, freeze_classifier, with_frozen_forests


def data(n_classes, gaps=False):
    X, y = (load_breast_cancer if n_classes == 2 else load_iris)(return_X_y=True)
    if gaps:
        X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    return X[::2], y[::2], X[1::2]


def frozen_scores(model, new):
    frozen = freeze(model)
    assert isinstance(frozen, (FrozenTrees, FrozenSymmetricTrees))
    again = type(frozen).__new__(type(frozen))
    again.__setstate__(frozen.__getstate__())
    return again.decision_function(new)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", [ExtraTreesClassifier, RandomForestClassifier])
def test_forests(kind, gaps, n_classes):
    X, y, new = data(n_classes, gaps)
    model = kind(20, class_weight="balanced", random_state=0).fit(X, y)
    expected = model.predict_proba(new)
    np.testing.assert_array_equal(frozen_scores(model, new), expected[:, 1] if n_classes == 2 else expected)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_histogram_boosting(n_classes, gaps):
    X, y, new = data(n_classes, gaps)
    model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X, y)
    np.testing.assert_array_equal(frozen_scores(model, new), model.decision_function(new))


def test_histogram_boosting_with_categories_is_not_frozen():
    X, y, _ = data(3)
    X = np.c_[X, np.arange(len(X)) % 3]
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[4]).fit(X, y)
    assert freeze(model) is model


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_xgboost(n_classes, gaps):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    X, y, new = data(n_classes, gaps)
    model = xgboost.XGBClassifier(n_estimators=15, base_score=0.5, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(frozen_scores(model, new), model.predict(new, output_margin=True))
    model = xgboost.XGBClassifier(n_estimators=15, n_jobs=1).fit(X, y)  # it estimates the base score
    np.testing.assert_allclose(frozen_scores(model, new), model.predict(new, output_margin=True), rtol=0, atol=1e-5)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_lightgbm(n_classes, gaps):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    X, y, new = data(n_classes, gaps)
    new = np.where(np.random.default_rng(1).random(new.shape) < 0.05, np.nan, new)  # gaps that training did not see
    model = lightgbm.LGBMClassifier(n_estimators=15, n_jobs=1, verbose=-1).fit(X, y)
    np.testing.assert_array_equal(frozen_scores(model, new), model.predict(new, raw_score=True))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_catboost(n_classes, gaps):
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    X, y, new = data(n_classes, gaps)
    model = catboost.CatBoostClassifier(15, depth=3, thread_count=1, verbose=False, allow_writing_files=False).fit(X, y)
    expected = model.predict(new, prediction_type="RawFormulaVal")
    np.testing.assert_allclose(frozen_scores(model, new), expected, rtol=1e-12, atol=1e-12)
    if gaps:
        model.set_feature_names([f"column {k}" for k in range(X.shape[1])])  # indices count, not names
        np.testing.assert_allclose(frozen_scores(model, new), expected, rtol=1e-12, atol=1e-12)


def test_catboost_with_categories_is_not_frozen():
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    X, y, _ = data(2)
    X = np.c_[X[:, :1].astype(object), y]
    model = catboost.CatBoostClassifier(5, cat_features=[1], thread_count=1, verbose=False, allow_writing_files=False)
    assert freeze(model.fit(X, y)) is model


class Holder:
    _scores_when_saved = "model"

    def __init__(self, model, rows):
        self.model, self.rows = model, rows


def test_only_what_a_class_names_is_frozen_in_a_copy():
    X, y, new = data(3)
    forest, other = (ExtraTreesClassifier(2, random_state=seed).fit(X, y) for seed in (0, 1))
    model = {"holders": [Holder(forest, X)], "plain": (other,)}
    copied = with_frozen_forests(model)
    assert model["holders"][0].model is forest
    assert isinstance(copied["holders"][0].model, FrozenTrees)
    assert copied["holders"][0].rows is X  # arrays are not copied
    assert type(copied["plain"][0]) is ExtraTreesClassifier
    np.testing.assert_array_equal(copied["holders"][0].model.decision_function(new), forest.predict_proba(new))
    model = [Holder("no forest", X)]
    assert with_frozen_forests(model) is model


def test_copies_and_pickles_are_the_same_trees():
    X, y, new = data(2)
    frozen = freeze(ExtraTreesClassifier(2, random_state=0).fit(X, y))
    for again in (copy.deepcopy(frozen), pickle.loads(pickle.dumps(frozen))):
        np.testing.assert_array_equal(again.decision_function(new), frozen.decision_function(new))


def test_what_is_no_forest_stays_as_it_is():
    assert freeze("model") == "model"


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("children", (0, 0), 99),
        ("children", (1, 0), 99),
        ("children", (0, 0), 0),
        ("children", (1, 0), -5),
        ("feature", 0, 7),
        ("feature", 0, -1),
        ("roots", 0, 50),
        ("roots", 0, -1),
    ],
)
def test_a_crafted_index_is_refused(name, place, value):
    state = _state()
    state[name][place] = value
    _refuse(state)


@pytest.mark.parametrize("name", ["children", "feature", "threshold", "missing_left", "value", "start"])
def test_arrays_of_other_shapes_are_refused(name):
    for cut in (np.s_[:-1], np.s_[None], np.s_[..., :1]):
        state = _state()
        if state[name][cut].shape != state[name].shape:
            _refuse({**state, name: state[name][cut]})


def _state():
    X, y, _ = data(3)
    table = freeze(ExtraTreesClassifier(1, max_depth=2, random_state=0).fit(X, y))
    return {k: np.array(v, copy=True) if isinstance(v, np.ndarray) else v for k, v in table.__getstate__().items()}


def _refuse(state):
    with pytest.raises(ValueError, match="damaged"):
        FrozenTrees.__new__(FrozenTrees).__setstate__(state)


def test_other_columns_are_an_error():
    X, y, _ = data(3)
    frozen = freeze(ExtraTreesClassifier(1, random_state=0).fit(X, y))
    with pytest.raises(ValueError, match=r"4 columns, got an array of shape \(75, 3\)"):
        frozen.decision_function(X[:, :3])


@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreesClassifier, RandomForestClassifier])
def test_a_frozen_tree_or_forest_predicts_the_same(kind, n_classes, sparse):
    X, y = make_classification(200, 6, n_informative=4, n_classes=max(n_classes, 2), random_state=0)
    y = np.array(["a", "b", "c"])[np.minimum(y, n_classes - 1)]
    X[X < 0] = 0.0
    model = kind(max_depth=4, random_state=0).fit(X[:100], y[:100])
    frozen = freeze_classifier(model)
    assert type(frozen) is FrozenClassifier
    rows = csr_array(X) if sparse else X
    np.testing.assert_array_equal(frozen.predict_proba(rows), model.predict_proba(X))
    np.testing.assert_array_equal(frozen.predict(rows), model.predict(X))


def test_frozen_histogram_boosting_predicts_the_same():
    X, y = make_classification(200, 6, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = HistGradientBoostingClassifier(max_iter=5).fit(X[:100], y[:100])
    frozen = freeze_classifier(model)
    np.testing.assert_array_equal(frozen.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(frozen.predict(X), model.predict(X))
    three = HistGradientBoostingClassifier(max_iter=2).fit(X, np.arange(200) % 3)
    assert freeze_classifier(three) is three


def test_a_frozen_classifier_whose_parts_do_not_match_is_refused():
    X, y = make_classification(60, 4, random_state=0)
    frozen = freeze_classifier(DecisionTreeClassifier(max_depth=2).fit(X, y))
    for change in ({"classes_": np.arange(3)}, {"logistic": True}, {"trees": None}):
        with pytest.raises(ValueError, match="damaged"):
            FrozenClassifier.__new__(FrozenClassifier).__setstate__({**vars(frozen), **change})
