"""Confidence intervals of scores and of differences between two scores."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from sklearn.utils import check_random_state

from fewlabel.auto.weights import auc, average_precision, score_ranks
from fewlabel.decisions import curve_auc
from fewlabel.kernels.ranks import placements
from fewlabel.metrics import auc_confidence_interval, paired_auc_test
from fewlabel.metrics.angles import from_angle, to_angle
from fewlabel.prior import auc_against_negatives
from fewlabel.rows import effective_number

EXPERIENCE = "experience"
DISTRIBUTION_FREE = "distribution-free"
BOOTSTRAP = "bootstrap"
_N_BOOTSTRAP = 200
_MOST_DRAWS = 20  # of whole groups, until every class is among them
_UNSEEN = 0.5  # weight of the largest design effect, where the data weigh (number of groups that are ranked wrong)^3
_CONFIDENCE = 0.95
_ENDS = [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2]
_MOST_BELOW = 0.035  # of the posterior below a shrunken interval: the shortest one alone would leave out 5% there
_IS_ONE = 0.9995  # printed as 1.000; some models of some tables make no mistake at all
_NO_WIDTH = 1e-9
RARER = (3, 150)  # labels of the rarer class: beyond, the mean over tables is not known to change
_LOST = 2  # labels of each class that out-of-fold scores seem to lose, as in `effective_labels` of experience
_NOISE_BY_DESIGN = 0.29  # of rows that were drawn with known probability, see benchmarks/quality/audit.py
# Of rows that somebody chose, see benchmarks/quality/chosen_labels.py.
_TRUSTED = 300  # effective labels with which weights count as much as the curve of the scores
_BIAS = 0.12  # deviation of the angle by the curve, from one choice of rows to another
_ANGLES = np.linspace(0.0, np.pi, 1001)
_AUCS = from_angle(_ANGLES)
DEVIATIONS = norm.isf((1 - _CONFIDENCE) / 2)


class TableBelief(NamedTuple):
    r"""What other tables say about the score of a model, on the scale :math:`a = 2 \arcsin \sqrt{score}`.

    The score is :math:`N(\mu_n, \tau^2)` over tables, with :math:`\mu_n` linear in the logarithm of the labels n of the
    rarer class. An out-of-fold value is the score plus :math:`N(0, c (1 / (P - 2) + 1 / (N - 2)))`. The constants come
    from benchmarks/quality/estimates.py.

    Attributes
    ----------
    middle : float
        :math:`\mu_{12}`.
    growth : float
        Slope of :math:`\mu_n`.
    spread : float
        :math:`\tau`.
    noise : float
        :math:`c`.
    """

    middle: float = 2.525
    growth: float = 0.1478
    spread: float = 0.5968
    noise: float = 0.4397


_BELIEF = TableBelief()
BELIEFS = {auc: _BELIEF, average_precision: TableBelief(1.9413, 0.2037, 1.2495, 1.0518)}


def interval(rows, ranks, scorer, prior, seed, share=1.0, *, kind=EXPERIENCE, unlabeled=None, by_design=False):
    """Score and the ends of its 95% interval, never of width zero.

    By experience, the AUC, also its mean over more classes, and the average precision of two classes are shrunken to
    what such models have on other tables, see `posterior`, and the AUC of positives and unlabeled rows by
    :func:`fewlabel.prior.auc_against_negatives`; the design effect of groups and weights divides the numbers of rows.
    All else is bootstrapped, by groups if there are any. Only the AUC has a distribution-free interval.

    The interval is for a model of all labels, and the score for models of a `share` of them. Without experience,
    training sets are taken to vary as test sets do: with n_test/n_train = (1 - share)/share, the variance grows by the
    factor 1 + n_test/n_train = 1/share (Nadeau and Bengio add the same term to that of a single fold). With all labels,
    errors may be smaller by as much as the fast rate 1/n of their number n: the distance of the upper end to 1 shrinks
    by the factor `share`.

    Parameters
    ----------
    rows : Rows
        Labels, groups and weights.
    ranks : ndarray of shape (n_rows, n_outputs)
    scorer : callable
    prior : PriorEstimate or None
        For positive-unlabeled data.
    seed : int
    share : float, default=1.0
        Labels that the models learn from, as a share of all.
    kind : {"experience", "distribution-free"}, default="experience"
        Whether other tables count.
    unlabeled : ndarray of shape (n_unlabeled,), default=None
        For rows that somebody chose: ranks of the rows that the score is about, by the same model.
    by_design : bool, default=False
        Whether rows were drawn with known probability, their weights: they are then a sample of the rows to rank, and
        the score varies less than that of rows that somebody chose.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio. Inference for the generalization error. Machine Learning 52, 2003.
    """
    score = score_ranks(ranks, rows.codes, scorer, rows.weight)
    if kind == DISTRIBUTION_FREE:
        return distribution_free(rows, ranks, share)
    if scorer is auc and ranks.shape[1] > 1:
        return _of_classes(rows, score, share)
    if kind_of_interval(scorer, ranks.shape[1], kind) == BOOTSTRAP:
        low, high = _bootstrap_ends(rows, ranks, scorer, seed, score)
        factor = 1 / np.sqrt(share)
        low = max(score - factor * (score - low), 0.0)
        high = min(score + factor * (high - score), 1.0)
        return score, low, _with_more_labels(high, share)
    effect = design_effect(rows, _placements(rows.codes, ranks[:, 0]))
    if prior is None:
        n_negative, n_positive = np.bincount(rows.codes, minlength=2) / effect
        if unlabeled is not None and scorer is auc:
            return _of_chosen(rows, ranks[:, 0], score, effect, unlabeled, share)
        belief = BELIEFS[scorer]
        if by_design and scorer is auc:
            belief = belief._replace(noise=_NOISE_BY_DESIGN)
        return posterior(score, n_positive, n_negative, belief, share=share)
    n_unlabeled, n_positive = np.bincount(rows.codes, minlength=2) / effect
    return auc_against_negatives(score, n_positive, n_unlabeled, prior.prior, prior.low, prior.high)


def kind_of_interval(scorer, n_outputs, kind=EXPERIENCE):
    """What an `interval` is based on: as asked for, but scores that other tables say nothing about are bootstrapped.

    Parameters
    ----------
    scorer : callable
    n_outputs : int
        1 with two classes.
    kind : {"experience", "distribution-free"}, default="experience"
        What was asked for.

    Returns
    -------
    {"experience", "distribution-free", "bootstrap"}
    """
    has_experience = scorer is auc or (scorer in BELIEFS and n_outputs == 1)
    return kind if kind == DISTRIBUTION_FREE or has_experience else BOOTSTRAP


def distribution_free(rows, ranks, share):
    """The AUC by these labels alone, and the ends of its 95% interval for a model of all labels.

    With more than two classes they are means over the classes, each against the others. This interval is too wide,
    because errors of classes partly cancel.
    """
    if ranks.shape[1] > 1:
        found = []
        for k in np.unique(rows.codes):
            one_against_rest = replace(rows, codes=(rows.codes == k).astype(int))
            found.append(distribution_free(one_against_rest, ranks[:, [k]], share))
        score, low, high = np.mean(found, axis=0).tolist()
        return score, low, high
    ranks = ranks[:, 0]
    # Weights are in the interval itself; groups and training sets widen it.
    unweighted = replace(rows, weight=None)
    effect = design_effect(unweighted, _placements(rows.codes, ranks))
    confidence = _widened(effect / share)
    found = auc_confidence_interval(rows.codes, ranks, confidence=confidence, sample_weight=rows.weight)
    return found.auc, found.low, _with_more_labels(found.high, share)


def _of_classes(rows, score, share):
    """Posterior of the mean AUC of one class against the rest: one comparison less than there are classes."""
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    # Rows of a group may all be ranked alike.
    independent = weight if rows.groups is None else np.bincount(np.unique(rows.groups, return_inverse=True)[1], weight)
    n_rows = effective_number(independent[independent > 0])
    counts = np.bincount(rows.codes, weight)
    counts = counts[counts > 0] * (n_rows / counts.sum())
    n_class = _LOST + 1 / np.mean(1 / np.maximum(counts - _LOST, 1))
    return posterior(score, n_class, n_rows - n_class, n_comparisons=max(len(counts) - 1, 1), share=share)


def _of_chosen(rows, ranks, weighted, effect, unlabeled, share):
    r"""Posterior of the AUC of unlabeled rows, from rows that somebody chose.

    The curve of the scores (`curve_auc`) is right if rows were chosen by their scores, and has little variance. Weights
    are right if rows were chosen by any columns, and have much. On the scale of angles the two are averaged, the
    weights with the share :math:`\lambda = n / (n + 300)`, by the effective number n of labels. Their design effect
    counts by :math:`\lambda^2`, the bias of the curve by :math:`(1 - \lambda)^2`.
    """
    n_effective = effective_number(rows.weight)
    trust = n_effective / (n_effective + _TRUSTED)
    by_curve = to_angle(curve_auc(rows.codes == 1, ranks, unlabeled))
    angle = (1 - trust) * by_curve + trust * to_angle(weighted)
    alone = design_effect(replace(rows, weight=None), _placements(rows.codes, ranks))
    counts = np.bincount(rows.codes, minlength=2) / (alone + trust**2 * (effect - alone))
    bias = ((1 - trust) * _BIAS) ** 2
    return posterior(from_angle(angle), counts[1], counts[0], bias=bias, share=share)


def posterior(score, n_positive, n_negative, belief=_BELIEF, *, n_comparisons=1, bias=0.0, share=1.0):
    r"""Posterior mean of an AUC and an interval that holds 95% of its posterior, from its out-of-fold value.

    It is the shortest interval with at most 3.5% of the posterior below it. The shortest of all often leaves out
    nothing above, so that it would be wrong on the optimistic side only. The models behind the value learn from a share
    of the labels, and are expected to be worse by
    :math:`\mu_n - \mu_{n \cdot share}`.

    Parameters
    ----------
    score : float
        Out-of-fold AUC.
    n_positive, n_negative : float
        Effective numbers of labels.
    belief : TableBelief
    n_comparisons : int
        Of which the score is the mean.
    bias : float
        Further variance of its angle.
    share : float
        Of the labels that the models behind the score learn from.

    Returns
    -------
    score, low, high : float
    """
    n_rarer = np.clip(min(n_positive, n_negative), *RARER)
    expected = belief.middle + belief.growth * np.log(n_rarer / 12)
    observed = to_angle(score) - belief.growth * np.log(share)
    variance = angle_variance(n_positive, n_negative, belief.noise) / n_comparisons + bias
    log_density = -0.5 * ((_ANGLES - expected) / belief.spread) ** 2 - 0.5 * (_ANGLES - observed) ** 2 / variance
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    reached = np.cumsum(density)
    below = reached - density
    # From each angle to the first that leaves out no more than 5%.
    ends = np.searchsorted(reached, below + _CONFIDENCE * (1 - _NO_WIDTH))
    starts = np.flatnonzero((ends < len(_ANGLES)) & (below <= _MOST_BELOW))
    shortest = starts[np.argmin(_AUCS[ends[starts]] - _AUCS[starts])]
    high = float(_AUCS[ends[shortest]])
    return float(density @ _AUCS), float(_AUCS[shortest]), 1.0 if high >= _IS_ONE else high


def labels_within(headline, n_labels, within, *, shrunken):
    r"""Labels of the same kind with which the interval of a headline would reach this far to either side.

    On the scale :math:`a = 2 \arcsin \sqrt{score}` the precision of the estimate, :math:`1 / v`, is that of the prior
    over tables plus one proportional to the labels.

    Parameters
    ----------
    headline : dict
        `score`, `low` and `high`.
    n_labels : int
        Labels that it comes from.
    within : float
        Half of the width to reach.
    shrunken : bool
        Whether the interval has a prior over tables: for the AUC of two classes.

    Returns
    -------
    int
        At least `n_labels`, which it is where the interval is short enough.
    """
    width = headline["high"] - headline["low"]
    if width <= 2 * within:
        return n_labels
    # Near the middle an AUC is sin^2(angle / 2), whose derivative is sin(angle) / 2.
    deviation = width / (DEVIATIONS * max(np.sin(to_angle(headline["score"])), _NO_WIDTH))
    known = _BELIEF.spread**-2.0 if shrunken else 0.0
    from_labels = deviation**-2.0 - known
    # An interval that ends at 1 is shorter than its deviation says.
    if from_labels <= 0:
        known = 0.0
        from_labels = deviation**-2.0
    needed = (width / (2 * within) / deviation) ** 2 - known
    return int(np.ceil(n_labels * needed / from_labels))


def angle_variance(n_positive, n_negative, noise=_BELIEF.noise):
    """Variance of the angle of an AUC that is measured on so many rows."""
    return noise * (1 / max(n_positive - _LOST, 1) + 1 / max(n_negative - _LOST, 1))


def _with_more_labels(high, share):
    return 1 - (1 - high) * share


def prior_is_too_large(rows, ranks, prior):
    """Whether positives rank above more of the unlabeled rows than the prior allows, by more than chance.

    Parameters
    ----------
    rows : Rows
        Of class 1 (positives) and 0 (unlabeled).
    ranks : ndarray of shape (n_rows, 1)
    prior : float

    Returns
    -------
    bool
    """
    return auc_confidence_interval(rows.codes, ranks[:, 0]).low > 1 - prior / 2


def compare(rows, a, b, scorer, seed):
    """Difference of the scores of ranks `a` and `b` on the same rows, and the ends of its 95% interval."""
    y = rows.codes
    if scorer is auc and a.shape[1] == 1 and rows.weight is None:
        gains = _placements(y, a[:, 0]) - _placements(y, b[:, 0])
        confidence = _widened(design_effect(rows, gains))
        test = paired_auc_test(y, a[:, 0], b[:, 0], confidence=confidence)
        difference = test.difference
        low = test.low
        high = test.high
    else:
        difference = score_ranks(a, y, scorer, rows.weight) - score_ranks(b, y, scorer, rows.weight)
        differences = []
        for draw in _resamples(y, seed, rows.groups):
            differences.append(_score_at(rows, draw, a, scorer) - _score_at(rows, draw, b, scorer))
        low, high = np.quantile(differences, _ENDS)
    unseen = 0.0
    if high - low < _NO_WIDTH:
        # Equal ranks of n rows: a row in which they differ may be as frequent as this without having been drawn.
        n_rarest = np.bincount(y)[np.unique(y)].min()
        unseen = 1 - (1 - _CONFIDENCE) ** (1 / n_rarest)
    low = min(low, difference) - unseen
    high = max(high, difference) + unseen
    return difference, float(low), float(high)


def design_effect(rows, values):
    """Variance of a mean of placements with groups and weights, over that of as many independent rows.

    It is the ratio of the sums of squares of groups and of rows (Obuchowski 1997), as far as there are rows that are
    ranked wrong; without them, the largest possible one, with equal values in each group.

    Parameters
    ----------
    rows : Rows
        Of class 1 (positives) and 0.
    values : ndarray of shape (n_rows,)
        Placements, or differences of two.

    Returns
    -------
    float
        At least 1.

    References
    ----------
    .. [1] N. A. Obuchowski. Nonparametric analysis of clustered ROC curve data. Biometrics 53, 1997.
    """
    if rows.groups is None and rows.weight is None:
        return 1.0
    n_rows = len(rows)
    weight = np.ones(n_rows) if rows.weight is None else rows.weight
    groups = np.arange(n_rows) if rows.groups is None else np.unique(rows.groups, return_inverse=True)[1]
    influence = np.zeros(n_rows)
    alone = 0.0
    largest = 1.0
    n_groups = n_rows
    for code in (0, 1):
        of_class = np.flatnonzero(rows.codes == code)
        n_class = len(of_class)
        share = weight[of_class] / weight[of_class].sum()
        centered = values[of_class] - np.average(values[of_class], weights=share)
        influence[of_class] = share * centered
        alone += (centered**2).sum() / n_class**2
        by_group = np.bincount(groups[of_class], share)
        largest = max(largest, n_class * float((by_group**2).sum()))
        n_groups = min(n_groups, int((by_group > 0).sum()))
    observed = largest
    if alone > 0 and n_groups > 1:
        of_groups = np.bincount(groups, influence)
        observed = float((of_groups**2).sum()) / alone * n_groups / (n_groups - 1)
    # Few groups that are ranked wrong say little: an effect that they happen not to show is not ruled out.
    evidence = abs((n_groups * (1 - values.mean())) ** 3) if len(values) else 0.0
    mixed = (_UNSEEN * largest + evidence * observed) / (_UNSEEN + evidence)
    return float(max(mixed, 1.0))


def _placements(y, score):
    values = np.zeros(len(y))
    values[y == 1], values[y == 0] = placements(score[y == 1], score[y == 0])
    return values


def _widened(effect):
    """Confidence of an interval that is wider than the 95% one by the root of `effect`."""
    z = norm.isf((1 - _CONFIDENCE) / 2)
    return 1 - 2 * max(norm.sf(z * np.sqrt(effect)), 1e-9)


def _bootstrap_ends(rows, ranks, scorer, seed, score):
    """Ends of the bootstrap interval; if no draw differs, one row of each class that is ranked wrong is added."""
    drawn = [_score_at(rows, draw, ranks, scorer) for draw in _resamples(rows.codes, seed, rows.groups)]
    low, high = np.quantile(drawn, _ENDS)
    low = float(min(low, score))
    high = float(max(high, score))
    if high - low > _NO_WIDTH:
        return low, high
    present = np.unique(rows.codes)
    wrong = np.ones((len(present), ranks.shape[1]))
    if ranks.shape[1] > 1:
        wrong[np.arange(len(present)), present] = 0.0
    else:
        wrong[present != 0] = 0.0
    y = np.r_[rows.codes, present]
    ranks = np.vstack([ranks, wrong])
    drawn = [score_ranks(ranks[draw], y[draw], scorer) for draw in _resamples(y, seed)]
    return float(min(np.quantile(drawn, _ENDS[0]), low)), high


def _score_at(rows, draw, ranks, scorer):
    weight = None if rows.weight is None else rows.weight[draw]
    return score_ranks(ranks[draw], rows.codes[draw], scorer, weight)


def _resamples(y, seed, groups=None):
    """Rows drawn with replacement within each class; with groups, whole groups that hold every class together."""
    rng = check_random_state(seed)
    classes = np.unique(y)
    if groups is None:
        of_class = [np.flatnonzero(y == code) for code in classes]
        for _ in range(_N_BOOTSTRAP):
            yield np.concatenate([rng.choice(rows, len(rows)) for rows in of_class])
        return
    order = np.argsort(groups, kind="stable")
    of_group = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    for _ in range(_N_BOOTSTRAP):
        # If a class is in too few groups.
        draw = order
        for _ in range(_MOST_DRAWS):
            some = np.concatenate([of_group[k] for k in rng.randint(len(of_group), size=len(of_group))])
            if len(np.unique(y[some])) == len(classes):
                draw = some
                break
        yield draw
