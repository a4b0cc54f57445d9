"""Symmetric trees: growing them on coded rows, and scores from them."""

import numpy as np

from fewlabel.boosting.loop import STUMP
from fewlabel.boosting.pairs import order_free_sum
from fewlabel.kernels import symmetric_trees
from fewlabel.kernels.bins import MISSING, round_down
from fewlabel.threads import RowThreads

MAX_DEPTH = 8  # the leaf of a row is a byte
# A row goes up where its value is above `threshold` or, if `missing_up`, missing. `gain` is what the split added to the
# squared score of its tree.
SPLIT = np.dtype(
    [("column", np.int64), ("threshold", np.float64), ("missing_up", np.bool_), ("gain", np.float64)],
)
_PACKED_TOTAL = 2.0**30  # of the integers that gradients become in a histogram
_LEAF_TOTAL = 2.0**52  # of those that give the values of the leaves: floats hold them exactly
_SAMPLE = 4096  # rows by which the smaller leaf of a pair is found
_TINY = 1e-200  # gradients that sum to less have nothing left to teach
_64_BITS = (1 << 64) - 1


class TreeGrower:
    """Grow one symmetric tree after another on the same coded rows.

    Parameters
    ----------
    binning : Binning
    codes : ndarray of shape (n_features, n_rows), uint8
    groups : ndarray of shape (n_rows,), uint64
        Group of each row (its label); identical rows of a group share their bootstrap weight.
    weight : ndarray of shape (n_rows,) or None
        Weight of each row, which the derivatives include.
    threads : RowThreads
    max_depth : int
    l2 : float
        Penalty on the squares of the values of the leaves.
    noise : float
        Standard deviation of the noise on the scores of splits, in units of the norm of the gradient of rows of
        weight 1.
    one_cut : bool
        Whether to try one random cut per column instead of all.
    bootstrap : bool
        Whether a tree multiplies the weight of each row by an exponential variate.
    draw_columns : callable
        ``draw_columns(rng, columns, n)`` gives the columns to search at each of n levels.
    seed : int
    """

    def __init__(
        self, binning, codes, groups, weight, threads, *, max_depth, l2, noise, one_cut, bootstrap, draw_columns, seed
    ):
        self._binning = binning
        self._threads = threads
        self._max_depth, self._l2 = max_depth, l2
        self._noise, self._one_cut = noise, one_cut
        self._draw_columns, self._seed = draw_columns, seed
        self._n_codes = binning.below.shape[1] + 2
        self._codes = np.where(codes == MISSING, np.uint8(self._n_codes - 1), codes)
        self._n_candidates = binning.n_cuts + binning.has_missing
        self._usable = np.flatnonzero(self._n_candidates)
        self._only_cut = np.ones_like(binning.n_cuts)
        self._bootstrap = bootstrap
        # A row of weight w counts as w rows that have a gradient of g / w each: their squares sum to g^2 / w.
        self._per_weight = 1.0 if weight is None else 1.0 / np.where(weight > 0, weight, 1.0)
        self._above = None  # columns and histogram of the level above
        self._keys = groups.copy()
        self._run(symmetric_trees.hash_rows, self._codes, self._keys, n_columns=len(codes))

    def grow(self, t, derivatives, fade):
        """Grow the tree of round t.

        Parameters
        ----------
        t : int
        derivatives : ndarray of shape (2, n_rows)
            Negative gradient and second derivative of each row; changed in place.
        fade : float
            Factor of the noise.

        Returns
        -------
        splits : ndarray of shape (max_depth,) of SPLIT
        values : ndarray of shape (2**max_depth,)
            Of the leaves, before shrinkage.
        leaf : ndarray of shape (n_rows,)
            The leaf of each row.

        None if no column has a split, or the gradients have vanished.
        """
        round_key = _mix(_mix(self._seed) ^ t)
        if self._bootstrap:
            derivatives *= self.variates(round_key)
        totals = [order_free_sum(np.abs(row)) for row in derivatives]
        if min(totals) < _TINY or len(self._usable) == 0:
            return None
        units = tuple(total / _PACKED_TOTAL for total in totals)
        packed = self._pack(derivatives, units)
        noise = self._noise * fade * np.sqrt(order_free_sum(derivatives[0] ** 2 * self._per_weight))
        # The score of a histogram in packed units is the score of the gradients in units of u_g / sqrt(u_h).
        score_unit = units[0] / np.sqrt(units[1])
        rng = np.random.default_rng([self._seed, t])
        columns = self._draw_columns(rng, self._usable, self._max_depth)
        splits = np.zeros(self._max_depth, dtype=SPLIT)
        leaf = np.zeros(len(packed), dtype=np.uint8)
        reached = _squared_score(packed.sum(), self._l2 / units[1])
        for level in range(self._max_depth):
            terms = self._l2 / units[1], noise / score_unit, np.uint64(_mix(round_key ^ (level + 1))), 1 << level
            column, cut, missing_up, score = self._search(rng, columns[level], leaf, packed, terms)
            up = self._split(column, cut, missing_up, leaf)
            gain = (score**2 - reached) * score_unit**2
            splits[level] = column, self._binning.threshold(column, cut), up[-1], gain
            reached = score**2
        return splits, self._leaf_values(derivatives, totals, leaf), leaf

    def variates(self, key):
        """A standard exponential variate for each row; rows with the same codes in the same group have the same."""
        variates = np.empty(len(self._keys))
        self._run(symmetric_trees.draw_variates, self._keys, np.uint64(key), variates)
        return variates

    def _pack(self, derivatives, units):
        packed = np.empty(derivatives.shape[1], dtype=np.int64)
        self._run(symmetric_trees.pack, derivatives, units, packed)
        return packed

    def _search(self, rng, columns, leaf, packed, terms):
        """The best split of one level: column, cut, whether missing values go up, and score."""
        l2, noise, key, n_leaves = terms
        n_cuts, has_missing = self._binning.n_cuts, self._binning.has_missing
        if self._one_cut:  # sums on the sides of one cut per column, as if it were the only one
            cuts = rng.integers(0, self._n_candidates[columns])
            kernel, shape = symmetric_trees.cut_histogram, (n_leaves, self._n_codes - 1)
            hist = self._run(kernel, self._codes, columns, cuts, leaf, shape, packed, n_columns=len(columns))
            n_cuts = self._only_cut
        else:
            hist = self._histogram(columns, leaf, packed, n_leaves).copy()
        position, cut, missing_up, score = symmetric_trees.best_split(
            hist, columns, n_cuts, has_missing, l2, noise, self._one_cut, key
        )
        return int(columns[position]), int(cuts[position]) if self._one_cut else cut, bool(missing_up), score

    def _histogram(self, columns, leaf, packed, n_leaves):
        """Sums by column, leaf and code.

        If those of the level above are known, rows are only read in the smaller leaf of each pair, and the other leaf
        has the rest. Sums are integers: the result is the same.
        """
        counted, above = np.ones(n_leaves, dtype=np.uint8), self._above
        known = n_leaves > 1 and above is not None and np.array_equal(above[0], columns)
        if known:
            sample = np.bincount(leaf[:: 1 + len(leaf) // _SAMPLE], minlength=n_leaves)
            counted[0::2] = sample[0::2] <= sample[1::2]
            counted[1::2] = 1 - counted[0::2]
        kernel = symmetric_trees.histogram
        args = self._codes, columns, leaf, counted, self._n_codes, packed
        hist = self._run(kernel, *args, n_columns=len(columns))
        if known:
            rest = above[1] - hist[:, counted == 1]
            hist[:, counted == 0] = rest
        self._above = columns, hist
        return hist

    def _split(self, column, cut, missing_up, leaf):
        """Send all rows one level on; gives whether each code goes up, that of missing values last."""
        up = np.arange(self._n_codes) > cut
        up[-1] = self._binning.missing_above(column, cut, missing_up)
        self._run(symmetric_trees.split_leaves, self._codes[column], up.view(np.uint8), leaf)
        return up

    def _leaf_values(self, derivatives, totals, leaf):
        """G / (H + l2) of each leaf; 0 where no row is."""
        units = tuple(total / _LEAF_TOTAL for total in totals)
        sums = self._run(symmetric_trees.leaf_sums, derivatives, units, leaf, 1 << self._max_depth)
        gradients, hessians = (of_leaves * unit for of_leaves, unit in zip(sums, units))
        return np.divide(gradients, hessians + self._l2, out=np.zeros_like(gradients), where=hessians > 0)

    def add_values(self, values, leaf, scores):
        """Add the values of the rows' leaves to their scores, in place."""
        self._run(symmetric_trees.add_values, values, leaf, scores)

    def _run(self, kernel, *args, n_columns=1):
        n_rows = self._codes.shape[1]
        return self._threads.over_rows(lambda start, stop: kernel(*args, start, stop), n_rows, n_columns)


class TreeLearner:
    """Rounds of gradient boosting with symmetric trees.

    Parameters
    ----------
    grower : TreeGrower
    loss : object
        ``derivatives(scores)`` gives the negative gradient and the second derivative at each row, shape (2, n_rows), or
        None if the fit should end.
    scores : ndarray of shape (n_rows,)
        To start from; changed in place.
    learning_rate : float
    n_rounds : int
        The noise on the scores of splits fades linearly to zero over this many rounds.
    """

    def __init__(self, grower, loss, scores, learning_rate, n_rounds):
        self._grower, self._loss, self.scores = grower, loss, scores
        self._learning_rate, self._n_rounds = learning_rate, n_rounds

    def round(self, t):
        """Splits and leaf values of the tree of round t; None if nothing is left to learn."""
        derivatives = self._loss.derivatives(self.scores)
        grown = None if derivatives is None else self._grower.grow(t, derivatives, 1.0 - t / self._n_rounds)
        if grown is None:
            return None
        splits, values, leaf = grown
        values *= self._learning_rate
        self._grower.add_values(values, leaf, self.scores)
        return splits, values


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


def _squared_score(packed, l2):
    gradient, hessian = int(packed) >> 32, int(packed) & 0xFFFFFFFF
    return gradient**2 / (hessian + l2)


def _mix(x):
    """The output function of SplitMix64, a hash of 64 bits, as in the kernels."""
    x = (x + 0x9E3779B97F4A7C15) & _64_BITS
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _64_BITS
    return x ^ (x >> 31)
