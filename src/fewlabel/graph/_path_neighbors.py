"""NMSNN and MSNN: classification by the cheapest path to a labeled row."""

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np

from fewlabel.base import Count, Positive, parametrized
from fewlabel.graph._base import GraphClassifier
from fewlabel.kernels import paths
from fewlabel.parts.nearest import LONGEST, path_weights

_TIE = 1e-9  # costs that differ by less are compared edge by edge


@parametrized
class PathNeighborsClassifier(GraphClassifier):
    r"""Classify each row by the labeled row at the end of its cheapest path through all rows (NMSNN, MSNN).

    Each row, labeled or not, is connected to its nearest neighbors. A path :math:`P` in the graph costs

    .. math::

        CL(P) = \sum_{e \in P} e^{d_e / \delta} \quad \text{("exponential", NMSNN)}, \qquad
        L(P) = \sum_{e \in P} d_e \quad \text{("length", MSNN)},

    where :math:`d_e` is the length of an edge. An unlabeled row gets the class of the labeled row that it reaches
    at the lowest cost. The exponential makes one long edge more expensive than many short ones, so paths stay in dense
    regions and do not jump from one manifold to another.

    One run of Dijkstra's algorithm from all labeled rows at once finds the classes, with costs stored as logarithms.
    After the graph is built, a fit takes :math:`O(nK \log n)` time per class, and memory linear in :math:`n`.

    It helps if classes lie on separate manifolds or clusters that are densely sampled, as in images of objects. If
    classes overlap or many columns are noise, the nearest labeled row alone is more accurate.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbors of each row in the graph (K); all other rows if there are fewer.
    cost : {"exponential", "length"}, default="exponential"
        Cost of a path.
    path : {"cheapest", "shortest"}, default="cheapest"
        "cheapest" is the path of lowest cost to a labeled row. "shortest", as in [1]_, finds the path of smallest
        *length* to each labeled row, and takes the one of lowest cost among these. It runs Dijkstra's algorithm once
        per labeled row, and its memory grows with rows times labeled rows. With ``cost="length"`` the two are the same.
    delta : float or "min", default=0.2
        :math:`\delta` as a multiple of the median length of the nonzero edges. "min", as in [1]_, means the smallest
        positive edge, with which the longest edge of a path alone determines its cost.
    directed : bool, default=False
        Whether edges lead only from a row to its own neighbors, as in [1]_, or in both directions.
    scale : bool or "range", default=True
        Whether to scale each column over all rows. With True the inner 90% of the distinct values of a column
        get the length 0.9, so that an outlier does not squash the others. "range" scales to [0, 1], as in [1]_.
        The scale of sparse rows is rounded differently, so that of equally near rows others may become neighbors.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Length of an edge. Use "cosine" for counts of words; a row of zeros is then at distance 1/2 from all others.
    categorical_features : array-like, default=None
        The columns whose numbers stand for categories, by name or position, or as a mask: two categories are at
        distance 1, however their numbers differ.
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        Search for the neighbors. "auto" is exact up to 60,000 distinct rows or 6 columns, and approximate beyond: see
        `recall_`. Sparse rows are always searched exactly.
        With more than 15 columns the exact search takes time quadratic in the rows.
    n_jobs : int, default=None
        Number of threads of the search; -1 means all cores.
    random_state : int, RandomState instance or None, default=None
        Used by the approximate search only; everything else is deterministic.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Class of each training row; labeled rows keep theirs.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Weight of each class for each training row, as in `predict_proba`.
    path_costs_ : ndarray of shape (n_samples, n_classes)
        Cost of the cheapest path to each class: :math:`\log CL`, or the length. It is ``inf`` if there is no path.
        The cost of a labeled row for its own class is ``-inf``, or 0.
    origins_ : ndarray of shape (n_samples,)
        The labeled row that determines the class of each row.
    successors_ : ndarray of shape (n_samples,)
        The next row on the path to it; -1 for labeled rows and if there is no path.
    reached_ : ndarray of bool of shape (n_samples,)
        False if no path leads to a labeled row.
    delta_ : float
        :math:`\delta`, in the units of the scaled columns; ``nan`` if ``cost="length"``.
    recall_ : float
        Share of the true neighbors in the graph, measured on 200 rows: 1 after an exact search.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    sklearn.semi_supervised.LabelSpreading : Averages over all paths instead of using the best one.

    Notes
    -----
    A row without a path to a labeled row gets the class of the nearest labeled row, and equal weights for all classes;
    `reached_` is False for these. A larger `n_neighbors` connects more of them.

    Equal rows are one vertex of the graph. If their labels differ, the vertex has the class of most of them, and of
    equally many the first class.

    A missing value (``NaN``) takes the place of the median of its column, and is set apart by a coordinate of its own:
    it is, on the mean square, as far from a value as two rows drawn at random are from each other.

    The weight of a class is proportional to 1 / cost of the cheapest path to it. It ranks rows by confidence,
    but is not a calibrated probability. Rows behind one long edge have nearly equal weights for all classes.

    The path of a new row starts with a step to one of its K nearest training rows and continues with the path of that
    row; a row that equals a training row gets its class. New rows do not change the graph.

    Among equal costs the path whose next row is cheaper is used. Otherwise, and if more rows are at the same distance
    than there are neighbors, as in tables of categories, a hash of the rows' values decides: never their order.

    The defaults differ from [1]_ because they were more accurate in experiments: paths minimize the cost directly,
    edges lead in both directions, :math:`\delta` is a fifth of the median edge, and K is 10.
    `PathNeighborsClassifier.thesis()` is the algorithm as published. Equation 6.1 of [1]_ is a squared norm but is
    called the norm of order 2: lengths are not squared here. The lower bound of Theorem 6.1 should read :math:`\lfloor
    L \rfloor e^{L / \lfloor L \rfloor} \le CL`: two edges of length 1.25 cost less than the printed bound.

    References
    ----------
    .. [1] Huang, D. "Research on feature selection and semi-supervised classification methods." PhD thesis, Huazhong
       University of Science and Technology, 2011 (in Chinese), chapter 6: definitions 6.2, 6.3 and
       6.5, theorems 6.1 and 6.2, figure 6.2.
    .. [2] Chapelle, O. and Zien, A. "Semi-supervised classification by low density separation." International Workshop
       on Artificial Intelligence and Statistics, 2005. The connectivity kernel is another path cost that favors dense
       regions.

    Examples
    --------
    >>> from fewlabel import PathNeighborsClassifier, make_two_moons
    >>> X, y, y_true = make_two_moons(labeled_per_class=3, return_true=True, random_state=0)
    >>> model = PathNeighborsClassifier().fit(X, y)
    >>> int((model.transduction_ != y_true).sum())
    0
    >>> model.predict([[0.0, 1.0], [1.0, -0.5]])
    array([0, 1])
    """

    n_neighbors: Count = 10
    _: KW_ONLY
    cost: Literal["exponential", "length"] = "exponential"
    path: Literal["cheapest", "shortest"] = "cheapest"
    delta: Positive | Literal["min"] = 0.2
    directed: bool = False

    @classmethod
    def thesis(cls, **parameters: Any) -> Self:
        """Make a classifier with the published settings of NMSNN.

        Shortest paths on the directed graph of 40 neighbors, with :math:`\\delta` the smallest edge.

        Parameters
        ----------
        **parameters
            Other parameters, or other values of these.

        Returns
        -------
        PathNeighborsClassifier
            The unfitted classifier.
        """
        published = {"n_neighbors": 40, "path": "shortest", "delta": "min", "directed": True, "scale": "range"}
        return cls(**{**published, **parameters})

    def _label_vertices(self, votes, mass):
        neighbors, lengths = self._search.graph()
        self.delta_ = _delta(lengths, self.delta) if self._exponential else np.nan
        find = _cheapest_of_shortest if self._exponential and self.path == "shortest" else _cheapest
        cost, self._origins, self._successors, class_costs = find(neighbors, lengths, self.directed, self.delta_, votes)
        self._costs = np.column_stack([cost, class_costs])
        origin_codes = votes.argmax(axis=1)[self._origins]
        self._vertex_codes = np.where(self._origins >= 0, origin_codes, -1)
        return path_weights(class_costs, self._exponential), self._vertex_codes

    def _describe_rows(self, codes, vertex, logs, vertex_codes):
        super()._describe_rows(codes, vertex, logs, vertex_codes)
        self.path_costs_ = self._costs[vertex, 1:]
        labeled = codes >= 0
        # The row that stands for a vertex: the first with the label of the vertex, or else the first.
        own = labeled & (codes == vertex_codes[vertex])
        order = np.lexsort((~own, vertex))
        _, firsts = np.unique(vertex[order], return_index=True)
        row_of = order[firsts]
        origins = self._origins[vertex]
        successors = self._successors[vertex]
        # Copies of a labeled row end their paths there.
        ends = origins == vertex
        far = origins < 0
        if far.any():
            rows = self._search.rows[vertex[far]]
            origins[far] = self._sources[self._nearest_source(rows)]
        self.origins_ = np.where(labeled, np.arange(len(codes)), row_of[origins])
        self.successors_ = np.where(ends, row_of[vertex], -1)
        goes_on = successors >= 0
        self.successors_[goes_on] = row_of[successors[goes_on]]
        self.successors_[labeled] = -1
        del self._origins, self._successors

    def _check_loaded(self):
        """Raise a ValueError if the costs, which a kernel reads for each neighbor, are not those of all vertices."""
        super()._check_loaded()
        n_vertices = self._make_search().rows.shape[0]
        if self._costs.dtype != np.float64 or self._costs.shape != (n_vertices, len(self.classes_) + 1):
            raise ValueError("there is not one cost per vertex and class: the model is damaged, fit it again")

    def _extend(self, neighbors, lengths):
        if self._exponential:
            lengths = np.minimum(lengths / self.delta_, LONGEST)
        costs, through = paths.extend(neighbors, lengths, self._costs, self._exponential)
        next_vertex = through[:, 0]
        codes = np.where(next_vertex >= 0, self._vertex_codes[next_vertex], -1)
        return path_weights(costs[:, 1:], self._exponential), codes

    @property
    def _exponential(self):
        return self.cost == "exponential"


def _delta(lengths, delta):
    """Scale of the exponential, bounded so that no edge overflows in units of it."""
    positive = lengths[lengths > 0]
    if positive.size == 0:
        return 1.0
    value = positive.min() if delta == "min" else delta * np.median(positive)
    return float(max(value, positive.max() / LONGEST))


def _cheapest(neighbors, lengths, directed, delta, votes):
    """Paths of lowest cost: to any labeled vertex, which determines the class, and to those of each class."""
    exponential = not np.isnan(delta)
    if exponential:
        lengths = lengths / delta
    graph = paths.adjacency(neighbors, lengths, directed)
    labeled = np.flatnonzero(votes.any(axis=1))
    cost, origin, successor, _, _ = paths.shortest_paths(*graph, labeled, exponential)
    class_costs = np.empty(votes.shape)
    for code in range(votes.shape[1]):
        of_class = np.flatnonzero(votes[:, code])
        class_costs[:, code], *_ = paths.shortest_paths(*graph, of_class, exponential)
    return cost, origin, successor, class_costs


def _cheapest_of_shortest(neighbors, lengths, directed, delta, votes):
    """Paths of smallest length to each labeled vertex, and among these the one of lowest cost."""
    graph = paths.adjacency(neighbors, lengths, directed)
    n = len(votes)
    labeled = np.flatnonzero(votes.any(axis=1))
    successors = np.empty((len(labeled), n), np.int32)
    steps = np.empty((len(labeled), n))
    best = np.full(n, np.inf)
    tree = np.full(n, -1, np.int32)
    class_costs = np.full(votes.shape, np.inf)
    for t, row in enumerate(labeled):
        _, _, successors[t], steps[t], order = paths.shortest_paths(*graph, labeled[t : t + 1], False)
        cost = paths.path_costs(successors[t], steps[t], order, delta)
        paths.keep_cheaper(best, tree, cost, t, successors, steps, delta, _TIE)
        own = np.flatnonzero(votes[row])
        class_costs[:, own] = np.minimum(class_costs[:, own], cost[:, None])
    reached = tree >= 0
    origin = np.where(reached, labeled[tree], -1)
    successor = np.where(reached, successors[tree, np.arange(n)], -1)
    return best, origin, successor, class_costs
