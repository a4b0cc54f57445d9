"""The leaderboard of a fit, and what can be read from it."""

from typing import NamedTuple

import pandas as pd

COLUMNS = (
    *("method", "family", "score", "low", "high", "prior", "posterior"),
    *("fit_seconds", "uses_unlabeled", "weight", "status"),
)
ENSEMBLE = "ensemble"


class AdditiveChoice(NamedTuple):
    """An additive method beside the best of all methods, by their out-of-fold scores.

    Attributes
    ----------
    method, best : str
    score, best_score : float
    """

    method: str
    score: float
    best: str
    best_score: float

    @property
    def text(self) -> str:
        """What the choice costs, as a sentence."""
        if self.score >= self.best_score:
            return f"{self.method} is additive, and no other method has a higher score ({self.score:.3f})"
        return (
            f"{self.method} is the chosen additive method, with a score of {self.score:.3f}; {self.best}, the best of "
            f"all, has {self.best_score:.3f}: being additive costs {self.best_score - self.score:.3f}"
        )


def as_frame(columns):
    """The leaderboard as a table; `columns` are lists, which a model file can hold."""
    return pd.DataFrame(dict(zip(COLUMNS, columns)))


def headline(columns):
    """Score and interval of the ensemble."""
    board = dict(zip(COLUMNS, columns))
    own = board["family"].index(ENSEMBLE)
    return {name: board[name][own] for name in ("score", "low", "high")}


def additive_choice(columns):
    """The method with all of the weight, beside the one with the best score."""
    methods = as_frame(columns).query(f"status == 'ok' and family != '{ENSEMBLE}'")
    chosen, best = methods.loc[methods["weight"].idxmax()], methods.loc[methods["score"].idxmax()]
    return AdditiveChoice(chosen["method"], float(chosen["score"]), best["method"], float(best["score"]))
