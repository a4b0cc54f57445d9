"""Which members are combined, and how much each counts: greedy ensemble selection on out-of-fold ranks."""

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

from fewlabel.kernels.ranks import placements

_N_PICKS = 20  # picks of the greedy search, with replacement: a member's weight is its share of them
_TOLERANCE = 1e-3  # a single simple model is kept if an ensemble is not better by more than this


def auc(positive, score):
    """Area under the ROC curve."""
    return float(placements(score[positive], score[~positive])[0].mean())


def average_precision(positive, score):
    """Area under the precision-recall curve."""
    return float(average_precision_score(positive, score))


SCORERS = {"roc_auc": auc, "average_precision": average_precision}


def score_ranks(ranks, y, scorer):
    """Score of ranks; the mean over classes if there are more than two.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_outputs)
    y : ndarray of int
    scorer : callable
        ``scorer(positive, score)``, higher is better.
    """
    if ranks.shape[1] == 1:
        return scorer(y == 1, ranks[:, 0])
    return float(np.mean([scorer(y == k, ranks[:, k]) for k in range(ranks.shape[1])]))


def choose(ranks, y, scorer, supervised):
    """Weights of the members.

    Parameters
    ----------
    ranks : ndarray of shape (n_members, n_rows, n_outputs)
        Out-of-fold ranks; members from simple to complex.
    y : ndarray of int
    scorer : callable
    supervised : ndarray of bool
        Members that do not use unlabelled rows. The ensemble is never worse than the best of them.

    Returns
    -------
    ndarray of shape (n_members,)
        Not negative, sum 1.
    """
    n = len(ranks)
    singles = np.array([score_ranks(r, y, scorer) for r in ranks])
    total, picks = np.zeros_like(ranks[0]), np.zeros(n)
    trail = []
    for step in range(1, _N_PICKS + 1):
        found = [score_ranks((total + r) / step, y, scorer) for r in ranks]
        best = int(np.argmax(np.round(found, 6)))
        total, picks[best] = total + ranks[best], picks[best] + 1
        trail.append((found[best], picks / step))
    score, weights = max(trail, key=lambda pair: round(pair[0], 6))
    if supervised.any():
        alone = int(np.flatnonzero(supervised)[np.argmax(np.round(singles[supervised], 6))])
        if score < singles[alone]:
            weights = np.eye(n)[alone]
    return weights


def cross_fitted(ranks, y, scorer, supervised, seed, n_splits=5):
    """Ranks by the ensemble, for each row with weights that were chosen without it.

    Parameters
    ----------
    ranks, y, scorer, supervised
        As in `choose`.
    seed : int
    n_splits : int, default=5

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
    """
    combined = np.zeros(ranks.shape[1:])
    n_splits = int(min(n_splits, np.bincount(y).min()))
    for kept, left in StratifiedKFold(n_splits, shuffle=True, random_state=seed).split(y, y):
        weights = choose(ranks[:, kept], y[kept], scorer, supervised)
        combined[left] = np.tensordot(weights, ranks[:, left], axes=1)
    return combined
