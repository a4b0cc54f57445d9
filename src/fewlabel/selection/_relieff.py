"""ReliefF: one weight per column, by the neighbors of rows in all columns."""

import numpy as np

from fewlabel.kernels.subsets import relief_weights
from fewlabel.selection._base import (
    NeighborSelector,
    choice_of_scores,
    draw_sample,
)
from fewlabel.threads import map_in_threads

_BLOCK = 64


class ReliefFSelector(NeighborSelector):
    r"""Select columns by the weights of ReliefF.

    The weight of a column is the difference between its mean distance from a row to the nearest rows of other classes
    and that to the nearest rows of the same class,

    .. math::

        w_f = \frac{1}{|Q|} \sum_{x \in Q} \Big[ \sum_{c \neq y(x)} \frac{p(c)}{1 - p(y(x))}
        \overline{\mathrm{diff}_f}(x, \mathrm{near}_c) - \overline{\mathrm{diff}_f}(x, \mathrm{near}_{y(x)}) \Big],

    where :math:`\mathrm{near}_c` are the k rows of class c nearest to x in *all* columns, by the sum of differences.
    With two classes and one neighbor this is Relief. Copies of a column get the same weight: ReliefF finds relevant
    columns, not a subset without redundancy.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of columns with the highest weights, or their share of all columns. None selects those above 0.
    guard : bool, default=True
        Whether to select nothing, with a warning, if one of 19 shufflings of the labels scores as well. It only applies
        if `n_features_to_select` is None.
    n_neighbors : int, default=10
        Neighbors per class; all rows of a class that has fewer.
    max_samples : int, float or None, default=1000
        Number of query rows, or their share of the labeled rows; None means all of them, in time quadratic in the rows.
    categorical_features : "auto" or array-like, default="auto"
        Nominal columns, as names, positions or a mask. "auto" means the columns of a data frame that hold text,
        categories or booleans.
    n_jobs : int, default=None
        Number of threads; -1 means all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the query rows, by position, so that the order of the rows matters with `max_samples`.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The weights, in [-1, 1].
    path_ : ndarray of shape (n_features,), int
        All columns, from the highest weight down.
    scores_path_ : ndarray of shape (n_features,)
        Their weights.
    support_ : ndarray of shape (n_features,), bool
        The selected columns; none, with a warning, if no weight is above those with shuffled labels.
    refused_ : ndarray of shape (n_features,), bool
        Columns that look like identifiers, which are left out with a warning.
    classes_ : ndarray
        The classes of the labeled rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    SubsetReliefSelector : The same idea for subsets, with neighbors inside the subset.

    Notes
    -----
    Differences are :math:`|x - x'|` after scaling to [0, 1] for numeric columns, 0 or 1 for nominal ones.
    Missing values are treated as in Weka: :math:`1 - 1/v` in a nominal column of v values; in a numeric one the largest
    difference that the present value allows, and 1 if both are missing. Time is :math:`O(|Q| \cdot n \cdot d)`.

    References
    ----------
    .. [1] Kononenko, I. "Estimating attributes: analysis and extensions of RELIEF." European Conference on Machine
       Learning, 1994.
    .. [2] Robnik-Šikonja, M. and Kononenko, I. "Theoretical and empirical analysis of ReliefF and RReliefF." Machine
       Learning 53, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewlabel import ReliefFSelector
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> ReliefFSelector(2).fit(X, y).get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    def _choose(self, columns, y, n_classes):
        sample = draw_sample(columns, y, n_classes, self.max_samples, self.random_state)
        # 0 marks a numeric column.
        n_values = np.zeros(len(columns.nominal), dtype=np.int64)
        for j in np.flatnonzero(columns.nominal):
            present = sample.values[~np.isnan(sample.values[:, j]), j]
            n_values[j] = max(1, len(np.unique(present)))
        # The kernel allocates as many places.
        n_neighbors = min(self.n_neighbors, len(y))

        def weights(block):
            return relief_weights(sample.values, n_values, sample.starts, block, n_neighbors)

        parts = list(map_in_threads(weights, sample.blocks(_BLOCK), self.n_jobs))
        scores = np.sum(parts, axis=0) / len(sample.queries)
        return choice_of_scores(scores, self.n_features_to_select)

    def _statistic(self, choice):
        return choice.scores.max()
