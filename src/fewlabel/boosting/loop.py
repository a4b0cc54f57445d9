"""The boosting loop, and its rounds for stumps; the stump boosters differ only in their rule."""

import math
from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from fewlabel.kernels.stumps import MISSING, UNIT, best_stump

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
_ROUNDING = 1e-12  # a step of at most this length counts as none
_VANISHED = -600.0  # log of an objective that is zero up to rounding: nothing is left to learn


class Rule(ABC):
    """What distinguishes one stump booster from another; a subclass defines all but `find` and `finished`.

    A mass is the weight of a group: ``log_mass[0]`` is log mean exp(-f) and ``log_mass[1]`` is log mean exp(f), each
    of the positives, the unlabeled rows and the negatives, in this order.
    """

    least_edge: float  # a stump must have an edge above this
    uses = np.ones((2, 3), dtype=np.bool_)  # the masses that the rule depends on
    draws_cuts = False  # whether `find` tries only some of the cuts

    @abstractmethod
    def coefficients(self, log_mass) -> np.ndarray:
        """Signed weight of each mass, shape (2, 3); the absolute values sum to one."""

    def find(self, rows, hist, columns, t):
        """The best stump of a histogram, as returned by `best_stump`; `t` is None in a last search of everything."""
        return best_stump(hist, columns, rows.binning.n_cuts, rows.binning.has_missing)

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


class StumpLearner:
    """Rounds of a stump booster.

    Parameters
    ----------
    rows : Rows
    rule : Rule
    draw_columns : callable
        ``draw_columns(t)`` gives the sorted columns to search in round t.
    learning_rate : float
    total_step : float
        Sum of the steps of earlier rounds.
    """

    def __init__(self, rows, rule, draw_columns, learning_rate, total_step):
        self._rows, self._rule = rows, rule
        self._draw_columns, self._learning_rate, self._total_step = draw_columns, learning_rate, total_step
        self._vanished = False

    def round(self, t):
        """The stump of round t, whether it fires for each code, and the objective; None if no stump is worth a step."""
        rows, rule = self._rows, self._rule
        if self._vanished or rule.finished(rows.log_mass):
            return None
        columns, n_features = self._draw_columns(t), rows.binning.n_features
        found = _search(rows, rule, columns, t)
        if found is None and (rule.draws_cuts or len(columns) < n_features):
            found = _search(rows, rule, np.arange(n_features), None)  # before giving up, search what was not drawn
        if found is None:
            return None
        split, cut, sign, step = found
        step *= self._learning_rate
        low, high = rule.moves(step)
        rows.reweight(split, low, high)
        self._total_step += step
        log_objective = rule.log_objective(rows.log_mass, self._total_step)
        self._vanished = log_objective < _VANISHED
        threshold = rows.binning.threshold(split.column, cut)
        stump = (split.column, threshold, sign, split.fires[MISSING], low, high)
        return stump, split.fires, math.exp(log_objective)


def _search(rows, rule, columns, t):
    """The best stump of the given columns and its step; None if no stump is worth a step."""
    hist = rows.histogram(rule.coefficients(rows.log_mass), columns)
    position, cut, missing_above, edge = rule.find(rows, hist, columns, t)
    edge /= UNIT
    if abs(edge) <= rule.least_edge:
        return None
    column, sign = int(columns[position]), 1 if edge > 0 else -1
    split = rows.split(column, rows.binning.fires(column, cut, sign, missing_above))
    step = rule.step(abs(edge), split.shares, rows.log_mass)
    return (split, cut, sign, step) if step > _ROUNDING else None
