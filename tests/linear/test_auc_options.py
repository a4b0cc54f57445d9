"""Linear AUC: lemmas 1 and 2, OAM's certificate, streams, wide and sparse tables, Nystroem features, many classes."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

import fewlabel
from fewlabel import QuasiBaggingClassifier
from fewlabel.linear import LinearAUCClassifier, LinearAUCClassifierCV, OneVsRestRankingClassifier, linear_auc_path
from fewlabel.linear import _exact as exact
from fewlabel.linear._pairs import PairRisk
from fewlabel.linear._steps import Stream, certificate, sdcd
from fewlabel.metrics import hand_till_score
from reference import linear_auc as reference

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
STREAMS = ["msgd", "oam-inf", "oam-seq", "oam-gra"]


def table(seed=0, n=60, d=5, share=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = (X[:, 0] + X[:, 1 % d] + rng.standard_normal(n) > np.quantile(X[:, 0], 1 - share)).astype(int)
    y[:2] = 0, 1
    return X, y


def in_unit_ball(seed, n):
    """Rows whose differences are no longer than 1, as the lemmas assume."""
    X, y = table(seed, n=n)
    return X / (2 * np.linalg.norm(X, axis=1).max()), y


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


# Lemma 1: averages ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("permuted", [False, True])
def test_averages_are_those_of_the_second_half_of_the_iterates(permuted, squared):
    X, y = table(n=14)
    positive, alpha, max_iter = y == 1, 0.05, 3
    k = int(positive.sum() * (~positive).sum())
    rng = np.random.default_rng(5)
    order = np.concatenate([rng.permutation(k) if permuted else rng.integers(k, size=k) for _ in range(max_iter)])
    w, duals = reference.averages(X, positive, alpha, order, max_iter * k // 2, squared)
    np.testing.assert_allclose(reference.coefficients(duals, X, positive, alpha), w, atol=1e-9)

    class Order:  # the solver's own draws, whatever it draws them with
        def shuffle(self, values):
            values[:] = order[self.at : self.at + k]
            self.at += k

        def integers(self, n, size):
            self.at += size
            return order[self.at - size : self.at]

        at = 0

    form = dict(squared=squared, permuted=permuted, tol=0, max_iter=max_iter, rng=Order())
    found = sdcd(X, positive, alpha, average=True, **form)
    np.testing.assert_allclose(found.coef, w, atol=1e-9)
    assert found.objective == pytest.approx(reference.objective(w, X, positive, alpha, squared))
    gap = found.objective - reference.dual(duals, X, positive, alpha, squared)
    assert found.gap >= gap - 1e-12
    if not squared:
        assert found.gap == pytest.approx(gap, abs=1e-12)


@quiet
def test_lemma_1_bounds_the_mean_gap_of_the_averages():
    """T >= T_0 + k + 4 / (lambda eps) steps with T_0 half of them: the mean gap is at most eps."""
    X, y = in_unit_ball(3, 24)
    k, alpha, max_iter = int(y.sum() * (1 - y).sum()), 0.5, 20
    steps = max_iter * k
    assert steps // 2 >= max(0, np.ceil(k * np.log(alpha * k / 2))) + 16 / (alpha * 0.1)  # the lemma's T_0
    epsilon = 4 / (alpha * (steps // 2 - k))
    gaps = []
    for seed in range(10):
        for solver in ("sdcd", "sdcd-perm"):
            form = dict(solver=solver, max_iter=max_iter, tol=0, average=True, random_state=seed)
            gaps.append(LinearAUCClassifier(alpha, **form).fit_ranking(X, y).dual_gap_)
    assert 0 < np.mean(gaps) <= epsilon


@quiet
def test_options_of_the_lemmas_are_for_dual_ascent():
    X, y = table()
    for option in ({"average": True}, {"init": "msgd"}):
        with pytest.raises(ValueError, match="options of solver='sdcd'"):
            LinearAUCClassifier(**option).fit(X, y)
        model = LinearAUCClassifier(0.1, solver="sdcd-perm", tol=1e-6, max_iter=3000, random_state=0, **option)
        best = LinearAUCClassifier(0.1, tol=1e-8).fit(X, y)
        assert model.fit(X, y).objective_ == pytest.approx(best.objective_, rel=1e-3)


# Lemma 2: the duals of MSGD ------------------------------------------------------------------------------------------


def test_the_start_from_msgd_is_a_point_of_the_dual():
    X, y = table(n=20)
    positive, alpha, k = y == 1, 0.05, int(y.sum() * (1 - y).sum())
    order = np.random.default_rng(7).permutation(k)
    found = []
    form = dict(squared=False, permuted=True, tol=0, max_iter=1, rng=np.random.default_rng(7))
    sdcd(X, positive, alpha, init="msgd", after=lambda w, *_: found.append(w), **form)
    w, duals = np.zeros(X.shape[1]), np.zeros(k)
    z = reference.pairs_of(X, positive).reshape(k, -1)
    for t, p in enumerate(order, start=1):  # Algorithm 3, with the variables kept
        duals[p] = np.clip(alpha * t * (1 - z[p] @ w) / (z[p] @ z[p]), 0, 1)
        w = (1 - 1 / t) * w + duals[p] * z[p] / (alpha * t)
    np.testing.assert_allclose(w, z.T @ duals / (alpha * k), atol=1e-9)  # w(a): one pass of MSGD is feasible
    second = np.random.default_rng(7)
    second.permutation(k)
    for p in second.permutation(k):
        new = np.clip(duals[p] + alpha * k * (1 - z[p] @ w) / (z[p] @ z[p]), 0, 1)
        w, duals[p] = w + (new - duals[p]) / (alpha * k) * z[p], new
    np.testing.assert_allclose(found[0], w, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_lemma_2_bounds_the_dual_after_a_pass_of_msgd(alpha):
    """E[D(a*) - D(a)] <= 2 log(e k) / (lambda k) for pairs that are drawn, each of which is an example."""
    X, y = in_unit_ball(4, 16)
    positive = y == 1
    z = reference.pairs_of(X, positive).reshape(-1, X.shape[1])
    k, left = len(z), []

    def minus_dual(a, z):
        w = z.T @ a / (alpha * k)
        return alpha / 2 * w @ w - a.mean(), z @ w / k - 1 / k

    for seed in range(6):
        drawn = z[np.random.default_rng(seed).integers(k, size=k)]
        w, a = np.zeros(X.shape[1]), np.zeros(k)
        for t, row in enumerate(drawn, start=1):
            a[t - 1] = np.clip(alpha * t * (1 - row @ w) / (row @ row), 0, 1)
            w = (1 - 1 / t) * w + a[t - 1] * row / (alpha * t)
        best = minimize(minus_dual, a, (drawn,), jac=True, method="L-BFGS-B", bounds=[(0, 1)] * k)
        left.append(minus_dual(a, drawn)[0] - best.fun)
    assert min(left) >= -1e-9
    assert np.mean(left) <= 2 * np.log(np.e * k) / (alpha * k)


# OAM's certificate ---------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    solver=st.sampled_from(STREAMS[1:]),
    squared=st.booleans(),
    passes=st.integers(1, 3),
    buffer_size=st.sampled_from([3, 100]),
    expected=st.sampled_from([None, 10.0, 1e5]),
)
def test_the_certificate_of_online_steps_holds(seed, solver, squared, passes, buffer_size, expected):
    X, y = table(seed, n=20)
    loss = "squared_hinge" if squared and solver != "oam-gra" else "hinge"
    form = dict(max_iter=passes, buffer_size=buffer_size, expected_pairs=expected, random_state=0)
    model = LinearAUCClassifier(0.1, solver=solver, loss=loss, **form).fit_ranking(X, y)
    best = LinearAUCClassifier(0.1, loss=loss, tol=1e-9, max_iter=1000).fit_ranking(X, y)
    assert model.objective_ - model.dual_gap_ <= best.objective_ + 1e-9


def test_own_duals_make_the_certificate_of_oam_tight():
    """One pass of OAM that keeps all rows is one pass of SDCD, whose dual variables are a point of the dual."""
    X, y = table(1, n=60)
    alpha, k = 0.1, int(y.sum() * (1 - y).sum())
    model = LinearAUCClassifier(alpha, solver="oam-inf", random_state=0).fit_ranking(X, y)
    rng = np.random.default_rng(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    order = rng.permutation(len(y))
    rows, positive = X[order], y[order] == 1
    positives, negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
    met = [(max(p, n), min(p, n), i, j) for i, p in enumerate(positives) for j, n in enumerate(negatives)]
    *_, (w, duals) = reference.sdcd(rows, positive, alpha, [i * len(negatives) + j for *_, i, j in sorted(met)])
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-9)
    value, at = Stream.resume(model._stream, X.shape[1]).dual_point(k)
    share = at[0] / w[0]  # the best multiple of the variables
    assert value == pytest.approx(reference.dual(share * duals, rows, positive, alpha, False))
    assert share * duals.max() <= 1 + 1e-12
    assert value >= reference.dual(duals, rows, positive, alpha, False) - 1e-12
    slopes = certificate(X, PairRisk(y == 1), model.coef_[0], alpha)[1]
    assert model.dual_gap_ <= model.objective_ - value + 1e-12
    assert model.dual_gap_ < 0.5 * slopes


# Streams -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", STREAMS)
@pytest.mark.parametrize("alpha", [1e-6, 1e-3])
def test_single_rows_make_a_model_of_the_size_of_a_fit(solver, alpha, cancer):
    """With C by the first batch, of one row, the weights grew to 380,000, and MSGD never left zero."""
    X, y = cancer
    order = np.random.default_rng(0).permutation(len(y))[:250]
    model = LinearAUCClassifier(alpha, solver=solver, expected_pairs=250**2 / 4, random_state=0)
    for i in order:
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    assert roc_auc_score(y, model.decision_function(X)) > 0.93
    whole = LinearAUCClassifier(alpha, solver=solver, random_state=0).fit_ranking(X[order], y[order])
    assert 0 < np.linalg.norm(model.coef_) < 10 * np.linalg.norm(whole.coef_)
    assert (model.predict(X) == y).mean() > 0.8


@pytest.mark.parametrize("solver", STREAMS)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("how", ["file", "pickle"])
def test_a_saved_stream_goes_on_as_if_it_had_not_been_saved(solver, make, how, tmp_path):
    X, y = table(n=90)
    model = LinearAUCClassifier(0.01, solver=solver, buffer_size=7, random_state=3)
    for part in np.array_split(np.arange(90), 9):
        model.partial_fit(make(X[part]), y[part], classes=[0, 1])
        if part[0] == 40:
            if how == "file":
                fewlabel.save(model, tmp_path / "model.fewlabel")
                again = fewlabel.load(tmp_path / "model.fewlabel")
            else:
                again = pickle.loads(pickle.dumps(model))
        elif part[0] > 40:
            again.partial_fit(make(X[part]), y[part])
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.n_iter_ == model.n_iter_ == 9


def test_a_stream_of_msgd_pairs_new_rows_with_earlier_ones():
    X, y = table(n=400)
    model = LinearAUCClassifier(0.05, solver="msgd", buffer_size=50, random_state=0)
    order = np.r_[np.flatnonzero(y == 1), np.flatnonzero(y == 0)]  # no batch holds both classes
    for part in np.array_split(order, 40):
        model.partial_fit(X[part], y[part], classes=[0, 1])
    assert model._stream["n_buffered"].tolist() == [50, 50]
    best = LinearAUCClassifier(0.05).fit(X, y)
    auc = [roc_auc_score(y, m.decision_function(X)) for m in (model, best)]
    assert auc[0] > auc[1] - 0.02


def test_a_stream_of_single_rows_takes_the_steps_of_its_reference():
    X, y = table(n=60)
    model = LinearAUCClassifier(0.05, solver="msgd", buffer_size=7, random_state=0)
    for i in range(len(y)):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    generators = [np.random.default_rng([model._stream["seed"], call]) for call in range(len(y))]
    np.testing.assert_allclose(model.coef_[0], reference.msgd_stream(X, y == 1, 0.05, 7, generators), atol=1e-10)


@pytest.mark.parametrize("size", [1, 10])
def test_a_stream_of_few_rows_at_a_time_ranks_as_well_as_the_batch(size):
    """With buffers of 100 rows per class the AUC was .61 row by row and .65 by ten rows, beside .68 of the batch."""
    X, y = make_classification(2000, 20, n_informative=5, weights=[0.8], class_sep=0.6, flip_y=0.1, random_state=1)
    X = scale(X)
    batch = LinearAUCClassifier(solver="msgd", random_state=0).fit(X[:1000], y[:1000])
    stream = LinearAUCClassifier(solver="msgd", random_state=0)
    for first in range(0, 1000, size):
        stream.partial_fit(X[first : first + size], y[first : first + size], classes=[0, 1])
    auc = [roc_auc_score(y[1000:], model.decision_function(X[1000:])) for model in (stream, batch)]
    assert auc[0] > auc[1] - 0.01


# Wide, sparse --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_more_columns_than_rows_are_solved_in_the_space_of_the_rows(loss, monkeypatch):
    X, y = table(2, n=40, d=90)
    X += 7.0
    weight = np.random.default_rng(0).uniform(0.5, 2, 40)
    form = dict(loss=loss, tol=1e-8, max_iter=1000)
    rotated = LinearAUCClassifier(0.01, record_history=True, **form).fit(X, y, weight)
    _, path, gaps = linear_auc_path(X, y, alphas=[1.0, 0.01], sample_weight=weight, **form)
    assert rotated.history_["auc"][-1] == roc_auc_score(y, X @ rotated.coef_[0])
    monkeypatch.setattr(exact, "_WIDE", 0)
    plain = LinearAUCClassifier(0.01, **form).fit(X, y, weight)
    assert rotated.objective_ == pytest.approx(plain.objective_, rel=1e-7)
    np.testing.assert_allclose(rotated.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(path[:, 1], plain.coef_[0], atol=1e-4)
    np.testing.assert_allclose(rotated.calibration_, plain.calibration_, rtol=1e-3)
    assert not hasattr(rotated, "_coordinates")
    assert (gaps >= 0).all()


def test_quasi_newton_steps_reach_the_certified_optimum():
    rng = np.random.default_rng(0)
    X = sparse.random(150, 1500, 0.03, format="csr", random_state=1)
    y = (X @ rng.standard_normal(1500) + 0.1 * rng.standard_normal(150) > 0.3).astype(int)
    for alpha in (1e-2, 1e-4):
        model = LinearAUCClassifier(alpha, tol=1e-6, max_iter=1000).fit_ranking(X, y)
        dense = LinearAUCClassifier(alpha, tol=1e-8, max_iter=2000).fit_ranking(X.toarray(), y)  # Newton, rotated
        assert model.dual_gap_ <= 1e-6 * model.objective_
        assert model.objective_ == pytest.approx(dense.objective_, rel=2e-6)


# Nystroem features ---------------------------------------------------------------------------------------------------


def circles(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, 2 * np.pi, n)
    return (1 + y[:, None]) * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.15 * rng.standard_normal((n, 2)), y


def test_nystroem_features_rank_what_no_linear_score_can():
    X, y = circles()
    few = np.where(np.arange(120) < 60, y, -1)
    model = LinearAUCClassifier(1e-2, basis="nystroem", random_state=0).fit(X, few)
    assert roc_auc_score(y[60:], model.decision_function(X[60:])) > 0.97
    assert abs(roc_auc_score(y[60:], LinearAUCClassifier().fit(X, few).decision_function(X[60:])) - 0.5) < 0.25
    chosen = LinearAUCClassifierCV([1.0, 1e-2, 1e-4], basis="nystroem", n_components=40, random_state=0).fit(X, few)
    assert roc_auc_score(y[60:], chosen.decision_function(X[60:])) > 0.97
    assert chosen.coef_.shape[1] <= 40
    with pytest.raises(ValueError, match="lower n_components"):
        LinearAUCClassifier(solver="msgd", basis="nystroem").partial_fit(X[:5], y[:5], classes=[0, 1])
    stream = LinearAUCClassifier(1e-2, solver="oam-seq", basis="nystroem", n_components=30)
    stream.set_params(expected_pairs=3600, random_state=0)
    for part in np.array_split(np.arange(120), 3):
        stream.partial_fit(X[part], y[part], classes=[0, 1])
    assert roc_auc_score(y, stream.decision_function(X)) > 0.95


def test_all_rows_as_components_are_the_kernel_machine():
    X, y = circles(50)
    alpha, sigma = 0.05, 0.7
    model = LinearAUCClassifier(alpha, basis="nystroem", length_scale=sigma, loss="squared_hinge", tol=1e-10).fit(X, y)
    K = rbf_kernel(X, gamma=0.5 / sigma**2)

    def objective(a):
        f = K @ a
        return alpha / 2 * a @ f + np.mean(np.maximum(0, 1 - (f[y == 1][:, None] - f[y == 0])) ** 2)

    coefficients = model._map @ model.coef_[0]  # of the components, which are all rows in their order
    assert objective(coefficients) == pytest.approx(model.objective_, rel=1e-6)
    found = minimize(objective, coefficients, tol=1e-10)
    assert found.fun >= model.objective_ * (1 - 1e-6)


# Many classes --------------------------------------------------------------------------------------------------------


def test_hand_and_till_is_the_mean_of_all_pairs_of_classes():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 4, 80), rng.random((80, 4))
    scores[np.arange(80), y] += 0.4
    pairs = []
    for i in range(4):
        for j in range(i):
            rows = (y == i) | (y == j)
            a = roc_auc_score(y[rows] == i, scores[rows, i])
            b = roc_auc_score(y[rows] == j, scores[rows, j])
            pairs.append((a + b) / 2)
    assert hand_till_score(y, scores) == pytest.approx(np.mean(pairs))
    normalized = scores / scores.sum(axis=1, keepdims=True)
    expected = roc_auc_score(y, normalized, multi_class="ovo", average="macro")
    assert hand_till_score(y, normalized) == pytest.approx(expected)
    hidden = np.where(np.arange(80) < 40, y, -1)
    assert hand_till_score(hidden, scores) == pytest.approx(hand_till_score(y[:40], scores[:40]))
    names = np.array(["a", "b", "c", "d"], dtype=object)[y]
    assert hand_till_score(names, scores) == pytest.approx(np.mean(pairs))
    assert hand_till_score(y % 2, scores[:, 0]) == pytest.approx(roc_auc_score(y % 2, scores[:, 0]))
    with pytest.raises(ValueError, match="one column per class"):
        hand_till_score(y, scores[:, :3])
    assert hand_till_score([0, 1, 2], np.ones((3, 3))) == 0.5


def test_one_against_the_rest_is_a_ranker_per_class():
    X, y = load_iris(return_X_y=True)
    X, names = scale(X), np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]
    few = fewlabel.hide_labels(names, labeled=60, random_state=0)
    base = LinearAUCClassifier(1e-3)
    model = OneVsRestRankingClassifier(base).fit(X, few)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    known = np.array([isinstance(name, str) for name in few])
    for k, (name, one) in enumerate(zip(model.classes_, model.estimators_)):
        alone = LinearAUCClassifier(1e-3).fit(X[known], (few[known] == name).astype(int))
        np.testing.assert_allclose(one.coef_, alone.coef_, atol=1e-9)
        np.testing.assert_allclose(expit(model.decision_function(X)[:, k]), alone.predict_proba(X)[:, 1], atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert (model.predict(X) == names).mean() > 0.75
    assert hand_till_score(names, model.predict_proba(X)) > 0.9
    trees = OneVsRestRankingClassifier(QuasiBaggingClassifier(LogisticRegression())).fit(X, few)  # no calibration_
    assert (trees.predict(X) == names).mean() > 0.75
    two = OneVsRestRankingClassifier(base).fit(X[50:], y[50:])
    np.testing.assert_allclose(two.decision_function(X), base.fit(X[50:], y[50:]).decision_function(X))
    assert two.predict_proba(X).shape == (150, 2)
    weight = np.where(y == 0, 0.0, 1.0)
    with pytest.raises(ValueError, match="sample_weight 0"):
        OneVsRestRankingClassifier(base).fit(X, y, weight)


@pytest.mark.parametrize("kind", ["independent", "equal rows", "an outlier", "float32"])
def test_coordinates_of_wide_rows_keep_their_differences(kind):
    X = np.random.default_rng(0).normal(size=(30, 80)) + 5.0
    if kind == "equal rows":
        X[10:14] = X[0]
    elif kind == "an outlier":
        # Next to it a Gram matrix has no digits left for the other rows.
        X[3] *= 1e8
    elif kind == "float32":
        X = X.astype(np.float32)
    rows, expand = exact.row_span(X)
    centered = X - X.mean(axis=0, dtype=np.float64)
    w = np.random.default_rng(1).normal(size=rows.shape[1])
    np.testing.assert_allclose(rows @ w, centered @ expand(w), atol=1e-7 * np.abs(X).max())
    basis = np.column_stack([expand(axis) for axis in np.eye(len(w))])
    np.testing.assert_allclose(basis.T @ basis, np.eye(len(w)), atol=1e-12)


@pytest.mark.parametrize("kind", ["huge", "constant"])
def test_wide_rows_without_a_gram_matrix(kind):
    X = np.random.default_rng(0).normal(size=(12, 30)) * 1e200 if kind == "huge" else np.ones((12, 30))
    y = np.arange(12) % 2
    if kind == "huge":
        with pytest.raises(ValueError, match="squares overflow"):
            LinearAUCClassifier().fit(X, y)
    else:
        assert (LinearAUCClassifier().fit(X, y).coef_ == 0).all()
