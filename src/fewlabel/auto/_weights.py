"""Weights of the members, from experience and out-of-fold scores."""

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

from fewlabel.auto._experience import from_angle, to_angle
from fewlabel.folds import INDEPENDENT, grouped_folds
from fewlabel.kernels.ranks import area as auc

_N_SPLITS = 5


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


def evidence(ranks, y, scorer, weight=None):
    """The out-of-fold scores of the members, as angles (`to_angle`).

    Scores other than the AUC take its place with the same mean and spread: experience knows the error of the AUC only.

    Parameters
    ----------
    ranks, y, scorer, weight
        As in `choose`.

    Returns
    -------
    ndarray of shape (n_members,)
    """
    angles = to_angle(np.array([score_ranks(r, y, auc, weight) for r in ranks]))
    if scorer is auc:
        return angles
    scores = np.array([score_ranks(r, y, scorer, weight) for r in ranks])
    spread = scores.std()
    return angles.mean() + (scores - scores.mean()) * (angles.std() / spread if spread > 0 else 0.0)


def expected(ranks, y, scorer, experience, weight=None):
    """AUC to expect of each member, before and after its out-of-fold score is known.

    Parameters
    ----------
    ranks, y, scorer, experience, weight
        As in `choose`.

    Returns
    -------
    ndarray of shape (n_members, 2)
    """
    found = experience.posterior(evidence(ranks, y, scorer, weight), _rarest(y))
    return from_angle(np.column_stack(found))


def choose(ranks, y, scorer, experience, weight=None):
    """Weights of the members.

    Parameters
    ----------
    ranks : ndarray of shape (n_members, n_rows, n_outputs)
        Out-of-fold ranks.
    y : ndarray of int
    scorer : callable
    experience : Experience
        With these members.
    weight : ndarray of shape (n_rows,), default=None
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_members,)
        Not negative, sum 1.
    """
    return experience.weights(evidence(ranks, y, scorer, weight), _rarest(y))


def _rarest(y):
    counts = np.bincount(y)
    return int(counts[counts > 0].min())


def cross_fitted(ranks, y, scorer, experience, seed, sampling=INDEPENDENT):
    """Ranks by the ensemble, with weights that were chosen without the row.

    Parameters
    ----------
    ranks, y, scorer, experience
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
        weights = choose(ranks[:, kept], y[kept], scorer, experience, of_kept)
        combined[left] = combine(weights, ranks[:, left])
    return combined
