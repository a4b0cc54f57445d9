"""Weights, histograms, search and scoring by tables."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabel.boosting._pnu_auc import pair_rule
from fewlabel.boosting.rows import Rows
from fewlabel.kernels import symmetric_trees
from fewlabel.kernels.step_functions import score
from fewlabel.kernels.symmetric_trees import TIE, UNIT

MISSING = 255
USES = np.array([[True, True, False], [False, True, True]])
ALL = np.ones((2, 3), dtype=np.bool_)


def make_rows(codes, weights, bounds, uses=ALL):
    n_rows = codes.shape[1]
    rows = Rows(codes, 256, bounds, np.zeros(n_rows), None, np.diff(bounds))
    rows.arrays = rows._arrays(weights=weights, uses=uses)
    return rows


def histogram(rows, coefficients, columns):
    return symmetric_trees.code_sums(rows, columns, columns[:0], coefficients, 1)[:, 0]


def side_sums(rows, column, cut, scales):
    symmetric_trees.split(rows, column, cut, 1, 0)
    return symmetric_trees.side_sums(rows, scales)


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    n, d = 10_000, 7
    codes = rng.integers(0, 256, (d, n), dtype=np.uint8)
    return codes, rng.random((2, n)) / n, np.array([0, 900, 8000, n])


@pytest.mark.parametrize("unused", [[], [1], [0, 2]])
def test_histogram_sums_signed_weights(arrays, unused):
    codes, weights, bounds = arrays
    coef = np.array([[0.2, 0.3, 0.0], [0.0, -0.1, -0.4]])
    coef[:, unused] = 0.0
    columns = np.array([0, 2, 3, 4, 6])
    hist = histogram(make_rows(*arrays), coef * UNIT, columns)
    group = np.repeat([0, 1, 2], np.diff(bounds))
    signed = (coef[:, group] * weights).sum(axis=0)
    for j, column in enumerate(columns):
        expected = np.bincount(codes[column], weights=signed, minlength=256)
        np.testing.assert_allclose(hist[j] / UNIT, expected, atol=1e-15)


def test_a_histogram_first_takes_the_step_that_waits_of_the_weights_in_use(arrays):
    codes, weights, bounds = arrays
    coef = np.array([[0.2, 0.0, 0.1], [0.0, 0.0, -0.4]]) * UNIT  # the second group is skipped, but multiplied
    columns = np.array([1, 5])
    expected = np.where(codes[5] > 99, np.exp([[-0.3], [0.3]]), 1.0) * weights
    expected[0, 8000:], expected[1, :900] = weights[0, 8000:], weights[1, :900]  # not in use
    rows = make_rows(*arrays, USES)
    symmetric_trees.split(rows, 5, 99, 1, 0)
    symmetric_trees.reweight(rows, 1, 0.3)
    hist = histogram(rows, coef, columns)
    np.testing.assert_array_equal(weights, expected)
    np.testing.assert_array_equal(hist, histogram(make_rows(codes, expected, bounds), coef, columns))
    np.testing.assert_array_equal(hist, histogram(rows, coef, columns))  # the step is taken once


def test_sums_do_not_depend_on_how_rows_are_cut_or_ordered(arrays):
    codes, weights, bounds = arrays
    columns, coef = np.arange(7), np.array([[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]]) * UNIT / 10

    def sums(codes, weights, edges):
        parts = [
            make_rows(codes[:, a:b].copy(), weights[:, a:b].copy(), np.clip(bounds, a, b) - a)
            for a, b in itertools.pairwise(edges)
        ]
        hist = sum(histogram(part, coef, columns) for part in parts)
        return hist, sum(side_sums(part, 3, 85, np.abs(coef)) for part in parts)

    whole = sums(codes, weights, [0, 10_000])
    rng = np.random.default_rng(2)
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in itertools.pairwise(bounds)])
    for other in (
        sums(codes, weights, [0, 1, 4097, 8000, 10_000]),
        sums(np.ascontiguousarray(codes[:, order]), np.ascontiguousarray(weights[:, order]), [0, 3333, 10_000]),
    ):
        for a, b in zip(whole, other):
            np.testing.assert_array_equal(a, b)


def make_state(n_features=3):
    of_features = dict(lower=np.zeros(n_features), upper=np.zeros(n_features), table=np.ones((n_features, 256)))
    numbers = dict(total_step=np.zeros(1), moved=np.zeros(1), log_objective=np.zeros(1))
    masses = dict(log_mass=np.zeros((2, 3)), sums=np.ones((2, 3)), coefficients=np.zeros((2, 3)))
    sides = dict(totals=np.zeros((2, 3), dtype=np.int64), shares=np.zeros((2, 3, 2)))
    return symmetric_trees.State(uses=USES, **masses, **sides, **of_features, **numbers)


def test_a_step_moves_masses_sums_and_edges_as_the_weights_do(arrays):
    codes, weights, bounds = arrays
    group = np.repeat([0, 1, 2], np.diff(bounds))
    weights = USES[:, group] * weights
    weights /= np.maximum(np.array([np.bincount(group, kind) for kind in weights]), 1e-300)[:, group]
    state, rule = make_state(), pair_rule(0.6, 0.0, "exact")._replace(low_factor=-0.5)
    symmetric_trees.set_coefficients(state, rule)
    before = state.coefficients[:, group] * weights
    rows = make_rows(codes, weights, bounds, USES)
    symmetric_trees.set_shares(state, side_sums(rows, 2, 99, np.full((2, 3), UNIT)), 1)
    symmetric_trees.take_step(np.array([2, 99, 1]), 1.0, 0.2, state, rule)
    after = np.where(codes[2] > 99, np.exp([[-0.3], [0.3]]), 1.0) * weights
    sums = np.array([np.bincount(group, kind) for kind in after])
    np.testing.assert_array_equal(state.table[2], 1 + np.where(np.arange(256) > 99, 0.2, -0.1))
    np.testing.assert_allclose(state.sums[USES], sums[USES], rtol=1e-12)
    np.testing.assert_allclose(
        state.log_mass[USES], (np.log(np.maximum(sums, 1e-300)) + [[0.1], [-0.1]])[USES], rtol=1e-10
    )
    later = (state.coefficients / np.where(USES, sums, 1.0))[:, group] * after
    # A row with two weights can change by less than both of them do.
    np.testing.assert_allclose(state.upper, np.abs(later - before).sum(), rtol=1e-10)
    np.testing.assert_array_equal(state.lower, -state.upper)
    assert state.moved[0] == pytest.approx(0.3)


def test_side_sums(arrays):
    codes, weights, bounds = arrays
    side = side_sums(make_rows(*arrays), 1, 200, np.full((2, 3), UNIT))
    for kind in range(2):
        for g in range(3):
            group = slice(bounds[g], bounds[g + 1])
            fired = codes[1, group] > 200
            expected = weights[kind, group][~fired].sum(), weights[kind, group][fired].sum()
            np.testing.assert_allclose(side[kind, g] / UNIT, expected, rtol=1e-12)


def search(hist, n_cuts, has_missing, directions=None):
    hist, columns = np.asarray(hist, dtype=np.int64), np.arange(len(hist))
    directions = np.zeros(len(hist), dtype=np.int64) if directions is None else np.asarray(directions)
    cuts = symmetric_trees.Cuts(np.asarray(n_cuts), np.asarray(has_missing, dtype=np.bool_), directions)
    state = make_state(len(hist))
    criterion = symmetric_trees.edge_criterion(state, pair_rule(1.0, 0.0, "exact"), np.full((2, 3), UNIT))
    hist = hist[:, None].copy()
    every_cut = np.empty((0, 0), dtype=np.int64)
    *best, total = symmetric_trees.best_split(hist, hist, columns, every_cut, cuts, criterion, np.uint64(0))
    best = tuple(best)
    assert best[0] >= 0 or best == (-1, 0, 0, 0.0)
    assert total == hist[0, 0, n_cuts[0]] + hist[0, 0, MISSING]
    assert max(state.upper[best[0]], 0) == abs(best[3]) / UNIT
    assert max(state.upper) - TIE / UNIT <= state.upper[best[0]]
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


def test_a_direction_leaves_out_the_stumps_against_it():
    assert search([padded([-4, -2, 5])], [2], [False], [1]) == (0, 1, 0, 11 * LARGE)
    assert search([padded([-4, -2, 5])], [2], [False], [-1])[3] == 0
    # a stump that tests for missing values only has no direction
    assert search([padded([-4, -2, 5], missing=1)], [2], [True], [-1]) == (0, 2, 1, 2 * LARGE)


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
    directions = rng.integers(-1, 2, 3)
    n_cuts = rng.integers(0, 6, 3)
    hist = np.stack([padded(rng.integers(-4, 5, k + 1), rng.integers(-4, 5) if has_missing else 0) for k in n_cuts])
    edges = {}
    for j, k_max in enumerate(n_cuts):
        total = hist[j].sum()
        for k in range(k_max + has_missing):
            above = hist[j, k + 1 : k_max + 1].sum()
            for missing in range(1 + has_missing):
                edge = 2 * (above + missing * hist[j, MISSING]) - total
                if (k == k_max and missing) or (k < k_max and edge * directions[j] >= 0):
                    edges[j, k, missing] = edge
    found = search(hist, n_cuts, np.full(3, has_missing), directions)
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
