"""Who was labeled: the test, the weights, and what is said when labels cannot tell."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from fewlabel import AutoClassifier
from fewlabel.auto.intervals import interval
from fewlabel.auto.weights import auc
from fewlabel.population import describe_selection, flatten_weights
from fewlabel.row_order import value_order
from fewlabel.rows import Rows, effective_number

N_ROWS = 1200


def made(seed, n_columns=6):
    """A table, the probability of the positive class, and the classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, n_columns))
    margin = 1.2 * X[:, 0] + 0.8 * X[:, 1] * (X[:, 0] > 0) + rng.normal(size=N_ROWS)
    return X, (margin > 0.4).astype(int)


def chosen_rows(X, strength, n, rng):
    """Rows drawn without replacement, more likely with a high first column."""
    return np.argsort(-(strength * X[:, 0] + rng.gumbel(size=len(X))))[:n]


def mask_of(rows):
    labeled = np.zeros(N_ROWS, dtype=bool)
    labeled[rows] = True
    return labeled


@pytest.mark.parametrize("n_labels", [15, 120])
def test_labels_at_random_are_seldom_called_chosen(n_labels):
    alarms = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, _ = made(seed % 5)
        labeled = mask_of(rng.permutation(N_ROWS)[:n_labels])
        alarms.append(describe_selection(X, labeled, list("abcdef")).chosen)
    assert np.mean(alarms) <= 0.1  # 60 draws of 3%


def test_a_choice_by_a_column_is_found_and_named():
    rng = np.random.default_rng(0)
    for seed in range(5):
        X, _ = made(seed)
        found = describe_selection(X, mask_of(chosen_rows(X, 1.0, 120, rng)), list("abcdef"))
        assert found.chosen
        assert found.differences[0].text == "a is higher"
        assert 36 <= found.effective_labels * 1.0001 <= 120


def test_gaps_and_categories_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 2))
    X[rng.random(N_ROWS) < 0.5, 0] = np.nan
    X[:, 1] = rng.random(N_ROWS) < 0.3
    by_gap = mask_of(rng.permutation(np.flatnonzero(np.isnan(X[:, 0])))[:200])
    by_category = mask_of(rng.permutation(np.flatnonzero(X[:, 1] == 1))[:200])
    assert describe_selection(X, by_gap, ["income", "owner"]).differences[0].text == "income is more often missing"
    assert describe_selection(X, by_category, ["income", "owner"]).differences[0].text == "owner is more frequent"


def balanced_rows(seed):
    """As many labels of each class, from a table with 5% positives."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 6))
    y = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=N_ROWS)
    y = y > np.quantile(y, 0.95)
    rows = [rng.permutation(np.flatnonzero(of_class))[:30] for of_class in (y, ~y)]
    return X, y, mask_of(np.concatenate(rows))


def test_rows_that_were_drawn_class_by_class_are_noticed():
    draws = []
    for seed in range(10):
        X, y, labeled = balanced_rows(seed)
        draws.append(describe_selection(X, labeled, list("abcdef"), positive=y))
    assert np.mean([one.asks_share for one in draws]) >= 0.8
    assert np.mean([one.class_draw.low <= 0.026 <= one.class_draw.high for one in draws]) >= 0.8
    found = next(one for one in draws if one.asks_share)
    assert found.text.startswith("Labels seem to be drawn class by class: 50% of the labels are positive")
    assert found.to_dict()["class_draw"]["z"] > 2


def test_a_stated_share_explains_rows_that_were_drawn_class_by_class():
    fitting = []
    for seed in range(10):
        X, y, labeled = balanced_rows(seed)
        share = y[~labeled].mean()
        fitting.append(not describe_selection(X, labeled, list("abcdef"), positive=y, share=share).chosen)
    assert np.mean(fitting) >= 0.8


def test_random_labels_are_not_called_drawn_by_class():
    alarms = []
    for seed in range(30):
        X, y = made(seed % 5)
        labeled = mask_of(np.random.default_rng(seed).permutation(N_ROWS)[:100])
        found = describe_selection(X, labeled, list("abcdef"), positive=y == 1)
        alarms.append(found.class_draw.is_suspected)
    assert np.mean(alarms) <= 0.07  # 30 draws of about 1%


def test_order_of_the_rows_does_not_matter():
    X, _ = made(0)
    labeled = mask_of(chosen_rows(X, 1.0, 150, np.random.default_rng(1)))
    order = np.random.default_rng(2).permutation(N_ROWS)
    forward = describe_selection(X, labeled, list("abcdef"))
    shuffled = describe_selection(X[order], labeled[order], list("abcdef"))
    assert shuffled.pvalue == forward.pvalue
    whole = np.zeros(N_ROWS)
    whole[labeled] = forward.weight
    np.testing.assert_array_equal(shuffled.weight, whole[order][labeled[order]])


def test_weights_move_means_of_the_labeled_rows_to_those_of_the_others():
    moved = []
    for seed in range(5):
        X, y = made(seed)
        labeled = mask_of(chosen_rows(X, 1.0, 300, np.random.default_rng(seed)))
        weight = describe_selection(X, labeled, list("abcdef")).weight
        truth = y[~labeled].mean()
        moved.append((abs(y[labeled].mean() - truth), abs(np.average(y[labeled], weights=weight) - truth)))
    plain, weighted = np.mean(moved, axis=0)
    assert weighted < 0.5 * plain


def test_known_probabilities_take_the_place_of_estimated_ones():
    rng = np.random.default_rng(0)
    X, y = made(0)
    probability = np.where(X[:, 0] > 0, 0.4, 0.05)
    labeled = rng.random(N_ROWS) < probability
    found = describe_selection(X, labeled, list("abcdef"))
    weight = found.by_design(probability[labeled]).weight
    assert np.unique(weight.round(9)).size == 2
    assert np.average(y[labeled], weights=weight) == pytest.approx(y[~labeled].mean(), abs=0.07)
    with pytest.raises(ValueError, match="more than 0 and at most 1"):
        found.by_design(np.zeros(labeled.sum()))


def test_flattened_weights_keep_their_order_and_the_effective_number():
    weight = np.exp(np.random.default_rng(0).normal(scale=2.0, size=100))
    flat = flatten_weights(weight)
    assert effective_number(weight) < 30 <= effective_number(flat) * 1.0001
    np.testing.assert_array_equal(np.argsort(flat), np.argsort(weight))
    even = np.full(10, 3.0)
    np.testing.assert_allclose(flatten_weights(even), 1.0)


@pytest.fixture(scope="module")
def fits():
    """The same table, labeled at random, by a column, and on one side of a value only."""
    X, y = made(3)
    rng = np.random.default_rng(3)
    ways = {
        "random": rng.permutation(N_ROWS)[:150],
        "column": chosen_rows(X, 1.2, 150, rng),
        "one side": rng.permutation(np.flatnonzero(X[:, 0] > 0.5))[:150],
    }
    found = {}
    for way, rows in ways.items():
        few = np.full(N_ROWS, -1)
        few[rows] = y[rows]
        model = AutoClassifier(["logistic regression", "extra trees"], n_repeats=1, random_state=0).fit(X, few)
        truth = roc_auc_score(y[few < 0], model.decision_function(X[few < 0]))
        found[way] = model, truth
    return found


def test_the_headline_says_whom_it_is_about(fits):
    for way in ("random", "column"):
        model, truth = fits[way]
        assert model.selection_.chosen == (way == "column")
        assert model.headline_["population"] == "unlabeled rows"
        assert model.headline_["low"] <= truth <= model.headline_["high"]


def test_labels_on_one_side_only_give_no_number(fits):
    model, _ = fits["one side"]
    assert not model.selection_.can_tell
    assert np.isnan(model.headline_["score"])
    assert "resemble no labeled row" in model.headline_["reason"]


def test_stated_sampling_is_believed():
    X, y = made(3)
    few = np.full(N_ROWS, -1)
    rows = chosen_rows(X, 1.2, 100, np.random.default_rng(0))
    few[rows] = y[rows]
    quick = {"n_repeats": 1, "random_state": 0}
    random = AutoClassifier(["naive Bayes"], labels_drawn="random", **quick).fit(X, few)
    by_columns = AutoClassifier(["naive Bayes"], labels_drawn="by-columns", **quick).fit(X, few)
    assert random.model_.evidence.weight is None
    assert by_columns.model_.evidence.weight is not None
    assert random.headline_["score"] != by_columns.headline_["score"]


def test_labels_of_groups_drawn_at_random_are_no_choice():
    """Rows of one group are alike: as independent rows they would seem chosen."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(150), 8)
    X = rng.normal(size=(150, 4))[group] + 0.05 * rng.normal(size=(N_ROWS, 4))
    y = (X[:, 0] + rng.normal(size=N_ROWS) > 0).astype(int)
    few = np.where(np.isin(group, rng.permutation(150)[:30]), y, -1)
    model = AutoClassifier(["naive Bayes"], n_repeats=1, random_state=0)
    assert describe_selection(X, few >= 0, list("abcd")).chosen
    assert not model.fit(X, few, groups=group).selection_.chosen
    weighted = model.set_params(labels_drawn="by-columns").fit(X, few, groups=group)
    assert len(weighted.model_.evidence.weight) == len(weighted.labeled_rows_)


def test_out_of_fold_scores_are_on_the_scale_of_the_final_model():
    """Ranks among labeled rows that were chosen would put a threshold elsewhere than in the unlabeled rows."""
    X, y = made(4)
    few = np.full(N_ROWS, -1)
    rows = chosen_rows(X, 2.0, 500, np.random.default_rng(4))
    few[rows] = y[rows]
    model = AutoClassifier(["logistic regression"], n_repeats=1, random_state=0).fit(X, few)
    final = model.decision_function(X[model.labeled_rows_])
    assert np.median(model.out_of_fold_ - final) == pytest.approx(0.0, abs=0.1)


def test_rows_beyond_all_labeled_ones_in_a_column_are_not_covered_even_with_few_labels():
    X, _ = made(2)
    rows = np.random.default_rng(2).permutation(np.flatnonzero(X[:, 3] > 0))[:30]
    found = describe_selection(X, mask_of(rows), list("abcdef"))
    assert found.uncovered > 0.45
    assert not found.can_tell


def test_the_curve_corrects_a_choice_by_scores():
    rng = np.random.default_rng(0)
    codes = (rng.random(6000) < 0.3).astype(int)
    scores = rng.normal(1.5 * codes)
    probability = np.where(scores > 1.0, 0.2, 0.01)
    labeled = rng.random(6000) < probability
    rows = Rows(None, codes[labeled], np.arange(2), weight=1 / probability[labeled])
    truth = auc(codes[~labeled] == 1, scores[~labeled], None)
    ranks = scores[labeled][:, None]
    plain = interval(replace(rows, weight=None), ranks, auc, None, 0)[0]
    corrected = interval(rows, ranks, auc, None, 0, unlabeled=scores[~labeled])[0]
    assert truth - plain > 0.05
    assert abs(corrected - truth) < 0.03


def test_weights_of_the_selection_are_in_the_order_of_the_table():
    X, y = made(5)
    labeled = np.argsort(-(X[:, 0] + np.random.default_rng(5).normal(size=len(X))))[:150]
    few = np.where(mask_of(labeled), y, -1)
    turned = np.arange(len(X))[::-1]
    models = [
        AutoClassifier(["naive Bayes"], random_state=0).fit(X[rows], few[rows]) for rows in (turned, turned[::-1])
    ]
    assert_allclose(models[0].selection_.weight[::-1], models[1].selection_.weight)
    assert np.corrcoef(models[1].selection_.weight, X[few >= 0, 0])[0, 1] < -0.5


def test_the_order_of_rows_depends_on_values_not_on_their_type():
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    np.testing.assert_array_equal(value_order(X), value_order(X.astype(np.float64)))
