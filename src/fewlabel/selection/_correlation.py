"""CFS: subsets of columns that are correlated with the class but not with each other."""

import numpy as np

from fewlabel.selection._base import TableSelector, choice_of_path
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
    Follows CfsSubsetEval with BestFirst in Weka, but a missing value is a separate value, and columns without any
    correlation have correlation 0. Weka distributes the rows with a missing value over the other values in proportion
    to their frequency, and takes two columns without any correlation for fully correlated.

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

    def _choose(self, columns, y, n_classes):
        codes = discretize(columns, y, n_classes)
        merits = self._make_merits(columns, codes, y)
        best = best_first(merits.of_children, empty_score=0.0, max_columns=len(codes))
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

    def _make_merits(self, columns, codes, y):
        return Merits(codes, y)


class Merits:
    """Merits of subsets; correlations with a column are computed when a subset that contains it is first expanded.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows), int
        Values as `discretize` encodes them.
    y : ndarray of shape (n_rows,), int
    """

    def __init__(self, codes, y):
        self._codes = codes
        self._between = {}
        self.with_class = self._correlate(y)

    def _correlate(self, other, column=None):
        """Correlations of all columns with the class or, if its number is given, with another column."""
        return symmetric_uncertainty([count_pairs(own, other) for own in self._codes])

    def between(self, column):
        """Return the correlations of a column with all columns."""
        if column not in self._between:
            self._between[column] = self._correlate(self._codes[column], column)
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


def count_pairs(codes, other):
    """Return how often each value of a column meets each value of another."""
    n_other = int(other.max()) + 1
    n_values = int(codes.max()) + 1
    counts = np.bincount(codes * n_other + other, minlength=n_values * n_other)
    return counts.reshape(n_values, n_other).astype(float)


def symmetric_uncertainty(tables):
    """Return the symmetric uncertainty, 0 to 1, of two columns for each table of counts; 0 if both are constant."""
    result = np.zeros(len(tables))
    for j, counts in enumerate(tables):
        total = entropy(counts.sum(axis=1)) + entropy(counts.sum(axis=0))
        if total > 0:
            shared = total - entropy(counts.ravel())
            result[j] = np.clip(2 * shared / total, 0.0, 1.0)
    # What rounding leaves of 0.
    result[result < 1e-12] = 0.0
    return result
