"""CFS: subsets of columns that are correlated with the class but not with each other."""

from typing import Literal

import numpy as np

from fewlabel.base import constraints_of
from fewlabel.selection._base import CategoricalFeatures, TableSelector, choice_of_path
from fewlabel.selection._discretize import discretize, entropy
from fewlabel.selection._search import best_first, ranked


class CorrelationSubsetSelector(TableSelector):
    r"""Correlation-based feature subset selection (CFS).

    Searches for the subset of columns with the highest merit,

    .. math::

        \mathrm{merit}(S) = \frac{\sum_{f \in S} SU(f, y)}{\sqrt{|S| + 2 \sum_{f < g \in S} SU(f, g)}}, \qquad
        SU(a, b) = 2\, \frac{H(a) + H(b) - H(a, b)}{H(a) + H(b)},

    by best-first search from the empty set: columns that are informative about the class and not about each other.
    Numeric columns are first discretized by minimum description length; a column without an accepted cut has no
    correlation with the class. Afterwards, from the highest :math:`SU(f, y)` down, columns are added whose correlation
    with the class is at least that with any selected column (Weka's locally predictive columns).

    Parameters
    ----------
    rules : {"plain", "weka"}, default="plain"
        How correlations are counted; see Notes.
    categorical_features : "auto" or array-like, default="auto"
        Nominal columns, as names, positions or a mask. "auto" means the columns of a data frame that hold text,
        categories or booleans.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        The selected columns; none, with a warning, if no column is correlated with the class.
    path_ : ndarray of shape (n_selected,), int
        The selected columns in the order in which they were added.
    scores_path_ : ndarray of shape (n_selected,)
        The merit after each of them; the locally predictive columns at the end may lower it.
    scores_ : ndarray of shape (n_features,)
        :math:`SU(f, y)` of each column.
    refused_ : ndarray of shape (n_features,), bool
        Columns that look like identifiers, which are left out with a warning.
    classes_ : ndarray
        The classes of the labeled rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Follows CfsSubsetEval with BestFirst in Weka. With the plain rules a missing value is a separate value, and columns
    without any correlation have correlation 0. With ``rules="weka"`` the rows with a missing value are distributed over
    the other values in proportion to their frequency, and two columns without any correlation count as fully
    correlated (with the class, as not correlated), as in Weka.

    References
    ----------
    .. [1] Hall, M. A. "Correlation-based feature selection for discrete and numeric class machine learning."
       International Conference on Machine Learning, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewlabel import CorrelationSubsetSelector
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> CorrelationSubsetSelector().fit(X, y).get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    def __init__(
        self,
        *,
        rules: Literal["plain", "weka"] = "plain",
        categorical_features: CategoricalFeatures = "auto",
    ) -> None:
        self.rules = rules
        self.categorical_features = categorical_features

    _parameter_constraints: dict = constraints_of(__init__)

    def _choose(self, columns, y, n_classes):
        codes = discretize(columns, y, n_classes)
        missing = np.isnan(columns.values.T) if self.rules == "weka" else None
        merits = Merits(codes, y, missing)
        best = best_first(
            merits.of_children,
            empty_score=0.0,
            max_columns=len(codes),
        )
        path = list(best.columns)
        scores_path = list(best.scores)
        # Columns that say more about the class than about any selected column.
        for column in ranked(merits.with_class):
            own = merits.with_class[column]
            strongest = max((merits.between(i)[column] for i in path), default=0.0)
            if column not in path and own > 0 and strongest <= own:
                scores_path.append(merits.of_children(tuple(path))[column])
                path.append(int(column))
        return choice_of_path(path, scores_path, len(codes), merits.with_class)


class Merits:
    """Merits of subsets; correlations with a column are computed when a subset that contains it is first expanded.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows), int
        Values as `discretize` encodes them: the lowest code of a column is that of its missing values, if it has any.
    y : ndarray of shape (n_rows,), int
    missing : ndarray of shape (n_features, n_rows), bool, default=None
        The missing values, for Weka's rules; None: the plain rules.
    """

    def __init__(self, codes, y, missing=None):
        self._codes = codes
        self._has_gaps = None if missing is None else missing.any(axis=1)
        self._between = {}
        self.with_class = symmetric_uncertainty(codes, y, self._has_gaps)

    def between(self, column):
        """Return the correlations of a column with all columns."""
        if column not in self._between:
            gaps = self._has_gaps
            column_has_gaps = gaps is not None and gaps[column]
            correlations = symmetric_uncertainty(self._codes, self._codes[column], gaps, column_has_gaps)
            # Weka takes two columns without any correlation for fully correlated.
            if gaps is not None:
                correlations[correlations == 0] = 1.0
            self._between[column] = correlations
        return self._between[column]

    def of_children(self, subset):
        """Return the merit of the subset with each column added to it; NaN for the columns in it."""
        chosen = list(subset)
        pairs = np.zeros((len(chosen), len(self.with_class)))
        for k, column in enumerate(chosen):
            pairs[k] = self.between(column)
        # The sum holds each pair twice.
        inner = pairs[:, chosen].sum() - np.trace(pairs[:, chosen])
        with_class = self.with_class[chosen].sum() + self.with_class
        among_columns = inner + 2 * pairs.sum(axis=0)
        merits = with_class / np.sqrt(len(chosen) + 1 + among_columns)
        merits[chosen] = np.nan
        return merits


def symmetric_uncertainty(codes, other, has_gaps=None, other_has_gaps=False):
    """Return the symmetric uncertainty, 0 to 1, of each row of `codes` with `other`; 0 if both are constant.

    Code 0 of the rows in `has_gaps`, and of `other` if it has gaps, is a missing value, which is distributed over the
    other values.
    """
    n_other = int(other.max()) + 1
    result = np.zeros(len(codes))
    for j, column in enumerate(codes):
        n_values = int(column.max()) + 1
        counts = np.bincount(column * n_other + other, minlength=n_values * n_other)
        counts = counts.reshape(n_values, n_other).astype(float)
        if has_gaps is not None:
            counts = distribute_gaps(counts, int(has_gaps[j]), int(other_has_gaps))
        total = entropy(counts.sum(axis=1)) + entropy(counts.sum(axis=0))
        if total > 0:
            shared = total - entropy(counts.ravel())
            result[j] = np.clip(2 * shared / total, 0.0, 1.0)
    # What rounding leaves of 0.
    result[result < 1e-12] = 0.0
    return result


def distribute_gaps(counts, n_row, n_column):
    """Counts of the present values, with the rows that have a gap added in proportion to them.

    Parameters
    ----------
    counts : ndarray of shape (n_values, n_other_values)
        The first row counts the gaps if `n_row` is 1, the first column if `n_column` is 1.
    n_row, n_column : int
        0 or 1.

    Returns
    -------
    ndarray
        Without the row and column of the gaps. The gaps stay a value of their own if there is nothing else.
    """
    rows = counts[n_row:].sum(axis=1)
    columns = counts[:, n_column:].sum(axis=0)
    # A column of gaps only: they stay a value of their own.
    if rows.sum() == 0 or columns.sum() == 0:
        return counts
    present = counts[n_row:, n_column:]
    total = present.copy()
    if n_row:
        total += np.outer(rows / rows.sum(), counts[0, n_column:])
    if n_column:
        total += np.outer(counts[n_row:, 0], columns / columns.sum())
    if n_row and n_column and present.sum() > 0:
        total += present / present.sum() * counts[0, 0]
    return total
