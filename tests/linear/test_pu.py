"""Linear uPU and nnPU: closed forms, slow versions, and the non-negative correction."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from fewlabel import LinearPUClassifier, make_pu
from fewlabel.linear._pu import LOSSES, LinearPURisk
from fewlabel.model_selection import make_pu_scorer

pytestmark = pytest.mark.filterwarnings("ignore::fewlabel.exceptions.PriorWarning")


def slow_risk(parameters, X, positive, prior, loss):
    """R+ and R-, row by row."""
    losses = {
        "logistic": lambda z: np.log(1 + np.exp(-z)),
        "squared": lambda z: (1 - z) ** 2 / 4,
        "sigmoid": lambda z: 1 / (1 + np.exp(z)),
    }
    ell = losses[loss]
    g = X @ parameters[:-1] + parameters[-1]
    plus = prior * np.mean([ell(z) for z in g[positive]])
    minus = np.mean([ell(-z) for z in g[~positive]]) - prior * np.mean([ell(-z) for z in g[positive]])
    return plus, minus


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), loss=st.sampled_from(sorted(LOSSES)), sparse=st.booleans())
def test_risk_and_gradient_equal_the_definition(seed, loss, sparse):
    rng = np.random.default_rng(seed)
    X, positive = rng.normal(size=(30, 3)), np.arange(30) < 8
    shift, scale = (np.zeros(3) if sparse else rng.normal(size=3)), rng.random(3) + 0.5
    risk = LinearPURisk(sp.csr_array(X) if sparse else X, positive, np.ones(30), 0.4, loss, shift, scale)
    parameters = rng.normal(size=4)
    scaled = (X - shift) / scale
    values, gradients = risk(parameters)
    assert tuple(values) == pytest.approx(slow_risk(parameters, scaled, positive, 0.4, loss))
    for k in range(4):
        ahead, behind = parameters.copy(), parameters.copy()
        ahead[k] += 1e-6
        behind[k] -= 1e-6
        high, low = (np.array(slow_risk(p, scaled, positive, 0.4, loss)) for p in (ahead, behind))
        np.testing.assert_allclose(gradients[:, k], (high - low) / 2e-6, atol=1e-6)


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_squared_loss_has_its_closed_form():
    X, y = make_pu(300, n_features=4, n_informative=3, labeled=40, random_state=0)
    alpha, prior, positive = 0.05, 0.3, y == 1
    model = LinearPUClassifier("upu", loss="squared", prior=prior, alpha=alpha, threshold="zero", tol=1e-10).fit(X, y)
    Z = np.column_stack([standardized(X), np.ones(len(X))])
    omega = np.diag([1.0] * 4 + [0.0])
    left = Z[~positive].T @ Z[~positive] / (2 * (~positive).sum()) + alpha * omega
    w = np.linalg.solve(left, prior * Z[positive].mean(axis=0) - Z[~positive].mean(axis=0) / 2)
    np.testing.assert_allclose(model.decision_function(X), Z @ w, atol=1e-5)


def test_logistic_loss_is_convex_and_at_its_optimum():
    X, y = make_pu(300, n_features=4, n_informative=3, labeled=40, random_state=1)
    alpha, prior, positive = 0.01, 0.3, y == 1
    model = LinearPUClassifier("upu", prior=prior, alpha=alpha, threshold="zero", tol=1e-9).fit(X, y)
    Z = standardized(X)
    w = model.coef_[0] * X.std(axis=0)
    chance = 1 / (1 + np.exp(-model.decision_function(X)))
    # The gradient of -prior * mean_P g + mean_U log(1 + e^g) + alpha / 2 |w|^2.
    gradient = -prior * Z[positive].mean(axis=0) + (Z[~positive] * chance[~positive, None]).mean(axis=0) + alpha * w
    np.testing.assert_allclose(gradient, 0, atol=1e-6)
    assert chance[~positive].mean() == pytest.approx(prior, abs=1e-6)  # so the mean probability of U is the prior


def where_the_correction_bites():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 6)), np.where(np.arange(40) < 10, 1, -1)
    X[:10, 0] += 2.0
    return X, y


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("alpha", [1e-3, 1e-2])
def test_nnpu_is_at_the_minimum_of_its_risk(loss, alpha):
    """The least s with R+ <= s and R+ + R- <= s, by a general solver."""
    X, y = where_the_correction_bites()
    model = LinearPUClassifier(loss=loss, prior=0.45, alpha=alpha, threshold="zero").fit(X, y)
    Z, positive = standardized(X), y == 1

    def risks(v):
        plus, minus = slow_risk(v[:-1], Z, positive, 0.45, loss)
        return v[-1] - np.array([plus, plus + minus])

    found = minimize(
        lambda v: v[-1] + 0.5 * alpha * v[:-2] @ v[:-2],
        np.append(np.zeros(7), 2.0),
        constraints={"type": "ineq", "fun": risks},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert model.corrected_
    assert model.objective_ == pytest.approx(found.fun, rel=1e-3)
    g = Z @ (model.coef_[0] * X.std(axis=0)) + model.intercept_[0] + X.mean(axis=0) @ model.coef_[0]
    np.testing.assert_allclose(g, Z @ found.x[:-2] + found.x[-2], atol=0.02)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_an_open_minimum_is_told(loss):
    X, y = where_the_correction_bites()
    with pytest.warns(ConvergenceWarning, match="not converged after 1 iterations.*raise max_iter"):
        LinearPUClassifier(loss=loss, prior=0.45, max_iter=1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        LinearPUClassifier(loss=loss, prior=0.45, max_iter=2000).fit(X, y)


def test_nnpu_is_upu_where_the_risk_of_the_negatives_is_not_negative():
    X, y = make_pu(2000, labeled=500, separation=1.0, prior=0.5, random_state=0)
    upu, nnpu = (LinearPUClassifier(risk, prior=0.3).fit(X, y) for risk in ("upu", "nnpu"))
    assert not nnpu.corrected_
    np.testing.assert_array_equal(upu.coef_, nnpu.coef_)


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("risk", ["upu", "nnpu"])
def test_ranks_dense_and_sparse_rows(risk, loss):
    X, y, true = make_pu(800, prior=0.4, labeled=120, separation=3.0, return_true=True, random_state=0)
    hidden = y == -1
    model = LinearPUClassifier(risk, loss=loss, prior=true[hidden].mean()).fit(X, y)
    assert roc_auc_score(true[hidden], model.decision_function(X[hidden])) > 0.9
    positive_part = sp.csr_array(np.maximum(X, 0))
    model = LinearPUClassifier(risk, loss=loss, prior=true[hidden].mean()).fit(positive_part, y)
    dense = LinearPUClassifier(risk, loss=loss, prior=true[hidden].mean()).fit(positive_part.toarray(), y)
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        model.decision_function(positive_part), dense.decision_function(positive_part), atol=1e-3
    )


def test_the_prior_is_estimated_if_not_given():
    X, y, true = make_pu(1000, prior=0.4, labeled=150, separation=4.0, return_true=True, random_state=0)
    model = LinearPUClassifier(random_state=0).fit(X, y)
    assert model.prior_ == pytest.approx(true[y == -1].mean(), abs=0.08)
    assert (model.predict(X) == true).mean() > 0.9


@pytest.mark.parametrize("parameters", [{"risk": "pn"}, {"loss": "hinge"}, {"prior": 0}, {"alpha": -1}])
def test_bad_parameters_are_named(parameters):
    X, y = make_pu(50, labeled=5, random_state=0)
    with pytest.raises(ValueError, match=next(iter(parameters))):
        LinearPUClassifier(**parameters).fit(X, y)


def test_model_selection_without_negatives():
    X, y, true = make_pu(600, prior=0.4, labeled=120, return_true=True, random_state=0)
    y = (y == 1).astype(int)  # folds keep positives and unlabeled rows in proportion
    search = GridSearchCV(
        LinearPUClassifier(prior=0.25),
        {"alpha": [1e-3, 0.1, 10.0]},
        scoring=make_pu_scorer(prior=0.25),
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    ).fit(X, y)
    assert 0.5 < search.best_score_ < 1.1
    assert roc_auc_score(true, search.decision_function(X)) > 0.85
