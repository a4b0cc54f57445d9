"""Behavior that all stump boosters share."""

import contextlib
import io
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fewlabel
from fewlabel import threads as threads_module
from fewlabel.boosting import PNUAdaBoostClassifier, PNUAUCBoostClassifier
from fewlabel.boosting.growing import draw_columns
from reference.fitted_stumps import stumps_of

BOOSTERS = [PNUAUCBoostClassifier, PNUAdaBoostClassifier]
each_booster = pytest.mark.parametrize("Booster", BOOSTERS)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    hidden = np.where(rng.random(len(y)) < 0.15, y, -1)
    X = X.copy()
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y, hidden


def assert_same_model(a, b):
    np.testing.assert_array_equal(stumps_of(a), stumps_of(b))
    np.testing.assert_array_equal(a.train_loss_, b.train_loss_)
    assert a.offset_ == b.offset_
    np.testing.assert_array_equal(a.calibration_, b.calibration_)


# Reproducible --------------------------------------------------------------------------------------------------------


@each_booster
def test_same_model_bit_for_bit_whatever_the_threads(Booster, cancer, monkeypatch):
    X, _, y = cancer
    monkeypatch.setattr(threads_module, "_CELLS_PER_THREAD", 50)  # threads on small data too
    models = [Booster(40, n_jobs=n_jobs, random_state=3).fit(X, y) for n_jobs in (1, 2, 4)]
    assert_same_model(models[0], models[1])
    assert_same_model(models[0], models[2])


@each_booster
def test_same_model_bit_for_bit_with_the_rows_permuted(Booster, cancer):
    X, _, y = cancer
    order = np.random.default_rng(1).permutation(len(X))
    weight = np.random.default_rng(2).random(len(X))
    for sample_weight in (None, weight):
        model = Booster(60, random_state=0).fit(X, y, sample_weight)
        permuted = Booster(60, random_state=0).fit(
            X[order], y[order], None if sample_weight is None else sample_weight[order]
        )
        assert_same_model(model, permuted)


def test_same_model_bit_for_bit_in_a_second_process():
    program = (
        "import numpy as np, hashlib, fewlabel\n"
        "rng = np.random.default_rng(0)\n"
        "X = rng.normal(size=(300, 6)); y = np.where(rng.random(300) < .3, (X[:, 0] + X[:, 1] > 0) * 1, -1)\n"
        "m = fewlabel.PNUAUCBoostClassifier(random_state=0).fit(X, y)\n"
        "print(hashlib.sha256(m.splits_.tobytes() + m.decision_function(X).tobytes()).hexdigest())\n"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    here = io.StringIO()
    with contextlib.redirect_stdout(here):
        exec(program, {})
    assert other == here.getvalue()
    assert len(other.strip()) == 64


@each_booster
def test_float32_columns_in_any_layout_give_one_model(Booster, cancer):
    X, _, y = cancer
    X = X.astype(np.float32)
    model = Booster(20, random_state=0).fit(X, y)
    for other in (np.asfortranarray(X), X.astype(np.float64), np.repeat(X, 2, axis=1)[:, ::2]):
        assert_same_model(model, Booster(20, random_state=0).fit(other, y))
        np.testing.assert_array_equal(model.decision_function(other), model.decision_function(X))


# Long runs -----------------------------------------------------------------------------------------------------------


@each_booster
@pytest.mark.parametrize("max_features", [0.3, 1.0])
def test_2000_rounds_on_separable_data_stay_finite(Booster, max_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(rng.random(60) < 0.5, (X[:, 0] > 0).astype(int), -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Booster(2000, learning_rate=1.0, max_features=max_features, random_state=0).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.train_loss_).all()
    assert (model.train_loss_ > 0).all()
    assert np.isfinite(model.feature_importances_).all()


# The additive model --------------------------------------------------------------------------------------------------


@each_booster
def test_shape_functions_are_the_model(Booster, cancer):
    X, _, y = cancer
    model = Booster(80, random_state=0).fit(X, y)
    total = np.full(len(X), model.offset_)
    for function in model.shape_functions_:
        x = X[:, function.column]
        assert len(function.values) == len(function.edges) + 1
        assert (np.diff(function.edges) > 0).all()
        inside = function.values[np.searchsorted(function.edges, x, side="left") % len(function.values)]
        total += np.where(np.isnan(x), function.missing, inside)
    np.testing.assert_allclose(total, model.decision_function(X), atol=1e-12)
    *_, last = model.staged_decision_function(X)
    np.testing.assert_allclose(last, model.decision_function(X), atol=1e-12)
    assert {f.column for f in model.shape_functions_} == set(np.flatnonzero(model.feature_importances_))
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_stages_of_a_float32_table_use_the_exact_thresholds():
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2))  # the mid-point, rounded to float32, would be one of the two
    X = np.array([[low], [high], [low], [high]])
    for values in (X, np.nextafter(X, np.float32(2))):
        model = PNUAUCBoostClassifier(1).fit(values, [0, 1, 0, 1])
        (stage,) = model.staged_decision_function(values)
        np.testing.assert_array_equal(stage, model.decision_function(values))
        np.testing.assert_array_equal(model.predict(values), [0, 1, 0, 1])


def test_shape_functions_carry_the_names_of_a_table(cancer):
    X, _, y = cancer
    table = pd.DataFrame(X, columns=[f"column {e}" for e in range(X.shape[1])])
    model = PNUAUCBoostClassifier(10, random_state=0).fit(table, y)
    assert all(f.name == f"column {f.column}" for f in model.shape_functions_)


def test_missing_values_choose_their_side_and_stand_alone():
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    model = PNUAUCBoostClassifier(1).fit(X, [0, 0, 1, 1])
    (stump,) = stumps_of(model)
    assert stump["threshold"] == np.inf
    assert stump["on_missing"]
    np.testing.assert_array_equal(model.predict([[np.nan], [5.0]]), [1, 0])
    joined = stumps_of(PNUAUCBoostClassifier(1).fit([[1.0], [3.0], [np.nan], [3.0]], [0, 1, 0, 1]))[0]
    assert (joined["threshold"], joined["on_missing"]) == (2.0, False)


def test_missing_values_unseen_in_training_go_with_most_rows():
    X, y = [[1.0], [1.0], [1.0], [2.0]], [0, 0, 0, 1]
    model = PNUAUCBoostClassifier(1).fit(X, y)
    assert model.decision_function([[np.nan]]) == model.decision_function([[1.0]])


# Parameters ----------------------------------------------------------------------------------------------------------


@each_booster
def test_warm_start_goes_on_where_it_stopped(Booster, cancer):
    X, _, y = cancer
    whole = Booster(50, random_state=7).fit(X, y)
    parts = Booster(20, random_state=7, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=50).fit(X, y)
    np.testing.assert_array_equal(
        stumps_of(whole)[["column", "threshold", "sign"]], stumps_of(parts)[["column", "threshold", "sign"]]
    )
    np.testing.assert_allclose(stumps_of(whole)["high"], stumps_of(parts)["high"], rtol=1e-9)
    np.testing.assert_allclose(whole.train_loss_, parts.train_loss_, rtol=1e-9)
    with pytest.raises(ValueError, match="at least the 50 rounds already fitted"):
        parts.set_params(n_estimators=10).fit(X, y)


@each_booster
def test_a_warm_start_with_other_parameters_is_told(Booster, cancer):
    X, _, y = cancer
    model = Booster(5, warm_start=True, random_state=0).fit_ranking(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(n_estimators=6).fit_ranking(X, y)
    with pytest.warns(UserWarning, match=r"other parameters: learning_rate from .* to 0.3"):
        model.set_params(n_estimators=7, learning_rate=0.3).fit_ranking(X, y)


@each_booster
@pytest.mark.parametrize("max_bins", [2, 8, 255])
def test_whole_weights_are_repetitions_whatever_the_bins(Booster, cancer, max_bins):
    X, _, y = cancer
    times = np.random.default_rng(0).integers(1, 4, len(y))
    form = dict(n_estimators=15, max_bins=max_bins, random_state=0)
    weighted = Booster(**form).fit_ranking(X, y, times)
    repeated = Booster(**form).fit_ranking(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(repeated.decision_function(X), weighted.decision_function(X), rtol=1e-6)


def test_warm_start_keeps_the_margin_term(cancer):
    X, _, y = cancer
    whole = PNUAUCBoostClassifier.paper(n_estimators=12, rho=0.1, random_state=0).fit(X, y)
    parts = PNUAUCBoostClassifier.paper(n_estimators=5, rho=0.1, random_state=0, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=12).fit(X, y)
    np.testing.assert_allclose(whole.train_loss_, parts.train_loss_, rtol=1e-9)


@each_booster
def test_early_stopping_keeps_the_best_round_on_held_out_labels(Booster, cancer):
    X, truth, _ = cancer
    y = np.where(np.arange(len(truth)) % 3, truth, -1)
    full = Booster(400, random_state=0).fit(X, y)
    model = Booster(400, early_stopping=True, validation_fraction=0.3, n_iter_no_change=15, random_state=0).fit(X, y)
    assert 0 < model.n_iter_ < full.n_iter_
    assert len(model.train_loss_) == model.n_iter_
    held_out = model._held_out(X, np.select([y == 1, y == 0], [1, -1], 0))
    assert set(y[held_out]) == {0, 1}
    longer = Booster(model.n_iter_ + 15, random_state=0)  # the same rounds, without the held-out rows
    training = np.setdiff1d(np.arange(len(y)), held_out)
    stages = list(longer.fit(X[training], y[training]).staged_decision_function(X[held_out]))
    aucs = [roc_auc_score(y[held_out], stage) for stage in stages]
    assert int(np.argmax(aucs)) + 1 == model.n_iter_


def test_early_stopping_with_the_rows_permuted_and_a_second_identical_fit(cancer):
    X, _, y = cancer
    model = PNUAUCBoostClassifier(60, early_stopping=True, n_iter_no_change=5, random_state=0).fit_ranking(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    assert_same_model(model, clone(model).fit_ranking(X[order], y[order]))
    warm = clone(model).set_params(warm_start=True).fit_ranking(X, y)
    for _ in range(3):
        warm.fit_ranking(X, y)
    assert warm.n_iter_ == model.n_iter_ < 60


def test_early_stopping_needs_labels():
    X, y = np.arange(6.0)[:, None], [0, 1, 1, -1, -1, -1]
    with pytest.raises(ValueError, match="too few of them"):
        PNUAUCBoostClassifier(early_stopping=True).fit(X, y)


def test_max_features_draws_columns_for_each_round():
    model = PNUAUCBoostClassifier(max_features=0.3, random_state=0)
    X = np.random.default_rng(0).normal(size=(50, 10))
    model.fit(X, np.arange(50) % 2)
    draws = list(map(tuple, draw_columns(model._seed, 0, 30, 10, model._n_drawn(10))))
    assert all(len(set(draw)) == 3 and sorted(draw) == list(draw) for draw in draws)
    assert len(set(draws)) > 10
    model.set_params(max_features=4)
    assert model._n_drawn(10) == 4
    model.set_params(max_features=0.01)
    assert model._n_drawn(10) == 1
    model.set_params(max_features="sqrt")
    assert model._n_drawn(10) == 4


def test_columns_that_hold_nothing_do_not_end_the_fit():
    rng = np.random.default_rng(0)
    X = np.zeros((40, 20))
    X[:, 13] = rng.normal(size=40)
    model = PNUAUCBoostClassifier(5, max_features=1, random_state=0).fit(X, (X[:, 13] > 0).astype(int))
    assert model.n_iter_ == 5
    assert set(stumps_of(model)["column"]) == {13}


def test_constant_columns_give_no_stump_and_say_so():
    with pytest.warns(UserWarning, match="No split improves the objective"):
        model = PNUAUCBoostClassifier().fit(np.ones((6, 2)), [0, 1, 0, 1, -1, -1])
    assert model.n_iter_ == 0
    assert len(set(model.decision_function([[1.0, 1.0], [2.0, np.nan]]))) == 1
    np.testing.assert_array_equal(model.feature_importances_, [0, 0])
    assert model.shape_functions_ == []


def test_paper_form():
    model = PNUAUCBoostClassifier.paper(gamma=0.5, n_estimators=7)
    assert (model.step, model.learning_rate, model.max_features, model.gamma, model.n_estimators) == (
        "bound",
        1,
        1,
        0.5,
        7,
    )


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"gamma": 1.5}, "gamma"),
        ({"rho": 1.0}, "rho"),
        ({"step": "big"}, "step"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"max_bins": 256}, "max_bins"),
        ({"max_features": 1.5}, "max_features"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"early_stopping": "never"}, "early_stopping"),
    ],
)
def test_bad_parameters_are_named(parameters, match):
    with pytest.raises(ValueError, match=f"The {match!r} parameter of PNUAUCBoostClassifier must be"):
        PNUAUCBoostClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_verbose_prints_the_objective(capsys):
    PNUAUCBoostClassifier(2, verbose=1).fit([[0.0], [1.0], [0.5]], [0, 1, 0])
    assert "round 1/2: objective 0." in capsys.readouterr().out


# Labels --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "relabel",
    [
        lambda y: y.astype(float),
        lambda y: np.where(y < 0, np.nan, y),
        lambda y: pd.Series(y).replace(-1, pd.NA).astype("Int64"),
        lambda y: np.array([None, "good", "spam"], dtype=object)[(y + 1) % 3],
        lambda y: pd.Series(pd.Categorical.from_codes(y, ["good", "spam"])),
        lambda y: [None if v < 0 else bool(v) for v in y],
    ],
)
def test_every_kind_of_label_gives_the_same_ranking(relabel, cancer):
    X, _, y = cancer
    expected = PNUAUCBoostClassifier(10, random_state=0).fit(X, y)
    model = PNUAUCBoostClassifier(10, random_state=0).fit(X, relabel(y))
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
    assert set(model.predict(X)) == set(model.classes_)


def test_labels_that_are_hidden_are_not_read(cancer):
    """The same model whatever the hidden class, and whatever a row of no weight holds."""
    X, truth, y = cancer
    weight = np.ones(len(y))
    shown = np.flatnonzero(y == -1)[:50]
    weight[shown] = 0
    poisoned = y.copy()
    poisoned[shown] = 1 - truth[shown]
    assert_same_model(
        PNUAUCBoostClassifier(20, random_state=0).fit(X, y, weight),
        PNUAUCBoostClassifier(20, random_state=0).fit(X, poisoned, weight),
    )


# As a classifier -----------------------------------------------------------------------------------------------------


@each_booster
def test_the_threshold_has_the_best_balanced_accuracy_on_the_labeled_rows(Booster, cancer):
    X, truth, y = cancer
    keep = (truth == 1) | (np.arange(len(y)) % 7 == 0)  # skewed classes
    model = Booster(30, random_state=0).fit(X[keep], y[keep])
    X, y = X[keep][y[keep] >= 0], y[keep][y[keep] >= 0]
    decision = model.decision_function(X)
    best = max(balanced_accuracy_score(y, decision > t) for t in np.r_[-np.inf, decision])
    assert balanced_accuracy_score(y, model.predict(X)) == pytest.approx(best)


def test_probabilities_keep_the_share_of_positives_and_the_ranking(cancer):
    X, truth, _ = cancer
    y = np.where(np.arange(len(truth)) % 2, truth, -1)
    model = PNUAUCBoostClassifier(random_state=0).fit(X, y)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    order = np.argsort(model.decision_function(X))
    assert (np.diff(probability[order, 1]) >= 0).all()
    assert probability[:, 1].mean() == pytest.approx(truth.mean(), abs=0.05)
    assert model.calibration_[1] == pytest.approx(np.log(y[y >= 0].mean() / (1 - y[y >= 0].mean())))


def test_works_in_a_pipeline_and_a_grid_search(cancer):
    X, truth, y = cancer
    search = GridSearchCV(
        make_pipeline(StandardScaler(), PNUAUCBoostClassifier(20, random_state=0)),
        {"pnuaucboostclassifier__gamma": [0.5, 1.0]},
        scoring="roc_auc",
        cv=fewlabel.LabeledStratifiedKFold(3),
    ).fit(X, y)
    assert roc_auc_score(truth, search.decision_function(X)) > 0.95
    assert 0.9 < search.best_score_ <= 1.0


@pytest.mark.parametrize("scheme", ["labeled", "pu-un"])
def test_pnu_ada_schemes_rank(scheme, cancer):
    X, truth, y = cancer
    model = PNUAdaBoostClassifier(scheme=scheme, gamma=0.5, random_state=0).fit(X, y)
    assert roc_auc_score(truth, model.decision_function(X)) > 0.9


def test_a_model_that_names_columns_out_of_range_is_refused(cancer):
    """Whatever a damaged file holds, no memory outside the table is read."""
    X, _, y = cancer
    model = PNUAUCBoostClassifier(5, random_state=0).fit(X, y)
    for column in (-1, X.shape[1], 10**12):
        model.splits_["column"][2] = column
        with pytest.raises(ValueError, match="the model is damaged"):
            model.decision_function(X)
