"""Cuts of the columns, and codes of the rows by them."""

from functools import cached_property

import numpy as np

from fewlabel.kernels import bins

# A row goes up where its value is above `threshold` or, if `missing_up`, missing. `gain` is what the split added to the
# squared score of its tree; of a stump, the decrease of the log-objective.
SPLIT = np.dtype(
    [("column", np.int64), ("threshold", np.float64), ("missing_up", np.bool_), ("gain", np.float64)],
)


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
    n_codes : int
        Number of codes of a column; the last one is that of missing values.
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
        self.n_features = n_features
        self.n_rows = n_rows
        self.n_codes = max_bins + 1
        self.cuts = np.full((n_features, 256), np.inf)
        self.below = np.zeros((n_features, max_bins - 1), dtype=np.int64)
        self.n_cuts = np.zeros(n_features, dtype=np.int64)
        self.n_present = np.zeros(n_features, dtype=np.int64)
        self.lowest = np.zeros(n_features)
        self.highest = np.zeros(n_features)
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
                column = X[order, e]
                mass = np.concatenate([[0.0], np.cumsum(weight[order])])
            n_cuts, n_present = bins.find_cuts(column, mass, max_bins, binning.cuts[e], binning.below[e])
            binning.n_cuts[e] = n_cuts
            binning.n_present[e] = n_present
            if weight is not None:
                binning.heavier_above[e] = 2 * mass[binning.below[e]] < mass[n_present]
            if n_present:
                binning.lowest[e] = column[0]
                binning.highest[e] = column[n_present - 1]

        threads.map(cut_column, range(binning.n_features))
        return binning

    @cached_property
    def has_missing(self):
        """Whether each column has missing values."""
        return self.n_present < self.n_rows

    @cached_property
    def goes_above(self):
        """Whether most rows, or most of their weight, are above each cut, by column and cut."""
        if self.heavier_above is not None:
            return self.heavier_above
        return 2 * self.below < self.n_present[:, None]

    def encode(self, X, rows, threads):
        """Codes of the given rows, feature-major, uint8."""
        codes = np.empty((X.shape[1], len(rows)), dtype=np.uint8)
        cuts = bins.round_down(self.cuts, X.dtype)  # comparisons in the type of the table, with the same results
        missing = self.n_codes - 1
        threads.over_rows(
            lambda start, stop: bins.encode(X, rows, cuts, self.n_cuts, missing, codes, start, stop),
            len(rows),
            X.shape[1],
        )
        return codes

    def as_splits(self, cuts, gains):
        """Splits by cuts as splits by thresholds.

        Parameters
        ----------
        cuts : ndarray of shape (n_trees, depth, 3), int64
            Column, cut, and whether missing values go up. The cut after the last one of a column tests whether the
            value is missing; its threshold is +inf.
        gains : ndarray of shape (n_trees, depth)

        Returns
        -------
        ndarray of shape (n_trees, depth) of SPLIT
        """
        column = cuts[:, :, 0]
        cut = cuts[:, :, 1]
        splits = np.empty(column.shape, dtype=SPLIT)
        splits["column"] = column
        splits["threshold"] = self.cuts[column, cut]
        splits["gain"] = gains
        # Where training had no missing values, they go with most rows.
        chosen = self.has_missing[column]
        most_rows = self.goes_above[column, np.where(chosen, 0, cut)]
        splits["missing_up"] = np.where(chosen, cuts[:, :, 2], most_rows)
        return splits

    def table(self, splits, values):
        """Sum of trees of one split whose thresholds are cuts, by column and code, shape (n_features, n_codes)."""
        table = np.zeros((self.n_features, self.n_codes))
        codes = np.arange(self.n_codes - 1)
        for split, (below, above) in zip(splits[:, 0], values):
            column = split["column"]
            cut = np.searchsorted(self.cuts[column, : self.n_cuts[column]], split["threshold"])
            table[column, :-1] += np.where(codes > cut, above, below)
            table[column, -1] += above if split["missing_up"] else below
        return table
