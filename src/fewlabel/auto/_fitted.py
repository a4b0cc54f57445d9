"""A fitted member: its view of the table, its model, and the ranks of its scores."""

import numpy as np
from scipy.special import expit, logit

RANK_EDGE = 1e-6  # ranks are kept this far from 0 and 1, where log-odds are infinite
_FORESTS = ("ExtraTreesClassifier", "RandomForestClassifier")
# How boosters of other libraries are asked for the sum of their trees, before it becomes a probability.
_SUM_OF_TREES = {
    "CatBoostClassifier": {"prediction_type": "RawFormulaVal", "thread_count": 1},
    "XGBClassifier": {"output_margin": True},
    "LGBMClassifier": {"raw_score": True},
}
_HUGE = 1e300


class RankReference:
    """Turns scores into ranks among reference rows, in (0, 1), interpolated between reference scores.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_outputs)
        Scores of the reference rows.
    most : int, default=1000
        Number of levels kept per output.
    """

    def __init__(self, scores, most=1000):
        self.levels = []
        for column in np.sort(scores, axis=0).T:
            if len(column) > most:
                column = column[np.linspace(0, len(column) - 1, most).round().astype(int)]
            values, counts = np.unique(column, return_counts=True)
            self.levels.append((values, (np.cumsum(counts) - counts / 2) / len(column)))

    def ranks(self, scores):
        """The rank of each score."""
        return np.column_stack([_rank(column, *levels) for column, levels in zip(scores.T, self.levels)])


def _rank(column, values, ranks):
    inside = _interpolate(column, values, ranks)
    # Beyond the reference rows the order still counts: scores share what is left of (0, 1) on either side.
    above, below = np.maximum(column - values[-1], 0.0), np.maximum(values[0] - column, 0.0)
    width = values[-1] - values[0] + 1e-300  # not 0 where all reference scores are equal
    return inside + (1 - ranks[-1]) * (above / (width + above)) - ranks[0] * (below / (width + below))


def _interpolate(column, values, ranks):
    """As `numpy.interp`, whose slopes overflow between scores that are very close to each other."""
    if len(values) == 1:
        return np.full(len(column), ranks[0])
    column = np.clip(column, values[0], values[-1])
    right = np.clip(np.searchsorted(values, column), 1, len(values) - 1)
    share = (column - values[right - 1]) / (values[right] - values[right - 1])
    return ranks[right - 1] + share * (ranks[right] - ranks[right - 1])


class FittedMember:
    """One chosen member, fitted to all rows.

    Parameters
    ----------
    view : object or None
        Turns a table into what the member sees; None for the table itself.
    model : estimator
        The fitted estimator. In a model that was loaded from a file, forests and boosters of other libraries are
        :class:`fewlabel.persistence.FrozenTrees` or `FrozenSymmetricTrees` with the same scores.
    reference : RankReference
    n_outputs : int
    """

    _scores_when_saved = "model"

    def __init__(self, view, model, reference, n_outputs):
        self.view, self.model, self.reference, self.n_outputs = view, model, reference, n_outputs

    def ranks(self, X):
        """Rank of each row, one column per output."""
        seen = X if self.view is None else self.view.transform(X)
        return self.reference.ranks(raw_scores(self.model, seen, self.n_outputs))


def raw_scores(model, table, n_outputs):
    """Scores of a fitted model, one column per output; higher means more likely of the (positive) class.

    Parameters
    ----------
    model : estimator
    table : ndarray of shape (n_rows, n_columns)
    n_outputs : int
        1, or the number of classes.

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
        At most `_HUGE` in size: only the order matters, and differences of two scores must not overflow.
    """
    kind = type(model).__name__
    if kind in _FORESTS:
        scores = _mean_of_trees(model, table)[:, 1 if n_outputs == 1 else 0 :]
    elif kind in _SUM_OF_TREES:
        scores = model.predict(table, **_SUM_OF_TREES[kind])
    elif hasattr(model, "decision_function"):
        scores = model.decision_function(table)
    else:
        scores = model.predict_proba(table)[:, 1 if n_outputs == 1 else 0 :]
    scores = np.asarray(scores, dtype=float)
    if scores.ndim == 1:
        scores = scores[:, None] if n_outputs == 1 else np.column_stack([-scores, scores])
    return np.clip(np.nan_to_num(scores), -_HUGE, _HUGE)


def _mean_of_trees(forest, table):
    """As the forest's own `predict_proba`, which replaces the warning filters of the process for each tree."""
    table = np.asarray(table, dtype=np.float32)
    total = np.zeros((len(table), forest.n_classes_))
    for tree in forest.estimators_:
        total += tree.predict_proba(table, check_input=False)
    return total / len(forest.estimators_)


def log_odds(ranks):
    """Log-odds of ranks in (0, 1)."""
    return logit(np.clip(ranks, RANK_EDGE, 1 - RANK_EDGE))


def normalized(decision, calibration):
    """Probabilities of the classes, each by its own sigmoid; they sum to one."""
    probability = expit(calibration[:, 0] * decision + calibration[:, 1])
    return probability / probability.sum(axis=1, keepdims=True)
