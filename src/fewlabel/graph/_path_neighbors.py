"""NMSNN and MSNN: classification by the cheapest path to a labeled row."""

import numbers
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import Interval, LabeledClassifier, StrOptions
from fewlabel.graph._neighbors import RowSearch, column_scale, scaled
from fewlabel.kernels import paths
from fewlabel.types import MatrixLike, Seed

_TIE = 1e-9  # costs that differ by less are compared edge by edge
_LONGEST = 1e300  # largest edge in units of delta, to avoid overflow
_ROUNDING = 1e-12  # lead given to the chosen class in a tie
_LARGEST = np.finfo(np.float64).max / 4  # replaces infinity, which scores must not contain


class PathNeighborsClassifier(LabeledClassifier):
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
    search : {"direct", "two-step"}, default="direct"
        "direct" finds the path of lowest cost. "two-step", as in [1]_, finds the path of smallest *length* to each
        labeled row, and among these the one of lowest cost. It runs Dijkstra's algorithm once per labeled row, and its
        memory grows with rows times labeled rows. With ``cost="length"`` the two are the same.
    delta : float or "min", default=0.2
        :math:`\delta` as a multiple of the median length of the nonzero edges. "min", as in [1]_, means the smallest
        positive edge, with which the longest edge of a path alone determines its cost.
    directed : bool, default=False
        Whether edges lead only from a row to its own neighbors, as in [1]_, or in both directions.
    scale : bool, default=True
        Whether to scale each column to [0, 1] over all rows.
    metric : {"euclidean", "manhattan", "cosine"}, default="euclidean"
        Length of an edge. With "cosine", a row of zeros is at distance 1/2 from all others.
    algorithm : {"auto", "brute", "kd_tree", "ball_tree", "pynndescent"}, default="auto"
        Search for the neighbors: an exact one of scikit-learn, or the approximate one of pynndescent, if installed.
        With more than 15 columns the exact search takes time quadratic in the rows.
    n_jobs : int, default=None
        Number of threads of the search; -1 means all cores.
    random_state : int, RandomState instance or None, default=None
        Used by pynndescent only; everything else is deterministic.

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
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    sklearn.semi_supervised.LabelSpreading : Averages over all paths instead of using the best one.

    Notes
    -----
    A row without a path to a labeled row gets the class of the nearest labeled row; `reached_` is False for these. A
    larger `n_neighbors` connects more of them.

    The weight of a class is proportional to 1 / cost of the cheapest path to it. It ranks rows by confidence,
    but is not a calibrated probability. Rows behind one long edge have nearly equal weights for all classes.

    The path of a new row starts with a step to one of its K nearest training rows and continues with the path of that
    row; a row that equals a training row gets its class. New rows do not change the graph.

    Among equal costs the path found first is used: the one whose next row is cheaper, then that of the labeled row that
    comes first. If more than K rows are at the same distance, such as copies of a row, the search decides which of them
    are neighbors.

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
    >>> X, y, y_true = make_two_moons(labeled=3, return_true=True, random_state=0)
    >>> model = PathNeighborsClassifier().fit(X, y)
    >>> int((model.transduction_ != y_true).sum())
    0
    >>> model.predict([[0.0, 1.0], [1.0, -0.5]])
    array([0, 1])
    """

    _accept_sparse = True
    _dtypes = (np.float64,)
    _parameter_constraints: dict = {
        "n_neighbors": [Interval(numbers.Integral, 1, None, closed="left")],
        "cost": [StrOptions({"exponential", "length"})],
        "search": [StrOptions({"direct", "two-step"})],
        "delta": [Interval(numbers.Real, 0, None, closed="neither"), StrOptions({"min"})],
        "directed": ["boolean"],
        "scale": ["boolean"],
        "metric": [StrOptions({"euclidean", "manhattan", "cosine"})],
        "algorithm": [StrOptions({"auto", "brute", "kd_tree", "ball_tree", "pynndescent"})],
        "n_jobs": [numbers.Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        cost: Literal["exponential", "length"] = "exponential",
        search: Literal["direct", "two-step"] = "direct",
        delta: float | Literal["min"] = 0.2,
        directed: bool = False,
        scale: bool = True,
        metric: Literal["euclidean", "manhattan", "cosine"] = "euclidean",
        algorithm: Literal["auto", "brute", "kd_tree", "ball_tree", "pynndescent"] = "auto",
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.cost = cost
        self.search = search
        self.delta = delta
        self.directed = directed
        self.scale = scale
        self.metric = metric
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def thesis(cls, **parameters: Any) -> Self:
        """Make a classifier with the published settings of NMSNN.

        Two-step search on the directed graph of 40 neighbors, with :math:`\\delta` the smallest edge.

        Parameters
        ----------
        **parameters
            Other parameters, or other values of these.

        Returns
        -------
        PathNeighborsClassifier
            The unfitted classifier.
        """
        return cls(**{"n_neighbors": 40, "search": "two-step", "delta": "min", "directed": True, **parameters})

    def _fit(self, X, codes, weight):
        self._offset: Any = None
        self._range: Any = None
        if self.scale:
            self._offset, self._range = column_scale(X, self.metric)
        self._set_rows(scaled(X, self.metric, self._offset, self._range))
        self._search = self._make_search()
        self._label_rows(codes)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class of each row: that at the end of its cheapest path.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes.
        """
        codes = self._extend(X)[1]
        return self.classes_[codes]

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Compute the weight of each class: proportional to 1 / cost of the cheapest path to it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The weights.
        """
        costs, codes = self._extend(X)
        return np.exp(_log_weights(costs, codes, self._exponential))

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Compute the logarithm of the weight of each class; with two classes, the second minus the first.

        It ranks rows even if the weights are rounded to 0 or 1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The logarithms.
        """
        costs, codes = self._extend(X)
        weights = np.maximum(_log_weights(costs, codes, self._exponential), -_LARGEST)
        return weights[:, 1] - weights[:, 0] if len(self.classes_) == 2 else weights

    @property
    def _exponential(self):
        return self.cost == "exponential"

    def _set_rows(self, rows):
        # Sparse rows are stored as plain arrays, which can be saved.
        self._rows = (rows.data, rows.indices, rows.indptr) if issparse(rows) else rows

    def _make_search(self):
        rows = self._rows
        if isinstance(rows, tuple):
            rows = csr_array(rows, shape=(len(rows[2]) - 1, self.n_features_in_))
            rows.check_format(full_check=True)  # they may come from a file, and compiled code does not check them
        return RowSearch(rows, self.metric, self.algorithm, self.n_neighbors, self.n_jobs, self.random_state)

    def _label_rows(self, codes):
        """Find the paths, and set the attributes of the training rows."""
        neighbors, lengths = self._search.graph()
        self.delta_ = _delta(lengths, self.delta) if self._exponential else np.nan
        labeled = np.flatnonzero(codes >= 0)
        two_step = self._exponential and self.search == "two-step"
        find = _two_steps if two_step else _one_step
        cost, origin, successor, class_costs = find(neighbors, lengths, self.directed, self.delta_, codes, labeled)
        self.reached_ = origin >= 0
        self._labeled, self._labels = labeled, codes[labeled]
        far = np.flatnonzero(~self.reached_)
        if far.size:
            origin[far] = self._nearest_labeled(self._search.rows[far])
        row_codes = codes[origin]
        self._cost, self._row_codes = cost, row_codes
        self.path_costs_ = class_costs
        self.origins_, self.successors_ = origin.astype(np.intp), successor.astype(np.intp)
        self.transduction_ = self.classes_[row_codes]
        self.label_distributions_ = np.exp(_log_weights(class_costs, row_codes, self._exponential))

    def _nearest_labeled(self, rows):
        labeled = RowSearch(self._search.rows[self._labeled], self.metric, "auto", 1)
        return self._labeled[labeled.query(rows)[0][:, 0]]

    def _extend(self, X):
        """Costs of the classes, and class of the cheapest path, for new rows."""
        check_is_fitted(self)
        new = scaled(self._validate(X, reset=False), self.metric, self._offset, self._range)
        if not hasattr(self, "_search"):  # a loaded model
            self._search = self._make_search()
        neighbors, lengths = self._search.query(new)
        if self._exponential:
            lengths = np.minimum(lengths / self.delta_, _LONGEST)
        costs, through = paths.extend(neighbors, lengths, np.c_[self._cost, self.path_costs_], self._exponential)
        through = through[:, 0]
        codes = self._row_codes[through]
        far = np.flatnonzero(through < 0)
        if far.size:
            nearest = self._nearest_labeled(new[far])
            codes[far] = self._labels[np.searchsorted(self._labeled, nearest)]
        return costs[:, 1:], codes

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_search", None)  # search trees are compiled objects: they are rebuilt from the rows
        return state


def _delta(lengths, delta):
    """Scale of the exponential, bounded so that no edge overflows in units of it."""
    positive = lengths[lengths > 0]
    if positive.size == 0:
        return 1.0
    value = positive.min() if delta == "min" else delta * np.median(positive)
    return float(max(value, positive.max() / _LONGEST))


def _one_step(neighbors, lengths, directed, delta, codes, labeled):
    """Paths of lowest cost: to any labeled row, which determines the class, and to those of each class."""
    exponential = not np.isnan(delta)
    graph = paths.adjacency(neighbors, lengths / delta if exponential else lengths, directed)
    cost, origin, successor, _, _ = paths.shortest_paths(*graph, labeled, exponential)
    class_costs = np.empty((len(codes), codes.max() + 1))
    for code in range(codes.max() + 1):
        class_costs[:, code] = paths.shortest_paths(*graph, np.flatnonzero(codes == code), exponential)[0]
    return cost, origin, successor, class_costs


def _two_steps(neighbors, lengths, directed, delta, codes, labeled):
    """Paths of smallest length to each labeled row, and among these the one of lowest cost."""
    graph = paths.adjacency(neighbors, lengths, directed)
    n = len(codes)
    successors, steps = np.empty((len(labeled), n), np.int32), np.empty((len(labeled), n))
    best, tree = np.full(n, np.inf), np.full(n, -1, np.int32)
    class_costs = np.full((n, codes.max() + 1), np.inf)
    for t, row in enumerate(labeled):
        _, _, successors[t], steps[t], order = paths.shortest_paths(*graph, labeled[t : t + 1], False)
        cost = paths.path_costs(successors[t], steps[t], order, delta)
        paths.keep_cheaper(best, tree, cost, t, successors, steps, delta, _TIE)
        class_costs[:, codes[row]] = np.minimum(class_costs[:, codes[row]], cost)
    reached = tree >= 0
    origin = np.where(reached, labeled[tree], -1)
    successor = np.where(reached, successors[tree, np.arange(n)], -1)
    return best, origin, successor, class_costs


def _log_weights(costs, codes, exponential):
    """Logarithm of the weights of the classes, 1 / cost, normalized; the class of the cheapest path has the largest."""
    with np.errstate(divide="ignore"):
        log_cost = costs if exponential else np.log(costs)
    rows = np.arange(len(codes))
    certain = ~np.isfinite(log_cost[rows, codes])  # labeled, or without a path: only the class is known
    log_cost = np.where(certain[:, None], np.inf, log_cost)
    log_cost[rows[certain], codes[certain]] = 0.0
    weights = log_cost.min(axis=1, keepdims=True) - log_cost
    weights -= np.log(np.exp(weights).sum(axis=1, keepdims=True))
    # Costs that only differ beyond double precision are tied: give the class of the path a small lead.
    others = weights.copy()
    others[rows, codes] = -np.inf
    weights[rows, codes] = np.maximum(weights[rows, codes], others.max(axis=1) + _ROUNDING)
    return weights
