"""The passes over the dual of the simplex hinge: by hand, against a naive twin, and their guarantees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabel.kernels.simplex import pass_over
from fewlabel.multiview._losses import simplex


def start(Z, n_classes):
    return np.zeros((len(Z), n_classes)), np.zeros((n_classes - 1, Z.shape[1]))


def naive_pass(Z, codes, S, bounds, order, alpha):
    """One pass with everything computed again at every step."""
    n_classes = S.shape[1]
    for i in order:
        for k in range(n_classes):
            if k == codes[i]:
                continue
            W = -0.5 * (S @ alpha.T) @ Z
            slope = 1 / (n_classes - 1) + S[:, k] @ W @ Z[i]
            square = Z[i] @ Z[i]
            alpha[i, k] = bounds[i] if square == 0 else np.clip(alpha[i, k] + 2 * slope / square, 0, bounds[i])
    return alpha


@pytest.mark.parametrize(("z", "alpha_", "weight"), [(1.0, 1.0, 0.5), (2.0, 0.5, 0.5), (0.0, 1.0, 0.0)])
def test_one_row_by_hand(z, alpha_, weight):
    """min a^2 z^2 / 4 - a on [0, 1]: its end at z = 1, inside at z = 2 (where the margin is 1), free at z = 0."""
    Z, S = np.array([[z]]), simplex(2)
    alpha, W = start(Z, 2)
    pass_over(Z, Z[:, 0] ** 2, np.array([1]), S, np.ones(1), np.array([0]), alpha, W)
    np.testing.assert_allclose(alpha, [[alpha_, 0.0]])
    np.testing.assert_allclose(W, [[weight]])


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 8), st.integers(1, 4))
def test_equal_to_the_naive_pass_and_the_dual_never_falls(seed, n_classes, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n_rows, n_columns)) * rng.choice([0.0, 1.0, 3.0], size=(n_rows, 1))
    codes, S = rng.integers(n_classes, size=n_rows), simplex(n_classes)
    bounds = rng.uniform(0.1, 1.0, size=n_rows)
    alpha, W = start(Z, n_classes)
    expected, last = alpha.copy(), 0.0
    for _ in range(3):
        order = rng.permutation(n_rows)
        pass_over(Z, (Z**2).sum(axis=1), codes, S, bounds, order, alpha, W)
        expected = naive_pass(Z, codes, S, bounds, order, expected)
        np.testing.assert_allclose(alpha, expected, atol=1e-8)
        np.testing.assert_allclose(W, -0.5 * (S @ alpha.T) @ Z, atol=1e-9)
        assert (alpha >= 0).all()
        assert (alpha <= bounds[:, None]).all()
        assert (alpha[np.arange(n_rows), codes] == 0).all()
        value = alpha.sum() / (n_classes - 1) - (W**2).sum()
        assert value >= last - 1e-9
        last = value
