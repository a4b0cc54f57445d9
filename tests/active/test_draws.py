"""Weights of random draws: unbiased by enumeration, and the AUC that they give by simulation."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fewlabel.active import draw_weights
from fewlabel.active._draws import draw_rows
from fewlabel.metrics import auc_confidence_interval


def test_weighted_sums_are_unbiased_whatever_the_rule():
    """All sequences of: a random draw, the rule's choice, two random draws; the rule depends on what it saw."""
    values, share = np.array([3.0, -1.0, 10.0, 0.5, 7.0]), np.array([0.1, 0.3, 0.2, 0.25, 0.15])
    mean, total = 0.0, 0.0
    for first, second, third in itertools.permutations(range(5), 3):
        left = [i for i in range(5) if i != first]
        ruled = max(left, key=lambda i: (values[i] > values[first], share[i]))
        if ruled in (second, third):
            continue
        chances, rest = [share[first]], [i for i in left if i != ruled]
        for drawn in (second, third):
            chances.append(share[drawn] / share[rest].sum())
            rest = [i for i in rest if i != drawn]
        weights = draw_weights([True, False, True, True], [chances[0], 1, *chances[1:]])
        mean += np.prod(chances) * weights @ values[[first, ruled, second, third]]
        total += np.prod(chances)
    assert total == pytest.approx(1)
    assert mean == pytest.approx(values.sum())


def test_rows_labeled_from_the_beginning_stand_for_themselves():
    np.testing.assert_allclose(draw_weights([False, False, True, False], [1, 1, 1 / 50, 1]), [1, 1, 50, 0])


@pytest.mark.parametrize(
    ("random", "probability", "message"),
    [
        ([False, False], [1, 1], "no row was drawn at random"),
        ([True], [0.0], "above 0 and at most 1"),
        ([True, False], [0.5], r"shapes \(2,\) and \(1,\)"),
    ],
)
def test_unusable_draws(random, probability, message):
    with pytest.raises(ValueError, match=message):
        draw_weights(random, probability)


def test_the_auc_is_unbiased_with_one_random_row_in_ten():
    """400 rows are labeled, 360 of them where the score is least certain: their own AUC is far too low."""
    rng = np.random.default_rng(0)
    estimates, plain, covered = [], [], []
    for _ in range(200):
        y = (rng.random(2000) < 0.3).astype(int)
        score = rng.normal(size=2000) + 1.5 * y
        probability = 1 / (1 + np.exp(-1.5 * (score - 1.3)))
        truth = roc_auc_score(y, score)
        drawn, chances = draw_rows(40, 2000, np.c_[1 - probability, probability], rng)
        others = np.setdiff1d(np.argsort(np.abs(probability - 0.5)), drawn, assume_unique=True)[:360]
        rows = np.r_[np.c_[drawn, others.reshape(40, 9)].ravel()]  # one random row, then nine of the rule
        weights = draw_weights(np.arange(400) % 10 == 0, np.repeat(chances, 10))
        found = auc_confidence_interval(y[rows], score[rows], sample_weight=weights)
        estimates.append(found.auc - truth)
        covered.append(found.low <= truth <= found.high)
        plain.append(roc_auc_score(y[rows], score[rows]) - truth)
    error = np.std(estimates) / np.sqrt(200)
    assert np.mean(plain) < -0.1
    assert abs(np.mean(estimates)) < max(0.005, 2 * error)
    assert np.mean(covered) > 0.9
