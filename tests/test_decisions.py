import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta

from fewlabel.decisions import Costs, Evidence, capacity_cut


def normal_rows(n, share, seed, shift=1.5):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    return positive, rng.normal(shift * positive)


@pytest.fixture(scope="module")
def evidence():
    return Evidence(*normal_rows(400, 0.3, 0))


def test_capacity_cut_flags_as_many_rows_as_asked_for():
    scores = np.random.default_rng(0).normal(size=101)
    for n in (1, 50, 100, 101, 500):
        assert np.sum(scores > capacity_cut(scores, n)) == min(n, 101)


def test_capacity_cut_does_not_split_ties_and_flags_no_more_than_asked_for():
    assert np.sum(np.array([3.0, 2.0, 2.0, 1.0]) > capacity_cut([3.0, 2.0, 2.0, 1.0], 2)) == 1
    assert np.sum(np.ones(4) > capacity_cut(np.ones(4), 2)) == 0


def test_figures_are_those_of_the_rows(evidence):
    cut = float(np.median(evidence.scores))
    above, found = evidence.scores > cut, evidence.at(cut, Costs(10, 2))
    miss, alarm = np.mean(evidence.positive & ~above), np.mean(~evidence.positive & above)
    assert found["precision"].value == pytest.approx(evidence.positive[above].mean())
    assert found["recall"].value == pytest.approx(above[evidence.positive].mean())
    assert found["lift"].value == pytest.approx(evidence.positive[above].mean() / evidence.positive.mean())
    assert found["cost"].value == pytest.approx(10 * miss + 2 * alarm)
    assert sum(found[name].value for name in found if "_" in name) == pytest.approx(1.0)
    assert all(one.low <= one.value <= one.high for one in found.values())


def test_band_of_the_precision_is_that_of_clopper_and_pearson(evidence):
    cut = float(np.quantile(evidence.scores, 0.8))
    above = evidence.scores > cut
    n, x = above.sum(), evidence.positive[above].sum()
    found = evidence.at(cut)["precision"]
    assert found.low == pytest.approx(beta.ppf(0.025, x, n - x + 1), abs=0.01)
    assert found.high == pytest.approx(beta.ppf(0.975, x + 1, n - x), abs=0.01)


def test_band_of_the_precision_at_k_covers_the_observed_one():
    covered = []
    for seed in range(200):
        positive, scores = normal_rows(150, 0.2, seed)
        new, new_scores = normal_rows(1000, 0.2, 1000 + seed)
        truth = new[np.argsort(-new_scores)[:40]].mean()
        band = Evidence(positive, scores, random_state=seed).at_top(40, of=1000)["precision"]
        covered.append(band.low <= truth <= band.high)
    assert np.mean(covered) >= 0.93


def test_stated_prior_gives_the_precision_of_the_population():
    positive, scores = normal_rows(40_000, 0.5, 0)
    rare, rare_scores = normal_rows(400_000, 0.01, 1)
    found = Evidence(positive, scores, prior=0.01).at(2.0)
    assert found["precision"].value == pytest.approx(rare[rare_scores > 2.0].mean(), rel=0.05)
    assert found["share"].value == pytest.approx(np.mean(rare_scores > 2.0), rel=0.05)


def test_positives_and_unlabeled_rows_give_the_same_figures_as_labels():
    known, scores = normal_rows(40_000, 0.2, 0)
    positive, positive_scores = normal_rows(10_000, 1.0, 1)
    both = Evidence(
        np.r_[positive, np.zeros(len(known), dtype=bool)],
        np.r_[positive_scores, scores],
        prior=0.2,
        positives_only=True,
    )
    expected, costs = Evidence(known, scores), Costs(5, 1)
    for name in ("precision", "recall", "lift", "share"):
        assert both.at(1.5)[name].value == pytest.approx(expected.at(1.5)[name].value, rel=0.05)
        assert both.at_top(100, of=1000)[name].value == pytest.approx(
            expected.at_top(100, of=1000)[name].value, rel=0.05
        )
    assert both.cost_cut(costs) == pytest.approx(expected.cost_cut(costs), abs=0.1)


def test_no_more_positives_are_found_than_rows_are_flagged():
    positive = np.arange(100) < 20
    evidence = Evidence(positive, np.where(positive, 1.0, 0.0) + np.arange(100) / 50, prior=0.5, positives_only=True)
    for n in (1, 10, 50, 99):
        found = evidence.at_top(n, of=100)
        assert found["true_positive"].value <= n / 100 + 1e-9
        assert found["recall"].value <= n / 100 / 0.5 + 1e-9


def test_bands_include_the_uncertainty_of_the_prior():
    rng = np.random.default_rng(0)
    covered = {None: [], 0.3: []}
    for seed in range(100):
        positive, positive_scores = normal_rows(150, 1.0, seed)
        known, scores = normal_rows(1000, 0.3, 1000 + seed)
        truth = known[scores > 1.0].mean()
        guess = expit(logit(0.3) + 0.3 * rng.normal())
        for width, found in covered.items():
            limits = None if width is None else tuple(expit(logit(guess) + 1.645 * np.array([-width, width])))
            both = np.r_[positive, np.zeros(1000, dtype=bool)], np.r_[positive_scores, scores]
            band = Evidence(*both, prior=guess, prior_interval=limits, positives_only=True).at(1.0)["precision"]
            found.append(band.low <= truth <= band.high)
    assert np.mean(covered[0.3]) >= 0.93
    assert np.mean(covered[None]) < 0.8


def test_an_exact_prior_is_an_interval_of_one_point():
    positive, scores = normal_rows(200, 0.3, 0)
    exact = Evidence(positive, scores, prior=0.2).at(1.0, Costs(5, 1))
    point = Evidence(positive, scores, prior=0.2, prior_interval=(0.2, 0.2)).at(1.0, Costs(5, 1))
    for name, found in exact.items():
        assert point[name] == pytest.approx(found, rel=0.05, abs=0.01)


def test_models_of_fewer_labels_widen_the_favorable_side_only():
    positive, scores = normal_rows(200, 0.3, 0)
    plain, folds = (Evidence(positive, scores, training_share=s).at(1.0, Costs(5, 1)) for s in (1.0, 0.8))
    for name in ("cost", "false_negative", "false_positive"):
        assert folds[name][::2] == plain[name][::2]
        assert folds[name].low == pytest.approx(0.8 * plain[name].low)
    for name in ("precision", "recall"):
        assert folds[name][:2] == plain[name][:2]
        assert folds[name].high > plain[name].high


def test_cut_of_probabilities_is_that_of_their_log_odds():
    positive, scores = normal_rows(300, 0.3, 0)
    for miss in (1, 5, 20):
        cut = Evidence(positive, scores).cost_cut(Costs(miss, 1))
        assert Evidence(positive, expit(scores)).cost_cut(Costs(miss, 1)) == pytest.approx(expit(cut), abs=1e-6)


def test_extreme_costs_flag_all_or_none_of_the_probabilities():
    positive, probability = np.arange(50) % 3 == 0, np.linspace(0, 1, 50)
    assert Evidence(positive, probability).cost_cut(Costs(1e9, 1)) < 0
    assert Evidence(positive, probability).cost_cut(Costs(1, 1e9)) == 1.0
    assert Evidence(positive, np.full(50, 0.3)).cost_cut(Costs(1e9, 1)) < 0.3


def test_no_more_rows_are_flagged_than_asked_for():
    positive, scores = normal_rows(150, 0.1, 0)
    found = Evidence(positive, scores, prior=0.1, prior_interval=(0.02, 0.3)).at_top(20, of=1000)
    assert found["true_positive"].high <= 0.02
    assert found["false_positive"].high <= 0.02


def test_the_band_of_the_flagged_share_holds_both_kinds_of_draws():
    positive, scores = normal_rows(200, 0.3, 0)
    plain, folds = (Evidence(positive, scores, training_share=s).at(0.0)["share"] for s in (1.0, 0.5))
    assert folds.low < plain.low
    assert folds.high == pytest.approx(plain.high, rel=0.05)


def test_the_curve_has_the_cut_of_the_caller():
    positive, scores = normal_rows(200, 0.3, 0)
    table = Evidence(positive, scores).curve(also=0.123)
    assert 0.123 in table["cut"].tolist()
    assert table["cut"].is_monotonic_decreasing


def test_weights_undo_a_choice_of_rows():
    positive, scores = normal_rows(40_000, 0.2, 0)
    share = np.where(scores > 0.5, 0.5, 0.1)  # likely rows are labeled more often
    drawn = np.random.default_rng(1).random(len(share)) < share
    weighted = Evidence(positive[drawn], scores[drawn], sample_weight=1 / share[drawn])
    whole, costs = Evidence(positive, scores), Costs(5, 1)
    for name in ("precision", "recall", "share", "false_negative"):
        assert weighted.at(1.0)[name].value == pytest.approx(whole.at(1.0)[name].value, rel=0.05)
    assert weighted.prior == pytest.approx(0.2, abs=0.01)
    assert weighted.cost_cut(costs) == pytest.approx(whole.cost_cut(costs), abs=0.05)
    equal = Evidence(positive[:200], scores[:200], sample_weight=np.full(200, 7.0))
    assert equal.at(1.0) == Evidence(positive[:200], scores[:200]).at(1.0)
    with pytest.raises(ValueError, match="greater than 0 per row"):
        Evidence([True, False], [0.0, 1.0], sample_weight=[1.0, 0.0])


def test_cost_cut_is_where_the_probability_breaks_even():
    positive, scores = normal_rows(50_000, 0.3, 0)
    # Two normal classes of equal variance: log-odds = shift * score - shift**2 / 2 + logit(share)
    expected = (np.log(1 / 10) - np.log(0.3 / 0.7)) / 1.5 + 0.75
    assert Evidence(positive, scores).cost_cut(Costs(10, 1)) == pytest.approx(expected, abs=0.05)


def test_cost_cut_does_not_depend_on_unit_or_place_of_the_scores(evidence):
    moved = Evidence(evidence.positive, 1e6 * evidence.scores - 3e7)
    assert moved.cost_cut(Costs(5, 1)) == pytest.approx(1e6 * evidence.cost_cut(Costs(5, 1)) - 3e7, rel=1e-4)
    assert evidence.cost_cut(Costs(500, 100)) == pytest.approx(evidence.cost_cut(Costs(5, 1)))


def test_precision_cut_flags_the_most_rows_of_that_precision(evidence):
    cut = evidence.precision_cut(0.8)
    assert evidence.at(cut)["precision"].value >= 0.8
    lower = evidence.scores[evidence.scores < cut]
    assert all(evidence.at(one)["precision"].value < 0.8 for one in lower[1:])
    with pytest.raises(ValueError, match=r"no cut reaches a precision of 0.9 .* the highest is 0\.5"):
        Evidence([True, False], [1.0, 1.0]).precision_cut(0.9)


def test_all_rows_flagged_and_none(evidence):
    assert evidence.at(-np.inf)["recall"].value == 1.0
    assert evidence.at(-np.inf)["lift"].value == pytest.approx(1.0)
    assert evidence.at(np.inf)["recall"].value == 0.0
    assert evidence.at(np.inf)["precision"].high == pytest.approx(1.0, abs=0.05)


def test_curve_goes_from_few_rows_to_all(evidence):
    curve = evidence.curve(Costs(5, 1))
    assert curve["share"].is_monotonic_increasing
    assert curve["recall"].iloc[-1] == 1.0
    assert (curve["cost_low"] <= curve["cost"]).all()


def test_order_of_the_rows_does_not_matter(evidence):
    again = Evidence(evidence.positive[::-1], evidence.scores[::-1])
    assert again.at_top(30, of=300) == evidence.at_top(30, of=300)
    assert again.cost_cut(Costs(5, 1)) == evidence.cost_cut(Costs(5, 1))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([True, True], [0.0, 1.0]), {}, "rows of both kinds"),
        (([True, False], [[0.0, 1.0]]), {}, "expected equal 1-D"),
        (([True, False], [0.0, 1.0]), {"positives_only": True}, "needs prior"),
        (([True, False], [0.0, 1.0]), {"prior": 0.2, "prior_interval": (0.3, 0.4)}, "does not contain prior=0.2"),
        (([True, False], [0.0, 1.0]), {"training_share": 0.0}, "more than 0 and at most 1"),
    ],
)
def test_bad_evidence(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        Evidence(*arguments, **options)


def test_bad_requests(evidence):
    with pytest.raises(ValueError, match="expected from 1 to 10"):
        evidence.at_top(11, of=10)
    with pytest.raises(ValueError, match="greater than 0"):
        evidence.cost_cut(Costs(0, 1))
    with pytest.raises(ValueError, match="1 or more"):
        capacity_cut([1.0], 0)
