"""Confidence intervals of scores and of differences between two scores."""

import numpy as np
from scipy.stats import norm
from sklearn.utils import check_random_state

from fewlabel.auto._weights import auc, score_ranks
from fewlabel.folds import INDEPENDENT
from fewlabel.kernels.ranks import placements
from fewlabel.metrics import auc_confidence_interval, paired_auc_test

_N_BOOTSTRAP, _MOST_DRAWS = 200, 20
_UNSEEN = 0.5  # weight of the largest design effect, where the data weigh (number of groups that are ranked wrong)^3
_CONFIDENCE = 0.95


def interval(y, ranks, scorer, prior, seed, sampling=INDEPENDENT, share=1.0):
    """Score and the ends of its 95% interval, never of width zero.

    The AUC of two classes has a closed form (from positives and unlabeled rows if `prior` is given), which is widened
    by the design effect of groups and weights; everything else is bootstrapped, by groups if there are any.

    The interval is for a model of all labels, and the score for models of a `share` of them. Training sets vary as
    test sets do: with n_test/n_train = (1 - share)/share, the variance grows by the factor 1 + n_test/n_train = 1/share
    (Nadeau and Bengio add the same term to that of a single fold). With all labels, errors may be smaller by as much as
    the fast rate 1/n of their number n: the distance of the upper end to 1 shrinks by the factor `share`.

    Parameters
    ----------
    y : ndarray of int
    ranks : ndarray of shape (n_rows, n_outputs)
    scorer : callable
    prior : float or None
    seed : int
    sampling : Sampling, default=INDEPENDENT
        Groups and weights of the rows.
    share : float, default=1.0
        Labels that the models learn from, as a share of all.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio. Inference for the generalization error. Machine Learning 52, 2003.
    """
    score = score_ranks(ranks, y, scorer, sampling.weight)
    if scorer is not auc or ranks.shape[1] > 1:
        low, high = _bootstrap_ends(y, ranks, scorer, seed, sampling, score)
        factor = 1 / np.sqrt(share)
        low, high = max(score - factor * (score - low), 0.0), min(score + factor * (high - score), 1.0)
        return score, low, _with_more_labels(high, share)
    effect = design_effect(y, _placements(y, ranks[:, 0]), sampling) / share
    found = auc_confidence_interval(y, ranks[:, 0], confidence=_widened(effect))
    # With weights the score is another one; the ends keep their distance to it.
    low, high = max(found.low + score - found.auc, 0.0), min(found.high + score - found.auc, 1.0)
    high = _with_more_labels(high, share)
    return (score, low, high) if prior is None else _from_positives(score, low, high, prior)


def _with_more_labels(high, share):
    return 1 - (1 - high) * share


def _from_positives(observed, low, high, prior):
    """AUC against negatives from that against unlabeled rows, of which a share of `prior` is positive.

    A prior that is too large puts the whole interval outside [0, 1]. Then nothing is assumed about it: without
    positives among the unlabeled rows the two AUCs are equal, with some the first is further from 1/2.
    """
    score, new_low, new_high = ((v - prior / 2) / (1 - prior) for v in (observed, low, high))
    score = float(np.clip(score, 0.0, 1.0))  # the unbiased estimate may fall outside
    if new_low >= 1:
        return score, low, 1.0
    if new_high <= 0:
        return score, 0.0, high
    return score, max(new_low, 0.0), min(new_high, 1.0)


def prior_is_too_large(y, ranks, prior):
    """Whether positives rank above more of the unlabeled rows than the prior allows, by more than chance.

    Parameters
    ----------
    y : ndarray of int
        1 for positives, 0 for unlabeled rows.
    ranks : ndarray of shape (n_rows, 1)
    prior : float

    Returns
    -------
    bool
    """
    return auc_confidence_interval(y, ranks[:, 0]).low > 1 - prior / 2


def compare(y, a, b, scorer, seed, sampling=INDEPENDENT):
    """Difference of the scores of ranks `a` and `b` on the same rows, the ends of its 95% interval, and a p-value."""
    if scorer is auc and a.shape[1] == 1 and sampling.weight is None:
        effect = design_effect(y, _placements(y, a[:, 0]) - _placements(y, b[:, 0]), sampling)
        test = paired_auc_test(y, a[:, 0], b[:, 0], confidence=_widened(effect))
        difference, low, high, pvalue = test.difference, test.low, test.high, test.pvalue
    else:
        weight = sampling.weight
        difference = score_ranks(a, y, scorer, weight) - score_ranks(b, y, scorer, weight)
        drawn = np.array(
            [
                _score_of(a, rows, y, scorer, weight) - _score_of(b, rows, y, scorer, weight)
                for rows in _resamples(y, seed, sampling.groups)
            ]
        )
        low, high = np.quantile(drawn, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2])
        pvalue = min(1.0, 2 * (1 + min((drawn <= 0).sum(), (drawn >= 0).sum())) / (1 + len(drawn)))
    # Equal ranks of n rows: a row in which they differ may be as frequent as this without having been drawn.
    unseen = 1 - (1 - _CONFIDENCE) ** (1 / np.bincount(y)[np.unique(y)].min()) if high - low < 1e-9 else 0.0
    return difference, float(min(low, difference) - unseen), float(max(high, difference) + unseen), float(pvalue)


def design_effect(y, values, sampling):
    """Variance of a mean of placements with groups and weights, over that of as many independent rows.

    It is the ratio of the sums of squares of groups and of rows (Obuchowski 1997), as far as there are rows that are
    ranked wrong; without them, the largest possible one, with equal values in each group.

    Parameters
    ----------
    y : ndarray of int
        1 for positives, 0 for others.
    values : ndarray of shape (n_rows,)
        Placements, or differences of two.
    sampling : Sampling
        Groups and weights of the rows.

    Returns
    -------
    float
        At least 1.

    References
    ----------
    .. [1] N. A. Obuchowski. Nonparametric analysis of clustered ROC curve data. Biometrics 53, 1997.
    """
    if sampling.groups is None and sampling.weight is None:
        return 1.0
    weight = np.ones(len(y)) if sampling.weight is None else sampling.weight
    groups = np.arange(len(y)) if sampling.groups is None else np.unique(sampling.groups, return_inverse=True)[1]
    influence, alone, largest, n_groups = np.zeros(len(y)), 0.0, 1.0, len(y)
    for code in (0, 1):
        of_class = y == code
        share = weight[of_class] / weight[of_class].sum()
        centered = values[of_class] - np.average(values[of_class], weights=share)
        influence[of_class] = share * centered
        alone += (centered**2).sum() / of_class.sum() ** 2
        by_group = np.bincount(groups[of_class], share)
        largest = max(largest, of_class.sum() * float((by_group**2).sum()))
        n_groups = min(n_groups, int((by_group > 0).sum()))
    observed = largest
    if alone > 0 and n_groups > 1:
        observed = float((np.bincount(groups, influence) ** 2).sum()) / alone * n_groups / (n_groups - 1)
    evidence = (n_groups * (1 - values.mean())) ** 3 if len(values) else 0.0
    mixed = (_UNSEEN * largest + abs(evidence) * observed) / (_UNSEEN + abs(evidence))
    return float(max(mixed, 1.0))


def _placements(y, score):
    values = np.zeros(len(y))
    values[y == 1], values[y == 0] = placements(score[y == 1], score[y == 0])
    return values


def _widened(effect):
    """Confidence of an interval that is wider than the 95% one by the root of `effect`."""
    z = norm.isf((1 - _CONFIDENCE) / 2)
    return 1 - 2 * max(norm.sf(z * np.sqrt(effect)), 1e-9)


def _bootstrap_ends(y, ranks, scorer, seed, sampling, score):
    """Ends of the bootstrap interval; if no draw differs, one row of each class that is ranked wrong is added."""
    weight = sampling.weight
    drawn = [_score_of(ranks, rows, y, scorer, weight) for rows in _resamples(y, seed, sampling.groups)]
    low, high = np.quantile(drawn, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2])
    low, high = float(min(low, score)), float(max(high, score))
    if high - low > 1e-9:
        return low, high
    codes = np.unique(y)
    wrong = np.ones((len(codes), ranks.shape[1]))
    wrong[np.arange(len(codes)), codes if ranks.shape[1] > 1 else 0] = 0.0
    if ranks.shape[1] == 1:
        wrong[codes == 0] = 1.0
    y, ranks = np.r_[y, codes], np.vstack([ranks, wrong])
    drawn = [score_ranks(ranks[rows], y[rows], scorer) for rows in _resamples(y, seed)]
    return float(min(np.quantile(drawn, (1 - _CONFIDENCE) / 2), low)), high


def _score_of(ranks, rows, y, scorer, weight):
    return score_ranks(ranks[rows], y[rows], scorer, None if weight is None else weight[rows])


def _resamples(y, seed, groups=None):
    """Rows drawn with replacement within each class; with groups, whole groups that hold every class together."""
    rng = check_random_state(seed)
    if groups is None:
        of_class = [np.flatnonzero(y == c) for c in np.unique(y)]
        for _ in range(_N_BOOTSTRAP):
            yield np.concatenate([rng.choice(rows, len(rows)) for rows in of_class])
        return
    order = np.argsort(groups, kind="stable")
    of_group = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    n_classes = len(np.unique(y))
    for _ in range(_N_BOOTSTRAP):
        rows = order
        for _ in range(_MOST_DRAWS):
            rows = np.concatenate([of_group[k] for k in rng.randint(len(of_group), size=len(of_group))])
            if len(np.unique(y[rows])) == n_classes:
                break
        else:
            rows = order  # a class is in too few groups
        yield rows
