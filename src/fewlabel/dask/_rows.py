"""The rows of a boosting loop, spread over workers: each part has its codes and weights, and gives sums of them."""

import math

import numpy as np

from fewlabel.boosting.rows import WeightedRows
from fewlabel.dask._sketch import sketch
from fewlabel.kernels import stumps
from fewlabel.kernels.stumps import N_CODES
from fewlabel.threads import RowThreads

SIGNS = (1, 0, -1)  # positives, unlabeled rows, negatives: the groups of the boosters
SCORE_POINTS = 2**16  # of the summary of the scores of a group: all of them if they are fewer


class Part:
    """The coded rows of a block and their weights.

    Parameters
    ----------
    X, y : a block and its labels
    read : callable
        Rows as floats and their signs, of a block.
    binning : Binning
    group_sizes : ndarray of shape (3,)
        Rows of each group in all parts; a group of none is left out.
    uses : ndarray of shape (2, 3), bool
        The weights that the rule looks at.
    start : fitted booster or None
        Whose scores to start from.
    """

    def __init__(self, X, y, read, binning, group_sizes, uses, start):
        X, signs = read(X, y)
        groups = [np.flatnonzero(signs == sign) if n else np.empty(0, np.int64) for sign, n in zip(SIGNS, group_sizes)]
        self.bounds = np.cumsum([0, *map(len, groups)])
        rows = np.concatenate(groups)
        with RowThreads(1) as threads:
            self.codes = binning.encode(X, rows, threads)
        self._start = None if start is None else start._score(X)[rows]
        self._uses, self._sizes = uses, group_sizes
        self.up, self.down = (np.zeros(len(rows)) for _ in range(2))

    def largest(self, table):
        """Largest -f and f of each group."""
        self.scores = np.zeros(len(self.up)) if self._start is None else self._start.copy()
        stumps.add_scores(self.codes, table, np.flatnonzero(table.any(axis=1)), self.scores, 0, len(self.scores))
        return np.array([[self._of(g, sign).max(initial=-np.inf) for g in range(3)] for sign in (-1, 1)])

    def weigh(self, largest):
        """Set the weights, and give their sums."""
        sums = np.zeros((2, 3))
        for kind, (sign, weights) in enumerate(((-1, self.up), (1, self.down))):
            for g in range(3):
                if self._uses[kind, g]:
                    found = np.exp(self._of(g, sign) - largest[kind, g]) / self._sizes[g]
                    weights[self.bounds[g] : self.bounds[g + 1]] = found
                    sums[kind, g] = found.sum()
        del self.scores
        return sums

    def _of(self, g, sign):
        return sign * self.scores[self.bounds[g] : self.bounds[g + 1]]

    def run(self, kernel, args, n_groups):
        """A kernel over the rows of the first groups; "up", "down" and "bounds" stand for what is kept here."""
        args = [getattr(self, value) if isinstance(value, str) else value for value in args]
        return getattr(stumps, kernel)(self.codes, *args, 0, int(self.bounds[n_groups]))

    def score_sketches(self, table):
        """Summary of the scores of each group."""
        self.largest(table)
        return [sketch(self._of(g, 1), SCORE_POINTS) for g in range(3)]


class SpreadRows(WeightedRows):
    """`WeightedRows` whose rows are elsewhere.

    Parameters
    ----------
    call : callable
        Of `Blocks.keep` with `Part`.
    binning, group_sizes, uses
        As given to the parts.
    """

    def __init__(self, call, binning, group_sizes, uses):
        self._call = call
        self.up, self.down = "up", "down"  # each part has its own
        bounds = np.cumsum([0, *group_sizes])
        super().__init__(binning, np.empty((len(binning.n_cuts), 0)), bounds, None, None, None, uses)
        self.n_rows = int(bounds[3])

    def _compute_weights(self):
        largest = self._call("largest", self.table, merge=np.maximum)
        parts = self._call("weigh", largest)
        sums = np.array([[math.fsum(part[kind, g] for part in parts) for g in range(3)] for kind in range(2)])
        self._sums = np.where(self._uses, sums, 1.0)
        self.log_mass = np.where(self._uses, largest, 0.0) + np.log(self._sums)
        self._pending = 0, np.ones(N_CODES), np.ones(N_CODES)
        self._since_computed = 0.0

    def _run(self, kernel, *args, n_columns=1, n_groups=3):
        args = ["bounds" if value is self.bounds else value for value in args]  # those of the part
        return self._call("run", kernel.__name__, args, n_groups, merge=np.add)
