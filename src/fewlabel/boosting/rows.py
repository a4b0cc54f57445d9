"""The coded rows and their weights: everything a boosting loop asks of the data."""

import math

import numpy as np

from fewlabel.kernels import bins, stumps
from fewlabel.kernels.stumps import MISSING, N_CODES, UNIT

_INTEGER_UNIT = 2.0**57
_LEAST_TOTAL, _LARGEST_TOTAL = 2**52, 2**62  # of integer weights, before they lose digits or overflow
_INTEGER_REFRESH = 20.0  # a weight that falls and rises again by exp(10) has lost no digit that counts
_REFRESH = 200.0  # weights move by at most exp(200) before they are computed anew: far from overflow and underflow


class Binning:
    """Cuts of every column of a table, chosen on the given rows."""

    def __init__(self, X, rows, max_bins, threads):
        n_features = X.shape[1]
        self.cuts = np.full((n_features, N_CODES), np.inf)
        self.below = np.zeros((n_features, max_bins - 1), dtype=np.int64)
        self.n_cuts = np.zeros(n_features, dtype=np.int64)
        self.n_present = np.zeros(n_features, dtype=np.int64)
        self.lowest = np.zeros(n_features)
        self.highest = np.zeros(n_features)

        def cut_column(e):
            column = np.sort(X[rows, e])  # NumPy sorts without the interpreter's lock, NaN last
            self.n_cuts[e], self.n_present[e] = bins.find_cuts(column, max_bins, self.cuts[e], self.below[e])
            if self.n_present[e]:
                self.lowest[e], self.highest[e] = column[0], column[self.n_present[e] - 1]

        threads.map(cut_column, range(n_features))
        self.has_missing = self.n_present < len(rows)

    def encode(self, X, rows, threads):
        """Codes of the given rows, feature-major, uint8."""
        codes = np.empty((X.shape[1], len(rows)), dtype=np.uint8)
        cuts = bins.round_down(self.cuts, X.dtype)
        threads.over_rows(
            lambda start, stop: bins.encode(X, rows, cuts, self.n_cuts, codes, start, stop),
            len(rows),
            X.shape[1],
        )
        return codes

    def threshold(self, column, cut):
        """The number behind a cut; +inf for the stump that asks whether the value is missing."""
        return self.cuts[column, cut] if cut < self.n_cuts[column] else math.inf

    def counts(self, n_rows):
        """Number of the rows that chose the cuts with each code, shape (n_features, 256)."""
        counts = np.zeros((len(self.n_cuts), N_CODES), dtype=np.int64)
        for e, (n_cuts, n_present) in enumerate(zip(self.n_cuts, self.n_present)):
            counts[e, : n_cuts + 1] = np.diff(self.below[e, :n_cuts], prepend=0, append=n_present)
            counts[e, MISSING] += n_rows - n_present
        return counts

    def fires(self, column, cut, sign, missing_above):
        """Whether a stump fires, for each code. Missing values unknown in training go with most of the rows."""
        if not self.has_missing[column]:
            missing_above = 2 * self.below[column, cut] < self.n_present[column]
        above = cut < _CODES
        above[MISSING] = missing_above
        return above if sign > 0 else ~above


class WeightedRows:
    """Coded rows in three groups (positives, unlabeled rows, negatives) with the two weights that boosting needs.

    A row of score f weighs ``up`` ~ exp(-f) as the better and ``down`` ~ exp(f) as the worse member of its pairs. A
    stump multiplies both by a constant on one of its sides, so nothing but the weights need be kept; they are
    computed anew from the scores before they can leave the range of a double.

    Parameters
    ----------
    binning : Binning
    codes : ndarray of shape (n_features, n_rows), uint8
    bounds : ndarray of shape (4,), int64
        Rows ``bounds[g]:bounds[g + 1]`` are group g.
    weights : list of float or ndarray
        Weight of the rows of each group, one for all or one a row; sums to one.
    start_scores : ndarray of shape (n_rows,) or None
        Scores to start from.
    threads : RowThreads
    uses : ndarray of shape (2, 3), bool
        The weights, by kind and group, that the rule looks at; the others are 0.

    Attributes
    ----------
    log_mass : ndarray of shape (2, 3)
        log mean exp(-f) and log mean exp(f) of each group.
    """

    def __init__(self, binning, codes, bounds, weights, start_scores, threads, uses):
        self.binning = binning
        self.codes = codes
        self.bounds = bounds
        self.weights = weights
        self.start_scores = start_scores
        self.threads = threads
        self.n_features, self.n_rows = codes.shape
        self.table = np.zeros((self.n_features, N_CODES))  # what the stumps so far add to a row, by column and code
        self._uses = uses & (np.diff(bounds) > 0)
        # Weights that are not there are as good as silent under every stump.
        self._absent = np.zeros((2, 3, 2), dtype=np.int64)
        self._absent[:, :, 0] = np.where(self._uses, 0, int(UNIT))
        self._compute_weights()

    def histogram(self, coefficients, columns, n_groups=3):
        """Histogram of the signed weights, ``coefficients[kind, group]`` times the row's part of its group's weight.

        With fewer than 3 groups only the rows of the first ones are looked at; the histogram of all must come before
        it.
        """
        hist = self._run(
            stumps.advance,
            *self._pending,
            self.up,
            self.down,
            self.bounds,
            *(coefficients * (UNIT / self._sums)),
            columns,
            n_columns=len(columns),
            n_groups=n_groups,
        )
        self._pending = _NO_CHANGE
        return hist

    def shares(self, column, fires):
        """Part of each group's weight where a stump is silent and where it fires, shape (2, 3, 2)."""
        side = self._run(
            stumps.side_sums,
            column,
            fires.view(np.uint8),
            self.up,
            self.down,
            self.bounds,
            *(UNIT / self._sums),
        )
        side += self._absent
        totals = side.sum(axis=2)
        self._sums *= totals / UNIT  # repeated multiplication drifts: measured anew
        return side / totals[:, :, None]

    def move(self, column, fires, low, high, shares):
        """Add `low` to the scores where the stump is silent and `high` where it fires."""
        self.table[column] += np.where(fires, high, low)
        self._since_computed += abs(high - low)
        if self._since_computed > _REFRESH:
            self._compute_weights()
            return
        jump = math.exp(high - low)
        # Only the rows on which the stump fires are multiplied; what is common to all goes into the mass.
        self._sums *= self._grow_mass(low, jump, shares)
        self._pending = column, np.where(fires, 1.0 / jump, 1.0), np.where(fires, jump, 1.0)

    def _grow_mass(self, low, jump, shares):
        """Let the masses follow a stump; gives the growth of the weights if only the rows on which it fires change."""
        growth = shares[:, :, 0] + shares[:, :, 1] * ((1.0 / jump,), (jump,))
        self.log_mass = self.log_mass + np.log(growth) + ((-low,), (low,))
        return growth

    def _compute_weights(self):
        """Weights and masses from the scores. Sorted sums do not depend on the order of the rows."""
        scores = np.zeros(self.n_rows) if self.start_scores is None else self.start_scores.copy()
        self._run(stumps.add_scores, self.table, np.flatnonzero(self.table.any(axis=1)), scores)
        self.log_mass = np.zeros((2, 3))
        self.up, self.down = np.empty(self.n_rows), np.empty(self.n_rows)
        for kind, (sign, weights) in enumerate(((-1.0, self.up), (1.0, self.down))):
            np.multiply(scores, sign, out=weights)
            for g in range(3):
                of_group = weights[self.bounds[g] : self.bounds[g + 1]]
                if not self._uses[kind, g]:
                    of_group[:] = 0.0
                    continue
                largest = of_group.max()
                of_group -= largest
                np.exp(of_group, out=of_group)
                of_group *= self.weights[g]
                total = np.sort(of_group).sum()
                of_group /= total
                self.log_mass[kind, g] = largest + math.log(total)
        self._sums = np.ones((2, 3))
        self._pending = _NO_CHANGE
        self._since_computed = 0.0

    def _run(self, kernel, *args, n_columns=1, n_groups=3):
        """Call a kernel on the rows of the first groups, and add up what it gives."""
        n_rows = int(self.bounds[n_groups])
        return self.threads.over_rows(lambda start, stop: kernel(self.codes, *args, start, stop), n_rows, n_columns)


class IncrementalRows(WeightedRows):
    """Rows that keep the histograms of all columns, so that a round looks at the rows on one side of the stump only.

    A stump changes the weights of the rows on which it fires; up to a factor common to all, that is to change the
    others. The smaller side is changed, and its differences added to the histograms of both weights, from which the
    histogram of any signed weights, and the weight on either side of any stump, follow without a look at the rows. It
    pays when every round searches all columns: it is the histograms of columns not searched that would be kept for
    nothing.

    Weights are integers in units of 2**-57 of a group's total, so repeated additions and subtractions lose nothing, and
    the histograms are those of the weights at any time.
    """

    def __init__(self, binning, codes, *rest):
        self._counts = binning.counts(codes.shape[1])
        super().__init__(binning, codes, *rest)

    def histogram(self, coefficients, columns, n_groups=3):
        scaled = coefficients * (UNIT / np.maximum(self._totals, 1))
        return stumps.combine(self._hists, scaled, columns, n_groups)

    def shares(self, column, fires):
        of_column = self._hists[:, :, column].sum(axis=0)  # group, code, kind
        fired = of_column[:, fires].sum(axis=1).T
        side = np.stack([self._totals - fired, fired], axis=2)
        side += self._absent
        return side / side.sum(axis=2, keepdims=True)

    def move(self, column, fires, low, high, shares):
        self.table[column] += np.where(fires, high, low)
        self._since_computed += abs(high - low)
        if self._since_computed > _INTEGER_REFRESH:
            self._compute_weights()
            return
        jump = math.exp(high - low)
        self._grow_mass(low, jump, shares)
        if 2 * self._counts[column, fires].sum() > self.n_rows:
            fires, jump = ~fires, 1.0 / jump
        changes = fires.view(np.uint8)
        self._on_parts(
            stumps.reweigh, lambda r: (column, changes, 1.0 / jump, jump, self._weights, self.bounds, self._hists[r])
        )
        self._sum_totals()
        known = self._totals[self._totals > 0]
        if known.min() < _LEAST_TOTAL or known.max() > _LARGEST_TOTAL:
            self._compute_weights()

    def _compute_weights(self):
        super()._compute_weights()
        self._weights = np.empty((self.n_rows, 2), dtype=np.int64)
        for kind, weights in enumerate((self.up, self.down)):
            weights *= _INTEGER_UNIT
            self._weights[:, kind] = np.rint(weights, out=weights)
        self.up = self.down = None
        self._parts = self.threads.ranges(self.n_rows, self.n_features)
        self._hists = np.zeros((len(self._parts), 3, self.n_features, N_CODES, 2), dtype=np.int64)
        self._on_parts(stumps.fill_histograms, lambda r: (self._weights, self.bounds, self._hists[r]))
        self._sum_totals()

    def _sum_totals(self):
        self._totals = self._hists[:, :, 0].sum(axis=(0, 2)).T  # any column tells

    def _on_parts(self, kernel, arguments):
        self.threads.map(lambda r: kernel(self.codes, *arguments(r), *self._parts[r]), range(len(self._parts)))


_CODES = np.arange(N_CODES)
_NO_CHANGE = 0, np.ones(N_CODES), np.ones(N_CODES)
