"""Validation that matches how rows were sampled: groups, time, copies, weights."""

import numpy as np
import pytest
from scipy.special import expit, ndtri
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score

from fewlabel import AutoClassifier
from fewlabel.auto import crossfit, learning_curve
from fewlabel.auto.intervals import (
    BELIEFS,
    DISTRIBUTION_FREE,
    compare,
    design_effect,
    interval,
    labels_within,
    posterior,
    prior_is_too_large,
)
from fewlabel.auto.weights import SCORERS, find_scorer, score_ranks
from fewlabel.exceptions import LabelError
from fewlabel.metrics import auc_confidence_interval
from fewlabel.metrics.angles import to_angle
from fewlabel.prior import PriorEstimate
from fewlabel.rows import Rows

QUICK = dict(portfolio=["extra trees", "path neighbors"], n_repeats=1, random_state=0)


@pytest.fixture(scope="module", autouse=True)
def _small_forests():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossfit, "_FOLD_TREES", 20)
        patch.setattr(crossfit, "_FINAL_TREES", 20)
        yield


def _patients(n=60, visits=4, noise=0.1, seed=0):
    """Rows of patients who differ from each other more than their visits do; labels are those of the patients."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n), visits)
    traits = rng.normal(size=(n, 6))
    sick = (traits[:, 0] + 2 * rng.normal(size=n) > 0).astype(int)
    return traits[patient] + noise * rng.normal(size=(n * visits, 6)), sick[patient], patient


def _headline(model):
    return model.leaderboard_.set_index("method").loc["AutoClassifier", ["score", "low", "high"]].to_numpy(dtype=float)


def test_groups_end_the_promise_of_a_perfect_score():
    X, y, patient = _patients(noise=0.05)
    alone, grouped = AutoClassifier(**QUICK).fit(X, y), AutoClassifier(**QUICK).fit(X, y, groups=patient)
    new_X, new_y, _ = _patients(n=400, seed=1)
    truth = roc_auc_score(new_y, grouped.decision_function(new_X))
    assert _headline(alone)[1] > truth + 0.1  # rows of a patient on both sides
    _, low, high = _headline(grouped)
    assert low < truth < high
    assert high - low > 0.15  # 60 patients, not 240 rows


def test_near_copies_are_on_one_side_without_being_told():
    X, y, _ = _patients(noise=1e-5)
    model = AutoClassifier(**QUICK).fit(X, y)
    assert model.n_copies_ == 240
    assert _headline(model)[0] < 0.9
    assert AutoClassifier(**QUICK).fit(X[::4], y[::4]).n_copies_ == 0


def test_a_class_of_copies_of_one_row_warns(recwarn):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[:5] = X[0]
    y = np.r_[np.ones(5, int), np.zeros(35, int)]
    with pytest.warns(UserWarning, match="5 labeled rows are copies of each other, among them all rows of a class"):
        AutoClassifier(["naive Bayes"], n_repeats=1, random_state=0).fit(X, y)


def test_copies_beside_a_class_with_one_label_are_on_one_side(recwarn):
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[1] = X[0]
    y = np.r_[np.zeros(20, int), np.ones(19, int), 2]
    model = AutoClassifier(["naive Bayes"], n_repeats=1, random_state=0).fit(X, y)
    assert model.n_copies_ == 2
    assert model.labeled_rows_.tolist() == list(range(39))
    assert not any("copies of each other" in str(warning.message) for warning in recwarn)


def test_time_tests_later_rows_only():
    rng = np.random.default_rng(0)
    time, X = np.arange(200), rng.normal(size=(200, 5))
    # The column that decides changes halfway.
    y = (np.where(time < 100, X[:, 0], X[:, 1]) + 0.3 * rng.normal(size=200) > 0).astype(int)
    mixed, forward = AutoClassifier(**QUICK).fit(X, y), AutoClassifier(**QUICK).fit(X, y, time=time)
    assert (forward.labeled_rows_ >= 100).all()
    assert len(forward.out_of_fold_) == len(forward.labeled_rows_)
    assert _headline(forward)[0] < _headline(mixed)[0] - 0.05
    curve = learning_curve(forward, Rows.read(X, y, time=time))
    assert curve.labels[-1] < 180


def test_unlabeled_rows_of_tested_groups_and_later_ones_are_not_learned_from():
    X, y, patient = _patients(n=20)
    y = np.where(np.arange(80) % 2, -1, y)
    time = np.arange(80.0)
    for rows in (Rows.read(X, y, groups=patient), Rows.read(X, y, time=time)):
        training = crossfit.Training(rows, "binary", [], 0)
        for fold in training.folds(1):
            learned, test = training.sample_unlabeled(1000, fold), training.labeled[fold.test]
            if rows.time is None:
                assert not set(patient[learned]) & set(patient[test])
                assert len(learned) == 40 - 2 * len(set(patient[test]))
            else:
                assert time[learned].max() < time[test].min()


def test_groups_that_cannot_be_split():
    X, y, _ = _patients(n=20)
    with pytest.raises(LabelError, match="are of one group"):
        AutoClassifier(**QUICK).fit(X, y, groups=np.where(y == 1, 0, np.arange(len(y))))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AutoClassifier(**QUICK).fit(X, y, groups=np.arange(3))


@pytest.mark.parametrize("kind", ["positives", "three classes"])
def test_groups_with_other_tasks(kind):
    X, y, patient = _patients(n=30)
    y = np.where(y == 1, 1.0, np.nan) if kind == "positives" else patient % 3
    model = AutoClassifier("small", n_repeats=1, random_state=0, prior=0.3 if kind == "positives" else None)
    _, low, high = _headline(model.fit(X, y, groups=patient))
    assert 0 <= low < high <= 1


def test_weights_reach_members_and_estimates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    right = np.arange(120) % 3 > 0
    y = np.where(right, X[:, 0] > 0, X[:, 0] < 0).astype(int)  # a third of the rows has the opposite label
    weight = np.where(right, 1.0, 0.01)
    members = dict(portfolio=["logistic regression", "naive Bayes"], n_repeats=1, random_state=0)
    plain, weighted = AutoClassifier(**members).fit(X, y), AutoClassifier(**members).fit(X, y, sample_weight=weight)
    assert _headline(plain)[0] < 0.75
    assert _headline(weighted)[0] > 0.95
    truth = X[:, 0] > 0
    assert roc_auc_score(truth, weighted.decision_function(X)) > roc_auc_score(truth, plain.decision_function(X))
    # The scale of the weights means nothing, and rows of weight 0 are not there.
    same = AutoClassifier(**members).fit(X, y, sample_weight=1000 * weight)
    np.testing.assert_allclose(same.predict_proba(X), weighted.predict_proba(X))
    kept = AutoClassifier(**members).fit(X, y, sample_weight=right.astype(float))
    np.testing.assert_allclose(
        kept.predict_proba(X), AutoClassifier(**members).fit(X[right], y[right]).predict_proba(X)
    )
    assert np.isin(kept.labeled_rows_, np.flatnonzero(right)).all()
    with pytest.raises(LabelError, match="every labeled row of class 1 has sample_weight 0"):
        AutoClassifier(**members).fit(X, y, sample_weight=(y == 0).astype(float))


@pytest.mark.parametrize("scorer", SCORERS.values())
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(15), 2)])
def test_no_interval_has_width_zero(scorer, n_outputs, groups, monkeypatch):
    monkeypatch.setattr("fewlabel.auto.intervals._N_BOOTSTRAP", 40)
    y = np.repeat(np.arange(max(n_outputs, 2)), 10 if n_outputs == 3 else 15)
    perfect = np.eye(3)[y] if n_outputs == 3 else y[:, None] + 0.0
    rows = Rows.read(None, y, groups=groups)
    score, low, high = interval(rows, perfect, scorer, None, 0)
    is_shrunken = scorer is SCORERS["roc_auc"] or n_outputs == 1
    assert 0.85 < score < 1 if is_shrunken else score == 1
    assert high == pytest.approx(1, abs=0.001)
    assert 0.4 < low < 0.99
    difference, low, high = compare(rows, perfect, perfect, scorer, 0)
    assert difference == 0
    assert -0.4 < low < -0.05 < 0.05 < high < 0.4


def test_the_interval_is_for_a_model_of_all_labels():
    y = np.repeat([0, 1], 20)
    ranks = np.random.default_rng(0).random((40, 1)) + np.repeat([0, 0.4], 20)[:, None]
    scorer = find_scorer(average_precision_score)  # a callable: the interval is bootstrapped
    score, low, high = interval(Rows.read(None, y), ranks, scorer, None, 0)
    same, wider_low, wider_high = interval(Rows.read(None, y), ranks, scorer, None, 0, share=0.8)
    assert same == score
    assert wider_low < low
    assert wider_high > 1 - (1 - high) * 0.8


def test_the_interval_of_an_auc_covers_where_tables_are_as_expected():
    """Truths and out-of-fold values are drawn as the interval assumes, and from tables that it does not expect."""
    rng = np.random.default_rng(0)
    covered = {"as expected": [], "no better than chance": []}
    for _ in range(400):
        y = np.repeat([0, 1], [40, 20])
        for kind, found in covered.items():
            angle = rng.normal(2.48, 0.36) if kind == "as expected" else rng.normal(np.pi / 2, 0.1)
            truth = np.sin(np.clip(angle, 0.1, 3.1) / 2) ** 2
            shift = np.sqrt(2) * ndtri(np.clip(truth, 1e-3, 1 - 1e-3))
            ranks = expit(rng.normal(shift * y))[:, None]
            _, low, high = interval(Rows.read(None, y), ranks, SCORERS["roc_auc"], None, 0)
            found.append(low <= truth <= high)
    assert np.mean(covered["as expected"]) >= 0.95
    assert np.mean(covered["no better than chance"]) >= 0.9


def test_a_distribution_free_interval_counts_the_labels_alone():
    y = np.repeat([0, 1], [12, 8])
    rows = Rows.read(None, y)
    ranks = expit(np.random.default_rng(0).normal(1.5 * y))[:, None]
    score, low, high = interval(rows, ranks, SCORERS["roc_auc"], None, 0, kind=DISTRIBUTION_FREE)
    assert (score, low, high) == auc_confidence_interval(y, ranks[:, 0])[:3]
    _, shrunken_low, shrunken_high = interval(rows, ranks, SCORERS["roc_auc"], None, 0)
    assert shrunken_high - shrunken_low < high - low
    _, wider_low, wider_high = interval(rows, ranks, SCORERS["roc_auc"], None, 0, 0.8, kind=DISTRIBUTION_FREE)
    assert wider_low < low
    assert wider_high > high
    repeated = Rows.read(None, np.repeat(y, 3), groups=np.repeat(np.arange(20), 3), weight=np.ones(60))
    thrice = np.repeat(ranks, 3, axis=0)
    _, low_of_groups, high_of_groups = interval(repeated, thrice, SCORERS["roc_auc"], None, 0, kind=DISTRIBUTION_FREE)
    assert high_of_groups - low_of_groups == pytest.approx(high - low, rel=0.2)


def test_the_kind_of_interval_is_a_parameter():
    X, y = make_classification(n_samples=200, random_state=0)
    few = np.where(np.arange(200) < 40, y, -1)
    quick = dict(portfolio=["naive Bayes"], n_repeats=1, random_state=0)
    usual = AutoClassifier(**quick).fit(X, few)
    free = AutoClassifier(interval="distribution-free", **quick).fit(X, few)
    assert (usual.headline_["interval"], free.headline_["interval"]) == ("experience", "distribution-free")
    assert free.headline_["score"] == pytest.approx(roc_auc_score(few[free.labeled_rows_], free.out_of_fold_))
    # What is predicted does not change.
    np.testing.assert_array_equal(free.predict_proba(X), usual.predict_proba(X))
    with pytest.raises(ValueError, match="only the AUC has a distribution-free interval"):
        AutoClassifier(scoring="average_precision", interval="distribution-free", **quick).fit(X, few)
    yes = np.where(few == 1, "yes", None)
    with pytest.raises(ValueError, match="cannot be distribution-free if only positives are labeled"):
        AutoClassifier(interval="distribution-free", **quick).fit(X, yes)


def test_a_distribution_free_interval_of_many_classes_is_the_mean_of_theirs():
    y = np.repeat([0, 1, 2], 10)
    ranks = np.random.default_rng(0).random((30, 3)) + 0.3 * np.eye(3)[y]
    found = interval(Rows.read(None, y), ranks, SCORERS["roc_auc"], None, 0, kind=DISTRIBUTION_FREE)
    assert found[0] == pytest.approx(score_ranks(ranks, y, SCORERS["roc_auc"]))
    of_classes = [auc_confidence_interval((y == k).astype(int), ranks[:, k])[:3] for k in range(3)]
    assert found == pytest.approx(np.mean(of_classes, axis=0))


def test_groups_count_as_fewer_labels():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    ranks = expit(rng.normal(1.5 * y))[:, None]
    _, low, high = interval(Rows.read(None, y), ranks, SCORERS["roc_auc"], None, 0)
    repeated = Rows.read(None, np.repeat(y, 3), groups=np.repeat(np.arange(60), 3))
    _, low_of_groups, high_of_groups = interval(repeated, np.repeat(ranks, 3, axis=0), SCORERS["roc_auc"], None, 0)
    assert high_of_groups - low_of_groups == pytest.approx(high - low, rel=0.15)


def test_a_prior_that_cannot_be_leaves_the_interval_without_one():
    y, ranks = np.repeat([0, 1], 40), np.r_[np.linspace(0, 0.5, 40), np.linspace(0.6, 1, 40)][:, None]
    rows = Rows.read(None, y)
    score, low, high = interval(rows, ranks, SCORERS["roc_auc"], PriorEstimate(0.5, 0.5, 0.5, {}, 0.5), 0)
    assert 0.8 < low < 0.97 < score < high == 1
    assert prior_is_too_large(rows, ranks, 0.5)
    assert not prior_is_too_large(rows, ranks, 0.01)


def test_the_design_effect_of_repeated_rows_is_their_number():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    psi = rng.random(100)
    repeated = Rows.read(None, np.repeat(y, 3), groups=np.repeat(np.arange(100), 3))
    assert design_effect(repeated, np.repeat(psi, 3)) == pytest.approx(3, rel=0.03)
    assert design_effect(Rows.read(None, y, groups=np.arange(100)), psi) == pytest.approx(1, rel=0.03)
    assert design_effect(Rows.read(None, y), psi) == 1
    heavy = np.where(np.arange(100) % 2, 1.0, 3.0)  # Kish: 100 * sum of squares / square of the sum = 1.25
    half_right = np.full(100, 0.5) + 0.5 * (np.arange(100) % 4 < 2)
    assert design_effect(Rows.read(None, y, weight=heavy), half_right) == pytest.approx(1.25, rel=0.05)


@pytest.mark.parametrize(("score", "n_each"), [(0.6, 10), (0.9, 20), (0.99, 8), (0.995, 150)])
def test_at_most_3_5_percent_of_the_posterior_are_below_the_interval(score, n_each):
    belief = BELIEFS[SCORERS["roc_auc"]]
    _, low, high = posterior(score, n_each, n_each)
    expected = belief.middle + belief.growth * np.log(n_each / 12)
    variance = 2 * belief.noise / (n_each - 2)
    angles = np.linspace(0, np.pi, 100_001)
    # The product of two normal densities, on the range of angles.
    density = np.exp(-((angles - expected) ** 2) / belief.spread**2 / 2)
    density *= np.exp(-((angles - 2 * np.arcsin(np.sqrt(score))) ** 2) / variance / 2)
    below, above = (density[part].sum() / density.sum() for part in (angles < to_angle(low), angles > to_angle(high)))
    assert 0.02 < below < 0.038  # the package has 1,000 angles
    assert below + above < 0.053
    assert posterior(1.0, 300, 300)[2] == 1


@pytest.mark.parametrize(("score", "n_positive", "n_negative"), [(0.8, 7, 58), (0.97, 30, 30), (0.65, 100, 400)])
def test_as_many_labels_as_it_says_make_the_interval_short_enough(score, n_positive, n_negative):
    value, low, high = posterior(score, n_positive, n_negative)
    n_labels = n_positive + n_negative
    needed = labels_within(dict(score=value, low=low, high=high), n_labels, 0.05, shrunken=True)
    factor = needed / n_labels
    value, low, high = posterior(value, factor * n_positive, factor * n_negative)
    assert (high - low) / 2 <= 0.06
    if needed > n_labels:
        assert (high - low) / 2 >= 0.04
    assert labels_within(dict(score=value, low=low, high=high), needed, 0.08, shrunken=True) == needed


def test_the_baseline_is_compared_on_the_same_rows():
    X, y = make_classification(300, 6, n_informative=3, random_state=1)
    few = np.where(np.arange(300) < 80, y, -1)
    model = AutoClassifier(["logistic regression", "naive Bayes", "RBF-SVM"], n_repeats=1, random_state=0).fit(X, few)
    gain = model.baseline_
    scores = model.leaderboard_.set_index("method")["score"]
    assert gain["method"] == "logistic regression"
    assert gain["difference"] == pytest.approx(scores["AutoClassifier"] - scores["logistic regression"])
    assert gain["low"] <= gain["difference"] <= gain["high"]
    assert AutoClassifier(["RBF-SVM"], n_repeats=1, random_state=0).fit(X, few).baseline_ is None
