"""The rows that a booster learns from: in one part, or in several that threads or the workers of a cluster have."""

import math
from functools import cached_property, reduce
from itertools import pairwise

import numpy as np

from fewlabel.kernels import symmetric_trees
from fewlabel.kernels.step_functions import add_scores


def group_totals(weight, bounds):
    """Total weight of each group, whatever the order of its rows; their number if they have no weights."""
    return [
        float(stop - start) if weight is None else math.fsum(weight[start:stop]) for start, stop in pairwise(bounds)
    ]


class Rows:
    """Codes, weights and scores of rows in one part.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows), uint8
    n_codes : int
        Number of codes; the last one is that of missing values.
    bounds : ndarray of shape (4,), int64
        Rows ``bounds[g]:bounds[g + 1]`` are the positives, the unlabeled rows and the negatives.
    scores : ndarray of shape (n_rows,)
        Scores to start from.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights as given by the user.
    totals : sequence of float
        Their sum in each group, over all parts; the number of rows if they have no weights.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
        Weights that sum to one in each group, over all parts.
    arrays : symmetric_trees.RowArrays
        What the kernels work on: with weights, set by `weigh`, or with derivatives, set by `derivatives`.
    """

    arrays = None

    def __init__(self, codes, n_codes, bounds, scores, sample_weight, totals):
        self.codes = codes
        self.n_codes = n_codes
        self.bounds = bounds
        self.sizes = np.diff(bounds)
        self.groups = [slice(start, stop) for start, stop in pairwise(bounds)]
        self.scores = scores
        self.sample_weight = sample_weight
        self.totals = list(totals)
        self.weights = np.ones(len(scores)) if sample_weight is None else sample_weight.copy()
        for group, total in zip(self.groups, totals):
            self.weights[group] /= total or 1.0

    def in_parts(self, n_parts):
        """The same rows in parts of about the same size."""
        parts = []
        for rows in np.array_split(np.arange(len(self.scores)), n_parts):
            part = slice(rows[0], rows[-1] + 1)
            given = None if self.sample_weight is None else self.sample_weight[part]
            codes = np.ascontiguousarray(self.codes[:, part])
            bounds = np.clip(self.bounds, part.start, part.stop) - part.start
            parts.append(Rows(codes, self.n_codes, bounds, self.scores[part], given, self.totals))
        return parts

    def without(self, held_out):
        """The same rows with scores of 0, those held out with weight 0: their scores are needed after every round."""
        rows = Rows(self.codes, self.n_codes, self.bounds, np.zeros(len(held_out)), self.sample_weight, self.totals)
        rows.weights *= ~held_out
        for g, group in enumerate(rows.groups):
            share = symmetric_trees.order_free_sum(rows.weights[group])
            rows.weights[group] /= share or 1.0
            rows.totals[g] *= share
        return rows

    def ask(self, work, *values, merge):
        """As `SpreadRows.ask`."""
        return work(self, *values)

    def tell(self, work, *values):
        """As `SpreadRows.tell`."""
        work(self, *values)

    def sums(self, terms, *values):
        """As `SpreadRows.sums`."""
        return [symmetric_trees.order_free_sum(term) for term in terms(self, *values)]

    @cached_property
    def has_one_weight(self):
        """Whether all rows of each group have the same weight."""
        return [len(np.unique(self.weights[group])) < 2 for group in self.groups]

    def score_range(self):
        """The negative of the lowest score, and the highest one."""
        return np.array([-self.scores.min(initial=np.inf), self.scores.max(initial=-np.inf)])

    def scores_with(self, table):
        """The scores and a sum of stumps, by column and code."""
        scores = self.scores.copy()
        add_scores(self.codes, table, np.flatnonzero(table.any(axis=1)), scores)
        return scores

    # Two weights per row, exp(-f) and exp(f), for boosting with stumps.

    def weigh(self, uses, table):
        """Set the log-weights -f and f, for scores and a sum of stumps, and return the largest of each kind and group.

        `uses` has shape (2, 3): the kinds and groups that are needed.
        """
        scores = self.scores_with(table)
        weights = np.stack([-scores, scores])
        self.arrays = self._arrays(weights=weights, uses=uses)
        return np.array([[kind[group].max(initial=-np.inf) for group in self.groups] for kind in weights])

    def exponentiate(self, largest):
        """Replace log-weights w by the row's weight times ``exp(w - largest)``, or by 0 where they are not needed."""
        for g, group in enumerate(self.groups):
            of_group = self.arrays.weights[:, group]
            of_group -= largest[:, g : g + 1]
            np.exp(of_group, out=of_group)
            of_group *= self.weights[group]
            of_group *= self.arrays.uses[:, g : g + 1]

    def weights_by_group(self):
        """The weights of each kind and group: six terms to sum."""
        return [kind[group] for kind in self.arrays.weights for group in self.groups]

    def divide(self, sums):
        """Divide the two weights by a number for each kind and group."""
        for g, group in enumerate(self.groups):
            self.arrays.weights[:, group] /= sums[:, g : g + 1]

    # Two derivatives per row, for boosting by gradients.

    @property
    def derivatives(self):
        """Negative gradients and second derivatives, shape (2, n_rows); a loss sets them."""
        if self.arrays is None:
            n_rows = len(self.scores)
            # A row of weight w counts as w rows that have a gradient of g / w each: their squares sum to g^2 / w.
            given = np.ones(n_rows) if self.sample_weight is None else self.sample_weight
            self.arrays = self._arrays(
                derivatives=np.empty((2, n_rows)),
                packed=np.empty(n_rows, dtype=np.int64),
                keys=self.keys,
                per_weight=1.0 / np.where(given > 0, given, 1.0),
            )
        return self.arrays.derivatives

    @cached_property
    def keys(self):
        """A number for each row, from its codes and its label."""
        # Identical rows with the same label share their bootstrap weight.
        keys = np.repeat(np.array([1, 0, -1]).astype(np.uint64), self.sizes)
        symmetric_trees.hash_rows(self.codes, keys)
        return keys

    def _arrays(self, **used):
        """The arrays of the kernels: those in use, and empty ones for the others."""
        unused = {
            "weights": np.empty((2, 0)),
            "uses": np.zeros((2, 3), dtype=np.bool_),
            "derivatives": np.empty((2, 0)),
            "packed": np.empty(0, dtype=np.int64),
            "keys": np.empty(0, dtype=np.uint64),
            "per_weight": np.empty(0),
        }
        return symmetric_trees.RowArrays(
            codes=self.codes,
            n_codes=self.n_codes,
            bounds=self.bounds,
            leaf=np.zeros(len(self.scores), dtype=np.uint8),
            step_waits=np.zeros(1, dtype=np.bool_),
            waiting_factors=np.ones((2, 2)),
            scores=self.scores,
            **{**unused, **used},
        )


class Parts:
    """Objects of one process, worked on by its threads.

    Parameters
    ----------
    parts : list
    map_parts : callable
        ``map_parts(work, parts)`` gives the result for each of them.
    """

    def __init__(self, parts, map_parts):
        self._parts = parts
        self._map = map_parts

    def call(self, work, *values, merge):
        """``work(part, *values)`` of all objects, merged in pairs by ``merge(a, b)``."""
        return reduce(merge, self._map(lambda part: work(part, *values), self._parts))


class SpreadRows:
    """Rows in several parts, each of which is a `Rows`. Commands wait for the next question and travel with it.

    Parameters
    ----------
    parts : object with the method `call` of `Parts`
    sizes : ndarray of shape (3,)
        Number of positives, unlabeled rows and negatives in all parts.
    totals : sequence of float
        Their total weights.
    """

    def __init__(self, parts, sizes, totals):
        self._parts = parts
        self._commands = []
        self.sizes = sizes
        self.totals = totals

    def tell(self, work, *values):
        """Call ``work(part, *values)`` for all parts, before they are asked the next time."""
        self._commands.append((work, *values))

    def ask(self, work, *values, merge):
        """``work(part, *values)`` of all parts, merged in pairs by ``merge(a, b)``."""
        commands = self._commands
        self._commands = []
        return self._parts.call(_obey_and_answer, commands, (work, *values), merge=merge)

    def sums(self, terms, *values):
        """Sum of each of the arrays ``terms(part, *values)`` of non-negative numbers, over all parts.

        By way of integers: the same for any order of the rows, and in any parts, to the last bit.
        """
        sizes, largest = self.ask(_size_up, terms, *values, merge=_merge_sizes)
        # One unit for all parts: integers then add up to the same sum in any parts.
        units = [
            symmetric_trees.sum_unit(n, most) if most > 0 else 0.0 for n, most in zip(sizes.tolist(), largest.tolist())
        ]
        whole = self.ask(_add_up, units, terms, *values, merge=np.add)
        return [total / unit if unit else 0.0 for total, unit in zip(whole.tolist(), units)]


def _obey_and_answer(rows, commands, question):
    for work, *values in commands:
        work(rows, *values)
    work, *values = question
    return work(rows, *values)


def _size_up(rows, terms, *values):
    """Size and largest number of each term."""
    of_part = terms(rows, *values)
    sizes = np.array([len(term) for term in of_part])
    return sizes, np.array([term.max(initial=0.0) for term in of_part])


def _merge_sizes(one, other):
    return one[0] + other[0], np.maximum(one[1], other[1])


def _add_up(rows, units, terms, *values):
    of_part = terms(rows, *values)
    return np.array([symmetric_trees.whole_sum(term, unit) for term, unit in zip(of_part, units)])
