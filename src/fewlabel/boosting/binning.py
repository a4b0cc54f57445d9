"""Cuts of the columns, and codes of the rows by them."""

from functools import cached_property

import numpy as np

from fewlabel.kernels import bins
from fewlabel.kernels.stumps import MISSING, N_CODES

_ABOVE = np.arange(N_CODES) > np.arange(N_CODES)[:, None]  # whether a code is above a cut


class Binning:
    """Cuts of every column of a table. A new binning has no cuts; its maker fills in the arrays.

    Parameters
    ----------
    n_features : int
    max_bins : int
    n_rows : int
        Number of rows that the cuts are chosen on.

    Attributes
    ----------
    cuts : ndarray of shape (n_features, 256)
        Ascending, padded with +inf.
    n_cuts : ndarray of shape (n_features,), int64
    below : ndarray of shape (n_features, max_bins - 1), int64
        Number of rows at or below each cut.
    n_present : ndarray of shape (n_features,), int64
        Number of rows in which the column is not missing.
    lowest, highest : ndarray of shape (n_features,)
        Range of each column.
    heavier_above : ndarray of shape (n_features, max_bins - 1), bool, or None
        Whether more weight is above a cut than below it; None if the rows have no weights.
    """

    def __init__(self, n_features, max_bins, n_rows):
        self.n_features, self.n_rows = n_features, n_rows
        self.cuts = np.full((n_features, N_CODES), np.inf)
        self.below = np.zeros((n_features, max_bins - 1), dtype=np.int64)
        self.n_cuts, self.n_present = (np.zeros(n_features, dtype=np.int64) for _ in range(2))
        self.lowest, self.highest = np.zeros(n_features), np.zeros(n_features)
        self.heavier_above = None

    @classmethod
    def of_rows(cls, X, rows, max_bins, threads, weight=None):
        """Binning with cuts chosen on the given rows of a table; `weight` has the weight of each row of the table."""
        binning = cls(X.shape[1], max_bins, len(rows))
        if weight is not None:
            binning.heavier_above = np.zeros(binning.below.shape, dtype=np.bool_)

        def cut_column(e):
            mass = bins.ROWS
            if weight is None:
                column = np.sort(X[rows, e])  # NumPy sorts without the interpreter's lock, NaN last
            else:
                order = rows[np.lexsort((weight[rows], X[rows, e]))]  # rows of one value: sums in one order
                column, mass = X[order, e], np.concatenate([[0.0], np.cumsum(weight[order])])
            n_cuts, n_present = bins.find_cuts(column, mass, max_bins, binning.cuts[e], binning.below[e])
            binning.n_cuts[e], binning.n_present[e] = n_cuts, n_present
            if weight is not None:
                binning.heavier_above[e] = 2 * mass[binning.below[e]] < mass[n_present]
            if n_present:
                binning.lowest[e], binning.highest[e] = column[0], column[n_present - 1]

        threads.map(cut_column, range(binning.n_features))
        return binning

    @cached_property
    def has_missing(self):
        """Whether each column has missing values."""
        return self.n_present < self.n_rows

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
        """Value of a cut, or of several; +inf for the one that tests whether the value is missing."""
        return self.cuts[column, cut]

    def fires(self, column, cut, sign, missing_above):
        """Whether a stump fires, for each code.

        Where training had no missing values, missing values go to the side with more rows.
        """
        above = _ABOVE[cut].copy()
        above[MISSING] = self.missing_above(column, cut, missing_above)
        return above if sign > 0 else ~above

    def missing_above(self, column, cut, chosen):
        """Whether missing values go above a cut: as chosen, or with most rows where training had none."""
        return chosen if self.has_missing[column] else self.goes_above[column, cut]

    @cached_property
    def goes_above(self):
        """Whether most rows, or most of their weight, are above each cut, by column and cut."""
        if self.heavier_above is not None:
            return self.heavier_above
        return 2 * self.below < self.n_present[:, None]

    def table(self, stumps):
        """Sum of stumps whose thresholds are cuts, by column and code, shape (n_features, 256)."""
        table = np.zeros((self.n_features, N_CODES))
        for column, threshold, sign, on_missing, low, high in stumps.tolist():
            cut = np.searchsorted(self.cuts[column, : self.n_cuts[column]], threshold)
            fires = _ABOVE[cut] if sign > 0 else ~_ABOVE[cut]
            table[column, :MISSING] += np.where(fires, high, low)[:MISSING]
            table[column, MISSING] += high if on_missing else low
        return table
