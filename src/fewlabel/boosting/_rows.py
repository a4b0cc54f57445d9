"""The coded rows and their weights: everything a boosting loop asks of the data."""

import math

import numpy as np

from fewlabel.kernels import bins, stumps
from fewlabel.kernels.stumps import MISSING, N_CODES, UNIT

_REFRESH = 200.0  # weights move by at most exp(200) before they are computed anew: far from overflow and underflow


class Binning:
    """Cuts of every column of a table, chosen on the given rows."""

    def __init__(self, X, rows, max_bins, threads):
        n_features = X.shape[1]
        self.cuts = np.full((n_features, N_CODES), np.inf)
        self.below = np.zeros((n_features, max_bins - 1), dtype=np.int64)
        self.n_cuts = np.zeros(n_features, dtype=np.int64)
        self.n_present = np.zeros(n_features, dtype=np.int64)

        def cut_column(e):
            column = np.sort(X[rows, e])  # NumPy sorts without the interpreter's lock, NaN last
            self.n_cuts[e], self.n_present[e] = bins.find_cuts(column, max_bins, self.cuts[e], self.below[e])

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

    def fires(self, column, cut, sign, missing_above):
        """Whether a stump fires, for each code. Missing values unknown in training go with most of the rows."""
        if not self.has_missing[column]:
            missing_above = 2 * self.below[column, cut] < self.n_present[column]
        above = np.arange(N_CODES) > cut
        above[MISSING] = missing_above
        return above if sign > 0 else ~above


class WeightedRows:
    """Coded rows in three groups (positives, unlabelled rows, negatives) with the two weights that boosting needs.

    A row of score f weighs ``up`` ~ exp(-f) as the better and ``down`` ~ exp(f) as the worse member of its pairs. A stump
    multiplies both by a constant on one of its sides, so nothing but the weights need be kept; they are computed anew from
    the scores before they can leave the range of a double.

    Parameters
    ----------
    binning : Binning
    codes : ndarray of shape (n_features, n_rows), uint8
    bounds : ndarray of shape (4,), int64
        Rows ``bounds[g]:bounds[g + 1]`` are group g.
    weight : ndarray of shape (n_rows,)
        Row weights, which sum to one in each group.
    start_scores : ndarray of shape (n_rows,) or None
        Scores to start from.
    threads : RowThreads

    Attributes
    ----------
    log_mass : ndarray of shape (2, 3)
        log mean exp(-f) and log mean exp(f) of each group.
    """

    def __init__(self, binning, codes, bounds, weight, start_scores, threads):
        self.binning = binning
        self.codes = codes
        self.bounds = bounds
        self.weight = weight
        self.start_scores = start_scores
        self.threads = threads
        self.n_features, self.n_rows = codes.shape
        self.table = np.zeros((self.n_features, N_CODES))  # what the stumps so far add to a row, by column and code
        self.up = np.empty(self.n_rows)
        self.down = np.empty(self.n_rows)
        self._compute_weights()

    def histogram(self, coefficients, columns):
        """Histogram of the signed weights, ``coefficients[kind, group]`` times the row's part of its group's weight."""
        hist = self._run(
            stumps.advance,
            *self._pending,
            self.up,
            self.down,
            self.bounds,
            *(coefficients * (UNIT / self._sums)),
            columns,
            n_columns=len(columns),
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
        totals = side.sum(axis=2, keepdims=True)
        empty = totals == 0
        self._sums *= np.where(empty, 1.0, totals / UNIT)[:, :, 0]  # repeated multiplication drifts: measured anew
        return np.where(empty, (1.0, 0.0), side / np.where(empty, 1, totals))

    def move(self, column, fires, low, high, shares):
        """Add `low` to the scores where the stump is silent and `high` where it fires."""
        self.table[column] += np.where(fires, high, low)
        self._since_computed += abs(high - low)
        if self._since_computed > _REFRESH:
            self._compute_weights()
            return
        factors = np.exp([[-low, -high], [low, high]])
        growth = (shares * factors[:, None, :]).sum(axis=2)
        self.log_mass = self.log_mass + np.log(growth)
        # Only the rows on which the stump fires are multiplied; what is common to all goes into the sums.
        self._sums *= growth / factors[:, :1]
        jump = factors[:, 1] / factors[:, 0]
        self._pending = column, np.where(fires, jump[0], 1.0), np.where(fires, jump[1], 1.0)

    def _compute_weights(self):
        """Weights and masses from the scores. Sums are exact, so the order of the rows does not matter."""
        scores = np.zeros(self.n_rows) if self.start_scores is None else self.start_scores.copy()
        self._run(stumps.add_scores, self.table, np.flatnonzero(self.table.any(axis=1)), scores)
        self.log_mass = np.zeros((2, 3))
        for kind, (sign, weights) in enumerate(((-1.0, self.up), (1.0, self.down))):
            for g in range(3):
                group = slice(self.bounds[g], self.bounds[g + 1])
                if group.start == group.stop:
                    continue
                exponent = sign * scores[group]
                largest = exponent.max()
                weights[group] = self.weight[group] * np.exp(exponent - largest)
                total = math.fsum(weights[group])
                weights[group] /= total
                self.log_mass[kind, g] = largest + math.log(total)
        self._sums = np.ones((2, 3))
        self._pending = _NO_CHANGE
        self._since_computed = 0.0

    def _run(self, kernel, *args, n_columns=1):
        return self.threads.over_rows(
            lambda start, stop: kernel(self.codes, *args, start, stop), self.n_rows, n_columns
        )


_NO_CHANGE = 0, np.ones(N_CODES), np.ones(N_CODES)
