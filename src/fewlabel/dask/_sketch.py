"""Sketches, which are mergeable summaries of numbers, and the binning of columns by them."""

import numpy as np

from fewlabel.boosting.binning import Binning
from fewlabel.kernels import bins

_POINTS = 2**15  # of a column: each represents 1/128 of the rows of a bin
_TOGETHER = 16  # columns that are copied from a table at once: 16 floats of a row are one line of the cache


def sketch(numbers, points=_POINTS, weight=None):
    """Sorted values, and the number of rows, or their weight, above the previous value and at or below it for each.

    Parameters
    ----------
    numbers : ndarray
        NaN is ignored.
    points : int
        With at most this many distinct numbers the sketch is exact: every number and its count. Otherwise it has the
        numbers at which equal parts of the rows, or of their weight, end.
    weight : ndarray, default=None
        Weights of the rows; every row counts 1 by default.
    """
    if weight is None:
        return _sketch_sorted(np.sort(numbers), points)
    order = np.lexsort((weight, numbers))
    return _sketch_sorted(numbers[order], points, weight[order])


def _sketch_sorted(numbers, points, weight=None):
    # NaN is last.
    n_present = np.searchsorted(numbers, np.nan)
    numbers = numbers[:n_present]
    # The last row of each value.
    ends = np.flatnonzero(np.append(numbers[1:] != numbers[:-1], True)[:n_present])
    reached = ends + 1.0 if weight is None else np.cumsum(weight[:n_present])[ends]
    if len(ends) > points:
        goals = np.append(np.arange(1, points) * (reached[-1] / points), reached[-1])
        # A heavy number can end several parts.
        places = np.unique(np.searchsorted(reached, goals))
        ends = ends[places]
        reached = reached[places]
    return numbers[ends], np.diff(reached, prepend=0.0)


def sketch_columns(X, weight=None):
    """Sketch of each column, and its number of missing values."""
    n_missing = np.isnan(X).sum(axis=0)
    of_columns = []
    for first in range(0, X.shape[1], _TOGETHER):
        columns = np.ascontiguousarray(X[:, first : first + _TOGETHER].T)
        of_columns += [sketch(column, weight=weight) for column in columns]
    return [(*of_column, n) for of_column, n in zip(of_columns, n_missing)]


def merge_sketches(one, other, points=_POINTS):
    """Sketch of the rows of two sketches; exact while it is small, else off by at most half a point per number."""
    numbers = np.concatenate([one[0], other[0]])
    order = np.argsort(numbers, kind="stable")
    return _sketch_sorted(numbers[order], points, np.concatenate([one[1], other[1]])[order])


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
            binning.lowest[e] = values[0]
            binning.highest[e] = values[-1]
            mass = np.concatenate([[0.0], np.cumsum(counts)])
            n_cuts, _ = bins.find_cuts(values, mass, max_bins, binning.cuts[e], binning.below[e])
            binning.n_cuts[e] = n_cuts
            # The cuts were found among the points of the sketch: their positions become rows, or weight.
            below = mass[binning.below[e, :n_cuts]]
            if weighted:
                binning.heavier_above[e, :n_cuts] = 2 * below < mass[-1]
            else:
                binning.below[e, :n_cuts] = below
    return binning
