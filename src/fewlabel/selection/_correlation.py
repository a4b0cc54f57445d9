"""CFS: subsets of columns that go with the class and not with each other."""

import numbers
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fewlabel.base import Interval
from fewlabel.selection._base import TableSelector
from fewlabel.selection._discretize import discretize, entropy
from fewlabel.selection._search import best_first, ranked

_LEAST_GAIN = 1e-5  # Weka's


class CorrelationSubsetSelector(TableSelector):
    r"""Correlation-based feature subset selection (CFS).

    Searches the subset of columns with the highest merit,

    .. math::

        \mathrm{merit}(S) = \frac{\sum_{f \in S} SU(f, y)}{\sqrt{|S| + 2 \sum_{f < g \in S} SU(f, g)}}, \qquad
        SU(a, b) = 2\, \frac{H(a) + H(b) - H(a, b)}{H(a) + H(b)},

    best first from the empty set: columns that tell much of the class, and little of each other. Numeric columns are
    discretized by minimum description length first; one that has no cut worth its bits tells nothing of the class.

    Parameters
    ----------
    max_stale : int, default=5
        Subsets without improvement before the search ends.
    locally_predictive : bool, default=True
        Then add, from the highest :math:`SU(f, y)` down, columns that go with the class more than with any column
        selected.
    nominal_features : "auto" or array-like, default="auto"
        Nominal columns, as names, numbers or a mask. "auto": the columns of a data frame that hold text, categories or
        booleans.
    verbose : int, default=0
        Print each better subset.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        The columns selected. None is, with a warning, if no column tells anything of the class.
    path_ : ndarray of shape (n_selected,), int
        The columns selected, in the order they were added.
    scores_path_ : ndarray of shape (n_selected,)
        The merit after each of them; the merit may fall with those that are added last for being locally predictive.
    scores_ : ndarray of shape (n_features,)
        :math:`SU(f, y)` of each column.
    classes_ : ndarray
        The classes of the labeled rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Follows Weka's CfsSubsetEval with BestFirst, but for two things: a missing value is a value of its own (Weka shares
    it out among the others), and two columns without any correlation have 0 (Weka puts 1 there).

    References
    ----------
    .. [1] Hall. Correlation-based feature selection for discrete and numeric class machine learning. ICML 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewlabel import CorrelationSubsetSelector
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> CorrelationSubsetSelector().fit(X, y).get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    _parameter_constraints: dict = {
        **TableSelector._parameter_constraints,
        "max_stale": [Interval(numbers.Integral, 1, None, closed="left")],
        "locally_predictive": ["boolean"],
    }

    def __init__(
        self,
        *,
        max_stale: int = 5,
        locally_predictive: bool = True,
        nominal_features: ArrayLike | Literal["auto"] = "auto",
        verbose: int = 0,
    ) -> None:
        self.max_stale = max_stale
        self.locally_predictive = locally_predictive
        self.nominal_features = nominal_features
        self.verbose = verbose

    def _select(self, columns, y, n_classes):
        merits = Merits(discretize(columns, y, n_classes), y)
        found = best_first(
            merits.of_children,
            empty_score=0.0,
            max_stale=self.max_stale,
            tol=_LEAST_GAIN,
            max_columns=len(merits.with_class),
            report=lambda s: self._report(f"{len(s.columns)} columns, merit {s.scores[-1]:.6g}"),
        )
        path, scores = list(found.columns), list(found.scores)
        if self.locally_predictive:
            for column in ranked(merits.with_class):
                strongest = max((merits.between(i)[column] for i in path), default=0.0)
                if column not in path and merits.with_class[column] > 0 and strongest <= merits.with_class[column]:
                    scores.append(merits.of_children(tuple(path))[column])
                    path.append(int(column))
        self.scores_ = merits.with_class
        self.path_, self.scores_path_ = np.array(path, dtype=np.intp), np.array(scores, dtype=np.float64)
        self.support_ = np.zeros(len(self.scores_), dtype=bool)
        self.support_[self.path_] = True


class Merits:
    """Merits of subsets; correlations with a column are computed when a subset that holds it is first expanded."""

    def __init__(self, codes, y):
        self._codes = codes
        self._between = {}
        self.with_class = symmetric_uncertainty(codes, y)

    def between(self, column):
        """Correlations of a column with all columns."""
        if column not in self._between:
            self._between[column] = symmetric_uncertainty(self._codes, self._codes[column])
        return self._between[column]

    def of_children(self, subset):
        """The merit of the subset with each column added to it, NaN for the columns it holds."""
        chosen = list(subset)
        pairs = np.array([self.between(i) for i in chosen]).reshape(len(chosen), len(self.with_class))
        inner = pairs[:, chosen].sum() - np.trace(pairs[:, chosen])  # each pair twice
        merits = (self.with_class[chosen].sum() + self.with_class) / np.sqrt(
            len(chosen) + 1 + inner + 2 * pairs.sum(axis=0)
        )
        merits[chosen] = np.nan
        return merits


def symmetric_uncertainty(codes, other):
    """Symmetric uncertainty, 0 to 1, of each row of `codes` with the codes `other`; 0 if both are constant."""
    n_other = int(other.max()) + 1
    h_other = entropy(np.bincount(other).astype(np.float64))
    result = np.zeros(len(codes))
    for j, column in enumerate(codes):
        h = entropy(np.bincount(column).astype(np.float64))
        joint = np.unique(column * n_other + other, return_counts=True)[1].astype(np.float64)
        if h + h_other > 0:
            result[j] = min(max(2 * (h + h_other - entropy(joint)) / (h + h_other), 0.0), 1.0)
    result[result < 1e-12] = 0.0  # rounding
    return result
