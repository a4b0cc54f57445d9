"""Rows in one part and in several give the sums of the scores."""

import numpy as np
import pytest

from fewlabel.boosting.binning import Binning
from fewlabel.boosting.rows import Parts, Rows, SpreadRows
from fewlabel.kernels import symmetric_trees
from fewlabel.kernels.symmetric_trees import UNIT
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
    return Rows(codes, binning.n_codes, BOUNDS, start, np.concatenate(weight), np.ones(3))


def in_parts(table):
    parts = in_memory(table).in_parts(3)
    return SpreadRows(Parts(parts, map), np.diff(BOUNDS), np.ones(3))


MAKERS = {"in one part": in_memory, "in parts": in_parts}


@pytest.mark.parametrize("maker", MAKERS)
def test_sums_are_those_of_the_scores(maker, table):
    binning, codes, weight, start = table
    rows = MAKERS[maker](table)
    rng = np.random.default_rng(2)
    stump_table = rng.normal(size=(4, binning.n_codes))
    largest = rows.ask(Rows.weigh, USES, stump_table, merge=np.maximum)
    rows.tell(Rows.exponentiate, largest)
    sums = np.reshape(rows.sums(Rows.weights_by_group), (2, 3))
    rows.tell(Rows.divide, np.where(USES, sums, 1.0))
    scores = start + stump_table[np.arange(4)[:, None], codes].sum(axis=0)
    first_sums = {}
    for t in range(3):
        hist = np.zeros((len(COLUMNS), binning.n_codes))
        sides = np.zeros((2, 3, 2))
        cut = rng.integers(binning.n_cuts[t])
        goes_up = (codes[t] > cut) & (codes[t] < binning.n_codes - 1)  # missing values go down
        scales = np.zeros((2, 3))  # the weights are not normalized again after a step
        for kind, g in np.argwhere(USES):
            group = slice(BOUNDS[g], BOUNDS[g + 1])
            weights = weight[g] * np.exp((-1, 1)[kind] * scores[group])
            if t == 0:
                assert largest[kind, g] + np.log(sums[kind, g]) == pytest.approx(np.log(weights.sum()))
                first_sums[kind, g] = weights.sum()
            weights /= first_sums[kind, g]
            scales[kind, g] = UNIT / 16
            for j, e in enumerate(COLUMNS):
                hist[j] += COEFFICIENTS[kind, g] * np.bincount(codes[e, group], weights, minlength=binning.n_codes)
            sides[kind, g] = weights[~goes_up[group]].sum(), weights[goes_up[group]].sum()
        found = symmetric_trees.code_sums(rows, COLUMNS, COLUMNS[:0], COEFFICIENTS * UNIT / 16, 1)[:, 0]
        np.testing.assert_allclose(found / (UNIT / 16), hist, atol=1e-12)
        # Questions change nothing.
        again = symmetric_trees.code_sums(rows, COLUMNS, COLUMNS[:0], COEFFICIENTS * UNIT / 16, 1)[:, 0]
        np.testing.assert_array_equal(found, again)
        symmetric_trees.split(rows, t, cut, 0, 0)
        np.testing.assert_allclose(symmetric_trees.side_sums(rows, scales) / (UNIT / 16), sides, atol=1e-12)
        symmetric_trees.reweight(rows, 1, 0.3)
        scores = scores + 0.3 * goes_up
