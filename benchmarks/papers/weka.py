"""Stand-ins for the classifiers of Weka that the thesis uses, and its rules for the correlations of CFS."""

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from fewlabel import CorrelationSubsetSelector
from fewlabel.selection._correlation import Merits, count_pairs, symmetric_uncertainty

_LEAF = -1  # scikit-learn's mark of a node without children
_MARGIN = 0.1  # errors by which Weka lets a leaf be worse than the subtree it replaces


def kinds_of_columns(data: pd.DataFrame) -> np.ndarray:
    """For each column of `data.as_numbers`: -1 for a number, else the number of the categorical column it is from."""
    text = [c for c in data if not pd.api.types.is_numeric_dtype(data[c])]
    sizes = [data.shape[1] - len(text), *(pd.get_dummies(data[c]).shape[1] for c in text)]
    return np.repeat(np.arange(-1, len(text)), sizes)


class NaiveBayes(ClassifierMixin, BaseEstimator):
    """Weka's naive Bayes for weighted rows: Gaussians for numbers, Laplace-smoothed shares for one-hot categories.

    `kinds` are those of `kinds_of_columns`. A gap (no category at all) is ignored.
    """

    def __init__(self, kinds):
        self.kinds = kinds

    def fit(self, X, y, sample_weight=None):
        self.classes_, codes = np.unique(y, return_inverse=True)
        weight = np.ones(len(X)) if sample_weight is None else sample_weight * (len(X) / np.sum(sample_weight))
        members = weight * (codes == np.arange(len(self.classes_))[:, None])
        mass = members.sum(axis=1)
        self._log_prior = np.log((mass + 1) / (mass + 1).sum())
        values, one_hot = self._parts(X)
        share = members / np.maximum(mass, 1e-300)[:, None]
        self._means = share @ values
        spreads = [np.sqrt(part @ (values - mean) ** 2) for part, mean in zip(share, self._means)]
        gaps = [np.ptp(column) / max(len(np.unique(column)) - 1, 1) or 1.0 for column in values.T]
        self._spreads = np.maximum(spreads, np.array(gaps) / 6)
        counts, groups = members @ one_hot + 1, self.kinds[self.kinds >= 0]
        totals = [np.bincount(groups, row)[groups] for row in counts]
        self._log_shares = np.log(counts / np.array(totals))
        return self

    def predict(self, X):
        values, one_hot = self._parts(X)
        joint = self._log_prior + one_hot @ self._log_shares.T
        for k, (mean, spread) in enumerate(zip(self._means, self._spreads)):
            joint[:, k] -= (((values - mean) / spread) ** 2).sum(axis=1) / 2 + np.log(spread).sum()
        return self.classes_[joint.argmax(axis=1)]

    def _parts(self, X):
        return X[:, self.kinds < 0], X[:, self.kinds >= 0]


class PrunedTree(DecisionTreeClassifier):
    """Stand-in for Weka's J48: a tree by entropy with 2 samples per leaf, pruned by C4.5's pessimistic errors.

    A subtree becomes a leaf if the upper bound of the leaf's errors, at confidence `confidence`, is at most 0.1 above
    that of the subtree's leaves. J48 splits by the gain ratio, splits a categorical column into all of its values,
    distributes gaps over the branches, and may replace a node by its largest branch; this tree does none of these.

    References
    ----------
    .. [1] J. R. Quinlan. C4.5: Programs for Machine Learning. Morgan Kaufmann, 1993. Chapter 4.
    """

    def __init__(self, confidence=0.25, random_state=None):
        super().__init__(criterion="entropy", min_samples_leaf=2, random_state=random_state)
        self.confidence = confidence

    def fit(self, X, y, sample_weight=None, check_input=True):
        super().fit(X, y, sample_weight=sample_weight, check_input=check_input)
        tree = self.tree_
        size = tree.weighted_n_node_samples
        wrong = size * (1 - tree.value[:, 0, :].max(axis=1) / tree.value[:, 0, :].sum(axis=1))
        errors = wrong + extra_errors(size, wrong, self.confidence)
        for node in reversed(range(tree.node_count)):  # children have higher numbers than their parents
            left, right = tree.children_left[node], tree.children_right[node]
            if left == _LEAF:
                continue
            below = errors[left] + errors[right]
            if errors[node] <= below + _MARGIN:
                tree.children_left[node] = tree.children_right[node] = _LEAF
            else:
                errors[node] = below
        return self


def extra_errors(n_rows, n_wrong, confidence):
    """What C4.5 adds to the errors of leaves: the upper bound of a binomial share, less the errors that were made.

    Parameters
    ----------
    n_rows, n_wrong : ndarray
        Rows of each leaf, and how many of them are of another class than the leaf's.
    confidence : float
        Chance that the share of errors is above the bound.

    Returns
    -------
    ndarray
    """
    n_rows, n_wrong = np.asarray(n_rows, dtype=float), np.asarray(n_wrong, dtype=float)
    z = norm.isf(confidence)

    def approximate(wrong):
        share = (wrong + 0.5) / n_rows
        root = np.sqrt(np.maximum(share / n_rows - share**2 / n_rows + z**2 / (4 * n_rows**2), 0))
        bound = (share + z**2 / (2 * n_rows) + z * root) / (1 + z**2 / n_rows)
        return np.where(wrong + 0.5 >= n_rows, np.maximum(n_rows - wrong, 0), bound * n_rows - wrong)

    none = n_rows * (1 - confidence ** (1 / n_rows))  # exact without errors
    between = none + n_wrong * (approximate(1.0) - none)
    return np.where(n_wrong < 1, between, approximate(n_wrong))


class CorrelationSelector(CorrelationSubsetSelector):
    """CFS by Weka's rules: gaps are distributed, and columns without any correlation count as fully correlated."""

    def _make_merits(self, columns, codes, y):
        return WekaMerits(codes, y, np.isnan(columns.values).any(axis=0))


class WekaMerits(Merits):
    """Merits by Weka's rules; `has_gaps` says which columns have missing values, whose code is 0."""

    def __init__(self, codes, y, has_gaps):
        self._has_gaps = has_gaps
        super().__init__(codes, y)

    def _correlate(self, other, column=None):
        other_has_gaps = column is not None and self._has_gaps[column]
        tables = []
        for own, has_gaps in zip(self._codes, self._has_gaps):
            tables.append(distribute_gaps(count_pairs(own, other), int(has_gaps), int(other_has_gaps)))
        correlations = symmetric_uncertainty(tables)
        if column is not None:
            correlations[correlations == 0] = 1.0
        return correlations


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
