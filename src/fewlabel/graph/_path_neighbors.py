"""NMSNN and MSNN: the class of the labeled row at the end of the cheapest path."""

import numbers
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import Interval, LabeledClassifier, StrOptions
from fewlabel.graph._neighbors import RowSearch, column_scale, scaled
from fewlabel.kernels import paths
from fewlabel.types import MatrixLike, Seed

_TIE = 1e-9  # costs as near as this are compared edge by edge
_LONGEST = 1e300  # an edge in units of delta: larger ones would overflow
_ROUNDING = 1e-12  # by how much the chosen class is put in front of a tie
_LARGEST = np.finfo(np.float64).max / 4  # in place of infinity, which scores cannot hold


class PathNeighborsClassifier(LabeledClassifier):
    r"""Class of the labeled row at the end of the cheapest path through all rows (NMSNN, MSNN).

    Rows are joined to their nearest neighbors, labeled or not. A path :math:`P` through the graph costs

    .. math::

        CL(P) = \sum_{e \in P} e^{d_e / \delta} \quad \text{("exponential", NMSNN)}, \qquad
        L(P) = \sum_{e \in P} d_e \quad \text{("length", MSNN)},

    where :math:`d_e` is the length of an edge. An unlabeled row takes the class of the labeled row that it reaches
    at the least cost. The exponential makes one long edge dearer than many short ones, so paths keep to dense regions
    and do not leap from one manifold to the next.

    One run of Dijkstra's algorithm from all labeled rows at once finds the classes, with costs kept as logarithms.
    After the graph is built, a fit takes :math:`O(nK \log n)` time for each class, and memory linear in :math:`n`.

    It helps where classes lie on separate manifolds or clusters that the rows fill densely, as in images of objects. It
    does harm where classes overlap, or in many noisy columns: there the nearest labeled row alone does better.

    Parameters
    ----------
    n_neighbors : int, default=10
        K: neighbors of each row in the graph; all other rows if there are fewer.
    cost : {"exponential", "length"}, default="exponential"
        Cost of a path.
    search : {"direct", "two-step"}, default="direct"
        "direct" finds the path of least cost. "two-step" is the thesis's: to each labeled row the path of least
        *length*, and of these the one of least cost. It runs Dijkstra's algorithm once for each labeled row, and takes
        memory for all rows times labeled rows. With ``cost="length"`` the two are the same.
    delta : float or "min", default=0.2
        :math:`\delta` as a multiple of the median length of the edges, zeros left out. "min" is the thesis's: the
        smallest positive edge, which lets the longest edge of a path alone decide.
    directed : bool, default=False
        Whether a path may step only from a row to one of its own neighbors, as in the thesis, or also back.
    scale : bool, default=True
        Divide each column by its range over all rows, as scaling to [0, 1] does.
    metric : {"euclidean", "manhattan", "cosine"}, default="euclidean"
        Length of an edge. With "cosine", a row of zeros is at distance 1/2 from all others.
    algorithm : {"auto", "brute", "kd_tree", "ball_tree", "pynndescent"}, default="auto"
        Search for the neighbors: scikit-learn's, which are exact, or pynndescent's approximate one, if it is
        installed. For more than 15 columns the exact search takes time quadratic in the rows.
    n_jobs : int, default=None
        Threads of the search; -1 for all cores.
    random_state : int, RandomState instance or None, default=None
        Used by pynndescent only; everything else is deterministic.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Class of each row of the fit; labeled rows keep theirs.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Weight of each class for each row of the fit, as in `predict_proba`.
    path_costs_ : ndarray of shape (n_samples, n_classes)
        Cost of the cheapest path to each class: :math:`\log CL`, or the length. It is ``inf`` where there is no path.
        A labeled row's cost of its own class is ``-inf``, or 0.
    origins_ : ndarray of shape (n_samples,)
        The labeled row that gave each row its class.
    successors_ : ndarray of shape (n_samples,)
        The next row on the path to it; -1 for labeled rows and where there is no path.
    reached_ : ndarray of bool of shape (n_samples,)
        False where no path leads to a labeled row.
    delta_ : float
        :math:`\delta`, in the units of the scaled columns; ``nan`` if ``cost="length"``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    sklearn.semi_supervised.LabelSpreading : Averages over all paths, where this class takes the best one.

    Notes
    -----
    A row that no path joins to a labeled row takes the class of the nearest labeled row; `reached_` tells which. A
    larger `n_neighbors` joins more of them.

    The weight of a class is proportional to 1 / cost of the cheapest path to it. It ranks rows by how clear their case
    is, and is no calibrated probability. Rows behind one long edge have nearly equal weights for all classes.

    A new row takes its first step to one of its K nearest rows of the fit, and continues as they do; a row equal to one
    of the fit takes its class. New rows do not change the graph.

    Of equal costs the path found first wins: the one whose next row is cheaper, and between labeled rows the upper
    one. If more than K rows are at the same distance, as copies of a row are, the search decides which of them are
    neighbors.

    We differ from the thesis where measurements favor it; `PathNeighborsClassifier.thesis()` is the algorithm as
    published. Here paths are those of least cost, steps lead both ways, :math:`\delta` is a fifth of the median
    edge, and K is 10. Its equation 6.1 prints a squared norm and calls it the norm of order 2: lengths are not
    squared here. The lower bound of its Theorem 6.1 should read
    :math:`\lfloor L \rfloor e^{L / \lfloor L \rfloor} \le CL`: two edges of length 1.25 cost less than the printed one.

    References
    ----------
    .. [1] Non-metric based semi-supervised nearest neighbors, chapter 6 of a doctoral thesis on feature selection and
       semi-supervised classification: definitions 6.2, 6.3 and 6.5, theorems 6.1 and 6.2, figure 6.2.
    .. [2] Chapelle, Zien. Semi-supervised classification by low density separation. AISTATS, 2005. The
       connectivity kernel, another cost of paths that spares dense regions.

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
        """The algorithm as published: two steps, directed graph of 40 neighbors, :math:`\\delta` the smallest edge.

        Parameters
        ----------
        **parameters
            Others, or other values.

        Returns
        -------
        PathNeighborsClassifier
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
        """Class of each row: that at the end of the cheapest path.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        codes = self._extend(X)[1]
        return self.classes_[codes]

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Weight of each class: proportional to 1 / cost of the cheapest path to it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        costs, codes = self._extend(X)
        return np.exp(_log_weights(costs, codes, self._exponential))

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Logarithm of the weight of each class; with two classes, that of the second less that of the first.

        It ranks rows where the weights themselves are rounded to 0 or 1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        costs, codes = self._extend(X)
        weights = np.maximum(_log_weights(costs, codes, self._exponential), -_LARGEST)
        return weights[:, 1] - weights[:, 0] if len(self.classes_) == 2 else weights

    @property
    def _exponential(self):
        return self.cost == "exponential"

    def _set_rows(self, rows):
        # Sparse rows are kept as plain arrays, which can be saved.
        self._rows = (rows.data, rows.indices, rows.indptr) if issparse(rows) else rows

    def _make_search(self):
        rows = self._rows
        if isinstance(rows, tuple):
            rows = csr_array(rows, shape=(len(rows[2]) - 1, self.n_features_in_))
            rows.check_format(full_check=True)  # they may come from a file, and compiled code follows them
        return RowSearch(rows, self.metric, self.algorithm, self.n_neighbors, self.n_jobs, self.random_state)

    def _label_rows(self, codes):
        """Find the paths, and set what is known of the rows of the fit."""
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
        """Costs of the classes, and the class of the cheapest path, of new rows."""
        check_is_fitted(self)
        new = scaled(self._validate(X, reset=False), self.metric, self._offset, self._range)
        if not hasattr(self, "_search"):  # a model from a file
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
        state.pop("_search", None)  # trees of rows are compiled objects: they are built again from the rows
        return state


def _delta(lengths, delta):
    """Scale of the exponential; not so small that an edge in units of it would overflow."""
    positive = lengths[lengths > 0]
    if positive.size == 0:
        return 1.0
    value = positive.min() if delta == "min" else delta * np.median(positive)
    return float(max(value, positive.max() / _LONGEST))


def _one_step(neighbors, lengths, directed, delta, codes, labeled):
    """Paths of least cost: to any labeled row, which gives the class, and to those of each class."""
    exponential = not np.isnan(delta)
    graph = paths.adjacency(neighbors, lengths / delta if exponential else lengths, directed)
    cost, origin, successor, _, _ = paths.shortest_paths(*graph, labeled, exponential)
    class_costs = np.empty((len(codes), codes.max() + 1))
    for code in range(codes.max() + 1):
        class_costs[:, code] = paths.shortest_paths(*graph, np.flatnonzero(codes == code), exponential)[0]
    return cost, origin, successor, class_costs


def _two_steps(neighbors, lengths, directed, delta, codes, labeled):
    """Paths of least length to each labeled row, and of these the one of least cost."""
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
    """Logarithm of the classes' weights, 1 / cost, which sum to 1; the class of the cheapest path has the largest."""
    with np.errstate(divide="ignore"):
        log_cost = costs if exponential else np.log(costs)
    rows = np.arange(len(codes))
    certain = ~np.isfinite(log_cost[rows, codes])  # labeled, or without a path: the class is all there is
    log_cost = np.where(certain[:, None], np.inf, log_cost)
    log_cost[rows[certain], codes[certain]] = 0.0
    weights = log_cost.min(axis=1, keepdims=True) - log_cost
    weights -= np.log(np.exp(weights).sum(axis=1, keepdims=True))
    # Costs that differ beyond the last digit kept leave a tie: the class of the path goes in front.
    others = weights.copy()
    others[rows, codes] = -np.inf
    weights[rows, codes] = np.maximum(weights[rows, codes], others.max(axis=1) + _ROUNDING)
    return weights
