"""Leaks: columns that separate the classes by themselves."""

import math
from collections.abc import Sequence

import numpy as np

_FALSE_ALARM = 0.01  # highest chance, over all features, that one without information is reported
_GROUP_SIZE = 5  # labeled rows per distinct value, on average, of a categorical column that can be reported


def suspected_leaks(features: np.ndarray, codes: np.ndarray, sources: Sequence[str]) -> list[str]:
    """Columns that separate the labeled classes by themselves, where chance is no explanation.

    Such a column is often filled in after the label is known, and missing or different for new rows.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
        The encoded table.
    codes : ndarray of int of shape (n_samples,)
        Class of each row, ``-1`` if unlabeled.
    sources : sequence of str of length n_features
        The column that each feature comes from.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.tables import suspected_leaks
    >>> y = np.repeat([0, 1], 20)
    >>> noise = np.random.default_rng(0).normal(size=40)
    >>> suspected_leaks(np.column_stack([noise, 3.0 * y]), y, ["noise", "refund"])
    ['refund']
    """
    labeled = codes >= 0
    y = codes[labeled]
    counts = np.bincount(y)
    counts = counts[counts > 0]
    if len(counts) < 2:
        return []
    columns: dict[str, list[int]] = {}
    for number, name in enumerate(sources):
        columns.setdefault(name, []).append(number)
    # Chance that a random order of the rows separates the classes: orders of the classes over orders of the rows.
    log_chance = math.lgamma(len(counts) + 1) + sum(math.lgamma(c + 1) for c in counts) - math.lgamma(len(y) + 1)
    if log_chance + math.log(max(len(sources), 1)) > math.log(_FALSE_ALARM):
        return []
    rows = features[labeled]
    return [name for name, numbers in columns.items() if _separates(rows[:, numbers], y, len(counts))]


def _separates(values: np.ndarray, y: np.ndarray, n_classes: int) -> bool:
    """Whether one number orders the classes, or few distinct values of several numbers each hold a single class."""
    if np.isnan(values).any():
        return False
    if any(_orders(column, y, n_classes) for column in values.T):
        return True
    if values.shape[1] == 1:
        return False
    groups = np.unique(values, axis=0, return_inverse=True)[1].ravel()
    n_groups = int(groups.max()) + 1
    return n_groups <= len(y) / _GROUP_SIZE and _pure(groups, y)


def _orders(column: np.ndarray, y: np.ndarray, n_classes: int) -> bool:
    groups = np.unique(column, return_inverse=True)[1]
    order = np.argsort(groups, kind="stable")
    return _pure(groups, y) and int((np.diff(y[order]) != 0).sum()) == n_classes - 1


def _pure(groups: np.ndarray, y: np.ndarray) -> bool:
    """Whether each group holds rows of one class."""
    largest, smallest = np.full(groups.max() + 1, -1), np.full(groups.max() + 1, y.max() + 1)
    np.maximum.at(largest, groups, y)
    np.minimum.at(smallest, groups, y)
    return bool((largest == smallest).all())
