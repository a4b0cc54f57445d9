"""Base of the selectors: read the table and the labels, drop unlabeled rows, keep a mask of columns."""

import numbers
import warnings
from dataclasses import KW_ONLY
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from fewlabel.base import Count, Interval, RealNotInt, Values, fit_context, parametrized
from fewlabel.columns import as_table
from fewlabel.labels import read_classes, require_y
from fewlabel.selection._columns import identifiers, read_columns, scale
from fewlabel.selection._search import ranked
from fewlabel.text import short
from fewlabel.types import MatrixLike, Seed
from fewlabel.warning_filters import caller_level

_N_SHUFFLES = 19  # a test at 5%: the labels themselves are the best of 20
_TEST_ROWS = 300
CountOrPart = Count | Annotated[float, Interval(RealNotInt, 0, 1, closed="right")]


class Choice(NamedTuple):
    """What a selector chooses among the columns it is given.

    Attributes
    ----------
    support : ndarray of bool
    path : ndarray of int
        Columns in the order in which they were added, or by their score.
    scores_path : ndarray
        The score of each of `path`.
    scores : ndarray or None
        One per column, if single columns are scored.
    """

    support: np.ndarray
    path: np.ndarray
    scores_path: np.ndarray
    scores: np.ndarray | None = None


def choice_of_path(path, scores_path, n_columns, scores=None):
    """Choose the columns of a path."""
    path = np.array(path, dtype=np.intp)
    support = np.zeros(n_columns, dtype=bool)
    support[path] = True
    return Choice(support, path, np.array(scores_path, dtype=np.float64), scores)


def choice_of_scores(scores, n_features_to_select=None):
    """Choose the columns with the highest scores, or those above 0."""
    path = ranked(scores)
    support = scores > 0
    if n_features_to_select is not None:
        support = np.zeros(len(scores), dtype=bool)
        support[path[: count(n_features_to_select, len(scores))]] = True
    return Choice(support, path, scores[path], scores)


@parametrized
class TableSelector(SelectorMixin, BaseEstimator):
    """Base of the selectors: a subclass implements ``_choose(columns, y, n_classes)``, which returns a `Choice`.

    `columns` holds the labeled rows, `y` their class codes; with `_uses_unlabeled` all rows, whose code is -1 if they
    are unlabeled. Columns that look like identifiers are left out. A subclass with a parameter `guard` also implements
    ``_statistic(choice)``: it is compared with that of shuffled labels, and nothing is selected if it is not better.
    """

    _uses_unlabeled = False

    _: KW_ONLY
    categorical_features: Values | Literal["auto"] = "auto"

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Select the columns.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table. Missing values are allowed.
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` for unlabeled rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        require_y(y, self)
        table = as_table(self, X, reset=True)
        columns = read_columns(table, self.categorical_features, getattr(self, "feature_names_in_", None))
        labels = read_classes(y, self)
        check_consistent_length(columns.values, labels.codes)
        self.classes_ = labels.classes
        self.refused_ = identifiers(columns)
        considered = np.flatnonzero(~self.refused_)
        if self.refused_.any():
            self._warn(
                f"{_listed(columns.names[self.refused_])} not considered: (nearly) every row has a value of its own, "
                "as in an identifier. Drop or recode such columns"
            )
        if not considered.size:
            raise ValueError(
                "X holds identifiers only, no column to select: add columns that several rows share values of"
            )
        # Scaling and discretization see the rows that are used, not those that are left out.
        rows = slice(None) if self._uses_unlabeled else labels.codes >= 0
        columns = columns.take(rows, considered)
        codes = labels.codes[rows]
        choice = self._choose(columns, codes, len(labels.classes))
        if self._is_guarded() and choice.support.any() and not self._beats_chance(columns, codes):
            choice = choice_of_path([], [], len(considered), choice.scores)
            self._warn(
                "no column is selected: with shuffled labels the score is as good, so that nothing tells the "
                "classes apart. Label more rows, or set guard=False or n_features_to_select to select columns "
                "regardless"
            )
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[considered] = choice.support
        self.path_ = considered[choice.path]
        self.scores_path_ = choice.scores_path
        if choice.scores is not None:
            self.scores_ = np.full(self.n_features_in_, np.nan)
            self.scores_[considered] = choice.scores
        return self

    def _is_guarded(self):
        return getattr(self, "guard", False) and self.n_features_to_select is None

    def _beats_chance(self, columns, y):
        """Whether no shuffling of the labels, of 19, gives as good a statistic."""
        # The test is the same whatever else is drawn.
        rng = np.random.RandomState(0)
        # Rows are drawn from an order of their values, so that their order in the table does not matter.
        hashes = pd.util.hash_pandas_object(pd.DataFrame(columns.values), index=False)
        rows = np.lexsort((y, hashes))[rng.permutation(len(y))[:_TEST_ROWS]]
        sample = columns.take(rows)

        def statistic(labels):
            classes, codes = np.unique(labels, return_inverse=True)
            return self._statistic(self._choose(sample, codes, len(classes)))

        own = statistic(y[rows])
        by_chance = [statistic(rng.permutation(y[rows])) for _ in range(_N_SHUFFLES)]
        return own > max(by_chance)

    def _warn(self, message):
        warnings.warn(message, UserWarning, stacklevel=caller_level())

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags


@parametrized
class NeighborSelector(TableSelector):
    """Base of the selectors that compare rows with their nearest ones."""

    n_features_to_select: CountOrPart | None = None
    _: KW_ONLY
    guard: bool = True
    n_neighbors: Count = 10
    max_samples: CountOrPart | None = 1000
    n_jobs: int | None = None
    random_state: Seed = None


def _listed(names):
    shown = ", ".join(repr(short(name, 40)) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    plural = "s" if len(names) > 1 else ""
    return f"column{plural} {shown}{more}"


class Sample(NamedTuple):
    """Scaled rows sorted by class, as the kernels of Relief-type scores take them, and the positions of query rows."""

    values: np.ndarray
    starts: np.ndarray
    queries: np.ndarray

    def blocks(self, size):
        """Query rows in blocks; of fixed size, so that sums do not depend on the number of threads."""
        return [self.queries[start : start + size] for start in range(0, len(self.queries), size)]


def draw_sample(columns, y, n_classes, max_samples, random_state):
    """Scale the columns, sort the rows by class, and draw query rows without replacement, or use all rows."""
    drawn = np.arange(len(y))
    n_drawn = count(max_samples, len(y))
    if n_drawn < len(y):
        drawn = check_random_state(random_state).choice(len(y), n_drawn, replace=False)
    # The kernels take the rows of a class as one range.
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.arange(n_classes + 1)).astype(np.int64)
    queries = np.flatnonzero(np.isin(order, drawn))
    return Sample(scale(columns)[order], starts, queries)


def count(wanted, available):
    """Convert a number or share of what is available to a number, at least 1; None means all."""
    if wanted is None:
        return available
    if isinstance(wanted, numbers.Integral):
        return min(int(wanted), available)
    return max(1, round(wanted * available))
