"""What the selectors share: read the table and the labels, leave out unlabeled rows, keep a mask of columns."""

import numbers
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from fewlabel.base import Interval, RealNotInt, StrOptions, fit_context
from fewlabel.exceptions import LabelError
from fewlabel.labels import read, require_labels
from fewlabel.selection._columns import Columns, is_table, read_columns, scale
from fewlabel.types import MatrixLike

COUNT_OR_PART = [Interval(numbers.Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 1, closed="right"), None]


class TableSelector(SelectorMixin, BaseEstimator):
    """Base of the selectors: a subclass gives ``_select(columns, y, n_classes)``, which sets `support_`.

    `columns` holds the labeled rows only, `y` the number of each one's class.
    """

    _parameter_constraints: dict = {
        "nominal_features": [StrOptions({"auto"}), "array-like"],
        "verbose": ["verbose"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Choose the columns.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table. Missing values are allowed.
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` where it is not known. Rows without
            a label are left out.

        Returns
        -------
        self : object
        """
        if y is None:
            raise LabelError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        columns = self._read_table(X)
        labels = read(y)
        check_consistent_length(columns.values, labels.codes)
        require_labels(labels)
        if len(labels.classes) < 2:
            raise LabelError(
                f"only one labeled class ({labels.classes[0]!r}), 1 class in all: a selector compares classes; label "
                "a few rows of another one (if -1 is one of your classes, recode it: -1 marks unlabeled rows)"
            )
        rows = np.flatnonzero(labels.codes >= 0)
        self.classes_ = labels.classes
        self._select(Columns(columns.values[rows], columns.nominal), labels.codes[rows], len(labels.classes))
        return self

    def _read_table(self, X):
        if is_table(X):
            validate_data(self, X, skip_check_array=True)
            if X.shape[0] < 2 or X.shape[1] < 1:
                raise ValueError(f"X has {X.shape[0]} sample(s) and {X.shape[1]} feature(s): pass at least 2 and 1")
        else:
            # An array of numbers, or of objects that are numbers; text stays as it is and is read column by column.
            array = np.asarray(X) if not hasattr(X, "toarray") else X
            text = getattr(array, "dtype", None) is not None and array.dtype.kind in "OU" and _holds_text(array)
            X = validate_data(
                self,
                X,
                dtype=object if text else np.float64,
                ensure_all_finite="allow-nan",
                ensure_min_samples=2,
            )
        return read_columns(X, self.nominal_features)

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


def _holds_text(array):
    try:
        array.astype(np.float64)
    except ValueError:
        return True
    return False


class Sample(NamedTuple):
    """Scaled rows sorted by class, as the kernels of Relief-type scores take them, and which of them are looked at."""

    values: np.ndarray
    starts: np.ndarray
    queries: np.ndarray


def draw_sample(columns, y, n_classes, max_samples, random_state):
    """Scale the columns, sort the rows by class, and draw rows without replacement, or take all of them."""
    n_drawn, drawn = count(max_samples, len(y)), np.arange(len(y))
    if n_drawn < len(y):
        drawn = check_random_state(random_state).choice(len(y), n_drawn, replace=False)
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.arange(n_classes + 1)).astype(np.int64)
    return Sample(scale(columns).values[order], starts, np.flatnonzero(np.isin(order, drawn)))


def count(wanted, available):
    """A number or part of what is available, at least 1 and at most all; None means all."""
    if wanted is None:
        return available
    if isinstance(wanted, numbers.Integral):
        return min(int(wanted), available)
    return max(1, round(wanted * available))
