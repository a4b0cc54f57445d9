"""FSCRF: subsets of columns by how well they separate each row from its neighbors of other classes."""

from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from fewlabel.base import parametrized
from fewlabel.kernels.subsets import add_column, subset_scores
from fewlabel.selection._base import (
    CountOrPart,
    NeighborSelector,
    choice_of_path,
    count,
    draw_sample,
)
from fewlabel.selection._search import TIE, best_first
from fewlabel.threads import map_in_threads

_BLOCK = 16  # query rows per task


@parametrized
class SubsetReliefSelector(NeighborSelector):
    r"""Feature subset selection by the classes of neighbors inside the subset (FSCRF).

    A subset :math:`S` of the columns is scored as a whole, by the neighbors of rows in the space of its columns:

    .. math::

        W(S) = \frac{1}{|Q|} \sum_{x \in Q} \Big[ \sum_{c \neq y(x)} \frac{p(c)}{1 - p(y(x))}
        \overline{d_S}(x, \mathrm{near}_c) - \overline{d_S}(x, \mathrm{near}_{y(x)}) \Big],
        \qquad d_S(x, x') = \Big( \sum_{f \in S} \mathrm{diff}_f(x, x')^2 \Big)^{1/2},

    where :math:`\mathrm{near}_c` are the k rows of class c that are nearest *in S*, without x itself, p are the shares
    of the classes among the labeled rows, and Q is a sample of the labeled rows that is drawn once. The search adds the
    column with the highest score as long as the score increases. Relief and ReliefF score one column at a time, with
    neighbors in all columns. Both select copies of a good column: a copy increases all distances, and therefore a
    positive score. With ``distance_norm="rms"`` the first copy does not change the score.

    The difference in a column is :math:`|x - x'|` after scaling to [0, 1] if it is numeric, and 0 or 1 if it is
    nominal; a missing value differs by 1 from any other.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Largest number of columns, or their share of all columns; the exact number with ``search="full"``. None
        means no limit.
    n_neighbors : int, default=10
        Neighbors per class (K in [1]_); all rows of a class that has fewer.
    max_samples : int, float or None, default=300
        Size of the sample (M in [1]_), as a number or as a share of the labeled rows; None means all of them.
    distance_norm : {"sum", "rms"}, default="sum"
        "rms" divides the squared distance by the number of columns, as printed in [1]_. Columns are added in the same
        order, but the search stops far earlier.
    search : {"greedy", "best-first", "full"}, default="greedy"
        "greedy" adds the best column until none increases the score. "best-first" extends several good subsets and ends
        after five without improvement. "full" is greedy, but ends at `n_features_to_select` columns, whatever the
        score.
    guard : bool, default=True
        Whether to select nothing, with a warning, if one of 19 shufflings of the labels scores as well. It only applies
        if `n_features_to_select` is None. [1]_ has no such guard.
    categorical_features : "auto" or array-like, default="auto"
        Nominal columns, as names, positions or a mask. "auto" means the columns of a data frame that hold text,
        categories or booleans.
    n_jobs : int, default=None
        Number of threads; -1 means all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the sample, by position, so that the order of the rows matters if there are more than `max_samples`.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        The selected columns; none, with a warning, if the search scores as well with shuffled labels.
    refused_ : ndarray of shape (n_features,), bool
        Columns that look like identifiers, which are left out with a warning.
    path_ : ndarray of shape (n_selected,), int
        The selected columns in the order in which they were added.
    scores_path_ : ndarray of shape (n_selected,)
        The score after each of them.
    classes_ : ndarray
        The classes of the labeled rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    ReliefFSelector : Scores columns one at a time.
    CorrelationSubsetSelector : Subsets by correlation with the class and among the columns.

    Notes
    -----
    Squared distances are sums over the columns. Those of the current subset are kept, and a candidate column only adds
    its own; rows that are already too far are skipped. A step costs far less than
    :math:`O(|Q| \cdot n \cdot \text{columns})`, and memory is :math:`O(|Q| \cdot n)`.

    Differences from [1]_: its printed loop never updates the best score and returns every column; it draws a new sample
    for each candidate, so that candidates differ by chance; and the numbers of columns that it reports match summed
    distances, not the printed mean.

    To choose the number of columns by the accuracy of a classifier, put the selector in a pipeline with
    ``search="full"`` and search over `n_features_to_select`, so that columns are selected within each fold. If they are
    selected on all rows first, every score measured afterwards is too optimistic.

    References
    ----------
    .. [1] Huang, D. "Research on feature selection and semi-supervised classification methods." PhD thesis, Huazhong
       University of Science and Technology, 2011 (in Chinese), chapter 3: score, equations 3.1 to 3.3;
       search, figure 3.2.
    .. [2] Kira, K. and Rendell, L. A. "A practical approach to feature selection." International Workshop on Machine
       Learning, 1992.

    Examples
    --------
    The class depends on two columns together, the other three are noise:

    >>> import numpy as np
    >>> from fewlabel import SubsetReliefSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 5))
    >>> y = (X[:, 1] > 0.5) ^ (X[:, 3] > 0.5)
    >>> selector = SubsetReliefSelector(search="best-first", n_features_to_select=2, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([1, 3])
    """

    _: KW_ONLY
    max_samples: CountOrPart | None = 300
    distance_norm: Literal["sum", "rms"] = "sum"
    search: Literal["greedy", "best-first", "full"] = "greedy"

    def _choose(self, columns, y, n_classes):
        sample = draw_sample(columns, y, n_classes, self.max_samples, self.random_state)
        n_neighbors = min(self.n_neighbors, len(y))
        scores = SubsetScores(sample, columns.nominal, n_neighbors, self.distance_norm == "rms", self.n_jobs)
        n_columns = len(columns.nominal)
        most = count(self.n_features_to_select, n_columns)
        best = best_first(
            scores.of_children,
            empty_score=-np.inf,
            max_columns=most,
            tol=-np.inf if self.search == "full" else TIE,
            # A search that extends the best subset only, and ends with the first that is no better, is greedy.
            max_stale=5 if self.search == "best-first" else 1,
        )
        return choice_of_path(best.columns, best.scores, n_columns)

    def _statistic(self, choice):
        return choice.scores_path[-1]


class SubsetScores:
    """Scores of subsets on a fixed sample; keeps the squared distances of the last subset."""

    def __init__(self, sample, nominal, n_neighbors, root_mean=False, n_jobs=None):
        self._sample = sample
        self._columns = np.ascontiguousarray(sample.values.T)
        self._nominal = nominal
        self._n_neighbors = n_neighbors
        self._root_mean = root_mean
        self._n_jobs = n_jobs
        self._blocks = sample.blocks(_BLOCK)
        self._squared = [np.zeros((len(block), len(sample.values))) for block in self._blocks]
        # The subset whose squared distances are kept.
        self._present = ()

    def of_children(self, subset):
        """Return the score of the subset with each column added to it; NaN for the columns in it."""
        scores = np.full(len(self._columns), np.nan)
        candidates = np.setdiff1d(np.arange(len(self._columns)), subset).astype(np.int64)
        scores[candidates] = self._score_candidates(subset, candidates) / len(self._sample.queries)
        return scores / np.sqrt(len(subset) + 1) if self._root_mean else scores

    def _score_candidates(self, subset, candidates):
        n_present = len(self._present)
        # Squared distances are sums over columns: a longer subset only adds its new ones.
        extends = subset[:n_present] == self._present
        added = subset[n_present:] if extends else subset

        def scores(block):
            queries, squared = block
            if not extends:
                squared[:] = 0.0
            for column in added:
                add_column(self._columns[column], self._nominal[column], queries, squared)
            return subset_scores(
                self._columns, self._nominal, candidates, self._sample.starts, queries, squared, self._n_neighbors
            )

        parts = list(map_in_threads(scores, zip(self._blocks, self._squared), self._n_jobs))
        self._present = subset
        return np.sum(parts, axis=0)
