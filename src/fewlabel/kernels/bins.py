"""Cuts and codes: every column is turned into `uint8` codes once, and its floats are not read again.

A code is the number of cuts below the value: code ``k`` holds the interval ``(cuts[k-1], cuts[k]]``. Missing values
have one code above all others, whatever the number of cuts.
"""

import numpy as np
from numba.types import Array, float32, float64, int64, uint8, void

from fewlabel.jit import njit

MAX_BINS = 255
_BLOCK = 512
_SLACK = 1 - 1e-9  # so that rounding of the weights does not decide where a bin ends
ROWS = np.empty(0)  # as `mass` of `find_cuts`: every row counts 1
# Estimators get arrays of any memory order, writable or not: the most general array type needs one compilation only.
_TABLE = {t: Array(t, 2, "A", readonly=True) for t in (float32, float64)}


@njit(cache=True, nogil=True)
def find_cuts(column, mass, max_bins, cuts, below):
    """Choose the cuts of one sorted column.

    With at most `max_bins` distinct values the cuts are the midpoints of all neighbors, and nothing is lost. Otherwise
    the bins hold about equally many rows, or weight, and a value frequent enough to fill a bin gets one of its own, so
    that the spike of a zero-inflated column does not absorb its neighbors.

    Parameters
    ----------
    column : ndarray of shape (n,)
        Sorted in ascending order, NaN last.
    mass : ndarray of shape (n + 1,), float64
        Sum of the weights of the rows before each position; empty if they have none.
    max_bins : int
        At most this many bins.
    cuts : ndarray of shape (max_bins - 1,), float64
        Written: the cuts, ascending; the lower value of a pair <= cut < the higher one.
    below : ndarray of shape (max_bins - 1,), int64
        Written: number of rows at or below each cut.

    Returns
    -------
    n_cuts, n_present : int
        Number of cuts written, and of rows that are not NaN.
    """
    n = column.size
    while n > 0 and np.isnan(column[n - 1]):
        n -= 1
    n_distinct, n_heavy, heavy_mass = _count_runs(column, mass, n, max_bins)
    if n_distinct <= max_bins:
        return _cut_everywhere(column, n, cuts, below), n
    return _cut_evenly(column, mass, n, max_bins, n_heavy, heavy_mass, cuts, below), n


@njit(cache=True, nogil=True)
def _end_of_run(column, start, n):
    """First position after `start` with another value."""
    stop = start + 1
    while stop < n and column[stop] == column[start]:
        stop += 1
    return stop


@njit(cache=True, nogil=True)
def _cut_everywhere(column, n, cuts, below):
    n_cuts = 0
    stop = 0
    while stop < n:
        stop = _end_of_run(column, stop, n)
        if stop < n:
            n_cuts = _add_cut(column, stop, cuts, below, n_cuts)
    return n_cuts


@njit(cache=True, nogil=True)
def _between(mass, start, stop):
    """Weight of the rows ``start:stop``."""
    return float(stop - start) if mass.size == 0 else mass[stop] - mass[start]


@njit(cache=True, nogil=True)
def _cut_evenly(column, mass, n, max_bins, n_heavy, heavy_mass, cuts, below):
    """Cuts between bins of about equal weight; `n_heavy` values, of weight `heavy_mass`, fill a bin each."""
    n_cuts = 0
    start = 0
    filled = 0.0
    total = _between(mass, 0, n)
    light_bins = max_bins - n_heavy
    light_mass = total - heavy_mass
    while start < n and n_cuts < max_bins - 1:
        stop = _end_of_run(column, start, n)
        here = _between(mass, start, stop)
        is_heavy = here * max_bins >= total * _SLACK
        if is_heavy and filled > 0:  # the light bin before a heavy value ends here
            n_cuts = _add_cut(column, start, cuts, below, n_cuts)
            light_mass -= filled
            light_bins -= 1
            filled = 0.0
            if n_cuts == max_bins - 1:
                break
        filled += here
        if stop < n and (is_heavy or filled * light_bins >= light_mass * _SLACK):
            n_cuts = _add_cut(column, stop, cuts, below, n_cuts)
            if not is_heavy:
                light_mass -= filled
                light_bins = max(light_bins - 1, 1)  # rounding may use them up before the last value
            filled = 0.0
        start = stop
    return n_cuts


@njit(cache=True, nogil=True)
def _count_runs(column, mass, n, max_bins):
    n_distinct = 0
    n_heavy = 0
    heavy_mass = 0.0
    start = 0
    total = _between(mass, 0, n)
    while start < n:
        stop = _end_of_run(column, start, n)
        n_distinct += 1
        here = _between(mass, start, stop)
        if here * max_bins >= total * _SLACK:
            n_heavy += 1
            heavy_mass += here
        start = stop
    return n_distinct, n_heavy, heavy_mass


@njit(cache=True, nogil=True)
def _add_cut(column, position, cuts, below, n_cuts):
    low = np.float64(column[position - 1])
    high = np.float64(column[position])
    cut = 0.5 * low + 0.5 * high  # low + high could overflow
    if not low <= cut < high:  # there is no number between adjacent floats
        cut = low
    cuts[n_cuts] = cut
    below[n_cuts] = position
    return n_cuts + 1


@njit(
    [void(_TABLE[t], int64[::1], Array(t, 2, "C"), int64[::1], int64, uint8[:, ::1], int64, int64) for t in _TABLE],
    cache=True,
    nogil=True,
)
def encode(X, rows, cuts, n_cuts, missing, codes, start, stop):
    """Write the codes of rows ``start:stop`` of the coded table, feature-major.

    A code is found by counting the cuts below the value, first every sixteenth and then the sixteen in between. These
    loops have no branches, so the compiler turns them into vector code; a binary search mispredicts half its branches.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    rows : ndarray of int64
        Row of `X` behind each row of the coded table.
    cuts : ndarray of shape (n_features, 256)
        The cuts of each column in the type of `X`, padded with +inf.
    n_cuts : ndarray of shape (n_features,)
    missing : int
        The code of missing values.
    codes : ndarray of shape (n_features, len(rows)), uint8
        Written.
    start, stop : int
    """
    x = np.empty(_BLOCK, X.dtype)
    coarse = np.empty(_BLOCK, np.int32)
    for lo in range(start, stop, _BLOCK):  # a block of rows stays in cache while its columns are read
        n = min(lo + _BLOCK, stop) - lo
        for e in range(codes.shape[0]):
            column_cuts = cuts[e]
            for i in range(n):
                x[i] = X[rows[lo + i], e]
            coarse[:] = 0
            # Every sixteenth cut first, then the sixteen in between.
            for k in range(15, n_cuts[e], 16):
                cut = column_cuts[k]
                for i in range(_BLOCK):
                    coarse[i] += cut < x[i]
            for i in range(n):
                first = 16 * coarse[i]
                code = first
                for k in range(16):
                    code += column_cuts[first + k] < x[i]
                codes[e, lo + i] = code if x[i] == x[i] else missing


def round_down(cuts, dtype):
    """Cast cuts to the type of a table, rounding down, so that ``x > cut`` keeps its value for every x of that type."""
    cast = cuts.astype(dtype)
    return np.where(cast > cuts, np.nextafter(cast, dtype.type(-np.inf)), cast)
