"""Matrices that rounding leaves indefinite."""

import numpy as np
import pytest

from fewlabel.multiview._exact import _factor_with_jitter


def test_a_matrix_that_is_indefinite_by_rounding_has_a_factor():
    Q = np.ones((3, 3)) - 1e-11 * np.eye(3)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(Q + 1e-12 * np.eye(3))
    factor = _factor_with_jitter(Q)
    np.testing.assert_allclose(factor @ factor.T, Q, atol=1e-9)


def test_a_matrix_that_is_indefinite_has_none():
    with pytest.raises(np.linalg.LinAlgError):
        _factor_with_jitter(np.diag([1.0, -1.0]))
