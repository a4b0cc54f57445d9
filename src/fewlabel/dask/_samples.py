"""Rows chosen by a hash of their values: the same ones, however the rows are split and whoever reads them."""

from typing import NamedTuple

import numpy as np
import pandas as pd

_MOST = 10_000  # rows in a sample of the positives, of the negatives and of the unlabeled rows


def hash_rows(X):
    """A number of 64 bits for each row, by its values."""
    return pd.util.hash_pandas_object(pd.DataFrame(X), index=False).to_numpy()


class HashedRows(NamedTuple):
    """Rows, their signs, their weights or None, and their hashes."""

    X: np.ndarray
    signs: np.ndarray
    weight: np.ndarray | None
    hashes: np.ndarray


def sample(X, y, read, most=_MOST):
    """At most `most` rows of each group, those with the lowest hashes: `HashedRows`."""
    X, signs, weight = read(X, y)
    return _lowest((X.astype(np.float64), signs, weight, hash_rows(X)), most)


def merge_samples(one, other, most=_MOST):
    """Sample of the rows of two samples."""
    return _lowest([None if a is None else np.concatenate([a, b]) for a, b in zip(one, other)], most)


def _lowest(fields, most):
    rows = HashedRows(*fields)
    lowest = []
    for sign in (1, 0, -1):
        of_sign = np.flatnonzero(rows.signs == sign)
        order = np.argsort(rows.hashes[of_sign], kind="stable")
        lowest.append(of_sign[order[:most]])
    chosen = np.concatenate(lowest)
    return HashedRows(*[None if field is None else field[chosen] for field in rows])
