"""Folds that match how the rows were sampled: groups and copies of a row on one side, the past before the future."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from fewlabel.exceptions import LabelError
from fewlabel.random_streams import draw_seed
from fewlabel.rows import Rows

_LEAST = 2  # labeled rows of each class before, and after, the moment from which on rows are predicted
_FORWARD_SPLITS = 4
_RARE_CLASSES = 0.1  # of the rows: classes that hold less together do not lower the number of folds
_NEAR = 1e-3  # standard deviations; rows that differ by less in every column are near duplicates
_FALSE_ALARM = 0.01  # highest chance, over all pairs of rows and with independent columns, of rows that agree
_SHARED = 2  # few rows have a value: at most so many times the copies,
_RARE = 0.01  # or this share of all rows


class Fold(NamedTuple):
    """One model to fit, and the rows that it predicts.

    Attributes
    ----------
    repeat : int
    test : ndarray of int
        Positions, among the labeled rows, of those that are predicted.
    left_out : ndarray of int
        Positions, among the labeled rows, of those that are not learned from; all of `test` and maybe others.
    """

    repeat: int
    test: np.ndarray
    left_out: np.ndarray


def stratified_folds(rows: Rows, n_splits: int, n_repeats: int, seed: int) -> Iterator[Fold]:
    """Folds of the labeled rows: forward in time if `time` is given, otherwise stratified, with groups on one side.

    Parameters
    ----------
    rows : Rows
        The labeled rows.
    n_splits : int
        Most folds per repeat; fewer if a class is in fewer groups.
    n_repeats : int
        Number of times that the rows are split. Those that are ordered by time can be split once only.
    seed : int

    Yields
    ------
    Fold
    """
    rng = check_random_state(seed)
    # Rows that are ordered by time can be split in one way only.
    for repeat in range(n_repeats if rows.time is None else 1):
        for left_out, test in split_labeled(rows, n_splits, seed=draw_seed(rng)):
            yield Fold(repeat, test, left_out)


def split_labeled(rows, n_splits, *, seed, shuffle=True, n_blocks=_FORWARD_SPLITS):
    """Split labeled rows as they were sampled: forward in time, by groups, or by class alone.

    Parameters
    ----------
    rows : Rows
        The labeled rows.
    n_splits : int
    seed : int, RandomState instance or None
    shuffle : bool, default=True
    n_blocks : int, default=4
        Most blocks of later rows, if the rows are ordered by time.

    Returns
    -------
    list of (ndarray of int, ndarray of int)
        Rows that are not learned from, and rows to predict.
    """
    if rows.time is not None:
        return forward_folds(rows.codes, rows.time, rows.groups, n_blocks)
    if rows.groups is not None:
        tests = grouped_folds(rows.codes, rows.groups, n_splits, seed if shuffle else None)
    else:
        tests = class_folds(rows.codes, n_splits, seed if shuffle else None)
    return [(test, test) for test in tests]


def usual_splits(codes: np.ndarray, most: int) -> int:
    """Number of folds: with two classes each has a row in each fold.

    With more, classes that hold less than a tenth of the rows together do not count.

    Parameters
    ----------
    codes : ndarray of int of shape (n_labeled,)
    most : int

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.folds import usual_splits
    >>> usual_splits(np.repeat([0, 1], [3, 9]), 5), usual_splits(np.repeat([0, 1, 2], [20, 20, 1]), 5)
    (3, 5)
    """
    counts = np.sort(np.bincount(codes))
    counts = counts[counts > 0]
    if len(counts) > 2:
        counts = counts[np.cumsum(counts) >= _RARE_CLASSES * counts.sum()]
    return int(np.clip(counts[0], 2, most))


def class_folds(codes: np.ndarray, n_splits: int, seed: int | None) -> list[np.ndarray]:
    """Test sets over which the rows of each class are spread; the only row of a class is in none of them.

    Parameters
    ----------
    codes : ndarray of int of shape (n_labeled,)
    n_splits : int
    seed : int or None
        Shuffles the rows; None keeps their order.

    Returns
    -------
    list of ndarray of int

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.folds import class_folds
    >>> [test.tolist() for test in class_folds(np.array([0, 0, 0, 1, 1, 2]), 3, seed=None)]
    [[0, 3], [1, 4], [2]]
    """
    counts = np.bincount(codes)
    tested = np.flatnonzero(counts[codes] > 1)
    of_class = codes[tested]
    if counts[counts > 1].min() >= n_splits:
        splitter = StratifiedKFold(n_splits, shuffle=seed is not None, random_state=seed)
        return [tested[test] for _, test in splitter.split(of_class, of_class)]
    rng = None if seed is None else check_random_state(seed)
    fold_of = np.zeros(len(tested), dtype=int)
    start = 0
    for code in np.unique(of_class):
        rows = np.flatnonzero(of_class == code)
        if rng is not None:
            rows = rng.permutation(rows)
        fold_of[rows] = (start + np.arange(len(rows))) % n_splits
        # Each class begins where the last one ended, so that folds are of equal size.
        start += len(rows)
    return [tested[fold_of == fold] for fold in range(n_splits)]


def grouped_folds(y: np.ndarray, groups: np.ndarray, n_splits: int, seed: int | None) -> list[np.ndarray]:
    """Test sets that hold whole groups, and about the same share of each class.

    A group with the only row of a class is in none of them: the class could not be learned without it.

    Parameters
    ----------
    y : ndarray of int of shape (n_labeled,)
        Class of each row.
    groups : ndarray of int of shape (n_labeled,)
    n_splits : int
        Most folds; fewer if a class is in fewer groups, see `usual_splits`.
    seed : int or None
        Shuffles the groups; None keeps their order.

    Returns
    -------
    list of ndarray of int

    Raises
    ------
    LabelError
        If all rows of a class are of one group, and they are more than one.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.folds import grouped_folds
    >>> y, patient = np.array([0, 0, 1, 1, 0, 1]), np.array([1, 1, 2, 2, 3, 4])
    >>> [test.tolist() for test in grouped_folds(y, patient, 5, seed=None)]
    [[0, 1, 5], [2, 3, 4]]
    """
    is_alone = np.bincount(y)[y] == 1
    tested = np.flatnonzero(~np.isin(groups, groups[is_alone]))
    if len(tested) == 0:
        tested = np.arange(len(y))
    names, group_of = np.unique(groups[tested], return_inverse=True)
    counts = np.zeros((len(names), int(y.max()) + 1))
    np.add.at(counts, (group_of, y[tested]), 1)
    counts = counts[:, counts.any(axis=0)]
    n_groups = (counts > 0).sum(axis=0)
    if n_groups.min() < 2:
        n_rows = int(counts[:, n_groups.argmin()].sum())
        raise LabelError(
            f"all {n_rows} labeled rows of a class are of one group: at least two groups of each class are needed, "
            "one to learn from and one to validate with. Label rows of other groups, or leave out groups"
        )
    # As without groups: a test set needs a group of each class, but of rare ones beside two others or more.
    n_splits = usual_splits(np.repeat(np.arange(len(n_groups)), n_groups), n_splits)
    shares = counts / counts.sum(axis=0)
    order = np.arange(len(names))
    if seed is not None:
        order = check_random_state(seed).permutation(len(names))
    # The largest are the hardest to place, and come first.
    largest = shares[order].max(axis=1)
    order = order[np.argsort(-largest, kind="stable")]
    filled = np.zeros((n_splits, counts.shape[1]))
    fold_of = np.zeros(len(names), dtype=int)
    for group in order:
        # The fold with the least of the classes that the group holds; of equal ones the emptiest.
        same_classes = np.round(filled @ shares[group], 12)
        fold = np.lexsort((filled.sum(axis=1), same_classes))[0]
        fold_of[group] = fold
        filled[fold] += shares[group]
    return [tested[fold_of[group_of] == fold] for fold in range(n_splits)]


def forward_folds(
    y: np.ndarray, time: np.ndarray, groups: np.ndarray | None = None, n_splits: int = _FORWARD_SPLITS
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Train on the past, test on later rows: about half of the rows are predicted, in blocks, from all before them.

    Parameters
    ----------
    y : ndarray of int of shape (n_labeled,)
        Class of each row.
    time : ndarray of shape (n_labeled,)
    groups : ndarray of int of shape (n_labeled,), default=None
        If given, earlier rows of the groups that are predicted are not learned from.
    n_splits : int, default=4
        Most blocks.

    Returns
    -------
    list of (ndarray of int, ndarray of int)
        Rows that are not learned from (the later ones and, with groups, earlier rows of theirs), and rows to predict.

    Raises
    ------
    LabelError
        If there is no moment with labeled rows of each class before and after it.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.folds import forward_folds
    >>> y, time = np.array([0, 1, 0, 1, 0, 1, 0, 1]), np.arange(8)
    >>> [test.tolist() for _, test in forward_folds(y, time, n_splits=2)]
    [[4, 5], [6, 7]]
    """
    n_classes = int(y.max()) + 1
    starts = []
    for start in np.unique(time):
        n_before = _n_rarest(y[time < start], n_classes)
        n_after = _n_rarest(y[time >= start], n_classes)
        if min(n_before, n_after) >= _LEAST:
            starts.append(start)
    if not starts:
        raise LabelError(
            f"time: there is no moment with {_LEAST} labeled rows of each class before and after it: label rows of "
            "each class over a longer time, or leave out time"
        )
    # About half of the rows are predicted.
    first = min(starts, key=lambda start: abs((time < start).mean() - 0.5))
    later = np.sort(time[time >= first])
    inner = later[len(later) * np.arange(1, n_splits) // n_splits]
    edges = np.unique([first, *inner, np.inf])
    folds = []
    for start, end in pairwise(edges):
        test = np.flatnonzero((time >= start) & (time < end))
        left_out = time >= start
        if groups is not None:
            left_out |= np.isin(groups, groups[test])
        if _n_rarest(y[~left_out], n_classes) == 0:
            raise LabelError(
                "time and groups: no labeled row of a class is earlier and of another group than the rows to predict; "
                "give only one of the two, or label earlier rows of other groups"
            )
        folds.append((np.flatnonzero(left_out), test))
    return folds


def _n_rarest(y, n_classes):
    """Number of rows of the rarest class."""
    return int(np.bincount(y, minlength=n_classes).min())


def copies(X: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
    """Find exact and near duplicates: rows that agree in every column, in two with values that few others have.

    Rows that agree in common values only, as many do in a table of a few categories, or that agree no more often than
    chance explains, are not copies of each other.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The table; NaN marks a missing value.
    rows : ndarray of int
        The rows to compare with each other.

    Returns
    -------
    ndarray of int of shape (len(rows),) or None
        The same number for copies of the same row; None if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.folds import copies
    >>> X = np.random.default_rng(0).normal(size=(4, 10))
    >>> X[2] = X[0]
    >>> copies(X, np.arange(4)).tolist()
    [0, 1, 0, 2]
    """
    is_empty = np.isnan(X).all(axis=0)
    spread = np.nanstd(np.where(is_empty, 0.0, X), axis=0)
    varies = np.flatnonzero(spread > 0)
    if len(rows) < 2 or len(varies) == 0:
        return None
    group = _groups_of_near_rows(X[np.ix_(rows, varies)] / spread[varies])
    sizes = np.bincount(group)
    # Rows may agree by chance: only those with a copy are looked at closer.
    twins = np.flatnonzero(sizes[group] > 1)
    if len(twins) == 0:
        return None
    n_copies = sizes[group[twins]]
    few = np.maximum(_SHARED * n_copies, _RARE * len(X))
    n_rare = np.zeros(len(twins), dtype=int)
    log_chance = np.full(len(twins), 2 * np.log(len(rows)))
    for k in varies:
        value = X[rows[twins], k]
        missing = np.isnan(value)
        n_same = _n_near(X[:, k], value, _NEAR * spread[k])
        n_rare += ~missing & (n_same <= few)
        n_missing = np.isnan(X[:, k]).sum()
        n_others = np.where(missing, n_missing, n_same) - n_copies
        # Numbers are `_NEAR` apart by chance even if no other row has them.
        chance = np.maximum(n_others / len(X), _NEAR)
        log_chance += np.log(chance)
    is_chance = (n_rare < 2) | (log_chance > np.log(_FALSE_ALARM))
    by_chance = twins[is_chance]
    # A group for each of them alone.
    group[by_chance] = group.max() + 1 + np.arange(len(by_chance))
    numbers, names = pd.factorize(group)
    return None if len(names) == len(rows) else numbers


def _groups_of_near_rows(table):
    """Number of the group of rows that each row is near to, directly or over others."""
    # Gaps match gaps only: they get a number that no value is near.
    beyond = np.nanmax(np.abs(table), initial=0.0) + 10.0
    table = np.where(np.isnan(table), beyond, table)
    distinct, place = np.unique(table, axis=0, return_inverse=True)
    pairs = _near_pairs(distinct)
    group_of_distinct = _components(pairs[:, 0], pairs[:, 1], len(distinct))
    return group_of_distinct[place.ravel()]


def _n_near(column, values, distance):
    """Number of cells of a column within a distance of each value."""
    ordered = np.sort(column)
    first = np.searchsorted(ordered, values - distance, "left")
    last = np.searchsorted(ordered, values + distance, "right")
    return last - first


def _near_pairs(table):
    """Pairs of rows that differ by less than `_NEAR` in every column.

    Such rows are as near in any weighted mean of the columns, and two of these leave few other pairs to compare.
    """
    weights = np.random.RandomState(0).uniform(0.5, 1.5, (table.shape[1], 2))
    means = table @ (weights / weights.sum(axis=0))
    # A little more than `_NEAR`, because sums are rounded.
    pairs = cKDTree(means).query_pairs(1.001 * _NEAR, p=np.inf, output_type="ndarray")
    differences = np.abs(table[pairs[:, 0]] - table[pairs[:, 1]])
    return pairs[(differences <= _NEAR).all(axis=1)]


def join_groups(groups: np.ndarray | None, others: np.ndarray) -> np.ndarray:
    """Groups that rows have in common with one of two groupings, directly or over other rows.

    Parameters
    ----------
    groups : ndarray of int or None
    others : ndarray of int

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.folds import join_groups
    >>> join_groups(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])).tolist()
    [0, 0, 0, 1]
    """
    if groups is None:
        return others
    n_groups = int(groups.max()) + 1
    n_others = int(others.max()) + 1
    return _components(groups, n_groups + others, n_groups + n_others)[groups]


def _components(left, right, n_vertices):
    """Number of the connected part of a graph that each vertex is in, from the ends of its edges."""
    shape = (n_vertices, n_vertices)
    links = coo_array((np.ones(len(left)), (left, right)), shape=shape)
    return connected_components(links, directed=False)[1]
