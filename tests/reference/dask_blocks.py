"""Tables in blocks, for comparisons of Dask models with those of one machine."""

import dask.array as da
import numpy as np

from reference.fitted_stumps import stumps_of


def table(n=1200, levels=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, size=(n, 5)).astype(float) if levels else rng.normal(size=(n, 5))
    score = X[:, 0] + X[:, 1] + rng.normal(size=n) * X.std()
    true = (score > np.median(score)).astype(int)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.where(rng.random(n) < 0.25, true, -1), true


def in_blocks(X, y, sizes):
    return da.from_array(X, chunks=(sizes, X.shape[1])), da.from_array(y, chunks=(sizes,))


def assert_same(model, other, X, probabilities=True):
    for field in ("column", "threshold", "sign", "on_missing"):
        np.testing.assert_array_equal(stumps_of(model)[field], stumps_of(other)[field])
    np.testing.assert_allclose(stumps_of(model)["high"], stumps_of(other)["high"], rtol=1e-9)
    np.testing.assert_allclose(model.train_loss_, other.train_loss_, rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-9)
    if probabilities:
        np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-9)


def assert_same_trees(model, other, X):
    """Same splits, leaf values to 1e-9, and the same threshold."""
    for field in ("column", "threshold", "missing_up"):
        np.testing.assert_array_equal(model.splits_[field], other.splits_[field])
    np.testing.assert_allclose(model.leaf_values_, other.leaf_values_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.train_loss_, other.train_loss_, rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-9)
