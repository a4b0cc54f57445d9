"""Base of the selectors: read the table and the labels, drop unlabeled rows, keep a mask of columns."""

import numbers
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from fewlabel.base import Interval, RealNotInt, StrOptions, fit_context
from fewlabel.columns import read_table
from fewlabel.labels import read_classes, require_y
from fewlabel.selection._columns import Columns, read_columns, scale
from fewlabel.types import MatrixLike

COUNT_OR_PART = [Interval(numbers.Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 1, closed="right"), None]


class TableSelector(SelectorMixin, BaseEstimator):
    """Base of the selectors: a subclass implements ``_select(columns, y, n_classes)``, which sets `support_`.

    `columns` holds the labeled rows only, `y` their class codes.
    """

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
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` for unlabeled rows, which
            are ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        require_y(y, self)
        columns = read_columns(read_table(self, X, reset=True), self.nominal_features)
        labels = read_classes(y, self)
        check_consistent_length(columns.values, labels.codes)
        rows = np.flatnonzero(labels.codes >= 0)
        self.classes_ = labels.classes
        self._select(Columns(columns.values[rows], columns.nominal), labels.codes[rows], len(labels.classes))
        return self

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
