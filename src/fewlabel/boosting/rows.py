"""The rows that a booster learns from: in memory here, on the workers of a cluster in `fewlabel.dask`."""

from copy import copy
from functools import cached_property
from typing import Protocol

import numpy as np

from fewlabel.kernels import stumps, symmetric_trees
from fewlabel.kernels.step_functions import add_scores


class RowParts(Protocol):
    """Rows in one part or in several, each a `Rows`: what the engine asks of them.

    Attributes
    ----------
    sizes : ndarray of shape (3,)
        Number of positives, unlabeled rows and negatives.
    n_codes : int
    """

    sizes: np.ndarray
    n_codes: int

    def in_one_piece(self, n_columns):
        """The rows, if one thread of this process has all of them in work with so many columns; else None."""

    def ask(self, work, *values, merge):
        """``work(part, *values)`` of all parts, merged in pairs by ``merge(a, b)``."""

    def tell(self, work, *values) -> None:
        """Call ``work(part, *values)`` for all parts, before they are asked the next time."""

    def sums(self, terms, *values) -> list[float]:
        """Sum of each of the arrays ``terms(part, *values)`` of non-negative numbers, over all parts.

        By way of integers: the same for any order of the rows, and in any parts.
        """


class Rows:
    """Codes, weights and scores of rows in memory: a single part.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows), uint8
    n_codes : int
        Number of codes; the last one is that of missing values.
    bounds : ndarray of shape (4,), int64
        Rows ``bounds[g]:bounds[g + 1]`` are the positives, the unlabeled rows and the negatives.
    weights : ndarray of shape (n_rows,)
        Weights that sum to one in each group, over all parts.
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
        self.codes = codes
        self.n_codes = n_codes
        self.bounds = bounds
        self.sizes = np.diff(bounds)
        self.groups = [slice(bounds[g], bounds[g + 1]) for g in range(3)]
        self.weights = weights
        self.scores = scores
        self.threads = threads
        self.sample_weight = sample_weight
        self.derivatives = None

    def in_one_piece(self, n_columns):
        return self if self.threads.n_ranges(len(self.scores), n_columns) == 1 else None

    def ask(self, work, *values, merge=None):
        return work(self, *values)

    def tell(self, work, *values):
        work(self, *values)

    def sums(self, terms, *values):
        return [symmetric_trees.order_free_sum(term) for term in terms(self, *values)]

    def with_weights(self, weights):
        """The same rows with other weights, and scores of 0."""
        again = copy(self)  # shares the codes and the leaves, which a round writes before it reads them
        again.weights = weights
        again.scores = np.zeros(len(self.scores))
        return again

    def score_range(self):
        """The negative of the lowest score, and the highest one."""
        return np.array([-self.scores.min(initial=np.inf), self.scores.max(initial=-np.inf)])

    def scores_with(self, table):
        """The scores and a sum of stumps, by column and code."""
        scores = self.scores.copy()
        columns = np.flatnonzero(table.any(axis=1))
        self._over_rows(add_scores, self.codes, table, columns, scores)
        return scores

    # Two weights per row, exp(-f) and exp(f), for boosting with stumps.

    def weigh(self, uses, table):
        """Set the log-weights -f and f, for scores and a sum of stumps, and return the largest of each kind and group.

        `uses` has shape (2, 3): the kinds and groups that are needed.
        """
        scores = self.scores_with(table)
        weights = np.stack([-scores, scores])
        nowhere = np.zeros(self.n_codes, dtype=np.uint8)
        self._weighted = stumps.WeightedRows(
            self.codes, weights, self.bounds, uses, np.array([-1]), nowhere, np.ones(2)
        )
        return np.array([[kind[group].max(initial=-np.inf) for group in self.groups] for kind in weights])

    def exponentiate(self, largest):
        """Replace log-weights w by the row's weight times ``exp(w - largest)``, or by 0 where they are not needed."""
        for kind, of_kind in enumerate(self._weighted.weights):
            for g, group in enumerate(self.groups):
                of_group = of_kind[group]
                if not self._weighted.uses[kind, g]:
                    of_group[:] = 0.0
                    continue
                of_group -= largest[kind, g]
                np.exp(of_group, out=of_group)
                of_group *= self.weights[group]

    def weights_by_group(self):
        """The weights of each kind and group: six terms to sum."""
        return [kind[group] for kind in self._weighted.weights for group in self.groups]

    def divide(self, sums):
        """Divide the two weights by a number for each kind and group."""
        for g, group in enumerate(self.groups):
            self._weighted.weights[:, group] /= sums[:, g : g + 1]

    def for_stumps(self):
        """The arrays that `stumps.rounds_at_once` works on."""
        return self._weighted

    def signed_histogram(self, coefficients, columns):
        """As in `stumps`."""

        def add_rows(start, stop):
            hist = np.zeros((len(columns), self.n_codes), dtype=np.int64)
            stumps.add_signed(self._weighted, np.clip(self.bounds, start, stop), coefficients, columns, hist)
            return hist

        hist = self.threads.over_rows(add_rows, len(self.scores), len(columns))
        # Only now: every range of rows takes the step that waits.
        self._weighted.waiting_column[0] = -1
        return hist

    def side_sums(self, column, fires, scales):
        """As in `stumps`."""

        def add_rows(start, stop):
            sides = np.zeros((2, 3, 2), dtype=np.int64)
            bounds = np.clip(self.bounds, start, stop)
            stumps.add_sides(self._weighted, bounds, column, fires, scales, sides)
            return sides

        return self.threads.over_rows(add_rows, len(self.scores))

    def reweight(self, column, fires, jump):
        """As in `stumps`."""
        stumps.set_waiting(self._weighted, column, fires, jump)

    # Two derivatives per row, for boosting with trees.

    @cached_property
    def for_trees(self):
        """The arrays that `symmetric_trees.grow_at_once` works on, without the derivatives."""
        n_rows = len(self.scores)
        # A row of weight w counts as w rows that have a gradient of g / w each: their squares sum to g^2 / w.
        given = np.ones(n_rows) if self.sample_weight is None else self.sample_weight
        per_weight = 1.0 / np.where(given > 0, given, 1.0)
        # Identical rows with the same label share their bootstrap weight.
        keys = np.repeat(np.array([1, 0, -1]).astype(np.uint64), self.sizes)
        self._over_rows(symmetric_trees.hash_rows, self.codes, keys, n_columns=len(self.codes))
        packed = np.empty(n_rows, dtype=np.int64)
        leaf = np.zeros(n_rows, dtype=np.uint8)
        no_derivatives = np.empty((2, 0))
        return symmetric_trees.TreeRows(self.codes, self.n_codes, keys, per_weight, no_derivatives, packed, leaf)

    def variates(self, key):
        """A standard exponential variate for each row; rows with the same codes in the same group have the same."""
        variates = np.empty(len(self.scores))
        self._over_rows(symmetric_trees.draw_variates, self.for_trees.keys, np.uint64(key), variates)
        return variates

    def bootstrap(self, key):
        """Multiply the derivatives by `variates`."""
        self.derivatives *= self.variates(key)

    def derivative_sizes(self, counts_squares):
        """Absolute derivatives and, if they count, squared gradients of rows of weight one: three terms to sum."""
        gradient = self.derivatives[0]
        squares = gradient**2 * self.for_trees.per_weight if counts_squares else gradient[:0]
        return [*np.abs(self.derivatives), squares]

    def plant(self, units):
        """As in `symmetric_trees`."""
        self.for_trees.leaf[:] = 0
        self._over_rows(symmetric_trees.pack, self.derivatives, units, self.for_trees.packed)

    def code_sums(self, columns, n_leaves):
        """As in `symmetric_trees`."""
        rows = self.for_trees
        terms = rows.codes, columns, rows.leaf, n_leaves, rows.n_codes, rows.packed
        return self._over_rows(symmetric_trees.histogram, *terms, n_columns=len(columns))

    def cut_sums(self, columns, cuts, n_leaves):
        """As in `symmetric_trees`."""
        rows = self.for_trees
        terms = rows.codes, columns, cuts, rows.leaf, (n_leaves, rows.n_codes - 1), rows.packed
        return self._over_rows(symmetric_trees.cut_histogram, *terms, n_columns=len(columns))

    def split(self, column, up):
        """As in `symmetric_trees`."""
        self._over_rows(symmetric_trees.split_leaves, self.codes[column], up, self.for_trees.leaf)

    def value_sums(self, units, n_leaves):
        """As in `symmetric_trees`."""
        return self._over_rows(symmetric_trees.leaf_sums, self.derivatives, units, self.for_trees.leaf, n_leaves)

    def add_values(self, values):
        """Add the values of the rows' leaves to their scores."""
        self._over_rows(symmetric_trees.add_values, values, self.for_trees.leaf, self.scores)

    def _over_rows(self, kernel, *args, n_columns=1):
        return self.threads.over_rows(lambda start, stop: kernel(*args, start, stop), len(self.scores), n_columns)
