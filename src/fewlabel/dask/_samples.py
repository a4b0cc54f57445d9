"""Rows chosen by a hash of their values: the same ones, however the rows are split and whoever reads them."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from fewlabel.exceptions import LabelError

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

    def take(self, rows):
        """Some of the rows, in this order."""
        return HashedRows(*[None if values is None else values[rows] for values in self])

    def join(self, other):
        """These rows and those of another block."""
        pairs = zip(self, other)
        return HashedRows(*[None if one is None else np.concatenate([one, two]) for one, two in pairs])


def sample(X, y, read, most=_MOST):
    """At most `most` rows of each group, those with the lowest hashes: `HashedRows`."""
    X, signs, weight = read(X, y)
    rows = HashedRows(X.astype(np.float64), signs, weight, hash_rows(X))
    return _lowest(rows, most)


def merge_samples(one, other, most=_MOST):
    """Sample of the rows of two samples."""
    return _lowest(one.join(other), most)


def _lowest(rows, most):
    lowest = []
    for sign in (1, 0, -1):
        of_sign = np.flatnonzero(rows.signs == sign)
        order = np.argsort(rows.hashes[of_sign], kind="stable")
        lowest.append(of_sign[order[:most]])
    return rows.take(np.concatenate(lowest))


def labeled_hashes(X, y, read):
    """Hashes of the positives and of the negatives."""
    X, signs, _ = read(X, y)
    return [hash_rows(X[signs == sign]) for sign in (1, -1)]


def merge_hashes(one, other):
    """Hashes of the rows of two blocks."""
    return [np.concatenate(pair) for pair in zip(one, other)]


def hold_out(hashes, fraction):
    """Hash up to which the positives, and the negatives, are held out: a fraction of each, and at least one row.

    Parameters
    ----------
    hashes : list of two ndarray
        Of `labeled_hashes`.
    fraction : float

    Returns
    -------
    dict of {int: numpy.uint64}
        By sign.
    """
    limits = {}
    for sign, of_class in zip((1, -1), hashes):
        of_class = np.sort(of_class)
        n_held_out = max(1, round(fraction * len(of_class)))
        # Copies of a row have the same hash: if the last one is held out, no row is left to learn from.
        if len(of_class) == 0 or of_class[n_held_out - 1] == of_class[-1]:
            raise LabelError(
                "early_stopping=True holds out labeled rows of each class, and there are too few different ones: set "
                "early_stopping=False or label more rows"
            )
        limits[sign] = of_class[n_held_out - 1]
    return limits


class Without:
    """A reader of blocks that leaves out the held-out rows.

    Parameters
    ----------
    read : callable
        ``read(X, y)`` gives the rows as floats, their signs, and their weights or None.
    limits : dict
        Of `hold_out`.
    """

    def __init__(self, read, limits):
        self._read = read
        self._limits = limits

    def __call__(self, X, y):
        return self._choose(X, y, False)

    def held_out(self, X, y):
        """The held-out rows of a block, their signs, weights and hashes."""
        X, signs, weight = self._choose(X, y, True)
        return HashedRows(X, signs, weight, hash_rows(X))

    def _choose(self, X, y, held_out):
        X, signs, weight = self._read(X, y)
        labeled = np.flatnonzero(signs)
        limits = np.where(signs[labeled] > 0, self._limits[1], self._limits[-1])
        # Unlabeled rows are never held out.
        chosen = np.full(len(signs), not held_out)
        chosen[labeled] = (hash_rows(X[labeled]) <= limits) == held_out
        return X[chosen], signs[chosen], None if weight is None else weight[chosen]


def read_held_out(X, y, without):
    """`Without.held_out` as a pass over blocks."""
    return without.held_out(X, y)


def merge_held_out(one, other):
    """The held-out rows of two blocks, in the order of their hashes."""
    rows = one.join(other)
    return rows.take(np.lexsort((rows.signs, rows.hashes)))
