"""Scores of single columns by graphs of the rows: Laplacian score, constraint score, LSDF."""

import numbers
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from fewlabel.base import Interval, StrOptions
from fewlabel.neighbors import RowSearch
from fewlabel.selection._base import COUNT_OR_PART, TableSelector, count
from fewlabel.selection._columns import coordinates
from fewlabel.selection._search import ranked

_LEAST = 1e-12  # a denominator below it, of a constant column, counts as none


class GraphScoreSelector(TableSelector):
    r"""Select columns by how they follow the labels and the graph of nearest neighbors of all rows.

    With :math:`f` the values of a column and :math:`L` the Laplacian of a graph,
    :math:`f^\top L f = \tfrac12 \sum_{ij} W_{ij} (f_i - f_j)^2` is small if rows with an edge have similar values. The
    scores, of which higher is better, are

    .. math::

        \text{LSDF} = \frac{f^\top L_b f}{f^\top L_w f}, \qquad
        \text{constraint} = \frac{\sum_{y_i \ne y_j} (f_i - f_j)^2}{\sum_{y_i = y_j} (f_i - f_j)^2}, \qquad
        \text{laplacian} = -\frac{\tilde f^\top L \tilde f}{\tilde f^\top D \tilde f} .

    LSDF has an edge in :math:`L_b` between labeled rows of different classes, and in :math:`L_w` one of weight `gamma`
    between labeled rows of the same class, and of weight 1 between neighbors of which one is unlabeled. The constraint
    score uses the labeled rows alone; the Laplacian score uses no labels.

    Parameters
    ----------
    criterion : {"lsdf", "laplacian", "constraint"}, default="lsdf"
        The score.
    n_features_to_select : int or float, default=0.5
        Number of columns with the highest scores, or their share of all columns.
    n_neighbors : int, default=5
        Neighbors of each row in the graph.
    gamma : float, default=100.0
        Weight of labels against neighbors in LSDF.
    nominal_features : "auto" or array-like, default="auto"
        Nominal columns, as names, positions or a mask. "auto" means the columns of a data frame that hold text,
        categories or booleans.
    verbose : int, default=0
        If positive, print the progress.

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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewlabel import GraphScoreSelector, hide_labels
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> GraphScoreSelector(n_features_to_select=2).fit(X, hide_labels(y, 12, random_state=0)).get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    _uses_unlabeled = True
    _parameter_constraints: dict = {
        **TableSelector._parameter_constraints,
        "criterion": [StrOptions({"lsdf", "laplacian", "constraint"})],
        "n_features_to_select": COUNT_OR_PART,
        "n_neighbors": [Interval(numbers.Integral, 1, None, closed="left")],
        "gamma": [Interval(numbers.Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        criterion: Literal["lsdf", "laplacian", "constraint"] = "lsdf",
        *,
        n_features_to_select: float = 0.5,
        n_neighbors: int = 5,
        gamma: float = 100.0,
        nominal_features: ArrayLike | Literal["auto"] = "auto",
        verbose: int = 0,
    ) -> None:
        self.criterion = criterion
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.nominal_features = nominal_features
        self.verbose = verbose

    def _select(self, columns, y, n_classes):
        values, owner = coordinates(columns)
        rules = {"lsdf": self._lsdf, "laplacian": self._laplacian, "constraint": _constraint}
        above, below = rules[self.criterion](values, y)
        n_columns = len(columns.nominal)
        above, below = (np.bincount(owner, part, minlength=n_columns) for part in (above, below))
        worst = -1.0 if self.criterion == "laplacian" else 0.0  # of a column that is constant
        self.scores_ = np.divide(above, below, out=np.full(n_columns, worst), where=below > _LEAST)
        self.path_ = ranked(self.scores_)
        self.scores_path_ = self.scores_[self.path_]
        self.support_ = np.zeros(n_columns, dtype=bool)
        self.support_[self.path_[: count(self.n_features_to_select, n_columns)]] = True

    def _graph(self, values):
        """Symmetric weights of the neighbors: 1 for an edge."""
        n_rows, k = len(values), min(self.n_neighbors, len(values) - 1)
        found, _ = RowSearch(np.ascontiguousarray(values), "euclidean", "auto", k, random_state=0).graph()
        edges = csr_array((np.ones(found.size), found.ravel(), np.arange(0, found.size + 1, k)), shape=(n_rows, n_rows))
        return edges.maximum(edges.T)

    def _lsdf(self, values, y):
        between, within = _constraint(values, y)
        edges = self._graph(values).tocoo()
        rows, others = edges.coords
        unlabeled = (y[rows] < 0) | (y[others] < 0)
        near = ((values[rows[unlabeled]] - values[others[unlabeled]]) ** 2).sum(axis=0) / 2
        return between, self.gamma * within + near

    def _laplacian(self, values, y):
        edges = self._graph(values)
        degree = edges.sum(axis=1)
        centered = values - degree @ values / degree.sum()
        variance = degree @ centered**2
        return -(variance - (centered * (edges @ centered)).sum(axis=0)), variance


def _constraint(values, y):
    """Sums of the squared differences over pairs of labeled rows of different classes, and of the same class."""
    labeled = values[y >= 0]

    def pairs(rows):
        return len(rows) * (rows**2).sum(axis=0) - rows.sum(axis=0) ** 2

    within = sum(pairs(values[y == code]) for code in np.unique(y[y >= 0]))
    return pairs(labeled) - within, within
