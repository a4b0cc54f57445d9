"""MultiviewKernelClassifier: equal to the equations, limit cases, and odd input."""

import itertools

import numpy as np
import pytest
from scipy.linalg import cholesky
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import kneighbors_graph
from sklearn.svm import LinearSVC

from fewlabel import MultiviewKernelClassifier, VariableClusterer, make_multiview_credit
from fewlabel.multiview._losses import HingeLoss, simplex
from reference import multiview as reference
from reference.multiview import VIEWS, few_rows

PLAIN = dict(views=VIEWS, scale=False, length_scale=1.3, n_neighbors=4, approximation=None)
PENALTIES = list(itertools.product([1e-3, 1.0], [0.0, 0.3], [0.0, 0.5]))


def operators(X, k=4, views=VIEWS):
    grams = [rbf_kernel(X[:, v], gamma=0.5 / 1.3**2) for v in views]
    laplacians = []
    for v in views:
        A = kneighbors_graph(X[:, v], k, include_self=False).toarray()
        A = np.maximum(A, A.T)
        laplacians.append(np.diag(A.sum(axis=1)) - A)
    return grams, laplacians


def coefficients(model, X, c):
    """Coefficients over (row, view) of the fitted functions: those of landmarks, 0 for all other rows."""
    A = np.zeros((len(X) * len(c), model.dual_coef_[0].shape[1]))
    for v, (columns, landmarks, coef) in enumerate(zip(model.views_, model.landmarks_, model.dual_coef_)):
        rows = [int(np.flatnonzero((X[:, columns] == landmark).all(axis=1))[0]) for landmark in landmarks]
        A[np.array(rows) * len(c) + v] = coef / c[v]
    return A


def targets(y, n_classes):
    known = y[y >= 0]
    return np.where(known == 1, 1.0, -1.0)[:, None] if n_classes == 2 else reference.codes_of_classes(known, n_classes)


# Equal to the equations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("gamma_A", "gamma_B", "gamma_W"), PENALTIES)
def test_gradient_of_the_objective_vanishes(n_classes, gamma_A, gamma_B, gamma_W):
    X, y = few_rows(n_classes, n_classes)
    c = np.array([0.5, 0.2, 0.3])
    model = MultiviewKernelClassifier(gamma_A=gamma_A, gamma_B=gamma_B, gamma_W=gamma_W, view_weights=c, **PLAIN).fit(
        X, y
    )
    grams, laplacians = operators(X)
    A, Y = coefficients(model, X, c), targets(y, n_classes)
    weights = (gamma_A, gamma_B / len(X), gamma_W / len(X))
    left = reference.norm(reference.gradient(A, grams, laplacians, c, Y, *weights), grams)
    start = reference.norm(reference.gradient(0 * A, grams, laplacians, c, Y, *weights), grams)
    assert left < 1e-6 * start
    least = reference.objective(A, grams, laplacians, c, Y, *weights)
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = A + 1e-3 * rng.normal(size=A.shape)
        assert reference.objective(other, grams, laplacians, c, Y, *weights) > least


def test_the_explicit_gradient_is_that_of_the_explicit_objective():
    X, y = few_rows(0)
    grams, laplacians = operators(X)
    arguments = (grams, laplacians, np.array([0.5, 0.2, 0.3]), targets(y, 2), 0.1, 0.2, 0.3)
    rng = np.random.default_rng(0)
    A, D = rng.normal(size=(2, len(X) * 3, 1))
    ends = [reference.objective(A + step * D, *arguments) for step in (1e-5, -1e-5)]
    slope = np.sum(D * (reference.stack(grams) @ reference.gradient(A, *arguments)))
    assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_equal_to_the_system_of_the_paper_with_its_missing_factor(n_classes):
    X, y = few_rows(5, n_classes)
    new = np.random.default_rng(1).normal(size=(7, 6))
    c = np.full(3, 1 / 3)
    grams, laplacians = operators(X)
    grams_new = [rbf_kernel(new[:, v], X[:, v], gamma=0.5 / 1.3**2) for v in VIEWS]
    model = MultiviewKernelClassifier(gamma_A=0.01, gamma_B=0.5, gamma_W=0.2, **PLAIN).fit(X, y)
    arguments = (grams, laplacians, c, targets(y, n_classes), 0.01, 0.5 / len(X), 0.2 / len(X))
    expected = reference.outputs(reference.solve(*arguments), grams_new, c)
    found = model.decision_function(new)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-6)
    printed = reference.solve(*arguments, printed=True)
    assert np.abs(reference.outputs(printed, grams_new, c) - expected).max() > 1e-2
    gradient = reference.norm(reference.gradient(printed, *arguments), grams)
    assert gradient > 1e-2 * reference.norm(reference.gradient(0 * printed, *arguments), grams)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize(("gamma_B", "gamma_W"), [(0.0, 0.0), (0.3, 0.5)])
def test_hinge_reaches_the_optimum_of_a_general_solver(n_classes, gamma_B, gamma_W):
    X, y = few_rows(n_classes, n_classes, n=26, n_labeled=12)
    c, known = np.full(3, 1 / 3), y[y >= 0]
    model = MultiviewKernelClassifier(
        "hinge", gamma_A=0.05, gamma_B=gamma_B, gamma_W=gamma_W, tol=1e-10, max_iter=100_000, **PLAIN
    ).fit(X, y)
    grams, laplacians = operators(X)
    Q = reference.effective_kernel(grams, laplacians, c, 12, 0.05, gamma_B / len(X), gamma_W / len(X))
    alpha, value = reference.hinge_dual(Q, known, n_classes)
    assert reference.hinge_primal(alpha, Q, known, n_classes) + value < 1e-6  # the solver's own gap
    S = reference.simplex(n_classes)
    scores = -0.5 * (Q @ (S @ alpha).T) @ S
    found = model.decision_function(X[:12])
    if n_classes == 2:
        scores = scores[:, 1] - scores[:, 0]
        found = 2 * found
    np.testing.assert_allclose(found, scores, atol=2e-3)
    Z = cholesky((Q + Q.T) / 2 + 1e-12 * np.eye(12), lower=True)
    own, gap = HingeLoss(n_classes, tol=1e-9, max_iter=100_000).dual(Z, known, np.full(12, 1 / 12))
    assert -1e-12 < gap < 1e-6
    assert (own >= 0).all()
    assert (own <= 1 / 12).all()
    assert (own[np.arange(12), known] == 0).all()
    ours = reference.hinge_primal(own.T, Q, known, n_classes)
    assert ours == pytest.approx(-value, abs=1e-6)


def test_hinge_without_its_bounds_has_no_minimum():
    """The paper prints the dual without them: along a row that cannot be told, it falls for ever."""
    Q = np.array([[1.0, 1.0], [1.0, 1.0]])  # two equal rows of different classes
    y = np.array([0, 1])
    values = [reference.hinge_dual(Q, y, 2, bounds=np.full(2, bound))[1] for bound in (1.0, 10.0, 100.0)]
    np.testing.assert_allclose(values, [-2.0, -20.0, -200.0], rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_simplex_code(n_classes):
    S = simplex(n_classes)
    expected = np.eye(n_classes) * n_classes / (n_classes - 1) - 1 / (n_classes - 1)
    np.testing.assert_allclose(S.T @ S, expected, atol=1e-12)
    np.testing.assert_allclose(S.sum(axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_held_out_scores_are_those_of_models_without_the_label(loss):
    X, y = few_rows(4)
    known = np.flatnonzero(y >= 0)
    model = MultiviewKernelClassifier(loss, gamma_A=0.01, gamma_B=0.2, gamma_W=0.3, tol=1e-9, max_iter=100_000, **PLAIN)
    found = clone(model).fit(X, y).held_out_decision_
    fold = np.empty(len(known), dtype=int)
    fold[np.argsort(y[known], kind="stable")] = np.arange(len(known)) % 5
    for k in range(5):
        hidden = y.copy()
        hidden[known[fold == k]] = -1
        weight = np.ones(len(X))
        for code in (0, 1):  # each class weighs what it weighed before
            weight[hidden == code] = (y == code).sum() / (hidden == code).sum()
        expected = clone(model).fit(X, hidden, sample_weight=weight).decision_function(X[known[fold == k]])
        np.testing.assert_allclose(found[fold == k], expected, atol=1e-7 if loss == "squared" else 5e-3)


# Limit cases and invariants ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_unlabeled_rows_are_ignored_exactly_without_their_penalties(loss):
    X, y = few_rows(6, 3, n=40, n_labeled=15)
    model = MultiviewKernelClassifier(loss, gamma_B=0, gamma_W=0, random_state=0)
    alone = clone(model).fit(X[:15], y[:15])
    others = clone(model).fit(np.vstack([X[:15], 100 * X[15:] + 7]), y)
    np.testing.assert_array_equal(alone.decision_function(X), model.fit(X, y).decision_function(X))
    np.testing.assert_array_equal(alone.decision_function(X), others.decision_function(X))
    np.testing.assert_array_equal(alone.predict_proba(X), others.predict_proba(X))


def test_one_view_is_laplacian_least_squares():
    X, y = few_rows(7)
    G, L = (parts[0] for parts in operators(X, views=[list(range(6))]))
    J = np.diag((y >= 0).astype(float))
    target = np.where(y >= 0, 2.0 * y - 1, 0.0)
    n_l, n = (y >= 0).sum(), len(y)
    alpha = np.linalg.solve(J @ G + n_l * 0.01 * np.eye(n) + n_l * 0.4 / n * L @ G, target)  # Belkin et al., equation 8
    shared = {**PLAIN, "views": [list(range(6))]}
    for gamma_B in (0.0, 0.1, 100.0):
        model = MultiviewKernelClassifier(gamma_A=0.01, gamma_B=gamma_B, gamma_W=0.4, **shared).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), G @ alpha, atol=1e-7)


def test_one_view_is_the_laplacian_svm():
    X, y = few_rows(8)
    n_l, n = (y >= 0).sum(), len(y)
    G, L = (parts[0] for parts in operators(X, views=[list(range(6))]))
    K = G @ np.linalg.inv(0.01 * np.eye(n) + 0.4 / n * L @ G)  # the deformed kernel
    Z = cholesky((K + K.T)[:n_l, :n_l] / 2 + 1e-10 * np.eye(n_l), lower=True)
    svm = LinearSVC(loss="hinge", fit_intercept=False, C=1 / (2 * n_l), tol=1e-10, max_iter=1_000_000).fit(Z, y[:n_l])
    shared = {**PLAIN, "views": [list(range(6))]}
    model = MultiviewKernelClassifier("hinge", gamma_A=0.01, gamma_W=0.4, tol=1e-10, max_iter=100_000, **shared)
    np.testing.assert_allclose(model.fit(X, y).decision_function(X[:n_l]), svm.decision_function(Z), atol=1e-3)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_equal_views_are_one_view_with_more_penalty(loss):
    X, y = few_rows(9)
    shared = {**PLAIN, "views": [[0, 1, 2]] * 3}
    three = MultiviewKernelClassifier(loss, gamma_A=0.01, gamma_B=5.0, gamma_W=0.2, **shared).fit(X, y)
    one = MultiviewKernelClassifier(loss, gamma_A=0.03, gamma_W=0.6, **{**PLAIN, "views": [[0, 1, 2]]}).fit(X, y)
    np.testing.assert_allclose(
        three.decision_function(X), one.decision_function(X), atol=1e-6 if loss == "squared" else 1e-2
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_order_of_views_and_rows_does_not_matter(loss, n_classes):
    X, y = few_rows(10, n_classes, n=30, n_labeled=12)
    model = MultiviewKernelClassifier(loss, views=VIEWS, view_weights=[0.5, 0.2, 0.3], gamma_A=0.05, tol=1e-9)
    model.set_params(max_iter=50_000, random_state=0)
    expected = model.fit(X, y).decision_function(X)
    tolerance = 1e-9 if loss == "squared" else 1e-3
    turned = clone(model).set_params(views=[VIEWS[2], VIEWS[0], VIEWS[1]], view_weights=[0.3, 0.5, 0.2]).fit(X, y)
    np.testing.assert_allclose(turned.decision_function(X), expected, atol=tolerance)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = clone(model).fit(X[order], y[order])
    np.testing.assert_allclose(shuffled.decision_function(X), expected, atol=tolerance)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_two_classes_are_opposite(loss):
    X, y = few_rows(11)
    model = MultiviewKernelClassifier(loss, views=VIEWS, gamma_A=0.05, tol=1e-10, max_iter=50_000)
    swapped = np.where(y >= 0, 1 - y, -1)
    there, back = (clone(model).fit(X, labels).decision_function(X) for labels in (y, swapped))
    np.testing.assert_allclose(there, -back, atol=1e-10 if loss == "squared" else 1e-3)


def test_all_rows_as_landmarks_are_exact_and_some_are_close():
    X, y, true = make_multiview_credit(700, imbalance=4, missing=0.0, labeled=150, return_true=True, random_state=0)
    shared = dict(views=VariableClusterer(4, random_state=0), random_state=0)
    exact = MultiviewKernelClassifier(approximation=None, **shared).fit(X, y)
    whole = MultiviewKernelClassifier(approximation="nystroem", n_components=700, **shared).fit(X, y)
    np.testing.assert_array_equal(whole.decision_function(X), exact.decision_function(X))
    some = MultiviewKernelClassifier(approximation="nystroem", n_components=250, **shared).fit(X, y)
    assert all(len(landmarks) <= 250 for landmarks in some.landmarks_)
    hidden = y == -1
    scores = [roc_auc_score(true[hidden], m.decision_function(X[hidden])) for m in (exact, some)]
    assert abs(scores[0] - scores[1]) < 0.01


def test_auto_is_exact_up_to_its_limit(monkeypatch):
    X, y = few_rows(12, n=40)
    shared = dict(views=VIEWS, n_components=5, random_state=0)
    assert max(map(len, MultiviewKernelClassifier(**shared).fit(X, y).landmarks_)) == 40
    monkeypatch.setattr("fewlabel.multiview._model._EXACT", 100)
    assert max(map(len, MultiviewKernelClassifier(**shared).fit(X, y).landmarks_)) == 5


def test_weights_repeat_rows_and_a_weight_of_zero_removes_them():
    X, y = few_rows(13)
    shared = {**PLAIN, "gamma_A": 0.01}
    weight = np.ones(len(X))
    weight[[0, 1, 20]] = [2, 0, 0]
    kept = weight > 0
    model = MultiviewKernelClassifier(gamma_B=0.1, gamma_W=0.0, **shared)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    hidden = clone(model).fit(X[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_allclose(weighted.decision_function(X), hidden.decision_function(X), atol=1e-12)
    model.set_params(gamma_B=0.0)
    rows = np.repeat(np.arange(len(X)), weight.astype(int))
    expected = clone(model).fit(X[rows], y[rows]).decision_function(X)
    np.testing.assert_allclose(model.fit(X, y, sample_weight=weight).decision_function(X), expected, atol=1e-9)


def test_class_weights_are_weights_of_rows():
    X, y = few_rows(14, n_labeled=9)
    balanced = MultiviewKernelClassifier(class_weight="balanced", **PLAIN).fit(X, y)
    weight = np.where(y == 0, 9 / (2 * 5), np.where(y == 1, 9 / (2 * 4), 1.0))
    weighted = MultiviewKernelClassifier(**PLAIN).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(balanced.decision_function(X), weighted.decision_function(X), atol=1e-9)
    named = MultiviewKernelClassifier(class_weight={0: 0.9, 1: 1.125}, **PLAIN).fit(X, y)
    np.testing.assert_allclose(named.decision_function(X), balanced.decision_function(X), atol=1e-9)
    with pytest.raises(ValueError, match="are not in class_weight"):
        MultiviewKernelClassifier(class_weight={"no": 2}, **PLAIN).fit(X, y)


def test_probabilities_follow_the_shares_of_the_classes():
    X, y, true = make_multiview_credit(3000, missing=0.0, labeled=1500, return_true=True, random_state=1)
    for class_weight in (None, "balanced"):
        model = MultiviewKernelClassifier(
            views=VariableClusterer(4),
            class_weight=class_weight,
            approximation="nystroem",
            n_components=100,
            random_state=0,
        ).fit(X, y)
        probability = model.predict_proba(X[y == -1])
        np.testing.assert_allclose(probability.sum(axis=1), 1)
        if class_weight == "balanced":
            assert probability[:, 1].mean() == pytest.approx(true[y == -1].mean(), abs=0.02)
