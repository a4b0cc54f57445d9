"""Cuts and codes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fewlabel.kernels.bins import ROWS, encode, find_cuts, round_down

MISSING = 255  # the code of missing values


def cut(values, max_bins=255):
    cuts, below = np.full(256, np.inf), np.zeros(max_bins - 1, dtype=np.int64)
    n_cuts, n_present = find_cuts(np.sort(values), ROWS, max_bins, cuts, below)
    return cuts[:n_cuts], below[:n_cuts], n_present


def codes_of(X, max_bins=255, rows=None):
    X = np.asarray(X)
    cuts = np.full((X.shape[1], 256), np.inf)
    n_cuts = np.zeros(X.shape[1], dtype=np.int64)
    for e in range(X.shape[1]):
        found = cut(X[:, e], max_bins)[0]
        cuts[e, : len(found)], n_cuts[e] = found, len(found)
    rows = np.arange(len(X)) if rows is None else rows
    codes = np.empty((X.shape[1], len(rows)), dtype=np.uint8)
    encode(X, rows, round_down(cuts, X.dtype), n_cuts, MISSING, codes, 0, len(rows))
    return codes, cuts, n_cuts


def test_midpoints_of_all_neighbors_when_they_fit():
    cuts, below, n_present = cut(np.array([3.0, 1.0, 1.0, 2.0, np.nan]))
    np.testing.assert_array_equal(cuts, [1.5, 2.5])
    np.testing.assert_array_equal(below, [2, 3])
    assert n_present == 4


def test_255_distinct_values_are_exact_and_256_are_not():
    assert len(cut(np.arange(255.0))[0]) == 254
    assert len(cut(np.arange(256.0))[0]) <= 254


def test_bins_hold_about_equally_many_rows():
    values = np.random.default_rng(0).normal(size=20_000)
    cuts, below, _ = cut(values, 100)
    assert len(cuts) == 99
    sizes = np.diff(np.r_[0, below, 20_000])
    assert sizes.min() >= 199
    assert sizes.max() <= 201


def test_a_spike_gets_a_bin_of_its_own():
    """The zeros of a zero-inflated column have a bin of their own."""
    rng = np.random.default_rng(0)
    values = np.r_[np.zeros(6000), rng.exponential(size=3000), -rng.exponential(size=1000)]
    cuts, _, _ = cut(values, 32)
    assert len(cuts) <= 31
    around = cuts[np.searchsorted(cuts, 0.0) - 1 : np.searchsorted(cuts, 0.0) + 1]
    assert values[values < 0].max() <= around[0] < 0
    assert 0 <= around[1] < values[values > 0].min()


@pytest.mark.parametrize("values", [[-1.7e308, 1.7e308], [5e-324, 0.0], [1.0, np.nextafter(1.0, 2)], [-0.0, 1.0]])
def test_cuts_part_neighbors_at_the_ends_of_the_doubles(values):
    (found,), _, _ = cut(np.array(values))
    low, high = sorted(values)
    assert low <= found < high
    assert np.isfinite(found)


@pytest.mark.parametrize("values", [[], [np.nan, np.nan], [2.0], [2.0, 2.0, np.nan]])
def test_nothing_to_cut(values):
    cuts, _, n_present = cut(np.array(values, dtype=float))
    assert len(cuts) == 0
    assert n_present == np.count_nonzero(~np.isnan(values))


@settings(max_examples=200, deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 700), st.just(1)),
        elements=st.one_of(st.floats(allow_infinity=False, width=64), st.integers(-3, 3).map(float)),
    ),
    st.integers(2, 255),
)
def test_codes_count_the_cuts_below(X, max_bins):
    codes, cuts, n_cuts = codes_of(X, max_bins)
    assert n_cuts[0] <= max_bins - 1
    assert (np.diff(cuts[0, : n_cuts[0]]) > 0).all()
    x = X[:, 0]
    expected = np.where(np.isnan(x), MISSING, np.searchsorted(cuts[0, : n_cuts[0]], x, side="left"))
    np.testing.assert_array_equal(codes[0], expected)
    present = x[~np.isnan(x)]
    if len(np.unique(present)) <= max_bins:  # exact: equal codes are equal values
        assert len(np.unique(codes[0][~np.isnan(x)])) == len(np.unique(present))


def test_float32_rows_in_any_order_and_layout_give_the_codes_of_float64():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 5)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    rows = rng.permutation(3000)[:1700]
    codes, cuts, n_cuts = codes_of(X, rows=rows)
    double = np.empty_like(codes)
    encode(np.asfortranarray(X.astype(np.float64)), rows, cuts, n_cuts, MISSING, double, 0, len(rows))
    np.testing.assert_array_equal(codes, double)
    readonly = X[::1].copy()
    readonly.flags.writeable = False
    again = np.empty_like(codes)
    encode(readonly, rows, round_down(cuts, X.dtype), n_cuts, MISSING, again, 0, len(rows))
    np.testing.assert_array_equal(codes, again)


def test_round_down_keeps_every_comparison():
    cuts = np.random.default_rng(0).normal(size=1000)
    x = np.random.default_rng(1).permutation(cuts).astype(np.float32)
    np.testing.assert_array_equal(x[:, None] > round_down(cuts, x.dtype), x[:, None].astype(np.float64) > cuts)


@settings(max_examples=100, deadline=None)
@given(
    arrays(np.float64, st.integers(1, 60), elements=st.integers(0, 30).map(float)),
    st.integers(2, 20),
    st.sampled_from([1.0, 0.1, 1e-6, 3e5]),
    st.randoms(use_true_random=False),
)
def test_weights_on_any_scale_are_repetitions(values, max_bins, scale, random):
    values = np.sort(values)
    times = np.array([random.randint(1, 5) for _ in values])
    cuts, below = np.full(256, np.inf), np.zeros(max_bins - 1, dtype=np.int64)
    n_cuts, _ = find_cuts(values, np.r_[0.0, np.cumsum(scale * times)], max_bins, cuts, below)
    np.testing.assert_array_equal(cuts[:n_cuts], cut(np.repeat(values, times), max_bins)[0])
