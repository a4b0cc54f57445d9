"""The best stump among those whose estimated errors are not negative, for rules with negative weights."""

import numpy as np

from fewlabel.jit import njit

_MISSING = 255  # the code of a missing value, as in `stumps`
_TIE = int(1e-12 * 2.0**60)  # edges that differ by less are equal, as in `stumps`


@njit(cache=True, nogil=True)
def best_guarded_stump(hist, positive, columns, n_cuts, has_missing, allowed, slack, guard):
    """The stump with the largest edge among those whose error, and whose error on negatives, are not negative.

    With signed weights an error can be negative: such a stump fits the noise of the negative weights. `hist` holds the
    weight of a row as a positive minus its weight as a negative, so the weights as negatives are ``positive - hist``.

    Parameters
    ----------
    hist, positive : ndarray of shape (len(columns), 256), int64
        Histograms of the signed weights, and of the weights as positives alone.
    allowed : ndarray of shape (n_features, 256), uint8
        The cuts to try. A stump that tests whether the value is missing is always allowed.
    slack : int
        Errors below this count as zero, and edges must exceed twice as much.
    guard : bool
        Whether to check the error on negatives.

    Returns
    -------
    position, cut, missing, edge : int
        As in `stumps.best_stump`; edge 0 if no stump qualifies.
    """
    sizes = np.empty(columns.size, dtype=np.int64)
    for j in range(columns.size):
        e = columns[j]
        found = _guarded_scan(hist[j], positive[j], n_cuts[e], has_missing[e], allowed[e], slack, guard, np.inf)
        sizes[j] = abs(found[2])
    target = sizes.max() - _TIE
    for j in range(columns.size):
        if sizes[j] > 0 and sizes[j] >= target:  # the first column that ties with the best, and its first cut that does
            e = columns[j]
            return j, *_guarded_scan(hist[j], positive[j], n_cuts[e], has_missing[e], allowed[e], slack, guard, target)
    return 0, 0, 0, 0


@njit(cache=True, nogil=True)
def _guarded_scan(hist, positive, n_cuts, has_missing, allowed, slack, guard, target):
    absent, above = _absent_and_present(hist, n_cuts, has_missing)
    absent_positive, above_positive = _absent_and_present(positive, n_cuts, has_missing)
    total, total_positive = absent + above, absent_positive + above_positive
    normalizer = 2 * total_positive - total  # all weights as positives and as negatives
    best_cut, best_missing, best_edge, best_size = 0, 0, 0, 2 * slack
    for k in range(n_cuts + has_missing):
        above -= hist[k]
        above_positive -= positive[k]
        only_missing = 1 if k == n_cuts else 0
        if not (only_missing or allowed[k]):
            continue
        for missing in range(only_missing, 1 + has_missing):
            fired = above + missing * absent
            fired_positive = above_positive + missing * absent_positive
            edge = 2 * fired - total
            size = abs(edge)
            if size <= best_size or size >= normalizer - 2 * slack:
                continue
            if edge < 0:  # the other polarity
                fired, fired_positive = total - fired, total_positive - fired_positive
            if guard and fired_positive - fired < -slack:
                continue
            best_cut, best_missing, best_edge, best_size = k, missing, edge, size
            if size >= target:
                return best_cut, best_missing, best_edge
    return best_cut, best_missing, best_edge


@njit(cache=True, nogil=True)
def _absent_and_present(hist, n_cuts, has_missing):
    """Weight of the missing values of a column, and of all others."""
    present = 0
    for k in range(n_cuts + 1):
        present += hist[k]
    return hist[_MISSING] if has_missing else 0, present
