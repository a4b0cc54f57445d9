"""Which members are combined, and how much each counts: by evidence, then by greedy selection on out-of-fold ranks."""

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

from fewlabel.kernels.ranks import placements

# With few labels the scores of members are mostly chance, and a search that trusts them picks chance. It starts from a
# mean of all members by their evidence, as if that were so many picks, and may then go so many picks further.
_N_START, _N_PICKS = 10, 5
_DECAY = 4.0
_LEAST_WEIGHT = 0.05
_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


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
    singles = np.array([score_ranks(r, y, scorer) for r in ranks])
    weights = _by_evidence(singles, y)
    start = np.tensordot(weights, ranks, axes=1)
    trail, picks, total = [(score_ranks(start, y, scorer), weights)], np.zeros(len(ranks)), _N_START * start
    for _ in range(_N_PICKS):
        found = [score_ranks(total + r, y, scorer) for r in ranks]
        best = int(np.argmax(np.round(found, 6)))  # of equal ones the first, which is the simplest
        total, picks[best] = total + ranks[best], picks[best] + 1
        trail.append((found[best], (_N_START * weights + picks) / (_N_START + picks.sum())))
    _, weights = max(trail, key=lambda step: round(step[0], 6))  # of equal ones the first, with the fewest picks
    if not supervised.any():
        return weights
    alone = np.eye(len(ranks))[np.flatnonzero(supervised)[np.argmax(np.round(singles[supervised], 6))]]
    return _not_worse(weights, alone, ranks, y, scorer)


def _not_worse(weights, alone, ranks, y, scorer):
    """The weights, moved as little as need be towards a single member for the score not to be below that member's.

    To take the member itself would trust the luckiest of many.
    """
    least = score_ranks(np.tensordot(alone, ranks, axes=1), y, scorer)
    for share in _SHARES:
        mixed = share * weights + (1 - share) * alone
        if score_ranks(np.tensordot(mixed, ranks, axes=1), y, scorer) >= least:
            return mixed
    return alone


def _by_evidence(singles, y):
    """Weights that fall with the distance to the best score, in standard errors; those that hardly count are none."""
    counts = np.bincount(y)
    best = float(np.clip(singles.max(), 0.0, 1.0))
    error = np.sqrt(best * (1 - best) / counts[counts > 0].min() + 1e-4)
    weights = np.exp(-_DECAY * (singles.max() - singles) / error)
    weights = np.where(weights / weights.sum() >= _LEAST_WEIGHT, weights, 0.0)
    return weights / weights.sum()


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
