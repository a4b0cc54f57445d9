"""Linear AUC: the exact solver against explicit pairs and against coordinate ascent, and what all solvers share."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import scale

import fewlabel
from fewlabel.linear import LinearAUCClassifier, LinearAUCClassifierCV, _exact, _steps, linear_auc_path
from fewlabel.linear._pairs import PairRisk
from fewlabel.linear._steps import Stream, certificate, sdcd
from reference import linear_auc as reference

SOLVERS = ["exact", "sdcd", "sdcd-perm", "msgd", "oam-inf", "oam-seq", "oam-gra"]
ONLINE = SOLVERS[3:]
both_losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def table(seed=0, n=60, d=5, share=0.3, levels=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) if levels is None else rng.integers(0, levels, (n, d)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.standard_normal(n) > np.quantile(X[:, 0], 1 - share)).astype(int)
    y[:2] = 0, 1
    return X, y


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


# The risk and its certificate ----------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), squared=st.booleans(), weighted=st.booleans(), width=st.sampled_from([0.05, 0.5, 2]))
def test_the_gap_without_pairs_is_the_gap_with_pairs(seed, squared, weighted, width):
    X, y = table(seed, n=20, levels=3)
    positive, rng, alpha = y == 1, np.random.default_rng(seed), 0.1
    weight = rng.integers(1, 4, 20).astype(float) if weighted else None
    w = rng.standard_normal(X.shape[1])
    value = PairRisk(positive, weight, squared)(X @ w, width)
    objective = alpha / 2 * w @ w + value.loss
    assert objective == pytest.approx(reference.objective(w, X, positive, alpha, squared, weight))
    x = 1 - reference.pairs_of(X, positive) @ w
    slopes = 2 * np.maximum(x, 0) if squared else np.clip(x / width, 0, 1)
    weight = np.ones(20) if weight is None else weight
    share = np.outer(weight[positive] / weight[positive].sum(), weight[~positive] / weight[~positive].sum())
    v = np.einsum("ij,ijc->c", share * slopes, reference.pairs_of(X, positive)) / alpha
    dual = np.sum(share * (slopes - slopes**2 / 4 if squared else slopes)) - alpha / 2 * v @ v
    gradient = alpha * w - X.T @ value.pull
    assert value.slack + gradient @ gradient / (2 * alpha) == pytest.approx(objective - dual, rel=1e-9, abs=1e-12)


@both_losses
def test_gradient_and_hessian_are_those_of_the_smoothed_risk(loss):
    X, y = table()
    rng = np.random.default_rng(1)
    risk = PairRisk(y == 1, rng.random(len(y)), loss == "squared_hinge")
    w, width, step = rng.standard_normal(5), 0.4, 1e-6

    def slope(w):
        return -X.T @ risk(X @ w, width).pull

    def smoothed(w):
        over = np.maximum(1 - reference.pairs_of(X, y == 1) @ w, 0)
        hinge = np.where(over < width, over**2 / (2 * width), over - width / 2)
        return risk.weight[0] @ (over**2 if risk.squared else hinge) @ risk.weight[1]

    value = risk(X @ w, width)
    assert abs(value.pull.sum()) < 1e-12
    for c, e in enumerate(np.eye(5)):
        rise = smoothed(w + step * e) - smoothed(w - step * e)
        assert slope(w)[c] == pytest.approx(rise / (2 * step), abs=1e-6)
        turn = (slope(w + step * e) - slope(w - step * e)) / (2 * step)
        np.testing.assert_allclose(risk.hessian(value, X, width)[c], turn, atol=1e-5)


# The optimum ---------------------------------------------------------------------------------------------------------


@both_losses
@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_exact_and_coordinate_ascent_agree(loss, alpha):
    X, y = table(n=40)
    exact = LinearAUCClassifier(alpha, loss=loss, tol=1e-7).fit(X, y)
    ascent = LinearAUCClassifier(alpha, loss=loss, tol=1e-7, solver="sdcd-perm", max_iter=20_000, random_state=0).fit(
        X, y
    )
    assert exact.objective_ == pytest.approx(ascent.objective_, abs=1e-6)
    assert exact.objective_ == pytest.approx(
        reference.objective(exact.coef_[0], X, y == 1, alpha, loss == "squared_hinge"), rel=1e-12
    )
    for model in (exact, ascent):
        assert 0 <= model.dual_gap_ <= 1e-7 * model.objective_


def test_exact_equals_a_general_optimizer_on_the_squared_hinge():
    X, y = table()
    model = LinearAUCClassifier(0.1, loss="squared_hinge", tol=1e-12).fit(X, y)
    found = minimize(reference.objective, np.zeros(5), args=(X, y == 1, 0.1, True), tol=1e-12)
    np.testing.assert_allclose(model.coef_[0], found.x, atol=1e-5)
    assert model.objective_ <= found.fun + 1e-10


@quiet
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    alpha=st.sampled_from([1e-9, 1e-6, 1e-3, 0.1, 10.0]),
    squared=st.booleans(),
    levels=st.sampled_from([None, 2, 3]),
    n=st.integers(4, 30),
)
def test_the_certificate_holds(seed, alpha, squared, levels, n):
    X, y = table(seed, n=n, levels=levels)
    loss = "squared_hinge" if squared else "hinge"
    model = LinearAUCClassifier(alpha, loss=loss, max_iter=100).fit(X, y)
    better = LinearAUCClassifier(alpha, loss=loss, tol=1e-8, max_iter=1000).fit(X, y)
    reachable = better.objective_ + 1e-12  # rounding: the losses that the objective sums are of order one
    assert model.objective_ - model.dual_gap_ <= reachable
    assert np.isfinite(model.coef_).all()
    ones = LinearAUCClassifier(alpha, loss=loss, solver="msgd", random_state=0).fit(X, y)
    assert ones.objective_ - ones.dual_gap_ <= reachable


@quiet
@both_losses
@pytest.mark.parametrize("alpha", [1e-9, 1e-6, 1e-3, 10.0])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["huge", "equal", "constant", "one positive", "separated"])
def test_hard_tables_give_numbers(kind, solver, alpha, loss):
    X, y = table(3, n=24)
    if solver == "oam-gra" and loss == "squared_hinge":
        with pytest.raises(ValueError, match="oam-seq"):
            LinearAUCClassifier(alpha, solver=solver, loss=loss).fit(X, y)
        return
    if kind == "huge":
        X = X * np.array([1e6, 1e-6, 1.0, 1e3, 1.0]) + 1e5
    elif kind == "equal":
        X[:] = X[:1]
    elif kind == "constant":
        X[:, 1:] = 7.0
    elif kind == "one positive":
        y[:] = np.arange(24) == 5
    else:
        X[:, 0] = 100 * y
    model = LinearAUCClassifier(alpha, solver=solver, loss=loss, max_iter=30, random_state=0).fit(X, y)
    for value in (model.coef_, model.objective_, model.dual_gap_, model.decision_function(X), model.predict_proba(X)):
        assert np.isfinite(value).all()
    assert model.dual_gap_ >= 0
    if kind == "equal":
        assert model.objective_ == pytest.approx(1.0)
        if solver in ("exact", "sdcd", "sdcd-perm"):
            assert model.dual_gap_ <= 1e-9


def test_an_open_gap_is_told():
    X, y = table()
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        LinearAUCClassifier(1e-6, max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="after 1 iterations"):
        LinearAUCClassifier(1e-6, solver="sdcd", max_iter=1).fit(X, y)


def test_numbers_too_large_to_square_are_refused():
    X, y = table()
    with pytest.raises(ValueError, match="scale the columns"), np.errstate(all="ignore"):
        LinearAUCClassifier().fit(X * 1e200, y)


def test_many_rows_are_solved_by_samples_to_the_same_gap(monkeypatch):
    X, y = table(n=3000, d=8)
    expected = LinearAUCClassifier(tol=1e-6).fit(X, y)
    monkeypatch.setattr(_exact, "_MANY_ROWS", 500)
    monkeypatch.setattr(_exact, "_HESSIAN_CELLS", 1)
    model = LinearAUCClassifier(tol=1e-6, random_state=0).fit(X, y)
    assert model.dual_gap_ <= 1e-6 * model.objective_
    assert model.objective_ == pytest.approx(expected.objective_, rel=2e-6)
    monkeypatch.setattr(_exact, "_DIRECT", 1)
    conjugate = LinearAUCClassifier(tol=1e-6, random_state=0).fit(X, y)
    assert conjugate.objective_ == pytest.approx(expected.objective_, rel=2e-6)


# What must not matter ------------------------------------------------------------------------------------------------


@both_losses
def test_invariances_of_the_objective(loss):
    X, y = table()

    def fit(X, y):
        return LinearAUCClassifier(0.01, loss=loss, tol=1e-9, max_iter=1000).fit(X, y)

    model = fit(X, y)
    shifted = fit(np.column_stack([X + 5.0, np.ones(len(X))]), y)
    np.testing.assert_allclose(shifted.coef_[0, :-1], model.coef_[0], rtol=1e-3, atol=1e-5)
    assert abs(shifted.coef_[0, -1]) < 1e-12
    assert shifted.objective_ == pytest.approx(model.objective_, rel=1e-8)
    twice = np.concatenate([np.arange(len(X)), np.flatnonzero(y == 0)])
    assert fit(X[twice], y[twice]).objective_ == pytest.approx(model.objective_, rel=1e-8)
    assert fit(-X, 1 - y).objective_ == pytest.approx(model.objective_, rel=1e-8)


@both_losses
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_weights_are_repeated_rows(loss, make):
    X, y = table()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weight[:2] = 1
    weighted, repeated = (LinearAUCClassifier(0.01, loss=loss, tol=1e-8, max_iter=1000) for _ in range(2))
    weighted.fit(make(X), y, weight)
    repeated.fit(make(np.repeat(X, weight, axis=0)), np.repeat(y, weight))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)


@quiet
@both_losses
@pytest.mark.parametrize("solver", SOLVERS)
def test_sparse_rows_give_the_same_model(solver, loss):
    if solver == "oam-gra" and loss == "squared_hinge":
        pytest.skip("not offered")
    X, y = table(levels=4)
    X -= 1
    models = [
        LinearAUCClassifier(0.01, solver=solver, loss=loss, random_state=0, tol=1e-6).fit(rows, y)
        for rows in (X, sparse.csr_matrix(X), sparse.csr_array(X), X.astype(np.float32), np.asfortranarray(X))
    ]
    for model in models[1:]:
        assert model.objective_ == pytest.approx(models[0].objective_, rel=1e-5)
        np.testing.assert_allclose(model.decision_function(X), models[0].decision_function(X), atol=5e-3)
    assert models[1].decision_function(sparse.csr_matrix(X)).shape == (60,)


def test_sparse_rows_are_never_made_dense(monkeypatch):
    X = sparse.random(200, 30_000, 0.002, format="csr", random_state=0)
    y = np.arange(200) % 3 == 0
    for name in ("toarray", "todense"):
        monkeypatch.setattr(sparse.csr_matrix, name, lambda self: pytest.fail("made dense"))
    for solver in SOLVERS:
        with warnings.catch_warnings(action="ignore"):
            LinearAUCClassifier(solver=solver, max_iter=1).fit(X, y).predict(X)


@quiet
@pytest.mark.parametrize("solver", SOLVERS)
def test_unlabeled_rows_are_left_out_and_seeds_repeat(solver, cancer):
    X, y = cancer
    few = fewlabel.hide_labels(y, 0.2, random_state=0)
    model = LinearAUCClassifier(solver=solver, random_state=3).fit(X, few)
    again = LinearAUCClassifier(solver=solver, random_state=3).fit(X[few >= 0], few[few >= 0])
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert roc_auc_score(y, model.decision_function(X)) > 0.97


# As an estimator -----------------------------------------------------------------------------------------------------


def test_too_many_pairs_name_the_exact_solver(monkeypatch):
    monkeypatch.setattr(_steps, "MAX_PAIRS", 10)
    X, y = table()
    with pytest.raises(ValueError, match="solver='exact'"):
        LinearAUCClassifier(solver="sdcd").fit(X, y)
    model = LinearAUCClassifier(solver="msgd", random_state=0).fit(X, y)
    assert model._stream["n_steps"] == min(20 * 60, y.sum() * (1 - y).sum())


def test_weights_are_for_the_exact_solver():
    X, y = table()
    with pytest.raises(ValueError, match="use solver='exact'"):
        LinearAUCClassifier(solver="sdcd").fit(X, y, np.ones(60))


@quiet
@pytest.mark.parametrize("solver", SOLVERS)
def test_history(solver):
    X, y = table()
    model = LinearAUCClassifier(solver=solver, max_iter=3, tol=0, record_history=True, random_state=0).fit(X, y)
    history = model.history_
    assert len(history["objective"]) == len(history["gap"]) == len(history["auc"]) >= 3
    assert history["objective"][-1] == pytest.approx(model.objective_)
    assert history["auc"][-1] == pytest.approx(roc_auc_score(y, model.decision_function(X)))
    assert not hasattr(LinearAUCClassifier(solver=solver).fit(X, y), "history_")


@pytest.mark.parametrize("solver", ONLINE)
def test_partial_fit_learns_from_batches(solver, cancer):
    X, y = cancer
    model = LinearAUCClassifier(0.01, solver=solver, random_state=0)
    for part in np.array_split(np.random.default_rng(0).permutation(len(y)), 5):
        model.partial_fit(X[part], y[part], classes=[0, 1])
    assert model.n_iter_ == 5
    assert roc_auc_score(y, model.decision_function(X)) > 0.95
    assert (model.predict(X) == y).mean() > 0.85
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X, y + 1)
    assert not hasattr(LinearAUCClassifier(), "partial_fit")


@pytest.mark.parametrize("solver", ONLINE[1:])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_a_stream_in_pieces_is_the_stream_in_one_piece(solver, make):
    X, y = table(n=200)
    whole, parts = (Stream(solver, 0.1, False, 10, 5, 1000, seed=0) for _ in range(2))
    whole.feed(make(X), y == 1, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    for begin in range(0, 200, 37):
        parts.feed(make(X[begin : begin + 37]), y[begin : begin + 37] == 1, rng)
    np.testing.assert_allclose(parts.coef, whole.coef, atol=1e-12)
    np.testing.assert_array_equal(parts.seen, whole.seen)


def test_one_row_at_a_time(cancer):
    X, y = cancer
    model = LinearAUCClassifier(1e-4, solver="oam-seq", random_state=0)
    for i in np.random.default_rng(0).permutation(len(y))[:300]:
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    assert roc_auc_score(y, model.decision_function(X)) > 0.95
    assert (model.predict(X) == y).mean() > 0.85


def test_partial_fit_errors():
    X, y = table()
    with pytest.raises(ValueError, match="classes must be passed"):
        LinearAUCClassifier(solver="msgd").partial_fit(X, y)
    with pytest.raises(ValueError, match=r"3 classes.* pass two"):
        LinearAUCClassifier(solver="msgd").partial_fit(X, y, classes=[0, 1, 2])


def test_oam_inf_is_one_ordered_pass_of_sdcd():
    X, y = table(n=40)
    n_pairs = y.sum() * (1 - y).sum()
    model = LinearAUCClassifier(0.05, solver="oam-inf", expected_pairs=n_pairs).partial_fit(X, y, classes=[0, 1])
    order = [
        (max(p, n), min(p, n), i * (y == 0).sum() + j)
        for i, p in enumerate(np.flatnonzero(y == 1))
        for j, n in enumerate(np.flatnonzero(y == 0))
    ]
    *_, (w, _) = reference.sdcd(X, y == 1, 0.05, [pair for *_, pair in sorted(order)])
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-10)


@pytest.mark.parametrize("solver", ["oam-seq", "oam-gra"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_a_stream_with_buffers_is_that_of_the_reference(solver, make):
    """Every batch has draws of its own, as a model that was saved in between has."""
    X, y = table(n=90)
    capacity, alpha, n_pairs = 6, 0.02, 500.0
    model = LinearAUCClassifier(alpha, solver=solver, buffer_size=capacity, expected_pairs=n_pairs, random_state=4)
    seed, draws = np.random.RandomState(4).randint(np.iinfo(np.int32).max), []
    for batch, rows in enumerate(np.array_split(np.arange(90), 4)):
        model.partial_fit(make(X[rows]), y[rows], classes=[0, 1])
        draws.append(np.random.default_rng([seed, batch]).random(len(rows)))
    signs = np.where(y == 1, 1, -1)
    w, _ = reference.oam(X, signs, 1 / (alpha * n_pairs), capacity, solver == "oam-gra", np.concatenate(draws))
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-10)


# Path and cross-validation -------------------------------------------------------------------------------------------


@both_losses
def test_the_path_holds_the_solutions(loss):
    X, y = table()
    alphas, coefs, gaps = linear_auc_path(X, y, alphas=[1e-4, 1.0, 1e-2], loss=loss, tol=1e-7)
    np.testing.assert_array_equal(alphas, [1.0, 1e-2, 1e-4])
    for alpha, coef, gap in zip(alphas, coefs.T, gaps):
        model = LinearAUCClassifier(alpha, loss=loss, tol=1e-7).fit(X, y)
        objective = reference.objective(coef, X, y == 1, alpha, loss == "squared_hinge")
        assert objective == pytest.approx(model.objective_, rel=1e-6)
        assert gap <= 1e-7 * objective
    with pytest.raises(ValueError, match="positive and finite"):
        linear_auc_path(X, y, alphas=[0.0])


def test_the_best_penalty_on_held_out_rows_is_chosen(cancer):
    X, y = cancer
    few = fewlabel.hide_labels(y, 0.3, random_state=0)
    model = LinearAUCClassifierCV(alphas=[1.0, 1e-2, 1e-6], cv=3, n_jobs=2, random_state=0).fit(X, few)
    assert model.cv_scores_.shape == (3, 3)
    assert model.alpha_ == model.alphas_[model.cv_scores_.mean(axis=0).argmax()]
    single = LinearAUCClassifier(model.alpha_).fit(X, few)
    assert model.objective_ == pytest.approx(single.objective_, rel=2e-3)
    again = LinearAUCClassifierCV(alphas=[1.0, 1e-2, 1e-6], cv=3, random_state=0).fit(sparse.csr_matrix(X), few)
    np.testing.assert_allclose(again.cv_scores_, model.cv_scores_, atol=5e-3)
    with pytest.raises(ValueError, match="1 labeled row of its rarer class"):
        LinearAUCClassifierCV().fit([[0.0], [1.0], [2.0]], [0, 1, 1])


def test_rows_of_weight_zero_are_in_no_fold(cancer):
    X, y = cancer
    few = fewlabel.hide_labels(y, 0.1, random_state=0)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, len(y))
    weight[few >= 0] *= rng.random(np.count_nonzero(few >= 0)) < 0.6
    kept = weight > 0
    model = LinearAUCClassifierCV(alphas=[1.0, 1e-2], cv=3, random_state=0)
    scores = [clone(model).fit(*rows).cv_scores_ for rows in ((X, few, weight), (X[kept], few[kept], weight[kept]))]
    np.testing.assert_allclose(*scores, atol=1e-3)


def test_certificate_of_any_coefficients():
    X, y = table()
    positive = y == 1
    best = LinearAUCClassifier(0.1, tol=1e-8).fit(X, y)
    for squared in (False, True):
        objective, gap = certificate(X, PairRisk(positive, None, squared), best.coef_[0], 0.1)
        assert objective == pytest.approx(reference.objective(best.coef_[0], X, positive, 0.1, squared))
        assert 0 <= gap <= objective
    assert objective > 0
    control = dict(squared=False, permuted=True, tol=1e-4, max_iter=2000, rng=np.random.default_rng(0))
    assert sdcd(X, positive, 0.1, **control).objective == pytest.approx(best.objective_, rel=1e-4)
