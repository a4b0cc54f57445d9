"""Formulas that combine other formulas, and the simplest ones: columns, linear, ranks, log-odds."""

import itertools
from typing import Annotated

import numpy as np

from fewlabel.parts.part import Below, Finite, Floats, Formula, Ints, Table

# Ranks are kept this far from 0 and 1, where log-odds are infinite.
RANK_EDGE = 1e-6
LARGEST_SCORE = 1e300
LARGEST_DISTANCE = 10.0  # of the score of a class to the highest one, in units of their scale
_SHARE_EDGE = 0.02
_MOST_LEVELS = 1000


class Chain(Formula):
    """Formulas one after the other, each at the values of the one before.

    Attributes
    ----------
    steps : list of Formula
    """

    kind = "chain"
    steps: list[Formula]

    def check(self):
        self.require(self.steps, "it has no steps")
        for one, following in itertools.pairwise(self.steps):
            self.require(one.n_outputs == following.n_inputs, f"{one.kind} and {following.kind} do not fit each other")

    @property
    def n_inputs(self):
        return self.steps[0].n_inputs

    @property
    def n_outputs(self):
        return self.steps[-1].n_outputs

    def values_at(self, X):
        for step in self.steps:
            X = step(X)
        return X


class WeightedSum(Formula):
    """Formulas of the same rows, weighted and added in their order.

    Attributes
    ----------
    weights : ndarray of shape (n_terms,)
    terms : list of Formula
    """

    kind = "sum"
    weights: Annotated[Floats, "n_terms", Finite]
    terms: Annotated[list[Formula], "n_terms"]

    def check(self):
        self.require(self.terms, "it has no terms")
        shapes = {(term.n_inputs, term.n_outputs) for term in self.terms}
        self.require(len(shapes) == 1, "its terms differ in the number of columns")

    @property
    def n_inputs(self):
        return self.terms[0].n_inputs

    @property
    def n_outputs(self):
        return self.terms[0].n_outputs

    def values_at(self, X):
        total = 0.0
        for weight, term in zip(self.weights, self.terms):
            total = total + weight * term(X)
        return total


class Select(Formula):
    """Some of the columns.

    Attributes
    ----------
    columns : ndarray of int
    n_inputs : int
    """

    kind = "select"
    columns: Annotated[Ints, "n_outputs", Below("n_inputs")]
    n_inputs: int

    def values_at(self, X):
        return X[:, self.columns]


class Linear(Formula):
    """A linear function per output.

    Attributes
    ----------
    coef : ndarray of shape (n_outputs, n_inputs)
    intercept : ndarray of shape (n_outputs,)
    """

    kind = "linear"
    coef: Annotated[Table, "n_outputs n_inputs"]
    intercept: Annotated[Floats, "n_outputs"]

    def values_at(self, X):
        return X @ self.coef.T + self.intercept


class Ranks(Formula):
    """Ranks among reference rows, in (0, 1), interpolated between reference scores.

    Attributes
    ----------
    scores : ndarray of shape (n_levels,)
        Reference scores of all outputs, one output after the other, each ascending.
    ranks : ndarray of shape (n_levels,)
        The rank of each.
    starts : ndarray of int of shape (n_outputs + 1,)
        Where each output begins, and the end.
    """

    kind = "ranks"
    scores: Annotated[Floats, "n_levels", Finite]
    ranks: Annotated[Floats, "n_levels", Finite]
    starts: Ints

    @classmethod
    def among(cls, scores):
        """Learn the ranks of reference rows.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_outputs)

        Returns
        -------
        Ranks
        """
        levels = []
        ranks = []
        for column in np.sort(bounded(scores), axis=0).T:
            if len(column) > _MOST_LEVELS:
                column = column[np.linspace(0, len(column) - 1, _MOST_LEVELS).round().astype(int)]
            values, counts = np.unique(column, return_counts=True)
            levels.append(values)
            ranks.append((np.cumsum(counts) - counts / 2) / len(column))
        starts = np.cumsum([0, *map(len, levels)], dtype=np.int64)
        return cls(np.concatenate(levels), np.concatenate(ranks), starts)

    def check(self):
        self.require(len(self.starts) > 1, "it has no outputs")
        self.require(self.starts[0] == 0 and self.starts[-1] == self.n_levels, "its outputs do not cover its levels")
        self.require((np.diff(self.starts) > 0).all(), "an output has no levels")
        rises = np.diff(self.scores) > 0
        # From one output to the next.
        rises[self.starts[1:-1] - 1] = True
        self.require(rises.all(), "its levels do not ascend")

    @property
    def n_inputs(self):
        return len(self.starts) - 1

    n_outputs = n_inputs

    def values_at(self, X):
        scores = bounded(X)
        ranks = []
        for k, (start, stop) in enumerate(itertools.pairwise(self.starts)):
            ranks.append(_rank(scores[:, [k]], self.scores[start:stop], self.ranks[start:stop]))
        return np.hstack(ranks)


def bounded(scores):
    """Scores without NaN, of a size at which differences do not overflow: only their order matters for ranks."""
    return np.clip(np.nan_to_num(scores), -LARGEST_SCORE, LARGEST_SCORE)


def _rank(column, levels, ranks):
    inside = _interpolate(column, levels, ranks)
    # Beyond the reference rows the order still counts: scores share what is left of (0, 1) on either side.
    above = np.maximum(column - levels[-1], 0.0)
    below = np.maximum(levels[0] - column, 0.0)
    # Not 0 where all reference scores are equal.
    width = levels[-1] - levels[0] + 1e-300
    return inside + (1 - ranks[-1]) * (above / (width + above)) - ranks[0] * (below / (width + below))


def _interpolate(column, levels, ranks):
    """As `numpy.interp`, whose slopes overflow between scores that are very close to each other."""
    if len(levels) == 1:
        return column * 0.0 + ranks[0]
    column = np.clip(column, levels[0], levels[-1])
    # Of the levels below each score the last; its piece ends at the next level.
    place = np.searchsorted(levels[1:-1], column)
    share = (column - _at(place, levels)) / _at(place, np.diff(levels))
    return _at(place, ranks) + share * _at(place, np.diff(ranks))


def _at(places, values):
    """The value at each place, as a column."""
    return np.take_along_axis(values[:, None], places, axis=0)


class Logits(Formula):
    r"""Scores of classes on one scale: the distance of each to the highest of its row, up to a limit.

    Attributes
    ----------
    edge : float
        Added to scores that are shares, before their logarithm is taken; 0 for others.
    scale : float
        Distances are divided by it.
    n_inputs : int
        Number of classes.
    """

    kind = "logits"
    edge: float
    scale: float
    n_inputs: int

    @classmethod
    def among(cls, scores):
        """Learn the scale of reference rows, on which the mean distance to the highest class is 1 for a usual row.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_classes)

        Returns
        -------
        Logits
        """
        n_classes = scores.shape[1]
        if scores.min() >= 0 and scores.max() <= 1:
            return cls(_SHARE_EDGE, 1.0, n_classes)
        distance = scores.max(axis=1, keepdims=True) - bounded(scores)
        # A class that no path reaches is as far as numbers go: it is no part of the scale.
        distance = np.where(distance < np.sqrt(LARGEST_SCORE), distance, 0.0)
        scale = float(np.median(distance.mean(axis=1)))
        return cls(0.0, scale if scale > 0 else 1.0, n_classes)

    def check(self):
        self.require(self.n_inputs > 1, "it is for two classes or more")
        self.require(0 <= self.edge < 1, "its edge is not a share")
        self.require(0 < self.scale < np.inf, "its scale is not positive")

    @property
    def n_outputs(self):
        return self.n_inputs

    def values_at(self, X):
        scores = bounded(X)
        if self.edge > 0:
            scores = np.log(np.clip(scores, 0.0, 1.0) + self.edge)
        distance = np.max(scores, axis=1, keepdims=True) - scores
        return -np.minimum(distance / self.scale, LARGEST_DISTANCE)


class LogOdds(Formula):
    """Log-odds of shares in (0, 1).

    Attributes
    ----------
    n_inputs : int
    """

    kind = "log-odds"
    n_inputs: int

    @property
    def n_outputs(self):
        return self.n_inputs

    def values_at(self, X):
        shares = np.clip(X, RANK_EDGE, 1 - RANK_EDGE)
        return np.log(shares / (1 - shares))
