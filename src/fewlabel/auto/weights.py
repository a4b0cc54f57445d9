"""Weights of the members, from experience and out-of-fold scores."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax
from sklearn.metrics import average_precision_score

from fewlabel.folds import class_folds, grouped_folds, usual_splits
from fewlabel.kernels.ranks import area as auc
from fewlabel.metrics.angles import from_angle, to_angle

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
    # A class with a single label is never tested.
    return float(np.mean([scorer(y == k, ranks[:, k], weight) for k in np.unique(y)]))


def combine(weights, ranks):
    """Weighted mean of the members' ranks, summed in one order whatever the threads of BLAS.

    With three classes or more it is the logarithmic opinion pool: log-probabilities are averaged and normalized.
    """
    mean = (weights[:, None, None] * ranks).sum(axis=0)
    return mean if mean.shape[1] == 1 else log_softmax(mean, axis=1)


def evidence(rows, ranks, scorer):
    """The out-of-fold scores of the members, as angles (`to_angle`); log-losses with three classes or more.

    Scores other than the AUC take its place with the same mean and spread: experience knows the error of the AUC only.

    Parameters
    ----------
    rows, ranks, scorer
        As in `choose`.

    Returns
    -------
    ndarray of shape (n_members,)
    """
    if ranks.shape[2] > 1:
        own = ranks[:, np.arange(len(rows)), rows.codes]
        return -np.average(own, axis=1, weights=rows.weight)
    aucs = [score_ranks(of_member, rows.codes, auc, rows.weight) for of_member in ranks]
    angles = to_angle(np.array(aucs))
    if scorer is auc:
        return angles
    scores = np.array([score_ranks(of_member, rows.codes, scorer, rows.weight) for of_member in ranks])
    spread = scores.std()
    if spread == 0:
        return np.full(len(scores), angles.mean())
    return angles.mean() + (scores - scores.mean()) * (angles.std() / spread)


def expected(rows, ranks, scorer, experience):
    """AUC (three classes or more: log-loss) to expect of each member, before and after its evidence is known.

    Parameters
    ----------
    rows, ranks, scorer, experience
        As in `choose`.

    Returns
    -------
    ndarray of shape (n_members, 2)
    """
    found = np.column_stack(experience.posterior(evidence(rows, ranks, scorer), _n_labels(rows, ranks)))
    return from_angle(found) if ranks.shape[2] == 1 else found


def choose(rows, ranks, scorer, experience, among=None):
    """Weights of the members.

    Parameters
    ----------
    rows : Rows
        Labels and weights of the rows.
    ranks : ndarray of shape (n_members, n_rows, n_outputs)
        Out-of-fold ranks.
    scorer : callable
    experience : Experience
        With these members.
    among : tuple of str, default=None
        Choose one of these members instead of several.

    Returns
    -------
    ndarray of shape (n_members,)
        Not negative, sum 1.
    """
    return experience.weights(evidence(rows, ranks, scorer), _n_labels(rows, ranks), among)


def _n_labels(rows, ranks):
    """Labels of the rarer of two classes; all labels of more classes."""
    if ranks.shape[2] > 1:
        return len(rows)
    counts = np.bincount(rows.codes)
    return int(counts[counts > 0].min())


def cross_fitted(rows, ranks, scorer, experience, seed, among=None):
    """Ranks by the ensemble, with weights that were chosen without the row.

    Parameters
    ----------
    rows, ranks, scorer, experience, among
        As in `choose`; whole groups are left out together.
    seed : int

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
    """
    y = rows.codes
    n_splits = usual_splits(y, _N_SPLITS)
    # Ranks are out of fold already, and few rows are tested by time: groups need not be whole then.
    if rows.groups is None or rows.time is not None:
        tests = class_folds(y, n_splits, seed)
    else:
        tests = grouped_folds(y, rows.groups, n_splits, seed)
    combined = np.zeros(ranks.shape[1:])
    for test in tests:
        others = np.setdiff1d(np.arange(len(y)), test)
        # Weights that had seen the row would favor the members that happen to rank it right.
        weights = choose(rows.take(others), ranks[:, others], scorer, experience, among)
        combined[test] = combine(weights, ranks[:, test])
    return combined


class Weighing(NamedTuple):
    """Weights of the members, and what they give.

    Attributes
    ----------
    weights : ndarray of shape (n_members,)
    ranks : ndarray of shape (n_rows, n_outputs)
        Out-of-fold ranks by the ensemble with these weights.
    out_of_fold : ndarray of shape (n_rows, n_outputs)
        The same, with weights that were chosen without the row.
    """

    weights: np.ndarray
    ranks: np.ndarray
    out_of_fold: np.ndarray


def weigh(rows, ranks, scorer, experience, seed, among=None):
    """Choose the weights of the members, once with all rows and once without each row.

    Parameters
    ----------
    rows, ranks, scorer, experience, among
        As in `choose`.
    seed : int

    Returns
    -------
    Weighing
    """
    weights = choose(rows, ranks, scorer, experience, among)
    out_of_fold = cross_fitted(rows, ranks, scorer, experience, seed, among)
    return Weighing(weights, combine(weights, ranks), out_of_fold)
