"""Leaks: columns that say the label, or whether there is one, by themselves."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.special import gammaln
from scipy.stats import hypergeom, norm, rankdata

_FALSE_ALARM = 0.01  # highest chance, over all features, that one without information is reported
_GOOD = 0.9  # AUC of a column that is good rather than a leak
_GROUP_SIZE = 5  # labeled rows per distinct value, on average, of a categorical column that can be reported
_NEARLY = 0.975  # AUC of a column that nearly separates the classes
_STANDS_OUT = 1 / 3  # and its distance to 1, at most this share of that of any other column
_SAMPLE = 20_000  # rows of each class that are compared
FILLED_IF_LABELED = "is filled for labeled rows only"
TOO_FEW_FOR_LEAKS = (
    "with so few labels a good column may separate the classes as a leak does: look yourself which columns are filled "
    "in after the label is known"
)


def find_leaks(
    X: pd.DataFrame, features: np.ndarray, codes: np.ndarray, sources: Sequence[str]
) -> list[tuple[str, str]]:
    """Columns of a table that are suspected to leak the label, and why: what a check and a fit both report.

    Parameters
    ----------
    X : DataFrame of shape (n_samples, n_columns)
        The table as it is.
    features : ndarray of shape (n_samples, n_features)
        The encoded table; NaN marks a missing value.
    codes : ndarray of int of shape (n_samples,)
        Class of each row, ``-1`` if unlabeled; with a class to find, all others are one.
    sources : sequence of str of length n_features
        The column that each feature comes from.

    Returns
    -------
    list of (str, str)
        Name and reason. A column can have two reasons.
    """
    found = list(suspected_leaks(features, codes, sources).items())
    in_use = set(sources)
    for name in map(str, filled_if_labeled(X, codes >= 0)):
        if name in in_use and (name, FILLED_IF_LABELED) not in found:
            found.append((name, FILLED_IF_LABELED))
    return found


def enough_for_leaks(codes: np.ndarray) -> bool:
    """Whether there are enough labels to tell a column that separates the classes from one that is only good.

    A column with an AUC of .9 is good, and separates a few rows of each class perfectly now and then. There are enough
    labels if its chance to do so is at most 1%: for instance 17 of each of two classes, or 10 of one and 70 of the
    other. If only one class is labeled, unlabeled rows take the place of the other.

    Parameters
    ----------
    codes : ndarray of int of shape (n_samples,)
        Class of each row, ``-1`` if unlabeled.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.tables import enough_for_leaks
    >>> enough_for_leaks(np.repeat([0, 1], [7, 20])), enough_for_leaks(np.repeat([0, 1], [17, 17]))
    (False, True)
    """
    counts = np.unique(codes[codes >= 0], return_counts=True)[1]
    if len(counts) == 1:
        counts = np.array([counts[0], len(codes) - counts[0]])
    if len(counts) < 2 or counts.min() == 0:
        return False
    log_chance = 0.0
    for smaller, larger in pairwise(np.sort(counts)):
        log_chance += _log_chance_to_separate(smaller, larger)
    return log_chance <= math.log(_FALSE_ALARM)


def suspected_leaks(features: np.ndarray, codes: np.ndarray, sources: Sequence[str]) -> dict[str, str]:
    """Columns that separate the classes by themselves, perfectly or nearly, where chance is no explanation.

    Such a column is often filled in after the label is known, and missing or different for new rows. Both its values
    and where it has any are compared with the labels. If only one class is labeled, they are compared with which rows
    are labeled.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
        The encoded table; NaN marks a missing value.
    codes : ndarray of int of shape (n_samples,)
        Class of each row, ``-1`` if unlabeled.
    sources : sequence of str of length n_features
        The column that each feature comes from.

    Returns
    -------
    dict
        What is suspicious about each such column, perfect ones first.

    Notes
    -----
    A column without information is suspected with a chance of at most 1%. A column that is only good may separate a few
    labels, too: :func:`enough_for_leaks` says how many are enough to tell it from a leak.

    A column nearly separates two classes if its AUC is .975 or more, and so far above that of every other column that
    the rest can be no second explanation: it is at most a third as far from 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.tables import suspected_leaks
    >>> y = np.repeat([0, 1], 50)
    >>> rng = np.random.default_rng(0)
    >>> agrees = np.where(np.arange(100) == 7, 1 - y, y)
    >>> suspected_leaks(np.column_stack([rng.normal(size=100), 3.0 * y, agrees]), y, ["noise", "refund", "verdict"])
    {'refund': 'alone separates the classes', 'verdict': 'alone nearly separates the classes (AUC 0.990)'}
    """
    separates = "alone separates the classes"
    gaps = "is filled for one class only"
    classes = np.unique(codes[codes >= 0])
    if len(classes) == 1:
        codes = (codes >= 0).astype(np.int64)
        classes = np.unique(codes)
        separates = "alone separates labeled from unlabeled rows"
        gaps = FILLED_IF_LABELED
    if len(classes) < 2:
        return {}
    rows = np.concatenate([np.flatnonzero(codes == code)[:_SAMPLE] for code in classes])
    y = np.searchsorted(classes, codes[rows])
    n_classes = len(classes)
    n_features = len(sources)
    features = features[rows]
    of_feature = np.array(sources, dtype=object)
    values = {}
    for name in dict.fromkeys(sources):
        values[name] = features[:, of_feature == name]
    found: dict[str, str] = {}
    if _log_chance(np.bincount(y), n_features) <= math.log(_FALSE_ALARM):
        for name, column in values.items():
            missing = np.isnan(column)
            if not missing.any() and _separates(column, y, n_classes):
                found[name] = separates
            elif missing.any() and _orders(missing.all(axis=1), y, n_classes):
                found[name] = gaps
    if n_classes == 2:
        others = {name: column for name, column in values.items() if name not in found}
        nearly = separates.replace("separates", "nearly separates")
        for name, auc in _nearly(others, y, n_features).items():
            found[name] = f"{nearly} (AUC {auc:.3f})"
    return found


def filled_if_labeled(X: pd.DataFrame, labeled: np.ndarray) -> list[str]:
    """Columns without a value in any unlabeled row, where chance is no explanation."""
    n_labeled = int(labeled.sum())
    limit = math.log(_FALSE_ALARM) - math.log(max(X.shape[1], 1))
    names = []
    for name in X.columns if n_labeled < len(X) else ():
        filled = X[name].notna().to_numpy()
        n_filled = int(filled.sum())
        if n_filled == 0 or (filled & ~labeled).any():
            continue
        # The chance that so many cells, drawn at random, are all of labeled rows.
        if hypergeom.logpmf(n_filled, len(X), n_labeled, n_filled) < limit:
            names.append(name)
    return names


def _log_chance_to_separate(n_one: int, n_other: int) -> float:
    """Logarithm of the chance that a good column separates two classes.

    If the distribution functions of a column are F in one class and F^k in the other, its AUC is k / (k + 1), and it
    separates m and n rows with the chance 1 / binomial(m / k + n, n) (Lehmann, Annals of Mathematical Statistics 24,
    1953): for k = 1 one of all orders. Which class has which function is unknown.
    """
    odds = _GOOD / (1 - _GOOD)
    chances = []
    for m, n in ((n_one, n_other), (n_other, n_one)):
        chances.append(gammaln(m / odds + 1) + gammaln(n + 1) - gammaln(m / odds + n + 1))
    return float(max(chances))


def _log_chance(counts: np.ndarray, n_features: int) -> float:
    """Logarithm of the chance that a random order of the rows separates the classes, for one of the features."""
    log_orders = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
    # The classes may come in any order.
    log_separating = gammaln(len(counts) + 1)
    return log_separating - log_orders + math.log(max(n_features, 1))


def _nearly(columns: dict[str, np.ndarray], y: np.ndarray, n_features: int) -> dict[str, float]:
    """AUC of the columns that nearly separate two classes, and are far better than all others."""
    n_low, n_high = np.bincount(y)
    # An AUC beyond this is no chance, by the normal approximation of Mann and Whitney's test.
    deviation = math.sqrt((len(y) + 1) / (12 * n_low * n_high))
    error = norm.isf(_FALSE_ALARM / 2 / max(n_features, 1)) * deviation
    limit = max(_NEARLY, 0.5 + error)
    aucs = {}
    for name, column in columns.items():
        aucs[name] = _best_auc(column, y)
    others = [auc for auc in aucs.values() if auc < limit]
    second = max(others, default=0.5)
    limit = max(limit, 1 - _STANDS_OUT * (1 - second))
    return {name: auc for name, auc in aucs.items() if auc >= limit}


def _best_auc(values: np.ndarray, y: np.ndarray) -> float:
    """The largest AUC, in either direction, of the numbers of a column, of its gaps and of its categories."""
    missing = np.isnan(values)
    candidates = [values]
    # Gaps below all values, above them, and by themselves.
    if missing.any():
        lowest = np.where(missing, -np.inf, values)
        highest = np.where(missing, np.inf, values)
        candidates = [lowest, highest, missing.astype(float)]
    found = []
    for table in candidates:
        for column in table.T:
            auc = _auc(column, y)
            found.append(max(auc, 1 - auc))
    if values.shape[1] > 1:
        groups = np.unique(np.nan_to_num(values), axis=0, return_inverse=True)[1].ravel()
        sizes = np.bincount(groups)
        if len(sizes) <= len(y) / _GROUP_SIZE:
            # The share of positives among the other rows of the category: a row does not speak for itself.
            n_others = np.maximum(sizes[groups] - 1, 1)
            positive_others = np.bincount(groups, y)[groups] - y
            found.append(_auc(positive_others / n_others, y))
    return max(found)


def _auc(score: np.ndarray, y: np.ndarray) -> float:
    n_low, n_high = np.bincount(y)
    rank_sum = rankdata(score)[y == 1].sum()
    n_pairs_below = rank_sum - n_high * (n_high + 1) / 2
    return float(n_pairs_below / (n_low * n_high))


def _separates(values: np.ndarray, y: np.ndarray, n_classes: int) -> bool:
    """Whether one number orders the classes, or few distinct values of several numbers each hold a single class."""
    for column in values.T:
        if _orders(column, y, n_classes):
            return True
    if values.shape[1] == 1:
        return False
    groups = np.unique(values, axis=0, return_inverse=True)[1].ravel()
    n_groups = int(groups.max()) + 1
    return n_groups <= len(y) / _GROUP_SIZE and _pure(groups, y)


def _orders(column: np.ndarray, y: np.ndarray, n_classes: int) -> bool:
    groups = np.unique(column, return_inverse=True)[1]
    ordered = y[np.argsort(groups, kind="stable")]
    n_changes = int((np.diff(ordered) != 0).sum())
    return n_changes == n_classes - 1 and _pure(groups, y)


def _pure(groups: np.ndarray, y: np.ndarray) -> bool:
    """Whether each group holds rows of one class."""
    pairs = np.column_stack([groups, y])
    return len(np.unique(pairs, axis=0)) == len(np.unique(groups))
