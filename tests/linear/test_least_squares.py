"""Least-squares AUC: closed forms against explicit pairs, and the estimator around them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

import fewlabel
from fewlabel.linear import LeastSquaresAUCClassifier
from fewlabel.linear.moments import group_moments, quadratic
from reference import linear_auc as reference

each_risk = pytest.mark.parametrize(("risk", "gamma"), [("pn", 1.0), ("samult", 0.3), ("pnu", 0.4), ("pnu", -0.4)])


def table(seed=0, n=60, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 3.0
    truth = (X[:, 0] + 0.5 * rng.standard_normal(n) > 3.3).astype(int)
    y = np.where(rng.random(n) < 0.5, truth, -1)
    y[:4] = 0, 1, 0, 1
    return X, y


def signs_of(y):
    return np.select([y == 1, y == 0], [1, -1], 0)


def explicit_minimizer(F, signs, risk, gamma, prior, alpha):
    """The risk is quadratic: its matrix and vector follow from its values at unit vectors and their sums."""
    d = F.shape[1]

    def value(w):
        return reference.least_squares_risk(w, F, signs, risk, gamma, prior)

    E, zero = np.eye(d), value(np.zeros(d))
    H = np.array([[(value(a + b) - value(a) - value(b) + zero) / 2 for b in E] for a in E])
    h = np.array([(value(-e) - value(e)) / 4 for e in E])
    return np.linalg.solve(H + alpha * np.eye(d), h), H


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    risk=st.sampled_from(["pn", "samult", "pnu"]),
    gamma=st.sampled_from([-0.9, -0.3, 0.0, 0.5, 1.0]),
    prior=st.sampled_from([0.2, 0.5, 0.7]),
)
def test_closed_forms_are_pairwise_least_squares(seed, risk, gamma, prior):
    gamma = abs(gamma) if risk == "samult" else gamma
    X, y = table(seed, n=24, d=3)
    X -= 3
    expected, H = explicit_minimizer(X, signs_of(y), risk, gamma, prior, 0.1)
    moments = group_moments(X, signs_of(y))
    ours, _ = quadratic(risk, moments, gamma, prior)
    np.testing.assert_allclose(ours, H, atol=1e-9)
    model = LeastSquaresAUCClassifier(risk, gamma=gamma, alpha=0.1, prior=prior).fit(X, y)
    if not model.psd_fixed_:
        np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-8, atol=1e-8)
    else:
        assert np.linalg.eigvalsh(H)[0] <= -0.1


def test_the_ranking_is_that_of_weighted_ridge_regression():
    X, y = table()
    X, y = X[y >= 0], y[y >= 0]
    weight = np.where(y == 1, 0.5 / (y == 1).sum(), 0.5 / (y == 0).sum())
    ridge = Ridge(0.05).fit(X, 2 * y - 1, sample_weight=weight)
    ours = LeastSquaresAUCClassifier(alpha=0.1).fit(X, y).coef_[0]
    np.testing.assert_allclose(ours / np.linalg.norm(ours), ridge.coef_ / np.linalg.norm(ridge.coef_), atol=1e-8)


@each_risk
def test_sparse_rows_and_more_columns_than_rows_give_the_same_model(risk, gamma):
    X, y = table(n=30, d=80)
    options = dict(gamma=gamma, alpha=0.5, prior=0.4)
    dense = LeastSquaresAUCClassifier(risk, **options).fit(X, y)
    expected, _ = explicit_minimizer(X, signs_of(y), risk, gamma, 0.4, 0.5)
    if not dense.psd_fixed_:
        np.testing.assert_allclose(dense.coef_[0], expected, atol=1e-7)
        of_sparse = LeastSquaresAUCClassifier(risk, **options).fit(sparse.csr_matrix(X), y)
        assert not of_sparse.psd_fixed_
        np.testing.assert_allclose(of_sparse.coef_, dense.coef_, atol=1e-7)


def test_sparse_rows_are_cross_validated_and_learned_in_batches():
    X, y = table(n=90)
    form = dict(risk="samult", alpha="cv", gamma="cv", random_state=0)
    dense, of_sparse = (LeastSquaresAUCClassifier(**form).fit(rows, y) for rows in (X, sparse.csr_matrix(X)))
    np.testing.assert_allclose(of_sparse.cv_scores_, dense.cv_scores_, atol=1e-9)
    parts = LeastSquaresAUCClassifier()
    for rows in np.array_split(np.arange(90), 3):
        parts.partial_fit(sparse.csr_matrix(X[rows]), y[rows], classes=[0, 1])
    np.testing.assert_allclose(parts.coef_, LeastSquaresAUCClassifier().fit(X, y).coef_, atol=1e-9)


@each_risk
@pytest.mark.parametrize("basis", ["linear", "rbf", "nystroem"])
def test_batches_give_the_model_of_all_rows(risk, gamma, basis):
    X, y = table(n=90)
    options = dict(risk=risk, gamma=gamma, basis=basis, alpha=0.2, prior=0.4, n_components=90, length_scale=2.0)
    whole = LeastSquaresAUCClassifier(**options, random_state=0).fit(X, y)
    parts = LeastSquaresAUCClassifier(**options, random_state=0)
    if basis == "linear":
        batches = np.array_split(np.arange(90), 7)
    else:  # the first batch holds the centers
        batches = [np.arange(90), np.arange(0)]
        whole = LeastSquaresAUCClassifier(**options, random_state=0).fit(X, y)
    for part in batches:
        if len(part):
            parts.partial_fit(X[part], y[part], classes=[0, 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-7)


def test_fit_then_batches_go_on():
    X, y = table(n=90)
    model = LeastSquaresAUCClassifier("samult", gamma=0.5).fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    np.testing.assert_allclose(model.coef_, LeastSquaresAUCClassifier("samult", gamma=0.5).fit(X, y).coef_, atol=1e-10)


def test_ends_of_gamma_are_the_supervised_model():
    X, y = table()
    coef = LeastSquaresAUCClassifier().fit(X, y).coef_
    np.testing.assert_allclose(LeastSquaresAUCClassifier("samult", gamma=1.0).fit(X, y).coef_, coef, rtol=1e-9)
    np.testing.assert_allclose(LeastSquaresAUCClassifier("pnu", gamma=0.0).fit(X, y).coef_, coef, rtol=1e-9)
    labeled = y >= 0
    for risk in ("samult", "pnu"):
        model = LeastSquaresAUCClassifier(risk).fit(X[labeled], y[labeled])
        np.testing.assert_allclose(model.coef_, coef, rtol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_an_indefinite_risk_is_made_convex(make):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((205, 12))
    y = np.r_[np.ones(5), np.zeros(5), -np.ones(195)]
    X[:5] *= 3
    model = LeastSquaresAUCClassifier("pnu", gamma=1.0, prior=0.9, alpha=1e-3).fit(make(X), y)
    H, h = quadratic("pnu", group_moments(X, signs_of(y)), 1.0, 0.9)
    assert np.linalg.eigvalsh(H)[0] < -1e-3
    assert model.psd_fixed_
    assert model.coef_[0] @ h > 0  # the saddle point of the plain solve may point the other way
    auto = LeastSquaresAUCClassifier("pnu", prior=0.9).fit(make(X), y)
    assert auto.gamma_ == -0.5
    assert not auto.psd_fixed_


@pytest.mark.parametrize(
    ("risk", "basis"),
    [("pn", "linear"), ("samult", "linear"), ("pnu", "linear"), ("samult", "rbf"), ("pnu", "nystroem")],
)
def test_cross_validation_gives_what_single_fits_give(risk, basis):
    X, y = load_breast_cancer(return_X_y=True)
    X, few = scale(X), fewlabel.hide_labels(y, 0.15, random_state=0)
    folds = list(fewlabel.LabeledStratifiedKFold(3).split(X, few))
    options = dict(risk=risk, basis=basis, cv=folds, n_components=30, length_scale=8.0, prior=0.6, random_state=0)
    model = LeastSquaresAUCClassifier(**options, alpha="cv", gamma="cv").fit(X, few)
    assert model.cv_scores_.max() > 0.95
    assert roc_auc_score(y, model.decision_function(X)) > 0.95
    if basis == "linear":
        single = LeastSquaresAUCClassifier(**{**options, "cv": 5}, alpha=model.alpha_, gamma=model.gamma_)
        scores = [
            roc_auc_score(few[test], single.fit(X[train], few[train]).decision_function(X[test]))
            for train, test in folds
        ]
        assert np.mean(scores) == pytest.approx(model.cv_scores_.max(), abs=1e-3)


def test_nystroem_with_all_rows_is_the_kernel_model():
    """beta = A'(A K A' + alpha I)^-1 e: A centers each class, and its last row is the difference of the means."""
    X, y = table(n=30)
    X, y = X[y >= 0], y[y >= 0]
    n, P, N = len(y), y == 1, y == 0
    A = np.zeros((n + 1, n))
    for group in (P, N):
        m = group.sum()
        A[np.ix_(np.flatnonzero(group), np.flatnonzero(group))] = (np.eye(m) - 1 / m) / np.sqrt(m)
    A[n, P], A[n, N] = 1 / P.sum(), -1 / N.sum()
    K = rbf_kernel(X, gamma=0.5 / 1.5**2)
    beta = A.T @ np.linalg.solve(A @ K @ A.T + 0.1 * np.eye(n + 1), np.eye(n + 1)[n])
    model = LeastSquaresAUCClassifier(basis="nystroem", n_components=n, length_scale=1.5, alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X) - model.offset_, K @ beta, atol=1e-5)


def test_gaussian_functions_rank_what_lines_cannot():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = (np.hypot(*X.T) < 1).astype(int)
    for basis in ("rbf", "nystroem"):
        for rows in (X, sparse.csr_matrix(X)):
            model = LeastSquaresAUCClassifier(basis=basis, alpha=1e-3, random_state=0).fit(rows, y)
            assert roc_auc_score(y, model.decision_function(rows)) > 0.98
    assert roc_auc_score(y, LeastSquaresAUCClassifier().fit(X, y).decision_function(X)) < 0.7


def test_weights_are_repeated_rows():
    X, y = table()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weight[:4] = 1
    for risk in ("pn", "samult"):
        for make in (np.asarray, sparse.csr_matrix):
            weighted = LeastSquaresAUCClassifier(risk).fit(make(X), y, weight)
            repeated = LeastSquaresAUCClassifier(risk).fit(make(np.repeat(X, weight, axis=0)), np.repeat(y, weight))
            np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)


@each_risk
def test_weights_of_batches_are_repeated_rows(risk, gamma):
    X, y = table(2)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weight[:4] = 1
    if risk == "pnu":  # leaves out the pairs of a row with itself, but not with its copy
        weight[y != -1] = 1
    weighted = LeastSquaresAUCClassifier(risk, gamma=gamma)
    repeated = LeastSquaresAUCClassifier(risk, gamma=gamma)
    for rows in np.array_split(np.arange(len(y)), 3):
        weighted.partial_fit(X[rows], y[rows], [0, 1], sample_weight=weight[rows])
        copies = np.repeat(rows, weight[rows])
        repeated.partial_fit(X[copies], y[copies], [0, 1])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7)


def test_a_saved_model_learns_on(tmp_path):
    X, y = table(n=90)
    model = LeastSquaresAUCClassifier().fit(X[:50], y[:50])
    fewlabel.save(model, tmp_path / "model.fewlabel")
    loaded = fewlabel.load(tmp_path / "model.fewlabel").partial_fit(X[50:], y[50:])
    np.testing.assert_allclose(loaded.coef_, model.partial_fit(X[50:], y[50:]).coef_)


@pytest.mark.parametrize(
    ("options", "rows", "match"),
    [
        (dict(risk="samult", gamma=-0.5), np.asarray, "in \\[0, 1\\]"),
        (dict(prior=1.0), np.asarray, "prior"),
    ],
)
def test_errors_say_what_to_do(options, rows, match):
    X, y = table()
    with pytest.raises(ValueError, match=match):
        LeastSquaresAUCClassifier(**options).fit(rows(X), y)


def test_partial_fit_errors():
    X, y = table()
    with pytest.raises(ValueError, match="set them to numbers"):
        LeastSquaresAUCClassifier(alpha="cv").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="TruncatedSVD"):
        LeastSquaresAUCClassifier().fit(sparse.csr_matrix((len(y), 20_000)), y)
    alone = LeastSquaresAUCClassifier().partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
    assert (alone.coef_ == 0).all()
    alone.partial_fit(X[y == 0], y[y == 0]).partial_fit(X[y == -1], y[y == -1])
    np.testing.assert_allclose(alone.coef_, LeastSquaresAUCClassifier().fit(X, y).coef_, atol=1e-9)
