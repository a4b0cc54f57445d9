"""The loop of boosting, and the trees of its rounds; a stump is a tree with a single split."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fewlabel.boosting.rows import Rows
from fewlabel.kernels import symmetric_trees
from fewlabel.kernels.symmetric_trees import REFRESH, Cuts, StepRule

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


class Settings(NamedTuple):
    """What the trees of a booster depend on; the last ones are its parameters, some of which it may not have."""

    n_drawn: Callable[[int], int]  # columns, of so many, to search at a level
    seed: int
    directions: np.ndarray  # (n_features,): 1 if the score must not fall along a column, -1 not rise, 0 either
    fading: int  # the noise fades linearly to zero over this many rounds
    learning_rate: float
    max_depth: int
    splitter: str = "best"
    n_thresholds: int = 0  # of stumps: cuts to try of each column if `splitter` is "random"
    # Of trees on gradients.
    l2_regularization: float = 0.0
    split_noise: float = 0.0
    bootstrap: bool = False


def boost(rows, binning, objective, settings, n_rounds, first=0, total_step=0.0):
    """Yield rounds of boosting until none is worth it.

    Parameters
    ----------
    rows : Rows or SpreadRows
    binning : Binning
    objective : StepRule or loss
        A rule is for stumps with the largest edge and steps in closed form, as in AdaBoost. A loss is for trees on
        gradients and second derivatives: ``set_derivatives()`` sets those of the rows, and is False if the fit should
        end; ``value()`` is the objective.
    settings : Settings
    n_rounds : int
    first : int
        Number of rounds of an earlier fit, the scores of which the rows have.
    total_step : float
        Sum of the steps of these.
    """
    cuts = Cuts(binning.n_cuts, binning.has_missing, settings.directions)
    if isinstance(objective, StepRule):
        trees = Stumps(rows, binning, cuts, objective, settings, total_step)
    else:
        trees = GradientTrees(rows, cuts, objective, settings)
    while first < n_rounds:
        found = trees.grow(first, n_rounds)
        if found is None:
            return
        yield found
        first += len(found.splits)


class Stumps:
    """Stumps with the largest edge and steps in closed form; parameters as in `boost`."""

    def __init__(self, rows, binning, cuts, rule, settings, total_step):
        n_features = binning.n_features
        self._rows = rows
        self._binning = binning
        self._cuts = cuts
        self._rule = rule
        self._settings = settings
        self._n_drawn = settings.n_drawn(n_features)
        self._state = symmetric_trees.State(
            uses=rule.uses & (rows.sizes > 0),
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
            log_objective=np.full(1, np.nan),
        )
        self._set_weights()

    def grow(self, first, n_rounds):
        """Rounds from number `first` on, at most up to `n_rounds`; None if no stump is worth a step."""
        state = self._state
        rows = self._rows
        if state.moved[0] > REFRESH:
            self._set_weights()
        # Many rounds at once on few rows, where a round takes less time than a call of a kernel.
        n_ahead = 1
        if isinstance(rows, Rows):
            n_cells = max(int(rows.sizes.sum()) * self._n_drawn, 1)
            n_ahead = min(_AHEAD, max(1, _CELLS_AHEAD // n_cells), n_rounds - first)
        found = symmetric_trees.Found(
            splits=np.empty((n_ahead, 3), dtype=np.int64),
            values=np.empty((n_ahead, 2)),
            gains=np.empty(n_ahead),
            log_objectives=np.empty(n_ahead),
            log_mass=np.empty((n_ahead, 2, 3)),
        )
        columns = draw_columns(self._settings.seed, first, first + n_ahead, self._binning.n_features, self._n_drawn)
        drawn_cuts = _draw_cuts(self._settings, first, columns, self._binning)
        learning_rate = float(self._settings.learning_rate)
        n_found = symmetric_trees.weighted_rounds(
            rows, state, self._cuts, self._rule, learning_rate, columns, drawn_cuts, found
        )
        if n_found == 0:
            return None
        splits = found.splits[:n_found, None]
        gains = found.gains[:n_found, None]
        losses = np.exp(found.log_objectives[:n_found])
        return Rounds(splits, gains, found.values[:n_found], losses.tolist, found.log_mass)

    def _set_weights(self):
        """Compute the weights from the scores, so that they sum to one in each kind and group."""
        state = self._state
        rows = self._rows
        # Less the largest exponent of each kind and group, so that no power of e overflows.
        largest = rows.ask(Rows.weigh, state.uses, state.table, merge=np.maximum)
        rows.tell(Rows.exponentiate, largest)
        sums = np.reshape(rows.sums(Rows.weights_by_group), (2, 3))
        sums = np.where(state.uses, sums, 1.0)
        rows.tell(Rows.divide, sums)
        state.log_mass[:] = np.where(state.uses, largest + np.log(sums), 0.0)
        state.sums[:] = 1.0
        state.moved[:] = 0.0


class GradientTrees:
    """Symmetric trees on gradients and second derivatives; parameters as in `boost`."""

    def __init__(self, rows, cuts, loss, settings):
        self._rows = rows
        self._cuts = cuts
        self._loss = loss
        self._settings = settings
        # A column without gaps has n cuts; with gaps there is one more candidate, the test for missing values.
        self._n_candidates = cuts.n_cuts + cuts.has_missing

    def grow(self, first, n_rounds):
        """The round of number `first`; None if the gradients have vanished."""
        settings = self._settings
        n_usable = np.count_nonzero(self._n_candidates)
        if n_usable == 0 or not self._loss.set_derivatives():
            return None
        shape = (settings.max_depth, settings.n_drawn(n_usable))
        # Draws of many columns would fill the memory, and take a small part of the time.
        draw = draw_splits if math.prod(shape) <= _MOST_KEPT else draw_splits.__wrapped__
        columns, tries = draw(settings.seed, first, self._n_candidates.tobytes(), shape)
        noise = 0.0
        # "mixed": all cuts in rounds 0, 2, 4, one cut in the others.
        if settings.splitter == "best" or (settings.splitter == "mixed" and first % 2 == 0):
            tries = tries[:, :, :0]
            noise = settings.split_noise * (1.0 - first / settings.fading)
        round_key = np.uint64(symmetric_trees.round_key_of(settings.seed, first))
        l2 = float(settings.l2_regularization)
        splits, gains, values = symmetric_trees.gradient_tree(
            self._rows, columns, tries, self._cuts, l2, noise, round_key, settings.bootstrap
        )
        if len(splits) == 0:
            return None
        values *= settings.learning_rate
        symmetric_trees.add_values(self._rows, values)
        return Rounds(splits[None], gains[None], values[None], lambda: [self._loss.value()])


def _generator_of(*numbers):
    """NumPy's generator for a seed, a round, and what it draws; from an array, in half the time of a list."""
    return np.random.default_rng(np.array(numbers, dtype=np.uint32))


# A generator of its own for each round takes 15 microseconds, twice as long as the rest of a round on a small table.
# The fits that calibrate a model draw the same columns as the model itself.
@lru_cache(maxsize=32)
def draw_columns(seed, start, stop, n_columns, n_drawn):
    """Sorted columns of the rounds ``start:stop``, one row for each; they depend on the seed and the round only."""
    if n_drawn == n_columns:
        return np.tile(np.arange(n_columns), (stop - start, 1))
    draws = [_generator_of(seed, t).choice(n_columns, n_drawn, replace=False) for t in range(start, stop)]
    return np.sort(draws, axis=1)


def _draw_cuts(settings, start, columns, binning):
    """Cuts to try in each round: of each drawn column, values drawn from its range, each moved up to the next cut."""
    n_tries = settings.n_thresholds if settings.splitter == "random" else 0
    cuts = np.zeros((*columns.shape, n_tries), dtype=np.int64)
    if n_tries == 0:
        return cuts
    for r in range(len(columns)):
        part = _generator_of(settings.seed, start + r, 1).random((binning.n_features, n_tries))
        values = (1 - part) * binning.lowest[:, None] + part * binning.highest[:, None]
        for j, e in enumerate(columns[r]):
            last = max(binning.n_cuts[e] - 1, 0)
            # Between two cuts all thresholds split the rows alike.
            position = np.searchsorted(binning.cuts[e, : last + 1], values[e])
            cuts[r, j] = np.minimum(position, last)
    return cuts


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
    rng = _generator_of(seed, t)
    columns = np.tile(usable, (shape[0], 1))
    if shape[1] < len(usable):
        order = rng.random(columns.shape).argpartition(shape[1] - 1)[:, : shape[1]]
        columns = usable[np.sort(order)]
    return columns, rng.integers(0, n_candidates[columns])[:, :, None]
