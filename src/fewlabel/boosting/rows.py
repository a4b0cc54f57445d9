"""The training rows of the boosting loop: what it asks of them, and where their weights are kept.

`Rows` is what the loop sees. `WeightedRows` implements it on top of `CodedRows`, which holds codes and weights in
memory; `fewlabel.dask` gives `WeightedRows` an object with the methods of `CodedRows` whose rows are on workers.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from fewlabel.boosting.binning import Binning
from fewlabel.kernels import stumps
from fewlabel.kernels.step_functions import add_scores
from fewlabel.kernels.stumps import MISSING, N_CODES, UNIT

_NO_STUMP = -1, np.zeros(N_CODES, dtype=np.uint8), 1.0, 1.0  # column, fires, factors of the two kinds
_REFRESH = 200.0  # recompute weights once they may have moved by exp(200): far from overflow and underflow
FEW_CELLS = 250_000  # rows times columns of a round, or of a level: about a tenth of a millisecond of work


class Split(NamedTuple):
    """A stump and the weight on its two sides.

    Attributes
    ----------
    column : int
    fires : ndarray of shape (256,), bool
        Whether the stump fires, for each code of the column.
    totals : ndarray of shape (2, 3), int64
        Weight of each kind and group, in a unit of the rows' choice.
    shares : ndarray of shape (2, 3, 2)
        Fraction of that weight where the stump is silent and where it fires.
    """

    column: int
    fires: np.ndarray
    totals: np.ndarray
    shares: np.ndarray


class Rows(Protocol):
    """What the boosting loop asks of the training rows.

    Rows are in three groups: positives, unlabeled rows, negatives. A row of score f has two weights, exp(-f) as the
    better and exp(f) as the worse member of its pairs. Arrays of shape (2, 3) are indexed by kind of weight and group.

    Attributes
    ----------
    binning : Binning
    log_mass : ndarray of shape (2, 3)
        log mean exp(-f) and log mean exp(f) of each group.
    table : ndarray of shape (n_features, 256)
        Sum of the stumps so far, by column and code.
    runs : bool
        Whether they have a method `run`, as `FewRows` do.
    """

    binning: Binning
    log_mass: np.ndarray
    table: np.ndarray
    runs: bool

    def search(self, coefficients, columns, limits) -> tuple[Split, int, float]:
        """The best stump of the columns, its cut, and its signed edge.

        `coefficients` are as in `histogram`; `limits` as in `stumps.candidates`: columns that cannot have the best
        stump are left out, and the bounds of the others become their largest edges.
        """

    def histogram(self, coefficients, columns) -> np.ndarray:
        """Histogram of the signed weights: ``coefficients[kind, group]`` times a row's fraction of its group's weight.

        Returns
        -------
        ndarray of shape (len(columns), 256), int64
            In units of 1 / `UNIT`.
        """

    def split(self, column, fires) -> Split:
        """Weight on the two sides of a stump."""

    def reweight(self, split, low, high) -> None:
        """Add `low` to the scores where the stump is silent and `high` where it fires."""


class CodedRows:
    """Codes and weights of rows in memory.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows), uint8
    bounds : ndarray of shape (4,), int64
        Rows ``bounds[g]:bounds[g + 1]`` are group g.
    sample_weight : list of float or ndarray
        Weight of the rows of each group, one for all or one per row.
    uses : ndarray of shape (2, 3), bool
        The weights that are needed; the others are 0.
    threads : RowThreads
    start_scores : ndarray of shape (n_rows,), optional
        Scores to start from.

    Attributes
    ----------
    weights : ndarray of shape (2, n_rows)
    """

    def __init__(self, codes, bounds, sample_weight, uses, threads, start_scores=None):
        self.codes, self.bounds, self.threads = codes, bounds, threads
        self.n_features, self.n_rows = codes.shape
        self.weights = np.zeros((2, self.n_rows))
        self.sample_weight, self._uses, self._start_scores = sample_weight, uses, start_scores
        self._waiting = _NO_STUMP

    def scores(self, table):
        """Scores of the rows: the start scores and the sum of the stumps."""
        scores = np.zeros(self.n_rows) if self._start_scores is None else self._start_scores.copy()
        columns = np.flatnonzero(table.any(axis=1))
        self.threads.over_rows(
            lambda start, stop: add_scores(self.codes, table, columns, scores, start, stop), self.n_rows
        )
        return scores

    def set_log_weights(self, table):
        """Set the weights to -f and f, and return the largest of each kind and group."""
        scores = self.scores(table)
        self.weights[:], self._waiting = (-scores, scores), _NO_STUMP
        return np.array([[of_group.max(initial=-np.inf) for of_group in kind] for kind in self._by_group()])

    def exponentiate(self, largest):
        """Replace weights w by the sample weight times ``exp(w - largest)``, and return their sums."""
        sums = np.zeros((2, 3))
        for kind, groups in enumerate(self._by_group()):
            for g, of_group in enumerate(groups):
                if not self._uses[kind, g]:
                    of_group[:] = 0.0
                    continue
                of_group -= largest[kind, g]
                np.exp(of_group, out=of_group)
                of_group *= self.sample_weight[g]
                sums[kind, g] = np.sort(of_group).sum()  # sorted: does not depend on the order of the rows
        return sums

    def divide(self, sums):
        """Divide the weights by a number for each kind and group."""
        for groups, of_kind in zip(self._by_group(), sums):
            for of_group, total in zip(groups, of_kind):
                of_group /= total

    def reweight(self, column, fires, jump):
        """Multiply the weights of the rows on which a stump fires by exp(-jump) and exp(jump).

        The next histogram does it, as it reads the weights anyway.
        """
        self._catch_up()
        self._waiting = column, fires.view(np.uint8), math.exp(-jump), math.exp(jump)

    def _catch_up(self):
        """Multiply the weights by the factors that wait, if nobody has asked for a histogram since."""
        waiting, self._waiting = self._waiting, _NO_STUMP
        if waiting[0] >= 0:
            self.threads.over_rows(
                lambda start, stop: stumps.reweight(
                    self.codes, self.weights, self._bounds_within(start, stop), self._uses, waiting
                ),
                self.n_rows,
            )

    def histogram(self, coefficients, columns):
        """Histogram of the signed weights, ``coefficients[kind, group]`` times the weight."""
        waiting, self._waiting = self._waiting, _NO_STUMP

        def add_rows(start, stop):
            hist, bounds = np.zeros((len(columns), N_CODES), dtype=np.int64), self._bounds_within(start, stop)
            stumps.histogram(self.codes, self.weights, bounds, coefficients, columns, self._uses, waiting, hist)
            return hist

        return self.threads.over_rows(add_rows, self.n_rows, len(columns))

    def search(self, coefficients, scales, columns, limits, cuts, uses, split):
        """As `search_parts`, and in one call of a kernel if one thread has all rows: a small table is done by then."""
        if self.threads.n_ranges(self.n_rows, len(columns)) > 1:
            return search_parts(self, coefficients, scales, columns, limits, cuts, uses, split)
        *rows, _ = self.take_state()
        return stumps.search(tuple(rows), coefficients, scales, columns, limits, cuts, uses, split)

    def take_state(self):
        """Codes, weights, bounds, the factors that wait, by which the caller multiplies the weights, and `uses`."""
        waiting, self._waiting = self._waiting, _NO_STUMP
        return self.codes, self.weights, self.bounds, waiting, self._uses

    def side_sums(self, column, fires, scales):
        """Weight, times ``scales[kind, group]``, where a stump is silent and where it fires, shape (2, 3, 2)."""
        self._catch_up()
        code, fires = self.codes[column], fires.view(np.uint8)

        def add_rows(start, stop):
            sums, bounds = np.zeros((2, 3, 2), dtype=np.int64), self._bounds_within(start, stop)
            stumps.side_sums(code, fires, self.weights, bounds, self._uses, scales, sums)
            return sums

        return self.threads.over_rows(add_rows, self.n_rows)

    def _bounds_within(self, start, stop):
        """Bounds of the groups within a range of rows."""
        return self.bounds if stop - start == self.n_rows else np.clip(self.bounds, start, stop)

    def _by_group(self):
        return [[kind[self.bounds[g] : self.bounds[g + 1]] for g in range(3)] for kind in self.weights]


class WeightedRows:
    """`Rows` that make histograms from the weights of the rows.

    A stump multiplies both weights by a constant on one of its sides, so the scores are not needed in a round. The
    weights are recomputed from the scores before they can leave the range of a double.

    Parameters
    ----------
    binning : Binning
    coded : CodedRows
        Or an object with its methods.
    uses : ndarray of shape (2, 3), bool
        As in `CodedRows`.
    """

    runs = False

    def __init__(self, binning, coded, uses):
        self.binning, self._coded, self._uses = binning, coded, uses
        self.table = np.zeros((binning.n_features, N_CODES))
        self._cuts = binning.n_cuts, binning.has_missing, binning.goes_above
        self._set_weights()

    def _set_weights(self):
        self.log_mass = _set_weights(self._coded, self.table, self._uses)
        self._sums = np.ones((2, 3))
        self._moved = 0.0

    def search(self, coefficients, columns, limits):
        scales = UNIT / self._sums
        split = np.empty(N_CODES, dtype=np.bool_), np.empty((2, 3), dtype=np.int64), np.empty((2, 3, 2))
        column, cut, edge = self._coded.search(
            coefficients * scales, scales, columns, limits, self._cuts, self._uses, split
        )
        return Split(column, *split), cut, edge / UNIT

    def histogram(self, coefficients, columns):
        return self._coded.histogram(coefficients * (UNIT / self._sums), columns)

    def split(self, column, fires):
        sides = self._coded.side_sums(column, fires, UNIT / self._sums)
        split = Split(column, fires, np.empty((2, 3), dtype=np.int64), np.empty((2, 3, 2)))
        stumps.side_shares(sides, self._uses, split.totals, split.shares)
        return split

    def reweight(self, split, low, high):
        column, fires, totals, shares = split
        # Only the rows on which the stump fires are multiplied; the factor common to all goes into the mass.
        stumps.take_step(fires, shares, totals, (low, high), self.log_mass, self._sums, self.table[column])
        self._moved += abs(high - low)
        if self._moved > _REFRESH:
            self._set_weights()
        else:
            self._coded.reweight(column, fires, high - low)


class FewRows(WeightedRows):
    """Rows in memory so few that a round in Python takes longer than its kernels: they run many rounds in one call."""

    runs = True

    def run(self, rule, learning_rate, total_step, coefficients, limits, drawn):
        """Rounds of a pair rule, as `StumpLearner.round` runs them, up to the first one with anything unusual.

        Parameters
        ----------
        rule : tuple
            As in `stumps.pair_terms`.
        learning_rate, total_step : float
        coefficients, limits
            As in `search`; changed in place.
        drawn : ndarray of shape (n_rounds, n_drawn)
            The columns of each round.

        Returns
        -------
        list of (tuple, ndarray, float)
            Stump, whether it fires for each code, and log-objective of each round.
        float
            The sum of all steps.
        """
        n, coded = len(drawn), self._coded
        found = np.empty((n, 3), dtype=np.int64), np.empty((n, 2)), np.empty((n, N_CODES), dtype=np.bool_)
        masses = self.log_mass, self._sums, self.table, coefficients
        rule = rule, learning_rate, total_step, self._moved, _REFRESH
        n, waits, total_step, self._moved = stumps.pair_rounds(
            coded.take_state(), masses, limits, self._cuts, rule, drawn, found
        )
        stump, numbers, fires = (part[:n] for part in found)
        (columns, cuts, signs), (steps, objectives) = stump.T, numbers.T.tolist()
        if waits:
            coded.reweight(int(columns[-1]), fires[-1], steps[-1])
        thresholds = np.where(cuts < self.binning.n_cuts[columns], self.binning.cuts[columns, cuts], np.inf)
        zeros = [0.0] * n
        rounds = zip(columns.tolist(), thresholds.tolist(), signs.tolist(), fires[:, MISSING].tolist(), zeros, steps)
        return list(zip(rounds, fires, objectives)), total_step


def search_parts(coded, coefficients, scales, columns, limits, cuts, uses, split):
    """The best stump of rows in parts: the steps of `stumps.search`, each on all parts."""
    fires, totals, shares = split
    chosen = np.empty_like(columns)
    chosen = chosen[: stumps.candidates(*limits, columns, chosen)]
    column, cut, edge = stumps.choose(coded.histogram(coefficients, chosen), chosen, limits, cuts, fires)
    stumps.side_shares(coded.side_sums(column, fires, scales), uses, totals, shares)
    return column, cut, edge


def _set_weights(coded, table, uses):
    """Weights from the scores, which sum to one in each kind and group; return the log masses."""
    largest = coded.set_log_weights(table)
    sums = np.where(uses, coded.exponentiate(largest), 1.0)
    coded.divide(sums)
    log_mass = np.zeros((2, 3))
    for used in zip(*np.nonzero(uses)):
        log_mass[used] = largest[used] + math.log(sums[used])
    return log_mass
