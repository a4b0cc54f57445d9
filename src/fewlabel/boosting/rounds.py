"""Choosing the number of rounds by the AUC of held-out labeled rows."""

import numpy as np
from sklearn.metrics import roc_auc_score

_EVERY = 10  # rounds between two looks at the AUC
_SMOOTHED = 5  # looks that are averaged
_PATIENCE = 200  # rounds without a better average


def deal_out(variates, weight, n_folds):
    """Fold of each row: rows are dealt out in the order of random variates, so that their own order does not matter."""
    folds = np.empty(len(variates), dtype=np.int64)
    folds[np.lexsort((weight, variates))] = np.arange(len(variates)) % n_folds
    return folds


def best_round(learners, held_out, positive, weight, most_rounds):
    """Number of rounds with the best out-of-fold AUC, smoothed over the rounds.

    The folds advance together, one round at a time, so that the search ends when more rounds no longer help.

    Parameters
    ----------
    learners : list of TreeLearner
        One for each fold; ``rows.scores`` holds the scores of all rows.
    held_out : list of ndarray
        The rows on which each of them is judged.
    positive : ndarray of shape (n_rows,), bool
    weight : ndarray of shape (n_rows,) or None
    most_rounds : int

    Returns
    -------
    int
    """
    aucs, best, best_t = [], -np.inf, 0
    for t in range(most_rounds):
        if None in [learner.round(t) for learner in learners]:
            break
        if (t + 1) % _EVERY:
            continue
        aucs.append(np.mean([_auc(learner, rows, positive, weight) for learner, rows in zip(learners, held_out)]))
        smoothed = np.mean(aucs[-_SMOOTHED:])
        if smoothed > best:
            best, best_t = smoothed, t
        elif t - best_t >= _PATIENCE:
            break
    return max(1, best_t + 1 - _EVERY * (_SMOOTHED // 2))


def _auc(learner, rows, positive, weight):
    sample_weight = None if weight is None else weight[rows]
    return roc_auc_score(positive[rows], learner.rows.scores[rows], sample_weight=sample_weight)
