"""Kernels of the stump boosters: row weights, signed histograms and the best stump.

Weights are summed as 64-bit integers in units of 2**-60. Integer sums do not depend on their order, so a model does not
depend, in any bit, on the number of threads, on how the rows are split, or on the order of the rows.

Rows are in three groups: rows ``bounds[g]:bounds[g + 1]`` are group g. A kernel works on rows ``bounds[0]:bounds[3]``:
to work on a range of rows, clip the bounds to it. Row i has two kinds of weight, ``weights[0, i]`` ~ exp(-f) as the
better member of its pairs and ``weights[1, i]`` ~ exp(f) as the worse one.
"""

import numpy as np

from fewlabel.jit import njit

UNIT = 2.0**60
N_CODES = 256
MISSING = 255
# Edges that differ by less than 1e-12 of all weight are equal, so that rounding never chooses a stump.
TIE = int(1e-12 * UNIT)
_BLOCK = 2048  # signed weights of a block (16 KiB) stay in the first-level cache while all columns read them


@njit(cache=True, nogil=True)
def reweight(codes, weights, bounds, uses, last):
    """Multiply the weights of the rows on which a stump fires.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows), uint8
    weights : ndarray of shape (2, n_rows)
        Changed in place.
    bounds : ndarray of shape (4,), int64
    uses : ndarray of shape (2, 3), bool
        The kinds and groups with weights; the others stay as they are.
    last : (int, ndarray of shape (256,), float, float)
        Column of the stump (-1 for none), 1 for each code on which it fires (uint8), and the factor of each kind.
    """
    fired = np.empty(_BLOCK, dtype=np.uint8)
    for g in range(3):
        for lo in range(bounds[g], bounds[g + 1], _BLOCK):
            _reweight_block(codes, weights, uses[:, g], last, (lo, min(lo + _BLOCK, bounds[g + 1])), fired)


@njit(cache=True, nogil=True)
def _reweight_block(codes, weights, uses, last, block, fired):
    (column, fires, up_factor, down_factor), (lo, hi) = last, block
    _look_up(codes[column, lo:hi], fires, fired)
    if uses[0]:
        _multiply(weights[0, lo:hi], fired, up_factor)
    if uses[1]:
        _multiply(weights[1, lo:hi], fired, down_factor)


@njit(cache=True, nogil=True)
def _look_up(code, fires, fired):
    """Write whether the stump fires on each row: a loop of its own, so that those over weights become vector code."""
    for i in range(code.size):
        fired[i] = fires[code[i]]


@njit(cache=True, nogil=True)
def _multiply(weights, fired, factor):
    for i in range(weights.size):
        weights[i] = weights[i] * factor if fired[i] else weights[i]


@njit(cache=True, nogil=True)
def histogram(codes, weights, bounds, coefficients, columns, uses, last, hist):
    """Add up the signed weights ``coefficients[0, g] * up + coefficients[1, g] * down`` of the rows of group g by code.

    The weights are first multiplied as in `reweight`, block by block: a pass over the weights of their own would read
    and write all of them from main memory.

    Parameters
    ----------
    coefficients : ndarray of shape (2, 3)
        Coefficient of each kind and group, times `UNIT`. A group with two zeros is skipped.
    columns : ndarray of int64
        Columns to make the histogram of.
    hist : ndarray of shape (len(columns), 256), int64
        Changed in place; a kernel that returns an array takes microseconds more.
    codes, weights, bounds, uses, last
        As in `reweight`.
    """
    signed, fired = np.empty(_BLOCK, dtype=np.int64), np.empty(_BLOCK, dtype=np.uint8)
    for g in range(3):
        cu, cd = coefficients[0, g], coefficients[1, g]
        for lo in range(bounds[g], bounds[g + 1], _BLOCK):
            hi = min(lo + _BLOCK, bounds[g + 1])
            if last[0] >= 0:
                _reweight_block(codes, weights, uses[:, g], last, (lo, hi), fired)
            if cu != 0.0 or cd != 0.0:
                _sign(weights, cu, cd, lo, hi, signed)
                _add_block(codes, columns, signed, lo, hi, hist)


@njit(cache=True, nogil=True)
def _sign(weights, cu, cd, lo, hi, signed):
    up, down = weights[0, lo:hi], weights[1, lo:hi]
    if cd == 0.0:  # do not read what does not count
        for i in range(hi - lo):
            signed[i] = np.int64(np.rint(cu * up[i]))
    elif cu == 0.0:
        for i in range(hi - lo):
            signed[i] = np.int64(np.rint(cd * down[i]))
    else:
        for i in range(hi - lo):
            signed[i] = np.int64(np.rint(cu * up[i] + cd * down[i]))


@njit(cache=True, nogil=True)
def _add_block(codes, columns, signed, lo, hi, hist):
    quads = columns.size - columns.size % 4
    for j in range(0, quads, 4):  # four columns per pass: a weight is loaded once for four additions
        c0, c1 = codes[columns[j], lo:hi], codes[columns[j + 1], lo:hi]
        c2, c3 = codes[columns[j + 2], lo:hi], codes[columns[j + 3], lo:hi]
        h0, h1, h2, h3 = hist[j], hist[j + 1], hist[j + 2], hist[j + 3]
        for i in range(hi - lo):
            w = signed[i]
            h0[c0[i]] += w
            h1[c1[i]] += w
            h2[c2[i]] += w
            h3[c3[i]] += w
    for j in range(quads, columns.size):
        c0, h0 = codes[columns[j], lo:hi], hist[j]
        for i in range(hi - lo):
            h0[c0[i]] += signed[i]


@njit(cache=True, nogil=True)
def side_sums(code, fires, weights, bounds, uses, scales, sums):
    """Add up the weight of each group on the two sides of a stump.

    Parameters
    ----------
    code : ndarray of shape (n_rows,), uint8
        Codes of the stump's column.
    fires : ndarray of shape (256,), uint8
        1 for the codes on which the stump fires.
    scales : ndarray of shape (2, 3)
        Factors that make the weights of each kind and group sum to about `UNIT`.
    sums : ndarray of shape (2, 3, 2), int64
        Indexed by kind, group, and side (does not fire, fires), in units of 1 / `UNIT`. Changed in place.
    weights, bounds, uses
        As in `reweight`.
    """
    fired = np.empty(_BLOCK, dtype=np.uint8)
    for g in range(3):
        for lo in range(bounds[g], bounds[g + 1], _BLOCK):
            hi = min(lo + _BLOCK, bounds[g + 1])
            _look_up(code[lo:hi], fires, fired)
            for kind in range(2):
                if uses[kind, g]:
                    on, total = _sum_fired(weights[kind, lo:hi], fired, scales[kind, g])
                    sums[kind, g, 0] += total - on
                    sums[kind, g, 1] += on


@njit(cache=True, nogil=True)
def _sum_fired(weights, fired, scale):
    on, total = 0, 0
    for i in range(weights.size):
        weight = np.int64(np.rint(scale * weights[i]))
        total += weight
        on += weight if fired[i] else 0
    return on, total


@njit(cache=True, nogil=True)
def side_shares(sums, uses, totals, shares):
    """Write the totals of `side_sums`, shape (2, 3), and the share of each side; unused kinds and groups are silent."""
    for kind in range(2):
        for g in range(3):
            silent, fired = (sums[kind, g, 0], sums[kind, g, 1]) if uses[kind, g] else (np.int64(UNIT), np.int64(0))
            totals[kind, g] = silent + fired
            shares[kind, g, 0], shares[kind, g, 1] = silent / totals[kind, g], fired / totals[kind, g]


@njit(cache=True, nogil=True)
def take_step(fires, shares, totals, moves, log_mass, sums, of_column):
    """Update the masses, the sums of the weights if only those of rows that fire are multiplied, and the table.

    Parameters
    ----------
    fires : ndarray of shape (256,), bool
    shares, totals : ndarray
        Of `side_shares`. Totals are measured in units of the sums: repeated multiplication drifts.
    moves : (float, float)
        What the stump adds to the scores where it is silent and where it fires.
    log_mass, sums : ndarray of shape (2, 3)
        Changed in place.
    of_column : ndarray of shape (256,)
        Sum of the stumps of its column by code, changed in place.
    """
    low, high = moves
    for kind in range(2):
        sign = 2.0 * kind - 1.0
        factor = np.exp(sign * (high - low))
        for g in range(3):
            growth = shares[kind, g, 0] + shares[kind, g, 1] * factor
            log_mass[kind, g] += np.log(growth) + sign * low
            sums[kind, g] *= totals[kind, g] / UNIT * growth
    for code in range(N_CODES):
        of_column[code] += high if fires[code] else low


@njit(cache=True, nogil=True)
def drift(shares, jump, before, after):
    """Most by which a step can change the edge of any stump: the sum of the absolute changes of the signed weights.

    Parameters
    ----------
    shares : ndarray of shape (2, 3, 2)
        Of `side_shares`, before the step.
    jump : float
        What the step adds to the scores where it fires, less what it adds elsewhere.
    before, after : ndarray of shape (2, 3)
        Coefficients of the kinds and groups, whose weights sum to one, before and after the step.
    """
    total = 0.0
    for kind in range(2):
        factor = np.exp((2.0 * kind - 1.0) * jump)
        for g in range(3):
            silent, fired = shares[kind, g, 0], shares[kind, g, 1]
            scale = after[kind, g] / (silent + fired * factor)
            total += abs(scale - before[kind, g]) * silent + abs(scale * factor - before[kind, g]) * fired
    return total


@njit(cache=True, nogil=True)
def candidates(lower, upper, slack, columns, chosen):
    """Write those columns whose upper bound reaches the largest lower bound of them, less `slack`; their number."""
    least = -np.inf
    for e in columns:
        least = max(least, lower[e])
    n_chosen = 0
    for e in columns:
        chosen[n_chosen] = e  # overwritten by the next one if it is not chosen
        n_chosen += upper[e] >= least - slack
    return n_chosen


@njit(cache=True, nogil=True)
def best_stump(hist, columns, n_cuts, has_missing, sizes):
    """The stump with the largest absolute edge, ``2 * (weight on which it fires) - (all weight)``.

    The stump fires above its cut; the one that fires at or below it has the negative edge, so both polarities are
    searched at once. Where a column has missing values, both sides are tried for them, and so is the stump that tests
    only whether the value is missing (cut ``n_cuts``). Ties within `TIE` go to the first column, then the lowest cut,
    then to missing values that do not fire.

    Parameters
    ----------
    hist : ndarray of shape (len(columns), 256), int64
    columns : ndarray of int64
    n_cuts, has_missing : ndarray of shape (n_features,)
    sizes : ndarray of shape (len(columns),), int64
        Written: the largest absolute edge of each column.

    Returns
    -------
    position, cut, missing, edge : int
        Position in `columns`, cut (fires on codes above it), whether the stump fires on missing values, signed edge.
    """
    for j in range(columns.size):
        sizes[j] = _scan(hist[j], n_cuts[columns[j]], has_missing[columns[j]], np.inf)[3]
    target = sizes.max() - TIE
    for j in range(columns.size):
        if sizes[j] >= target:
            cut, missing, edge, _ = _scan(hist[j], n_cuts[columns[j]], has_missing[columns[j]], target)
            return j, cut, missing, edge
    return 0, 0, 0, 0


@njit(cache=True, nogil=True)
def _absent_and_present(hist, n_cuts, has_missing):
    """Weight of the missing values of a column, and of all others."""
    present = 0
    for k in range(n_cuts + 1):
        present += hist[k]
    return hist[MISSING] if has_missing else 0, present


@njit(cache=True, nogil=True)
def _scan(hist, n_cuts, has_missing, target):
    """Scan the cuts of a column in order; stop at the first edge of size `target`, else return the largest."""
    absent, above = _absent_and_present(hist, n_cuts, has_missing)
    total = absent + above
    best_cut, best_missing, best_edge, best_size = 0, 0, 0, -1
    for k in range(n_cuts + has_missing):
        above -= hist[k]
        only_missing = 1 if k == n_cuts else 0  # nothing present lies above: the stump must fire on missing values
        for missing in range(only_missing, 1 + has_missing):
            edge = 2 * (above + missing * absent) - total
            size = abs(edge)
            if size > best_size:
                best_cut, best_missing, best_edge, best_size = k, missing, edge, size
                if size >= target:
                    return best_cut, best_missing, best_edge, best_size
    return best_cut, best_missing, best_edge, best_size


@njit(cache=True, nogil=True)
def choose(hist, columns, limits, cuts, fires):
    """The best stump of a histogram; the bounds of its columns become their largest edges.

    Parameters
    ----------
    hist : ndarray of shape (len(columns), 256), int64
    columns : ndarray of int64
    limits : (ndarray, ndarray, float)
        `lower`, `upper` and `slack`, as in `candidates`.
    cuts : (ndarray, ndarray, ndarray)
        `n_cuts` and `has_missing`, as in `best_stump`, and whether missing values go above a cut if training had none,
        indexed by column and cut.
    fires : ndarray of shape (256,), bool
        Written: whether the stump fires for each code.

    Returns
    -------
    column, cut, edge : int
    """
    (lower, upper, _), (n_cuts, has_missing, goes_above) = limits, cuts
    sizes = np.empty(columns.size, dtype=np.int64)
    position, cut, missing, edge = best_stump(hist, columns, n_cuts, has_missing, sizes)
    for j in range(columns.size):
        lower[columns[j]] = upper[columns[j]] = sizes[j] / UNIT
    column = columns[position]
    for code in range(MISSING):
        fires[code] = (code > cut) == (edge > 0)
    fires[MISSING] = (missing == 1 if has_missing[column] else goes_above[column, cut]) == (edge > 0)
    return column, cut, edge


@njit(cache=True, nogil=True)
def search(rows, coefficients, scales, columns, limits, cuts, uses, split):
    """The best stump of the columns and the weights on its sides, in one call if one thread has all rows.

    Parameters
    ----------
    rows : tuple
        `codes`, `weights`, `bounds` and `last`, as in `histogram`.
    coefficients, scales : ndarray of shape (2, 3)
        As in `histogram` and in `side_sums`.
    columns, limits, cuts, uses
        As in `candidates`, `choose` and `histogram`.
    split : (ndarray, ndarray, ndarray)
        `fires`, as in `choose`, `totals` and `shares`, as in `side_shares`; written.

    Returns
    -------
    column, cut, edge : int
    """
    (codes, weights, bounds, last), (fires, totals, shares) = rows, split
    chosen = np.empty_like(columns)
    chosen = chosen[: candidates(*limits, columns, chosen)]
    hist, sums = np.zeros((chosen.size, N_CODES), dtype=np.int64), np.zeros((2, 3, 2), dtype=np.int64)
    histogram(codes, weights, bounds, coefficients, chosen, uses, last, hist)
    column, cut, edge = choose(hist, chosen, limits, cuts, fires)
    side_sums(codes[column], fires.view(np.uint8), weights, bounds, uses, scales, sums)
    side_shares(sums, uses, totals, shares)
    return column, cut, edge


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
        As in `best_stump`; edge 0 if no stump qualifies.
    """
    sizes = np.empty(columns.size, dtype=np.int64)
    for j in range(columns.size):
        e = columns[j]
        found = _guarded_scan(hist[j], positive[j], n_cuts[e], has_missing[e], allowed[e], slack, guard, np.inf)
        sizes[j] = abs(found[2])
    target = sizes.max() - TIE
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
def add_scores(codes, table, columns, scores, start, stop):
    """Add ``table[e, code]`` to the scores of rows ``start:stop``, for each of the given columns e."""
    for j in range(columns.size):
        code, values = codes[columns[j]], table[columns[j]]
        for i in range(start, stop):
            scores[i] += values[code[i]]
