"""Small random tables for the comparisons with slow versions."""

import numpy as np
from hypothesis import strategies as st


def to_y(signs):
    return np.select([signs > 0, signs < 0], [1, 0], -1)


@st.composite
def tables(draw):
    """Small tables with ties, constant and duplicated columns, NaN, weights, and as few as one row of a class."""
    n_p, n_n, n_u = draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.integers(0, 8))
    n, d = n_p + n_n + n_u, draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.sampled_from([1, 2, 3, 5, 1000]))
    X = rng.integers(0, levels, (n, d)).astype(float)
    if draw(st.booleans()):
        X = rng.normal(size=(n, d))
    if draw(st.booleans()):
        X[:, rng.integers(d)] = 1.5
    if d > 1 and draw(st.booleans()):
        X[:, d - 1] = X[:, 0]
    if draw(st.booleans()):
        X[rng.random((n, d)) < 0.3] = np.nan
    signs = rng.permutation(np.r_[np.ones(n_p, int), np.zeros(n_u, int), -np.ones(n_n, int)])
    weight = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else None
    return X, signs, weight
