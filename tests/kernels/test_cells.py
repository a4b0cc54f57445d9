"""Distances to blocks of rows, and the nearest rows of the cells that a row visits."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabel.kernels import cells


def test_distances_by_hand():
    rows = np.array([[0.0, 0.0], [1.0, 5.0]], dtype=np.float32)
    block = np.array([[3.0, 1.0, 0.0], [4.0, 5.0, 0.0]], dtype=np.float32)
    expected = [[25, 26, 0], [5, 0, 26]]
    np.testing.assert_array_equal(cells.compare(rows, block), expected)


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 8), st.booleans(), st.integers(0, 10**6))
def test_nearest_equals_a_stable_sort_of_the_cells_that_are_visited(n, n_cells, k, own, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, size=(n, 3)).astype(np.float32)  # with many ties; their sums are exact
    starts = np.sort(np.r_[0, rng.integers(0, n + 1, size=n_cells - 1), n])  # some cells are empty
    table = np.concatenate([rows[a:b].T.ravel() for a, b in pairwise(starts)])
    first = int(rng.integers(n))
    asked = rows[first:] if own else rng.integers(0, 4, size=(6, 3)).astype(np.float32)
    visits = rng.random((len(asked), n_cells)) < 0.6
    total = ((asked[:, None] - rows) ** 2).sum(axis=2)
    total[~np.repeat(visits, np.diff(starts), axis=1)] = np.inf
    if own:
        total[np.arange(len(asked)), first + np.arange(len(asked))] = np.inf
    expected = np.full((len(asked), k), -1)
    for i, order in enumerate(np.argsort(total, axis=1, kind="stable")):
        near = order[np.isfinite(total[i, order])][:k]
        expected[i, : len(near)] = near
    found = cells.nearest(asked, first if own else -1, visits, table, starts, k)
    np.testing.assert_array_equal(found, expected)
