"""Sums over pairs against the pairs themselves."""

from itertools import pairwise

import numpy as np
import pytest

from fewlabel.boosting import pairs
from fewlabel.kernels import pair_losses

BOUNDS = np.array([0, 7, 19, 28])
PAIRS = np.array([[0, 2, 0.8], [0, 1, 0.1], [1, 2, 0.1]])


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    scores, weights = rng.normal(scale=2, size=28).round(1), rng.integers(0, 4, 28) / 10  # with ties
    return scores, weights


def _exact_slopes(scores, weights, bounds=BOUNDS):
    order = np.lexsort((weights, scores, np.searchsorted(bounds, np.arange(28), side="right")))
    powers = np.stack([np.exp(-scores), np.exp(scores)])
    return pair_losses.exact_slopes(order, powers, weights, 2.0, bounds, PAIRS)


def test_slopes_are_the_sums_over_pairs(rows):
    scores, weights = rows
    expected = np.zeros((2, 28))
    for a, b, coefficient in PAIRS:
        for i in range(BOUNDS[int(a)], BOUNDS[int(a) + 1]):
            for j in range(BOUNDS[int(b)], BOUNDS[int(b) + 1]):
                wrong = 1 / (1 + np.exp(scores[i] - scores[j]))
                expected[:, i] += coefficient * weights[j] * np.array([wrong, wrong * (1 - wrong)])
                expected[:, j] += coefficient * weights[i] * np.array([-wrong, wrong * (1 - wrong)])
    np.testing.assert_allclose(_exact_slopes(scores, weights), 2 * weights * expected, rtol=1e-13)


def test_slopes_do_not_depend_on_the_order_of_the_rows(rows):
    scores, weights = rows
    rng, slopes = np.random.default_rng(1), _exact_slopes(scores, weights)
    for _ in range(5):
        order = np.concatenate([rng.permutation(np.arange(lo, hi)) for lo, hi in pairwise(BOUNDS)])
        again = _exact_slopes(scores[order], weights[order])
        np.testing.assert_array_equal(again, slopes[:, order])


def test_slopes_without_partners(rows):
    scores, weights = rows
    assert not _exact_slopes(scores, weights, np.array([0, 28, 28, 28])).any()


@pytest.mark.parametrize("spread", [0.01, 1, 10])
def test_loss_on_a_grid_is_near_the_mean_loss_of_the_pairs(rows, spread):
    scores, weights = rows[0] * spread, rows[1]
    low, scale = scores.min(), pair_losses.NODES_PER_UNIT
    n_nodes = int((scores.max() - low) * scale) + 2 + 2 * pair_losses.MARGIN
    mass = pair_losses.spread(scores, weights, BOUNDS, (low, float(scale)), n_nodes) / pair_losses.MASS_UNIT
    found = pair_losses.node_loss(mass, PAIRS, scale)
    assert found == pytest.approx(pairs._fourier_loss(mass, PAIRS, scale), rel=1e-12)
    groups = [slice(lo, hi) for lo, hi in pairwise(BOUNDS)]
    expected = sum(
        coefficient
        * weights[groups[int(a)]]
        @ np.logaddexp(0, scores[groups[int(b)]] - scores[groups[int(a)]][:, None])
        @ weights[groups[int(b)]]
        for a, b, coefficient in PAIRS
    )
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("spread", [0.01, 1, 10])
def test_slopes_on_a_grid_are_near_the_sums_over_pairs(rows, spread):
    scores, weights = rows[0] * spread, rows[1]
    scale = (scores.min(), float(pair_losses.NODES_PER_UNIT))
    n_nodes = int((scores.max() - scores.min()) * scale[1]) + 2 + 2 * pair_losses.MARGIN
    mass = pair_losses.spread(scores, weights, BOUNDS, scale, n_nodes) / pair_losses.MASS_UNIT
    slopes = pair_losses.node_slopes(mass, PAIRS, scale[1])
    np.testing.assert_allclose(pairs._fourier_slopes(mass, PAIRS, scale[1]), slopes, atol=1e-13)
    found = np.empty((2, 28))
    pair_losses.interpolate(scores, weights, BOUNDS, slopes, scale, 2.0, found)
    np.testing.assert_allclose(found, _exact_slopes(scores, weights), atol=1e-6)
