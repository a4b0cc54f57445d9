"""Rounds of boosting with stumps: signed histograms of row weights, the best stump, and its step.

Weights are summed as 64-bit integers in units of 2**-60. Integer sums do not depend on their order, so a model does not
depend, in any bit, on the number of threads, on how the rows are split, or on the order of the rows.

Rows are in three groups: rows ``bounds[g]:bounds[g + 1]`` are group g, the positives, the unlabeled rows and the
negatives. Row i has two kinds of weight, ``weights[0, i]`` ~ exp(-f) as the better member of its pairs and
``weights[1, i]`` ~ exp(f) as the worse one. Arrays of shape (2, 3) are indexed by kind of weight and group.

`rounds` is written once. `rounds_at_once` is the same function compiled, for rows in one piece; for rows in several
pieces it runs as Python, and its sums over rows are those that the pieces return.
"""

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from fewlabel.jit import njit, over_parts

UNIT = 2.0**60
# Edges that differ by less than 1e-12 of all weight are equal, so that rounding never chooses a stump.
TIE = int(1e-12 * UNIT)
NO_STEP = 1e-12  # a step of at most this length counts as none
VANISHED = -600.0  # log of an objective that is zero up to rounding: nothing is left to learn
REFRESH = 200.0  # recompute weights once they may have moved by exp(200): far from overflow and underflow
_EDGE_ERROR = 1e-9  # of bounds of edges: weights are rounded to integers, one by one
_EPSILON = np.finfo(np.float64).eps
_BLOCK = 2048  # signed weights of a block (16 KiB) stay in the first-level cache while all columns read them
_FIRST = 4  # columns that a guarded search looks at first: the histogram works on four at a time


class WeightedRows(NamedTuple):
    """Rows in one piece."""

    codes: np.ndarray  # (n_features, n_rows), uint8
    weights: np.ndarray  # (2, n_rows)
    bounds: np.ndarray  # (4,)
    uses: np.ndarray  # (2, 3), bool: the kinds and groups with weights
    # The last step multiplies weights when the next histogram reads them: a pass of its own would cost as much again.
    waiting_column: np.ndarray  # (1,), -1 if no step waits
    waiting_fires: np.ndarray  # (n_codes,), uint8
    waiting_factors: np.ndarray  # (2,), one for each kind of weight


class Cuts(NamedTuple):
    """The cuts of the columns."""

    n_cuts: np.ndarray  # (n_features,)
    has_missing: np.ndarray  # (n_features,), bool
    goes_above: np.ndarray  # (n_features, most cuts), bool: the side of missing values if training had none
    directions: np.ndarray  # (n_features,): 1 if the score must not fall along the column, -1 not rise, 0 either


class StepRule(NamedTuple):
    """What distinguishes one booster of stumps from another.

    The objective is a sum of pairs, ``exp(log_pairs)`` times the masses of their two groups, or of signed masses,
    ``signs * exp(log_weights)`` times each.
    """

    is_pairs: bool
    log_pairs: np.ndarray  # (3,): positive and negative, positive and unlabeled, unlabeled and negative
    log_weights: np.ndarray  # (2, 3)
    signs: np.ndarray  # (2, 3)
    keeps_sizes: bool  # whether the masses keep their first sizes, whatever the weights
    is_exact: bool  # whether a step minimizes the risk of the pairs, or a bound on it
    rho: float
    least_edge: float
    least_wrong: float  # keeps a step finite if nothing is on the wrong side
    max_step: float
    low_factor: float  # the move where a stump is silent, as a multiple of the step
    is_guarded: bool  # whether a stump must have a positive error
    non_negative: bool  # whether its error on the negatives must not be negative
    least_negative_risk: float  # ends the fit


class State(NamedTuple):
    """What rounds change. Bounds of edges leave most columns out of most searches; the stump found is the same."""

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
    log_objective: np.ndarray  # (1,)


class Found(NamedTuple):
    """The stumps of some rounds."""

    splits: np.ndarray  # (n_rounds, 3): column, cut, and whether missing values go above it
    values: np.ndarray  # (n_rounds, 2): added at or below the cut, and above it
    log_objectives: np.ndarray  # (n_rounds,)
    log_mass: np.ndarray  # (n_rounds, 2, 3)


@over_parts("for_stumps", merge=np.add)
@njit(cache=True, nogil=True)
def signed_histogram(rows, coefficients, columns):
    """Sum the signed weights ``coefficients[0, g] * up + coefficients[1, g] * down`` of the rows of group g by code.

    The step that waits is taken first, block by block.

    Parameters
    ----------
    rows : WeightedRows
    coefficients : ndarray of shape (2, 3)
        Coefficient of each kind and group, times `UNIT`. A group with two zeros is skipped.
    columns : ndarray of int64

    Returns
    -------
    ndarray of shape (len(columns), n_codes), int64
    """
    hist = np.zeros((columns.size, rows.waiting_fires.size), dtype=np.int64)
    signed = np.empty(_BLOCK, dtype=np.int64)
    fired = np.empty(_BLOCK, dtype=np.uint8)
    # Each read of a field counts a reference, which takes longer than the work on a few rows.
    codes = rows.codes
    bounds = rows.bounds
    up_weights = rows.weights[0]
    down_weights = rows.weights[1]
    uses = rows.uses
    waiting_column = rows.waiting_column[0]
    waiting_fires = rows.waiting_fires
    up_factor = rows.waiting_factors[0]
    down_factor = rows.waiting_factors[1]
    for g in range(3):
        up = coefficients[0, g]
        down = coefficients[1, g]
        for lo in range(bounds[g], bounds[g + 1], _BLOCK):
            hi = min(lo + _BLOCK, bounds[g + 1])
            if waiting_column >= 0:
                _look_up(codes[waiting_column, lo:hi], waiting_fires, fired)
                if uses[0, g]:
                    _multiply(up_weights[lo:hi], fired, up_factor)
                if uses[1, g]:
                    _multiply(down_weights[lo:hi], fired, down_factor)
            if up != 0.0 or down != 0.0:
                _sign(up_weights[lo:hi], down_weights[lo:hi], up, down, signed)
                _add_block(codes, columns, signed, lo, hi, hist)
    rows.waiting_column[0] = -1
    return hist


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
def _sign(up_weights, down_weights, up, down, signed):
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
def _add_block(codes, columns, signed, lo, hi, hist):
    quads = columns.size - columns.size % 4
    for j in range(0, quads, 4):  # four columns per pass: a weight is loaded once for four additions
        c0 = codes[columns[j], lo:hi]
        c1 = codes[columns[j + 1], lo:hi]
        c2 = codes[columns[j + 2], lo:hi]
        c3 = codes[columns[j + 3], lo:hi]
        h0 = hist[j]
        h1 = hist[j + 1]
        h2 = hist[j + 2]
        h3 = hist[j + 3]
        for i in range(hi - lo):
            w = signed[i]
            h0[c0[i]] += w
            h1[c1[i]] += w
            h2[c2[i]] += w
            h3[c3[i]] += w
    for j in range(quads, columns.size):
        c0 = codes[columns[j], lo:hi]
        h0 = hist[j]
        for i in range(hi - lo):
            h0[c0[i]] += signed[i]


@over_parts("for_stumps", merge=np.add)
@njit(cache=True, nogil=True)
def side_sums(rows, column, fires, scales):
    """Sum the weight of each kind and group on the two sides of a stump.

    Parameters
    ----------
    rows : WeightedRows
        No step waits, as a histogram came before.
    column : int
    fires : ndarray of shape (n_codes,), uint8
    scales : ndarray of shape (2, 3)
        Factors that make the weights of each kind and group sum to about `UNIT`.

    Returns
    -------
    ndarray of shape (2, 3, 2), int64
        Indexed by kind, group, and side (silent, fires).
    """
    sides = np.zeros((2, 3, 2), dtype=np.int64)
    fired = np.empty(_BLOCK, dtype=np.uint8)
    code = rows.codes[column]
    bounds = rows.bounds
    weights = rows.weights
    uses = rows.uses
    for g in range(3):
        for lo in range(bounds[g], bounds[g + 1], _BLOCK):
            hi = min(lo + _BLOCK, bounds[g + 1])
            _look_up(code[lo:hi], fires, fired)
            for kind in range(2):
                if uses[kind, g]:
                    _add_fired(weights[kind, lo:hi], fired, scales[kind, g], sides[kind, g])
    return sides


@njit(cache=True, nogil=True)
def _add_fired(weights, fired, scale, sides):
    on = 0
    total = 0
    for i in range(weights.size):
        weight = np.int64(np.rint(scale * weights[i]))
        total += weight
        on += weight if fired[i] else 0
    sides[0] += total - on
    sides[1] += on


@over_parts("for_stumps")
@njit(cache=True, nogil=True)
def reweight(rows, column, fires, jump):
    """Multiply the weights of the rows on which a stump fires by exp(-jump) and exp(jump), with the next histogram.

    None waits already: a search made one.
    """
    rows.waiting_column[0] = column
    waiting_fires = rows.waiting_fires
    for code in range(fires.size):  # an assignment of slices would first compare their shapes
        waiting_fires[code] = fires[code]
    rows.waiting_factors[0] = math.exp(-jump)
    rows.waiting_factors[1] = math.exp(jump)


@njit(cache=True, nogil=True)
def set_coefficients(state, rule):
    """Set the signed weight of each mass, and return the log of the objective without the margin term."""
    log_mass = state.log_mass
    coefficients = state.coefficients
    if rule.is_pairs:
        log_pairs = rule.log_pairs
        pn = log_pairs[0] + log_mass[0, 0] + log_mass[1, 2]
        pu = log_pairs[1] + log_mass[0, 0] + log_mass[1, 1]
        un = log_pairs[2] + log_mass[0, 1] + log_mass[1, 2]
        largest = max(pn, pu, un)
        pn = math.exp(pn - largest)
        pu = math.exp(pu - largest)
        un = math.exp(un - largest)
        total = pn + pu + un
        coefficients[0, 0] = 0.5 * (pn + pu) / total
        coefficients[0, 1] = 0.5 * un / total
        coefficients[1, 1] = -0.5 * pu / total
        coefficients[1, 2] = -0.5 * (pn + un) / total
        return largest + math.log(total)
    largest = -np.inf
    for kind in range(2):
        for g in range(3):
            mass = 0.0 if rule.keeps_sizes else log_mass[kind, g]
            coefficients[kind, g] = rule.log_weights[kind, g] + mass
            largest = max(largest, coefficients[kind, g])
    total = 0.0
    for kind in range(2):
        for g in range(3):
            coefficients[kind, g] = math.exp(coefficients[kind, g] - largest)
            total += coefficients[kind, g]
    for kind in range(2):
        for g in range(3):
            coefficients[kind, g] *= (1.0 - 2.0 * kind) * rule.signs[kind, g] / total
    return largest + math.log(total) + math.log(max(normalizer(coefficients), _EPSILON))


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
def first_columns(state, rule, columns):
    """Columns to search first; all that can have the best stump, unless stumps are guarded.

    A guard may reject the largest edge of a column, so that a lower bound says nothing. The columns with the largest
    upper bounds then leave out most of the others.
    """
    if rule.is_guarded:
        order = np.argsort(-state.upper[columns], kind="mergesort")
        return np.sort(columns[order[:_FIRST]])
    lower = state.lower
    upper = state.upper
    least = -np.inf
    for e in columns:
        least = max(least, lower[e])
    chosen = np.empty_like(columns)
    n_chosen = 0
    for e in columns:
        chosen[n_chosen] = e  # overwritten by the next one if it is not chosen
        n_chosen += upper[e] >= least - _EDGE_ERROR
    return chosen[:n_chosen]


@njit(cache=True, nogil=True)
def other_columns(state, columns, searched, size):
    """Columns that have not been searched, and can have an edge of this size."""
    chosen = np.empty_like(columns)
    n_chosen = 0
    n_passed = 0
    for e in columns:
        if n_passed < searched.size and searched[n_passed] == e:
            n_passed += 1
        elif state.upper[e] >= size - _EDGE_ERROR:
            chosen[n_chosen] = e
            n_chosen += 1
    return chosen[:n_chosen]


@njit(cache=True, nogil=True)
def best_stump(hist, positive, columns, cuts, drawn_cuts, state, rule):
    """The stump with the largest absolute edge, ``2 * (weight on which it fires) - (all weight)``.

    The stump fires above its cut; the one that fires at or below it has the negative edge, so both polarities are
    searched at once. Where a column has missing values, both sides are tried for them, and so is the stump that tests
    only whether the value is missing (cut ``n_cuts``). Ties within `TIE` go to the first column, then the lowest cut,
    then to missing values that do not fire.

    Parameters
    ----------
    hist : ndarray of shape (len(columns), n_codes), int64
        Sums of the signed weights; the last code is that of missing values. Negative weights can make an error
        negative: a guarded stump has a positive one.
    positive : ndarray of shape (len(columns), n_codes), int64
        The same of the weights as positives alone, if errors on negatives must not be negative.
    columns : ndarray of int64
    cuts : Cuts
    drawn_cuts : ndarray of shape (n_features, n_drawn), int64
        The only cuts to try of each column; all of them if it is empty.
    state : State
        The bounds of the columns become their largest edges.
    rule : StepRule

    Returns
    -------
    position, cut, missing, edge : int
        Position in `columns`, cut (fires on codes above it), whether the stump fires on missing values, and signed
        edge, 0 if there is no such stump.
    """
    least = 2 * TIE if rule.is_guarded else -1
    most = np.int64(normalizer(state.coefficients) * UNIT) - 2 * TIE if rule.is_guarded else np.int64(2**62)
    n_cuts = cuts.n_cuts
    has_missing = cuts.has_missing
    directions = cuts.directions
    lower = state.lower
    upper = state.upper
    allowed = np.ones(hist.shape[1], dtype=np.bool_)
    sizes = np.empty(columns.size, dtype=np.int64)
    best_size = np.int64(least)
    for j in range(columns.size):
        e = columns[j]
        column = (n_cuts[e], has_missing[e], directions[e])
        sizes[j] = _largest_edge(hist[j], column)
        lower[e] = sizes[j] / UNIT
        upper[e] = sizes[j] / UNIT
        if rule.is_guarded:
            _allow(drawn_cuts, e, allowed)
            limits = (least, most, most)
            sizes[j], _ = _scan(hist[j], positive[j], column, allowed, limits, rule.non_negative)
        best_size = max(best_size, sizes[j])
    for j in range(columns.size):
        if sizes[j] > least and sizes[j] >= best_size - TIE:
            # The first column that ties with the best, and its first cut that does.
            e = columns[j]
            column = (n_cuts[e], has_missing[e], directions[e])
            _allow(drawn_cuts, e, allowed)
            limits = (least, most, best_size - TIE)
            _, best = _scan(hist[j], positive[j], column, allowed, limits, rule.non_negative)
            return j, best[0], best[1], best[2]
    return 0, 0, 0, np.int64(0)


@njit(cache=True, nogil=True)
def _allow(drawn_cuts, column, allowed):
    """Mark the cuts to try of a column."""
    if drawn_cuts.size > 0:
        allowed[:] = False
        for cut in drawn_cuts[column]:
            allowed[cut] = True


@njit(cache=True, nogil=True)
def _size(edge, direction):
    """Size of an edge; of one in the wrong direction negative. A stump with a positive edge fires above its cut."""
    return abs(edge) if direction == 0 else direction * edge


@njit(cache=True, nogil=True)
def _largest_edge(hist, column):
    """The largest size of an edge of a column: a loop of its own, without the conditions of `_scan`."""
    n_cuts, has_missing, direction = column
    absent = hist[hist.size - 1] if has_missing else 0
    above = _sum_up_to(hist, n_cuts)
    total = absent + above
    largest = -1
    for k in range(n_cuts):
        above -= hist[k]
        largest = max(largest, _size(2 * above - total, direction))
        if has_missing:
            largest = max(largest, _size(2 * (above + absent) - total, direction))
    if has_missing:
        # A stump that tests for missing values only is constant along the column.
        largest = max(largest, abs(2 * absent - total))
    return largest


@njit(cache=True, nogil=True)
def _scan(hist, positive, column, allowed, limits, non_negative):
    """Scan the cuts of a column in order, up to the first edge of the size that is looked for.

    Parameters
    ----------
    hist, positive, allowed
        Of the column.
    column : (int, bool, int)
        Its number of cuts, whether it has missing values, and its direction.
    limits : (int, int, int)
        Only edges above the first and below the second may be chosen; the third is the size.
    non_negative : bool
        Whether the error of a stump on the negatives must not be negative.

    Returns
    -------
    size : int
        Of the largest edge that may be chosen, and has been seen.
    best : (int, int, int)
        Its cut, whether missing values are above the cut, and the signed edge.
    """
    n_cuts, has_missing, direction = column
    least, most, wanted = limits
    absent = hist[hist.size - 1] if has_missing else 0
    above = _sum_up_to(hist, n_cuts)
    total = absent + above
    # A signed weight is the weight as a positive minus the weight as a negative.
    absent_positive = positive[hist.size - 1] if has_missing else 0
    above_positive = _sum_up_to(positive, n_cuts)
    all_negative = absent_positive + above_positive - total
    largest = least
    best = (0, 0, np.int64(0))
    for k in range(n_cuts + has_missing):
        above -= hist[k]
        above_positive -= positive[k]
        only_missing = 1 if k == n_cuts else 0  # nothing present lies above: the stump must fire on missing values
        for missing in range(only_missing, 1 + has_missing):
            fired = above + missing * absent
            edge = 2 * fired - total
            size = abs(edge) if only_missing else _size(edge, direction)
            if size <= largest or size >= most or not (only_missing or allowed[k]):
                continue
            if non_negative:
                negative = above_positive + missing * absent_positive - fired
                if edge < 0:  # the other polarity
                    negative = all_negative - negative
                if negative < -TIE:
                    continue
            largest = size
            best = (k, missing, edge)
            if size >= wanted:
                return largest, best
    return largest, best


@njit(cache=True, nogil=True)
def _sum_up_to(hist, last):
    total = 0
    for k in range(last + 1):
        total += hist[k]
    return total


@njit(cache=True, nogil=True)
def fires_on(column, cut, missing, edge, cuts, n_codes):
    """Whether a stump fires on each code, as uint8."""
    fires = np.empty(n_codes, dtype=np.uint8)
    is_above = edge > 0
    for code in range(n_codes - 1):
        fires[code] = (code > cut) == is_above
    missing_above = missing == 1 if cuts.has_missing[column] else cuts.goes_above[column, cut]
    fires[n_codes - 1] = missing_above == is_above
    return fires


@njit(cache=True, nogil=True)
def merge_histograms(columns, hist, others, other_hist):
    """Columns of two searches in order, and their histograms."""
    merged = np.sort(np.concatenate((columns, others)))
    of_merged = np.empty((merged.size, hist.shape[1]), dtype=np.int64)
    k = 0
    for j in range(merged.size):
        if k < columns.size and columns[k] == merged[j]:
            of_merged[j] = hist[k]
            k += 1
        else:
            of_merged[j] = other_hist[j - k]
    return merged, of_merged


@njit(cache=True, nogil=True)
def set_shares(state, sides):
    """Set the totals and the share of each side; unused kinds and groups are silent."""
    uses = state.uses
    totals = state.totals
    shares = state.shares
    for kind in range(2):
        for g in range(3):
            silent = sides[kind, g, 0] if uses[kind, g] else np.int64(UNIT)
            fired = sides[kind, g, 1] if uses[kind, g] else np.int64(0)
            total = silent + fired
            totals[kind, g] = total
            shares[kind, g, 0] = silent / total
            shares[kind, g, 1] = fired / total


@register_jitable
def search(rows, state, cuts, rule, columns, drawn_cuts):
    """The best stump of the columns; the shares of the state become those of its sides.

    Returns
    -------
    column, cut, missing, edge : int
        Edge 0 if there is none.
    fires : ndarray of shape (n_codes,), uint8
    """
    scales = UNIT / state.sums
    signed = state.coefficients * scales
    as_positives = signed * np.array([[1.0], [0.0]]) if rule.non_negative else signed
    searched = first_columns(state, rule, columns)
    hist = signed_histogram(rows, signed, searched)
    positive = signed_histogram(rows, as_positives, searched) if rule.non_negative else hist  # or not read
    best = best_stump(hist, positive, searched, cuts, drawn_cuts, state, rule)
    if rule.is_guarded:
        others = other_columns(state, columns, searched, abs(best[3]) / UNIT)
        if others.size > 0:
            more = signed_histogram(rows, signed, others)
            both, merged_hist = merge_histograms(searched, hist, others, more)
            if rule.non_negative:
                more = signed_histogram(rows, as_positives, others)
            positive = merge_histograms(searched, positive, others, more)[1]
            searched = both
            best = best_stump(merged_hist, positive, searched, cuts, drawn_cuts, state, rule)
    position, cut, missing, edge = best
    column = searched[position]
    fires = fires_on(column, cut, missing, edge, cuts, state.table.shape[1])
    set_shares(state, side_sums(rows, column, fires, scales))
    return column, cut, missing, edge, fires


@njit(cache=True, nogil=True)
def step_of(edge, state, rule):
    r"""Length of the step along a stump of this edge, in units of 1 / `UNIT`; 0 if it is not worth one.

    With the weight on which the stump is right, wrong and neither, the step minimizes
    :math:`e^{\rho\alpha}(r e^{-\alpha} + w e^{\alpha} + t)`. The bound on the risk of pairs counts ties half right and
    half wrong, and rows, unlike pairs, have none.
    """
    size = abs(edge) / UNIT
    if size <= rule.least_edge:
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
def take_step(column, fires, step, state, rule):
    """Update masses, sums and table by a stump that adds ``low_factor * step`` where it is silent, else the step.

    Only the weights of rows that fire are multiplied; the factor common to all goes into the masses.
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
    of_column = state.table[column]
    for code in range(fires.size):
        of_column[code] += step if fires[code] else low
    state.total_step[0] += step
    state.moved[0] += jump
    log_objective = set_coefficients(state, rule)
    # Masses that keep their sizes minimize no risk, which may rise, and fall below zero.
    margin = rule.rho * state.total_step[0]
    state.log_objective[0] = -state.total_step[0] if rule.keeps_sizes else log_objective + margin
    change = _drift(shares, jump, before, state.coefficients)
    lower = state.lower
    upper = state.upper
    for e in range(lower.size):
        lower[e] -= change
        upper[e] += change


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
def keep(r, stump, edge, step, state, rule, found):
    """Write the stump of a round: column, cut, and whether missing values are above it; its edge and step."""
    for k in range(3):
        found.splits[r, k] = stump[k]
    is_above = edge > 0
    found.values[r, 1 if is_above else 0] = step
    found.values[r, 0 if is_above else 1] = rule.low_factor * step
    found.log_objectives[r] = state.log_objective[0]
    found.log_mass[r] = state.log_mass


@register_jitable
def rounds(rows, state, cuts, rule, learning_rate, drawn_columns, drawn_cuts, found):
    """Run rounds of boosting, up to the first one that finds nothing, or needs weights computed from the scores.

    Parameters
    ----------
    rows : WeightedRows, or an object with the methods `ask` and `tell`
    state : State
    cuts : Cuts
    rule : StepRule
    learning_rate : float
    drawn_columns : ndarray of shape (n_rounds, n_drawn), int64
        The columns to search in each round, ascending.
    drawn_cuts : ndarray of shape (n_rounds, n_features, n_cuts) or (n_rounds, 0, 0), int64
        The cuts to try; all of them if it is empty.
    found : Found
        Written.

    Returns
    -------
    int
        Number of rounds that found a stump. The weights wait for the caller if ``state.moved`` exceeds `REFRESH`.
    """
    every = np.arange(cuts.n_cuts.size)
    for r in range(len(drawn_columns)):
        if state.log_objective[0] < VANISHED:
            return r
        if rule.least_negative_risk > -np.inf and negative_risk(state, rule) <= rule.least_negative_risk:
            return r
        columns = drawn_columns[r]
        column, cut, missing, edge, fires = search(rows, state, cuts, rule, columns, drawn_cuts[r])
        step = step_of(edge, state, rule)
        if step <= NO_STEP and (columns.size < every.size or drawn_cuts.size > 0):
            # Before giving up, search what was not drawn.
            column, cut, missing, edge, fires = search(rows, state, cuts, rule, every, drawn_cuts[r, :0])
            step = step_of(edge, state, rule)
        if step <= NO_STEP:
            return r
        step *= learning_rate
        take_step(column, fires, step, state, rule)
        keep(r, (column, cut, missing), edge, step, state, rule, found)
        if state.moved[0] > REFRESH:
            return r + 1
        reweight(rows, column, fires, step - rule.low_factor * step)
    return len(drawn_columns)


@njit(cache=True, nogil=True)
def rounds_at_once(rows, state, cuts, rule, learning_rate, drawn_columns, drawn_cuts, found):
    """`rounds` of rows in one piece, in one call: a round on few rows takes less time than a call from Python."""
    return rounds(rows, state, cuts, rule, learning_rate, drawn_columns, drawn_cuts, found)
