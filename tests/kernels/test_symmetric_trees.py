"""Sums of gradients by leaf, against plain NumPy; in any order and split of the rows."""

from itertools import pairwise

import numpy as np
import pytest

from fewlabel.boosting.rows import Rows
from fewlabel.kernels import symmetric_trees

N_ROWS, MISSING = 9000, 16


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, MISSING + 1, (9, N_ROWS), dtype=np.uint8)
    packed = rng.integers(-(2**40), 2**40, N_ROWS)
    return codes, rng.integers(0, 128, N_ROWS, dtype=np.uint8), packed


def in_parts(rows, edges, n_codes=MISSING + 1, derivatives=None):
    """Parts of the rows, as the kernels read them."""
    codes, leaf, packed = rows
    derivatives = np.zeros((2, N_ROWS)) if derivatives is None else derivatives
    for a, b in pairwise(edges):
        part = Rows(codes[:, a:b].copy(), n_codes, np.array([0, 0, 0, b - a]), np.ones(b - a), None, np.ones(3))
        part.derivatives[:] = derivatives[:, a:b]
        part.arrays.packed[:] = packed[a:b]
        part.arrays.leaf[:] = leaf[a:b]
        yield part


def sums_by(packed, *keys, shape):
    total = np.zeros(shape, dtype=np.int64)
    np.add.at(total, keys, packed)
    return total


def test_cut_histogram_of_the_deepest_level(rows):
    codes, leaf, packed = rows
    columns, cuts = np.array([0, 1, 3, 4, 5, 6, 8]), np.array([0, 15, 7, 3, 16, 9, 2])  # one pass of four, and a rest
    parts = in_parts(rows, [0, 4097, N_ROWS])
    halves = sum(symmetric_trees.code_sums(part, columns, cuts, np.zeros((2, 3)), 128) for part in parts)
    for of_column, column, cut in zip(halves, columns, cuts):
        side = (codes[column] > cut).astype(int) + (codes[column] == MISSING)
        np.testing.assert_array_equal(of_column, sums_by(packed, leaf, side, shape=(128, 3)))


@pytest.mark.parametrize("n_leaves", [1, 2, 128])  # columns in pairs in the first two cases: there are enough rows
@pytest.mark.parametrize("n_columns", [1, 2, 7, 8, 9])
def test_histogram_of_pairs_and_of_single_columns(rows, n_leaves, n_columns):
    codes, leaf, packed = rows
    columns, leaf = np.random.default_rng(n_columns).permutation(9)[:n_columns], leaf % n_leaves
    for edges in ([0, 3, 4097, N_ROWS], [0, N_ROWS]):
        parts = in_parts((codes, leaf, packed), edges)
        hist = sum(symmetric_trees.code_sums(part, columns, columns[:0], np.zeros((2, 3)), n_leaves) for part in parts)
        for of_column, code in zip(hist, codes[columns]):
            np.testing.assert_array_equal(of_column, sums_by(packed, leaf, code, shape=(n_leaves, MISSING + 1)))


def test_packed_and_summed_derivatives(rows):
    leaf = rows[1]
    derivatives = np.random.default_rng(1).normal(size=(2, N_ROWS))
    derivatives[1] = np.abs(derivatives[1])
    units = (1e-3, 2e-3)
    whole = np.rint(derivatives / np.array(units)[:, None]).astype(np.int64)
    sums = 0
    for part in in_parts(rows, [0, 10, N_ROWS], derivatives=derivatives):
        sums = sums + symmetric_trees.leaf_sums(part, units, 128)
    np.testing.assert_array_equal(sums, [sums_by(row, leaf, shape=128) for row in whole])
    [part] = in_parts(rows, [0, N_ROWS], derivatives=derivatives)
    symmetric_trees.add_values(part, np.arange(128.0))
    np.testing.assert_array_equal(part.arrays.scores, 1.0 + leaf)
    symmetric_trees.plant(part, units)
    np.testing.assert_array_equal(part.arrays.packed, (whole[0] << 32) + whole[1])
    assert not part.arrays.leaf.any()


def test_order_free_sum():
    values = np.random.default_rng(0).exponential(size=1001) ** 9
    total = symmetric_trees.order_free_sum(values)
    assert total == pytest.approx(values.sum(), rel=1e-15)
    assert total == symmetric_trees.order_free_sum(np.sort(values)[::-1].copy())
    assert symmetric_trees.order_free_sum(np.zeros(3)) == symmetric_trees.order_free_sum(np.empty(0)) == 0.0
