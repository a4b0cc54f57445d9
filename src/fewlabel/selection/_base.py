"""Base of the selectors: read the table and the labels, drop unlabeled rows, keep a mask of columns."""

import numbers
import warnings
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from fewlabel.base import Interval, RealNotInt, StrOptions, fit_context
from fewlabel.columns import read_table
from fewlabel.labels import read_classes, require_y
from fewlabel.selection._columns import Columns, identifiers, read_columns, scale
from fewlabel.text import short
from fewlabel.types import MatrixLike
from fewlabel.warning_filters import caller_level

_N_SHUFFLES, _TEST_ROWS = 19, 300
COUNT_OR_PART = [Interval(numbers.Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 1, closed="right"), None]


class TableSelector(SelectorMixin, BaseEstimator):
    """Base of the selectors: a subclass implements ``_select(columns, y, n_classes)``, which sets `support_`.

    `columns` holds the labeled rows, `y` their class codes; with `_uses_unlabeled` all rows, whose code is -1 if they
    are unlabeled. Columns that look like identifiers are left out. A subclass whose ``_statistic()`` is not None is
    compared with itself on shuffled labels, and selects nothing if it is not better.
    """

    _uses_unlabeled = False

    _parameter_constraints: dict = {
        "nominal_features": [StrOptions({"auto"}), "array-like"],
        "verbose": ["verbose"],
    }

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
        columns = read_columns(read_table(self, X, reset=True), self.nominal_features)
        labels = read_classes(y, self)
        check_consistent_length(columns.values, labels.codes)
        self.classes_ = labels.classes
        self.refused_ = identifiers(columns)
        kept = np.flatnonzero(~self.refused_)
        if self.refused_.any():
            self._warn(
                f"{self._names(self.refused_)} not considered: (nearly) every row has a value of its own, as in "
                "an identifier. Drop or recode such columns"
            )
        if not kept.size:
            raise ValueError(
                "X holds identifiers only, no column to select: add columns that several rows share values of"
            )
        rows = slice(None) if self._uses_unlabeled else labels.codes >= 0
        chosen = Columns(columns.values[rows][:, kept], columns.nominal[kept])
        self._select(chosen, labels.codes[rows], len(labels.classes))
        if self.support_.any() and not self._beats_chance(chosen, labels.codes[rows], len(labels.classes)):
            self.support_[:] = False
            self.path_, self.scores_path_ = np.empty(0, dtype=np.intp), np.empty(0)
            self._warn(
                "no column is selected: with shuffled labels the score is as good, so that nothing tells the "
                "classes apart. Label more rows, or set n_features_to_select to select columns regardless"
            )
        self._restore(kept)
        return self

    def _restore(self, kept):
        """Positions and scores among all columns, from those among the columns that were considered."""
        considered, self.support_ = self.support_, np.zeros(self.n_features_in_, dtype=bool)
        self.support_[kept] = considered
        self.path_ = kept[self.path_]
        if hasattr(self, "scores_"):
            scores, self.scores_ = self.scores_, np.full(self.n_features_in_, np.nan)
            self.scores_[kept] = scores

    def _statistic(self):
        """What is compared with shuffled labels; None for a selector that needs no such test."""
        return

    def _beats_chance(self, columns, y, n_classes):
        """Whether no shuffling of the labels, of 19, gives as good a statistic: a test at 5%."""
        own = self._statistic()
        if own is None:
            return True
        rng = np.random.RandomState(0)  # the test is the same whatever else is drawn
        by_value = np.lexsort((y, pd.util.hash_pandas_object(pd.DataFrame(columns.values), index=False)))
        rows = by_value[rng.permutation(len(y))[:_TEST_ROWS]]  # the order of the rows does not matter
        few = Columns(columns.values[rows], columns.nominal)
        found = []
        for shuffle in range(_N_SHUFFLES + 1):
            other = clone(self).set_params(verbose=0)
            classes, codes = np.unique(y[rows] if shuffle == 0 else rng.permutation(y[rows]), return_inverse=True)
            other._select(few, codes, len(classes))
            found.append(other._statistic())
        return found[0] > max(found[1:])

    def _warn(self, message):
        warnings.warn(message, UserWarning, stacklevel=caller_level())

    def _names(self, mask):
        names = [repr(short(str(self._name(j)), 40)) for j in np.flatnonzero(mask)]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"column{'s' if len(names) > 1 else ''} {', '.join(names[:3])}{more}"

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def _report(self, text):
        if self.verbose:
            print(f"[{type(self).__name__}] {text}", flush=True)

    def _name(self, column):
        return self.feature_names_in_[column] if hasattr(self, "feature_names_in_") else f"x{column}"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags


class Sample(NamedTuple):
    """Scaled rows sorted by class, as the kernels of Relief-type scores take them, and the positions of query rows."""

    values: np.ndarray
    starts: np.ndarray
    queries: np.ndarray


def draw_sample(columns, y, n_classes, max_samples, random_state):
    """Scale the columns, sort the rows by class, and draw query rows without replacement, or use all rows."""
    n_drawn, drawn = count(max_samples, len(y)), np.arange(len(y))
    if n_drawn < len(y):
        drawn = check_random_state(random_state).choice(len(y), n_drawn, replace=False)
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.arange(n_classes + 1)).astype(np.int64)
    return Sample(scale(columns).values[order], starts, np.flatnonzero(np.isin(order, drawn)))


def count(wanted, available):
    """Convert a number or share of what is available to a number, at least 1; None means all."""
    if wanted is None:
        return available
    if isinstance(wanted, numbers.Integral):
        return min(int(wanted), available)
    return max(1, round(wanted * available))
