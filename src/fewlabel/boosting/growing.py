"""The learners of the boosting loop: one tree per round, of which a stump is the one with a single split."""

from collections import deque
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from fewlabel.kernels import stumps, symmetric_trees
from fewlabel.kernels.bins import round_down
from fewlabel.kernels.stumps import REFRESH, call
from fewlabel.threads import RowThreads

MAX_DEPTH = 8  # the leaf of a row is a byte
_AHEAD = 50  # rounds of stumps in one call of a kernel, if the rows are few
_CELLS_AHEAD = 25_000_000  # rows times columns of such a call: about ten milliseconds


class Tree(NamedTuple):
    """What a round adds to the model."""

    splits: np.ndarray  # (depth, 3), int64: column, cut, and whether missing values go up
    gains: np.ndarray  # (depth,)
    values: np.ndarray  # (2**depth,): the ups and downs of a row, the first level first, are the bits of its leaf


class Learner(Protocol):
    """What the boosting loop asks of a learner.

    Attributes
    ----------
    loss : float
        The objective after the last round.
    """

    loss: float

    def round(self, t) -> Tree | None:
        """The tree of round t, which has been added to the scores; None if nothing is worth adding."""


class StumpLearner:
    """Stumps with the largest edge, and steps in closed form: AdaBoost and its relatives.

    Parameters
    ----------
    rows : RowParts
    binning : Binning
    rule : stumps.StepRule
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
    n_rounds : int
        Rounds before this one may be run before they are asked for.
    directions : ndarray of int of shape (n_features,)
        1 where the score must not fall along a column, -1 where it must not rise, 0 where it may do either.

    Attributes
    ----------
    log_mass : ndarray of shape (2, 3)
        Log of the masses after the last round.
    """

    def __init__(
        self,
        rows,
        binning,
        rule,
        uses,
        *,
        learning_rate,
        n_drawn,
        n_thresholds=None,
        seed,
        total_step,
        n_rounds,
        directions,
    ):
        self._rows = rows
        self._binning = binning
        self._rule = rule
        self._learning_rate = float(learning_rate)
        self._n_drawn = n_drawn
        self._n_thresholds = n_thresholds
        self._seed = seed
        self._n_rounds = n_rounds
        self._cuts = stumps.Cuts(binning.n_cuts, binning.has_missing, binning.goes_above, directions)
        self._whole = rows.in_one_piece(n_drawn)
        self._ahead = deque()  # rounds that have been run, and not been asked for
        self._has_ended = False
        n_features = binning.n_features
        self._state = stumps.State(
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
        self._set_weights()
        log_objective = stumps.set_coefficients(self._state, rule) + rule.rho * total_step
        self._log_objective = -total_step if rule.keeps_sizes else log_objective
        self._state.log_objective[:] = self._log_objective

    def _set_weights(self):
        """Compute the weights from the scores, so that they sum to one in each kind and group."""
        rows = self._rows
        state = self._state
        # Less the largest exponent of each kind and group, so that no power of e overflows.
        largest = rows.ask(call, "weigh", state.uses, state.table, merge=np.maximum)
        rows.tell(call, "exponentiate", largest)
        sums = np.reshape(rows.sums(call, "weights_by_group"), (2, 3))
        sums = np.where(state.uses, sums, 1.0)
        rows.tell(call, "divide", sums)
        state.log_mass[:] = np.where(state.uses, largest + np.log(sums), 0.0)
        state.sums[:] = 1.0
        state.moved[:] = 0.0

    def round(self, t):
        if not self._ahead and not self._has_ended:
            self._run_from(t)
        if not self._ahead:
            return None
        tree, self.loss, self.log_mass = self._ahead.popleft()
        return tree

    def _run_from(self, t):
        """Run the rounds from t on: many of them on few rows, where a round takes less time than a call of a kernel."""
        n_rounds = 1
        if self._whole is not None:
            cells = max(int(self._rows.sizes.sum()) * self._n_drawn, 1)
            n_rounds = min(_AHEAD, max(1, _CELLS_AHEAD // cells), self._n_rounds - t)
        columns = self._draw_columns(t, t + n_rounds)
        cuts = self._draw_cuts(t, t + n_rounds)
        found = stumps.Found(
            splits=np.empty((n_rounds, 3), dtype=np.int64),
            values=np.empty((n_rounds, 2)),
            log_objectives=np.empty(n_rounds),
            log_mass=np.empty((n_rounds, 2, 3)),
        )
        terms = self._state, self._cuts, self._rule, self._learning_rate, columns, cuts, found
        if self._whole is None:
            n_found = stumps.rounds(self._rows, *terms)
        else:
            n_found = stumps.rounds_at_once(self._whole.for_stumps(), *terms)
        log_objectives = found.log_objectives[:n_found]
        gains = -np.diff(log_objectives, prepend=self._log_objective)
        trees = map(Tree, found.splits[:, None], gains[:, None], found.values)
        self._ahead.extend(zip(trees, np.exp(log_objectives).tolist(), found.log_mass))
        self._log_objective = self._state.log_objective[0]
        # Rounds can end early for two reasons: weights that are due to be computed again, or nothing left to learn.
        if self._state.moved[0] > REFRESH:
            self._set_weights()
        else:
            self._has_ended = n_found < n_rounds

    def _draw_columns(self, start, stop):
        n_features = self._binning.n_features
        if self._n_drawn == n_features:
            return np.tile(np.arange(n_features), (stop - start, 1))
        return draw_columns(self._seed, start, stop, n_features, self._n_drawn)

    def _draw_cuts(self, start, stop):
        """Cuts to try in each round: for each column, values drawn from its range, each moved up to the next cut."""
        if self._n_thresholds is None:
            return np.empty((stop - start, 0, 0), dtype=np.int64)
        binning = self._binning
        cuts = np.zeros((stop - start, binning.n_features, self._n_thresholds), dtype=np.int64)
        for t in range(start, stop):
            rng = np.random.default_rng([self._seed, t, 1])
            part = rng.random((binning.n_features, self._n_thresholds))
            values = (1 - part) * binning.lowest[:, None] + part * binning.highest[:, None]
            for e in np.flatnonzero(binning.n_cuts):
                last = binning.n_cuts[e] - 1
                # Between two cuts all thresholds split the rows alike.
                position = np.searchsorted(binning.cuts[e, : last + 1], values[e])
                cuts[t - start, e] = np.minimum(position, last)
        return cuts


# A generator of its own for each round takes 20 microseconds, twice as long as the rest of a round on a small table.
# The fits that calibrate a model draw the same columns as the model itself.
@lru_cache(maxsize=32)
def draw_columns(seed, start, stop, n_columns, n_drawn):
    """Sorted columns of the rounds ``start:stop``, one row for each; they depend on the seed and the round only."""
    draws = [np.random.default_rng([seed, t]).choice(n_columns, n_drawn, replace=False) for t in range(start, stop)]
    return np.sort(draws, axis=1)


class TreeLearner:
    """Symmetric trees on gradients and second derivatives: gradient boosting.

    Parameters
    ----------
    rows : RowParts
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
    directions : ndarray of int of shape (n_features,)
        As in `StumpLearner`; all 0 unless `max_depth` is 1.
    """

    def __init__(
        self,
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
        directions,
    ):
        self.rows = rows
        self._loss = loss
        self._max_depth = max_depth
        self._learning_rate = learning_rate
        self._l2 = l2
        self._noise = noise
        self._fading = fading
        self._splitter = splitter
        self._bootstrap = bootstrap
        self._seed = seed
        self._tried = symmetric_trees.Tried(
            binning.n_cuts, binning.has_missing, np.ones_like(binning.n_cuts), directions
        )
        self._n_candidates = binning.n_cuts + binning.has_missing
        self._usable = np.flatnonzero(self._n_candidates)
        self._n_drawn = n_drawn(len(self._usable))
        self._whole = rows.in_one_piece(self._n_drawn)

    @property
    def loss(self):
        return self._loss.value()

    def round(self, t):
        if len(self._usable) == 0 or not self._loss.set_derivatives():
            return None
        tree = self._grow(t)
        if len(tree.splits) == 0:  # the gradients have vanished
            return None
        tree.values[:] *= self._learning_rate
        self.rows.tell(call, "add_values", tree.values)
        return tree

    def _grow(self, t):
        rng = np.random.default_rng([self._seed, t])
        tries_one = self._splitter == "random" or (self._splitter == "mixed" and t % 2 == 1)
        columns = self._draw_columns(rng)
        # A column without gaps has n cuts; with gaps there is one more candidate, the test for missing values.
        cuts = rng.integers(0, self._n_candidates[columns]) if tries_one else columns[:, :0]
        noise = 0.0 if tries_one else self._noise * (1.0 - t / self._fading)
        round_key = np.uint64(symmetric_trees.round_key_of(self._seed, t))
        terms = columns, cuts, self._tried, float(self._l2), noise, round_key, self._bootstrap
        if self._whole is None:
            return Tree(*symmetric_trees.grow(self.rows, *terms))
        rows = self._whole.for_trees._replace(derivatives=self._whole.derivatives)
        return Tree(*symmetric_trees.grow_at_once(rows, *terms))

    def _draw_columns(self, rng):
        """Columns to search at each level."""
        n_usable = len(self._usable)
        if self._n_drawn == n_usable:
            return np.tile(self._usable, (self._max_depth, 1))
        order = rng.random((self._max_depth, n_usable)).argpartition(self._n_drawn - 1)[:, : self._n_drawn]
        return self._usable[np.sort(order)]


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
