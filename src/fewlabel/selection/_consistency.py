"""Consistency filter: the fewest columns in which rows with equal values have one class."""

import numbers
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from fewlabel.base import Interval, StrOptions
from fewlabel.kernels.subsets import count_inconsistent, split_groups
from fewlabel.selection._base import TableSelector
from fewlabel.selection._discretize import discretize
from fewlabel.selection._search import best_first
from fewlabel.types import Seed

_LEAST_GAIN = 1e-5  # Weka's
_TRIES_PER_REPORT = 1000


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
    max_stale : int, default=5
        Number of subsets without improvement after which a best-first search ends.
    max_tries : int, default=10000
        Number of random subsets of a Las Vegas search.
    max_rate : float or None, default=None
        Largest rate that a Las Vegas search accepts; None means the rate of all columns together.
    nominal_features : "auto" or array-like, default="auto"
        Nominal columns, as names, positions or a mask. "auto" means the columns of a data frame that hold text,
        categories or booleans.
    random_state : int, RandomState instance or None, default=None
        Draws the subsets of a Las Vegas search.
    verbose : int, default=0
        If positive, print each better subset.

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
    >>> ConsistencySubsetSelector(nominal_features=[0, 1, 2]).fit(X, y).get_support()
    array([ True,  True, False])
    """

    _parameter_constraints: dict = {
        **TableSelector._parameter_constraints,
        "search": [StrOptions({"best-first", "las-vegas"})],
        "max_stale": [Interval(numbers.Integral, 1, None, closed="left")],
        "max_tries": [Interval(numbers.Integral, 1, None, closed="left")],
        "max_rate": [Interval(numbers.Real, 0, 1, closed="both"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        search: Literal["best-first", "las-vegas"] = "best-first",
        max_stale: int = 5,
        max_tries: int = 10_000,
        max_rate: float | None = None,
        nominal_features: ArrayLike | Literal["auto"] = "auto",
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.search = search
        self.max_stale = max_stale
        self.max_tries = max_tries
        self.max_rate = max_rate
        self.nominal_features = nominal_features
        self.random_state = random_state
        self.verbose = verbose

    def _select(self, columns, y, n_classes):
        rates = Inconsistency(discretize(columns, y, n_classes), y, n_classes)
        if self.search == "best-first":
            path = best_first(
                lambda subset: 1 - rates.of_children(subset),
                empty_score=1 - rates.of(()),
                max_stale=self.max_stale,
                tol=_LEAST_GAIN,
                max_columns=rates.n_columns,
                report=lambda s: self._report(f"{len(s.columns)} columns, consistency {s.scores[-1]:.6g}"),
            ).columns
        else:
            path = self._las_vegas(rates)
        self.path_ = np.array(path, dtype=np.intp)
        self.scores_path_ = np.array([1 - rates.of(path[: k + 1]) for k in range(len(path))])
        self.support_ = np.zeros(rates.n_columns, dtype=bool)
        self.support_[self.path_] = True

    def _las_vegas(self, rates):
        random = check_random_state(self.random_state)
        best = tuple(range(rates.n_columns))
        allowed = rates.of(best) if self.max_rate is None else self.max_rate
        if rates.of(best) > allowed + 1e-12:
            raise ValueError(
                f"all columns together have an inconsistency rate of {rates.of(best):.4g}, above max_rate={allowed:.4g}"
                ": raise max_rate, or set it to None"
            )
        for tried in range(self.max_tries):
            if tried % _TRIES_PER_REPORT == 0:
                self._report(f"{tried} of {self.max_tries} subsets tried, {len(best)} columns")
            if len(best) == 1:
                break
            size = random.randint(1, len(best))  # only a smaller subset can be an improvement
            subset = tuple(np.sort(random.choice(rates.n_columns, size, replace=False)).tolist())
            if rates.of(subset) <= allowed + 1e-12:
                best = subset
                self._report(f"{len(best)} columns, consistency {1 - rates.of(best):.6g}")
        return best


class Inconsistency:
    """Inconsistency rates of subsets of discretized columns."""

    def __init__(self, codes, y, n_classes):
        self._codes, self._y, self._n_classes = codes, np.asarray(y, dtype=np.int64), n_classes
        self._n_codes = codes.max(axis=1) + 1
        self._none = np.zeros(len(y), dtype=np.int64)
        self.n_columns = len(codes)

    def _groups(self, subset):
        order, bounds = np.arange(len(self._y)), np.array([0, len(self._y)])
        for column in subset:
            order, bounds = split_groups(order, bounds, self._codes[column], self._n_codes[column])
        return order, bounds

    def of(self, subset):
        """Return the rate of a subset."""
        return count_inconsistent(*self._groups(subset), self._none, 1, self._y, self._n_classes) / len(self._y)

    def of_children(self, subset):
        """Return the rate of the subset with each column added to it; NaN for the columns in it."""
        order, bounds = self._groups(subset)
        rates = np.full(self.n_columns, np.nan)
        for j in np.setdiff1d(np.arange(self.n_columns), subset).astype(np.intp):
            wrong = count_inconsistent(order, bounds, self._codes[j], self._n_codes[j], self._y, self._n_classes)
            rates[j] = wrong / len(self._y)
        return rates
