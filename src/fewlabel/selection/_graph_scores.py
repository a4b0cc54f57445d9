"""Scores of single columns by labels and graphs of the rows: LSDF, Laplacian, constraint and Fisher score."""

from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from fewlabel.base import Count, parametrized
from fewlabel.neighbors import neighbor_graph
from fewlabel.selection._base import CountOrPart, TableSelector, choice_of_scores
from fewlabel.selection._columns import coordinates

_LABEL_WEIGHT = 100.0  # of labels against neighbors in LSDF, gamma in its paper
_LEAST = 1e-12  # a denominator below it, of a constant column, counts as none


@parametrized
class GraphScoreSelector(TableSelector):
    r"""Select columns by how they follow the labels and the graph of nearest neighbors of all rows.

    With :math:`f` the values of a column and :math:`L` the Laplacian of a graph,
    :math:`f^\top L f = \tfrac12 \sum_{ij} W_{ij} (f_i - f_j)^2` is small if rows with an edge have similar values. The
    scores, of which higher is better, are

    .. math::

        \text{LSDF} = \frac{f^\top L_b f}{f^\top L_w f}, \qquad
        \text{constraint} = \frac{\sum_{y_i \ne y_j} (f_i - f_j)^2}{\sum_{y_i = y_j} (f_i - f_j)^2}, \qquad
        \text{laplacian} = -\frac{\tilde f^\top L \tilde f}{\tilde f^\top D \tilde f} , \qquad
        \text{fisher} = \frac{\sum_c n_c (\mu_c - \mu)^2}{\sum_c n_c \sigma_c^2} .

    LSDF has an edge in :math:`L_b` between labeled rows of different classes, and in :math:`L_w` one of weight
    100 between labeled rows of the same class, and of weight 1 between neighbors of which one is unlabeled.
    The constraint and the Fisher score use the labeled rows alone; the Laplacian score uses no labels. In the Fisher
    score [4]_, :math:`\mu_c` and :math:`\sigma_c^2` are the mean and variance of f in the :math:`n_c` labeled rows of
    class c: the constraint score with each class's pairs divided by its size.

    Parameters
    ----------
    criterion : {"lsdf", "laplacian", "constraint", "fisher"}, default="lsdf"
        The score.
    n_features_to_select : int or float, default=0.5
        Number of columns with the highest scores, or their share of all columns.
    n_neighbors : int, default=5
        Neighbors of each row in the graph.
    categorical_features : "auto" or array-like, default="auto"
        Nominal columns, as names, positions or a mask. "auto" means the columns of a data frame that hold text,
        categories or booleans.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The scores.
    path_ : ndarray of shape (n_features,), int
        The columns, from the highest score down.
    scores_path_ : ndarray of shape (n_features,)
        Their scores.
    support_ : ndarray of shape (n_features,), bool
        The selected columns.
    refused_ : ndarray of shape (n_features,), bool
        Columns that look like identifiers, which are left out with a warning.
    classes_ : ndarray
        The classes of the labeled rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    PseudoLabelSelector : Uses the unlabeled rows through the classes that a model predicts for them.

    Notes
    -----
    Numeric columns are scaled to [0, 1] and missing values replaced by the median. A nominal column is a block of
    indicators, whose numerators and denominators are summed. The published scores are to be minimized in the Laplacian
    and the constraint case; here their sign is changed, or the fraction turned around.

    References
    ----------
    .. [1] Zhao, J., Lu, K. and He, X. "Locality sensitive semi-supervised feature selection." Neurocomputing 71, 2008.
    .. [2] He, X., Cai, D. and Niyogi, P. "Laplacian score for feature selection." Advances in Neural Information
       Processing Systems 18, 2005.
    .. [3] Zhang, D., Chen, S. and Zhou, Z.-H. "Constraint score: a new filter method for feature selection with
       pairwise constraints." Pattern Recognition 41, 2008.
    .. [4] Huang, D. "Research on feature selection and semi-supervised classification methods." PhD thesis, Huazhong
       University of Science and Technology, 2011 (in Chinese), equation 2.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewlabel import GraphScoreSelector, hide_labels
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> GraphScoreSelector(n_features_to_select=2).fit(X, hide_labels(y, 12, random_state=0)).get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    _uses_unlabeled = True

    criterion: Literal["lsdf", "laplacian", "constraint", "fisher"] = "lsdf"
    _: KW_ONLY
    n_features_to_select: CountOrPart | None = 0.5
    n_neighbors: Count = 5

    def _choose(self, columns, y, n_classes):
        values, owner = coordinates(columns)
        # The worst score: that of a constant column.
        worst = 0.0
        if self.criterion == "lsdf":
            above, within = _class_pairs(values, y)
            below = _LABEL_WEIGHT * within + self._unlabeled_neighbors(values, y)
        elif self.criterion == "laplacian":
            above, below = self._laplacian(values)
            worst = -1.0
        else:
            above, below = _class_pairs(values, y, per_row=self.criterion == "fisher")
        n_columns = len(columns.nominal)
        above = np.bincount(owner, above, minlength=n_columns)
        below = np.bincount(owner, below, minlength=n_columns)
        scores = np.divide(above, below, out=np.full(n_columns, worst), where=below > _LEAST)
        return choice_of_scores(scores, self.n_features_to_select)

    def _unlabeled_neighbors(self, values, y):
        """Sums of the squared differences over neighbors of which one is unlabeled."""
        rows, others = neighbor_graph(values, self.n_neighbors).tocoo().coords
        unlabeled = (y[rows] < 0) | (y[others] < 0)
        differences = values[rows[unlabeled]] - values[others[unlabeled]]
        # The graph holds each edge twice.
        return (differences**2).sum(axis=0) / 2

    def _laplacian(self, values):
        edges = neighbor_graph(values, self.n_neighbors)
        degree = edges.sum(axis=1)
        centered = values - degree @ values / degree.sum()
        variance = degree @ centered**2
        covariance = (centered * (edges @ centered)).sum(axis=0)
        return covariance - variance, variance


def _class_pairs(values, y, per_row=False):
    """Sums of the squared differences over pairs of labeled rows of different classes, and of the same class.

    With `per_row` the pairs within a group are divided by its size: the sums of squares between and within classes.
    """

    def pairs(rows):
        n_rows = len(rows)
        sums = n_rows * (rows**2).sum(axis=0) - rows.sum(axis=0) ** 2
        return sums / n_rows if per_row else sums

    labeled = y >= 0
    within = 0.0
    for code in np.unique(y[labeled]):
        within = within + pairs(values[y == code])
    return pairs(values[labeled]) - within, within
