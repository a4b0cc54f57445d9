"""Rows as points: hashes, exact distances, nearest rows."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fewlabel.kernels import points


def test_hashes_depend_on_the_values_and_their_columns_only():
    rows = csr_array(np.array([[1.0, 0.0, 2.0], [2.0, 0.0, 1.0], [1.0, 0.0, 2.0], [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]))
    found = points.hashes(rows.data.view(np.uint64), rows.indices, rows.indptr)
    assert found[0] == found[2]
    assert len(set(found.tolist())) == 4
    assert found[4] == 0
    dense = rows.toarray().ravel()
    columns, indptr = np.tile(np.arange(3), 5), np.arange(6) * 3
    np.testing.assert_array_equal(points.hashes(dense.view(np.uint64), columns, indptr), found)


def test_distances_by_subtraction():
    rng = np.random.default_rng(0)
    B = np.where(rng.random((20, 9)) < 0.5, rng.normal(size=(20, 9)), 0) + 0.0
    A = np.vstack([B[:5] + 1e-12 * (B[:5] != 0), rng.normal(size=(5, 9))])
    neighbors = rng.integers(0, 20, (10, 3)).astype(np.int32)
    neighbors[:5, 0] = np.arange(5)
    difference = A[:, None, :] - B[neighbors]
    expected = (difference**2).sum(axis=2)
    dense = points.distances(A, B, neighbors)
    np.testing.assert_allclose(dense, expected, rtol=1e-13, atol=0)
    a, b = ((M.data, M.indices, M.indptr) for M in (csr_array(A), csr_array(B)))
    sparse = points.distances(a, b, neighbors)
    np.testing.assert_allclose(sparse, expected, rtol=1e-13, atol=0)


@settings(max_examples=60)
@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 10**6))
def test_distances_equal_plain_loops(n, d, seed):
    rng = np.random.default_rng(seed)
    A, B = (np.where(rng.random((n, d)) < 0.5, rng.normal(size=(n, d)), 0.0) for _ in range(2))
    neighbors = rng.integers(-1, n, (n, 3)).astype(np.int32)
    expected = np.zeros(neighbors.shape)
    for i, m in np.ndindex(neighbors.shape):
        if neighbors[i, m] >= 0:
            gaps = [abs(A[i, f] - B[neighbors[i, m], f]) for f in range(d)]
            expected[i, m] = sum(gap**2 for gap in gaps)
    np.testing.assert_allclose(points.distances(A, B, neighbors), expected, rtol=1e-12)
    a, b = ((M.data, M.indices, M.indptr) for M in (csr_array(A), csr_array(B)))
    sparse = points.distances(a, b, neighbors)
    np.testing.assert_allclose(sparse, expected, rtol=1e-12)
