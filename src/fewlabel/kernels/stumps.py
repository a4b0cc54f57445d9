"""Kernels of the stump boosters: row weights, signed histograms and the best stump.

Weights are summed as 64-bit integers in units of 2**-60. Integer sums do not depend on their order, so a model does not
depend, in any bit, on the number of threads, on how the rows are split, or on the order of the rows.

Rows are in three groups: rows ``bounds[g]:bounds[g + 1]`` are group g. A kernel works on rows ``bounds[0]:bounds[3]``:
to work on a range of rows, clip the bounds to it. Row i has two kinds of weight, ``weights[0, i]`` ~ exp(-f) as the
better member of its pairs and ``weights[1, i]`` ~ exp(f) as the worse one.
"""

import math

import numpy as np

from fewlabel.jit import njit

UNIT = 2.0**60
N_CODES = 256
MISSING = 255
# Edges that differ by less than 1e-12 of all weight are equal, so that rounding never chooses a stump.
TIE = int(1e-12 * UNIT)
NO_STEP = 1e-12  # a step of at most this length counts as none
VANISHED = -600.0  # log of an objective that is zero up to rounding: nothing is left to learn
_LARGEST_EDGE = 1.0 - 1e-6  # keeps the bound step finite
_LEAST_WRONG = 5e-7  # keeps the exact step finite
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
    hist : ndarray of shape (len(columns), 256), int64
        Changed in place; a kernel that returns an array takes microseconds more.
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
    code, fires : ndarray of uint8, of shape (n_rows,) and (256,)
    scales : ndarray of shape (2, 3)
        Factors that make the weights of each kind and group sum to about `UNIT`.
    sums : ndarray of shape (2, 3, 2), int64
        Indexed by kind, group, and side (does not fire, fires), in units of 1 / `UNIT`. Changed in place.
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
    fires, shares, totals : ndarray
        Of `search`. Totals are measured in units of the sums: repeated multiplication drifts.
    moves : (float, float)
        What the stump adds to the scores where it is silent and where it fires.
    log_mass, sums, of_column : ndarray of shape (2, 3), (2, 3), (256,)
        Changed in place; the last one is the sum of the stumps of the column by code.
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
    shares : ndarray of shape (2, 3, 2), before the step
    jump : float
        What it adds to the scores where it fires, less what it adds elsewhere.
    before, after : ndarray of shape (2, 3)
        Coefficients of the kinds and groups, whose weights sum to one.
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
    hist, columns
        As in `best_stump`.
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
    coefficients, scales, columns, limits, cuts, uses
        As in `histogram`, `side_sums`, `candidates` and `choose`.
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
def pair_terms(log_mass, rule):
    """Log of the largest term of the pair risk, and its terms PN, PU and UN divided by that one.

    `rule` has the logarithms of their coefficients, the least edge, rho, and whether steps are exact.
    """
    pn = rule[0] + log_mass[0, 0] + log_mass[1, 2]
    pu = rule[1] + log_mass[0, 0] + log_mass[1, 1]
    un = rule[2] + log_mass[0, 1] + log_mass[1, 2]
    largest = max(pn, pu, un)
    return largest, math.exp(pn - largest), math.exp(pu - largest), math.exp(un - largest)


@njit(cache=True, nogil=True)
def _pair_shares(log_mass, rule):
    _, pn, pu, un = pair_terms(log_mass, rule)
    total = pn + pu + un
    return pn / total, pu / total, un / total


@njit(cache=True, nogil=True)
def pair_coefficients(log_mass, rule, coefficients):
    """Write the signed weight of each mass, shape (2, 3); the absolute values sum to one."""
    pn, pu, un = _pair_shares(log_mass, rule)
    coefficients[0, 0], coefficients[0, 1] = 0.5 * (pn + pu), 0.5 * un
    coefficients[1, 1], coefficients[1, 2] = -0.5 * pu, -0.5 * (pn + un)


@njit(cache=True, nogil=True)
def pair_step(edge, shares, log_mass, rule):
    """Length of the step: the minimizer of the pair risk along a stump, or of the bound on it; `edge` is positive."""
    rho = rule[4]
    if not rule[5]:  # the bound
        return math.atanh(min(edge, _LARGEST_EDGE)) - math.atanh(rho)
    pn, pu, un = _pair_shares(log_mass, rule)
    up_p, up_u, down_u, down_n = shares[0, 0], shares[0, 1], shares[1, 1], shares[1, 2]
    right = pn * up_p[1] * down_n[0] + pu * up_p[1] * down_u[0] + un * up_u[1] * down_n[0]
    wrong = pn * up_p[0] * down_n[1] + pu * up_p[0] * down_u[1] + un * up_u[0] * down_n[1]
    tied = max(1.0 - right - wrong, 0.0)
    wrong = max(wrong, _LEAST_WRONG)
    root = math.sqrt((rho * tied) ** 2 + 4 * (1 - rho**2) * right * wrong)
    return math.log(2 * (1 - rho) * right / (rho * tied + root)) if right > 0 else 0.0


@njit(cache=True, nogil=True)
def pair_rounds(rows, masses, limits, cuts, rule, drawn, found):
    """Rounds of a pair rule in one call; ends before a round with anything unusual, which the caller then runs.

    Parameters
    ----------
    rows : tuple
        `codes`, `weights`, `bounds` and `last`, as in `search`, and `uses`.
    masses : tuple
        `log_mass`, `sums` and `table`, as in `take_step`, and the coefficients; changed in place.
    rule : tuple
        That of `pair_terms`, the learning rate, the sum of the steps so far, that since the weights were computed from
        the scores, and the most that it may be.
    drawn : ndarray of shape (n_rounds, n_drawn), int64
    found : (ndarray, ndarray, ndarray)
        Written: column, cut and sign (int64), step and log-objective, and `fires` of each round.
    limits, cuts
        As in `search`.

    Returns
    -------
    n_rounds, waits, total_step, moved
        `waits`: the weights are still to be multiplied by the last step.
    """
    (codes, weights, bounds, last, uses), (log_mass, sums, table, coefficients) = rows, masses
    (pairs, learning_rate, total_step, moved, most), (stumps, steps, fires) = rule, found
    totals, shares = np.empty((2, 3), dtype=np.int64), np.empty((2, 3, 2))
    for r in range(len(drawn)):
        scales, split, now = UNIT / sums, (fires[r], totals, shares), (codes, weights, bounds, last)
        column, cut, edge = search(now, coefficients * scales, scales, drawn[r], limits, cuts, uses, split)
        size = abs(edge / UNIT)
        step = pair_step(size, shares, log_mass, pairs) if size > pairs[3] else 0.0
        jump = step * learning_rate
        if step <= NO_STEP or moved + jump > most:
            return r, False, total_step, moved
        take_step(fires[r], shares, totals, (0.0, jump), log_mass, sums, table[column])
        before = coefficients.copy()
        pair_coefficients(log_mass, pairs, coefficients)
        change = drift(shares, jump, before, coefficients)
        limits[0][:] -= change
        limits[1][:] += change
        moved, total_step = moved + jump, total_step + jump
        largest, pn, pu, un = pair_terms(log_mass, pairs)
        steps[r, 0], steps[r, 1] = jump, largest + math.log(pn + pu + un) + pairs[4] * total_step
        stumps[r, 0], stumps[r, 1], stumps[r, 2] = column, cut, 1 if edge > 0 else -1
        last = column, fires[r].view(np.uint8), math.exp(-jump), math.exp(jump)
        if steps[r, 1] < VANISHED:
            return r + 1, True, total_step, moved
    return len(drawn), True, total_step, moved
