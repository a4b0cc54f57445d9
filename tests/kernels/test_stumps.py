"""Weights, histograms, search and scoring by tables."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabel.kernels import stumps
from fewlabel.kernels.step_functions import score
from fewlabel.kernels.stumps import MISSING, TIE, UNIT

NO_STUMP = -1, np.zeros(256, dtype=np.uint8), 1.0, 1.0
USES = np.array([[True, True, False], [False, True, True]])
ALL = np.ones((2, 3), dtype=np.bool_)


def histogram(codes, weights, bounds, coefficients, columns, uses, last):
    hist = np.zeros((len(columns), 256), dtype=np.int64)
    stumps.histogram(codes, weights, bounds, coefficients, columns, uses, last, hist)
    return hist


def side_sums(*args):
    sums = np.zeros((2, 3, 2), dtype=np.int64)
    stumps.side_sums(*args, sums)
    return sums


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    n, d = 10_000, 7
    codes = rng.integers(0, 256, (d, n), dtype=np.uint8)
    return codes, rng.random((2, n)) / n, np.array([0, 900, 8000, n])


def fired_and_factors(codes, column, last):
    """Whether the stump fires on each row, and the factors of both weights."""
    _, fires, *factors = last
    fired = fires[codes[column]].astype(bool)
    return fired, np.where(fired, np.array(factors)[:, None], 1.0)


def test_reweight_multiplies_the_weights_in_use_within_the_bounds(rows):
    codes, weights, bounds = rows
    last = 5, (np.arange(256) % 3 == 0).astype(np.uint8), 0.7, 1.6
    expected = weights * fired_and_factors(codes, 5, last)[1]
    expected[0, 8000:], expected[1, :900] = weights[0, 8000:], weights[1, :900]
    expected[:, :10], expected[:, 9000:] = weights[:, :10], weights[:, 9000:]
    stumps.reweight(codes, weights, np.clip(bounds, 10, 9000), USES, last)
    np.testing.assert_array_equal(weights, expected)


@pytest.mark.parametrize("unused", [[], [1], [0, 2]])
def test_histogram_sums_signed_weights(rows, unused):
    codes, weights, bounds = rows
    coef = np.array([[0.2, 0.3, 0.0], [0.0, -0.1, -0.4]])
    coef[:, unused] = 0.0
    columns = np.array([0, 2, 3, 4, 6])
    hist = histogram(codes, weights, bounds, coef * UNIT, columns, ALL, NO_STUMP)
    group = np.repeat([0, 1, 2], np.diff(bounds))
    signed = (coef[:, group] * weights).sum(axis=0)
    for j, column in enumerate(columns):
        expected = np.bincount(codes[column], weights=signed, minlength=256)
        np.testing.assert_allclose(hist[j] / UNIT, expected, atol=1e-15)


def test_a_histogram_first_multiplies_the_weights_of_all_groups(rows):
    codes, weights, bounds = rows
    coef = np.array([[0.2, 0.0, 0.1], [0.0, 0.0, -0.4]]) * UNIT  # the second group is skipped, but multiplied
    last, columns = (5, (np.arange(256) > 99).astype(np.uint8), 0.7, 1.6), np.array([1, 5])
    expected = weights * fired_and_factors(codes, 5, last)[1]
    hist = histogram(codes, weights, bounds, coef, columns, ALL, last)
    np.testing.assert_array_equal(weights, expected)
    again = histogram(codes, expected, bounds, coef, columns, ALL, NO_STUMP)
    np.testing.assert_array_equal(hist, again)


def test_sums_do_not_depend_on_how_rows_are_cut_or_ordered(rows):
    codes, weights, bounds = rows
    columns, coef = np.arange(7), np.array([[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]]) * UNIT / 10
    fires = (np.arange(256) % 3 == 0).astype(np.uint8)

    def sums(codes, weights, edges):
        parts = [np.clip(bounds, a, b) for a, b in itertools.pairwise(edges)]
        hist = sum(histogram(codes, weights, part, coef, columns, ALL, NO_STUMP) for part in parts)
        side = sum(side_sums(codes[3], fires, weights, part, ALL, np.abs(coef)) for part in parts)
        return hist, side

    whole = sums(codes, weights, [0, 10_000])
    rng = np.random.default_rng(2)
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in itertools.pairwise(bounds)])
    for other in (
        sums(codes, weights, [0, 1, 4097, 8000, 10_000]),
        sums(np.ascontiguousarray(codes[:, order]), np.ascontiguousarray(weights[:, order]), [0, 3333, 10_000]),
    ):
        for a, b in zip(whole, other):
            np.testing.assert_array_equal(a, b)


def test_a_step_moves_masses_sums_and_edges_as_the_weights_do(rows):
    codes, weights, bounds = rows
    weights /= [[weights[k].sum()] for k in range(2)]
    last = 2, (np.arange(256) > 99).astype(np.uint8), np.exp(-0.3), np.exp(0.3)
    fires, low, high = last[1], -0.1, 0.2
    sides = side_sums(codes[2], fires, weights, bounds, ALL, np.full((2, 3), UNIT))
    totals, shares = np.empty((2, 3), dtype=np.int64), np.empty((2, 3, 2))
    stumps.side_shares(sides, ALL, totals, shares)
    group = np.repeat([0, 1, 2], np.diff(bounds))

    def of_groups(w):
        return np.array([np.bincount(group, kind) for kind in w])

    after = weights * fired_and_factors(codes, 2, last)[1]
    log_mass, sums, of_column = np.zeros((2, 3)), np.ones((2, 3)), np.ones(256)
    stumps.take_step(fires.astype(bool), shares, totals, (low, high), log_mass, sums, of_column)
    np.testing.assert_array_equal(of_column, 1 + np.where(fires, high, low))
    np.testing.assert_allclose(sums, of_groups(after), rtol=1e-12)
    moved = np.log(of_groups(after) / of_groups(weights)) + [[-low], [low]]
    np.testing.assert_allclose(log_mass, moved, rtol=1e-10)

    one, other = np.array([[0.3, 0.2, 0.0], [0.0, -0.1, -0.4]]), np.array([[0.3, 0.1, 0.0], [0.0, -0.2, -0.4]])
    before = (one / of_groups(weights))[:, group] * weights
    later = (other / of_groups(after))[:, group] * after
    # Every kind of weight is a pair of its own here; a row with two of them can change by less.
    np.testing.assert_allclose(stumps.drift(shares, high - low, one, other), np.abs(later - before).sum(), rtol=1e-10)


def test_side_sums(rows):
    codes, weights, bounds = rows
    fires = (np.arange(256) > 200).astype(np.uint8)
    side = side_sums(codes[1], fires, weights, bounds, ALL, np.full((2, 3), UNIT))
    for kind in range(2):
        for g in range(3):
            group = slice(bounds[g], bounds[g + 1])
            fired = fires[codes[1, group]].astype(bool)
            expected = weights[kind, group][~fired].sum(), weights[kind, group][fired].sum()
            np.testing.assert_allclose(side[kind, g] / UNIT, expected, rtol=1e-12)


def search(hist, n_cuts, has_missing):
    hist, columns = np.asarray(hist, dtype=np.int64), np.arange(len(hist))
    of_columns = columns, np.asarray(n_cuts, dtype=np.int64), np.asarray(has_missing, dtype=np.bool_)
    sizes = np.empty(len(hist), dtype=np.int64)
    best = stumps.best_stump(hist, *of_columns, sizes)
    assert max(sizes[best[0]], 0) == abs(best[3])
    assert max(sizes) - TIE <= sizes[best[0]]
    return best


LARGE = 10 * TIE  # edges that differ by one of these are no tie


def padded(bins, missing=0, unit=LARGE):
    hist = np.zeros(256, dtype=np.int64)
    hist[: len(bins)] = bins
    hist[MISSING] = missing
    return hist * unit


def test_best_stump_by_hand():
    # 2 * above - total: cut 0 gives 2 * 3 - (-1) = 7, cut 1 gives 2 * 5 - (-1) = 11
    assert search([padded([-4, -2, 5])], [2], [False]) == (0, 1, 0, 11 * LARGE)
    # the other polarity
    assert search([padded([4, 2, -5])], [2], [False]) == (0, 1, 0, -11 * LARGE)
    # missing values join the upper side, then stand alone
    assert search([padded([-4, -2, 5], missing=3)], [2], [True]) == (0, 1, 1, 14 * LARGE)
    assert search([padded([-1, -1], missing=9)], [1], [True]) == (0, 1, 1, 11 * LARGE)


def test_ties_go_to_the_first_column_then_cut_then_silent_missing_values():
    twice = [padded([-3, 0, 3]), padded([-3, 0, 3])]
    assert search(twice, [2, 2], [False, False])[:3] == (0, 0, 0)
    assert search([padded([-3, 3], missing=0)], [1], [True])[:3] == (0, 0, 0)
    for large in (10**7, 10**15):  # also where the edge itself is small
        near = [padded([-large, large], unit=1), padded([-large - TIE // 4, large + TIE // 4], unit=1)]
        assert search(near, [1, 1], [False, False])[0] == 0
        far = [padded([-large, large], unit=1), padded([-large - TIE, large + TIE], unit=1)]
        assert search(far, [1, 1], [False, False])[0] == 1


def test_no_cut_no_stump():
    assert search([padded([7])], [0], [False])[3] == 0


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_best_stump_equals_trying_all(seed, has_missing):
    rng = np.random.default_rng(seed)
    n_cuts = rng.integers(0, 6, 3)
    hist = np.stack([padded(rng.integers(-4, 5, k + 1), rng.integers(-4, 5) if has_missing else 0) for k in n_cuts])
    edges = {}
    for j, k_max in enumerate(n_cuts):
        total = hist[j].sum()
        for k in range(k_max + has_missing):
            above = hist[j, k + 1 : k_max + 1].sum()
            for missing in range(1 + has_missing):
                if k < k_max or missing:
                    edges[j, k, missing] = 2 * (above + missing * hist[j, MISSING]) - total
    found = search(hist, n_cuts, np.full(3, has_missing))
    largest = max(map(abs, edges.values()), default=0)
    assert abs(found[3]) == largest
    if largest:
        assert found[:3] == next(key for key, edge in edges.items() if abs(edge) == largest)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_score_adds_step_functions(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4)).astype(dtype)
    X[rng.random(X.shape) < 0.2] = np.nan
    edges = np.array([[-0.5, 0.0, 1.0], [0.3, np.inf, np.inf]], dtype=dtype)
    values = np.array([[1.0, 2.0, 3.0, 4.0, 9.0], [10.0, 20.0, 0.0, 0.0, 90.0]])
    scores = np.zeros(1000)
    score(X, np.array([1, 3]), edges, np.array([3, 1]), values, scores, 0, 1000)
    expected = np.zeros(1000)
    for j, (column, m) in enumerate([(1, 3), (3, 1)]):
        x = X[:, column]
        expected += np.where(np.isnan(x), values[j, -1], values[j][np.searchsorted(edges[j, :m], x, side="left") % 4])
    np.testing.assert_array_equal(scores, expected)
