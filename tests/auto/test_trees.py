"""Trees as plain arrays: the same scores as the libraries that grew them, and no way out of the table."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier

from fewlabel.auto._trees import TreeTable, freeze


def data(n_classes, gaps=False):
    X, y = (load_breast_cancer if n_classes == 2 else load_iris)(return_X_y=True)
    if gaps:
        X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    return X[::2], y[::2], X[1::2]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [ExtraTreesClassifier, RandomForestClassifier])
def test_forests(kind, n_classes):
    X, y, new = data(n_classes)
    model = kind(20, random_state=0).fit(X, y)
    expected = model.predict_proba(new)
    found = freeze(model, X.shape[1]).decision_function(new)
    np.testing.assert_allclose(found, expected[:, 1] if n_classes == 2 else expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_histogram_boosting(n_classes, gaps):
    X, y, new = data(n_classes, gaps)
    model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X, y)
    found = freeze(model, X.shape[1]).decision_function(new)
    base = model.decision_function(new) - found
    np.testing.assert_allclose(base, np.broadcast_to(base[:1], base.shape), rtol=0, atol=1e-9)  # a constant


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_xgboost(n_classes, gaps):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    X, y, new = data(n_classes, gaps)
    model = xgboost.XGBClassifier(n_estimators=15, base_score=0.5, n_jobs=1).fit(X, y)
    found = freeze(model, X.shape[1]).decision_function(new)
    base = model.predict(new, output_margin=True) - found
    np.testing.assert_allclose(base, np.broadcast_to(base[:1], base.shape), rtol=0, atol=1e-4)  # XGBoost sums 32 bits


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_lightgbm(n_classes, gaps):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    X, y, new = data(n_classes, gaps)
    new = np.where(np.random.default_rng(1).random(new.shape) < 0.05, np.nan, new)  # gaps that training did not see
    model = lightgbm.LGBMClassifier(n_estimators=15, n_jobs=1, verbose=-1).fit(X, y)
    found = freeze(model, X.shape[1]).decision_function(new)
    np.testing.assert_allclose(found, model.predict(new, raw_score=True), rtol=1e-9, atol=1e-9)


def test_what_is_no_forest_stays_as_it_is():
    assert freeze("model", 3) == "model"


@pytest.mark.parametrize(
    ("name", "value"),
    [("left", 99), ("right", 99), ("left", 0), ("right", -5), ("feature", 7), ("feature", -1), ("roots", 50)],
)
def test_a_crafted_table_is_refused(name, value):
    X, y, _ = data(3)
    table = freeze(ExtraTreesClassifier(1, max_depth=2, random_state=0).fit(X, y), X.shape[1])
    state = {k: np.array(v, copy=True) if isinstance(v, np.ndarray) else v for k, v in table.__getstate__().items()}
    state[name][0] = value
    with pytest.raises(ValueError, match="damaged"):
        TreeTable.__new__(TreeTable).__setstate__(state)


def test_other_columns_are_an_error():
    X, y, _ = data(3)
    table = freeze(ExtraTreesClassifier(1, random_state=0).fit(X, y), X.shape[1])
    with pytest.raises(ValueError, match="4 columns, got 3"):
        table.decision_function(X[:, :3])
