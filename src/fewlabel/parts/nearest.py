"""The nearest of reference rows, and formulas that need them: neighbors, paths, spreading."""

from typing import Annotated

import numpy as np

from fewlabel.parts.part import Below, Ints, RowFormula, Table

# Rows that are searched at once.
_TOGETHER = 512
# Relative error of squared distances, which are expanded for the search.
_ROUNDING = 1e-7
# Lead of the chosen class in a tie.
_LEAD = 1e-12
# Largest step in units of delta, to avoid overflow.
LONGEST = 1e300
_LOWEST_LOG = -np.finfo(np.float64).max / 4


def nearest_rows(rows, X, k):
    """The k nearest of reference rows, by distances without rounding errors; among equal ones the first.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
    X : ndarray of shape (n_new, n_columns)
    k : int

    Returns
    -------
    found : ndarray of int of shape (n_new, k)
        Nearest first.
    lengths : ndarray of shape (n_new, k)
    """
    # A value of an ONNX graph has a search of its own.
    if hasattr(X, "nearest"):
        return X.nearest(rows, k)
    found = np.empty((len(X), k), dtype=np.intp)
    squares = np.empty((len(X), k))
    norms = np.einsum("ij,ij->i", rows, rows)
    for start in range(0, len(X), _TOGETHER):
        block = slice(start, start + _TOGETHER)
        found[block], squares[block] = _search(rows, norms, X[block], k)
    return found, np.sqrt(squares)


def _search(rows, norms, X, k):
    n_rows = len(rows)
    n_candidates = min(2 * k, n_rows)
    candidates = np.broadcast_to(np.arange(n_rows), (len(X), n_rows))
    if n_candidates < n_rows:
        rough = norms - 2.0 * (X @ rows.T)
        candidates = np.argpartition(rough, n_candidates - 1, axis=1)[:, :n_candidates]
    found, squares, farthest = _closest(rows, X, candidates, k)
    if n_candidates == n_rows:
        return found, squares
    # The search rounds: rows that are no candidates may be as near as the last one that was kept.
    unsure = np.flatnonzero(squares[:, -1] >= farthest * (1 - 2 * _ROUNDING))
    if unsure.size:
        everyone = np.broadcast_to(np.arange(n_rows), (len(unsure), n_rows))
        found[unsure], squares[unsure], _ = _closest(rows, X[unsure], everyone, k)
    return found, squares


def _closest(rows, X, candidates, k):
    """The k nearest candidates, their squared distances, and that of the farthest candidate."""
    squares = np.zeros(candidates.shape)
    # Summed column by column, in the order of a plain loop.
    for x, column in zip(X.T, rows.T):
        difference = x[:, None] - column[candidates]
        squares += difference * difference
    order = np.lexsort((candidates, squares), axis=1)
    candidates = np.take_along_axis(candidates, order, axis=1)
    squares = np.take_along_axis(squares, order, axis=1)
    return candidates[:, :k], squares[:, :k], squares[:, -1]


def rows_at(places, table):
    """The rows of a table at places, which may be a value of an ONNX graph."""
    return places.rows_of(table) if hasattr(places, "rows_of") else table[places]


def weighted_sums(weight, found, table):
    """Sum over the rows that were found for each row of their rows in a table, each with its weight."""
    return np.sum(np.expand_dims(weight, 2) * rows_at(found, table), axis=1)


class Neighbors(RowFormula):
    """Share of each class among the nearest rows, weighted by the inverse of the distance.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_inputs)
    codes : ndarray of int of shape (n_rows,)
        Class of each row.
    n_outputs : int
        Number of classes.
    n_neighbors : int
    """

    kind = "neighbors"
    codes: Annotated[Ints, "n_rows", Below("n_outputs")]
    n_outputs: int
    n_neighbors: int

    def check(self):
        self.require(0 < self.n_neighbors <= self.n_rows, "it has fewer rows than neighbors")

    def values_at(self, X):
        found, lengths = nearest_rows(self.rows, X, self.n_neighbors)
        same = (lengths == 0).astype(np.float64)
        is_known = np.sum(same, axis=1, keepdims=True) > 0
        # Equal rows alone decide, if there are any.
        with np.errstate(divide="ignore"):
            weight = np.where(is_known, same, 1.0 / lengths)
        shares = weighted_sums(weight, found, np.eye(self.n_outputs)[self.codes])
        return shares / np.sum(shares, axis=1, keepdims=True)


class _OnGraph(RowFormula):
    """What the formulas on a graph of rows share.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_inputs)
        Vertices of the graph.
    sources : ndarray of int
        Those with a label.
    source_codes : ndarray of int
        Their classes.
    n_neighbors : int
    """

    sources: Annotated[Ints, "n_sources", Below("n_rows")]
    source_codes: Annotated[Ints, "n_sources", Below("n_classes")]
    n_neighbors: int

    def check(self):
        self.require(0 < self.n_neighbors <= self.n_rows, "it has fewer rows than neighbors")
        self.require(self.n_sources > 0, "it has no labeled rows")
        self.require(self.n_classes > 1, "it has fewer than two classes")

    @property
    def n_outputs(self):
        return 1 if self.n_classes == 2 else self.n_classes

    def values_at(self, X):
        found, lengths = nearest_rows(self.rows, X, self.n_neighbors)
        logs, codes = self.log_weights(found, lengths)
        far = np.flatnonzero(codes < 0)
        if far.size:
            nearest = nearest_rows(self.rows[self.sources], X[far], 1)[0][:, 0]
            codes[far] = self.source_codes[nearest]
        logs = np.maximum(with_lead(logs, codes, far), _LOWEST_LOG)
        return logs[:, 1:] - logs[:, :1] if self.n_classes == 2 else logs


def with_lead(logs, codes, far):
    """Weights of rows that no label reaches become equal; the class of a row gets a small lead over the others.

    Parameters
    ----------
    logs : ndarray of shape (n_rows, n_classes)
        Logarithms of the weights of the classes.
    codes : ndarray of int of shape (n_rows,)
        Class of each row.
    far : ndarray of int
        Rows that no label reaches.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    logs = logs.copy()
    logs[far] = -np.log(logs.shape[1])
    own = np.arange(len(codes))
    others = logs.copy()
    others[own, codes] = -np.inf
    # Weights that only differ beyond double precision are tied.
    least = others.max(axis=1) + _LEAD
    logs[own, codes] = np.maximum(logs[own, codes], least)
    return logs


class Paths(_OnGraph):
    """Logarithms of the weights of the classes, by the cheapest paths to labeled rows.

    Attributes
    ----------
    costs : ndarray of shape (n_rows, 1 + n_classes)
        Cost of the cheapest path of each row to a label, and to each class; infinite for none.
    codes : ndarray of int of shape (n_rows,)
        Class at the end of the first; -1 for none.
    exponential : bool
        Whether the cost of a path is the logarithm of the sum of the exponentials of its steps, or their sum.
    delta : float
        Unit of the steps in the exponential.
    """

    kind = "paths"
    costs: Annotated[Table, "n_rows n_costs"]
    codes: Annotated[Ints, "n_rows", Below("n_classes", start=-1)]
    exponential: bool
    delta: float

    def check(self):
        self.require(self.delta > 0 or not self.exponential, "delta is not positive")
        super().check()

    @property
    def n_classes(self):
        return self.n_costs - 1

    def log_weights(self, found, lengths):
        """Logarithms of the weights of the classes, and the class of each row, -1 for none."""
        if self.exponential:
            lengths = np.minimum(lengths / self.delta, LONGEST)
        costs, through = self._extend(found, lengths)
        codes = np.where(through >= 0, self.codes[through], -1)
        return path_weights(costs[:, 1:], self.exponential), codes

    def _extend(self, found, lengths):
        """Costs of new rows, whose first step leads to a neighbor; and that neighbor, for a path to any label."""
        lowest = np.full((len(found), self.costs.shape[1]), np.inf)
        through = np.full(len(found), -1, dtype=np.intp)
        # Equal to a row of the graph: no step is taken.
        known = (lengths == 0).any(axis=1)
        for neighbor, length in zip(found.T, lengths.T):
            costs = self.costs[neighbor]
            stepped = _log_add(length[:, None], costs) if self.exponential else length[:, None] + costs
            costs = np.where((length > 0)[:, None] & (costs < np.inf), stepped, costs)
            costs[known & (length > 0)] = np.inf
            first = costs[:, 0]
            cheaper = first < lowest[:, 0]
            tie = (first == lowest[:, 0]) & (first < np.inf) & (neighbor < through)
            through = np.where(cheaper | tie, neighbor, through)
            lowest = np.minimum(lowest, costs)
        return lowest, through


def _log_add(a, b):
    """Logarithm of exp(a) + exp(b)."""
    high = np.maximum(a, b)
    low = np.minimum(a, b)
    with np.errstate(invalid="ignore"):
        added = high + np.log1p(np.exp(low - high))
    return np.where(np.isneginf(low), high, added)


def path_weights(costs, exponential):
    """Logarithms of the weights of the classes, 1 / cost, normalized; classes of cost 0 share the weight."""
    with np.errstate(divide="ignore"):
        log_cost = costs if exponential else np.log(costs)
    least = log_cost.min(axis=1, keepdims=True)
    at_label = np.where(np.isneginf(log_cost), 0.0, -np.inf)
    # Rows without a path: their weights are set by the caller.
    with np.errstate(invalid="ignore"):
        weights = np.where(np.isneginf(least), at_label, least - log_cost)
        return weights - np.log(np.exp(weights).sum(axis=1, keepdims=True))


class Spreading(_OnGraph):
    """Logarithms of the shares of the classes, by label spreading: means over neighbors of what they give.

    Attributes
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Of the rows of the graph, for rows that equal them.
    gives : ndarray of shape (n_rows, n_classes)
        What they give to a new row.
    sigma : float
        Width of the Gaussian weight of a neighbor.
    """

    kind = "spreading"
    scores: Annotated[Table, "n_rows n_classes"]
    gives: Annotated[Table, "n_rows n_classes"]
    sigma: float

    def check(self):
        self.require(self.sigma > 0, "sigma is not positive")
        super().check()

    def log_weights(self, found, lengths):
        """Logarithms of the shares of the classes, and the class of each row, -1 for none."""
        scores = spread_to(found, lengths, self.gives, self.sigma)
        # Neighbors are sorted by distance.
        known = lengths[:, 0] == 0
        scores[known] = self.scores[found[known, 0]]
        return log_shares(scores)


def spread_to(found, lengths, gives, sigma):
    """Scores of new rows, from what their neighbors give."""
    given = gives[found]
    reached = given.any(axis=2)
    squares = np.where(reached, (lengths / sigma) ** 2 / 2, np.inf)
    # Only the ratios of the weights matter: the nearest row has weight 1, however far it is.
    nearest = squares.min(axis=1, keepdims=True)
    weight = np.exp(np.where(np.isfinite(nearest), nearest, 0.0) - squares)
    return np.einsum("ij,ijc->ic", weight, given)


def log_shares(scores):
    """Logarithms of the shares of the classes, and the class of each row; -1 where all scores are 0."""
    total = scores.sum(axis=1, keepdims=True)
    # Rows that no label reaches are completed by the caller.
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(scores / total)
    reached = total[:, 0] > 0
    return logs, np.where(reached, scores.argmax(axis=1), -1)
