"""AutoClassifier: what it promises about its choice, its labels, and its files."""

import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_info, threadpool_limits

import fewlabel
from fewlabel import AutoClassifier, estimate_class_prior, hide_labels
from fewlabel.auto import crossfit, learning_curve, portfolio
from fewlabel.auto.members import available
from fewlabel.exceptions import LabelError
from fewlabel.prior import auc_against_negatives
from fewlabel.rows import Rows

QUICK = dict(n_repeats=1, random_state=0)
FEW = ["logistic regression", "extra trees", "extra trees + components", "path neighbors"]


@pytest.fixture(scope="module", autouse=True)
def _small_forests():
    """The promises do not depend on the number of trees; the time of the tests does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossfit, "_FOLD_TREES", 15)
        patch.setattr(crossfit, "_FINAL_TREES", 30)
        yield


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X, y, hide_labels(y, labeled=0.1, random_state=0)


@pytest.fixture(scope="module")
def model(cancer):
    X, _, few = cancer
    return AutoClassifier(**QUICK).fit(X, few)


# The choice -------------------------------------------------------------------------------------------------


def test_both_graph_methods_may_be_members_and_evidence_decides():
    X, y = make_moons(300, noise=0.1, random_state=0)
    graph = ["path neighbors", "label spreading"]
    few = hide_labels(y, labeled=20, random_state=0)
    model = AutoClassifier(["logistic regression", *graph], n_repeats=1, random_state=0).fit(X, few)
    assert all(model.ensemble_weights_[name] > model.ensemble_weights_.get("logistic regression", 0) for name in graph)
    assert roc_auc_score(y, model.decision_function(X)) > 0.98


def test_the_portfolio_covers_the_ground():
    families = {m.family for m in available("binary")}
    assert {"linear", "kernel", "forest", "boosting", "neighbor", "graph"} <= families
    assert any(m.view == "components" and m.learns == "all" for m in available("binary"))
    assert len({m.name for m in portfolio()}) == len(portfolio())
    for task in ("binary", "multiclass", "positive-unlabeled"):
        assert len(available(task)) >= 5
    alone = {m.name for m in available("binary", has_unlabeled=False)}
    assert not alone & {"path neighbors", "SAMULT", "PNU-AUCBoost"}
    assert "tree AUC boosting + components" in alone


def test_boosters_of_other_libraries_join_when_installed(monkeypatch):
    from fewlabel.auto import members

    monkeypatch.setattr(members.importlib.util, "find_spec", lambda name: None if name == "xgboost" else object())
    names = {m.name for m in available("binary")}
    assert "XGBoost" not in names
    assert {"LightGBM", "CatBoost"} <= names


def test_weights_and_leaderboard(model):
    board, weights = model.leaderboard_.query("status == 'ok'"), model.ensemble_weights_
    assert sum(weights.values()) == pytest.approx(1.0)
    assert min(weights.values()) > 0
    assert set(weights) == set(model.members_)
    assert list(board["score"]) == sorted(board["score"], reverse=True)
    assert ((board["low"] <= board["score"]) & (board["score"] <= board["high"])).all()
    assert (board["fit_seconds"] > 0).all()
    single = board[board["family"] != "ensemble"].set_index("method")
    assert {name: w for name, w in single["weight"].items() if w > 0} == pytest.approx(weights)
    assert set(single.index) < {m.name for m in available("binary")}
    uses = dict(zip(single.index, single["uses_unlabeled"]))
    assert not uses["logistic regression"]
    assert uses["path neighbors"]


def test_the_leaderboard_shows_prior_evidence_and_posterior(model):
    board = model.leaderboard_.query("status == 'ok' and family != 'ensemble'").set_index("method")
    assert board[["prior", "posterior"]].notna().all(axis=None)
    best, poor = board["posterior"].idxmax(), board["posterior"].idxmin()
    # Half of the weight is by the scores alone: the best by both need not have the most.
    assert board["weight"][best] > 0
    assert board["weight"][poor] == 0
    # 57 labels move the estimates from the prior towards the scores, not all the way.
    assert 0 < np.corrcoef(board["posterior"] - board["prior"], board["score"] - board["prior"])[0, 1] < 1


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "log-likelihood"])
def test_any_score_is_evidence(scoring):
    from fewlabel.auto.experience import package_experience
    from fewlabel.auto.weights import choose, find_scorer

    def log_likelihood(positive, score):
        return float(np.where(positive, np.log(score), np.log1p(-score)).mean())

    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(200, int), np.ones(80, int)]
    ranks = np.clip(rng.random((3, 280, 1)) * 0.5 + np.array([0.0, 0.1, 0.4])[:, None, None] * y[:, None], 0.01, 0.99)
    scorer = find_scorer(log_likelihood if scoring == "log-likelihood" else scoring)
    rows = Rows(None, y, np.array([0, 1]))
    weights = choose(rows, ranks, scorer, package_experience().of(list("abc")))
    assert weights.argmax() == 2
    assert weights.sum() == pytest.approx(1)


def test_the_headline_is_the_shrunken_score_of_the_cross_fitted_ranks(model, cancer):
    _, _, few = cancer
    row = model.leaderboard_.set_index("method").loc["AutoClassifier"]
    out_of_fold = roc_auc_score(few[model.labeled_rows_], model.out_of_fold_)
    expected = np.sin((2.481 + 0.137 * np.log(min(np.bincount(few[few >= 0])) / 12)) / 2) ** 2
    assert min(out_of_fold, expected) < row["score"] < max(out_of_fold, expected)
    assert row["low"] < row["score"] < row["high"]
    assert {name: model.headline_[name] for name in ("score", "low", "high")} == dict(row[["score", "low", "high"]])


def test_hidden_labels_and_unlabeled_rows_of_the_test_are_never_read(cancer):
    """The labels that are hidden cannot be told from `y`: any truth behind them gives the same model."""
    X, _, few = cancer
    a = AutoClassifier(FEW, **QUICK).fit(X, few)
    b = AutoClassifier(FEW, **QUICK).fit(X, pd.Series(few, dtype="Int64").mask(few < 0))
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


def test_scoring_and_callables(cancer):
    X, _, few = cancer
    a = AutoClassifier(FEW[:2], scoring="average_precision", **QUICK).fit(X, few)
    b = AutoClassifier(FEW[:2], scoring=lambda positive, score: roc_auc_score(positive, score), **QUICK).fit(X, few)
    assert a.score_ > 0.9
    assert b.leaderboard_["low"].between(0, 1).all()
    # Other tables say nothing about a score of one's own: its interval is bootstrapped, and says so.
    assert a.headline_["interval"] == "experience"
    assert b.headline_["interval"] == "bootstrap"


# Predictions ------------------------------------------------------------------------------------------------


def test_it_ranks_and_its_probabilities_mean_something(model, cancer):
    X, y, few = cancer
    hidden = few < 0
    assert roc_auc_score(y[hidden], model.decision_function(X[hidden])) > 0.97
    probability = model.predict_proba(X[hidden])[:, 1]
    assert abs(probability.mean() - y[hidden].mean()) < 0.1
    assert np.mean((probability - y[hidden]) ** 2) < 0.08
    np.testing.assert_array_equal(model.predict(X) == 1, model.decision_function(X) > 0)


def test_reproducible_whatever_the_number_of_jobs(cancer):
    X, _, few = cancer
    a = AutoClassifier(FEW, **QUICK).fit(X, few)
    b = AutoClassifier(FEW, n_jobs=2, **QUICK).fit(X, few)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    assert a.ensemble_weights_ == b.ensemble_weights_


def test_rows_do_not_depend_on_their_neighbors_in_the_table(model, cancer):
    X = cancer[0]
    np.testing.assert_allclose(model.decision_function(X)[5:9], model.decision_function(X[5:9]), rtol=1e-6, atol=1e-9)


def test_gaps_and_constant_columns(cancer):
    X, y, few = cancer
    X = np.c_[X[:, :8], np.full(len(X), 3.0), np.full(len(X), np.nan)]
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = AutoClassifier("small", **QUICK).fit(X, few)
    assert roc_auc_score(y[few < 0], model.decision_function(X[few < 0])) > 0.9


def test_many_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    few = hide_labels(names, labeled=0.25, random_state=0)
    model = AutoClassifier(**QUICK).fit(X, few)
    assert model.task_ == "multiclass"
    assert model.score_ > 0.95
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    assert np.mean(model.predict(X) == names) > 0.85
    assert model.out_of_fold_.shape == (len(model.labeled_rows_), 3)


def test_positives_only(cancer):
    X, y = cancer[0][:190], cancer[1][:190]
    few = hide_labels(y, labeled=40, mechanism="positives-only", random_state=0)
    with pytest.warns(UserWarning, match="positive-unlabeled"):
        model = AutoClassifier(["logistic regression", "extra trees", "Ada-PU", "nnPU"], **QUICK).fit(X, few)
    assert model.task_ == "positive-unlabeled"
    hidden = few < 0
    assert roc_auc_score(y[hidden], model.decision_function(X[hidden])) > 0.95
    found = estimate_class_prior(X, few, random_state=QUICK["random_state"])
    assert (model.prior_, model.prior_interval_) == (found.prior, [found.low, found.high])
    signs = np.where(few[model.labeled_rows_] == 1, 1, -1)
    row = model.leaderboard_.set_index("method").loc["AutoClassifier"]
    against_unlabeled = roc_auc_score(signs, model.out_of_fold_)
    band = (found.prior, found.low, found.high)
    expected = auc_against_negatives(against_unlabeled, (signs > 0).sum(), (signs < 0).sum(), *band)
    np.testing.assert_allclose(row[["score", "low", "high"]].astype(float), expected)
    assert model.headline_["population"] == "unlabeled rows"
    given = AutoClassifier("small", prior=0.3, **QUICK).fit(X, pd.Series(few, dtype="Int64").mask(few < 0))
    assert given.prior_ == 0.3
    # Also a method of labeled rows alone ranks the positives against the unlabeled rows.
    assert given.leaderboard_["uses_unlabeled"].all()
    assert abs(np.mean(given.predict(X[hidden]) == 1) - 0.3) < 0.15


def test_positives_only_on_new_rows(cancer):
    X, y, _ = cancer
    few = hide_labels(y[::2], labeled=60, mechanism="positives-only", random_state=0)
    model = AutoClassifier("small", prior=0.55, **QUICK).fit(X[::2], pd.Series(few, dtype="Int64").mask(few < 0))
    assert abs(np.mean(model.predict(X[1::2]) == 1) - 0.55) < 0.2
    assert roc_auc_score(y[1::2], model.decision_function(X[1::2])) > 0.95


def test_without_unlabeled_rows(cancer):
    X, y, few = cancer
    model = AutoClassifier(["logistic regression", "extra trees + components"], **QUICK).fit(X[few >= 0], y[few >= 0])
    assert not model.leaderboard_["uses_unlabeled"].any()
    assert roc_auc_score(y, model.decision_function(X)) > 0.95


def test_time_budget_keeps_what_was_tried(cancer):
    X, _, few = cancer
    model = AutoClassifier(FEW, time_budget=1e-6, **QUICK).fit(X, few)
    assert list(model.ensemble_weights_) == ["logistic regression"]


def test_the_callback_reports_every_step_in_the_callers_thread(cancer):
    X, _, few = cancer
    steps, threads = [], set()

    def callback(*step):
        steps.append(step)
        threads.add(threading.get_ident())

    AutoClassifier(FEW, n_jobs=2, **QUICK).fit(X, few, callback=callback)
    assert [done for done, _, _ in steps] == list(range(1, len(FEW) + 3))
    assert {total for _, total, _ in steps} == {len(FEW) + 2}
    assert {name for _, _, name in steps[1:-1]} == set(FEW)
    assert threads == {threading.get_ident()}


def _process_state():
    return list(warnings.filters), [(info["filepath"], info["num_threads"]) for info in threadpool_info()]


def test_the_process_is_as_it_was_while_the_callers_code_runs(cancer):
    X, _, few = cancer
    found = []

    def callback(*_):
        found.append(_process_state())

    def scoring(positive, score):
        if len(found) < 50:  # it is called a thousand times
            found.append(_process_state())
        return roc_auc_score(positive, score)

    with threadpool_limits(2):  # a limit that is left behind shows even where the machine has a single core
        AutoClassifier(FEW, **QUICK).fit(X, few)  # loads the libraries
        before = _process_state()
        found.clear()
        AutoClassifier(FEW, scoring=scoring, **QUICK).fit(X, few, callback=callback)
        assert len(found) > 50
        assert all(state == before for state in found)


def test_concurrent_fits_leave_the_process_as_it_was(cancer):
    X, _, few = cancer

    def fit(n_jobs):
        return AutoClassifier(FEW, n_jobs=n_jobs, **QUICK).fit(X, few).predict_proba(X)

    with threadpool_limits(2):
        expected, before = fit(None), _process_state()
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(fit, [None, 2, None]))
        assert _process_state() == before
    for proba in found:
        np.testing.assert_array_equal(proba, expected)


def test_warnings_of_members_reach_the_caller(cancer, monkeypatch):
    from sklearn.linear_model import LogisticRegression

    X, _, few = cancer
    monkeypatch.setattr(LogisticRegression, "fit", _warning_fit(LogisticRegression.fit))
    with pytest.warns(UserWarning, match="from a member"):
        AutoClassifier(["logistic regression"], **QUICK).fit(X, few)


def _warning_fit(fit):
    def wrapped(self, X, y):
        warnings.warn("from a member", UserWarning, stacklevel=2)
        return fit(self, X, y)

    return wrapped


def test_the_ensemble_is_the_weighted_sum_of_its_members(model, cancer):
    X = cancer[0]
    shares = sum(weight * model.members_[name](X)[:, 0] for name, weight in model.ensemble_weights_.items())
    np.testing.assert_allclose(model.decision_function(X), logit(shares) + model.offset_, rtol=1e-9)


def test_the_fitted_model_predicts_by_itself(model, cancer):
    X = cancer[0]
    alone = model.model_
    np.testing.assert_array_equal(alone.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(alone.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(alone.predict(X), model.predict(X))


@pytest.mark.parametrize("positive", ["fraud", "trusted"])
def test_the_positive_class_has_its_own_probability_and_order(cancer, positive):
    """Positives only: the labeled class is the positive one, before or after the other in sorted order."""
    X, y = cancer[0][:190], cancer[1][:190]
    few = pd.Series(np.where(np.arange(190) % 3 == 0, y, 0)).map({1: positive, 0: None})
    model = AutoClassifier(["logistic regression"], prior=0.4, **QUICK).fit(X, few)
    assert model.classes_[model.positive_] == positive
    assert list(model.classes_) == sorted(model.classes_)
    np.testing.assert_array_equal(model.positive_proba(X), model.predict_proba(X)[:, model.positive_])
    order = model.rank(X)
    assert (np.diff(model.positive_proba(X)[order]) <= 0).all()
    assert roc_auc_score(y[order], -np.arange(190)) > 0.9
    favors_second = model.decision_function(X) > 0
    np.testing.assert_array_equal(model.predict(X) == model.classes_[1], favors_second)


def test_a_refit_that_fails_leaves_no_model(cancer):
    X, _, few = cancer
    model = AutoClassifier(FEW[:1], **QUICK).fit(X, few)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(X, few, callback=stop)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("package", ["xgboost", "lightgbm"])
def test_boosters_rank_new_rows_among_scores_of_the_same_scale(package, cancer):
    """Without unlabeled rows the reference is made of out-of-fold scores: sums of trees, like those of new rows."""
    pytest.importorskip(package, reason=f"{package} is not installed")
    X, y, _ = cancer
    name = {"xgboost": "XGBoost", "lightgbm": "LightGBM"}[package]
    model = AutoClassifier([name], **QUICK).fit(X[::2], y[::2])
    ranks = model.members_[name](X[1::2])
    assert np.quantile(ranks, 0.25) < 0.35
    assert np.quantile(ranks, 0.75) > 0.65


def test_the_callback_is_no_routed_metadata():
    assert set(AutoClassifier().get_metadata_routing().fit.requests) == {
        "sample_weight",
        "groups",
        "time",
        "label_probability",
    }


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0] * 10 + [1] + [-1] * 9, "1 labeled row"),
        ([-1] * 20, "no labeled row"),
        ([1] * 20, "every row is labeled"),
        (np.linspace(0, 1, 20), "continuous"),
    ],
)
def test_labels_that_cannot_be_learned_from(y, message):
    with pytest.raises(LabelError, match=message):
        AutoClassifier().fit(np.random.default_rng(0).random((20, 2)), y)


def test_unknown_members_are_named():
    with pytest.raises(ValueError, match="'forest of doom' is not known; choose from 'logistic regression'"):
        AutoClassifier(["forest of doom"]).fit(np.zeros((20, 1)), [0, 1] * 10)


def test_learning_curve(cancer):
    X, _, few = cancer
    model = AutoClassifier(["logistic regression"], **QUICK).fit(X, few)
    rows = Rows.read(X, few)
    curve = learning_curve(model, rows)
    assert learning_curve(model.set_params(n_jobs=2), rows) == curve
    assert curve.labels == sorted(curve.labels)
    assert all(low <= s <= high for low, s, high in zip(curve.low, curve.scores, curve.high))
    assert curve._replace(slope=0.5, error=0.1).needed(0.05, 100) == 300
    assert curve._replace(slope=-0.1).needed(0.01, 100) is None
    assert curve._replace(slope=0.5, error=0.005).needed(0.01, 100) is None


# Files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["binary", "multiclass", "positive-unlabeled"])
def test_every_member_is_saved_and_loaded_bit_for_bit(task, tmp_path, monkeypatch):
    X, y = load_iris(return_X_y=True)
    if task != "multiclass":
        y = (y == 1).astype(int)
    few = hide_labels(y, labeled=0.5, mechanism="positives-only" if task[0] == "p" else "scar", random_state=0)
    everyone = lambda rows, ranks, *_: np.full(len(ranks), 1 / len(ranks))  # noqa: E731
    monkeypatch.setattr("fewlabel.auto.weights.choose", everyone)
    names = [m.name for m in available(task) if m.least_labels <= 20]  # there are 25 labels of the rarer class
    model = AutoClassifier(names, **QUICK).fit(X, pd.Series(few, dtype="Int64").mask(few < 0))
    assert list(model.members_) == names
    fewlabel.save(model, tmp_path / "model.fewlabel")
    again = fewlabel.load(tmp_path / "model.fewlabel")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    # The times of a fit are not in its file: the same fit gives the same file.
    boards = [one.leaderboard_.drop(columns="fit_seconds") for one in (again, model)]
    pd.testing.assert_frame_equal(*boards)
    assert {**again.about, "leaderboard": None} == {**model.model_.about, "leaderboard": None}


def test_a_new_process_gives_the_same_scores(model, cancer, tmp_path):
    X = cancer[0]
    fewlabel.save(model, tmp_path / "model.fewlabel")
    np.save(tmp_path / "X.npy", X)
    code = "import numpy, fewlabel; m = fewlabel.load('model.fewlabel'); "
    code += "numpy.save('s.npy', m.decision_function(numpy.load('X.npy')))"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), model.decision_function(X))
