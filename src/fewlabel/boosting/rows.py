"""The training rows of the boosting loop: what it asks of them, and where their weights are kept.

`Rows` is what the loop sees. `WeightedRows` and `KeptRows` implement it on top of `CodedRows`, which holds codes and
weights in memory; `fewlabel.dask` gives `WeightedRows` an object with the methods of `CodedRows` whose rows are on
workers.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from fewlabel.boosting.binning import Binning
from fewlabel.kernels import stumps
from fewlabel.kernels.stumps import N_CODES, UNIT

_INTEGER_UNIT = 2.0**57
_LEAST_TOTAL, _LARGEST_TOTAL = 2**52, 2**62  # integer weights lose digits below, and may overflow above
_INTEGER_REFRESH = 20.0  # a weight that falls and rises again by exp(10) has lost no digit that matters
_NO_FACTORS = -1, np.ones((2, N_CODES))  # column and factors of no stump
_REFRESH = 200.0  # recompute weights once they may have moved by exp(200): far from overflow and underflow


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
    """

    binning: Binning
    log_mass: np.ndarray
    table: np.ndarray

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
        self._sample_weight, self._uses, self._start_scores = sample_weight, uses, start_scores
        self._waiting = _NO_FACTORS

    def scores(self, table):
        """Scores of the rows: the start scores and the sum of the stumps."""
        scores = np.zeros(self.n_rows) if self._start_scores is None else self._start_scores.copy()
        columns = np.flatnonzero(table.any(axis=1))
        self.threads.over_rows(
            lambda start, stop: stumps.add_scores(self.codes, table, columns, scores, start, stop), self.n_rows
        )
        return scores

    def set_log_weights(self, table):
        """Set the weights to -f and f, and return the largest of each kind and group."""
        scores = self.scores(table)
        self.weights[:], self._waiting = (-scores, scores), _NO_FACTORS
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
                of_group *= self._sample_weight[g]
                sums[kind, g] = np.sort(of_group).sum()  # sorted: does not depend on the order of the rows
        return sums

    def divide(self, sums):
        """Divide the weights by a number for each kind and group."""
        for groups, of_kind in zip(self._by_group(), sums):
            for of_group, total in zip(groups, of_kind):
                of_group /= total

    def reweight(self, column, factors):
        """Multiply the weights by factors for each kind and code of a column, shape (2, 256).

        The next histogram does it, as it reads the weights anyway.
        """
        self._catch_up()
        self._waiting = column, factors

    def _catch_up(self):
        """Multiply the weights by the factors that wait, if nobody has asked for a histogram since."""
        (column, factors), self._waiting = self._waiting, _NO_FACTORS
        if column >= 0:
            self.threads.over_rows(
                lambda start, stop: stumps.reweight(self.codes[column], factors, self.weights, start, stop), self.n_rows
            )

    def histogram(self, coefficients, columns):
        """Histogram of the signed weights, ``coefficients[kind, group]`` times the weight."""
        waiting, self._waiting = self._waiting, _NO_FACTORS
        return self.threads.over_rows(
            lambda start, stop: stumps.histogram(
                self.codes, self.weights, self.bounds_within(start, stop), coefficients, columns, *waiting
            ),
            self.n_rows,
            len(columns),
        )

    def side_sums(self, column, fires, scales):
        """Weight, times ``scales[kind, group]``, where a stump is silent and where it fires, shape (2, 3, 2)."""
        self._catch_up()
        return self.threads.over_rows(
            lambda start, stop: stumps.side_sums(
                self.codes[column], fires.view(np.uint8), self.weights, self.bounds_within(start, stop), scales
            ),
            self.n_rows,
        )

    def bounds_within(self, start, stop):
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

    def __init__(self, binning, coded, uses):
        self.binning, self._coded, self._uses = binning, coded, uses
        self.table = np.zeros((binning.n_features, N_CODES))
        self._set_weights()

    def _set_weights(self):
        self.log_mass = _set_weights(self._coded, self.table, self._uses)
        self._sums = np.ones((2, 3))
        self._moved = 0.0

    def histogram(self, coefficients, columns):
        return self._coded.histogram(coefficients * (UNIT / self._sums), columns)

    def split(self, column, fires):
        return _split(column, fires, self._coded.side_sums(column, fires, UNIT / self._sums), self._uses)

    def reweight(self, split, low, high):
        self.table[split.column] += np.where(split.fires, high, low)
        self._moved += abs(high - low)
        if self._moved > _REFRESH:
            self._set_weights()
            return
        # Only the rows on which the stump fires are multiplied; the factor common to all goes into the mass.
        jump = math.exp(high - low)
        growth = _growth(split.shares, jump)
        self.log_mass = _moved_mass(self.log_mass, growth, low)
        self._sums = self._sums * (split.totals / UNIT) * growth  # measured totals: repeated multiplication drifts
        self._coded.reweight(split.column, np.where(split.fires, ((1.0 / jump,), (jump,)), 1.0))


class KeptRows:
    """`Rows` that keep the histograms of all columns, so that a round reads the rows on one side of the stump only.

    A stump changes the weights of the rows on which it fires; up to a common factor, this is the same as changing the
    others. The smaller side is changed, and the differences are added to the histograms of both weights. The histogram
    of any signed weights, and the weight on either side of any stump, follow from these without reading the rows. This
    pays if every round searches all columns; otherwise most histograms are updated in vain.

    Weights are integers in units of 2**-57 of a group's total, so repeated additions and subtractions are exact, and
    the histograms are always those of the weights.

    Parameters
    ----------
    binning : Binning
    coded : CodedRows
    uses : ndarray of shape (2, 3), bool
        As in `CodedRows`.
    """

    def __init__(self, binning, coded, uses):
        self.binning, self._coded, self._uses = binning, coded, uses
        self.table = np.zeros((binning.n_features, N_CODES))
        self._counts = binning.counts()
        ranges = coded.threads.ranges(coded.n_rows, coded.n_features)
        self._parts = [coded.bounds_within(*ends) for ends in ranges]
        self._set_weights()

    def _set_weights(self):
        self.log_mass = _set_weights(self._coded, self.table, self._uses)
        weights = self._coded.weights
        self._weights = np.empty((self._coded.n_rows, 2), dtype=np.int64)
        for kind in range(2):
            weights[kind] *= _INTEGER_UNIT
            self._weights[:, kind] = np.rint(weights[kind], out=weights[kind])
        self._hists = np.zeros((len(self._parts), 3, self._coded.n_features, N_CODES, 2), dtype=np.int64)
        self._on_parts(stumps.fill_histograms)
        self._moved = 0.0

    def histogram(self, coefficients, columns):
        return stumps.combine(self._hists, coefficients * (UNIT / np.maximum(self._totals(), 1)), columns)

    def split(self, column, fires):
        of_column = self._hists[:, :, column].sum(axis=0)  # group, code, kind
        fired = of_column[:, fires].sum(axis=1).T
        return _split(column, fires, np.stack([self._totals() - fired, fired], axis=2), self._uses)

    def reweight(self, split, low, high):
        self.table[split.column] += np.where(split.fires, high, low)
        self._moved += abs(high - low)
        if self._moved > _INTEGER_REFRESH:
            self._set_weights()
            return
        jump = math.exp(high - low)
        self.log_mass = _moved_mass(self.log_mass, _growth(split.shares, jump), low)
        changes = split.fires
        if 2 * self._counts[split.column, changes].sum() > self._coded.n_rows:
            changes, jump = ~changes, 1.0 / jump
        self._on_parts(stumps.update_histograms, split.column, changes.view(np.uint8), (1.0 / jump, jump))
        totals = self._totals()
        if totals[self._uses].min() < _LEAST_TOTAL or totals.max() > _LARGEST_TOTAL:
            self._set_weights()

    def _totals(self):
        """Sum of the weights, shape (2, 3): that of the histograms of any column."""
        return self._hists[:, :, 0].sum(axis=(0, 2)).T

    def _on_parts(self, kernel, *change):
        self._coded.threads.map(
            lambda part: kernel(self._coded.codes, *change, self._weights, *part), list(zip(self._parts, self._hists))
        )


def _set_weights(coded, table, uses):
    """Weights from the scores, which sum to one in each kind and group; return the log masses."""
    largest = coded.set_log_weights(table)
    sums = np.where(uses, coded.exponentiate(largest), 1.0)
    coded.divide(sums)
    log_mass = np.zeros((2, 3))
    for used in zip(*np.nonzero(uses)):
        log_mass[used] = largest[used] + math.log(sums[used])
    return log_mass


def _split(column, fires, sides, uses):
    """`Split` of the weights on both sides; kinds and groups without rows count as silent."""
    sides[~uses, 0] = int(UNIT)
    totals = sides.sum(axis=2)
    return Split(column, fires, totals, sides / totals[:, :, None])


def _growth(shares, jump):
    """Factor by which a stump's step changes the weight of each kind and group, if the silent rows keep theirs."""
    return shares[:, :, 0] + shares[:, :, 1] * ((1.0 / jump,), (jump,))


def _moved_mass(log_mass, growth, low):
    return log_mass + np.log(growth) + ((-low,), (low,))
