"""Symmetric trees: growing them, and scores from them."""

import math

import numpy as np

from fewlabel.boosting.loop import STUMP
from fewlabel.boosting.tree_rows import TreeRows
from fewlabel.kernels import symmetric_trees
from fewlabel.kernels.bins import round_down
from fewlabel.kernels.symmetric_trees import LEAF_TOTAL, PACKED_TOTAL, TINY
from fewlabel.threads import RowThreads

MAX_DEPTH = 8  # the leaf of a row is a byte
# A row goes up where its value is above `threshold` or, if `missing_up`, missing. `gain` is what the split added to the
# squared score of its tree.
SPLIT = np.dtype(
    [("column", np.int64), ("threshold", np.float64), ("missing_up", np.bool_), ("gain", np.float64)],
)
_64_BITS = (1 << 64) - 1


class TreeGrower:
    """Grow one symmetric tree after another.

    Parameters
    ----------
    binning : Binning
    max_depth : int
    l2 : float
        Penalty on the squares of the values of the leaves.
    noise : float
        Standard deviation of the noise on the scores of splits where all cuts are tried, in units of the norm of the
        gradient of rows of weight 1.
    splitter : {"mixed", "random", "best"}
        "best": try all cuts; "random": one random cut per column; "mixed": all in rounds 0, 2, 4, one in the others.
    bootstrap : bool
        Whether a tree multiplies the weight of each row by an exponential variate.
    draw_columns : callable
        ``draw_columns(rng, columns, n)`` gives the columns to search at each of n levels.
    seed : int
    """

    def __init__(self, binning, *, max_depth, l2, noise, splitter, bootstrap, draw_columns, seed):
        self._binning = binning
        self._max_depth, self._l2 = max_depth, l2
        self._noise, self._splitter = noise, splitter
        self._draw_columns, self._seed = draw_columns, seed
        self._n_candidates = binning.n_cuts + binning.has_missing
        self._usable = np.flatnonzero(self._n_candidates)
        self._only_cut = np.ones_like(binning.n_cuts)
        self._bootstrap = bootstrap

    def grow(self, rows, t, fade):
        """Grow the tree of round t on the derivatives of the rows.

        Parameters
        ----------
        rows : tree_rows.Rows
        t : int
        fade : float
            Factor of the noise.

        Returns
        -------
        found : tuple
            Splits, for `as_splits`.
        values : ndarray of shape (2**max_depth,)
            Of the leaves, before shrinkage.

        None if no column has a split, or the gradients have vanished.
        """
        if len(self._usable) == 0:
            return None
        round_key = _mix(_mix(self._seed) ^ t)
        one_cut = self._splitter == "random" or (self._splitter == "mixed" and t % 2 == 1)
        rng = np.random.default_rng([self._seed, t])
        columns = np.asarray(self._draw_columns(rng, self._usable, self._max_depth))
        cuts = rng.integers(0, self._n_candidates[columns]) if one_cut else columns[:, :0]
        terms = self._l2, 0.0 if one_cut else self._noise * fade, np.uint64(round_key), self._bootstrap
        tried = self._binning.n_cuts, self._binning.has_missing
        grown = rows.grow((columns, cuts), tried, terms) or self._by_levels(rows, (columns, cuts), tried, terms)
        found, gains, values = grown
        return ((found, gains), values) if len(found) else None

    def as_splits(self, trees):
        """The splits of trees that `grow` found, shape (n_trees, max_depth) of SPLIT."""
        found, gains = (np.stack(of_trees) for of_trees in zip(*trees))
        column, cut, missing_up = np.moveaxis(found, 2, 0)
        binning = self._binning
        chosen = binning.has_missing[column]  # where training had no missing values, they go with most rows
        splits = np.empty(column.shape, dtype=SPLIT)
        splits["column"], splits["threshold"], splits["gain"] = column, binning.threshold(column, cut), gains
        splits["missing_up"] = np.where(chosen, missing_up, binning.goes_above[column, np.where(chosen, 0, cut)])
        return splits

    def _by_levels(self, rows, draws, tried, terms):
        """As `symmetric_trees.grow`, level by level: rows may be in several parts."""
        (columns, cuts), (n_cuts, has_missing), (l2, noise, round_key, draws_rows) = draws, tried, terms
        if draws_rows:
            rows.tell(TreeRows.bootstrap, round_key)
        sums = rows.sums(TreeRows.squares_of_gradients if noise else TreeRows.sizes_of_derivatives)
        totals, found, scores = sums[:2], np.zeros((len(columns), 3), dtype=np.int64), np.zeros(len(columns))
        if min(totals) < TINY:
            return found[:0], scores[:0], scores[:0]
        units = tuple(total / PACKED_TOTAL for total in totals)
        rows.tell(TreeRows.plant, units)
        # The score of a histogram in packed units is the score of the gradients in units of u_g / sqrt(u_h).
        score_unit, packed_l2 = units[0] / math.sqrt(units[1]), l2 / units[1]
        noise = noise * math.sqrt(sums[2]) / score_unit if noise else 0.0
        one_cut = cuts.shape[1] > 0
        # Sums on the sides of one cut per column are as those of a column that has no other.
        n_tried = self._only_cut if one_cut else n_cuts
        for level, drawn in enumerate(columns):
            if one_cut:
                hist = rows.ask(TreeRows.cut_histogram, drawn, cuts[level], 1 << level, merge=np.add)
            else:
                hist = rows.ask(TreeRows.histogram, drawn, 1 << level, merge=np.add)
            if level == 0:
                total = hist[0].sum()  # each column of the first histogram has all rows
            key = np.uint64(_mix(int(round_key) ^ (level + 1)))
            j, cut, missing_up, scores[level] = symmetric_trees.best_split(
                hist, drawn, n_tried, has_missing, packed_l2, noise, one_cut, key
            )
            cut = cuts[level, j] if one_cut else cut
            found[level] = drawn[j], cut, missing_up
            up = np.arange(n_codes(self._binning)) > cut
            up[-1] = self._binning.missing_above(*found[level])
            rows.tell(TreeRows.split, int(drawn[j]), up.view(np.uint8))
        units = tuple(total / LEAF_TOTAL for total in totals)
        sums = rows.ask(TreeRows.leaf_sums, units, 1 << len(columns), merge=np.add)
        gains = symmetric_trees.split_gains(total, scores, packed_l2, score_unit)
        return found, gains, symmetric_trees.leaf_values(sums, units, l2)


class TreeLearner:
    """Rounds of gradient boosting with symmetric trees.

    Parameters
    ----------
    grower : TreeGrower
    loss : object
        ``set_derivatives()`` sets the derivatives of the rows, and is False if the fit should end.
    rows : tree_rows.Rows
    learning_rate : float
    n_rounds : int
        The noise on the scores of splits fades linearly to zero over this many rounds.
    """

    def __init__(self, grower, loss, rows, learning_rate, n_rounds):
        self._grower, self._loss, self.rows = grower, loss, rows
        self._learning_rate, self._n_rounds = learning_rate, n_rounds

    def round(self, t):
        """The tree of round t, as of `TreeGrower.grow`, its values shrunk; None if nothing is left to learn."""
        grown = self._grower.grow(self.rows, t, 1.0 - t / self._n_rounds) if self._loss.set_derivatives() else None
        if grown is None:
            return None
        found, values = grown
        values *= self._learning_rate
        self.rows.tell(TreeRows.add_values, values)
        return found, values


def n_codes(binning):
    """Number of codes of trees: those of the bins and, last, that of missing values."""
    return binning.below.shape[1] + 2


def as_stumps(splits, values):
    """Trees of one split as stumps that fire above their threshold."""
    stumps = np.empty(len(splits), dtype=STUMP)
    stumps["column"], stumps["threshold"] = splits["column"][:, 0], splits["threshold"][:, 0]
    stumps["sign"], stumps["on_missing"] = 1, splits["missing_up"][:, 0]
    stumps["low"], stumps["high"] = values.T
    return stumps


def as_trees(stumps, gains):
    """Stumps as trees of one split: splits and leaf values."""
    above = stumps["sign"] > 0
    splits = np.empty((len(stumps), 1), dtype=SPLIT)
    splits["column"][:, 0], splits["threshold"][:, 0] = stumps["column"], stumps["threshold"]
    splits["missing_up"][:, 0], splits["gain"][:, 0] = stumps["on_missing"] == above, gains
    low, high = stumps["low"], stumps["high"]
    return splits, np.stack([np.where(above, low, high), np.where(above, high, low)], axis=1)


def score_trees(splits, values, X, n_jobs=None):
    """Sum of the trees for each row of a table.

    Parameters
    ----------
    splits : ndarray of shape (n_trees, depth) of SPLIT
    values : ndarray of shape (n_trees, 2**depth)
    X : ndarray of shape (n_samples, n_features), float32 or float64
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    columns = np.ascontiguousarray(splits["column"])
    if columns.size and not 0 <= columns.min() <= columns.max() < X.shape[1]:  # a model file can hold anything
        raise ValueError("splits_ refers to columns that the table does not have: the model is damaged, fit it again")
    thresholds = round_down(splits["threshold"], X.dtype)
    missing_up = splits["missing_up"].astype(np.uint8)
    scores = np.zeros(len(X))
    with RowThreads(n_jobs) as threads:
        threads.over_rows(
            lambda start, stop: symmetric_trees.score(X, columns, thresholds, missing_up, values, scores, start, stop),
            len(X),
            columns.size,
        )
    return scores


def _mix(x):
    """The output function of SplitMix64, a hash of 64 bits, as in the kernels."""
    x = (x + 0x9E3779B97F4A7C15) & _64_BITS
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _64_BITS
    return x ^ (x >> 31)
