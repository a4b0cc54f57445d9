"""Ada-PU: round by round as defined, its invariants, its limits, and its errors."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

import fewlabel
from fewlabel import threads as threads_module
from fewlabel.boosting import PUAdaBoostClassifier
from fewlabel.exceptions import LabelError, PriorWarning
from reference import pu_ada
from reference.fitted_stumps import stumps_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:No split improves the objective"),
    pytest.mark.filterwarnings("ignore::fewlabel.exceptions.PriorWarning"),
]


@st.composite
def tables(draw):
    n_p, n_u = draw(st.integers(1, 8)), draw(st.integers(1, 14))
    n, d = n_p + n_u, draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    positive = rng.permutation(np.arange(n) < n_p)
    levels = draw(st.sampled_from([1, 2, 3, 5, 1000]))
    X = rng.integers(0, levels, (n, d)).astype(float)
    if draw(st.booleans()):
        X = rng.normal(size=(n, d)) + positive[:, None] * draw(st.sampled_from([0.0, 1.0, 4.0]))
    if d > 1 and draw(st.booleans()):
        X[:, d - 1] = X[:, 0]
    if draw(st.booleans()):
        X[rng.random((n, d)) < 0.3] = np.nan
    weight = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else None
    return X, positive, weight


def assert_same_rounds(model, rounds):
    assert model.n_iter_ == len(rounds)
    for stump, expected, loss in zip(stumps_of(model), rounds, model.train_loss_):
        column, theta, sign, missing = expected["stump"]
        assert (stump["column"], stump["sign"]) == (column, sign)
        assert stump["threshold"] == pytest.approx(theta, rel=1e-12)
        if missing is not None:
            assert stump["on_missing"] == missing
        assert stump["high"] == -stump["low"] == pytest.approx(expected["alpha"], abs=1e-9, rel=1e-6)
        assert loss == pytest.approx(expected["objective"], rel=1e-6, abs=1e-9)


def next_cuts(X, seed, n_thresholds):
    """The cuts behind the draws of a round, from the raw columns: the next mid-point at or above each draw."""

    def draw(t, e):
        part = np.random.default_rng([seed, t, 1]).random((X.shape[1], n_thresholds))[e]
        values = np.unique(X[~np.isnan(X[:, e]), e])
        if len(values) < 2:
            return np.empty(0)
        drawn = (1 - part) * values[0] + part * values[-1]
        cuts = 0.5 * values[:-1] + 0.5 * values[1:]
        return np.array([cuts[cuts >= v][0] if (cuts >= v).any() else cuts[-1] for v in drawn])

    return draw


@settings(max_examples=200, deadline=None)
@given(
    table=tables(),
    prior=st.sampled_from([0.05, 0.3, 0.5, 0.8]),
    learning_rate=st.sampled_from([0.1, 1.0]),
    splitter=st.sampled_from(["random", "best"]),
    max_step=st.sampled_from([None, 0.5]),
    stop_risk=st.sampled_from([0.0, 0.3]),
    non_negative=st.booleans(),
    correction=st.sampled_from([0.0, 0.7, 1.0]),
    init=st.sampled_from(["zero", "prior"]),
    separate=st.booleans(),
)
def test_equals_three_explicit_weight_sets(
    table, *, prior, learning_rate, splitter, max_step, stop_risk, non_negative, correction, init, separate
):
    X, positive, weight = table
    model = PUAdaBoostClassifier(
        12,
        prior=prior,
        learning_rate=learning_rate,
        splitter=splitter,
        n_thresholds=3,
        max_features=1.0,
        max_step=max_step,
        stop_risk=stop_risk,
        non_negative=non_negative,
        correction=correction,
        init=init,
        normalization="separate" if separate else "joint",
        random_state=0,
    ).fit(X, positive, weight)
    rounds = pu_ada.fit(
        X,
        positive,
        prior=prior,
        weight=weight,
        learning_rate=learning_rate,
        n_rounds=12,
        max_step=np.inf if max_step is None else max_step,
        stop_risk=stop_risk,
        non_negative=non_negative,
        correction=correction,
        start=0.5 * np.log(prior / (1 - correction * prior)) if init == "prior" else 0.0,
        draw=next_cuts(X, model._seed, 3) if splitter == "random" else None,
        separate=separate,
    )
    # Once the risk is lost among weights of either sign, rounding decides; both sides end within a round of it.
    lost = next((t for t, r in enumerate(rounds) if r["Z"] < 1e-5), len(rounds))
    assume(lost > 0 or not rounds)
    if lost < len(rounds):
        model.splits_, model.leaf_values_ = model.splits_[:lost], model.leaf_values_[:lost]
        model.train_loss_ = model.train_loss_[:lost]
        rounds = rounds[:lost]
    assert_same_rounds(model, rounds)


def test_the_start_is_the_constant_of_lowest_risk_and_part_of_the_score():
    X, positive, _ = draw_pu(0)
    for correction in (0.0, 0.7, 1.0):
        model = PUAdaBoostClassifier(
            5, prior=0.1, correction=correction, init="prior", threshold="zero", random_state=0
        ).fit(X, positive)
        start = 0.5 * np.log(0.1 / (1 - correction * 0.1))
        risk = [0.1 * np.exp(-h) + (1 - correction * 0.1) * np.exp(h) for h in start + np.array([-1e-3, 0, 1e-3])]
        assert risk[1] == min(risk)
        assert model.offset_ == pytest.approx(start)
        stages = list(model.staged_decision_function(X))
        np.testing.assert_allclose(stages[-1], model.decision_function(X))
        assert model.feature_importances_.min() >= 0
        assert model.feature_importances_.sum() == pytest.approx(1)


def test_with_rare_positives_the_stop_rule_no_longer_counts_that_they_are_rare():
    X, positive, _ = draw_pu(1, n_u=2000, prior=0.01)
    rounds = [
        PUAdaBoostClassifier(prior=0.01, init=init, random_state=0).fit(X, positive).n_iter_
        for init in ("zero", "prior")
    ]
    assert 2 * rounds[0] < rounds[1]


# Invariants ----------------------------------------------------------------------------------------------------------


def draw_pu(seed, n_p=40, n_u=160, d=4, prior=0.4, apart=1.5):
    rng = np.random.default_rng(seed)
    hidden = np.r_[np.ones(n_p, bool), rng.random(n_u) < prior]
    X = rng.normal(size=(n_p + n_u, d))
    X[:, :2] += apart * hidden[:, None]
    return X, np.arange(n_p + n_u) < n_p, hidden


def risk(H, positive, prior):
    return prior * np.exp(-H[positive]).mean() + np.exp(H[~positive]).mean() - prior * np.exp(H[positive]).mean()


def test_the_risk_starts_at_one_and_is_the_product_of_the_rounds():
    X, positive, _ = draw_pu(0)
    parameters = dict(prior=0.4, init="zero", correction=1.0, max_features=1.0, max_step=None, stop_risk=0.0)
    for learning_rate in (1.0, 0.3):
        model = PUAdaBoostClassifier(15, learning_rate=learning_rate, **parameters).fit(X, positive)
        rounds = pu_ada.fit(
            X,
            positive,
            prior=0.4,
            learning_rate=learning_rate,
            n_rounds=15,
            max_step=np.inf,
            stop_risk=0.0,
            non_negative=True,
            draw=None,
        )
        assert rounds[0]["Z"] == pytest.approx(1.0)
        epsilon = np.array([r["epsilon"] for r in rounds])
        alpha = 0.5 * np.log((1 - epsilon) / epsilon)
        factors = (1 - epsilon) * np.exp(-learning_rate * alpha) + epsilon * np.exp(learning_rate * alpha)
        if learning_rate == 1.0:
            np.testing.assert_allclose(factors, 2 * np.sqrt(epsilon * (1 - epsilon)))
        np.testing.assert_allclose(model.train_loss_, np.cumprod(factors), rtol=1e-6)
        assert (np.diff(np.r_[1.0, model.train_loss_]) < 0).all()
        assert (model.train_loss_ > 0).all()


def test_theorem_4_1_no_stump_and_step_lower_the_risk_further():
    X, positive, _ = draw_pu(0)
    X = X.round(1)  # few thresholds, so that all can be tried
    parameters = dict(prior=0.4, init="zero", correction=1.0, max_features=1.0, max_step=None, stop_risk=0.0)
    model = PUAdaBoostClassifier(4, learning_rate=1.0, **parameters).fit(X, positive)
    assert model.n_iter_ == 4
    H = np.zeros(len(X))
    for scores, loss in zip(model.staged_decision_function(X), model.train_loss_):
        _, minus, unlabeled = pu_ada.weights(H, positive, 0.4, np.ones(len(X)))
        least = np.inf
        for column in X.T:
            for threshold in np.unique(column)[:-1]:
                for fires in (column > threshold, column <= threshold):
                    if minus[fires].sum() + unlabeled[fires].sum() < 0:  # an error on negatives below zero: skipped
                        continue
                    stump = np.where(fires, 1.0, -1.0)
                    least = min(least, *(risk(H + step * stump, positive, 0.4) for step in np.linspace(0, 2, 41)))
        assert loss <= least + 1e-9
        assert loss == pytest.approx(least, rel=0.01)  # the steps that were tried are 0.05 apart
        H = scores - model.offset_


def test_the_training_loss_is_the_risk_of_the_scores():
    X, positive, _ = draw_pu(1)
    model = PUAdaBoostClassifier(30, prior=0.3, init="zero", correction=1.0, random_state=0).fit(X, positive)
    stages = [scores - model.offset_ for scores in model.staged_decision_function(X)]
    np.testing.assert_allclose(model.train_loss_, [risk(H, positive, 0.3) for H in stages], rtol=1e-8)


def test_a_flipped_stump_has_the_other_part_of_the_weight():
    X, positive, _ = draw_pu(2)
    H = np.random.default_rng(0).normal(size=len(X))
    plus, minus, unlabeled = pu_ada.weights(H, positive, 0.4, np.ones(len(X)))
    fires = X[:, 0] > 0.3

    def error(fires):
        return plus[~fires].sum() + minus[fires].sum() + unlabeled[fires].sum()

    assert error(fires) + error(~fires) == pytest.approx(risk(H, positive, 0.4))


def test_an_increasing_map_of_a_column_changes_nothing():
    X, positive, _ = draw_pu(3)
    model = PUAdaBoostClassifier(40, prior=0.4, random_state=0).fit(X, positive)
    mapped = PUAdaBoostClassifier(40, prior=0.4, random_state=0).fit(np.exp(X), positive)
    np.testing.assert_allclose(model.decision_function(X), mapped.decision_function(np.exp(X)), rtol=1e-9)


def test_a_vanishing_prior_removes_the_positives():
    """With prior 1e-9 the risk is that of the unlabeled rows as negatives: no stump can lower it but "
    "the constant ones."""
    X, positive, _ = draw_pu(4)
    model = PUAdaBoostClassifier(5, prior=1e-9, max_step=None, random_state=0).fit(X, positive)
    other = positive.copy()
    shuffled = X.copy()
    shuffled[positive] = X[positive][::-1]
    again = PUAdaBoostClassifier(5, prior=1e-9, max_step=None, random_state=0).fit(shuffled, other)
    np.testing.assert_array_equal(stumps_of(model), stumps_of(again))


def test_theorems_4_2_and_4_3_of_the_paper_do_not_hold():
    """At full steps the PU 0/1 risk exceeds the exponential one that is said to bound it; margins of P "
    "are of both signs."""
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    P = rng.choice(np.flatnonzero(y == 1), 100, replace=False)
    rows, positive = np.vstack([X[P], X]), np.arange(len(P) + len(X)) < len(P)
    prior = y.mean()
    model = PUAdaBoostClassifier.paper(n_estimators=25, prior=prior, learning_rate=1.0, random_state=0).fit(
        rows, positive
    )
    violated = 0
    for H, exponential in zip(model.staged_decision_function(rows), model.train_loss_):
        p, u = H[positive], H[~positive]
        violated += prior * (p <= 0).mean() + (u > 0).mean() - prior * (p > 0).mean() > exponential
    assert violated > model.n_iter_ / 2
    H = model.decision_function(rows)[positive]
    assert min((+1 * H).min(), (-1 * H).min()) < 0  # each positive occurs with y = +1 and with y = -1


# Limits --------------------------------------------------------------------------------------------------------------


def test_positives_like_the_unlabeled_rows_teach_nothing():
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.warns(UserWarning, match="No split improves the objective"):
        model = PUAdaBoostClassifier(10, prior=0.5, correction=1.0).fit(np.vstack([X, X]), np.arange(100) < 50)
    assert model.n_iter_ == 0


@pytest.mark.parametrize(("prior", "expected"), [(0.4, 0), (0.6, 1)])
def test_without_a_stump_the_more_likely_class_is_predicted(prior, expected):
    model = PUAdaBoostClassifier(prior=prior).fit(np.ones((6, 2)), [1, 1, -1, -1, -1, -1])
    assert model.predict(np.ones((1, 2))).tolist() == [expected]
    assert model.predict_proba(np.ones((1, 2)))[0, 1] == pytest.approx(prior)


def adaboost(X, y, n_rounds):
    """Plain AdaBoost on labeled rows; y in {-1, 1}."""
    from reference.stumps import best

    H, alphas = np.zeros(len(X)), []
    for _ in range(n_rounds):
        w = np.exp(-y * H)
        w /= w.sum()
        _, fires, edge = best(X, range(X.shape[1]), lambda fires: np.sum(w * y * np.where(fires, 1, -1)))  # noqa: B023
        alphas.append(0.5 * np.log((1 + edge) / (1 - edge)))
        H = H + alphas[-1] * np.where(fires, 1, -1)
    return H, np.array(alphas)


def test_with_all_positives_labeled_it_is_adaboost():
    """P exactly the positives of U, prior n_p / n_u: the unlabeled and the negative copy of a positive cancel."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=60) > 0, 1, -1)
    rows, positive = np.vstack([X[y > 0], X]), np.arange((y > 0).sum() + 60) < (y > 0).sum()
    whole = dict(init="zero", correction=1.0, learning_rate=1.0, max_features=1.0, max_step=None, stop_risk=0.0)
    model = PUAdaBoostClassifier(8, prior=(y > 0).mean(), threshold="zero", **whole).fit(rows, positive)
    H, alphas = adaboost(X, y, 8)
    np.testing.assert_allclose(stumps_of(model)["high"], alphas, rtol=1e-8)
    np.testing.assert_allclose(model.decision_function(X), H, atol=1e-8)


def test_without_correction_it_is_adaboost_of_positives_against_unlabeled_rows():
    X, positive, _ = draw_pu(6)
    parameters = dict(init="zero", learning_rate=1.0, max_features=1.0, max_step=None, stop_risk=0.0)
    model = PUAdaBoostClassifier(10, prior=0.5, correction=0.0, **parameters).fit(X, positive)
    weight = np.where(positive, 0.5 / positive.sum(), 1.0 / (~positive).sum())
    H = np.zeros(len(X))
    for stump, loss in zip(stumps_of(model), model.train_loss_):
        w = weight * np.exp(np.where(positive, -H, H))
        h = np.where((X[:, stump["column"]] > stump["threshold"]) == (stump["sign"] > 0), 1, -1)
        error = w[h != np.where(positive, 1, -1)].sum() / w.sum()
        assert stump["high"] == pytest.approx(0.5 * np.log((1 - error) / error))
        H = H + stump["high"] * h
        assert loss == pytest.approx(np.sum(weight * np.exp(np.where(positive, -H, H))))


# As an estimator -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    y_pu = fewlabel.hide_labels(y, labeled=80, mechanism="positives-only", random_state=0)
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    return X, y, y_pu


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("max_features", [0.3, 1.0])
def test_same_model_bit_for_bit_whatever_the_threads_and_the_order(splitter, max_features, cancer, monkeypatch):
    X, _, y = cancer
    monkeypatch.setattr(threads_module, "_CELLS_PER_THREAD", 50)
    order = np.random.default_rng(1).permutation(len(X))
    parameters = dict(prior=0.5, splitter=splitter, max_features=max_features, random_state=3)
    model = PUAdaBoostClassifier(60, **parameters).fit(X, y)
    for other in (
        PUAdaBoostClassifier(60, n_jobs=3, **parameters).fit(X, y),
        PUAdaBoostClassifier(60, **parameters).fit(X[order], y[order]),
    ):
        np.testing.assert_array_equal(stumps_of(model), stumps_of(other))
        assert model.offset_ == other.offset_
        np.testing.assert_array_equal(model.calibration_, other.calibration_)


def test_warm_start_goes_on_where_it_stopped_and_stays_stopped(cancer):
    X, _, y = cancer
    whole = PUAdaBoostClassifier(60, prior=0.5, random_state=0).fit(X, y)
    model = PUAdaBoostClassifier(7, prior=0.5, random_state=0, warm_start=True).fit(X, y)
    model.set_params(n_estimators=60).fit(X, y)
    assert whole.n_iter_ == model.n_iter_
    np.testing.assert_allclose(stumps_of(whole)["high"], stumps_of(model)["high"], rtol=1e-9)
    stopped = model.n_iter_ < 60
    model.set_params(n_estimators=80).fit(X, y)
    assert not stopped or model.n_iter_ == whole.n_iter_


def test_ranks_and_classifies_with_a_given_and_an_estimated_prior(cancer):
    X, y, y_pu = cancer
    hidden = y_pu == -1
    for prior in (y[hidden].mean(), None):
        model = PUAdaBoostClassifier(prior=prior, random_state=0).fit(X, y_pu)
        assert roc_auc_score(y[hidden], model.decision_function(X[hidden])) > 0.95
        assert (model.predict(X[hidden]) == y[hidden]).mean() > (0.75 if prior is None else 0.87)
        assert abs(model.prior_ - y[hidden].mean()) < 0.2


def test_no_more_positives_are_called_than_the_prior_says(cancer):
    X, _, y = cancer
    model = PUAdaBoostClassifier(prior=0.4, random_state=0).fit(X, y)
    hidden = X[y == -1]
    assert (model.predict(hidden) == 1).mean() == pytest.approx(0.4, abs=0.02)
    np.testing.assert_array_equal(model.predict_proba(hidden)[:, 1] > 0.5, model.predict(hidden) == 1)


def test_labels_that_are_hidden_are_not_read(cancer):
    X, _, y = cancer
    model = PUAdaBoostClassifier(20, prior=0.5, random_state=0).fit(X, y)
    coded = PUAdaBoostClassifier(20, prior=0.5, random_state=0).fit(X, (y == 1).astype(int))
    np.testing.assert_array_equal(stumps_of(model), stumps_of(coded))


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([1] * 4 + [-1] * 8, [0, 1]),
        ([0] * 4 + [None] * 8, [1, 0]),
        (["fraud"] * 4 + [None] * 8, ["not fraud", "fraud"]),
        ([True] * 4 + [None] * 8, [False, True]),
        (pd.Categorical(["yes"] * 4 + [None] * 8, categories=["no", "yes"]), ["no", "yes"]),
        ([1] * 4 + [0] * 8, [0, 1]),
    ],
)
def test_classes_have_names(y, classes):
    X = np.array([8.0, 9, 10, 11, 8.5, 9.5, 10.5, 1, 2, 3, 4, 5])[:, None]
    model = PUAdaBoostClassifier(3, prior=0.4).fit(X, y)
    assert model.classes_.tolist() == sorted(classes)
    assert model.predict([[12.0], [0.0]]).tolist() == classes[::-1]


@pytest.mark.parametrize(
    ("y", "match"),
    [
        ([-1, -1, -1, -1], "no labeled row"),
        ([1, 1, 1, 1], "every row is labeled 1: there is no unlabeled row"),
        ([1, 0, -1, -1], "PNUAUCBoostClassifier"),
        ([0, 1, 2, 2], "need one positive class"),
    ],
)
def test_bad_labels_say_what_to_do(y, match):
    with pytest.raises(LabelError, match=match):
        PUAdaBoostClassifier(prior=0.5).fit(np.arange(8.0).reshape(4, 2), y)


@pytest.mark.parametrize(
    "parameters",
    [
        {"prior": 0.0},
        {"prior": 1.0},
        {"prior": 1.5},
        {"splitter": "worst"},
        {"n_thresholds": 0},
        {"max_step": 0},
        {"stop_risk": 1.0},
        {"threshold": 0.5},
    ],
)
def test_bad_parameters_are_named(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        PUAdaBoostClassifier(**parameters).fit(np.arange(8.0).reshape(4, 2), [1, -1, -1, -1])


def test_a_prior_that_the_data_cannot_support_is_reported():
    X, y, _ = fewlabel.make_pu(2000, prior=0.2, labeled=200, separation=5.0, return_true=True, random_state=0)
    with pytest.warns(PriorWarning, match=r"prior=0\.8 is more than the data can support.*at most 0\.[1-5]"):
        PUAdaBoostClassifier(5, prior=0.8).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PriorWarning)
        PUAdaBoostClassifier(5, prior=0.1).fit(X, y)


def test_weight_sets_that_are_kept_apart_collapse_later(cancer):
    """As published with 100 rounds: jointly normalized, nearly every row is called positive."""
    X, y, y_pu = cancer
    prior = y[y_pu == -1].mean()
    called = {
        form: PUAdaBoostClassifier.paper(prior=prior, normalization=form, random_state=0).fit(X, y_pu).predict(X).mean()
        for form in ("joint", "separate")
    }
    assert called["separate"] < called["joint"] - 0.1


def test_the_joint_risk_does_not_end_a_fit_whose_weight_sets_are_kept_apart(cancer):
    X, y, y_pu = cancer
    prior = y[y_pu == -1].mean()
    model = PUAdaBoostClassifier.paper(prior=prior, normalization="separate", learning_rate=1.0, random_state=0)
    copies = 60  # rounds; the joint risk of the negatives is below zero long before
    model.set_params(n_estimators=copies).fit(X, y_pu)
    scores = np.array(list(model.staged_decision_function(X))) - model.offset_
    unlabeled = np.exp(scores[:, y_pu != 1]).mean(axis=1)
    risk_of_negatives = unlabeled - prior * np.exp(scores[:, y_pu == 1]).mean(axis=1)
    assert risk_of_negatives[: copies // 2].min() <= 0
    assert model.n_iter_ == copies


def test_paper_form():
    model = PUAdaBoostClassifier.paper(prior=0.3, learning_rate=0.2)
    assert (model.splitter, model.threshold, model.stop_risk, model.learning_rate) == ("random", "zero", 0.0, 0.2)
