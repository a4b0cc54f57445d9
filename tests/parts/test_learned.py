"""Formulas of fitted estimators: the scores that the estimators themselves compute."""

import numpy as np
import pytest
from sklearn.svm import SVC

from fewlabel.auto.members import PORTFOLIO, Context
from fewlabel.auto.views import learn_scale
from fewlabel.parts import Opaque, formula_of, trees
from fewlabel.parts.numbers import bounded

# The sums of these are made in another order, or their distances rounded in another way.
ROUNDED = {"naive Bayes", "nearest neighbors", "quadratic SVM", "RBF-SVM", "RBF-SVM on graph features", "CatBoost"}
# How boosters of other libraries are asked for the sum of their trees, before it becomes a probability.
SUM_OF_TREES = {
    "CatBoostClassifier": {"prediction_type": "RawFormulaVal", "thread_count": 1},
    "XGBClassifier": {"output_margin": True},
    "LGBMClassifier": {"raw_score": True},
}
N_CLASSES = {"binary": 2, "multiclass": 4, "positive-unlabeled": 2}


@pytest.fixture(scope="module")
def tables():
    """For each task a table with gaps, its codes, and new rows; and the same rows scaled."""
    found = {}
    for task, n_classes in N_CLASSES.items():
        rng = np.random.default_rng(3)
        codes = rng.integers(0, n_classes, 300)
        X = rng.normal(size=(300, 6)) + 0.8 * codes[:, None] * rng.normal(size=6)
        X[rng.random(X.shape) < 0.05] = np.nan
        X[:, 3] = np.round(X[:, 3])
        codes = np.where(rng.random(300) < 0.5, codes, -1)
        if task == "positive-unlabeled":
            codes[codes == 0] = -1
        new = np.where(rng.random((90, 6)) < 0.1, np.nan, rng.normal(size=(90, 6), scale=2.0))
        new[:20] = X[:20]
        found[task] = X, codes, new
    return found


def fitted(member, task, X, codes):
    context = Context(0, 12, task, int((codes >= 0).sum()), X.shape[1], 0.4)
    if member.fits_unlabeled:
        return member.make(context).fit(X, codes)
    if task == "positive-unlabeled":
        return member.make(context).fit(X, (codes == 1).astype(int))
    return member.make(context).fit(X[codes >= 0], codes[codes >= 0])


def raw_scores(model, table, n_outputs):
    """The estimator's own scores, one column per output."""
    kind = type(model).__name__
    if kind in ("ExtraTreesClassifier", "RandomForestClassifier"):  # in the order of the trees
        single = table.astype(np.float32)
        total = sum(tree.predict_proba(single, check_input=False) for tree in model.estimators_)
        scores = (total / len(model.estimators_))[:, 1 if n_outputs == 1 else 0 :]
    elif kind in SUM_OF_TREES:
        scores = model.predict(table, **SUM_OF_TREES[kind])
    elif hasattr(model, "decision_function"):
        scores = model.decision_function(table)
    else:
        scores = model.predict_proba(table)[:, 1 if n_outputs == 1 else 0 :]
    return bounded(np.asarray(scores, dtype=float).reshape(len(table), n_outputs))


CASES = [(member, task) for member in PORTFOLIO if member.installed for task in member.tasks]


@pytest.mark.parametrize(("member", "task"), CASES, ids=lambda one: getattr(one, "name", one))
def test_every_member_has_a_formula_with_its_scores(member, task, tables):
    X, codes, new = tables[task]
    if member.view != "raw":
        scale = learn_scale(X)
        X, new = scale(X), scale(new)
    model = fitted(member, task, X, codes)
    n_outputs = 1 if N_CLASSES[task] == 2 else N_CLASSES[task]
    formula = formula_of(model, n_outputs)
    assert not isinstance(formula, Opaque)
    expected = raw_scores(model, new, n_outputs)
    scores = bounded(formula(new))
    assert scores.shape == expected.shape
    if member.name in ROUNDED or member.family == "graph" or "CatBoost" in member.name:
        if member.name == "nearest neighbors":  # distances of rows of the fit are rounded to 0 or not
            scores, expected = scores[20:], expected[20:]
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize(
    "name", ["extra trees", "histogram boosting", "XGBoost", "CatBoost", "tree AUC boosting", "RankBoost"]
)
def test_numba_and_numpy_add_trees_to_the_same_bits(name, tables, monkeypatch):
    member = next(one for one in PORTFOLIO if one.name == name)
    if not member.installed:
        pytest.skip(f"{member.package} is not installed")
    X, codes, new = tables["binary"]
    formula = formula_of(fitted(member, "binary", X, codes), 1)
    found = []
    for uses_kernels in (True, False):
        monkeypatch.setattr(trees, "_uses_kernels", lambda X, answer=uses_kernels: answer)
        found.append(formula(new))
    np.testing.assert_array_equal(*found)


def test_estimators_without_a_formula_keep_their_scores():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = SVC(kernel="sigmoid").fit(X, X[:, 0] > 0)
    formula = formula_of(model, 1)
    assert isinstance(formula, Opaque)
    np.testing.assert_array_equal(formula(X)[:, 0], model.decision_function(X))
