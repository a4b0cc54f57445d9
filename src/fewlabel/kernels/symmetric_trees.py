"""Boosting with symmetric (oblivious) trees: one split per level, shared by all leaves of that level.

A stump is a tree of one level. Every tree is grown by `grow`: at each level `search` sums an integer of each row by
leaf and code, and takes the split with the best score. What the integers are, and what the score of a split is, is the
`Criterion`:

- signed weights, and the edge of a split: AdaBoost and its relatives, whose steps are known in closed form;
- a gradient and a second derivative in one integer, and G^2 / (H + lambda) summed over the leaves: gradient boosting.

Sums of integers do not depend on their order, so a model does not depend, in any bit, on the number of threads, on how
the rows are split, or on the order of the rows. Random numbers are hashes of what they belong to (a row, a split) and
of the round, for the same reason.

Rows are in three groups: rows ``bounds[g]:bounds[g + 1]`` are group g, the positives, the unlabeled rows and the
negatives. In boosting by weights, row i has two kinds of weight, ``weights[0, i]`` ~ exp(-f) as the better member of
its pairs and ``weights[1, i]`` ~ exp(f) as the worse one. Arrays of shape (2, 3) are indexed by kind of weight and
group.

`gradient_tree` and `weighted_rounds` are written once. For rows in one piece they run compiled, in one call; for rows
in several pieces they run as Python, and their sums over rows are those that the pieces return.
"""

import math
from typing import NamedTuple

import numpy as np
from numba.extending import overload, register_jitable
from numba.types import Array, float32, float64, int64, uint8, void

from fewlabel.jit import at_once_in_one_part, njit, over_parts

UNIT = 2.0**60  # integers per unit of weight
# Edges that differ by less than 1e-12 of all weight are equal, so that rounding never chooses a stump.
TIE = int(1e-12 * UNIT)
NO_STEP = 1e-12  # a step of at most this length counts as none
_ROUNDING = 1e-12  # an edge must exceed rho by this: after an exact step a stump's edge is rho itself, up to rounding
VANISHED = -600.0  # log of an objective that is zero up to rounding: nothing is left to learn
REFRESH = 200.0  # recompute weights once they may have moved by exp(200): far from overflow and underflow
PACKED_TOTAL = 2.0**30  # of the integers that gradients become in a histogram
LEAF_TOTAL = 2.0**52  # of those that give the values of the leaves: floats hold them exactly
TINY = 1e-200  # gradients that sum to less have nothing left to teach
_RELATIVE_TIE = 1e-7  # scores of gradients that differ by less, relatively, are equal
_EDGE_ERROR = 1e-9  # of bounds of edges: weights are rounded to integers, one by one
_EPSILON = np.finfo(np.float64).eps
_BLOCK = 2048  # integers of a block (16 KiB) stay in the first-level cache while all columns read them
_SCORE_BLOCK = 256
_TABLE = {t: Array(t, 2, "A", readonly=True) for t in (float32, float64)}


def _fixed(dtype):
    """Type of a matrix that is only read: a model loaded from a file may be read-only."""
    return Array(dtype, 2, "C", readonly=True)


# Groups of the better and of the worse row, in the order of `StepRule.log_pairs`.
_BETTER = (0, 0, 1)
_WORSE = (2, 1, 2)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_LOW = np.int64(0xFFFFFFFF)


class RowArrays(NamedTuple):
    """Rows in one piece. Boosting by weights leaves the derivatives empty, and boosting by gradients the weights."""

    codes: np.ndarray  # (n_features, n_rows), uint8; the last code is that of missing values
    n_codes: int
    bounds: np.ndarray  # (4,)
    leaf: np.ndarray  # (n_rows,), uint8: of the tree that grows, or of the last one
    weights: np.ndarray  # (2, n_rows)
    uses: np.ndarray  # (2, 3), bool: the kinds and groups with weights
    # The last step multiplies weights when the next histogram reads them: a pass of its own would cost as much again.
    step_waits: np.ndarray  # (1,), bool
    waiting_factors: np.ndarray  # (2, 2): of each kind of weight in the two leaves
    derivatives: np.ndarray  # (2, n_rows): negative gradients and second derivatives
    packed: np.ndarray  # (n_rows,), int64, of `plant`
    keys: np.ndarray  # (n_rows,), uint64, of `hash_rows`
    per_weight: np.ndarray  # (n_rows,): factor of the squared gradient of each row
    scores: np.ndarray  # (n_rows,)


class Cuts(NamedTuple):
    """The cuts of the columns. Cut k sends codes above k up; the cut n_cuts, missing values and nothing else."""

    n_cuts: np.ndarray  # (n_features,)
    has_missing: np.ndarray  # (n_features,), bool
    directions: np.ndarray  # (n_features,): 1 if the score must not fall along the column, -1 not rise, 0 either


class Criterion(NamedTuple):
    """What a histogram sums, and the score of a split."""

    by_edge: bool
    coefficients: np.ndarray  # (2, 3): signed weights are these times the weights, rounded
    is_guarded: bool  # whether the next two may reject an edge
    most_edge: int  # edges must be smaller than this in size, and not be zero up to rounding
    non_negative: bool  # whether the error on the negatives must not be negative
    # Bounds of the largest edge of each column leave most columns out of most searches; empty for no bounds.
    lower: np.ndarray  # (n_features,)
    upper: np.ndarray
    l2: float  # penalty in units of the packed second derivatives
    noise: float  # standard deviation of the noise on scores


class StepRule(NamedTuple):
    """What distinguishes one booster of stumps from another.

    The objective is a sum of pairs, ``exp(log_pairs)`` times the masses of their two groups, or of signed masses,
    ``signs * exp(log_weights)`` times each.
    """

    is_pairs: bool
    log_pairs: np.ndarray = np.zeros(3)  # positive and negative, positive and unlabeled, unlabeled and negative
    log_weights: np.ndarray = np.zeros((2, 3))
    signs: np.ndarray = np.ones((2, 3))
    uses: np.ndarray = np.array([[True, True, False], [False, True, True]])  # the masses that it depends on
    keeps_sizes: bool = False  # whether the masses keep their first sizes, whatever the weights
    is_exact: bool = False  # whether a step minimizes the risk of the pairs, or a bound on it
    rho: float = 0.0  # an edge must be larger
    # Keeps a step finite if nothing is on the wrong side: at most atanh(1 - 1e-6), that is 7.3.
    least_wrong: float = 5e-7
    max_step: float = math.inf
    low_factor: float = -1.0  # the move where a stump is silent, as a multiple of the step
    is_guarded: bool = False  # whether a stump must have a positive error
    non_negative: bool = False  # whether its error on the negatives must not be negative
    least_negative_risk: float = -math.inf  # ends the fit


class State(NamedTuple):
    """What rounds of boosting by weights change."""

    uses: np.ndarray  # (2, 3), bool: the kinds and groups that count
    log_mass: np.ndarray  # (2, 3): log mean exp(-f) and log mean exp(f)
    sums: np.ndarray  # (2, 3): sums of the weights
    coefficients: np.ndarray  # (2, 3): signed weight of each mass; the absolute values sum to one
    lower: np.ndarray  # (n_features,): bounds of the largest edge of each column
    upper: np.ndarray
    table: np.ndarray  # (n_features, n_codes): sum of the stumps by column and code
    totals: np.ndarray  # (2, 3), int64: weight of the rows in the last search
    shares: np.ndarray  # (2, 3, 2): share of it where the stump is silent, and where it fires
    total_step: np.ndarray  # (1,): sum of all steps
    moved: np.ndarray  # (1,): sum of the moves since the weights were computed from the scores
    log_objective: np.ndarray  # (1,); NaN before the first round


class Found(NamedTuple):
    """The stumps of some rounds."""

    splits: np.ndarray  # (n_rounds, 3): column, cut, and whether missing values go above it
    values: np.ndarray  # (n_rounds, 2): added at or below the cut, and above it
    gains: np.ndarray  # (n_rounds,): by how much each lowered the log of the objective
    log_objectives: np.ndarray  # (n_rounds,)
    log_mass: np.ndarray  # (n_rounds, 2, 3)


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


@over_parts("arrays")
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


@over_parts("arrays")
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


@over_parts("arrays")
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


@over_parts("arrays", merge=np.add)
@njit(cache=True, nogil=True)
def code_sums(rows, columns, tried, coefficients, n_leaves):
    """Sum an integer of each row by column, leaf and code.

    The integer is the packed derivatives. Rows without them have weights: the coefficients of its group times the two
    weights of the row, rounded. The step that waits is taken first, block by block.

    Parameters
    ----------
    rows : RowArrays
    columns : ndarray of int64
    tried : ndarray of int64
        The only cut to try of each column: of the codes, only the side of it counts. All cuts if there are none.
    coefficients : ndarray of shape (2, 3)
        Of each kind of weight and group, times `UNIT`. A group with two zeros is skipped.
    n_leaves : int
        1 for weights.

    Returns
    -------
    ndarray of shape (len(columns), n_leaves, n_codes), int64
        With one cut per column, of shape (len(columns), n_leaves, 3): of the codes at or below it, of those above it,
        and of missing values.
    """
    n_codes = rows.n_codes
    n_places = 3 if tried.size > 0 else n_codes
    hist = np.zeros((columns.size, n_leaves * n_places), dtype=np.int64)
    n_block = min(_BLOCK, rows.leaf.size)
    signed = np.empty(n_block, dtype=np.int64)
    base = np.zeros(n_block, dtype=np.uint16)
    at = np.empty((4, n_block), dtype=np.uint16)
    # Each read of a field counts a reference, which takes longer than the work on a few rows.
    codes = rows.codes
    bounds = rows.bounds
    packed = rows.packed
    leaf = rows.leaf
    for g in range(3):
        is_silent = coefficients[0, g] == 0.0 == coefficients[1, g]
        for lo in range(bounds[g], bounds[g + 1], _BLOCK):
            hi = min(lo + _BLOCK, bounds[g + 1])
            integers = packed[lo:hi]
            if packed.size == 0:
                _take_waiting_step(rows, g, lo, hi)
                if is_silent:
                    continue
                _sign(rows.weights[:, lo:hi], coefficients[0, g], coefficients[1, g], signed)
                integers = signed[: hi - lo]
            if n_leaves > 1:
                _place_leaves(leaf[lo:hi], n_places, base)
            # Four histograms per pass: their additions do not wait for each other. The places of a block's rows are
            # found in loops of their own, which are vectorized.
            for j in range(0, columns.size, 4):
                of_pass = hist[j : j + 4]
                for k in range(len(of_pass)):
                    code = codes[columns[j + k], lo:hi]
                    if tried.size > 0:
                        _place_sides(code, tried[j + k], n_codes, base, at[k])
                    else:
                        _place_codes(code, base, at[k])
                _add(of_pass, at, integers)
    rows.step_waits[0] = False
    return hist.reshape((columns.size, n_leaves, n_places))


@njit(cache=True, nogil=True)
def _take_waiting_step(rows, g, lo, hi):
    for kind in range(2):
        if rows.step_waits[0] and rows.uses[kind, g]:
            weights = rows.weights[kind, lo:hi]
            leaf = rows.leaf[lo:hi]
            low = rows.waiting_factors[kind, 0]
            high = rows.waiting_factors[kind, 1]
            for i in range(weights.size):
                weights[i] *= high if leaf[i] else low


@njit(cache=True, nogil=True)
def _sign(weights, up, down, signed):
    up_weights = weights[0]
    down_weights = weights[1]
    if down == 0.0:  # do not read what does not count
        for i in range(up_weights.size):
            signed[i] = np.int64(np.rint(up * up_weights[i]))
    elif up == 0.0:
        for i in range(up_weights.size):
            signed[i] = np.int64(np.rint(down * down_weights[i]))
    else:
        for i in range(up_weights.size):
            signed[i] = np.int64(np.rint(up * up_weights[i] + down * down_weights[i]))


@njit(cache=True, nogil=True)
def _place_leaves(leaf, n_places, base):
    for i in range(leaf.size):
        base[i] = np.uint16(leaf[i]) * np.uint16(n_places)


@njit(cache=True, nogil=True)
def _place_codes(code, base, at):
    for i in range(code.size):
        at[i] = base[i] + np.uint16(code[i])


@njit(cache=True, nogil=True)
def _place_sides(code, cut, n_codes, base, at):
    last_down = np.uint8(cut)
    missing = np.uint8(n_codes - 1)  # the highest code
    for i in range(code.size):
        at[i] = base[i] + (code[i] > last_down) + (code[i] == missing)


@njit(cache=True, nogil=True)
def _add(hist, at, integers):
    """Add the integers to up to four histograms at once."""
    if len(hist) == 4:
        h0 = hist[0]
        h1 = hist[1]
        h2 = hist[2]
        h3 = hist[3]
        for i in range(integers.size):
            value = integers[i]
            h0[at[0, i]] += value
            h1[at[1, i]] += value
            h2[at[2, i]] += value
            h3[at[3, i]] += value
    else:
        for k in range(len(hist)):
            h0 = hist[k]
            for i in range(integers.size):
                h0[at[k, i]] += integers[i]


@njit(cache=True, nogil=True)
def promising_columns(criterion, columns):
    """Columns that can have the best split, by the bounds of their edges.

    A guard may reject the largest edge of a column, so that a lower bound says nothing.
    """
    lower = criterion.lower
    upper = criterion.upper
    if upper.size == 0 or criterion.is_guarded:
        return columns
    least = -np.inf
    for e in columns:
        least = max(least, lower[e])
    chosen = np.empty_like(columns)
    n_chosen = 0
    for e in columns:
        chosen[n_chosen] = e  # overwritten by the next one if it is not chosen
        n_chosen += upper[e] >= least - _EDGE_ERROR
    return chosen[:n_chosen]


@register_jitable(inline="always")
def search(rows, cuts, criterion, columns, tries, n_leaves, key):
    """The best split of a level, as `best_split` gives it.

    Parameters
    ----------
    rows : RowArrays, or an object with the methods `ask`, `tell` and `sums`
    cuts : Cuts
    criterion : Criterion
    columns : ndarray of int64
        The columns to search, ascending.
    tries : ndarray of shape (len(columns), n_tries) or (any, 0), int64
        The only cuts to try of each; all of them if there are none.
    n_leaves : int
    key : uint64
        Seed of the noise.
    """
    searched = promising_columns(criterion, columns)
    tried = tries.reshape(-1) if tries_one(criterion, tries) else tries[:0].reshape(-1)
    hist = code_sums(rows, searched, tried, criterion.coefficients, n_leaves)
    of_positives = hist  # or not read
    if criterion.non_negative:
        as_positives = criterion.coefficients * np.array([[1.0], [0.0]])
        of_positives = code_sums(rows, searched, tried, as_positives, n_leaves)
    return best_split(hist, of_positives, searched, tries, cuts, criterion, key)


@register_jitable
def tries_one(criterion, tries):
    """Whether one cut of each column is tried, so that the codes on either side of it need not be told apart."""
    return tries.shape[1] == 1 and not criterion.by_edge


@njit(cache=True, nogil=True)
def best_split(hist, of_positives, columns, tries, cuts, criterion, key):
    """The split with the largest score.

    Ties go to the first column, then the lowest cut, then to missing values that go down.

    Parameters
    ----------
    hist, of_positives : ndarray of shape (len(columns), n_leaves, n_codes), int64
        Of `code_sums`; changed to sums up to each code. The second, of the weights as positives, is read if errors on
        negatives must not be negative.
    columns : ndarray of int64
    tries : ndarray of shape (len(columns), n_tries) or (any, 0), int64
    cuts : Cuts
    criterion : Criterion
        Edges become the bounds of their columns.
    key : uint64

    Returns
    -------
    column, cut, missing_up : int
        Column -1 if there is no split.
    score : float
        Without noise; the signed edge, if it is one.
    total : int
        Sum of the rows of the first leaf.
    """
    by_edge = criterion.by_edge
    one_cut = tries_one(criterion, tries)
    n_codes = hist.shape[2]
    scores = np.empty((columns.size, 2, n_codes))
    noisy = np.empty_like(scores) if criterion.noise > 0.0 else scores
    largest = np.empty(columns.size)
    # The sums on the sides of one cut are those of a column with no other.
    n_cuts = np.ones(columns.size, dtype=np.int64) if one_cut else cuts.n_cuts[columns]
    # Fields that are read in a loop would be counted as references each time.
    has_missing = cuts.has_missing
    directions = cuts.directions
    lower = criterion.lower
    upper = criterion.upper
    for j in range(columns.size):
        e = columns[j]
        column = (n_cuts[j], has_missing[e], directions[e])
        _accumulate(hist[j], n_cuts[j])
        if by_edge:
            largest[j] = _score_edges(hist[j, 0], column, scores[j])
            lower[e] = largest[j] / UNIT
            upper[e] = largest[j] / UNIT
            if criterion.is_guarded:
                if criterion.non_negative:
                    _accumulate(of_positives[j], n_cuts[j])
                largest[j] = _reject_edges(hist[j, 0], of_positives[j, 0], column, tries, j, criterion, scores[j])
        else:
            n_tried = 1 if one_cut else column[0] + has_missing[e]
            largest[j] = _score_gains(hist[j], column, n_tried, criterion.l2, scores[j])
            if criterion.noise > 0.0:
                largest[j] = _add_noise(scores[j], column, n_tried, e * n_codes, criterion.noise, key, noisy[j])
    best = largest.max()
    # Noise may make a score negative, so that the tie is measured by its size.
    least = best - (TIE if by_edge else _RELATIVE_TIE * abs(best))
    if by_edge:
        least = max(least, 0.0)
    total = hist[0, 0, n_cuts[0]] + hist[0, 0, -1]
    for j in range(columns.size):
        if largest[j] >= least > -np.inf:
            e = columns[j]
            cut, missing_up = _first_split(noisy[j], n_cuts[j], has_missing[e], least)
            score = scores[j, missing_up, cut]
            if by_edge:
                score = float(_edge(hist[j, 0], n_cuts[j], has_missing[e], cut, missing_up))
            return e, tries[j, 0] if one_cut else cut, missing_up, score, total
    return -1, 0, 0, 0.0, total


@njit(cache=True, nogil=True)
def _accumulate(hist, n_cuts):
    """Turn the sums of each code of a column into sums of the codes up to it; missing values stay apart."""
    for leaf in range(hist.shape[0]):
        of_leaf = hist[leaf]
        for k in range(1, n_cuts + 1):
            of_leaf[k] += of_leaf[k - 1]


@njit(cache=True, nogil=True)
def _first_split(scores, n_cuts, has_missing, least):
    """The first split of a column with at least this score; there is one."""
    for cut in range(n_cuts):
        for missing_up in range(1 + has_missing):
            if scores[missing_up, cut] >= least:
                return cut, missing_up
    return n_cuts, 1  # the test for missing values


@njit(cache=True, nogil=True, inline="always")
def _edge(below, n_cuts, has_missing, cut, missing_up):
    """The weight above a cut less that below it."""
    missing = below[below.size - 1] if has_missing else 0
    up = below[n_cuts] - below[cut] + missing_up * missing
    return 2 * up - below[n_cuts] - missing


@njit(cache=True, nogil=True)
def _score_edges(below, column, scores):
    """Write the size of the edge of each split of a column, negative if against the direction; return the largest.

    A stump that fires above its cut has the edge, the one that fires below it the negative edge: both are tried at
    once.
    """
    n_cuts, has_missing, direction = column
    largest = np.int64(-1)
    for missing_up in range(1 + has_missing):
        of_side = scores[missing_up]
        # At cut 0 the edge, without what is below: a loop of one subtraction is vectorized.
        first = _edge(below, n_cuts, has_missing, 0, missing_up) + 2 * below[0]
        for k in range(n_cuts):
            edge = first - 2 * below[k]
            size = abs(edge) if direction == 0 else direction * edge
            largest = max(largest, size)
            of_side[k] = size
    if has_missing:
        # A stump that tests for missing values only is constant along the column.
        size = abs(_edge(below, n_cuts, has_missing, n_cuts, 1))
        largest = max(largest, size)
        scores[1, n_cuts] = size
    return largest


@njit(cache=True, nogil=True)
def _reject_edges(below, below_positive, column, tries, position, criterion, scores):
    """Write -inf where the guard rejects an edge, and at cuts that are not to be tried; return the largest left."""
    n_cuts, has_missing, _ = column
    largest = -np.inf
    allowed = np.ones(n_cuts + 1, dtype=np.bool_)
    if tries.shape[1] > 0:
        allowed[:n_cuts] = False  # the test for missing values is always tried
        for cut in tries[position]:
            allowed[cut] = True
    missing = below[below.size - 1] if has_missing else 0
    missing_positive = below_positive[below.size - 1] if has_missing else 0
    # A signed weight is the weight as a positive minus the weight as a negative.
    all_negative = below_positive[n_cuts] + missing_positive - below[n_cuts] - missing
    for k in range(n_cuts + has_missing):
        for missing_up in range(k == n_cuts, 1 + has_missing):
            edge = _edge(below, n_cuts, has_missing, k, missing_up)
            size = abs(edge)
            is_rejected = size <= 2 * TIE or size >= criterion.most_edge or not allowed[k]
            if criterion.non_negative and not is_rejected:
                up = below[n_cuts] - below[k] + missing_up * missing
                negative = below_positive[n_cuts] - below_positive[k] + missing_up * missing_positive - up
                if edge < 0:  # the other polarity
                    negative = all_negative - negative
                is_rejected = negative < -TIE
            if is_rejected:
                scores[missing_up, k] = -np.inf
            largest = max(largest, scores[missing_up, k])
    return largest


@njit(cache=True, nogil=True)
def _score_gains(below, column, n_tried, l2, scores):
    r"""Write :math:`\sqrt{\sum G^2 / (H + \lambda)}` over the leaves of each split, return the largest."""
    n_cuts, has_missing, direction = column
    last = below.shape[1] - 1
    n_sides = 1 + has_missing
    for missing_up in range(n_sides):
        for k in range(n_tried):
            scores[missing_up, k] = 0.0
    for leaf in range(below.shape[0]):
        missing = below[leaf, last] if has_missing else 0
        total = below[leaf, n_cuts] + missing
        if total == 0:  # a leaf without rows adds nothing
            continue
        for missing_up in range(n_sides):
            gain = 0.0
            down = np.int64(0)
            for k in range(n_tried):
                down_before = down
                down = below[leaf, k] + (0 if missing_up else missing)
                # Few rows of a leaf are between most cuts and the next.
                if k == 0 or down != down_before:
                    gain = _gain(down, l2) + _gain(total - down, l2)
                scores[missing_up, k] += gain
    if n_tried > n_cuts:  # the test for missing values sends them up
        scores[0, n_cuts] = -np.inf
    largest = -np.inf
    for missing_up in range(n_sides):
        for k in range(n_tried):
            score = np.sqrt(scores[missing_up, k]) if scores[missing_up, k] >= 0.0 else -np.inf
            if direction != 0 and _is_against(below[0], column, k, missing_up, l2):
                score = -np.inf
            scores[missing_up, k] = score
            largest = max(largest, score)
    return largest


@njit(cache=True, nogil=True)
def _is_against(below, column, cut, missing_up, l2):
    """Whether the value above a cut would be on the wrong side of that below it; of missing values alone, never."""
    n_cuts, has_missing, direction = column
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


@njit(cache=True, nogil=True)
def _add_noise(scores, column, n_tried, first, noise, key, noisy):
    """Write the scores of a column with noise, a hash of the key and the split; return the largest."""
    largest = -np.inf
    for missing_up in range(1 + column[1]):
        for k in range(n_tried):
            noisy[missing_up, k] = scores[missing_up, k] + noise * _near_normal(key, (first + k) * 2 + missing_up)
            largest = max(largest, noisy[missing_up, k])
    return largest


@njit(cache=True, nogil=True, inline="always")
def _near_normal(key, candidate):
    """Sum of four uniform variates, centered, of variance one: as good as a normal variate here, and far cheaper."""
    bits = _mix(key ^ _mix(np.uint64(candidate)))
    mask = np.uint64(0xFFFF)
    total = np.float64(bits & mask)
    for shift in (16, 32, 48):
        total += np.float64((bits >> np.uint64(shift)) & mask)
    return (total - 131070.0) * (np.sqrt(3.0) / 65536.0)


@over_parts("arrays")
@njit(cache=True, nogil=True)
def split(rows, column, cut, missing_up, level):
    """Send the rows one level on, to leaf ``2 * leaf + 1`` where they go up."""
    code = rows.codes[column]
    leaf = rows.leaf
    last_down = np.uint8(cut)
    # The code of missing values is above all cuts; no code is above 255.
    highest = np.uint8(255) if missing_up else np.uint8(rows.n_codes - 2)
    if level == 0:  # the leaves are those of the last tree
        for i in range(leaf.size):
            leaf[i] = (code[i] > last_down) & (code[i] <= highest)
    else:
        for i in range(leaf.size):
            leaf[i] = 2 * leaf[i] + ((code[i] > last_down) & (code[i] <= highest))


@register_jitable(inline="always")
def grow(rows, cuts, criterion, columns, tries, round_key):
    """Grow a tree: the leaf of each row becomes that of the tree.

    Parameters
    ----------
    rows, cuts, criterion
        As in `search`.
    columns : ndarray of shape (n_levels, n_drawn), int64
        The columns to search at each level.
    tries : ndarray of shape (n_levels, n_drawn, n_tries), int64
        The cuts to try of each; all of them if there are none.
    round_key : uint64

    Returns
    -------
    n_grown : int
        Number of levels; fewer than those of `columns` if one has no split.
    splits : ndarray of shape (n_levels, 3), int64
        Column, cut, and whether missing values go up.
    scores : ndarray of shape (n_levels,)
    total : int
        Sum of all rows.
    """
    n_levels = len(columns)
    splits = np.zeros((n_levels, 3), dtype=np.int64)
    scores = np.zeros(n_levels)
    total = np.int64(0)
    for level in range(n_levels):
        key = np.uint64(_level_key(round_key, level))  # a Python int, if not compiled
        best = search(rows, cuts, criterion, columns[level], tries[level], 1 << level, key)
        column, cut, missing_up, scores[level], of_first_leaf = best
        if column < 0:
            return level, splits, scores, total
        if level == 0:
            total = of_first_leaf
        splits[level, 0] = column
        splits[level, 1] = cut
        splits[level, 2] = missing_up
        split(rows, column, cut, missing_up, level)
    return n_levels, splits, scores, total


@over_parts("arrays", merge=np.add)
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


@over_parts("arrays")
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


@at_once_in_one_part("arrays")
def gradient_tree(rows, columns, tries, cuts, l2, noise, round_key, draws_rows):
    """Grow a tree on the derivatives of the rows.

    Parameters
    ----------
    rows, columns, tries, cuts, round_key
        As in `grow`.
    l2 : float
        Penalty on the squares of the values.
    noise : float
        Noise on the scores of splits, in units of the norm of the gradient.
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
    if draws_rows:
        bootstrap(rows, round_key)
    gradients, hessians, squares = derivative_totals(rows, noise > 0.0)
    if min(gradients, hessians) < TINY:  # units of zero would divide by zero
        return np.empty((0, 3), dtype=np.int64), np.empty(0), np.empty(0)
    units = (gradients / PACKED_TOTAL, hessians / PACKED_TOTAL)
    plant(rows, units)
    # The score of a histogram in packed units is the score of the gradients in units of u_g / sqrt(u_h).
    score_unit = units[0] / math.sqrt(units[1])
    packed_l2 = l2 / units[1]
    packed_noise = noise * math.sqrt(squares) / score_unit
    criterion = gradient_criterion(packed_l2, packed_noise)
    n_grown, splits, scores, total = grow(rows, cuts, criterion, columns, tries, round_key)
    if n_grown < n_levels:  # every split is against a direction: a tree that adds nothing
        splits[n_grown, 0] = columns[n_grown, 0]
        return splits, np.zeros(n_levels), np.zeros(1 << n_levels)
    units = (gradients / LEAF_TOTAL, hessians / LEAF_TOTAL)
    values = leaf_values(leaf_sums(rows, units, 1 << n_levels), units, l2)
    first = splits[0, 0]
    # The search rounds its sums: of values that are all but equal it may have taken the lower for the higher one.
    if splits[0, 1] < cuts.n_cuts[first] and cuts.directions[first] * (values[-1] - values[0]) < 0.0:
        values[:] = 0.0
    return splits, split_gains(total, scores, packed_l2, score_unit), values


@register_jitable
def gradient_criterion(l2, noise):
    """Criterion of gradient boosting, which has no bounds on its scores."""
    nothing = np.empty(0)
    return Criterion(False, np.zeros((2, 3)), False, 0, False, nothing, nothing, l2, noise)


@over_parts("arrays", merge=np.add)
@njit(cache=True, nogil=True)
def side_sums(rows, scales):
    """Sum the weight of each kind and group in the two leaves of a stump.

    Parameters
    ----------
    rows : RowArrays
        No step waits, as a histogram came before.
    scales : ndarray of shape (2, 3)
        Factors that make the weights of each kind and group sum to about `UNIT`.

    Returns
    -------
    ndarray of shape (2, 3, 2), int64
        Indexed by kind, group, and leaf.
    """
    sides = np.zeros((2, 3, 2), dtype=np.int64)
    bounds = rows.bounds
    weights = rows.weights
    uses = rows.uses
    leaf = rows.leaf
    for g in range(3):
        for lo in range(bounds[g], bounds[g + 1], _BLOCK):
            hi = min(lo + _BLOCK, bounds[g + 1])
            for kind in range(2):
                if uses[kind, g]:
                    _add_sides(weights[kind, lo:hi], leaf[lo:hi], scales[kind, g], sides[kind, g])
    return sides


@njit(cache=True, nogil=True)
def _add_sides(weights, leaf, scale, sides):
    up = 0
    total = 0
    for i in range(weights.size):
        weight = np.int64(np.rint(scale * weights[i]))
        total += weight
        up += weight if leaf[i] else 0
    sides[0] += total - up
    sides[1] += up


@over_parts("arrays")
@njit(cache=True, nogil=True)
def reweight(rows, leaf, jump):
    """Multiply the weights of the rows in a leaf of a stump by exp(-jump) and exp(jump), with the next histogram.

    None waits already: a search made one.
    """
    rows.step_waits[0] = True
    rows.waiting_factors[0, 1 - leaf] = 1.0
    rows.waiting_factors[1, 1 - leaf] = 1.0
    rows.waiting_factors[0, leaf] = math.exp(-jump)
    rows.waiting_factors[1, leaf] = math.exp(jump)


@njit(cache=True, nogil=True)
def set_coefficients(state, rule):
    """Set the signed weight of each mass, and return the log of the objective without the margin term."""
    # Each read of a field counts a reference, which takes longer than the sums.
    is_pairs = rule.is_pairs
    log_pairs = rule.log_pairs
    log_weights = rule.log_weights
    log_mass = state.log_mass
    coefficients = state.coefficients
    terms = np.empty(3 if is_pairs else 6)  # a kind of pairs each, or a kind of weight in a group
    largest = -np.inf
    for k in range(terms.size):
        if is_pairs:
            terms[k] = log_pairs[k] + log_mass[0, _BETTER[k]] + log_mass[1, _WORSE[k]]
        else:
            terms[k] = log_weights[k // 3, k % 3] + (0.0 if rule.keeps_sizes else log_mass[k // 3, k % 3])
        largest = max(largest, terms[k])
    coefficients[:] = 0.0
    total = 0.0
    for k in range(terms.size):
        weight = math.exp(terms[k] - largest)
        total += weight
        if is_pairs:
            coefficients[0, _BETTER[k]] += weight
            coefficients[1, _WORSE[k]] += weight
        else:
            coefficients[k // 3, k % 3] = weight
    signs = rule.signs
    for kind in range(2):
        for g in range(3):
            if is_pairs:
                coefficients[kind, g] = (0.5 - kind) * coefficients[kind, g] / total
            else:
                coefficients[kind, g] *= (1.0 - 2.0 * kind) * signs[kind, g] / total
    log_objective = largest + math.log(total)
    return log_objective if is_pairs else log_objective + math.log(max(normalizer(coefficients), _EPSILON))


@njit(cache=True, nogil=True)
def set_objective(state, rule):
    """Set the signed weight of each mass, and the log of the objective."""
    log_objective = set_coefficients(state, rule)
    total_step = state.total_step[0]
    # Masses that keep their sizes minimize no risk, which may rise, and fall below zero.
    state.log_objective[0] = -total_step if rule.keeps_sizes else log_objective + rule.rho * total_step


@njit(cache=True, nogil=True)
def normalizer(coefficients):
    """All weights as positives and as negatives: 1, or less if some are negative."""
    total = 0.0
    for g in range(3):
        total += coefficients[0, g] - coefficients[1, g]
    return total


@njit(cache=True, nogil=True)
def negative_risk(state, rule):
    """The part of the objective that is due to exp(f)."""
    log_parts = rule.log_weights[1] + state.log_mass[1]
    return np.sum(rule.signs[1] * np.exp(np.minimum(log_parts, 700.0)))


@njit(cache=True, nogil=True)
def step_of(edge, state, rule):
    r"""Length of the step along a stump of this edge, in units of 1 / `UNIT`; 0 if it is not worth one.

    With the weight on which the stump is right, wrong and neither, the step minimizes
    :math:`e^{\rho\alpha}(r e^{-\alpha} + w e^{\alpha} + t)`. The bound on the risk of pairs counts ties half right and
    half wrong, and rows, unlike pairs, have none.
    """
    size = abs(edge) / UNIT
    if size <= rule.rho + _ROUNDING:
        return 0.0
    all_weight = normalizer(state.coefficients)
    size = min(size, all_weight - 2.0 * rule.least_wrong)
    right = 0.5 * (all_weight + size)
    wrong = 0.5 * (all_weight - size)
    tied = 0.0
    if rule.is_exact:
        coefficients = state.coefficients
        up = state.shares[0]
        down = state.shares[1]
        # Twice the coefficients are sums over pairs with a common member: three pairs from four sums.
        pn = 2.0 * (coefficients[0, 0] + coefficients[1, 1])
        pu = -2.0 * coefficients[1, 1]
        un = 2.0 * coefficients[0, 1]
        right = pn * up[0, 1] * down[2, 0] + pu * up[0, 1] * down[1, 0] + un * up[1, 1] * down[2, 0]
        wrong = pn * up[0, 0] * down[2, 1] + pu * up[0, 0] * down[1, 1] + un * up[1, 0] * down[2, 1]
        tied = max(1.0 - right - wrong, 0.0)
    wrong = max(wrong, rule.least_wrong)
    if wrong <= 0.0 or right <= 0.0:
        return 0.0
    root = math.sqrt((rule.rho * tied) ** 2 + 4.0 * (1.0 - rule.rho**2) * right * wrong)
    step = math.log(2.0 * (1.0 - rule.rho) * right / (rule.rho * tied + root))
    return min(step, rule.max_step)


@njit(cache=True, nogil=True)
def _drift(shares, jump, before, after):
    """Most by which a step can change the edge of any stump: the sum of the absolute changes of the signed weights."""
    total = 0.0
    for kind in range(2):
        factor = math.exp((2.0 * kind - 1.0) * jump)
        for g in range(3):
            silent = shares[kind, g, 0]
            fired = shares[kind, g, 1]
            scale = after[kind, g] / (silent + fired * factor)
            total += abs(scale - before[kind, g]) * silent + abs(scale * factor - before[kind, g]) * fired
    return total


@njit(cache=True, nogil=True)
def edge_criterion(state, rule, scales):
    """Criterion of boosting by weights, for scales that make the weights of each kind and group sum to `UNIT`."""
    coefficients = state.coefficients * scales
    most = np.int64(normalizer(state.coefficients) * UNIT) - 2 * TIE
    return Criterion(True, coefficients, rule.is_guarded, most, rule.non_negative, state.lower, state.upper, 0.0, 0.0)


@njit(cache=True, nogil=True)
def set_shares(state, sides, fired):
    """Set the totals, and the shares where a stump is silent and in the leaf where it fires."""
    uses = state.uses
    totals = state.totals
    shares = state.shares
    for kind in range(2):
        for g in range(3):
            silent_sum = sides[kind, g, 1 - fired] if uses[kind, g] else np.int64(UNIT)
            fired_sum = sides[kind, g, fired] if uses[kind, g] else np.int64(0)
            total = silent_sum + fired_sum
            totals[kind, g] = total
            shares[kind, g, 0] = silent_sum / total
            shares[kind, g, 1] = fired_sum / total


@register_jitable
def grow_stump(rows, state, cuts, rule, columns, tries):
    """Grow a tree of one level on the weights; the shares of the state become those of its leaves.

    Returns
    -------
    stump : ndarray of shape (3,), int64
        Column, cut, and whether missing values go up.
    edge : float
        Signed, in units of 1 / `UNIT`.
    step : float
        0 if it is not worth one.
    """
    scales = UNIT / state.sums
    criterion = edge_criterion(state, rule, scales)
    _, splits, edges, _ = grow(rows, cuts, criterion, columns, tries, np.uint64(0))
    if edges[0] == 0.0:
        return splits[0], 0.0, 0.0
    set_shares(state, side_sums(rows, scales), int(edges[0] > 0.0))
    return splits[0], edges[0], step_of(edges[0], state, rule)


@njit(cache=True, nogil=True)
def take_step(stump, edge, step, state, rule):
    """Update masses, sums and table by a stump that adds ``low_factor * step`` where it is silent, else the step.

    Only the weights of rows on which it fires are multiplied; the factor common to all goes into the masses.
    """
    low = rule.low_factor * step
    jump = step - low
    before = state.coefficients.copy()
    shares = state.shares  # a field that is read in a loop would be counted as a reference each time
    log_mass = state.log_mass
    sums = state.sums
    totals = state.totals
    for kind in range(2):
        sign = 2.0 * kind - 1.0
        factor = math.exp(sign * jump)
        for g in range(3):
            growth = shares[kind, g, 0] + shares[kind, g, 1] * factor
            log_mass[kind, g] += math.log(growth) + sign * low
            # Totals are measured in units of the sums: repeated multiplication drifts.
            sums[kind, g] *= totals[kind, g] / UNIT * growth
    _add_to_table(state.table[stump[0]], stump[1], stump[2], edge > 0.0, low, step)
    state.total_step[0] += step
    state.moved[0] += jump
    set_objective(state, rule)
    change = _drift(shares, jump, before, state.coefficients)
    lower = state.lower
    upper = state.upper
    for e in range(lower.size):
        lower[e] -= change
        upper[e] += change


@njit(cache=True, nogil=True)
def _add_to_table(of_column, cut, missing_up, fires_above, low, step):
    for code in range(of_column.size - 1):
        of_column[code] += step if (code > cut) == fires_above else low
    of_column[of_column.size - 1] += step if (missing_up == 1) == fires_above else low


@njit(cache=True, nogil=True)
def keep(r, stump, edge, step, before, state, rule, found):
    """Write the stump of a round; `before` it was the log of the objective."""
    for k in range(3):
        found.splits[r, k] = stump[k]
    is_above = edge > 0.0
    found.values[r, 1 if is_above else 0] = step
    found.values[r, 0 if is_above else 1] = rule.low_factor * step
    found.gains[r] = -(state.log_objective[0] - before)
    found.log_objectives[r] = state.log_objective[0]
    found.log_mass[r] = state.log_mass


@at_once_in_one_part("arrays")
def weighted_rounds(rows, state, cuts, rule, learning_rate, drawn_columns, drawn_cuts, found):
    """Run rounds of boosting by weights, up to one that finds nothing, or needs weights computed from the scores.

    Parameters
    ----------
    rows : RowArrays, or an object with the methods `ask` and `tell`
    state : State
    cuts : Cuts
    rule : StepRule
    learning_rate : float
    drawn_columns : ndarray of shape (n_rounds, n_drawn), int64
        The columns to search in each round, ascending.
    drawn_cuts : ndarray of shape (n_rounds, n_drawn, n_tries), int64
        The cuts to try of each; all of them if there are none.
    found : Found
        Written.

    Returns
    -------
    int
        Number of rounds that found a stump. The weights wait for the caller if ``state.moved`` exceeds `REFRESH`.
    """
    n_features = cuts.n_cuts.size
    if math.isnan(state.log_objective[0]):
        set_objective(state, rule)
    for r in range(len(drawn_columns)):
        if state.log_objective[0] < VANISHED:
            return r
        if rule.least_negative_risk > -np.inf and negative_risk(state, rule) <= rule.least_negative_risk:
            return r
        columns = drawn_columns[r : r + 1]
        stump, edge, step = grow_stump(rows, state, cuts, rule, columns, drawn_cuts[r : r + 1])
        if step <= NO_STEP and (columns.size < n_features or drawn_cuts.shape[2] > 0):
            # Before giving up, search what was not drawn.
            columns = np.arange(n_features).reshape(1, -1)
            stump, edge, step = grow_stump(rows, state, cuts, rule, columns, np.empty((1, 0, 0), dtype=np.int64))
        if step <= NO_STEP:
            return r
        step *= learning_rate
        before = state.log_objective[0]
        take_step(stump, edge, step, state, rule)
        keep(r, stump, edge, step, before, state, rule, found)
        if state.moved[0] > REFRESH:
            return r + 1
        reweight(rows, int(edge > 0.0), step - rule.low_factor * step)
    return len(drawn_columns)


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
