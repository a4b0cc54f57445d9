"""Symmetric (oblivious) trees: one split per level, shared by all leaves of that level.

Gradients are summed as integers, whose sums do not depend on their order, so a tree does not depend, in any bit, on the
number of threads or on the order of the rows. Random numbers are hashes of what they belong to (a row, a split) and of
the round, for the same reason.

`grow` is written once. `grow_at_once` is the same function compiled, for rows in one piece; for rows in several pieces
it runs as Python, and its sums over rows are those that the pieces return.
"""

import math
from typing import NamedTuple

import numpy as np
from numba.extending import overload, register_jitable
from numba.types import Array, float32, float64, int64, uint8, void

from fewlabel.jit import njit, over_parts

_BLOCK = 4096  # gradients of a block (32 KiB) stay in the first-level cache while all columns read them
_SCORE_BLOCK = 256
_MOST_JOINT = 5000  # leaves and codes of two columns: four such histograms stay in the second-level cache
PACKED_TOTAL = 2.0**30  # of the integers that gradients become in a histogram
LEAF_TOTAL = 2.0**52  # of those that give the values of the leaves: floats hold them exactly
TINY = 1e-200  # gradients that sum to less have nothing left to teach
_TIE = 1e-7  # scores that differ by less, relatively, are equal: rounding does not choose a split
_TABLE = {t: Array(t, 2, "A", readonly=True) for t in (float32, float64)}


def _fixed(dtype):
    """Type of a matrix that is only read: a model loaded from a file may be read-only."""
    return Array(dtype, 2, "C", readonly=True)


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_LOW = np.int64(0xFFFFFFFF)


class TreeRows(NamedTuple):
    """Rows in one piece."""

    codes: np.ndarray  # (n_features, n_rows), uint8; the last code is that of missing values
    n_codes: int
    keys: np.ndarray  # (n_rows,), uint64, of `hash_rows`
    per_weight: np.ndarray  # (n_rows,): factor of the squared gradient of each row
    derivatives: np.ndarray  # (2, n_rows): negative gradients and second derivatives
    packed: np.ndarray  # (n_rows,), int64, of `plant`
    leaf: np.ndarray  # (n_rows,), uint8
    scores: np.ndarray  # (n_rows,)


class Tried(NamedTuple):
    """The cuts of the columns."""

    n_cuts: np.ndarray  # (n_features,)
    has_missing: np.ndarray  # (n_features,), bool
    only_cut: np.ndarray  # (n_features,): 1 for each
    directions: np.ndarray  # (n_features,): 1 or -1 where the value above a cut must not be lower or higher than below


@njit(cache=True, nogil=True, inline="always")
def _mix(x):
    """The output function of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a hash of 64 bits."""
    x += _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def hash_rows(codes, keys):
    """Fold the codes of the rows into their `keys` (uint64, one per row, changed in place)."""
    for lo in range(0, keys.size, _BLOCK):
        for e in range(codes.shape[0]):
            code = codes[e]
            for i in range(lo, min(lo + _BLOCK, keys.size)):
                keys[i] = _mix(keys[i] ^ np.uint64(code[i]))


@njit(cache=True, nogil=True)
def draw_variates(keys, round_key):
    """A standard exponential variate for each row, from its key and the round's."""
    variates = np.empty(keys.size)
    for i in range(keys.size):
        bits = _mix(keys[i] ^ round_key) >> np.uint64(11)
        variates[i] = -np.log((np.float64(bits) + 0.5) * 2.0**-53)
    return variates


@over_parts("for_trees")
@njit(cache=True, nogil=True)
def bootstrap(rows, round_key):
    """Multiply the derivatives of each row by a standard exponential variate."""
    variates = draw_variates(rows.keys, round_key)
    for r in range(2):
        rows.derivatives[r] *= variates


@njit(cache=True, nogil=True)
def order_free_sum(values):
    """Sum of non-negative numbers by way of integers: the same in any order."""
    largest = 0.0
    for i in range(values.size):
        largest = max(largest, values[i])
    if not largest > 0.0:
        return 0.0
    unit = sum_unit(values.size, largest)
    return whole_sum(values, unit) / unit


@njit(cache=True, nogil=True)
def sum_unit(n, largest):
    """Integers per unit, so that `n` numbers up to `largest` have a sum of at most 2**61."""
    return 2.0 ** (61 - np.ceil(np.log2(n))) / largest


@njit(cache=True, nogil=True)
def whole_sum(values, unit):
    """Sum of numbers, each times `unit` and rounded to an integer."""
    total = 0
    for i in range(values.size):
        total += np.int64(np.rint(values[i] * unit))
    return total


@over_parts("for_trees")
@njit(cache=True, nogil=True)
def derivative_sizes(rows, counts_squares):
    """Absolute gradients and Hessians and, if they count, squared gradients of rows of weight one: terms to sum."""
    gradient = rows.derivatives[0]
    squares = gradient * gradient * rows.per_weight if counts_squares else gradient[:0]
    return np.abs(gradient), np.abs(rows.derivatives[1]), squares


def derivative_totals(rows, counts_squares):
    """Sums of `derivative_sizes`."""
    return rows.sums(derivative_sizes, counts_squares)


@overload(derivative_totals)
def _totals_of_one_part(rows, counts_squares):
    def totals(rows, counts_squares):
        gradients, hessians, squares = derivative_sizes(rows, counts_squares)
        return order_free_sum(gradients), order_free_sum(hessians), order_free_sum(squares)

    return totals


@over_parts("for_trees")
@njit(cache=True, nogil=True)
def plant(rows, units):
    """Start a tree: all rows are in one leaf, and gradients and Hessians become integers, multiples of `units`.

    The upper 32 bits hold the gradient, the lower ones the Hessian, so that one addition adds both. The absolute
    gradients of all rows must sum to less than 2**31, the Hessians to less than 2**32.
    """
    rows.leaf[:] = 0
    gradient = rows.derivatives[0]
    hessian = rows.derivatives[1]
    packed = rows.packed
    for i in range(packed.size):
        g = np.int64(np.rint(gradient[i] / units[0]))
        h = np.int64(np.rint(hessian[i] / units[1]))
        packed[i] = (g << np.int64(32)) + h


@over_parts("for_trees", merge=np.add)
@njit(cache=True, nogil=True)
def code_sums(rows, columns, n_leaves):
    """Sum the packed derivatives by column, leaf and code, shape (len(columns), n_leaves, n_codes), int64."""
    n_codes = rows.n_codes
    # One addition for two columns pays if its table stays in the cache, and rows are many for its cells.
    n_joint = n_leaves * n_codes * n_codes
    if n_joint > _MOST_JOINT or rows.leaf.size < 8 * n_joint:
        hist = _of_columns(rows, columns, n_leaves)
    else:
        hist = _of_pairs(rows, columns, n_leaves)
    return hist.reshape((columns.size, n_leaves, n_codes))


@njit(cache=True, nogil=True)
def _of_columns(rows, columns, n_leaves):
    """Find the places of a block's rows in a loop of their own, which is vectorized."""
    codes = rows.codes
    packed = rows.packed
    n_rows = packed.size
    hist = np.zeros((columns.size, n_leaves * rows.n_codes), dtype=np.int64)
    base = np.empty(_BLOCK, dtype=np.uint16)
    at = np.empty((4, _BLOCK), dtype=np.uint16)
    for lo in range(0, n_rows, _BLOCK):
        n = min(lo + _BLOCK, n_rows) - lo
        _find_leaves(rows.leaf[lo : lo + n], rows.n_codes, base)
        # Four columns per pass: their additions do not wait for each other.
        for j in range(0, columns.size, 4):
            n_columns = min(4, columns.size - j)
            for k in range(n_columns):
                code = codes[columns[j + k], lo : lo + n]
                for i in range(n):
                    at[k, i] = base[i] + np.uint16(code[i])
            _add(hist[j : j + n_columns], at, packed[lo : lo + n])
    return hist


@njit(cache=True, nogil=True)
def _find_leaves(leaf, n_places, base):
    """Write the first place of the leaf of each row in a histogram of `n_places` per leaf."""
    for i in range(leaf.size):
        base[i] = np.uint16(leaf[i]) * np.uint16(n_places)


@njit(cache=True, nogil=True)
def _of_pairs(rows, columns, n_leaves):
    """As `_of_columns`, with one addition for two columns, by both of their codes. The last column may be alone."""
    codes = rows.codes
    packed = rows.packed
    n_codes = rows.n_codes
    n_rows = packed.size
    n_pairs = (columns.size + 1) // 2
    n_joint = n_codes * n_codes
    joint = np.zeros((n_pairs, n_leaves * n_joint), dtype=np.int64)
    base = np.empty(_BLOCK, dtype=np.uint16)
    at = np.empty((4, _BLOCK), dtype=np.uint16)
    for lo in range(0, n_rows, _BLOCK):
        n = min(lo + _BLOCK, n_rows) - lo
        _find_leaves(rows.leaf[lo : lo + n], n_joint, base)
        for j in range(0, n_pairs, 4):
            for k in range(min(4, n_pairs - j)):
                first = 2 * (j + k)
                one = codes[columns[first], lo : lo + n]
                other = codes[columns[min(first + 1, columns.size - 1)], lo : lo + n]
                for i in range(n):
                    at[k, i] = base[i] + np.uint16(one[i]) * np.uint16(n_codes) + np.uint16(other[i])
            _add(joint[j : j + 4], at, packed[lo : lo + n])
    hist = np.zeros((columns.size, n_leaves * n_codes), dtype=np.int64)
    for j in range(columns.size):
        for place in range(n_leaves * n_codes):
            of_leaf = place // n_codes * n_joint
            for k in range(n_codes):
                within = place % n_codes * n_codes + k if j % 2 == 0 else k * n_codes + place % n_codes
                hist[j, place] += joint[j // 2, of_leaf + within]
    return hist


@njit(cache=True, nogil=True)
def _add(hist, at, weights):
    """Add the weights to up to four histograms at once: their additions do not wait for each other."""
    if len(hist) == 4:
        h0 = hist[0]
        h1 = hist[1]
        h2 = hist[2]
        h3 = hist[3]
        for i in range(weights.size):
            h0[at[0, i]] += weights[i]
            h1[at[1, i]] += weights[i]
            h2[at[2, i]] += weights[i]
            h3[at[3, i]] += weights[i]
    else:
        for k in range(len(hist)):
            h0 = hist[k]
            for i in range(weights.size):
                h0[at[k, i]] += weights[i]


@over_parts("for_trees", merge=np.add)
@njit(cache=True, nogil=True)
def cut_sums(rows, columns, cuts, n_leaves):
    """Sum the packed derivatives by column, leaf, and side of one cut per column.

    Returns
    -------
    ndarray of shape (len(columns), n_leaves, 3), int64
        Of the codes at or below the cut, of those above it, and of missing values.
    """
    codes = rows.codes
    packed = rows.packed
    missing = np.uint8(rows.n_codes - 1)
    n_rows = packed.size
    hist = np.zeros((columns.size, n_leaves * 3), dtype=np.int64)
    base = np.empty(_BLOCK, dtype=np.uint16)
    at = np.empty((4, _BLOCK), dtype=np.uint16)
    for lo in range(0, n_rows, _BLOCK):
        n = min(lo + _BLOCK, n_rows) - lo
        _find_leaves(rows.leaf[lo : lo + n], 3, base)
        for j in range(0, columns.size, 4):  # four columns per pass: their additions do not wait for each other
            n_columns = min(4, columns.size - j)
            for k in range(n_columns):
                _place(codes[columns[j + k], lo : lo + n], np.uint8(cuts[j + k]), missing, base, at[k])
            _add(hist[j : j + n_columns], at, packed[lo : lo + n])
    return hist.reshape((columns.size, n_leaves, 3))


@njit(cache=True, nogil=True)
def _place(code, cut, missing, base, at):
    """Place of each row in the histogram of one cut; the code of missing values is the highest."""
    for i in range(code.size):
        at[i] = base[i] + (code[i] > cut) + (code[i] == missing)


@njit(cache=True, nogil=True)
def best_split(hist, columns, n_cuts, tried, l2, noise, first_only, key):
    r"""The split with the largest score, :math:`\sqrt{\sum G^2 / (H + \lambda)}` over the leaves that it makes.

    Accumulates `hist` in place. Cut k < n_cuts sends codes above k up; the cut n_cuts sends missing values up and
    nothing else. Ties within `_TIE` go to the first column, then the lowest cut, then to missing values that go down.

    Parameters
    ----------
    hist : ndarray of shape (len(columns), n_leaves, n_codes), int64
    columns : ndarray of int64
    n_cuts : ndarray of shape (n_features,)
        Number of cuts of each column.
    tried : Tried
        Splits against its directions, of trees of one level, are not tried.
    l2 : float
        :math:`\lambda`, in units of the packed Hessian.
    noise : float
        Standard deviation of the noise on each score.
    first_only : bool
        Whether to try the first cut of each column only.
    key : uint64
        Seed of the noise.

    Returns
    -------
    position, cut, missing_up : int
        Position in `columns`; -1 if no column has a split.
    score : float
        The score without noise.
    """
    n_codes = hist.shape[2]
    plain = np.empty((columns.size, n_codes, 2))
    noisy = np.empty((columns.size, n_codes, 2))
    best = -np.inf
    for j in range(columns.size):
        e = columns[j]
        has_missing = tried.has_missing[e]
        direction = tried.directions[e]
        n_tried = 1 if first_only else n_cuts[e] + has_missing
        _accumulate(hist[j], n_cuts[e])
        _score_splits(hist[j], n_cuts[e], has_missing, n_tried, l2, plain[j])
        for k in range(n_tried):
            for missing_up in range(2):
                if direction and _is_against(hist[j, 0], n_cuts[e], has_missing, k, missing_up, l2, direction):
                    plain[j, k, missing_up] = -np.inf
                score = plain[j, k, missing_up]
                if noise > 0.0:
                    score += noise * _near_normal(key, (e * n_codes + k) * 2 + missing_up)
                noisy[j, k, missing_up] = score
                best = max(best, score)
    # Noise may make a score negative, so that the tie is measured by its size.
    least = best - _TIE * abs(best)
    for j in range(columns.size):
        e = columns[j]
        for k in range(1 if first_only else n_cuts[e] + tried.has_missing[e]):
            for missing_up in range(2):
                if noisy[j, k, missing_up] >= least > -np.inf:
                    return j, k, missing_up, plain[j, k, missing_up]
    return -1, 0, 0, 0.0


@njit(cache=True, nogil=True)
def _accumulate(hist, n_cuts):
    """Turn the sums of each leaf by code into sums of the codes up to each one; missing values stay apart."""
    for leaf in range(hist.shape[0]):
        of_leaf = hist[leaf]
        for k in range(1, n_cuts + 1):
            of_leaf[k] += of_leaf[k - 1]


@njit(cache=True, nogil=True)
def _score_splits(below, n_cuts, has_missing, n_tried, l2, scores):
    """Write the scores of the first splits of a column, by cut and side of missing values, from accumulated sums.

    They are -inf where the column has no such split.
    """
    last = below.shape[1] - 1
    for missing_up in range(2):
        scores[:n_tried, missing_up] = 0.0 if has_missing or not missing_up else -np.inf
    for leaf in range(below.shape[0]):
        missing = below[leaf, last] if has_missing else 0
        total = below[leaf, n_cuts] + missing
        if total == 0:  # a leaf without rows adds nothing
            continue
        for missing_up in range(1 + has_missing):
            gain = 0.0
            down = np.int64(0)
            for k in range(n_tried):
                down_before = down
                down = below[leaf, k] + (0 if missing_up else missing)
                # Few rows of a leaf are between most cuts and the next.
                if k == 0 or down != down_before:
                    gain = _gain(down, l2) + _gain(total - down, l2)
                scores[k, missing_up] += gain
    for k in range(n_tried):
        for missing_up in range(1 + has_missing):
            scores[k, missing_up] = np.sqrt(scores[k, missing_up])
    if n_tried > n_cuts:  # the test for missing values sends them up
        scores[n_cuts, 0] = -np.inf


@njit(cache=True, nogil=True)
def _is_against(below, n_cuts, has_missing, cut, missing_up, l2, direction):
    """Whether the value above a cut would be on the wrong side of that below it; of missing values alone, never."""
    if below[cut] == below[n_cuts]:
        return False
    missing = below[below.size - 1] if has_missing else 0
    down = below[cut] + (0 if missing_up else missing)
    up = below[n_cuts] + missing - down
    return direction * (_value(up, l2) - _value(down, l2)) < 0.0


@njit(cache=True, nogil=True, inline="always")
def _value(packed, l2):
    h = np.float64(packed & _LOW) + l2
    return np.float64(packed >> np.int64(32)) / h if h > 0.0 else 0.0


@njit(cache=True, nogil=True, inline="always")
def _gain(packed, l2):
    g = np.float64(packed >> np.int64(32))
    h = np.float64(packed & _LOW) + l2
    return g * g / h if h > 0.0 else 0.0


@njit(cache=True, nogil=True, inline="always")
def _near_normal(key, candidate):
    """Sum of four uniform variates, centered, of variance one: as good as a normal variate here, and far cheaper."""
    bits = _mix(key ^ _mix(np.uint64(candidate)))
    mask = np.uint64(0xFFFF)
    total = np.float64(bits & mask)
    for shift in (16, 32, 48):
        total += np.float64((bits >> np.uint64(shift)) & mask)
    return (total - 131070.0) * (np.sqrt(3.0) / 65536.0)


@over_parts("for_trees")
@njit(cache=True, nogil=True)
def split(rows, column, up):
    """Send the rows one level on, to leaf ``2 * leaf + up[code]`` (`up` has 0 or 1 for each code of the column)."""
    code = rows.codes[column]
    leaf = rows.leaf
    for i in range(leaf.size):
        leaf[i] = 2 * leaf[i] + up[code[i]]


@over_parts("for_trees", merge=np.add)
@njit(cache=True, nogil=True)
def leaf_sums(rows, units, n_leaves):
    """Sums of the gradients and Hessians by leaf, in multiples of `units`, shape (2, n_leaves).

    Integers, so that the result does not depend on the order of the rows.
    """
    gradient = rows.derivatives[0]
    hessian = rows.derivatives[1]
    leaf = rows.leaf
    sums = np.zeros((2, n_leaves), dtype=np.int64)
    for i in range(leaf.size):
        sums[0, leaf[i]] += np.int64(np.rint(gradient[i] / units[0]))
        sums[1, leaf[i]] += np.int64(np.rint(hessian[i] / units[1]))
    return sums


@over_parts("for_trees")
@njit(cache=True, nogil=True)
def add_values(rows, values):
    """Add the value of its leaf to the score of each row."""
    leaf = rows.leaf
    scores = rows.scores
    for i in range(leaf.size):
        scores[i] += values[leaf[i]]


@njit(cache=True, nogil=True)
def leaf_values(sums, units, l2):
    """G / (H + l2) of each leaf from its `leaf_sums`; 0 where no row is."""
    values = np.zeros(sums.shape[1])
    for k in range(values.size):
        if sums[1, k] > 0:
            values[k] = sums[0, k] * units[0] / (sums[1, k] * units[1] + l2)
    return values


@njit(cache=True, nogil=True)
def split_gains(total, scores, l2, score_unit):
    """What each split of a tree added to the squared score, that of all rows in one leaf being the first."""
    gains = np.empty(scores.size)
    before = _gain(total, l2)
    for level in range(scores.size):
        square = scores[level] * scores[level]
        gains[level] = (square - before) * (score_unit * score_unit)
        before = square
    return gains


@njit(cache=True, nogil=True)
def round_key_of(seed, t):
    """The key of a round of a fit."""
    return _mix(_mix(np.uint64(seed)) ^ np.uint64(t))


@njit(cache=True, nogil=True)
def _level_key(round_key, level):
    return _mix(round_key ^ np.uint64(level + 1))


@njit(cache=True, nogil=True)
def codes_up(cut, missing_up, n_codes):
    """Whether a split sends each code up, as uint8; the last code is that of missing values."""
    up = np.empty(n_codes, dtype=np.uint8)
    for code in range(n_codes - 1):
        up[code] = code > cut
    up[n_codes - 1] = missing_up
    return up


@register_jitable
def grow(rows, columns, cuts, tried, l2, noise, round_key, draws_rows):
    """Grow a tree on the derivatives of the rows.

    Parameters
    ----------
    rows : TreeRows, or an object with the methods `ask`, `tell` and `sums`, and `n_codes`
    columns : ndarray of shape (n_levels, n_drawn), int64
        The columns to search at each level.
    cuts : ndarray of shape (n_levels, n_drawn) or (n_levels, 0), int64
        The one cut to try of each; if there are none, all cuts are tried.
    tried : Tried
    l2 : float
        Penalty on the squares of the values.
    noise : float
        Noise on the scores of splits, in units of the norm of the gradient.
    round_key : uint64
    draws_rows : bool
        Whether the rows are weighted at random; their derivatives change then.

    Returns
    -------
    splits : ndarray of shape (n_levels, 3), int64
        Column, cut, and whether missing values go up; no level if the gradients have vanished.
    gains : ndarray of shape (n_levels,)
    values : ndarray of shape (2**n_levels,)
    """
    n_levels = len(columns)
    one_cut = cuts.shape[1] > 0
    splits = np.zeros((n_levels, 3), dtype=np.int64)
    scores = np.zeros(n_levels)
    if draws_rows:
        bootstrap(rows, round_key)
    gradients, hessians, squares = derivative_totals(rows, noise > 0.0)
    if min(gradients, hessians) < TINY:  # units of zero would divide by zero
        return splits[:0], scores[:0], scores[:0]
    units = (gradients / PACKED_TOTAL, hessians / PACKED_TOTAL)
    plant(rows, units)
    # The score of a histogram in packed units is the score of the gradients in units of u_g / sqrt(u_h).
    score_unit = units[0] / math.sqrt(units[1])
    packed_l2 = l2 / units[1]
    noise = noise * math.sqrt(squares) / score_unit
    all_rows = np.int64(0)
    for level in range(n_levels):
        drawn = columns[level]
        if one_cut:
            hist = cut_sums(rows, drawn, cuts[level], 1 << level)
            n_tried = tried.only_cut  # sums on the sides of one cut per column are as those of a column with no other
        else:
            hist = code_sums(rows, drawn, 1 << level)
            n_tried = tried.n_cuts
        if level == 0:
            all_rows = hist[0].sum()  # every column of the first histogram has all rows
        key = np.uint64(_level_key(round_key, level))  # a Python int, if not compiled
        j, cut, missing_up, scores[level] = best_split(hist, drawn, n_tried, tried, packed_l2, noise, one_cut, key)
        if j < 0:  # every split is against a direction: a tree that adds nothing
            splits[level, 0] = drawn[0]
            return splits, scores, np.zeros(1 << n_levels)
        if one_cut:
            cut = cuts[level, j]
        splits[level, 0] = drawn[j]
        splits[level, 1] = cut
        splits[level, 2] = missing_up
        split(rows, drawn[j], codes_up(cut, missing_up, rows.n_codes))
    units = (gradients / LEAF_TOTAL, hessians / LEAF_TOTAL)
    values = leaf_values(leaf_sums(rows, units, 1 << n_levels), units, l2)
    first = splits[0, 0]
    # The search rounds its sums: of values that are all but equal it may have taken the lower for the higher one.
    if splits[0, 1] < tried.n_cuts[first] and tried.directions[first] * (values[-1] - values[0]) < 0.0:
        values[:] = 0.0
    return splits, split_gains(all_rows, scores, packed_l2, score_unit), values


@njit(cache=True, nogil=True)
def grow_at_once(rows, columns, cuts, tried, l2, noise, round_key, draws_rows):
    """`grow` on rows in one piece, in one call: few rows take less time than the calls from Python."""
    return grow(rows, columns, cuts, tried, l2, noise, round_key, draws_rows)


@njit(
    [
        void(
            _TABLE[t],
            _fixed(int64),
            _fixed(t),
            _fixed(uint8),
            _fixed(float64),
            float64[::1],
            int64,
            int64,
        )
        for t in _TABLE
    ],
    cache=True,
    nogil=True,
)
def score(X, columns, thresholds, missing_up, values, scores, start, stop):
    """Add the values of all trees to the scores of rows ``start:stop``.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    columns, thresholds, missing_up : ndarray of shape (n_trees, depth)
        A row goes up where its value is above the threshold (in the type of `X`) or, if `missing_up`, missing.
    values : ndarray of shape (n_trees, 2**depth)
        The ups and downs of a row, the first level first, are the bits of its leaf.
    scores : ndarray of shape (n_samples,), float64
        Changed in place.
    """
    n_trees, depth = columns.shape
    block = np.empty((X.shape[1], _SCORE_BLOCK), X.dtype)
    leaf = np.empty(_SCORE_BLOCK, np.uint16)
    for lo in range(start, stop, _SCORE_BLOCK):  # a block of rows, transposed, stays in cache while trees read it
        n = min(lo + _SCORE_BLOCK, stop) - lo
        for i in range(n):
            for e in range(X.shape[1]):
                block[e, i] = X[lo + i, e]
        for t in range(n_trees):
            leaf[:] = 0
            for level in range(depth):
                x = block[columns[t, level]]
                threshold = thresholds[t, level]
                if missing_up[t, level]:  # NaN is not at most the threshold
                    for i in range(n):
                        leaf[i] = 2 * leaf[i] + (not x[i] <= threshold)
                else:
                    for i in range(n):
                        leaf[i] = 2 * leaf[i] + (x[i] > threshold)
            for i in range(n):
                scores[lo + i] += values[t, leaf[i]]
