"""Every implementation of the rows of the boosting loop gives the sums of the scores; questions change nothing."""

import numpy as np
import pytest

from fewlabel.boosting import rows as rows_module
from fewlabel.boosting.binning import Binning
from fewlabel.boosting.rows import CodedRows, WeightedRows
from fewlabel.kernels.stumps import UNIT
from fewlabel.threads import RowThreads

BOUNDS = np.array([0, 40, 250, 300])
COLUMNS = np.array([0, 2, 3])
COEFFICIENTS = np.array([[0.3, 0.2, 0.0], [0.0, -0.1, -0.4]])
USES = np.array([[True, True, False], [False, True, True]])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = [rng.random(n) for n in np.diff(BOUNDS)]
    binning = Binning.of_rows(X, np.arange(300), 20, RowThreads(1))
    codes = binning.encode(X, np.arange(300), RowThreads(1))
    return binning, codes, [w / w.sum() for w in weight], rng.normal(size=300)


def in_memory(table):
    binning, codes, weight, start = table
    return WeightedRows(binning, CodedRows(codes, BOUNDS, weight, USES, RowThreads(1), start), USES)


def on_workers(table):
    blocks = pytest.importorskip("fewlabel.dask._blocks", reason="Dask is not installed")
    from fewlabel.dask._rows import SpreadRows

    binning, codes, weight, start = table
    parts = []
    for rows in np.array_split(np.random.default_rng(1).permutation(300), 3):
        rows.sort()
        bounds = np.searchsorted(rows, BOUNDS)
        of_part = [weight[g][rows[bounds[g] : bounds[g + 1]] - BOUNDS[g]] for g in range(3)]
        coded = np.ascontiguousarray(codes[:, rows])
        parts.append(CodedRows(coded, bounds, of_part, USES, RowThreads(1), start[rows]))
    return WeightedRows(binning, SpreadRows(blocks.Parts(parts, 2)), USES)


MAKERS = {"in memory": in_memory, "on workers": on_workers}


def expected(table, stumps):
    """Log masses, histogram, and shares of the last stump, from the scores."""
    _, codes, weight, start = table
    scores = start.copy()
    for column, fires, low, high in stumps:
        scores += np.where(fires[codes[column]], high, low)
    mass, hist, shares = np.zeros((2, 3)), np.zeros((len(COLUMNS), 256)), np.tile([1.0, 0.0], (2, 3, 1))
    column, fires, *_ = stumps[-1]
    for kind, g in np.argwhere(USES):
        group = slice(BOUNDS[g], BOUNDS[g + 1])
        weights = weight[g] * np.exp((-1, 1)[kind] * scores[group])
        mass[kind, g] = np.log(weights.sum())
        weights /= weights.sum()
        for j, e in enumerate(COLUMNS):
            hist[j] += COEFFICIENTS[kind, g] * np.bincount(codes[e, group], weights, minlength=256)
        fired = weights[fires[codes[column, group]]].sum()
        shares[kind, g] = 1 - fired, fired
    return mass, hist, shares


def draw_stumps(n):
    rng = np.random.default_rng(2)
    return [(int(rng.integers(4)), rng.random(256) < 0.4, *rng.normal(size=2)) for _ in range(n)]


def play(rows, stumps, questions=1):
    """Run the stumps and ask every question so many times; the last answers."""
    for column, fires, low, high in stumps:
        for _ in range(questions):
            rows.histogram(COEFFICIENTS, COLUMNS)
            split = rows.split(column, fires)
        rows.reweight(split, low, high)
    return rows.log_mass, rows.histogram(COEFFICIENTS, COLUMNS), rows.split(column, fires).shares


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("refresh", [0.5, 200.0])
def test_sums_are_those_of_the_scores(maker, refresh, table, monkeypatch):
    monkeypatch.setattr(rows_module, "_REFRESH", refresh)  # recomputes the weights in most rounds, or never
    stumps = draw_stumps(12)
    mass, hist, shares = play(MAKERS[maker](table), stumps)
    expected_mass, expected_hist, expected_shares = expected(table, stumps)
    np.testing.assert_allclose(mass[USES], expected_mass[USES], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(hist / UNIT, expected_hist, atol=1e-12)
    np.testing.assert_allclose(shares, expected_shares, atol=1e-12)


@pytest.mark.parametrize("maker", MAKERS)
def test_rounds_without_a_histogram_between_them(maker, table):
    rows, stumps = MAKERS[maker](table), draw_stumps(5)
    for column, fires, low, high in stumps:
        rows.reweight(rows.split(column, fires), low, high)
    expected_mass, _, expected_shares = expected(table, stumps)
    np.testing.assert_allclose(rows.split(column, fires).shares, expected_shares, atol=1e-12)
    np.testing.assert_allclose(rows.log_mass[USES], expected_mass[USES], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("maker", MAKERS)
def test_questions_change_nothing(maker, table):
    stumps = draw_stumps(8)
    once, often = (play(MAKERS[maker](table), stumps, questions) for questions in (1, 3))
    for a, b in zip(once, often):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("maker", MAKERS)
def test_the_table_is_the_sum_of_the_stumps(maker, table):
    rows, stumps = MAKERS[maker](table), draw_stumps(5)
    play(rows, stumps)
    total = np.zeros((4, 256))
    for column, fires, low, high in stumps:
        total[column] += np.where(fires, high, low)
    np.testing.assert_array_equal(rows.table, total)
