"""Thresholds and probabilities, beside slow versions of the same definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, logit

from fewlabel.calibration import (
    balanced_threshold,
    calibrate,
    calibrate_pu,
    likelihood_slope,
    prior_shift,
    prior_threshold,
    pu_slope,
    score_folds,
    sigmoid_from_few,
    slope_shrinkage,
    softmax_from_few,
    softmax_slope,
)


@st.composite
def labeled_rows(draw):
    """Scores with ties, both classes, whole and fractional weights."""
    n = draw(st.integers(2, 25))
    scores = np.array(draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)), dtype=float)
    positive = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    positive[:2] = True, False
    weight = np.array(draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    return scores, positive, weight


def balanced_accuracy(decided, positive, weight):
    right = np.average(decided[positive], weights=weight[positive])
    return 0.5 * (right + np.average(~decided[~positive], weights=weight[~positive]))


@given(labeled_rows())
def test_no_cut_has_a_better_balanced_accuracy(rows):
    scores, positive, weight = rows
    order = np.argsort(scores, kind="stable")
    cut = balanced_threshold(scores[order], positive[order], weight[order])
    tried = np.arange(-4.5, 5.0)  # between any two scores, and outside
    best = max(balanced_accuracy(scores > c, positive, weight) for c in tried)
    assert balanced_accuracy(scores > cut, positive, weight) == pytest.approx(best)


def test_the_balanced_cut_is_mid_way():
    assert balanced_threshold(np.array([0.0, 1.0, 4.0, 5.0]), np.array([False, False, True, True]), np.ones(4)) == 2.5


@pytest.mark.parametrize(
    ("scores", "positive", "decided"),
    [
        ([0.0, 1.0], [True, False], [False, False]),  # every cut is worse than calling all rows negative
        ([2.0, 2.0], [True, False], [False, False]),
        ([1.0, np.nextafter(1.0, 2.0)], [False, True], [False, True]),  # no number lies between the scores
    ],
)
def test_balanced_cuts_at_the_limits(scores, positive, decided):
    cut = balanced_threshold(np.array(scores), np.array(positive), np.ones(2))
    assert (np.array(scores) > cut).tolist() == decided


@given(labeled_rows(), st.floats(0.01, 0.99))
def test_no_cut_leaves_a_share_nearer_to_the_prior(rows, prior):
    scores, _, weight = rows
    order = np.argsort(scores, kind="stable")
    scores, weight = scores[order], weight[order] / weight.sum()
    cut = prior_threshold(scores, weight, prior)
    inner = [c for c in np.arange(-3.5, 4.0) if scores[0] < c < scores[-1]]
    if not inner:
        assert not (scores > cut).any()
        return
    nearest = min(abs(weight[scores > c].sum() - prior) for c in inner)
    assert abs(weight[scores > cut].sum() - prior) == pytest.approx(nearest, abs=1e-12)


def test_prior_cuts_by_hand():
    scores, weight = np.array([0.0, 1.0, 1.0, 2.0, 4.0]), np.full(5, 0.2)
    assert prior_threshold(scores, weight, 0.2) == 3.0
    assert prior_threshold(scores, weight, 0.45) == 1.5
    assert prior_threshold(scores, weight, 0.99) == 0.5
    assert prior_threshold(np.ones(4), np.full(4, 0.25), 0.5) == 1.0


@pytest.mark.parametrize("scale", [0.1, 1 / 3, 2.0**10])
def test_rounding_does_not_choose_between_cuts_that_are_equally_good(scale):
    scores, weight = np.arange(11.0), np.array([1.0, 2, 1, 3, 2, 1, 1, 2, 3, 1, 2])
    for cut in range(9):  # two shares are equally far from the prior
        prior = (weight[cut + 1 :].sum() + weight[cut + 2 :].sum()) / 2 / weight.sum()
        assert prior_threshold(scores, weight * scale / (weight * scale).sum(), prior) == cut + 0.5
    positive = np.array([False, True, False, True, True, True, False])
    rows = np.arange(7.0), positive, np.array([1.0, 1, 1, 1, 1, 1, 1])
    assert balanced_threshold(*rows[:2], scale * rows[2]) == balanced_threshold(*rows)


def test_no_cut_is_between_scores_that_differ_by_rounding():
    scores = np.array([0.0, 1.0, 1.0 + 3e-16, 1.0 - 3e-16, 2.0, 3.0])
    positive = np.array([False, False, True, False, True, True])
    expected = calibrate(np.round(scores), positive)
    found = calibrate(scores, positive)
    assert found.offset == pytest.approx(expected.offset, abs=1e-12)
    np.testing.assert_allclose(found.log_odds, expected.log_odds, rtol=1e-9)
    unlabeled = np.array([True, False, False, False, False, False])
    for prior in (0.3, 0.5, 0.7):
        offsets = [calibrate_pu(s, unlabeled, prior).offset for s in (scores, np.round(scores))]
        assert offsets[0] == pytest.approx(offsets[1], abs=1e-12)


def slow_likelihood_slope(decision, positive, weight):
    groups = [weight[positive], weight[~positive]]
    size = np.where(positive, *(w.sum() for w in groups))
    n_rows = np.where(positive, *(w.sum() ** 2 / (w**2).sum() for w in groups))
    target = np.where(positive, (n_rows + 1) / (n_rows + 2), 1 / (n_rows + 2))

    def loss(slope):
        z = slope * decision
        return weight / size @ (target * np.logaddexp(0, -z) + (1 - target) * np.logaddexp(0, z))

    return minimize_scalar(loss, bounds=(0, 1e3), method="bounded", options={"xatol": 1e-9})


@settings(deadline=None)
@given(labeled_rows())
def test_the_likelihood_slope_minimizes_the_log_loss(rows):
    scores, positive, weight = rows
    decision = scores - 0.25
    slope, slow = likelihood_slope(decision, positive, weight), slow_likelihood_slope(decision, positive, weight)
    assert slope >= 0
    assert slope == pytest.approx(slow.x, abs=1e-4, rel=1e-4)


def test_likelihood_slopes_at_the_limits():
    positive, weight = np.array([True, False]), np.ones(2)
    assert likelihood_slope(np.zeros(2), positive, weight) == 0
    assert likelihood_slope(np.array([-1.0, 1.0]), positive, weight) == 0  # the wrong way around
    # Separable: one row of each class at distance 1 has Platt's target 2/3 as its probability.
    assert expit(likelihood_slope(np.array([1.0, -1.0]), positive, weight)) == pytest.approx(2 / 3)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_the_softmax_slope_minimizes_the_log_loss(seed, n_classes):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 12)])
    outputs = rng.normal(size=(len(codes), n_classes)) + np.eye(n_classes)[codes]
    class_weight = rng.uniform(0.5, 2.0, n_classes)
    slip = 1 / (np.bincount(codes)[codes] + 2)
    target = np.where(np.eye(n_classes, dtype=bool)[codes], (1 - slip)[:, None], (slip / (n_classes - 1))[:, None])

    def loss(slope):
        return -(class_weight[codes] @ (target * log_softmax(slope * outputs, axis=1)).sum(axis=1))

    slow = minimize_scalar(loss, bounds=(0, 100), method="bounded", options={"xatol": 1e-9}).x
    least = 1e-3 / np.abs(outputs).max()
    assert softmax_slope(outputs, codes, class_weight) == pytest.approx(max(slow, least), abs=1e-5, rel=1e-5)


def test_of_two_opposite_outputs_the_softmax_slope_is_half_the_likelihood_slope():
    rng = np.random.default_rng(0)
    positive = np.arange(40) < 15
    decision = rng.normal(size=40) + positive
    counts = np.array([25, 15])
    outputs = np.column_stack([-decision, decision])
    found = softmax_slope(outputs, positive.astype(int), 1 / counts)
    assert 2 * found == pytest.approx(likelihood_slope(decision, positive, np.ones(40)))
    assert softmax_slope(np.zeros((2, 2)), np.array([0, 1]), np.ones(2)) == 0


@pytest.mark.parametrize("seed", range(10))
def test_the_pu_slope_minimizes_the_unbiased_risk(seed):
    rng = np.random.default_rng(seed)
    p, u, prior = rng.normal(1, 1, 30), rng.normal(0, 1.5, 60), rng.uniform(0.1, 0.6)
    p_weight, u_weight = rng.dirichlet(np.ones(30)), rng.dirichlet(np.ones(60))
    most = 8.0
    steepest = most / max(np.abs(p).max(), np.abs(u).max())

    def risk(slope):
        return u_weight @ np.logaddexp(0, slope * u) - prior * slope * (p_weight @ p)

    slow = minimize_scalar(risk, bounds=(0, steepest), method="bounded", options={"xatol": 1e-10}).x
    found = pu_slope(p, p_weight, u, u_weight, prior, most)
    assert found == pytest.approx(max(slow, 1e-3 * steepest), rel=1e-4)
    assert found * max(np.abs(p).max(), np.abs(u).max()) <= most * (1 + 1e-12)


def test_pu_slopes_at_the_limits():
    one = np.ones(1)
    assert pu_slope(np.zeros(1), one, np.zeros(1), one, 0.5, 4.0) == 0
    assert pu_slope(one, one, -one, one, 0.5, 4.0) == 4.0  # separated: as steep as is allowed
    assert pu_slope(-one, one, one, one, 0.5, 4.0) == 4e-3  # the wrong way around: nearly flat


def test_the_log_odds_at_the_threshold_are_the_share_of_the_positives():
    rng = np.random.default_rng(0)
    positive = rng.random(200) < 0.2
    offset, (slope, intercept) = calibrate(rng.normal(size=200) + 2 * positive, positive)
    assert slope > 0
    assert intercept == pytest.approx(logit(positive.mean()))
    assert -2 < offset < 0


@pytest.mark.parametrize("seed", range(5))
def test_calibrations_do_not_depend_on_the_order_of_the_rows(seed):
    rng = np.random.default_rng(seed)
    scores, positive, weight = rng.normal(size=50), rng.random(50) < 0.4, rng.uniform(0.1, 2.0, 50)
    order = rng.permutation(50)
    for found, again in (
        (calibrate(scores, positive, weight), calibrate(scores[order], positive[order], weight[order])),
        (
            calibrate_pu(scores, positive, 0.3, weight),
            calibrate_pu(scores[order], positive[order], 0.3, weight[order]),
        ),
    ):
        assert found.offset == again.offset
        np.testing.assert_array_equal(found.log_odds, again.log_odds)


def test_a_shift_of_the_scores_moves_the_threshold_only():
    rng = np.random.default_rng(0)
    scores, positive = np.round(rng.normal(size=50), 3), rng.random(50) < 0.4
    for one, other in (
        (calibrate(scores, positive), calibrate(scores + 8, positive)),
        (calibrate_pu(scores, positive, 0.3), calibrate_pu(scores + 8, positive, 0.3)),
    ):
        assert other.offset == pytest.approx(one.offset - 8)
        np.testing.assert_allclose(other.log_odds, one.log_odds, rtol=1e-6)


def test_constant_scores_give_the_prior():
    offset, (slope, intercept) = calibrate_pu(np.full(5, 3.0), np.arange(5) < 2, 0.2)
    assert expit(slope * (3.0 + offset) + intercept) == pytest.approx(0.2)


def test_without_the_prior_the_cut_is_zero():
    scores, positive = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, False, True])
    assert calibrate_pu(scores, positive, 0.5, at_prior=False).offset == 0


@given(st.lists(st.floats(-700, 700), min_size=1, max_size=30), st.floats(1e-6, 1 - 1e-6))
def test_shifted_probabilities_average_to_the_prior(log_odds, prior):
    log_odds = np.array(log_odds)
    assert expit(log_odds + prior_shift(log_odds, prior)).mean() == pytest.approx(prior, rel=1e-6)


def test_the_shift_does_not_depend_on_the_order_of_the_rows():
    log_odds = np.random.default_rng(0).normal(size=99)
    assert prior_shift(log_odds, 0.3) == prior_shift(log_odds[::-1], 0.3)


def test_slopes_are_shrunken_less_the_more_rows_there_are():
    rng = np.random.default_rng(0)
    found = []
    for n in (5, 20, 100, 2000):
        positive = np.repeat([True, False], n)
        decision = np.where(positive, 0.5, -0.5) + rng.normal(size=2 * n)
        found.append(slope_shrinkage(1.0, decision, positive, np.ones(2 * n)))
    assert found == sorted(found)
    assert 0.05 <= found[0] < 0.9
    assert found[-1] > 0.99


def test_the_shrinkage_is_one_minus_the_squared_standard_error_in_units_of_the_slope():
    decision, positive = np.array([2.0, 1.0, -1.0, -2.0]), np.array([True, True, False, False])
    information = (expit(decision) * expit(-decision) * decision**2).sum()
    assert slope_shrinkage(1.0, decision, positive, np.full(4, 7.0)) == pytest.approx(max(0.05, 1 - 1 / information))
    steep = 3.0 * decision
    information = (expit(0.5 * steep) * expit(-0.5 * steep) * (0.5 * steep) ** 2).sum()
    assert slope_shrinkage(0.5, steep, positive, np.ones(4)) == pytest.approx(max(0.05, 1 - 1 / information))
    assert slope_shrinkage(0.0, decision, positive, np.ones(4)) == 1.0


def test_small_weights_do_not_flatten_the_probabilities():
    """Weights that sum to 1 gave probabilities from .55 to .62 instead of .00 to 1.00."""
    scores, positive = np.arange(100.0), np.arange(100) >= 50
    plain = calibrate(scores, positive).log_odds
    for weight in (1 / 100, 1e-200, 1e6):
        np.testing.assert_allclose(
            calibrate(scores, positive, np.full(100, weight)).log_odds, plain, rtol=1e-6, atol=1e-9
        )
    pu = [calibrate_pu(scores, positive, 0.1, np.full(100, weight)).log_odds for weight in (1.0, 1 / 100, 1e6)]
    np.testing.assert_allclose(pu[1:], [pu[0]] * 2, rtol=1e-6)


def test_whole_weights_are_repetitions():
    rng = np.random.default_rng(0)
    positive, times = np.arange(40) < 15, rng.integers(1, 4, 40)
    scores = rng.normal(size=40) + positive
    repeated = calibrate(np.repeat(scores, times), np.repeat(positive, times))
    for scale in (1e-3, 1.0, 1e3):  # repetition, on any scale
        np.testing.assert_allclose(calibrate(scores, positive, scale * times).log_odds, repeated.log_odds, rtol=1e-6)


def test_folds_of_scores():
    rng = np.random.default_rng(0)
    scores, signs = np.round(rng.normal(size=60), 1), rng.integers(-1, 2, 60)
    folds = score_folds(scores, signs, 3)
    assert (folds[signs == 0] == -1).all()
    assert np.bincount(folds[signs != 0]).min() >= 8
    order = rng.permutation(60)
    np.testing.assert_array_equal(score_folds(scores[order], signs[order], 3), folds[order])
    times = rng.integers(1, 4, 60)
    np.testing.assert_array_equal(
        score_folds(np.repeat(scores, times), np.repeat(signs, times), 3), np.repeat(folds, times)
    )
    assert score_folds(np.ones(4), np.array([1, 1, -1, -1]), 3) is None


@pytest.mark.parametrize(("n_rows", "shift"), [(12, -1.0), (40, 1.0), (400, 2.0)])
def test_the_sigmoid_of_few_rows_is_nearest_to_the_average_over_slopes(n_rows, shift):
    """Against 4,001 slopes, each with its intercept by Newton's method, and a general minimizer."""
    rng = np.random.default_rng(n_rows)
    positive = rng.random(n_rows) < 0.3
    scores = rng.normal(size=n_rows) + shift * positive
    n_rarest = min(positive.sum(), (~positive).sum())
    middle = -0.3 + 0.6 * np.log(np.clip(n_rarest, 2, 300) / 20)
    log_slopes = np.linspace(middle - 4 * 0.91, middle + 4 * 0.91, 4001)
    margins = np.exp(log_slopes)[:, None] * scores
    intercept = np.full((4001, 1), logit(positive.mean())) - margins.mean(axis=1, keepdims=True)
    for _ in range(100):
        chance = expit(margins + intercept)
        step = (chance - positive).sum(axis=1) / np.maximum((chance * (1 - chance)).sum(axis=1), 1e-3)
        intercept -= np.clip(step, -1, 1)[:, None]
    margins = margins + intercept
    posterior = (positive * margins - np.logaddexp(0, margins)).sum(axis=1)
    posterior -= 0.5 * ((log_slopes - middle) / 0.91) ** 2
    weight = np.exp(posterior - posterior.max())
    average = weight @ expit(margins) / weight.sum()

    def cross_entropy(line):
        margin = line[0] * scores + line[1]
        return (np.logaddexp(0, margin) - average * margin).sum()

    expected = minimize(cross_entropy, [1.0, 0.0]).x
    np.testing.assert_allclose(sigmoid_from_few(scores, positive), expected, rtol=2e-3, atol=2e-3)


def test_the_sigmoid_of_few_rows_depends_neither_on_their_order_nor_on_the_scale_of_weights():
    rng = np.random.default_rng(0)
    positive = np.arange(30) % 3 == 0
    scores = rng.normal(size=30) + positive
    weight = rng.uniform(0.5, 2.0, 30)
    order = rng.permutation(30)
    known = sigmoid_from_few(scores, positive, weight)
    assert sigmoid_from_few(scores[order], positive[order], weight[order]) == known
    np.testing.assert_allclose(sigmoid_from_few(scores, positive, 1024 * weight), known)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_softmax_of_few_rows_has_the_best_slope_of_a_grid(weighted):
    rng = np.random.default_rng(0)
    codes = rng.choice(3, 40, p=[0.6, 0.3, 0.1])
    scores = rng.normal(size=(40, 3)) + 1.5 * np.eye(3)[codes]
    weight = np.where(np.arange(40) % 2, 1.0, 3.0) if weighted else np.ones(40)
    slope, intercepts = softmax_from_few(scores, codes, weight if weighted else None)
    effective = weight * (weight.sum() ** 2 / (weight**2).sum() / weight.sum())
    counts = np.array([effective[codes == k].sum() + 1 for k in range(3)])
    np.testing.assert_allclose(np.exp(intercepts), counts / counts.sum())
    grid = np.linspace(-4, 4, 8001)
    losses = []
    for log_slope in grid:
        chance = log_softmax(np.exp(log_slope) * scores + intercepts, axis=1)
        losses.append(0.5 * log_slope**2 - effective @ chance[np.arange(40), codes])
    assert np.log(slope) == pytest.approx(grid[np.argmin(losses)], abs=1e-3)
    order = rng.permutation(40)
    again, _ = softmax_from_few(scores[order], codes[order], weight[order] if weighted else None)
    assert again == slope
