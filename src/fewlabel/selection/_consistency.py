"""Consistency filter: the fewest columns in which rows with equal values have one class."""

from dataclasses import KW_ONLY
from typing import Literal

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from fewlabel.base import Count, UnitInterval, parametrized
from fewlabel.selection._base import TableSelector, choice_of_path
from fewlabel.selection._discretize import discretize
from fewlabel.selection._search import best_first
from fewlabel.types import Seed

_ROUNDING = 1e-12


@parametrized
class ConsistencySubsetSelector(TableSelector):
    r"""Select columns in which rows with equal values have equal classes (consistency filter, LVF).

    Numeric columns are discretized by minimum description length. Rows with equal values in all columns of a subset
    form a group; rows outside the most frequent class of their group are inconsistent,

    .. math:: \mathrm{rate}(S) = \frac1n \sum_{\text{groups } g} \big( n_g - \max_c n_{g,c} \big),

    and :math:`1 - \mathrm{rate}(S)` is maximized. With many columns almost every row is a group of its own, whatever
    the columns are. The criterion is then not informative, and a classifier on the selected columns can be far less
    accurate than on all columns.

    Parameters
    ----------
    search : {"best-first", "las-vegas"}, default="best-first"
        Best-first search from the empty set, as in Weka; or the LVF algorithm [1]_, which draws random subsets and
        keeps the smallest one that is consistent enough.
    max_tries : int, default=10000
        Number of random subsets of a Las Vegas search.
    max_rate : float or None, default=None
        Largest rate that a Las Vegas search accepts; None means the rate of all columns together.
    categorical_features : "auto" or array-like, default="auto"
        Nominal columns, as names, positions or a mask. "auto" means the columns of a data frame that hold text,
        categories or booleans.
    random_state : int, RandomState instance or None, default=None
        Draws the subsets of a Las Vegas search.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        The selected columns; none, with a warning, if no column makes the rows more consistent.
    path_ : ndarray of shape (n_selected,), int
        The selected columns in the order in which they were added; sorted after a Las Vegas search.
    scores_path_ : ndarray of shape (n_selected,)
        The consistency, 1 - rate, after each of them.
    refused_ : ndarray of shape (n_features,), bool
        Columns that look like identifiers, which are left out with a warning.
    classes_ : ndarray
        The classes of the labeled rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    References
    ----------
    .. [1] Liu, H. and Setiono, R. "A probabilistic approach to feature selection: a filter solution." International
       Conference on Machine Learning, 1996.
    .. [2] Dash, M. and Liu, H. "Consistency-based search in feature selection." Artificial Intelligence 151, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel import ConsistencySubsetSelector
    >>> X = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]] * 5)
    >>> y = [0, 1, 1, 1] * 5
    >>> ConsistencySubsetSelector(categorical_features=[0, 1, 2]).fit(X, y).get_support()
    array([ True,  True, False])
    """

    _: KW_ONLY
    search: Literal["best-first", "las-vegas"] = "best-first"
    max_tries: Count = 10_000
    max_rate: UnitInterval | None = None
    random_state: Seed = None

    def _choose(self, columns, y, n_classes):
        rates = Inconsistency(discretize(columns, y, n_classes), y, n_classes)
        if self.search == "best-first":
            best = best_first(
                lambda subset: 1 - rates.of_children(subset),
                empty_score=1 - rates.of(()),
                max_columns=rates.n_columns,
            )
            path = best.columns
        else:
            path = self._las_vegas(rates)
        scores_path = [1 - rates.of(path[: k + 1]) for k in range(len(path))]
        return choice_of_path(path, scores_path, rates.n_columns)

    def _las_vegas(self, rates):
        random = check_random_state(self.random_state)
        best = tuple(range(rates.n_columns))
        # No subset is more consistent than all columns together.
        of_all = rates.of(best)
        allowed = of_all if self.max_rate is None else self.max_rate
        if of_all > allowed + _ROUNDING:
            raise ValueError(
                f"all columns together have an inconsistency rate of {of_all:.4g}, above max_rate={allowed:.4g}"
                ": raise max_rate, or set it to None"
            )
        for _ in range(self.max_tries):
            if len(best) == 1:
                break
            # Only a smaller subset can be an improvement.
            size = random.randint(1, len(best))
            subset = tuple(np.sort(random.choice(rates.n_columns, size, replace=False)).tolist())
            if rates.of(subset) <= allowed + _ROUNDING:
                best = subset
        return best


class Inconsistency:
    """Inconsistency rates of subsets of discretized columns."""

    def __init__(self, codes, y, n_classes):
        rng = np.random.default_rng(0)
        # A random number for each value of a column: rows with equal sums over a subset are equal in it, as no two of
        # the sums of 64 bits are equal by chance.
        self._keys = np.empty(codes.shape, dtype=np.uint64)
        for keys, column in zip(self._keys, codes):
            keys[:] = rng.integers(2**64, size=column.max() + 1, dtype=np.uint64)[column]
        self._y = y
        self._n_classes = n_classes
        self.n_columns = len(codes)

    def _rate(self, keys):
        groups, distinct = pd.factorize(keys)
        counts = np.bincount(groups * self._n_classes + self._y, minlength=len(distinct) * self._n_classes)
        n_consistent = counts.reshape(len(distinct), -1).max(axis=1).sum()
        return (len(keys) - n_consistent) / len(keys)

    def _sum_keys(self, subset):
        return self._keys[list(subset)].sum(axis=0)

    def of(self, subset):
        """Return the rate of a subset."""
        return self._rate(self._sum_keys(subset))

    def of_children(self, subset):
        """Return the rate of the subset with each column added to it; NaN for the columns in it."""
        keys = self._sum_keys(subset)
        rates = np.full(self.n_columns, np.nan)
        for j in range(self.n_columns):
            if j not in subset:
                rates[j] = self._rate(keys + self._keys[j])
        return rates
