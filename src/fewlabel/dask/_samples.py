"""Rows chosen by a hash of their values: the same ones, however the rows are split and whoever reads them."""

import numpy as np
import pandas as pd

from fewlabel.exceptions import LabelError

_MOST = 10_000  # rows of each group in a sample


def hash_rows(X):
    """A number of 64 bits for each row, by its values."""
    return pd.util.hash_pandas_object(pd.DataFrame(X), index=False).to_numpy()


def sample(X, y, read, most=_MOST):
    """At most `most` rows of each group, those with the lowest hashes: rows, signs, weights (or None) and hashes."""
    X, signs, weight = read(X, y)
    return _lowest(X.astype(np.float64), signs, weight, hash_rows(X), most)


def merge_samples(one, other, most=_MOST):
    """Sample of the rows of two samples."""
    return _lowest(*map(_join, one, other), most)


def _join(one, other):
    return None if one is None else np.concatenate([one, other])


def _lowest(X, signs, weight, hashes, most):
    lowest = []
    for sign in (1, 0, -1):
        rows = np.flatnonzero(signs == sign)
        order = np.argsort(hashes[rows], kind="stable")
        lowest.append(rows[order[:most]])
    sampled = np.concatenate(lowest)
    return X[sampled], signs[sampled], None if weight is None else weight[sampled], hashes[sampled]


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
    for sign, of_class in zip((1, -1), map(np.sort, hashes)):
        n_held_out = max(1, round(fraction * len(of_class)))
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
        return X, signs, weight, hash_rows(X)

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
    X, signs, weight, hashes = map(_join, one, other)
    order = np.lexsort((signs, hashes))
    return X[order], signs[order], None if weight is None else weight[order], hashes[order]
