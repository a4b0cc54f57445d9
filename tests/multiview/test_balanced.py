"""BalancedMultiviewClassifier and QuasiBaggingClassifier: groups, invariants, stopping, odd input."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fewlabel
from fewlabel import (
    BalancedMultiviewClassifier,
    LabeledStratifiedKFold,
    MultiviewKernelClassifier,
    QuasiBaggingClassifier,
    make_multiview_credit,
)
from fewlabel.exceptions import LabelError
from fewlabel.multiview._balanced import label_by_share
from fewlabel.multiview._groups import count_parts, deal
from fewlabel.multiview._model import mean_auc

VIEWS = [[0, 1, 2], [3, 4], [5]]
FAST = dict(views=VIEWS, initial=LogisticRegression(), n_components=40, max_iter=3, random_state=0)


def skewed_rows(seed, sizes=(40, 8), n_hidden=60):
    """Labeled rows of each class, then hidden ones in the same shares; with the true classes."""
    rng = np.random.default_rng(seed)
    shares = np.array(sizes) / sum(sizes)
    true = np.r_[np.repeat(np.arange(len(sizes)), sizes), rng.choice(len(sizes), n_hidden, p=shares)]
    X = rng.normal(size=(len(true), 6)) + 1.2 * true[:, None] * [1, 0, 1, 1, 0, 1]
    y = np.where(np.arange(len(true)) < sum(sizes), true, -1)
    return X, y, true


# Groups -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "n_groups", "expected"),
    [
        ([200, 10], "balanced", (20, [20, 1])),
        ([10, 200], "balanced", (20, [1, 20])),
        ([200, 10], 30, (30, [30, 1])),
        ([1000, 100, 50], "balanced", (20, [20, 2, 1])),
        ([50, 50], "balanced", (1, [1, 1])),
        ([50, 50], 5, (5, [5, 1])),
        ([7, 5], "balanced", (1, [1, 1])),
        ([6, 2, 1], "balanced", (6, [6, 2, 1])),
    ],
)
def test_parts_of_each_class(counts, n_groups, expected):
    n, parts = count_parts(counts, n_groups)
    assert (n, parts.tolist()) == expected


@pytest.mark.parametrize("counts", [[200, 10], [100, 30, 5], [17, 17], [9, 1]])
def test_every_group_holds_every_class_and_every_row_is_used(counts):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    n, parts = count_parts(np.bincount(codes), "balanced")
    groups = deal(codes, parts, n, np.random.RandomState(0))
    assert len(groups) == n
    rarest, largest = np.argmin(counts), np.argmax(counts)
    times = np.bincount(np.concatenate(groups), minlength=len(codes))
    assert times.min() >= 1
    assert (times[codes == largest] == 1).all()
    if n > 1:
        assert (times[codes == rarest] == n).all()
    for group in groups:
        assert len(np.unique(codes[group])) == len(counts)
        assert len(np.unique(group)) == len(group)
    sizes = [np.sum(codes[g] == largest) for g in groups]
    assert max(sizes) - min(sizes) <= 1


def test_labels_in_given_shares():
    scores = np.array([[0.1, 0.9], [0.2, 0.8], [0.9, 0.1], [0.5, 0.5]])
    assert label_by_share(scores, np.array([0.75, 0.25])).tolist() == [1, 0, 0, 0]
    assert label_by_share(scores, np.array([0.25, 0.75])).tolist() == [1, 1, 0, 1]
    assert label_by_share(scores[:0], np.array([0.5, 0.5])).tolist() == []
    rng = np.random.default_rng(0)
    three = label_by_share(rng.normal(size=(100, 3)), np.array([0.7, 0.1, 0.2]))
    assert np.bincount(three).tolist() == [70, 10, 20]


# BSSEL --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_the_model_is_the_mean_of_models_of_the_groups(loss):
    """One round by hand: each group as a fit of its own, in the same bases."""
    X, y, _ = skewed_rows(0)
    model = BalancedMultiviewClassifier(
        loss, **{**FAST, "max_iter": 1}, approximation=None, length_scale=1.5, scale=False
    ).fit(X, y)
    known, free = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)
    first = LogisticRegression().fit(X[known], y[known])
    guess = label_by_share(first.predict_proba(X[free]), np.array([40, 8]) / 48)
    rng = np.random.RandomState([np.random.RandomState(0).randint(np.iinfo(np.int32).max), 1])
    own = deal(y[known], np.array([5, 1]), 5, rng)
    others = deal(guess, np.array([5, 1]), 5, rng)
    decisions = []
    for a, b in zip(own, others):
        rows = np.r_[known[a], free[b]]
        alone = MultiviewKernelClassifier(
            loss, views=VIEWS, approximation=None, length_scale=1.5, scale=False, tol=1e-9, max_iter=100_000
        )
        decisions.append(alone.fit(X[rows], y[rows]).decision_function(X))
    np.testing.assert_allclose(
        model.decision_function(X), np.mean(decisions, axis=0), atol=1e-7 if loss == "squared" else 2e-2
    )


def test_one_group_is_the_plain_model():
    X, y, _ = skewed_rows(1, sizes=(20, 20))
    shared = dict(views=VIEWS, approximation=None, random_state=0)
    balanced = BalancedMultiviewClassifier(initial=LogisticRegression(), **shared).fit(X, y)
    plain = MultiviewKernelClassifier(**shared).fit(X, y)
    assert balanced.n_groups_ == 1
    np.testing.assert_allclose(balanced.decision_function(X), plain.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(balanced.predict_proba(X), plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_without_their_penalties_unlabeled_rows_change_nothing(loss):
    X, y, _ = skewed_rows(2)
    model = BalancedMultiviewClassifier(loss, gamma_B=0, gamma_W=0, **FAST)
    decisions = []
    for other in (X, np.vstack([X[:48], 50 * X[48:] - 3]), X[:48]):
        decisions.append(clone(model).fit(other, y[: len(other)]).decision_function(X))
    np.testing.assert_array_equal(decisions[0], decisions[1])
    np.testing.assert_array_equal(decisions[0], decisions[2])
    assert model.fit(X, y).n_iter_ == 1


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_the_same_whatever_the_number_of_jobs(loss):
    X, y, _ = skewed_rows(3)
    models = [BalancedMultiviewClassifier(loss, n_jobs=n_jobs, **FAST).fit(X, y) for n_jobs in (None, 1, 2)]
    for other in models[1:]:
        np.testing.assert_array_equal(other.decision_function(X), models[0].decision_function(X))
        assert other.history_ == models[0].history_
    others = BalancedMultiviewClassifier(loss, **{**FAST, "random_state": 1}).fit(X, y)
    assert (others.decision_function(X) != models[0].decision_function(X)).any()


def test_rounds_stop_and_tell_their_story():
    X, y, _ = skewed_rows(4)
    model = BalancedMultiviewClassifier(**{**FAST, "max_iter": 4, "tol": 0.0}).fit(X, y)
    assert model.n_iter_ == len(model.history_) <= 4
    assert [entry["iter"] for entry in model.history_] == list(range(1, model.n_iter_ + 1))
    assert all(0 <= entry["score"] <= 1 for entry in model.history_)
    loose = BalancedMultiviewClassifier(**{**FAST, "max_iter": 50, "tol": 1.0}).fit(X, y)
    assert loose.n_iter_ <= 2
    assert (model.transduction_[y >= 0] == y[y >= 0]).all()
    assert np.bincount(model.transduction_[y < 0]).tolist() == [50, 10]


def test_the_stopping_score_never_sees_a_row_that_was_learned_from():
    """Labels that are noise: a score on rows that were learned from would be near 1, an honest one is not."""
    rng = np.random.default_rng(5)
    scores = []
    for _ in range(12):
        X, y = rng.normal(size=(150, 6)), np.full(150, -1)
        y[:66] = rng.permutation(np.r_[np.zeros(60, int), np.ones(6, int)])
        for loss in ("squared", "hinge"):
            model = BalancedMultiviewClassifier(loss, **{**FAST, "max_iter": 1}).fit(X, y)
            assert roc_auc_score(y[:66], model.decision_function(X[:66])) > 0.8
            scores.append(model.history_[0]["score"])
    assert abs(np.mean(scores) - 0.5) < 0.12


class Spy(ClassifierMixin, BaseEstimator):
    """Notes the labels that it is fitted to."""

    seen = []

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        Spy.seen.append((len(X), set(y.tolist())))
        return self

    def predict_proba(self, X):
        return np.column_stack([np.ones(len(X)), X[:, 0]])


def test_hidden_labels_are_never_read():
    """The first classifier gets labeled rows only, and what -1 hides cannot change a model."""
    X, y, true = skewed_rows(6)
    Spy.seen.clear()
    BalancedMultiviewClassifier(**{**FAST, "initial": Spy()}).fit(X, y)
    assert Spy.seen == [(48, {0, 1})]
    hidden = [np.where(y >= 0, y, marker) for marker in (-1.0, np.nan)]
    decisions = [BalancedMultiviewClassifier(**FAST).fit(X, labels).decision_function(X) for labels in hidden]
    np.testing.assert_array_equal(*decisions)
    assert len(true) == len(y)


def test_prior_sets_how_many_rows_are_labeled():
    X, y, _ = skewed_rows(8)
    model = BalancedMultiviewClassifier(prior=0.4, **FAST).fit(X, y)
    assert np.bincount(model.transduction_[y < 0]).tolist() == [36, 24]


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_three_classes_with_a_rare_one(loss):
    X, y, true = skewed_rows(9, sizes=(60, 20, 3), n_hidden=100)
    model = BalancedMultiviewClassifier(loss, **FAST).fit(X, y)
    assert model.n_groups_ == 20
    assert model.decision_function(X).shape == (183, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert mean_auc(model.decision_function(X[83:]), true[83:], np.ones(100)) > 0.75


def test_one_minority_row_and_groups_that_would_lack_a_class():
    X, y, _ = skewed_rows(10, sizes=(12, 1))
    for loss, initial in itertools.product(("squared", "hinge"), (LogisticRegression(), None)):
        model = BalancedMultiviewClassifier(loss, **{**FAST, "initial": initial}).fit(X, y)
        assert model.n_groups_ == 12
        assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(ValueError, match="lower n_groups"):
        BalancedMultiviewClassifier(n_groups=13, **FAST).fit(X, y)
    with pytest.raises(LabelError, match="only one labeled class"):
        BalancedMultiviewClassifier(**FAST).fit(X, np.where(y == 1, -1, y))
    X, y, _ = skewed_rows(10, sizes=(12, 4, 2))
    with pytest.raises(ValueError, match="set prior=None"):
        BalancedMultiviewClassifier(prior=0.3, **FAST).fit(X, y)


def test_no_unlabeled_rows_and_a_view_that_is_constant_in_a_group():
    X, y, _ = skewed_rows(11, n_hidden=0)
    X[:, 5] = 0.0
    X[0, 5] = 1.0
    model = BalancedMultiviewClassifier(**FAST).fit(X, y)
    assert model.n_iter_ == 1
    assert len(model.views_) == 3
    assert np.isfinite(model.decision_function(X)).all()


def test_any_first_classifier_and_its_decision_function():
    X, y, _ = skewed_rows(12)
    for initial in (SVC(), make_pipeline(StandardScaler(), LogisticRegression()), None):
        model = BalancedMultiviewClassifier(**{**FAST, "initial": initial}).fit(X, y)
        assert roc_auc_score(y[:48], model.decision_function(X[:48])) > 0.7


def test_it_ranks_better_than_one_plain_model_on_skewed_views():
    X, y, true = make_multiview_credit(1200, missing=0.0, separation=1.5, return_true=True, random_state=0)
    hidden, shared = y == -1, dict(random_state=0)
    balanced = BalancedMultiviewClassifier(max_iter=2, **shared).fit(X, y)
    plain = MultiviewKernelClassifier(views=[v.tolist() for v in balanced.views_], n_components=100, **shared)
    plain.set_params(approximation="nystroem").fit(X, y)
    ours, theirs = (roc_auc_score(true[hidden], m.decision_function(X[hidden])) for m in (balanced, plain))
    assert ours > max(0.8, theirs - 0.01)


def test_frames_strings_search_and_pipeline():
    X, y, _ = make_multiview_credit(300, imbalance=4, labeled=100, return_true=True, random_state=0)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    names = pd.Series(np.array(["good", "bad", None], dtype=object)[y])
    model = make_pipeline(
        SimpleImputer().set_output(transform="pandas"),
        BalancedMultiviewClassifier(
            views=[[f"c{j}" for j in range(20)], [f"c{j}" for j in range(20, 40)]],
            initial=LogisticRegression(max_iter=500),
            n_components=50,
            max_iter=2,
            random_state=0,
        ),
    )
    grid = {"balancedmultiviewclassifier__gamma_W": [0.0, 0.1]}
    search = GridSearchCV(model, grid, scoring="roc_auc", cv=LabeledStratifiedKFold(3)).fit(table, names)
    assert set(search.predict(table)) == {"good", "bad"}
    assert search.best_score_ > 0.6


def test_saved_models_predict_the_same(tmp_path):
    X, y, _ = skewed_rows(13)
    model = BalancedMultiviewClassifier(**{**FAST, "initial": fewlabel.LinearAUCClassifier()}).fit(X, y)
    fewlabel.save(model, tmp_path / "model.fewlabel")
    again = fewlabel.load(tmp_path / "model.fewlabel")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.history_ == model.history_


# Quasi-bagging ------------------------------------------------------------------------------------------------------


def test_quasi_bagging_undoes_the_sampling_of_each_group():
    X, y, _ = skewed_rows(14, n_hidden=30)
    model = QuasiBaggingClassifier(LogisticRegression(), random_state=0).fit(X, y)
    assert len(model.estimators_) == 5
    assert all((y[rows] >= 0).all() for rows in model.group_rows_)
    log_odds = []
    for base, rows in zip(model.estimators_, model.group_rows_):
        share = np.sum(y[rows] == 0) / 40
        p = base.predict_proba(X)[:, 1]
        p = share * p / (share * p + 1 - p)  # the formula of under-sampling
        log_odds.append(np.log(p / (1 - p)))
    np.testing.assert_allclose(model.decision_function(X), np.mean(log_odds, axis=0), atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-np.mean(log_odds, axis=0))), atol=1e-6)


def test_quasi_bagging_keeps_the_level_of_probabilities():
    X, y, true = make_multiview_credit(3000, labeled=1500, separation=0.7, return_true=True, random_state=0)
    model = QuasiBaggingClassifier(random_state=0).fit(X, y)  # NaN is fine for the default trees
    p = model.predict_proba(X[y == -1])[:, 1]
    assert p.mean() == pytest.approx(true[y == -1].mean(), abs=0.03)


def test_quasi_bagging_of_one_group_is_the_base_classifier():
    X, y, _ = skewed_rows(15, sizes=(20, 20))
    model = QuasiBaggingClassifier(LogisticRegression()).fit(X, y)
    base = LogisticRegression().fit(X[:40], y[:40])
    np.testing.assert_allclose(model.predict_proba(X), base.predict_proba(X), atol=1e-9)


def test_quasi_bagging_weights_are_repeated_rows():
    X, y = make_classification(120, weights=[0.8], random_state=0)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    model = QuasiBaggingClassifier(LogisticRegression(tol=1e-8), n_groups=1)
    weighted = clone(model).fit(X, y, weight)
    repeated = clone(model).fit(X[copies], y[copies])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)
    # In several groups the shares of the classes are those of the weights, and a row of weight 0 is in none.
    several = clone(model).set_params(n_groups=4, random_state=0).fit(X, y, weight)
    assert all((weight[rows] > 0).all() for rows in several.group_rows_)
    doubled = clone(several).fit(X, y, 2.0 * weight)
    np.testing.assert_allclose(several._log_shares, doubled._log_shares)
    with pytest.raises(ValueError, match="does not take sample_weight"):
        QuasiBaggingClassifier(KNeighborsClassifier()).fit(X, y, weight)


def test_quasi_bagging_jobs_and_classes():
    X, y = load_iris(return_X_y=True)
    keep = np.r_[0:50, 50:70, 100:105]
    X, y = X[keep], np.array(["a", "b", "c"], dtype=object)[y[keep]]
    base = LogisticRegression(max_iter=1000)
    models = [QuasiBaggingClassifier(base, n_jobs=n_jobs, random_state=0).fit(X, y) for n_jobs in (1, 2)]
    assert len(models[0].estimators_) == 10
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    assert (models[0].predict(X) == y).mean() > 0.9
    assert models[0].decision_function(X).shape == (75, 3)


def test_quasi_bagging_of_very_few_rows_and_bad_input():
    X, y, _ = skewed_rows(16, sizes=(6, 2))
    model = QuasiBaggingClassifier(random_state=0).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    with pytest.raises(ValueError, match="lower n_groups"):
        QuasiBaggingClassifier(n_groups=7).fit(X, y)
    with pytest.raises(LabelError, match="only one labeled class"):
        QuasiBaggingClassifier().fit(X, np.where(y == 0, 0, -1))


def test_saved_quasi_bagging_predicts_the_same(tmp_path):
    X, y, _ = skewed_rows(17)
    model = QuasiBaggingClassifier(fewlabel.LinearAUCClassifier(), random_state=0).fit(X, y)
    fewlabel.save(model, tmp_path / "model.fewlabel")
    again = fewlabel.load(tmp_path / "model.fewlabel")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
