"""Confidence intervals of scores and of differences between two scores."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from fewlabel.auto._weights import auc, score_ranks
from fewlabel.metrics import auc_confidence_interval, paired_auc_test, pu_auc_score

_N_BOOTSTRAP = 200
_CONFIDENCE = 0.95


class UnlabeledEffect(NamedTuple):
    """What the unlabeled rows are worth: the best method that uses them compared with the best that does not.

    Attributes
    ----------
    difference : float
        Of the out-of-fold scores; positive if the unlabeled rows help.
    low, high : float
        Its 95% interval, on the same rows.
    pvalue : float
    method, supervised : str
        The two methods.
    """

    difference: float
    low: float
    high: float
    pvalue: float
    method: str
    supervised: str


def unlabeled_effect(y, ranks, uses_unlabeled, names, scorer, seed):
    """Compare the best member that uses unlabeled rows with the best that does not.

    Parameters
    ----------
    y : ndarray of int
    ranks : ndarray of shape (n_members, n_rows, n_outputs)
    uses_unlabeled : ndarray of bool of shape (n_members,)
    names : sequence of str
    scorer : callable
    seed : int

    Returns
    -------
    UnlabeledEffect or None
        None if all members use unlabeled rows, or none does.
    """
    if uses_unlabeled.all() or not uses_unlabeled.any():
        return None
    scores = np.array([score_ranks(r, y, scorer) for r in ranks])
    best, other = (int(np.flatnonzero(group)[scores[group].argmax()]) for group in (uses_unlabeled, ~uses_unlabeled))
    found = compare(y, ranks[best], ranks[other], scorer, seed)
    return UnlabeledEffect(*map(float, found), names[best], names[other])


def interval(y, ranks, scorer, prior, seed):
    """Score and the ends of its 95% interval.

    The AUC of two classes has a closed form (DeLong, Newcombe; from positives and unlabeled rows if `prior` is given);
    everything else is bootstrapped.

    Parameters
    ----------
    y : ndarray of int
    ranks : ndarray of shape (n_rows, n_outputs)
    scorer : callable
    prior : float or None
    seed : int
    """
    score = score_ranks(ranks, y, scorer)
    if prior is not None:
        found = auc_confidence_interval(y, ranks[:, 0], pairs="pu", prior=prior)
        # The unbiased estimate may fall outside [0, 1].
        return float(np.clip(pu_auc_score(y, ranks[:, 0], prior), 0.0, 1.0)), found.low, found.high
    if scorer is auc and ranks.shape[1] == 1:
        found = auc_confidence_interval(y, ranks[:, 0])
        return score, found.low, found.high
    drawn = [score_ranks(ranks[rows], y[rows], scorer) for rows in _resamples(y, seed)]
    low, high = np.quantile(drawn, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2])
    return score, float(min(low, score)), float(max(high, score))


def compare(y, a, b, scorer, seed):
    """Difference of the scores of ranks `a` and `b` on the same rows, the ends of its 95% interval, and a p-value."""
    if scorer is auc and a.shape[1] == 1:
        test = paired_auc_test(y, a[:, 0], b[:, 0])
        return test.difference, test.low, test.high, test.pvalue
    difference = score_ranks(a, y, scorer) - score_ranks(b, y, scorer)
    drawn = np.array(
        [score_ranks(a[rows], y[rows], scorer) - score_ranks(b[rows], y[rows], scorer) for rows in _resamples(y, seed)]
    )
    low, high = np.quantile(drawn, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2])
    pvalue = min(1.0, 2 * (1 + min((drawn <= 0).sum(), (drawn >= 0).sum())) / (1 + len(drawn)))
    return difference, float(min(low, difference)), float(max(high, difference)), float(pvalue)


def _resamples(y, seed):
    """Rows drawn with replacement within each class."""
    rng = check_random_state(seed)
    groups = [np.flatnonzero(y == c) for c in np.unique(y)]
    for _ in range(_N_BOOTSTRAP):
        yield np.concatenate([rng.choice(group, len(group)) for group in groups])
