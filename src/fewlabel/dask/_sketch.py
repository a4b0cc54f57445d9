"""Sketches, which are mergeable summaries of numbers, and the binning of columns by them."""

import numpy as np

from fewlabel.boosting.binning import Binning
from fewlabel.kernels import bins

_POINTS = 2**15  # of a column: each represents 1/128 of the rows of a bin


def sketch(numbers, points=_POINTS, weight=None):
    """Sorted values, and the number of rows, or their weight, above the previous value and at or below it for each.

    Parameters
    ----------
    numbers : ndarray
        NaN is ignored.
    points : int
        With at most this many distinct numbers the sketch is exact: every number and its count.
    weight : ndarray, default=None
        Weights of the rows; every row counts 1 by default.
    """
    if weight is None:
        numbers = np.sort(numbers)  # NaN last
    else:
        order = np.lexsort((weight, numbers))
        numbers, weight = numbers[order], weight[order]
    n_present = np.searchsorted(numbers, np.nan)
    numbers = numbers[:n_present]
    below = np.arange(n_present + 1) if weight is None else np.concatenate([[0.0], np.cumsum(weight[:n_present])])
    if np.count_nonzero(numbers[1:] != numbers[:-1]) < points:
        first = _starts(numbers)
        return numbers[first], np.diff(below[np.append(first, n_present)]) if n_present else below[1:]
    # The last row of each of equal parts of the rows, or of their weight.
    ends = np.searchsorted(below, np.linspace(0, below[-1], points + 1)[1:]).clip(max=n_present)
    values = numbers[ends - 1]
    values = values[_starts(values)]
    return values, np.diff(below[np.searchsorted(numbers, values, side="right")], prepend=0)


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


def bin_sketches(columns, max_bins, n_rows, weighted):
    """Binning of columns by their sketches; the one of all rows if the sketches are exact.

    Parameters
    ----------
    columns : list of (values, counts, number of missing values)
        Sums of weights instead of counts if the rows have weights.
    max_bins : int
    n_rows : int
    weighted : bool

    Returns
    -------
    Binning
    """
    binning = Binning(len(columns), max_bins, n_rows)
    if weighted:
        binning.heavier_above = np.zeros(binning.below.shape, dtype=np.bool_)
    for e, (values, counts, n_missing) in enumerate(columns):
        binning.n_present[e] = n_rows - n_missing
        if len(values):
            binning.lowest[e], binning.highest[e] = values[0], values[-1]
            mass = np.concatenate([[0.0], np.cumsum(counts)])
            n_cuts, _ = bins.find_cuts(values, mass, max_bins, binning.cuts[e], binning.below[e])
            binning.n_cuts[e] = n_cuts
            below = mass[binning.below[e, :n_cuts]]
            if weighted:
                binning.heavier_above[e, :n_cuts] = 2 * below < mass[-1]
            else:
                binning.below[e, :n_cuts] = below
    return binning
