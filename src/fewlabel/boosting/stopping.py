"""When to stop boosting: each is called after a round and counts the rounds to keep in `kept`."""

import numpy as np
from sklearn.metrics import roc_auc_score


class ValidationStop:
    """Stop when the AUC on held-out labeled rows has not grown for `patience` rounds; keep up to the best round.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows), uint8
        Codes of the held-out rows.
    scores : ndarray of shape (n_rows,)
        Their scores before the first round.
    signs : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
    patience : int
    """

    def __init__(self, codes, scores, signs, weight, patience):
        self._codes, self._scores, self._positive, self._weight = codes, scores, signs > 0, weight
        self._patience = patience
        # A warm start has to be better than what it starts from; a new fit has at least one round.
        started = np.ptp(scores) > 0
        self._best = roc_auc_score(self._positive, scores, sample_weight=weight) if started else -np.inf
        self._rounds = self.kept = 0

    def __call__(self, stump, fires):
        column, *_, low, high = stump
        self._scores = self._scores + np.where(fires, high, low)[self._codes[column]]
        self._rounds += 1
        auc = roc_auc_score(self._positive, self._scores, sample_weight=self._weight)
        if auc > self._best:
            self._best, self.kept = auc, self._rounds
        return self._rounds - self.kept >= self._patience


class AlarmStop:
    """Stop, and drop the round, when `rule.overfits`: it pushes labeled and unlabeled rows of one class apart.

    Parameters
    ----------
    rows : Rows
    rule : Rule
        With a method ``overfits(log_mass)``.
    """

    def __init__(self, rows, rule):
        self._rows, self._rule = rows, rule
        self.kept = 0

    def __call__(self, stump, fires):
        alarm = self._rule.overfits(self._rows.log_mass)
        self.kept += not alarm
        return alarm
