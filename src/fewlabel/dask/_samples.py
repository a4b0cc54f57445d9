"""Rows chosen by a hash of their values: the same ones, however the rows are split and whoever reads them."""

import numpy as np
import pandas as pd

from fewlabel.exceptions import LabelError

_MOST = 10_000  # rows of each group in a sample


def hash_rows(X):
    """A number of 64 bits for each row, by its values."""
    return pd.util.hash_pandas_object(pd.DataFrame(X), index=False).to_numpy()


def sample(X, y, read, most=_MOST):
    """At most `most` rows of each group, those with the lowest hashes: rows, signs and hashes."""
    X, signs = read(X, y)
    return _lowest(X.astype(np.float64), signs, hash_rows(X), most)


def merge_samples(one, other, most=_MOST):
    """Sample of the rows of two samples."""
    return _lowest(*(np.concatenate(pair) for pair in zip(one, other)), most)


def _lowest(X, signs, hashes, most):
    kept = [rows[np.argsort(hashes[rows], kind="stable")[:most]] for rows in _groups(signs)]
    kept = np.concatenate(kept)
    return X[kept], signs[kept], hashes[kept]


def _groups(signs):
    return [np.flatnonzero(signs == sign) for sign in (1, 0, -1)]


def labeled_hashes(X, y, read):
    """Hashes of the positives and of the negatives."""
    X, signs = read(X, y)
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
        ``read(X, y)`` gives the rows as floats, and their signs.
    limits : dict
        Of `hold_out`.
    """

    def __init__(self, read, limits):
        self._read, self._limits = read, limits

    def __call__(self, X, y):
        X, signs, held_out = self._split(X, y)
        return X[~held_out], signs[~held_out]

    def held_out(self, X, y):
        """The held-out rows of a block, their signs and hashes."""
        X, signs, held_out = self._split(X, y)
        return X[held_out], signs[held_out], hash_rows(X[held_out])

    def _split(self, X, y):
        X, signs = self._read(X, y)
        held_out, labeled = np.zeros(len(signs), dtype=np.bool_), np.flatnonzero(signs)
        limits = np.where(signs[labeled] > 0, self._limits[1], self._limits[-1])
        held_out[labeled] = hash_rows(X[labeled]) <= limits
        return X, signs, held_out


def read_held_out(X, y, without):
    """`Without.held_out` as a pass over blocks."""
    return without.held_out(X, y)


def merge_held_out(one, other):
    """The held-out rows of two blocks, in the order of their hashes."""
    X, signs, hashes = (np.concatenate(pair) for pair in zip(one, other))
    order = np.lexsort((signs, hashes))
    return X[order], signs[order], hashes[order]
