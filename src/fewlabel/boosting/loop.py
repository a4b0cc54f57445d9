"""The boosting loop, and its rounds for stumps; the stump boosters differ only in their rule."""

import math
from abc import ABC, abstractmethod
from collections import deque
from typing import Protocol

import numpy as np

from fewlabel.kernels.stumps import MISSING, NO_STEP, VANISHED, drift

# A stump fires above its threshold if `sign` is +1, at or below it if `sign` is -1, and on missing values if
# `on_missing`. It adds `low` to the score where it is silent and `high` where it fires.
STUMP = np.dtype(
    [
        ("column", np.int64),
        ("threshold", np.float64),
        ("sign", np.int8),
        ("on_missing", np.bool_),
        ("low", np.float64),
        ("high", np.float64),
    ]
)
_EDGE_ERROR = 1e-9  # of bounds of edges: weights are rounded to integers, one by one
_AHEAD = 50  # rounds in one call of a kernel, on few rows: some milliseconds


class Rule(ABC):
    """What distinguishes one stump booster from another; a subclass defines all but `search` and `finished`.

    A mass is the weight of a group: ``log_mass[0]`` is log mean exp(-f) and ``log_mass[1]`` is log mean exp(f), each
    of the positives, the unlabeled rows and the negatives, in this order.
    """

    least_edge: float  # a stump must have an edge above this
    uses = np.ones((2, 3), dtype=np.bool_)  # the masses that the rule depends on
    draws_cuts = False  # whether `search` tries only some of the cuts
    pairs: tuple | None = None  # the rule as `stumps.pair_rounds` takes it, if it is one of pairs

    @abstractmethod
    def coefficients(self, log_mass) -> np.ndarray:
        """Signed weight of each mass, shape (2, 3); the absolute values sum to one."""

    def search(self, rows, coefficients, columns, limits, t):
        """The best stump of the columns, its cut and its signed edge, as `Rows.search`.

        A rule with another idea of the best stump has its own search. `t` is None in a last search of everything.
        """
        return rows.search(coefficients, columns, limits)

    @abstractmethod
    def step(self, edge, shares, log_mass) -> float:
        """Length of the step; `shares` (2, 3, 2) is the fraction of each mass where the stump is silent and fires."""

    @abstractmethod
    def moves(self, step) -> tuple[float, float]:
        """What the stump adds to the score where it is silent and where it fires."""

    @abstractmethod
    def log_objective(self, log_mass, total_step) -> float:
        """Log of the objective; `total_step` is the sum of all steps."""

    def finished(self, log_mass):
        """Whether to run no further round."""
        return False


class Learner(Protocol):
    """What `boost` asks of a booster."""

    def round(self, t) -> tuple | None:
        """What round t adds to the model, which has been added to the scores; None if nothing is worth adding."""


def boost(learner, rounds, after_round):
    """Boost: one addition to the model per round.

    Parameters
    ----------
    learner : Learner
    rounds : range
        Numbers of the rounds to run.
    after_round : callable
        ``after_round(t, *added)``; boosting ends when it returns True.

    Returns
    -------
    list
        What the learner added in each round.
    """
    found = []
    for t in rounds:
        added = learner.round(t)
        if added is None:
            break
        found.append(added)
        if after_round(t, *added):
            break
    return found


class EdgeBounds:
    """Bounds of the largest edge of each column, by which most columns need not be searched in most rounds.

    A search finds the edge itself. Later steps change it by no more than they change the signed weights in total, so
    that with short steps a column far behind the best one stays behind for many rounds. The stump found is the same
    as without bounds.

    Parameters
    ----------
    n_features : int

    Attributes
    ----------
    limits : (ndarray, ndarray, float)
        Lower and upper bounds, which a search sets, and the error that they may have.
    """

    def __init__(self, n_features):
        self.limits = np.zeros(n_features), np.full(n_features, np.inf), _EDGE_ERROR

    def widen(self, change):
        """Allow for a step that changes no edge by more than this."""
        lower, upper, _ = self.limits
        lower -= change
        upper += change


class StumpLearner:
    """Rounds of a stump booster.

    Parameters
    ----------
    rows : Rows
    rule : Rule
    draw_columns : callable
        ``draw_columns(start, stop)`` gives the sorted columns to search in each of these rounds.
    learning_rate : float
    total_step : float
        Sum of the steps of earlier rounds.
    ahead_to : int
        Rounds before this one may be run before they are asked for.
    """

    def __init__(self, rows, rule, draw_columns, learning_rate, total_step, ahead_to):
        self._rows, self._rule = rows, rule
        self._ahead, self._ahead_to = deque(), ahead_to if rows.runs and rule.pairs is not None else 0
        self._draw_columns, self._learning_rate, self._total_step = draw_columns, float(learning_rate), total_step
        self._coefficients = rule.coefficients(rows.log_mass)
        self._bounds = EdgeBounds(rows.binning.n_features)
        self._vanished = False

    def round(self, t):
        """The stump of round t, whether it fires for each code, and the objective; None if no stump is worth a step."""
        rows, rule = self._rows, self._rule
        if not self._ahead and not self._vanished and t < self._ahead_to:
            self._run_ahead(t)
        if self._ahead:
            return self._ahead.popleft()
        if self._vanished or rule.finished(rows.log_mass):
            return None
        [columns], n_features = self._draw_columns(t, t + 1), rows.binning.n_features
        found = self._search(columns, t)
        if found is None and (rule.draws_cuts or len(columns) < n_features):
            found = self._search(np.arange(n_features), None)  # before giving up, search what was not drawn
        if found is None:
            return None
        split, cut, sign, step = found
        step *= self._learning_rate
        low, high = rule.moves(step)
        self._take_step(split, low, high)
        self._total_step += step
        log_objective = rule.log_objective(rows.log_mass, self._total_step)
        self._vanished = log_objective < VANISHED
        threshold = rows.binning.threshold(split.column, cut)
        stump = (split.column, threshold, sign, split.fires[MISSING], low, high)
        return stump, split.fires, math.exp(log_objective)

    def _run_ahead(self, t):
        """Run rounds from t on in one call of a kernel, up to the first one that needs more than it does."""
        drawn = self._draw_columns(t, min(t + _AHEAD, self._ahead_to))
        rounds, self._total_step = self._rows.run(
            self._rule.pairs, self._learning_rate, self._total_step, self._coefficients, self._bounds.limits, drawn
        )
        self._vanished = bool(rounds) and rounds[-1][2] < VANISHED
        self._ahead.extend((stump, fires, math.exp(log_objective)) for stump, fires, log_objective in rounds)

    def _search(self, columns, t):
        """The best stump of the given columns and its step; None if no stump is worth a step."""
        rows, rule = self._rows, self._rule
        split, cut, edge = rule.search(rows, self._coefficients, columns, self._bounds.limits, t)
        if abs(edge) <= rule.least_edge:
            return None
        step = rule.step(abs(edge), split.shares, rows.log_mass)
        return (split, cut, 1 if edge > 0 else -1, step) if step > NO_STEP else None

    def _take_step(self, split, low, high):
        self._rows.reweight(split, low, high)
        before, self._coefficients = self._coefficients, self._rule.coefficients(self._rows.log_mass)
        self._bounds.widen(drift(split.shares, high - low, before, self._coefficients))
