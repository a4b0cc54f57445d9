"""Weights of the members: by their out-of-fold scores, then by greedy selection on out-of-fold ranks."""

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from fewlabel.folds import INDEPENDENT, grouped_folds
from fewlabel.kernels.ranks import placements

# With few labels the scores of members are mostly noise, and a search that trusts them overfits. Weights by shrunken
# scores come first; greedy picks are added only until the ensemble is as good as the best supervised member.
_SPREAD, _CHANCE, _STEEPNESS = 0.05, 0.64, 80.0
_LEAST_WEIGHT = 0.05  # smaller weights become 0: fewer members are simpler and faster
_ROUNDING = 1e-12  # scores are means of ranks; equal ones may differ in the last bit
_N_SPLITS = 5
_N_START, _N_PICKS = 10, 10  # the weights by score count as this many picks; at most this many are added


def auc(positive, score, weight=None):
    """Area under the ROC curve."""
    if weight is not None:
        return float(roc_auc_score(positive, score, sample_weight=weight))
    return float(placements(score[positive], score[~positive])[0].mean())


def average_precision(positive, score, weight=None):
    """Area under the precision-recall curve."""
    return float(average_precision_score(positive, score, sample_weight=weight))


SCORERS = {"roc_auc": auc, "average_precision": average_precision}


def find_scorer(scoring):
    """The function ``scorer(positive, score, weight)`` of a name or a callable; the latter is not given weights."""
    return SCORERS.get(scoring) or (lambda positive, score, weight=None: scoring(positive, score))


def score_ranks(ranks, y, scorer, weight=None):
    """Score of ranks; the mean over classes if there are more than two.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_outputs)
    y : ndarray of int
    scorer : callable
        ``scorer(positive, score, weight)``, higher is better.
    weight : ndarray of shape (n_rows,), default=None
    """
    if ranks.shape[1] == 1:
        return scorer(y == 1, ranks[:, 0], weight)
    return float(np.mean([scorer(y == k, ranks[:, k], weight) for k in range(ranks.shape[1])]))


def combine(weights, ranks):
    """Weighted mean of the members' ranks, summed in one order whatever the threads of BLAS."""
    return (weights[:, None, None] * ranks).sum(axis=0)


def choose(ranks, y, scorer, supervised, weight=None):
    """Weights of the members.

    Parameters
    ----------
    ranks : ndarray of shape (n_members, n_rows, n_outputs)
        Out-of-fold ranks; members are ordered from simple to complex.
    y : ndarray of int
    scorer : callable
    supervised : ndarray of bool
        Members that do not use unlabeled rows. The ensemble is never worse than the best of them.
    weight : ndarray of shape (n_rows,), default=None
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_members,)
        Not negative, sum 1.

    References
    ----------
    .. [1] R. Caruana, A. Niculescu-Mizil, G. Crew, A. Ksikes. Ensemble selection from libraries of models. ICML, 2004.
    """
    singles = np.array([score_ranks(r, y, scorer, weight) for r in ranks])
    weights = _by_score(singles, y)
    if not supervised.any():
        return weights
    alone = int(np.flatnonzero(supervised)[np.argmax(np.round(singles[supervised], 6))])
    least, picks = singles[alone] - _ROUNDING, np.zeros(len(ranks))
    total = _N_START * combine(weights, ranks)
    for _ in range(_N_PICKS):
        mixed = (_N_START * weights + picks) / (_N_START + picks.sum())
        if score_ranks(combine(mixed, ranks), y, scorer, weight) >= least:
            return mixed
        found = [score_ranks(total + r, y, scorer, weight) for r in ranks]
        best = int(np.argmax(np.round(found, 6)))  # the first of equal ones, which is the simplest
        total, picks[best] = total + ranks[best], picks[best] + 1
    for share in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1):
        mixed = share * weights + (1 - share) * np.eye(len(ranks))[alone]
        if score_ranks(combine(mixed, ranks), y, scorer, weight) >= least:
            return mixed
    return np.eye(len(ranks))[alone]


def _by_score(singles, y):
    """Weights that decrease with the distance to the best score; small ones become 0.

    True scores of members differ by about `_SPREAD`; the sampling error grows as the smallest class shrinks. Distances
    are shrunken by the ratio of the two variances.
    """
    counts = np.bincount(y)
    middle = float(np.clip(np.median(singles), 0.01, 0.99))
    chance = _CHANCE * middle * (1 - middle) / counts[counts > 0].min()
    shrunken = (singles - singles.max()) * _SPREAD**2 / (_SPREAD**2 + chance)
    weights = np.exp(_STEEPNESS * shrunken)
    weights = np.where(weights / weights.sum() >= _LEAST_WEIGHT, weights, 0.0)
    return weights / weights.sum()


def cross_fitted(ranks, y, scorer, supervised, seed, sampling=INDEPENDENT):
    """Ranks by the ensemble, with weights that were chosen without the row.

    Parameters
    ----------
    ranks, y, scorer, supervised
        As in `choose`.
    seed : int
    sampling : Sampling, default=INDEPENDENT
        Groups and weights of the rows.

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
    """
    combined, weight = np.zeros(ranks.shape[1:]), sampling.weight
    n_splits = int(min(_N_SPLITS, np.bincount(y).min()))
    if sampling.groups is None or sampling.time is not None:
        tests = [left for _, left in StratifiedKFold(n_splits, shuffle=True, random_state=seed).split(y, y)]
    else:
        tests = grouped_folds(y, sampling.groups, n_splits, seed)
    for left in tests:
        kept = np.setdiff1d(np.arange(len(y)), left)
        of_kept = None if weight is None else weight[kept]
        weights = choose(ranks[:, kept], y[kept], scorer, supervised, of_kept)
        combined[left] = combine(weights, ranks[:, left])
    return combined
