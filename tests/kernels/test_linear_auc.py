"""Sums over pairs equal explicit pairs, and the steps equal the paper's, step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fewlabel.kernels.linear_auc import (
    Arrivals,
    Averages,
    PairRows,
    Reservoirs,
    coordinate_steps,
    online_steps,
    pair_sums,
    stochastic_steps,
)
from reference import linear_auc as reference

both_layouts = pytest.mark.parametrize("layout", ["dense", "float32", "csr"])
both_losses = pytest.mark.parametrize("squared", [False, True])


def as_rows(X, layout):
    if layout == "csr":
        S = sparse.csr_matrix(X)
        return S.data, S.indices, S.indptr
    return X.astype(np.float32) if layout == "float32" else X


def table(seed, n=14, d=4, levels=3):
    """Few levels, so that equal rows occur in both classes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, levels - 1, (n, d)).astype(float)
    X[n // 2] = X[0]
    positive = np.arange(n) < n // 2
    return X, positive, rng


def explicit_sums(s, u, t, v, width, squared):
    x = 1 - s[:, None] + t[None, :]
    over, share = np.maximum(x, 0), np.outer(u, v)
    if squared:
        slope, loss, slack = 2 * over, over**2, 0 * over
    else:
        slope, loss = np.clip(x / width, 0, 1), over
        slack = over * (1 - slope)
    return slope @ v, [(share * q).sum() for q in (loss, slack)]


def test_pair_sums_by_hand():
    """Positives 0 and 2, negatives 0 and 1.8: x = 1, 2.8 and -1, 0.8; with width 1 only the last is curved."""
    s, t, half = np.array([0.0, 2.0]), np.array([0.0, 1.8]), np.full(2, 0.5)
    slopes, totals, lo, hi = pair_sums(s, half, t, half, 1.0, False)
    np.testing.assert_allclose(slopes, [1.0, 0.4])
    np.testing.assert_allclose(totals, [(1 + 2.8 + 0.8) / 4, 0.8 * 0.2 / 4])
    np.testing.assert_array_equal([lo, hi], [[0, 1], [0, 2]])


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(1, 12),
    n=st.integers(1, 12),
    spread=st.sampled_from([0.0, 0.3, 1.0, 30.0, 1e6]),
    width=st.sampled_from([1e-6, 0.01, 0.5, 2.0]),
    squared=st.booleans(),
    ties=st.booleans(),
)
def test_pair_sums_equal_explicit_pairs(seed, m, n, spread, width, squared, ties):
    rng = np.random.default_rng(seed)
    s, t = (spread * rng.standard_normal(size) for size in (m, n))
    if ties:
        s, t = np.round(s), np.round(t)
    s, t, u, v = np.sort(s), np.sort(t), rng.random(m), rng.random(n)
    width = np.inf if squared else width
    slopes, totals, lo, hi = pair_sums(s, u, t, v, width, squared)
    expected, expected_totals = explicit_sums(s, u, t, v, width, squared)
    np.testing.assert_allclose(slopes, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(totals, expected_totals, rtol=1e-9, atol=1e-9)
    assert (lo >= 0).all()
    assert (lo <= hi).all()
    assert (hi <= n).all()


@both_losses
@both_layouts
@pytest.mark.parametrize("seed", range(4))
def test_coordinate_steps_equal_the_paper_step_by_step(seed, layout, squared):
    X, positive, rng = table(seed)
    P, N = np.flatnonzero(positive), np.flatnonzero(~positive)
    k, alpha = len(P) * len(N), 0.05
    order = rng.integers(k, size=150)
    w, duals, grown, before = np.zeros(X.shape[1]), np.zeros(k), 0.0, -np.inf
    steps, seen = reference.sdcd(X, positive, alpha, order, squared), []
    means = Averages(np.zeros(X.shape[1]), np.zeros(2))
    for p, (expected_w, expected) in zip(order, steps):
        rows = PairRows(as_rows(X, layout), P, N)
        grown = coordinate_steps(rows, np.array([p]), duals, w, 1 / (alpha * k), squared, means, grown)
        seen.append((w.copy(), grown))
        np.testing.assert_allclose(w, expected_w, atol=1e-12)
        np.testing.assert_allclose(duals, expected.ravel(), atol=1e-12)
        value = reference.dual(expected, X, positive, alpha, squared)
        assert grown / k - alpha / 2 * w @ w == pytest.approx(value, abs=1e-12)
        assert value >= before - 1e-12  # the dual never decreases
        before = value
    np.testing.assert_allclose(w, reference.coefficients(expected, X, positive, alpha), atol=1e-9)
    if not squared:
        assert ((duals >= 0) & (duals <= 1)).all()
    assert means.sums[0] == 150
    np.testing.assert_allclose(w - means.drift / 150, np.mean([w for w, _ in seen], axis=0), atol=1e-10)
    assert means.sums[1] / 150 == pytest.approx(np.mean([grown for _, grown in seen]))


def test_a_pair_of_equal_rows_has_the_dual_variable_one():
    X, duals, w = np.array([[1.0, 2.0], [1.0, 2.0]]), np.zeros(1), np.zeros(2)
    rows = PairRows(X, np.array([0]), np.array([1]))
    coordinate_steps(rows, np.array([0]), duals, w, 1.0, False, NO_MEANS, 0.0)
    assert duals[0] == 1.0
    assert (w == 0).all()


@both_losses
@both_layouts
def test_stochastic_steps_equal_the_paper(layout, squared):
    X, positive, rng = table(5)
    P, N = np.flatnonzero(positive), np.flatnonzero(~positive)
    order = rng.integers(len(P) * len(N), size=200)
    v = np.zeros(X.shape[1])
    rows, duals = PairRows(as_rows(X, layout), P, N), np.full(len(P) * len(N), np.nan)
    stochastic_steps(rows, order[:70], v, 0, 0.1, squared, np.zeros(0))
    stochastic_steps(rows, order[70:], v, 70, 0.1, squared, duals)
    assert (np.isfinite(duals) == np.isin(np.arange(len(duals)), order[70:])).all()
    np.testing.assert_allclose(v / 200, reference.msgd(X, positive, 0.1, order, squared), atol=1e-12)


NO_MEANS = Averages(np.zeros(0), np.zeros(2))


def empty(capacity):
    return Reservoirs(np.zeros((2, capacity), np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64))


@both_losses
@both_layouts
@pytest.mark.parametrize("gradual", [False, True])
@pytest.mark.parametrize("capacity", [2, 100])
def test_online_steps_equal_the_reference(layout, squared, gradual, capacity):
    X, positive, rng = table(7, n=30)
    order = rng.permutation(30)
    signs, draws = np.where(positive, 1, -1).astype(np.int8), rng.random(30)
    reservoirs = buffers, filled, seen = empty(capacity)
    w, tally = np.zeros(X.shape[1]), np.zeros(3)
    online_steps(as_rows(X, layout), Arrivals(order, signs[order], draws), reservoirs, w, 0.03, gradual, squared, tally)
    if gradual and squared:
        return  # not offered: such steps diverge
    expected, kept = reference.oam(X[order], signs[order], 0.03, capacity, gradual, draws, squared)
    np.testing.assert_allclose(w, expected, atol=1e-12)
    for side, sign in ((0, -1), (1, 1)):
        np.testing.assert_array_equal(X[buffers[side, : filled[side]]], np.array(kept[sign]))
    np.testing.assert_array_equal(seen, [15, 15])


def test_the_reservoir_is_fair():
    """Each of 20 rows stays in a buffer of 5 in a quarter of the runs."""
    X, rng, kept = np.zeros((20, 1)), np.random.default_rng(0), np.zeros(20)
    for _ in range(4000):
        reservoirs = empty(5)
        arrivals = Arrivals(np.arange(20), np.ones(20, np.int8), rng.random(20))
        online_steps(X, arrivals, reservoirs, np.zeros(1), 1.0, False, False, np.zeros(3))
        kept[reservoirs.rows[1]] += 1
    np.testing.assert_allclose(kept / 4000, 0.25, atol=0.03)


@both_losses
def test_infinite_buffers_are_one_ordered_pass_of_coordinate_steps(squared):
    X, positive, rng = table(3, n=16)
    P, N = np.flatnonzero(positive), np.flatnonzero(~positive)
    k, alpha, order = len(P) * len(N), 0.02, rng.permutation(16)
    place = np.empty(16, int)
    place[order] = np.arange(16)
    met = sorted(
        (
            (max(place[p], place[n]), min(place[p], place[n]), i * len(N) + j)
            for i, p in enumerate(P)
            for j, n in enumerate(N)
        )
    )
    w = np.zeros(X.shape[1])
    pairs, duals = np.array([pair for *_, pair in met]), np.zeros(k)
    total = coordinate_steps(PairRows(X, P, N), pairs, duals, w, 1 / (alpha * k), squared, NO_MEANS, 0.0)
    signs = np.where(positive, 1, -1).astype(np.int8)
    online, arrivals = np.zeros(X.shape[1]), Arrivals(order, signs[order], np.zeros(16))
    tally = np.zeros(3)
    online_steps(X, arrivals, empty(16), online, 1 / (alpha * k), False, squared, tally)
    np.testing.assert_allclose(online, w, atol=1e-10)
    np.testing.assert_allclose(tally, [duals.sum(), (duals**2).sum(), duals.max()])
    assert total == pytest.approx(tally[0] - tally[1] / 4 if squared else tally[0])
