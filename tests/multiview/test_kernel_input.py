"""MultiviewKernelClassifier: odd input, messages, names of columns, files."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fewlabel
from fewlabel import LabeledStratifiedKFold, MultiviewKernelClassifier, VariableClusterer, make_multiview_credit
from fewlabel.exceptions import LabelError
from reference.multiview import VIEWS, few_rows


def test_constant_view_is_left_out_and_a_view_of_one_column_is_fine():
    X, y = few_rows(16)
    flat = np.column_stack([X, np.full(len(X), 7.0)])
    with pytest.warns(UserWarning, match=r"view\(s\) \[3\] hold constant columns"):
        model = MultiviewKernelClassifier(views=[*VIEWS, [6]], view_weights=[0.5, 0.2, 0.3, 0.9]).fit(flat, y)
    expected = MultiviewKernelClassifier(views=VIEWS, view_weights=[0.5, 0.2, 0.3]).fit(X, y)
    np.testing.assert_allclose(model.decision_function(flat), expected.decision_function(X), atol=1e-12)
    assert len(model.views_) == 3
    with pytest.raises(ValueError, match="every column of X is constant"):
        MultiviewKernelClassifier(views=[[0], [1]]).fit(np.ones((24, 2)), y)
    found = MultiviewKernelClassifier().fit(flat, y)  # views that are found leave constant columns out
    assert 6 not in np.concatenate(found.views_)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_equal_rows_and_more_columns_than_rows(loss):
    X, y = few_rows(17)
    twice, labels = np.vstack([X, X]), np.r_[y, y]
    assert np.isfinite(MultiviewKernelClassifier(loss, views=VIEWS).fit(twice, labels).predict_proba(twice)).all()
    model = MultiviewKernelClassifier(loss, views=VIEWS, gamma_A=0.1).fit(X, y)
    assert roc_auc_score(y[:9], model.decision_function(X[:9])) > 0.7
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(24, 60))])
    assert np.isfinite(MultiviewKernelClassifier(loss, random_state=0).fit(wide, y).decision_function(wide)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"views": []}, r"views holds 0 view\(s\)"),
        ({"views": [[0], []]}, "view 1 is"),
        ({"views": [0, 1]}, "view 0 is 0: expected a list"),
        ({"views": [[0, 9]]}, "numbered from 0 to 5"),
        ({"views": [["a"]]}, "X has none"),
        ({"views": [[True, False]]}, "mask of 2 columns"),
        ({"views": VIEWS, "view_weights": [1, 1]}, "should be 3 non-negative numbers"),
        ({"views": VIEWS, "view_weights": [1, -1, 1]}, "non-negative numbers"),
        ({"gamma_A": 0.0}, "gamma_A"),
        ({"loss": "log"}, "loss"),
    ],
)
def test_parameters_that_make_no_sense(parameters, message):
    X, y = few_rows(18)
    with pytest.raises(ValueError, match=message):
        MultiviewKernelClassifier(**parameters).fit(X, y)


def test_labels_that_make_no_sense():
    X, y = few_rows(19)
    with pytest.raises(LabelError, match="only one labeled class"):
        MultiviewKernelClassifier().fit(X, np.where(y == 1, 1, -1))
    with pytest.raises(LabelError, match="no labeled row"):
        MultiviewKernelClassifier().fit(X, np.full(len(X), -1))
    with pytest.raises(ValueError, match="contains NaN"):
        MultiviewKernelClassifier().fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(LabelError, match="sample_weight 0"):
        MultiviewKernelClassifier().fit(X, y, sample_weight=(y != 1).astype(float))


def test_a_system_too_large_for_the_memory_says_what_to_do(monkeypatch):
    monkeypatch.setattr("fewlabel.multiview._spaces.MOST_COLUMNS", 20)
    X, y = few_rows(20)
    with pytest.raises(MemoryError, match="approximation='nystroem'"):
        MultiviewKernelClassifier(views=VIEWS).fit(X, y)


def test_names_strings_frames_and_hidden_labels():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = pd.Series(np.array(["setosa", "versicolor", "virginica"], dtype=object)[y])
    few = fewlabel.hide_labels(names, labeled=30, random_state=0)
    views = [["sepal length (cm)", "sepal width (cm)"], ["petal length (cm)", "petal width (cm)"]]
    model = MultiviewKernelClassifier(views=views, random_state=0).fit(X, few)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert (model.predict(X) == names).mean() > 0.85
    assert [v.tolist() for v in model.views_] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="columns that X does not have"):
        MultiviewKernelClassifier(views=[["petal"]]).fit(X, few)
    rounded = X.round()
    clusterer = VariableClusterer(2, categorical_features=["petal width (cm)"], random_state=0)
    assert len(MultiviewKernelClassifier(views=clusterer).fit(rounded, few).views_) == 2


def test_search_pipeline_and_nested_views():
    X, y, _ = make_multiview_credit(400, missing=0.0, labeled=120, imbalance=3, return_true=True, random_state=0)
    model = make_pipeline(StandardScaler(), MultiviewKernelClassifier(views=VariableClusterer(random_state=0)))
    grid = {
        "multiviewkernelclassifier__gamma_B": [0.0, 0.1],
        "multiviewkernelclassifier__views__n_clusters": [2, 4],
    }
    search = GridSearchCV(model, grid, scoring="roc_auc", cv=LabeledStratifiedKFold(3)).fit(X, y)
    assert search.best_score_ > 0.6
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_saved_models_predict_the_same(tmp_path, loss):
    X, y = few_rows(21, 3)
    for views in (VIEWS, None, VariableClusterer(2)):
        model = MultiviewKernelClassifier(loss, views=views, random_state=0).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fewlabel.save(model, tmp_path / "model.fewlabel")
            again = fewlabel.load(tmp_path / "model.fewlabel")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_hinge_says_when_it_did_not_converge():
    X, y = few_rows(22)
    with pytest.warns(UserWarning, match="raise gamma_A"):
        MultiviewKernelClassifier("hinge", views=VIEWS, gamma_A=1e-9, max_iter=1).fit(X, y)


def test_isolated_graphs_are_legal():
    X, y = few_rows(23, n=3, n_labeled=2)
    model = MultiviewKernelClassifier(views=VIEWS, n_neighbors=50).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
