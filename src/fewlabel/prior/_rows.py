"""Subsamples and properties of a group of rows, dense or sparse."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

_LARGEST_SAMPLE = 10_000  # more rows of a group do not improve the estimate of a single number


def subsample(rows, rng):
    """Return at most 10,000 of the rows, in their order."""
    n = rows.shape[0]
    if n <= _LARGEST_SAMPLE:
        return rows
    return rows[np.sort(rng.choice(n, _LARGEST_SAMPLE, replace=False))]


def has_missing(*groups):
    """Whether any of the dense groups holds NaN."""
    return any(not sp.issparse(rows) and np.isnan(rows).any() for rows in groups)


def dense(rows):
    """Return the rows as an array."""
    return rows.toarray() if sp.issparse(rows) else rows


def mean_and_variance(rows):
    """Return mean and variance of each column."""
    if sp.issparse(rows):
        return mean_variance_axis(rows, axis=0)
    return rows.mean(axis=0), rows.var(axis=0)
