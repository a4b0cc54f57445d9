"""Summaries of numbers that merge: all values with their counts, or a fixed number of them if there are more."""

import numpy as np

from fewlabel.boosting.rows import Binning
from fewlabel.kernels import bins
from fewlabel.kernels.stumps import N_CODES

_POINTS = 2**15  # of a column: each stands for 1/128 of a bin's rows
_EXPANDED = 1_000_000  # entries of a merged column when its cuts are chosen


def sketch(numbers, points=_POINTS):
    """Sorted values and the number of rows that each stands for: itself, and those between the one before and it.

    Parameters
    ----------
    numbers : ndarray
        NaN is left out.
    points : int
        With at most so many distinct numbers every one is there, with its count.
    """
    numbers = np.sort(numbers)  # NaN last
    numbers = numbers[: np.searchsorted(numbers, np.nan)]
    if np.count_nonzero(numbers[1:] != numbers[:-1]) < points:
        first = _starts(numbers)
        return numbers[first], np.diff(first, append=len(numbers))
    ends = np.ceil(np.linspace(0, len(numbers), points + 1)[1:]).astype(np.int64)
    values = numbers[ends - 1]
    values = values[_starts(values)]
    return values, np.diff(np.searchsorted(numbers, values, side="right"), prepend=0)


def merge_sketches(one, other, points=_POINTS):
    """The sketch of all rows of two: exact while it is small, else each number is off by half a point at most."""
    values, counts = (np.concatenate(pair) for pair in zip(one, other))
    order = np.argsort(values, kind="stable")  # which merges two sorted halves in one pass
    values = values[order]
    first = _starts(values)
    values, counts = values[first], np.add.reduceat(counts[order], first) if len(first) else counts
    if len(values) <= points:
        return values, counts
    ends = np.cumsum(counts)
    kept = np.searchsorted(ends, np.linspace(0, ends[-1], points + 1)[1:]).clip(max=len(ends) - 1)
    kept = kept[_starts(kept)]
    return values[kept], np.diff(ends[kept], prepend=0)


def _starts(numbers):
    """Where runs of equal numbers begin."""
    return np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]])[: len(numbers)])


class SketchedBinning(Binning):
    """Cuts of every column from its sketch; those of all rows if the sketch is exact.

    Parameters
    ----------
    columns : list of (values, counts, number of missing)
    max_bins : int
    """

    def __init__(self, columns, max_bins):
        n_features = len(columns)
        self.cuts = np.full((n_features, N_CODES), np.inf)
        self.below = np.zeros((n_features, max_bins - 1), dtype=np.int64)
        self.n_cuts, self.n_present = (np.zeros(n_features, dtype=np.int64) for _ in range(2))
        self.lowest, self.highest = np.zeros(n_features), np.zeros(n_features)
        self.has_missing = np.array([n_missing > 0 for *_, n_missing in columns])
        for e, (values, counts, _) in enumerate(columns):
            self.n_present[e] = counts.sum()
            if len(values):
                self.lowest[e], self.highest[e] = values[0], values[-1]
                self._cut(e, values, counts, max_bins)

    def _cut(self, e, values, counts, max_bins):
        shrink = max(1.0, counts.sum() / _EXPANDED)
        column = values if len(values) <= max_bins else np.repeat(values, np.ceil(counts / shrink).astype(np.int64))
        self.n_cuts[e], _ = bins.find_cuts(column, max_bins, self.cuts[e], self.below[e])
        cuts = self.cuts[e, : self.n_cuts[e]]
        self.below[e, : len(cuts)] = np.cumsum(counts)[np.searchsorted(values, cuts, side="right") - 1]
