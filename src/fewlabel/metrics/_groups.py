"""Figures of a ranking and its threshold, group by group."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fewlabel import labels
from fewlabel.decisions import Estimate
from fewlabel.metrics._inputs import read_score, read_weight
from fewlabel.metrics._intervals import auc_confidence_interval
from fewlabel.metrics.shares import wilson
from fewlabel.rows import effective_number

_LEAST = 5  # labeled rows that a share or an AUC is based on, of each class
_MOST_GROUPS = 20
_MISSING = "missing"
_OTHERS = "all others"
_UNKNOWN = Estimate(np.nan, np.nan, np.nan)


def by_group(
    y_true: ArrayLike,
    y_score: ArrayLike,
    groups: Any,
    *,
    threshold: float = 0.0,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 4,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """AUC, rate flagged, precision and recall of each group of rows, with intervals.

    The rate flagged is that of the unlabeled rows of the group, on which the model is used; if no row at all is
    unlabeled, that of its labeled ones. All other figures are of the labeled rows, with weights if they are given.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Two classes, of which the last in sorted order is positive; ``-1`` or a missing value marks an unlabeled row.
    y_score : array-like of shape (n_samples,)
        Larger means more likely positive. Scores of labeled rows come from models that were not fitted to them.
    groups : array-like of shape (n_samples,)
        The group of each row. Numbers with more than `n_bins` + 4 different values are divided at their quantiles.
        Beyond 20 groups, the smallest are one.
    threshold : float, default=0.0
        Rows with a higher score are flagged.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the labeled rows, such as those by which chosen labels stand for the unlabeled rows. Those of
        unlabeled rows are not used.
    n_bins : int, default=4
        Groups of a column of numbers.
    confidence : float, default=0.95
        Nominal coverage of the intervals, each by itself.

    Returns
    -------
    DataFrame
        One row per group: `group`, `rows`, `labels`, `positives`, and `auc`, `flagged`, `precision` and `recall`, each
        with `_low` and `_high`. NaN where it cannot be estimated: a precision needs 5 labeled rows that are flagged,
        a recall 5 labeled positives, an AUC 5 labeled rows of each class.

    See Also
    --------
    auc_confidence_interval : The interval of the AUC.

    Notes
    -----
    Intervals of shares are Wilson's [1]_, with Kish's effective number of rows if they are weighted. They say how well
    a group is known; a difference between two groups may be due to chance as long as their intervals overlap much.

    References
    ----------
    .. [1] E. B. Wilson. Probable inference, the law of succession, and statistical inference. Journal of the American
       Statistical Association 22, 1927.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.metrics import by_group
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> found = by_group(y, rng.normal(2.0 * y), np.repeat(["north", "south"], 100), threshold=1.0)
    >>> found[["group", "labels", "auc", "precision"]].round(2)
       group  labels   auc  precision
    0  north     100  0.90       0.82
    1  south     100  0.91       0.89
    """
    y = labels.read(y_true)
    labels.require_labels(y)
    if len(y.classes) > 2:
        raise ValueError(f"by_group is for two classes, and there are {len(y.classes)}: name one and join the others")
    score = read_score(y_score, len(y.codes), "y_score")
    weight = np.ones(len(score)) if sample_weight is None else read_weight(sample_weight, len(score))
    names = _group_names(groups, n_bins)
    if len(names) != len(score):
        raise ValueError(f"groups has {len(names)} values and y_true {len(score)}: give one per row")
    is_labeled = y.codes >= 0
    used_on = is_labeled if is_labeled.all() else ~is_labeled
    # With one labeled class only, which is the positive one, nothing is known of negatives.
    is_positive = y.codes == len(y.classes) - 1
    knows_negatives = len(y.classes) == 2
    flagged = score > threshold
    counts = is_labeled & (weight > 0)
    rows = []
    for name in names.cat.categories:
        here = (names == name).to_numpy()
        tested = here & counts
        used = here & used_on
        alarms = tested & flagged & knows_negatives
        found = tested & is_positive
        row: dict[str, Any] = {"group": name, "rows": here.sum()}
        row["labels"] = (here & is_labeled).sum()
        row["positives"] = (here & is_positive).sum()
        row |= _auc(is_positive[tested], score[tested], weight[tested], confidence).columns("auc")
        row |= _share(flagged[used], np.ones(used.sum()), confidence, least=1).columns("flagged")
        row |= _share(is_positive[alarms], weight[alarms], confidence).columns("precision")
        row |= _share(flagged[found], weight[found], confidence).columns("recall")
        rows.append(row)
    return pd.DataFrame(rows)


def _group_names(groups: Any, n_bins: int) -> pd.Series:
    """The group of each row as text, in the order of the groups."""
    column = pd.Series(groups).reset_index(drop=True)
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if is_number and column.nunique() > n_bins + 4:
        numbers = column.astype(float)
        ends = np.unique(np.nanquantile(numbers, np.linspace(0, 1, n_bins + 1)))
        order = [f"{low:.6g} to {high:.6g}" for low, high in itertools.pairwise(ends)]
        # An end belongs to the group below it, and the lowest to the first.
        place = np.clip(np.searchsorted(ends, numbers, side="left") - 1, 0, len(order) - 1)
        named = pd.Series(np.array(order, dtype=object)[place])
    else:
        present = column.dropna()
        values = present if is_number else present.map(str)
        order = [str(value) for value in sorted(values.unique())]
        named = column.map(str).astype(object)
    missing = column.isna()
    sizes = named[~missing].value_counts()
    if len(sizes) > _MOST_GROUPS:
        rare = sizes.index[_MOST_GROUPS - 1 :]
        named = named.mask(named.isin(rare), _OTHERS)
    named = named.mask(missing, _MISSING)
    categories = dict.fromkeys([*order, _OTHERS, _MISSING])
    return named.astype(pd.CategoricalDtype(list(categories))).cat.remove_unused_categories()


def _auc(positive, score, weight, confidence):
    n_positive = positive.sum()
    if min(n_positive, len(positive) - n_positive) < _LEAST:
        return _UNKNOWN
    if (weight == weight[0]).all():
        weight = None
    found = auc_confidence_interval(positive.astype(int), score, sample_weight=weight, confidence=confidence)
    return Estimate(found.auc, found.low, found.high)


def _share(chosen, weight, confidence, least=_LEAST):
    """Share of the rows that are `chosen`."""
    if len(chosen) < least:
        return _UNKNOWN
    share = float(np.average(chosen, weights=weight))
    [[low, high]] = wilson(share, effective_number(weight), confidence).tolist()
    return Estimate(share, low, high)
