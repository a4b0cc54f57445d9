"""Rounds of boosting: a tree each, of which a stump is the one with a single split."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fewlabel.boosting.rows import Rows
from fewlabel.kernels import symmetric_trees
from fewlabel.kernels.bins import round_down
from fewlabel.kernels.symmetric_trees import REFRESH, Cuts
from fewlabel.threads import RowThreads

MAX_DEPTH = 8  # the leaf of a row is a byte
_AHEAD = 50  # rounds of stumps in one call of a kernel, if the rows are few
_MOST_KEPT = 512  # cuts of a tree that are drawn once for several fits
_CELLS_AHEAD = 25_000_000  # rows times columns of such a call: about ten milliseconds


class Rounds(NamedTuple):
    """One round or several, whose trees have been added to the scores."""

    splits: np.ndarray  # (n_rounds, depth, 3), int64: column, cut, and whether missing values go up
    gains: np.ndarray  # (n_rounds, depth)
    values: np.ndarray  # (n_rounds, 2**depth): the ups and downs of a row, the first level first, are bits of its leaf
    losses: Callable[[], list]  # the objective after each round; to be called before the next rounds
    log_mass: np.ndarray | None = None  # (n_rounds, 2, 3) of stumps: log mean exp(-f) and exp(f) of the groups


def stump_rounds(
    rows, binning, rule, uses, *, learning_rate, n_drawn, n_thresholds, seed, total_step, first, n_rounds, directions
):
    """Yield rounds of stumps with the largest edge and steps in closed form, as in AdaBoost, until none is worth it.

    Parameters
    ----------
    rows : Rows or SpreadRows
    binning : Binning
    rule : symmetric_trees.StepRule
    uses : ndarray of shape (2, 3), bool
        The masses that the rule depends on: mean exp(-f) and mean exp(f) of positives, unlabeled rows and negatives.
    learning_rate : float
    n_drawn : int
        Columns to search in a round.
    n_thresholds : int or None
        Cuts to try of each column in a round; None for all of them.
    seed : int
    total_step : float
        Sum of the steps of earlier rounds.
    first, n_rounds : int
        Number of the first round, and of the one before which to stop.
    directions : ndarray of int of shape (n_features,)
        1 where the score must not fall along a column, -1 where it must not rise, 0 where it may do either.
    """
    n_features = binning.n_features
    cuts = Cuts(binning.n_cuts, binning.has_missing, directions)
    state = symmetric_trees.State(
        uses=uses & (rows.sizes > 0),
        log_mass=np.zeros((2, 3)),
        sums=np.ones((2, 3)),
        coefficients=np.zeros((2, 3)),
        lower=np.zeros(n_features),
        upper=np.full(n_features, np.inf),
        table=np.zeros((n_features, binning.n_codes)),
        totals=np.zeros((2, 3), dtype=np.int64),
        shares=np.zeros((2, 3, 2)),
        total_step=np.array([total_step]),
        moved=np.zeros(1),
        log_objective=np.zeros(1),
    )
    _set_weights(rows, state)
    log_objective = symmetric_trees.set_coefficients(state, rule) + rule.rho * total_step
    state.log_objective[0] = -total_step if rule.keeps_sizes else log_objective
    t = first
    while t < n_rounds:
        before = state.log_objective[0]
        # Many rounds at once on few rows, where a round takes less time than a call of a kernel.
        n_ahead = 1
        if isinstance(rows, Rows):
            n_cells = max(int(rows.sizes.sum()) * n_drawn, 1)
            n_ahead = min(_AHEAD, max(1, _CELLS_AHEAD // n_cells), n_rounds - t)
        found = symmetric_trees.Found(
            splits=np.empty((n_ahead, 3), dtype=np.int64),
            values=np.empty((n_ahead, 2)),
            log_objectives=np.empty(n_ahead),
            log_mass=np.empty((n_ahead, 2, 3)),
        )
        columns = draw_columns(seed, t, t + n_ahead, n_features, n_drawn)
        drawn_cuts = _draw_cuts(seed, t, columns, binning, n_thresholds)
        terms = state, cuts, rule, float(learning_rate), columns, drawn_cuts, found
        if isinstance(rows, Rows):
            n_found = symmetric_trees.weighted_rounds_at_once(rows.arrays, *terms)
        else:
            n_found = symmetric_trees.weighted_rounds(rows, *terms)
        if n_found:
            gains = -np.diff(found.log_objectives[:n_found], prepend=before)
            losses = np.exp(found.log_objectives[:n_found])
            splits = found.splits[:n_found, None]
            yield Rounds(splits, gains[:, None], found.values[:n_found], losses.tolist, found.log_mass)
        # Rounds can end early for two reasons: weights that are due to be computed again, or nothing left to learn.
        if state.moved[0] > REFRESH:
            _set_weights(rows, state)
        elif n_found < n_ahead:
            return
        t += n_found


def _set_weights(rows, state):
    """Compute the weights from the scores, so that they sum to one in each kind and group."""
    # Less the largest exponent of each kind and group, so that no power of e overflows.
    largest = rows.ask(Rows.weigh, state.uses, state.table, merge=np.maximum)
    rows.tell(Rows.exponentiate, largest)
    sums = np.reshape(rows.sums(Rows.weights_by_group), (2, 3))
    sums = np.where(state.uses, sums, 1.0)
    rows.tell(Rows.divide, sums)
    state.log_mass[:] = np.where(state.uses, largest + np.log(sums), 0.0)
    state.sums[:] = 1.0
    state.moved[:] = 0.0


# A generator of its own for each round takes 20 microseconds, twice as long as the rest of a round on a small table.
# The fits that calibrate a model draw the same columns as the model itself.
@lru_cache(maxsize=32)
def draw_columns(seed, start, stop, n_columns, n_drawn):
    """Sorted columns of the rounds ``start:stop``, one row for each; they depend on the seed and the round only."""
    if n_drawn == n_columns:
        return np.tile(np.arange(n_columns), (stop - start, 1))
    draws = [np.random.default_rng([seed, t]).choice(n_columns, n_drawn, replace=False) for t in range(start, stop)]
    return np.sort(draws, axis=1)


def _draw_cuts(seed, start, columns, binning, n_thresholds):
    """Cuts to try in each round: of each drawn column, values drawn from its range, each moved up to the next cut."""
    n_rounds, n_drawn = columns.shape
    if n_thresholds is None:
        return np.empty((n_rounds, n_drawn, 0), dtype=np.int64)
    cuts = np.zeros((n_rounds, n_drawn, n_thresholds), dtype=np.int64)
    for r in range(n_rounds):
        rng = np.random.default_rng([seed, start + r, 1])
        part = rng.random((binning.n_features, n_thresholds))
        values = (1 - part) * binning.lowest[:, None] + part * binning.highest[:, None]
        for j, e in enumerate(columns[r]):
            last = max(binning.n_cuts[e] - 1, 0)
            # Between two cuts all thresholds split the rows alike.
            position = np.searchsorted(binning.cuts[e, : last + 1], values[e])
            cuts[r, j] = np.minimum(position, last)
    return cuts


def tree_rounds(
    rows,
    binning,
    loss,
    *,
    max_depth,
    learning_rate,
    l2,
    noise,
    fading,
    splitter,
    bootstrap,
    n_drawn,
    seed,
    first,
    n_rounds,
    directions,
):
    """Yield rounds of symmetric trees on gradients and second derivatives, until none is worth it: gradient boosting.

    Parameters
    ----------
    rows : Rows or SpreadRows
    binning : Binning
    loss : object
        ``set_derivatives()`` sets the derivatives of the rows, and is False if the fit should end; ``value()`` is the
        objective.
    max_depth : int
    learning_rate : float
    l2 : float
        Penalty on the squares of the values of the leaves.
    noise : float
        Standard deviation of the noise on the scores of splits where all cuts are tried, in units of the norm of the
        gradient of rows of weight 1.
    fading : int
        The noise fades linearly to zero over this many rounds.
    splitter : {"mixed", "random", "best"}
        "best": try all cuts; "random": one random cut per column; "mixed": all in rounds 0, 2, 4, one in the others.
    bootstrap : bool
        Whether a tree multiplies the weight of each row by an exponential variate.
    n_drawn : callable
        ``n_drawn(n)`` is the number of columns, of n, to search at a level.
    seed : int
    first, n_rounds : int
        Number of the first round, and of the one before which to stop.
    directions : ndarray of int of shape (n_features,)
        As in `stump_rounds`; all 0 unless `max_depth` is 1.
    """
    cuts = Cuts(binning.n_cuts, binning.has_missing, directions)
    # A column without gaps has n cuts; with gaps there is one more candidate, the test for missing values.
    n_candidates = binning.n_cuts + binning.has_missing
    usable = np.flatnonzero(n_candidates)
    if len(usable) == 0:
        return
    shape = (max_depth, n_drawn(len(usable)))
    # Draws of many columns would fill the memory, and take a small part of the time.
    draw = draw_splits if math.prod(shape) <= _MOST_KEPT else draw_splits.__wrapped__
    for t in range(first, n_rounds):
        if not loss.set_derivatives():
            return
        tries_one = splitter == "random" or (splitter == "mixed" and t % 2 == 1)
        columns, tries = draw(seed, t, n_candidates.tobytes(), shape)
        if not tries_one:
            tries = tries[:, :, :0]
        noise_now = 0.0 if tries_one else noise * (1.0 - t / fading)
        round_key = np.uint64(symmetric_trees.round_key_of(seed, t))
        terms = columns, tries, cuts, float(l2), noise_now, round_key, bootstrap
        if isinstance(rows, Rows):
            splits, gains, values = symmetric_trees.gradient_tree_at_once(rows.arrays, *terms)
        else:
            splits, gains, values = symmetric_trees.gradient_tree(rows, *terms)
        if len(splits) == 0:  # the gradients have vanished
            return
        values *= learning_rate
        symmetric_trees.add_values(rows, values)
        yield Rounds(splits[None], gains[None], values[None], lambda: [loss.value()])


# As for stumps: the fits that calibrate a model draw the same.
@lru_cache(maxsize=2048)
def draw_splits(seed, t, n_candidates, shape):
    """Columns to search at each level of the tree of a round, and a cut of each, shape (n_levels, n_drawn, 1).

    Parameters
    ----------
    seed, t : int
    n_candidates : bytes
        Of an array of int64: the number of splits of each column. Columns without any are not drawn.
    shape : (int, int)
        Number of levels, and of columns to draw for each.
    """
    n_candidates = np.frombuffer(n_candidates, dtype=np.int64)
    usable = np.flatnonzero(n_candidates)
    rng = np.random.default_rng([seed, t])
    columns = np.tile(usable, (shape[0], 1))
    if shape[1] < len(usable):
        order = rng.random(columns.shape).argpartition(shape[1] - 1)[:, : shape[1]]
        columns = usable[np.sort(order)]
    return columns, rng.integers(0, n_candidates[columns])[:, :, None]


def score_trees(splits, values, X, n_jobs=None):
    """Sum of the trees for each row of a table.

    Parameters
    ----------
    splits : ndarray of shape (n_trees, depth) of SPLIT
    values : ndarray of shape (n_trees, 2**depth)
    X : ndarray of shape (n_samples, n_features), float32 or float64
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    columns = np.ascontiguousarray(splits["column"])
    if columns.size and not 0 <= columns.min() <= columns.max() < X.shape[1]:  # a model file can hold anything
        raise ValueError("splits_ refers to columns that the table does not have: the model is damaged, fit it again")
    thresholds = round_down(splits["threshold"], X.dtype)
    missing_up = splits["missing_up"].astype(np.uint8)
    scores = np.zeros(len(X))
    with RowThreads(n_jobs) as threads:
        threads.over_rows(
            lambda start, stop: symmetric_trees.score(X, columns, thresholds, missing_up, values, scores, start, stop),
            len(X),
            columns.size,
        )
    return scores
