"""Rows on which symmetric trees are grown: what the boosters ask of them, and rows in memory."""

from copy import copy
from typing import Protocol

import numpy as np

from fewlabel.boosting.rows import FEW_CELLS
from fewlabel.kernels import symmetric_trees
from fewlabel.kernels.bins import MISSING
from fewlabel.kernels.symmetric_trees import order_free_sum


class Rows(Protocol):
    """Rows in one part or in several, each a `TreeRows`.

    Attributes
    ----------
    sizes : ndarray of shape (3,)
        Number of positives, unlabeled rows and negatives.
    """

    sizes: np.ndarray

    def grow(self, draws, tried, terms):
        """Splits, gains and leaf values of a tree, as `symmetric_trees.grow`; None if the rows are many or apart."""

    def ask(self, work, *values, merge):
        """``work(part, *values)`` of all parts, merged in pairs by ``merge(a, b)``."""

    def tell(self, work, *values) -> None:
        """Call ``work(part, *values)`` for all parts, before they are asked the next time."""

    def sums(self, terms, *values) -> list[float]:
        """Sum of each of the arrays ``terms(part, *values)`` of non-negative numbers, over all parts.

        By way of integers: the same for any order of the rows, and in any parts.
        """


class TreeRows:
    """Codes, weights and scores of rows in memory: a single part.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows), uint8
    n_codes : int
        Number of codes; the last one is that of missing values.
    bounds : ndarray of shape (4,), int64
        Rows ``bounds[g]:bounds[g + 1]`` are the positives, the unlabeled rows and the negatives.
    weights : list of ndarray
        Weights of the rows of each group; over all parts they sum to one.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights as given by the user.
    scores : ndarray of shape (n_rows,)
        Scores to start from.
    threads : RowThreads

    Attributes
    ----------
    derivatives : ndarray of shape (2, n_rows)
        Negative gradient and second derivative of each row, which a loss sets.
    """

    def __init__(self, codes, n_codes, bounds, weights, sample_weight, scores, threads):
        self.bounds, self.sizes = bounds, np.diff(bounds)
        self.groups = [slice(bounds[g], bounds[g + 1]) for g in range(3)]
        self.weights, self.scores, self.threads = weights, scores, threads
        self.derivatives = np.zeros((2, len(scores)))
        self._n_codes = n_codes
        self._codes = np.where(codes == MISSING, np.uint8(n_codes - 1), codes)
        # A row of weight w counts as w rows that have a gradient of g / w each: their squares sum to g^2 / w.
        given = np.ones(len(scores)) if sample_weight is None else sample_weight
        self._per_weight = 1.0 / np.where(given > 0, given, 1.0)
        self._leaf = self._packed = None
        # Identical rows with the same label share their bootstrap weight.
        self._keys = np.repeat(np.array([1, 0, -1]).astype(np.uint64), self.sizes)
        self._run(symmetric_trees.hash_rows, self._codes, self._keys, n_columns=len(codes))

    def ask(self, work, *values, merge=None):
        return work(self, *values)

    def tell(self, work, *values):
        work(self, *values)

    def sums(self, terms, *values):
        return [order_free_sum(of_term) for of_term in terms(self, *values)]

    def with_weights(self, weights):
        """The same rows with other weights, and scores of 0."""
        again = copy(self)
        again.weights, again.scores = weights, np.zeros(len(self.scores))
        return again

    def score_range(self):
        """The negative of the lowest score, and the highest one."""
        return np.array([-self.scores.min(initial=np.inf), self.scores.max(initial=-np.inf)])

    def variates(self, key):
        """A standard exponential variate for each row; rows with the same codes in the same group have the same."""
        variates = np.empty(len(self._keys))
        self._run(symmetric_trees.draw_variates, self._keys, np.uint64(key), variates)
        return variates

    def bootstrap(self, key):
        """Multiply the derivatives by `variates`."""
        self.derivatives *= self.variates(key)

    def sizes_of_derivatives(self):
        """Absolute derivatives, two terms to sum."""
        return [np.abs(of_row) for of_row in self.derivatives]

    def squares_of_gradients(self):
        """Squared gradients of rows of weight one, a third term."""
        return [*self.sizes_of_derivatives(), self.derivatives[0] ** 2 * self._per_weight]

    def plant(self, units):
        """Start a tree: all rows are in one leaf, and the derivatives become integers, multiples of `units`."""
        self._packed = np.empty(len(self.scores), dtype=np.int64)
        self._leaf = np.zeros(len(self.scores), dtype=np.uint8)
        self._run(symmetric_trees.pack, self.derivatives, units, self._packed)

    def grow(self, draws, tried, terms):
        if len(self.scores) * draws[0].shape[1] > FEW_CELLS:  # threads and kept histograms save more than calls cost
            return None
        *grown, self._leaf = symmetric_trees.grow(
            self._codes, self._n_codes, self._keys, self._per_weight, self.derivatives, draws, tried, terms
        )
        return grown

    def cut_histogram(self, columns, cuts, n_leaves):
        """Sums by column, leaf, and side of one cut per column."""
        kernel, shape = symmetric_trees.cut_histogram, (n_leaves, self._n_codes - 1)
        return self._run(kernel, self._codes, columns, cuts, self._leaf, shape, self._packed, n_columns=len(columns))

    def histogram(self, columns, n_leaves):
        """Sums by column, leaf and code."""
        args = self._codes, columns, self._leaf, n_leaves, self._n_codes, self._packed
        return self._run(symmetric_trees.histogram, *args, n_columns=len(columns))

    def split(self, column, up):
        """Send all rows one level on, up where `up` of their code is 1."""
        self._run(symmetric_trees.split_leaves, self._codes[column], up, self._leaf)

    def leaf_sums(self, units, n_leaves):
        """Sums of the derivatives by leaf, in multiples of `units`."""
        return self._run(symmetric_trees.leaf_sums, self.derivatives, units, self._leaf, n_leaves)

    def add_values(self, values):
        """Add the values of the rows' leaves to their scores."""
        self._run(symmetric_trees.add_values, values, self._leaf, self.scores)

    def _run(self, kernel, *args, n_columns=1):
        return self.threads.over_rows(lambda start, stop: kernel(*args, start, stop), len(self.scores), n_columns)
