"""Sketches, which are mergeable summaries of numbers, and the binning of columns by them."""

import numpy as np

from fewlabel.boosting.binning import Binning
from fewlabel.kernels import bins

_POINTS = 2**15  # of a column: each represents 1/128 of the rows of a bin
_EXPANDED = 1_000_000  # a sketch is expanded to about this many values to choose the cuts


def sketch(numbers, points=_POINTS):
    """Sorted values, and the number of rows above the previous value and at or below it for each.

    Parameters
    ----------
    numbers : ndarray
        NaN is ignored.
    points : int
        With at most this many distinct numbers the sketch is exact: every number and its count.
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
    """Sketch of the rows of two sketches; exact while it is small, else off by at most half a point per number."""
    values, counts = (np.concatenate(pair) for pair in zip(one, other))
    order = np.argsort(values, kind="stable")  # merges two sorted halves in one pass
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
    """Positions where runs of equal numbers begin."""
    return np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]])[: len(numbers)])


def bin_sketches(columns, max_bins):
    """Binning of columns by their sketches; the one of all rows if the sketches are exact.

    Parameters
    ----------
    columns : list of (values, counts, number of missing values)
    max_bins : int

    Returns
    -------
    Binning
    """
    _, counts, n_missing = columns[0]
    binning = Binning(len(columns), max_bins, int(counts.sum() + n_missing))
    for e, (values, counts, _) in enumerate(columns):
        if len(values):
            binning.n_present[e] = counts.sum()
            binning.lowest[e], binning.highest[e] = values[0], values[-1]
            shrink = max(1.0, counts.sum() / _EXPANDED)
            column = values if len(values) <= max_bins else np.repeat(values, np.ceil(counts / shrink).astype(np.int64))
            binning.n_cuts[e], _ = bins.find_cuts(column, bins.ROWS, max_bins, binning.cuts[e], binning.below[e])
            cuts = binning.cuts[e, : binning.n_cuts[e]]
            binning.below[e, : len(cuts)] = np.cumsum(counts)[np.searchsorted(values, cuts, side="right") - 1]
    return binning
