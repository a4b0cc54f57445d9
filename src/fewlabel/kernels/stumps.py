"""Kernels of the stump boosters: row weights, signed histograms, the best stump, and scores of additive models.

Weights are summed as 64-bit integers in units of 2**-60. Integer sums do not depend on their order, so a model does not
depend, in any bit, on the number of threads, on how the rows are split, or on the order of the rows.

Rows are in three groups: rows ``bounds[g]:bounds[g + 1]`` are group g. A kernel works on rows ``bounds[0]:bounds[3]``:
to work on a range of rows, clip the bounds to it. Row i has two kinds of weight, ``weights[0, i]`` ~ exp(-f) as the
better member of its pairs and ``weights[1, i]`` ~ exp(f) as the worse one.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.types import Array, float32, float64, int64, void

from fewlabel.jit import njit

UNIT = 2.0**60
N_CODES = 256
MISSING = 255
# Edges that differ by less than 1e-12 of all weight are equal, so that rounding never chooses a stump.
TIE = int(1e-12 * UNIT)
_BLOCK = 4096  # weights of a block (32 KiB) stay in the first-level cache while all columns read them
_SCORE_BLOCK = 256
_TABLE = {t: Array(t, 2, "A", readonly=True) for t in (float32, float64)}


@njit(cache=True, nogil=True)
def reweight(code, factors, weights, start, stop):
    """Multiply both weights of rows ``start:stop`` by the factor of the row's code.

    Parameters
    ----------
    code : ndarray of shape (n_rows,), uint8
        Codes of one column.
    factors : ndarray of shape (2, 256)
    weights : ndarray of shape (2, n_rows)
        Changed in place.
    """
    up_factor, down_factor, up, down = factors[0], factors[1], weights[0], weights[1]
    for i in range(start, stop):
        up[i] *= up_factor[code[i]]
        down[i] *= down_factor[code[i]]


@njit(cache=True, nogil=True)
def histogram(codes, weights, bounds, coefficients, columns, last, factors):
    """Histogram of the signed weights ``coefficients[0, g] * up + coefficients[1, g] * down`` of the rows of group g.

    The weights are first multiplied by the factors of the last stump, block by block: a pass over the weights of their
    own would read and write all of them from main memory.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows), uint8
    weights : ndarray of shape (2, n_rows)
    bounds : ndarray of shape (4,), int64
    coefficients : ndarray of shape (2, 3)
        Coefficient of each kind and group, times `UNIT`. A group with two zeros is skipped.
    columns : ndarray of int64
        Columns to make the histogram of.
    last : int
        Column of the last stump, -1 if the weights are as they should be.
    factors : ndarray of shape (2, 256)
        As in `reweight`.

    Returns
    -------
    ndarray of shape (len(columns), 256), int64
    """
    hist = np.zeros((columns.size, N_CODES), dtype=np.int64)
    signed = np.empty(_BLOCK, dtype=np.int64)
    up, down = weights[0], weights[1]
    for g in range(3):
        cu, cd = coefficients[0, g], coefficients[1, g]
        counts = cu != 0.0 or cd != 0.0
        for lo in range(bounds[g], bounds[g + 1], _BLOCK):
            hi = min(lo + _BLOCK, bounds[g + 1])
            if last >= 0:
                reweight(codes[last], factors, weights, lo, hi)
            if not counts:
                continue
            for i in range(lo, hi):
                signed[i - lo] = np.int64(np.rint(cu * up[i] + cd * down[i]))
            _add_block(codes, columns, signed, lo, hi, hist)
    return hist


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
def side_sums(code, fires, weights, bounds, scales):
    """Weight of each group on the two sides of a stump.

    Parameters
    ----------
    code : ndarray of shape (n_rows,), uint8
        Codes of the stump's column.
    fires : ndarray of shape (256,), uint8
        1 for the codes on which the stump fires.
    weights : ndarray of shape (2, n_rows)
    bounds : ndarray of shape (4,), int64
    scales : ndarray of shape (2, 3)
        Factors that make the weights of each kind and group sum to about `UNIT`.

    Returns
    -------
    ndarray of shape (2, 3, 2), int64
        Indexed by kind, group, and side (does not fire, fires), in units of 1 / `UNIT`.
    """
    sums = np.zeros((2, 3, 2), dtype=np.int64)
    up, down = weights[0], weights[1]
    for g in range(3):
        su, sd = scales[0, g], scales[1, g]
        up_all, up_fired, down_all, down_fired = 0, 0, 0, 0
        for i in range(bounds[g], bounds[g + 1]):
            fired = np.int64(fires[code[i]])
            u = np.int64(np.rint(su * up[i]))
            d = np.int64(np.rint(sd * down[i]))
            up_all += u
            up_fired += u * fired
            down_all += d
            down_fired += d * fired
        sums[0, g, 0], sums[0, g, 1] = up_all - up_fired, up_fired
        sums[1, g, 0], sums[1, g, 1] = down_all - down_fired, down_fired
    return sums


@njit(cache=True, nogil=True)
def best_stump(hist, columns, n_cuts, has_missing):
    """The stump with the largest absolute edge, ``2 * (weight on which it fires) - (all weight)``.

    The stump fires above its cut; the one that fires at or below it has the negative edge, so both polarities are
    searched at once. Where a column has missing values, both sides are tried for them, and so is the stump that tests
    only whether the value is missing (cut ``n_cuts``). Ties within `TIE` go to the first column, then the lowest cut,
    then to missing values that do not fire.

    Returns
    -------
    position, cut, missing, edge : int
        Position in `columns`, cut (fires on codes above it), whether the stump fires on missing values, signed edge.
    """
    best = 0
    for j in range(columns.size):
        best = max(best, _scan(hist[j], n_cuts[columns[j]], has_missing[columns[j]], np.inf)[3])
    target = best - TIE
    for j in range(columns.size):
        cut, missing, edge, size = _scan(hist[j], n_cuts[columns[j]], has_missing[columns[j]], target)
        if size >= target:
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
def fill_histograms(codes, weights, bounds, hists):
    """Add the weights of the rows to the histograms of all columns.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows), uint8
    weights : ndarray of shape (n_rows, 2), int64
        Both weights of each row, in a unit of the caller's choice.
    bounds : ndarray of shape (4,), int64
    hists : ndarray of shape (3, n_features, 256, 2), int64
        Sum of both weights by group, column and code. Changed in place.
    """
    every = np.arange(_BLOCK).astype(np.uint32)
    for g in range(3):
        for lo in range(bounds[g], bounds[g + 1], _BLOCK):
            hi = min(lo + _BLOCK, bounds[g + 1])
            _add_changes(codes, every[: hi - lo], weights[lo:hi], lo, hi, hists[g])


@njit(cache=True, nogil=True)
def update_histograms(codes, column, changes, factors, weights, bounds, hists):
    """Multiply the weights of some rows, and update the histograms that `fill_histograms` made.

    Parameters
    ----------
    column : int
    changes : ndarray of shape (256,), uint8
        1 for the codes of `column` whose rows change.
    factors : tuple of two floats
        One per kind.
    codes, weights, bounds, hists
        As in `fill_histograms`. `weights` and `hists` are changed in place.
    """
    changed = np.empty(_BLOCK, dtype=np.uint32)
    change = np.empty((_BLOCK, 2), dtype=np.int64)
    code, (up_factor, down_factor) = codes[column], factors
    for g in range(3):
        for lo in range(bounds[g], bounds[g + 1], _BLOCK):
            hi = min(lo + _BLOCK, bounds[g + 1])
            n_changed = 0
            for i in range(lo, hi):  # no branch: a row that does not change is overwritten by the next one
                changed[n_changed] = i - lo
                n_changed += changes[code[i]]
            for j in range(n_changed):
                i = lo + changed[j]
                up = np.int64(np.rint(weights[i, 0] * up_factor))
                down = np.int64(np.rint(weights[i, 1] * down_factor))
                change[j, 0], change[j, 1] = up - weights[i, 0], down - weights[i, 1]
                weights[i, 0], weights[i, 1] = up, down
            _add_changes(codes, changed[:n_changed], change, lo, hi, hists[g])


@intrinsic
def _add_pair(typing_context, sums, i, pairs, j):
    """``sums[i, :] += pairs[j, :]`` for int64 arrays of two columns, as one vector instruction.

    LLVM does not join the two additions by itself; joined, they cost little more than one.
    """

    def generate(context, builder, signature, arguments):
        pair = ir.VectorType(ir.IntType(64), 2)

        def pointer(array, row):
            data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
            index = context.cast(builder, arguments[row], signature.args[row], types.intp)
            offset = builder.mul(index, ir.Constant(ir.IntType(64), 2))
            return builder.bitcast(builder.gep(data, [offset]), pair.as_pointer())

        target = pointer(0, 1)
        total = builder.add(builder.load(target, align=8), builder.load(pointer(2, 3), align=8))
        builder.store(total, target, align=8)
        return context.get_dummy_value()

    return types.void(sums, i, pairs, j), generate


@njit(cache=True, nogil=True)
def _add_changes(codes, changed, change, lo, hi, hists):
    n_features = codes.shape[0]
    for e in range(0, n_features - 1, 2):  # two columns per pass: a change is loaded once for both
        c0, c1, h0, h1 = codes[e, lo:hi], codes[e + 1, lo:hi], hists[e], hists[e + 1]
        for j in range(changed.size):
            i = changed[j]
            _add_pair(h0, c0[i], change, j)
            _add_pair(h1, c1[i], change, j)
    if n_features % 2:
        c0, h0 = codes[n_features - 1, lo:hi], hists[n_features - 1]
        for j in range(changed.size):
            _add_pair(h0, c0[changed[j]], change, j)


@njit(cache=True, nogil=True)
def combine(hists, coefficients, columns):
    """Histogram of the signed weights from the histograms of both weights.

    Parameters
    ----------
    hists : ndarray of shape (n_parts, 3, n_features, 256, 2), int64
        Histograms of parts of the rows.
    coefficients : ndarray of shape (2, 3)
        Coefficient of each kind and group, times `UNIT`. A group with two zeros is skipped.
    columns : ndarray of int64

    Returns
    -------
    ndarray of shape (len(columns), 256), int64
    """
    signed = np.empty((columns.size, N_CODES), dtype=np.int64)
    for j in range(columns.size):
        for b in range(N_CODES):
            total = 0.0
            for g in range(3):
                if coefficients[0, g] == 0.0 and coefficients[1, g] == 0.0:
                    continue
                up, down = 0, 0
                for part in range(hists.shape[0]):  # integers first, so that the result does not depend on the parts
                    up += hists[part, g, columns[j], b, 0]
                    down += hists[part, g, columns[j], b, 1]
                total += coefficients[0, g] * up + coefficients[1, g] * down
            signed[j, b] = np.int64(np.rint(total))
    return signed


@njit(cache=True, nogil=True)
def add_scores(codes, table, columns, scores, start, stop):
    """Add ``table[e, code]`` to the scores of rows ``start:stop``, for each of the given columns e."""
    for j in range(columns.size):
        code, values = codes[columns[j]], table[columns[j]]
        for i in range(start, stop):
            scores[i] += values[code[i]]


@njit(
    [
        void(_TABLE[t], int64[::1], Array(t, 2, "C"), int64[::1], float64[:, ::1], float64[::1], int64, int64)
        for t in _TABLE
    ],
    cache=True,
    nogil=True,
)
def score(X, columns, edges, n_edges, values, scores, start, stop):
    """Add the step functions of an additive model to the scores of rows ``start:stop``.

    The interval of a value is found by counting the edges below it: a loop without branches that the compiler turns
    into vector code, so that an edge costs a fraction of a cycle per row. Stumps with equal edges share that cost.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    columns : ndarray of int64
        Column of each step function.
    edges : ndarray of shape (len(columns), width)
        Edges in the type of `X`.
    n_edges : ndarray of int64
    values : ndarray of shape (len(columns), width + 2)
        Value of each interval; the value for NaN is the last one.
    scores : ndarray of shape (n_samples,)
        Changed in place.
    """
    missing = values.shape[1] - 1
    x = np.empty(_SCORE_BLOCK, X.dtype)
    interval = np.empty(_SCORE_BLOCK, np.int32)
    for lo in range(start, stop, _SCORE_BLOCK):  # a block of rows stays in cache while its columns are read
        n = min(lo + _SCORE_BLOCK, stop) - lo
        for j in range(columns.size):
            e, value = columns[j], values[j]
            for i in range(n):
                x[i] = X[lo + i, e]
            interval[:] = 0
            for k in range(n_edges[j]):
                edge = edges[j, k]
                for i in range(_SCORE_BLOCK):
                    interval[i] += edge < x[i]
            for i in range(n):
                scores[lo + i] += value[np.uint32(interval[i] if x[i] == x[i] else missing)]
