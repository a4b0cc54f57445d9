"""Boosters of symmetric trees: the slow version from the equations, limit cases, and what the house rules ask."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import log_loss, roc_auc_score

from fewlabel import PNUAUCBoostClassifier, PUAdaBoostClassifier, TreeAUCBoostClassifier, TreePUBoostClassifier
from fewlabel.boosting import booster, pairs, stopping
from fewlabel.boosting._tree_pu import PURisk
from fewlabel.boosting.pairs import PairLoss
from fewlabel.boosting.rows import Rows
from fewlabel.threads import RowThreads
from reference import symmetric_trees as reference
from reference.tables import tables, to_y

GREEDY = dict(splitter="best", split_noise=0.0, bootstrap=False, max_features=1.0)
STUMPS = dict(**GREEDY, max_depth=1, loss="exponential", l2_regularization=0.0, max_bins=255)


@pytest.fixture(scope="module")
def rows():
    """Rows of two classes with an interaction, gaps, and half of the labels hidden."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.5 * rng.normal(size=300) > 0).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.where(rng.random(300) < 0.5, y, -1), y


@settings(max_examples=100, deadline=None)
@given(
    table=tables(),
    gamma=st.sampled_from([0.3, 0.9, 1.0]),
    loss=st.sampled_from(["logistic", "exponential"]),
    max_depth=st.integers(1, 3),
    l2=st.sampled_from([0.3, 3.0]),
)
def test_greedy_trees_equal_the_slow_version(table, gamma, loss, max_depth, l2):
    X, signs, weight = table
    settings = dict(max_depth=max_depth, learning_rate=0.3, loss=loss, gamma=gamma)
    model = TreeAUCBoostClassifier(4, l2_regularization=l2, max_bins=255, **settings, **GREEDY)
    if (
        not (np.nanmax(X, axis=0, initial=-np.inf) > np.nanmin(X, axis=0, initial=np.inf)).any()
        and not np.isnan(X).any()
    ):
        with pytest.warns(UserWarning, match="No split"):
            model.fit(X, to_y(signs), weight)
        return
    model.fit(X, to_y(signs), weight)
    slow = reference.boost(X, signs, weight, n_estimators=4, l2=l2, **settings)
    assert model.n_iter_ == len(slow)
    for splits, values, expected in zip(model.splits_, model.leaf_values_, slow):
        for split, (column, theta, missing_up) in zip(splits, expected["splits"]):
            assert split["column"] == column
            assert split["threshold"] == pytest.approx(theta, rel=1e-12)
            assert missing_up is None or split["missing_up"] == missing_up
        for leaf, value in expected["values"].items():
            assert values[leaf] == pytest.approx(value, rel=1e-6, abs=1e-9)


def derivatives(make_loss, weights, scores, totals):
    """Derivatives of a loss at rows with these weights and scores, by group; they do not depend on the codes."""
    bounds = np.cumsum([0, *map(len, weights)])
    codes = np.zeros((1, len(scores)), dtype=np.uint8)
    rows = Rows(codes, 3, bounds, scores, np.concatenate(weights), np.ones(3))
    rows.totals = totals
    assert make_loss(rows).set_derivatives()
    return rows.derivatives


@pytest.mark.parametrize("gamma", [1.0, 0.6])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_derivatives_of_pairs(gamma, loss):
    rng = np.random.default_rng(1)
    signs = np.repeat([1, 0, -1], [7, 9, 11])
    weight, f = rng.random(27) + 0.1, 2 * rng.normal(size=27)
    totals = [weight[signs == s].sum() for s in (1, 0, -1)]
    weights = [weight[signs == s] / weight[signs == s].sum() for s in (1, 0, -1)]
    found = derivatives(lambda rows: PairLoss(loss, gamma, rows), weights, f, totals)
    np.testing.assert_allclose(
        found, reference.derivatives(f, reference.pair_terms(signs, weight, gamma), loss), rtol=1e-9
    )


@pytest.mark.parametrize("spread", [0.0, 1.0, 40.0, 500.0])
@pytest.mark.parametrize("most_pairs", [0, 4_000_000])
@pytest.mark.filterwarnings("ignore:overflow encountered in exp")  # in the slow version, where it does no harm
def test_sums_over_pairs_are_within_1e_6(monkeypatch, spread, most_pairs):
    monkeypatch.setattr(pairs, "MOST_PAIRS", most_pairs)
    rng = np.random.default_rng(2)
    signs = np.repeat([1, 0, -1], [300, 200, 800])
    weight, scores = rng.random(1300), spread * rng.normal(size=1300)
    totals = [weight[signs == s].sum() for s in (1, 0, -1)]
    weights = [weight[signs == s] / total for s, total in zip((1, 0, -1), totals)]
    found = derivatives(lambda rows: PairLoss("logistic", 0.7, rows), weights, scores, totals)
    expected = reference.derivatives(scores, reference.pair_terms(signs, weight, 0.7), "logistic")
    scale = 0.5 * (totals[0] + totals[2]) * np.concatenate(weights)
    assert (np.abs(found - np.array(expected)) / scale).max() < 1e-6


def test_deeper_trees_of_pnu_aucboost_are_greedy_trees_on_the_same_pairs(rows):
    X, _, y = rows
    same = dict(max_depth=3, learning_rate=0.2, max_bins=32, max_features=0.5, random_state=3)
    pairs = PNUAUCBoostClassifier(20, **same).fit_ranking(X, y)
    trees = TreeAUCBoostClassifier(20, loss="exponential", **{**GREEDY, **same}, l2_regularization=0.0).fit_ranking(
        X, y
    )
    np.testing.assert_array_equal(pairs.splits_, trees.splits_)
    np.testing.assert_array_equal(pairs.leaf_values_, trees.leaf_values_)
    with pytest.raises(AttributeError, match="shape_functions_ needs trees with one split"):
        _ = pairs.shape_functions_


def test_early_stopping_keeps_the_best_round_on_held_out_rows(rows):
    X, few, y = rows
    form = dict(n_estimators=80, learning_rate=0.5, max_depth=3, early_stopping=True, random_state=0)
    stopped = TreeAUCBoostClassifier(**form, n_iter_no_change=8, validation_fraction=0.4).fit_ranking(X, few)
    longer = clone(stopped).set_params(n_iter_no_change=80).fit_ranking(X, few)
    held_out = stopped._held_out(X, np.where(few < 0, 0, 2 * few - 1))
    aucs = [roc_auc_score(y[held_out], stage[held_out]) for stage in longer.staged_decision_function(X)]
    assert stopped.n_iter_ == int(np.argmax(aucs[: stopped.n_iter_ + 8])) + 1 < 80
    np.testing.assert_array_equal(stopped.splits_, longer.splits_[: stopped.n_iter_])


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_plain_trees_of_one_split_are_the_stump_booster(rows, gamma):
    X, few, _ = rows
    same = dict(gamma=gamma, learning_rate=0.2, random_state=3)
    stumps = PNUAUCBoostClassifier(40, max_features=0.5, **same).fit(X, few)
    trees = TreeAUCBoostClassifier(40, **{**STUMPS, "max_features": 0.5}, **same).fit(X, few)
    np.testing.assert_array_equal(trees.decision_function(X), stumps.decision_function(X))
    np.testing.assert_array_equal(trees.predict_proba(X), stumps.predict_proba(X))
    np.testing.assert_array_equal(trees.feature_importances_, stumps.feature_importances_)
    for one, other in zip(trees.shape_functions_, stumps.shape_functions_, strict=True):
        assert one.column == other.column
        np.testing.assert_array_equal(one.values, other.values)


def test_plain_stumps_draw_the_square_root_of_the_columns(rows):
    X, few, _ = rows
    settings = dict(gamma=1.0, learning_rate=0.2, random_state=3)
    stumps = PNUAUCBoostClassifier(20, max_features=3, **settings).fit(X, few)  # of 6 columns
    trees = TreeAUCBoostClassifier(20, **{**STUMPS, "max_features": "sqrt"}, **settings).fit(X, few)
    np.testing.assert_array_equal(trees.decision_function(X), stumps.decision_function(X))


def test_stumps_continue(rows):
    X, few, _ = rows
    model = TreeAUCBoostClassifier(10, warm_start=True, random_state=0, **STUMPS).fit(X, few)
    model.set_params(n_estimators=25).fit(X, few)
    once = TreeAUCBoostClassifier(25, random_state=0, **STUMPS).fit(X, few)
    np.testing.assert_allclose(model.decision_function(X), once.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_a_small_step_of_greedy_trees_decreases_the_objective(rows, loss):
    X, few, _ = rows
    signs = np.select([few == 1, few == 0], [1, -1], 0)
    terms = reference.pair_terms(signs, np.ones(len(signs)), 0.8)
    model = TreeAUCBoostClassifier(30, gamma=0.8, loss=loss, learning_rate=0.05, **GREEDY).fit(X, few)
    losses = [reference.objective(f, terms, loss) for f in model.staged_decision_function(X)]
    assert (np.diff(losses) < 0).all()


@pytest.mark.parametrize(
    "settings",
    [{}, dict(gamma=0.8), dict(split_noise=0.5, splitter="best"), dict(loss="exponential", max_depth=2)],
    ids=["default", "unlabeled pairs", "noise", "exponential"],
)
def test_order_and_threads_do_not_matter(rows, monkeypatch, settings):
    monkeypatch.setattr("fewlabel.threads._CELLS_PER_THREAD", 50)
    X, few, _ = rows
    weight = np.random.default_rng(4).random(len(X)) + 0.5
    order = np.random.default_rng(5).permutation(len(X))
    model = TreeAUCBoostClassifier(20, random_state=0, **settings)
    scores = model.fit(X, few, weight).decision_function(X)
    for n_jobs in (1, 3):
        other = TreeAUCBoostClassifier(20, random_state=0, n_jobs=n_jobs, **settings)
        other.fit(X[order], few[order], weight[order])
        np.testing.assert_array_equal(other.splits_, model.splits_)
        np.testing.assert_array_equal(other.decision_function(X), scores)


def test_many_pairs_order_and_threads(rows, monkeypatch):
    monkeypatch.setattr("fewlabel.threads._CELLS_PER_THREAD", 50)
    monkeypatch.setattr(pairs, "MOST_PAIRS", 0)
    X, few, _ = rows
    order = np.random.default_rng(5).permutation(len(X))
    model = TreeAUCBoostClassifier(20, random_state=0).fit(X, few)
    other = TreeAUCBoostClassifier(20, random_state=0, n_jobs=3).fit(X[order], few[order])
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("noise", [dict(), dict(split_noise=1.0, splitter="best")])
def test_repeated_rows_equal_weights(rows, noise, monkeypatch):
    monkeypatch.setattr(pairs, "MOST_PAIRS", 0)  # repeated rows have more pairs, and the same sums
    X, few, _ = rows
    X = X.round(1)  # at most 255 values per column: the bins are the same
    times = np.random.default_rng(6).integers(1, 4, len(X))
    settings = dict(n_estimators=30, max_bins=255, random_state=0, **noise)
    repeated = TreeAUCBoostClassifier(**settings).fit(np.repeat(X, times, axis=0), np.repeat(few, times))
    weighted = TreeAUCBoostClassifier(**settings).fit(X, few, times)
    np.testing.assert_allclose(repeated.decision_function(X), weighted.decision_function(X), rtol=1e-6)


def test_without_a_penalty_the_scale_of_the_weights_does_not_matter(rows):
    X, few, _ = rows
    model = TreeAUCBoostClassifier(20, l2_regularization=0.0, split_noise=1.0, splitter="best", random_state=0)
    scores = [model.fit(X, few, np.full(len(X), w)).decision_function(X) for w in (1.0, 1024.0)]
    np.testing.assert_allclose(*scores, rtol=1e-9)


def test_monotone_transformations_do_not_matter(rows):
    X, few, _ = rows
    model = TreeAUCBoostClassifier(30, random_state=0).fit(X, few)
    other = TreeAUCBoostClassifier(30, random_state=0).fit(np.exp(X), few)
    np.testing.assert_allclose(other.leaf_values_, model.leaf_values_, rtol=1e-12)


def test_trees_learn_an_interaction_that_stumps_cannot(rows):
    from sklearn.metrics import roc_auc_score

    X, few, y = rows
    hidden = few == -1
    trees = TreeAUCBoostClassifier(random_state=0).fit(X, few).decision_function(X[hidden])
    stumps = PNUAUCBoostClassifier(random_state=0).fit(X, few).decision_function(X[hidden])
    assert roc_auc_score(y[hidden], trees) > roc_auc_score(y[hidden], stumps) + 0.05


def test_the_default_penalty_keeps_trees_from_fitting_noise():
    """Binary columns and noisy labels: with a small penalty, trees fit every cell of the table."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, size=(2000, 10)).astype(float)
    y = (rng.random(2000) < 0.05 + 0.2 * X[:, :3].sum(axis=1)).astype(int)
    few = np.where(np.arange(2000) < 300, y, -1)
    hidden = few == -1
    areas = []
    for parameters in ({}, {"l2_regularization": 0.5}):
        model = TreeAUCBoostClassifier(random_state=0, **parameters).fit_ranking(X, few)
        areas.append(roc_auc_score(y[hidden], model.decision_function(X[hidden])))
    assert areas[0] > areas[1] + 0.02


def test_continued_fit(rows):
    X, few, _ = rows
    settings = dict(splitter="random", random_state=0, warm_start=True)  # noise would fade over other rounds
    model = TreeAUCBoostClassifier(15, **settings).fit(X, few).set_params(n_estimators=40).fit(X, few)
    once = TreeAUCBoostClassifier(40, **settings).fit(X, few)
    np.testing.assert_array_equal(model.decision_function(X), once.decision_function(X))
    with pytest.raises(ValueError, match="must be at least the 40 rounds"):
        model.set_params(n_estimators=20).fit(X, few)
    with pytest.raises(ValueError, match="max_depth=3 differs from the depth 6"):
        model.set_params(n_estimators=50, max_depth=3).fit(X, few)


@pytest.mark.parametrize("splitter", ["mixed", "random", "best"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_tree_grown_at_once_is_the_tree_grown_level_by_level(rows, monkeypatch, splitter, weighted):
    X, few, _ = rows
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float) if weighted else None
    monkeypatch.setattr(pairs, "MOST_PAIRS", 0)  # exact sums over pairs need rows in one part
    model = TreeAUCBoostClassifier(20, splitter=splitter, gamma=0.9, random_state=0)
    at_once = clone(model).fit_ranking(X, few, weight)
    monkeypatch.setattr(RowThreads, "n_ranges", lambda threads, n_rows, n_columns=1: 2)
    by_levels = clone(model).fit_ranking(X, few, weight)
    np.testing.assert_array_equal(at_once.splits_, by_levels.splits_)
    np.testing.assert_array_equal(at_once.leaf_values_, by_levels.leaf_values_)


def test_mixed_trees_try_all_cuts_and_one_cut_in_turn(rows):
    X, few, _ = rows

    def splits(splitter, n_trees, **settings):
        # Steps of almost no length: every tree sees the gradients at 0, and depends on its own draws only.
        model = TreeAUCBoostClassifier(n_trees, splitter=splitter, learning_rate=1e-12, random_state=0, **settings)
        return model.fit_ranking(X, few).splits_[["column", "threshold", "missing_up"]]

    mixed, random, best = (splits(splitter, 4) for splitter in ("mixed", "random", "best"))
    np.testing.assert_array_equal(mixed[0::2], best[0::2])
    np.testing.assert_array_equal(mixed[1::2], random[1::2])
    np.testing.assert_array_equal(random, splits("random", 4, split_noise=5.0))  # noise is for all cuts only


def test_noise_fades_and_is_off_at_zero(rows):
    X, few, _ = rows
    greedy = TreeAUCBoostClassifier(1, random_state=0, **GREEDY).fit(X, few)
    other_seed = TreeAUCBoostClassifier(1, random_state=1, **GREEDY).fit(X, few)
    noisy = TreeAUCBoostClassifier(1, random_state=0, **GREEDY | dict(split_noise=2.0)).fit(X, few)
    np.testing.assert_array_equal(greedy.splits_, other_seed.splits_)
    assert not np.array_equal(greedy.splits_, noisy.splits_)


def test_float32_rows_score_as_their_float64_values(rows):
    X, few, _ = rows
    X32 = X.astype(np.float32)
    model = TreeAUCBoostClassifier(30, random_state=0).fit(X, few)
    np.testing.assert_array_equal(model.decision_function(X32), model.decision_function(X32.astype(float)))


@pytest.mark.parametrize("splitter", ["mixed", "random", "best"])
def test_a_column_that_matters_only_by_its_gaps(splitter):
    rng = np.random.default_rng(3)
    y = np.tile([0, 1], 50)
    X = np.where(y[:, None] == 1, np.nan, rng.normal(size=(100, 1)))
    scores = TreeAUCBoostClassifier(20, splitter=splitter, random_state=0).fit(X, y).decision_function(X)
    assert scores[y == 1].min() > scores[y == 0].max()


def test_attributes(rows, capsys):
    X, few, _ = rows
    model = TreeAUCBoostClassifier(12, random_state=0, verbose=1).fit(X, few)
    assert capsys.readouterr().out.count("round") == 12
    assert model.n_iter_ == 12
    assert model.splits_.shape == (12, 6)
    assert model.leaf_values_.shape == (12, 64)
    assert model.feature_importances_.sum() == pytest.approx(1)
    stages = list(model.staged_decision_function(X))
    np.testing.assert_allclose(stages[-1], model.decision_function(X), rtol=1e-12)
    with pytest.raises(AttributeError, match="fit with max_depth=1"):
        model.shape_functions_  # noqa: B018


@pytest.mark.parametrize("form", [dict(gamma=0.6), dict(loss="exponential", gamma=0.6), dict(), STUMPS])
def test_train_loss_is_that_of_the_scores(rows, form):
    X, few, _ = rows
    rng = np.random.default_rng(5)
    signs, weight = np.where(few < 0, 0, 2 * few - 1), rng.integers(1, 4, len(few)).astype(float)
    model = TreeAUCBoostClassifier(5, learning_rate=0.3, random_state=0, warm_start=True, **form).fit(X, few, weight)
    model.set_params(n_estimators=9).fit(X, few, weight)
    gamma = form.get("gamma", 1.0)
    terms, n = reference.pair_terms(signs, weight, gamma), weight[signs != 0].sum()
    expected = [2 * reference.objective(f, terms, model.loss) / n for f in model.staged_decision_function(X)]
    np.testing.assert_allclose(model.train_loss_, expected, rtol=1e-6)


def test_train_loss_of_positives_and_unlabeled_rows(rows):
    X, _, y = rows
    model = TreePUBoostClassifier(8, prior=0.4, correction=0.5, random_state=0).fit(X, np.where(y == 1, 1, -1))
    H = np.array(list(model.staged_decision_function(X))) - model.offset_
    losses = 0.4 * np.exp(-H[:, y == 1]).mean(1) + np.exp(H[:, y == 0]).mean(1) - 0.2 * np.exp(H[:, y == 1]).mean(1)
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-9)


def test_shape_functions_sum_to_the_score(rows):
    X, few, _ = rows
    model = TreeAUCBoostClassifier(60, max_depth=1, random_state=0).fit(X, few)
    total = np.full(len(X), model.offset_)
    for function in model.shape_functions_:
        x = X[:, function.column]
        total += np.where(
            np.isnan(x), function.missing, function.values[np.searchsorted(function.edges, x) % len(function.values)]
        )
    np.testing.assert_allclose(total, model.decision_function(X), rtol=1e-9, atol=1e-12)


def test_constant_columns():
    with pytest.warns(UserWarning, match="are all columns constant"):
        model = TreeAUCBoostClassifier(3).fit(np.ones((6, 2)), [0, 0, 1, 1, -1, -1])
    assert np.ptp(model.decision_function(np.ones((4, 2)))) == 0


def test_damaged_model_is_refused(rows):
    X, few, _ = rows
    model = TreeAUCBoostClassifier(3, random_state=0).fit(X, few)
    model.splits_["column"][0, 0] = 99
    with pytest.raises(ValueError, match="the model is damaged"):
        model.decision_function(X)


def pu_risk(H, positive, prior, correction):
    """The risk of Ada-PU, from its definition."""
    P, U = H[positive], H[~positive]
    return prior * np.exp(-P).mean() + np.exp(U).mean() - correction * prior * np.exp(P).mean()


def test_derivatives_of_the_pu_risk():
    rng = np.random.default_rng(8)
    H, positive = rng.normal(size=12), np.arange(12) < 5
    weights = [np.full(5, 1 / 5), np.full(7, 1 / 7), np.empty(0)]
    gradient, bound = derivatives(lambda rows: PURisk(0.3, 0.7, 0.0, rows), weights, H, [5, 7, 0])
    size = 2 * 5 * 7 / 12
    for i in range(12):
        up, down = H + 1e-5 * (np.arange(12) == i), H - 1e-5 * (np.arange(12) == i)
        slope = (pu_risk(up, positive, 0.3, 0.7) - pu_risk(down, positive, 0.3, 0.7)) / 2e-5
        assert gradient[i] == pytest.approx(-size * slope, rel=1e-6)
        assert bound[i] >= abs(gradient[i]) * (1 - 1e-12)


def test_positives_like_the_unlabeled_rows_teach_nothing():
    rng = np.random.default_rng(9)
    X = np.repeat(rng.normal(size=(40, 3)), 2, axis=0)
    y = np.tile([1, -1], 40)
    model = TreePUBoostClassifier(10, prior=0.5, correction=1.0, bootstrap=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.leaf_values_, 0, atol=1e-6)


def test_pu_trees_find_the_positives(rows):
    from sklearn.metrics import roc_auc_score

    X, few, y = rows
    y_pu = np.where(few == 1, 1, -1)
    model = TreePUBoostClassifier(prior=0.35, random_state=0).fit(X, y_pu)
    hidden = y_pu == -1
    stumps = PUAdaBoostClassifier(prior=0.35, random_state=0).fit(X, y_pu)
    found, by_stumps = (roc_auc_score(y[hidden], m.decision_function(X[hidden])) for m in (model, stumps))
    assert found > by_stumps + 0.02
    stopped = TreePUBoostClassifier(prior=0.35, stop_risk=0.8, random_state=0).fit(X, y_pu)
    assert stopped.n_iter_ < model.n_iter_


def test_auto_rounds_of_few_labels(rows):
    X, few, _ = rows
    model = TreeAUCBoostClassifier(max_depth=1, random_state=0).fit(X, few)
    assert model.n_iter_ == booster.FEW_LABELS_ROUNDS


@pytest.mark.parametrize("noisy", [True, False])
def test_auto_rounds_by_the_out_of_fold_auc(rows, monkeypatch, noisy):
    monkeypatch.setattr(booster, "FEW_LABELS", 0)
    X, few, _ = rows
    if noisy:  # labels without any relation to the columns: more rounds do not help
        few = np.where(few == -1, -1, np.random.default_rng(0).integers(0, 2, len(few)))
    order = np.random.default_rng(5).permutation(len(X))
    model = TreeAUCBoostClassifier(learning_rate=0.1, random_state=0).fit(X, few)
    other = TreeAUCBoostClassifier(learning_rate=0.1, random_state=0).fit(X[order], few[order])
    assert other.n_iter_ == model.n_iter_ <= booster.MOST_ROUNDS
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


def test_best_round_stops_at_the_peak():
    scores = np.zeros(4)

    def rounds():
        for t in range(2000):  # the two positives (last rows) rise until round 300, then sink
            scores[:] = np.array([0.0, 10.0, 1.0, 11.0]) - 20.0 * (abs(t - 300) > 150) * np.array([0, 0, 1, 1])
            yield t

    positive = np.array([False, False, True, True])
    found, [kept] = stopping.best_round([rounds()], [scores], [np.arange(4)], positive, np.ones(4), RowThreads(1))
    assert 150 <= found <= 450
    np.testing.assert_array_equal(kept, [0.0, 10.0, 1.0, 11.0])  # the scores of that round, not of the last one


def test_the_folds_that_choose_the_rounds_calibrate(monkeypatch):
    """To fit others would take as long again; probabilities are as good."""
    monkeypatch.setattr(booster, "FEW_LABELS", 200)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=1200) > 0).astype(int)
    model = TreeAUCBoostClassifier(learning_rate=0.1, random_state=0)
    fits = []
    fit = TreeAUCBoostClassifier._fit
    monkeypatch.setattr(TreeAUCBoostClassifier, "_fit", lambda *args: fits.append(1) or fit(*args))
    by_choice = model.fit(X[:400], y[:400]).predict_proba(X[400:])[:, 1]
    assert len(fits) == 1
    monkeypatch.setattr(booster, "MOST_OUT_OF_FOLD", 0)
    by_fits = model.fit(X[:400], y[:400]).predict_proba(X[400:])[:, 1]
    assert len(fits) == 5
    assert log_loss(y[400:], by_choice) < log_loss(y[400:], by_fits) + 0.01
