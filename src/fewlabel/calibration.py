"""From scores to a threshold and probabilities: pure functions of scores, labels and weights.

A ranker's objective has no threshold, and its scores no unit. Here a *cut* turns scores into decisions and a *slope*
turns the decision function, ``scores - cut``, into log-odds.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, log_softmax, logit

from fewlabel.rows import effective_number

# Labels of the rarer class that the line reaches from and to.
_FEWEST = 2
_MOST = 300
_N_SLOPES = 33
_MOST_LOG_SLOPE = 4.0  # standard deviations of the prior of the slope for three classes or more
_LEAST_LOG_POSTERIOR = -12.0  # relative to the largest: slopes below it do not count
_STEEPEST = 1e6  # slope at which a search ends, where scores are scaled to [-1, 1]
_LEAST_SHRINKAGE = 0.05
_TINY = np.finfo(float).tiny


class SlopeBelief(NamedTuple):
    """What other tables say about the slope of the log-odds in the log-odds of an ensemble's ranks.

    Its logarithm is normal, around a line in the logarithm of the labels of the rarer class. The constants are those of
    benchmarks/quality/log_loss.py, chosen by the log-loss of other rows.

    Attributes
    ----------
    usual : float
        Mean of the logarithm with 20 labels of the rarer class.
    growth : float
        By which it rises with the logarithm of the labels.
    spread : float
        Its standard deviation.
    """

    usual: float = -0.3
    growth: float = 0.6
    spread: float = 0.91


_SLOPE_BELIEF = SlopeBelief()


class Calibration(NamedTuple):
    """A threshold and probabilities for given scores.

    Attributes
    ----------
    offset : float
        Added to the score: ``decision = score + offset`` is positive for the positive class.
    log_odds : ndarray of shape (2,)
        Slope and intercept of the log-odds of the positive class in `decision`.
    """

    offset: float
    log_odds: np.ndarray


def calibrate(scores, positive, weight=None):
    """Threshold and probabilities from labeled rows of both classes.

    The threshold has the best balanced accuracy. There the likelihood ratio of the classes is taken to be 1, and away
    from it its logarithm to be proportional to the distance; the share of positives among the rows is the intercept.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
    positive : ndarray of bool of shape (n_rows,)
    weight : ndarray of shape (n_rows,), default=None

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.calibration import calibrate
    >>> float(calibrate(np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, False, True, True])).offset)
    -1.5
    """
    scores, positive, weight = _merged(_tied(scores), positive, weight)
    cut = balanced_threshold(scores, positive, weight)
    slope = likelihood_slope(scores - cut, positive, weight)
    return Calibration(-cut, np.array([slope, logit(np.average(positive, weights=weight))]))


def sigmoid_from_few(scores, positive, weight=None, belief=_SLOPE_BELIEF):
    r"""Slope and intercept of the log-odds in scores of rows that the scoring model was not fitted to.

    The logarithm of the slope has a normal prior, learned on other tables, so that the slope is positive whatever the
    labels say: with ten labels the out-of-fold scores of a good model may rank them the wrong way round. The
    probabilities are averaged over the posterior of the slope, each with its own best intercept, and the sigmoid
    nearest to the average (in cross-entropy, over the rows) is returned. It is flatter the less the labels say.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Log-odds of ranks.
    positive : ndarray of bool of shape (n_rows,)
    weight : ndarray of shape (n_rows,), default=None
    belief : SlopeBelief

    Returns
    -------
    slope, intercept : float

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.calibration import sigmoid_from_few
    >>> slope, _ = sigmoid_from_few(np.array([2.0, 1.0, -1.0, -2.0]), np.array([False, False, True, True]))
    >>> bool(0 < slope < 1)
    True
    """
    scores, positive, weight = _merged(_tied(scores), positive, weight)
    # They mean the same on any scale.
    weight = weight * (effective_number(weight) / weight.sum())
    n_rarest = min(weight[positive].sum(), weight[~positive].sum())
    middle = belief.usual + belief.growth * math.log(np.clip(n_rarest, _FEWEST, _MOST) / 20)
    share = weight[positive].sum() / weight.sum()

    def log_posterior(log_slope):
        margin = math.exp(log_slope) * scores
        margin = margin + _intercept(margin, share, weight)
        # Not a product of BLAS, whose order of sums depends on its threads.
        log_likelihood = (weight * (positive * margin - np.logaddexp(0.0, margin))).sum()
        return log_likelihood - 0.5 * ((log_slope - middle) / belief.spread) ** 2

    # First all slopes that the prior allows, then those that the labels leave.
    allowed = np.linspace(middle - 4 * belief.spread, middle + 4 * belief.spread, _N_SLOPES)
    posterior = np.array([log_posterior(log_slope) for log_slope in allowed])
    likely = np.flatnonzero(posterior > posterior.max() + _LEAST_LOG_POSTERIOR)
    lowest = allowed[max(likely[0] - 1, 0)]
    highest = allowed[min(likely[-1] + 1, _N_SLOPES - 1)]
    log_slopes = np.linspace(lowest, highest, _N_SLOPES)
    posterior = np.array([log_posterior(log_slope) for log_slope in log_slopes])
    chance = np.exp(posterior - posterior.max())
    average = np.zeros(len(scores))
    for log_slope, part in zip(log_slopes, chance / chance.sum()):
        margin = math.exp(log_slope) * scores
        average += part * expit(margin + _intercept(margin, share, weight))

    def gradient(log_slope):
        margin = math.exp(log_slope) * scores
        probability = expit(margin + _intercept(margin, share, weight))
        return float((weight * scores * (probability - average)).sum())

    # An average of sigmoids may be flatter than each of them, and is steeper than none.
    flattest = lowest - 4.0
    slope = math.exp(flattest if gradient(flattest) >= 0 else brentq(gradient, flattest, highest + 1.0, xtol=1e-10))
    return slope, _intercept(slope * scores, share, weight)


def softmax_from_few(scores, codes, weight=None):
    r"""Slope and intercepts of the logits in scores of three classes or more, one score per class.

    The probabilities are the softmax of :math:`a s_k + \log \pi_k`, with :math:`\pi_k` the share of class k among the
    rows, one row more of each. The slope maximizes their likelihood with a standard normal prior of its logarithm.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Log-odds of ranks, of rows that the scoring model was not fitted to.
    codes : ndarray of int of shape (n_rows,)
    weight : ndarray of shape (n_rows,), default=None

    Returns
    -------
    slope : float
    intercepts : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.calibration import softmax_from_few
    >>> slope, intercepts = softmax_from_few(np.eye(3)[[0, 1, 2, 0]], np.array([0, 1, 2, 0]))
    >>> bool(slope > 1), np.exp(intercepts).round(3).tolist()
    (True, [0.429, 0.286, 0.286])
    """
    weight = np.ones(len(codes)) if weight is None else weight
    weight = weight * (effective_number(weight) / weight.sum())
    counts = np.bincount(codes, weight, minlength=scores.shape[1]) + 1.0
    intercepts = np.log(counts / counts.sum())
    # Sums then do not depend on the order of the rows.
    order = np.lexsort((weight, codes, *scores.T))
    scores = scores[order]
    weight = weight[order]
    own = (np.arange(len(order)), codes[order])

    def loss(log_slope):
        logits = math.exp(log_slope) * scores + intercepts
        log_likelihood = (weight * log_softmax(logits, axis=1)[own]).sum()
        return 0.5 * log_slope**2 - log_likelihood

    best = minimize_scalar(loss, bounds=(-_MOST_LOG_SLOPE, _MOST_LOG_SLOPE), method="bounded", options={"xatol": 1e-9})
    return math.exp(best.x), intercepts


def _intercept(margin, share, weight):
    """Intercept with which the probabilities average to the share of positives, as the best one does."""
    total = weight.sum()
    low = logit(share) - margin.max()
    high = logit(share) - margin.min()
    if high - low < _TINY:
        return low

    def excess(shift):
        return (weight * expit(margin + shift)).sum() / total - share

    # Rounding may put the root just outside.
    return brentq(excess, low - 1.0, high + 1.0, xtol=1e-12)


def out_of_fold_slope(decision, positive, weight=None):
    """Slope of the log-odds in a decision function of rows that it was not fitted to.

    Parameters
    ----------
    decision : ndarray of shape (n_rows,)
    positive : ndarray of bool of shape (n_rows,)
    weight : ndarray of shape (n_rows,), default=None

    Returns
    -------
    float
        Multiplied by `slope_shrinkage`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.calibration import out_of_fold_slope
    >>> bool(0 < out_of_fold_slope(np.array([-2.0, 1.0, -1.0, 2.0]), np.array([False, False, True, True])) < 1)
    True
    """
    merged = _merged(decision, positive, weight)
    slope = likelihood_slope(*merged)
    return slope * slope_shrinkage(slope, *merged)


def score_folds(scores, signs, n_folds):
    """Folds of the labeled rows, by their scores alone: neither the order of rows or columns nor copies matter.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
    signs : ndarray of shape (n_rows,)
        +1, -1, or 0 if unlabeled.
    n_folds : int

    Returns
    -------
    ndarray of int of shape (n_rows,) or None
        The fold of each row, -1 if unlabeled; rows of equal score and class are in one fold. None if a class has fewer
        than two different scores.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.calibration import score_folds
    >>> score_folds(np.array([0.1, 0.4, 0.4, 0.2, 0.3, 0.9]), np.array([1, 1, 1, -1, -1, 0]), 2)
    array([ 0,  1,  1,  0,  1, -1])
    """
    levels = _levels(scores)
    folds = np.full(len(scores), -1)
    for sign in (-1, 1):
        rows = signs == sign
        values, place = np.unique(levels[rows], return_inverse=True)
        if len(values) < 2:
            return None
        folds[rows] = place % min(n_folds, len(values))
    return folds


def calibrate_pu(scores, positive, prior, weight=None, *, at_prior=True):
    """Threshold and probabilities from labeled positives and unlabeled rows.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
    positive : ndarray of bool of shape (n_rows,)
        The labeled positives; all other rows are unlabeled.
    prior : float
        Share of positives among the unlabeled rows.
    weight : ndarray of shape (n_rows,), default=None
    at_prior : bool, default=True
        Cut where a share of `prior` of the unlabeled rows lies above; otherwise at 0.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.calibration import calibrate_pu
    >>> positive = np.array([False, False, False, False, True])
    >>> float(calibrate_pu(np.array([0.0, 1.0, 2.0, 3.0, 3.0]), positive, prior=0.25).offset)
    -2.5
    """
    # Nothing was learned: the more likely class.
    if scores.min() == scores.max():
        return Calibration(logit(prior) - scores[0], np.array([1.0, 0.0]))
    scores = _tied(scores)
    weight = np.ones(len(scores)) if weight is None else weight
    u, u_weight = _in_order(scores[~positive], weight[~positive])
    p, p_weight = _in_order(scores[positive], weight[positive])
    cut = prior_threshold(u, u_weight, prior) if at_prior else 0.0
    _, _, merged_weight = _merged(scores, positive, weight)
    most = math.log1p(effective_number(merged_weight))
    slope = pu_slope(p - cut, p_weight, u - cut, u_weight, prior, most)
    return Calibration(-cut, np.array([slope, 0.0]))


def balanced_threshold(scores, positive, weight):
    """Threshold with the best balanced accuracy, halfway between the two neighboring scores.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Ascending.
    positive : ndarray of bool of shape (n_rows,)
    weight : ndarray of shape (n_rows,)

    Returns
    -------
    float
        Scores above it are positive.
    """
    descending = scores[::-1]
    positive = positive[::-1]
    weight = weight[::-1]
    # Rows of one score are on one side.
    ends = np.flatnonzero(np.r_[descending[1:] < descending[:-1], True])
    false_alarms = np.cumsum(weight * ~positive)[ends]
    hits = np.cumsum(weight * positive)[ends]
    wrong = false_alarms / false_alarms[-1] - hits / hits[-1]
    best = _first_lowest(np.r_[0.0, wrong])
    # No cut is better than calling every row negative: cut above all scores.
    if best == 0:
        return np.nextafter(scores[-1], np.inf)
    lowest_positive = descending[ends[best - 1]]
    below = scores[scores < lowest_positive]
    if below.size == 0:
        return np.nextafter(lowest_positive, -np.inf)
    highest_negative = below[-1]
    middle = 0.5 * (lowest_positive + highest_negative)
    # Between neighboring floats the middle is one of them; the threshold has to be below the positive rows.
    return highest_negative if middle >= lowest_positive else middle


def prior_threshold(scores, weight, prior):
    """Threshold above which the share of the rows is nearest to the prior, halfway between two neighboring scores.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Of the unlabeled rows, ascending.
    weight : ndarray of shape (n_rows,)
        Sums to 1.
    prior : float

    Returns
    -------
    float
    """
    # A cut separates different scores.
    last = np.flatnonzero(np.diff(scores) > 0)
    # All unlabeled rows are equal: they are negative.
    if len(last) == 0:
        return scores[0]
    above = 1.0 - np.cumsum(weight)[last]
    k = last[_first_lowest(np.abs(above - prior))]
    middle = 0.5 * scores[k] + 0.5 * scores[k + 1]
    return scores[k] if middle >= scores[k + 1] else middle


def _first_lowest(shares):
    """Position of the first of the lowest shares; those that differ by rounding are equal, or weights would decide."""
    return int(np.argmax(shares <= shares.min() + 1e-12))


def likelihood_slope(decision, positive, weight):
    r"""Slope :math:`a \ge 0` of the log-likelihood ratio :math:`a \cdot decision` of the two classes.

    Logistic regression without intercept on classes of equal total weight. Platt's targets, slightly inside 0 and 1,
    keep the slope finite when the rows are separable. They depend on Kish's effective number of rows, which is the
    same for weights on any scale. Rows of equal score and class count as one, so that weights are repetitions.

    Parameters
    ----------
    decision : ndarray of shape (n_rows,)
        Without two equal values of a class.
    positive : ndarray of bool of shape (n_rows,)
    weight : ndarray of shape (n_rows,)

    Returns
    -------
    float

    References
    ----------
    .. [1] Platt. Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods.
       Advances in Large Margin Classifiers, 1999.
    """
    scale = np.abs(decision).max()
    # A constant score, and a threshold next to it.
    if scale < _TINY:
        return 0.0
    size = _class_weight(positive, weight)
    n_rows = np.where(positive, effective_number(weight[positive]), effective_number(weight[~positive]))
    target = np.where(positive, (n_rows + 1) / (n_rows + 2), 1 / (n_rows + 2))
    pull = weight / size * decision / scale

    def gradient(slope):
        return float(pull @ (expit(slope * decision / scale) - target))

    return _root(gradient) / scale


def slope_shrinkage(slope, decision, positive, weight):
    r"""Factor by which to multiply the slope of `likelihood_slope`, because it is an estimate from few rows.

    The positive part of :math:`1 - v / a^2`, with :math:`v` the sampling variance of the slope :math:`a`. With few
    labels the slope of scores without any information is far from 0, and probabilities are worse than a constant.

    Parameters
    ----------
    slope : float
    decision : ndarray of shape (n_rows,)
    positive : ndarray of bool of shape (n_rows,)
    weight : ndarray of shape (n_rows,)

    Returns
    -------
    float
        From 0.05, so that the probabilities rank rows as the scores do, to 1.

    References
    ----------
    .. [1] W. James, C. Stein. Estimation with quadratic loss. Fourth Berkeley Symposium on Mathematical Statistics and
       Probability, 1961.
    """
    if slope <= 0:
        return 1.0
    share = weight / _class_weight(positive, weight)
    margin = slope * decision
    probability = expit(margin)
    information = probability * (1 - probability) * margin**2
    curvature = share @ information
    # Of the slope, in units of the slope.
    variance = share**2 @ information / max(curvature, _TINY) ** 2
    return float(np.clip(1.0 - variance, _LEAST_SHRINKAGE, 1.0))


def _class_weight(positive, weight):
    """Total weight of the class of each row."""
    return np.where(positive, weight[positive].sum(), weight[~positive].sum())


def prior_shift(log_odds, prior):
    r"""Shift :math:`b` with which the probabilities average to a prior: the mean of :math:`\sigma(z + b)` is it.

    Parameters
    ----------
    log_odds : ndarray of shape (n_rows,)
        Of the rows that the prior refers to, such as the unlabeled ones.
    prior : float
        Share of positives among them.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from fewlabel.calibration import prior_shift
    >>> log_odds = np.array([-1.0, 0.0, 3.0])
    >>> round(float(expit(log_odds + prior_shift(log_odds, 0.2)).mean()), 6)
    0.2
    """
    # Sums of rows in another order differ in the last bit.
    ordered = np.sort(log_odds)
    return float(_intercept(ordered, prior, np.ones(len(ordered))))


def softmax_slope(outputs, codes, class_weight):
    r"""Slope :math:`a > 0` with the highest likelihood of the classes under the softmax of :math:`a \cdot outputs`.

    `likelihood_slope` for two classes or more, with one output per class and given weights of the classes.

    Parameters
    ----------
    outputs : ndarray of shape (n_rows, n_classes)
    codes : ndarray of int of shape (n_rows,)
        Class of each row.
    class_weight : ndarray of shape (n_classes,)

    Returns
    -------
    float
    """
    scale = np.abs(outputs).max()
    if not scale > _TINY:
        return 0.0
    n_classes = outputs.shape[1]
    counts = np.bincount(codes, minlength=n_classes)
    # Platt's targets, as for two classes.
    slip = 1.0 / (counts[codes] + 2.0)
    target = np.repeat(slip[:, None] / (n_classes - 1), n_classes, axis=1)
    target[np.arange(len(codes)), codes] = 1.0 - slip
    unit = outputs / scale
    pull = class_weight[codes][:, None] * unit

    def gradient(slope):
        probability = np.exp(log_softmax(slope * unit, axis=1))
        return float((pull * (probability - target)).sum())

    # Not flat, so that the probabilities rank rows as the outputs do.
    return max(_root(gradient), 1e-3) / scale


def pu_slope(p, p_weight, u, u_weight, prior, most):
    r"""Slope :math:`a \ge 0` of the log-odds :math:`a \cdot decision` that minimizes the unbiased logistic PU risk.

    .. math:: \overline{\log(1 + e^{a u})} - \pi\, a\, \overline{p}

    Parameters
    ----------
    p, u : ndarray
        Decision function of the labeled positives and of the unlabeled rows.
    p_weight, u_weight : ndarray
        Their weights; each sums to 1.
    prior : float
        :math:`\pi`.
    most : float
        The largest log-odds that a row may have; the slope is limited accordingly.

    Returns
    -------
    float

    References
    ----------
    .. [1] du Plessis, Niu, Sugiyama. Convex formulation for learning from positive and unlabeled data. ICML, 2015.
    """
    furthest = max(np.abs(p).max(), np.abs(u).max())
    # No row is away from the threshold, and dividing by the distance would overflow.
    if furthest < _TINY:
        return 0.0
    pull = prior * float(p_weight @ p)

    def gradient(slope):
        return float(u_weight @ (expit(slope * u) * u)) - pull

    steepest = most / furthest
    # Not flat, so that the probabilities rank rows as the scores do.
    if gradient(0.0) >= 0:
        return steepest * 1e-3
    if gradient(steepest) <= 0:
        return steepest
    return brentq(gradient, 0.0, steepest, xtol=1e-12 * steepest)


def _root(gradient):
    """Where an increasing function of the slope is zero, from 0 to about `_STEEPEST`; the nearer end if it is not."""
    if gradient(0.0) >= 0:
        return 0.0
    steepest = 1.0
    while gradient(steepest) < 0 and steepest < _STEEPEST:
        steepest *= 2
    if gradient(steepest) < 0:
        return steepest
    return brentq(gradient, 0.0, steepest, xtol=1e-12)


def _merged(scores, positive, weight):
    """Scores, ascending, classes and weights; rows of equal score and class are one row with their total weight."""
    weight = np.ones(len(scores)) if weight is None else weight
    levels = _levels(scores)
    # Sums then do not depend on the order of the rows.
    order = np.lexsort((weight, scores, positive, levels))
    levels = levels[order]
    positive = positive[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (np.diff(levels) > 0) | (positive[1:] != positive[:-1])
    first = np.flatnonzero(is_first)
    return scores[order][first], positive[first], np.add.reduceat(weight[order], first)


def _levels(scores):
    """Scores in units of 1e-9 of their range: those that differ by rounding alone are equal."""
    low = scores.min()
    width = max(scores.max() - low, _TINY)
    return np.round((scores - low) / width * 1e9)


def _tied(scores):
    """Scores, of which those that differ by rounding alone are all as low as the lowest: no cut is between them."""
    order = np.argsort(scores, kind="stable")
    levels = _levels(scores[order])
    first = np.r_[True, np.diff(levels) > 0]
    tied = np.empty_like(scores)
    tied[order] = scores[order][first][np.cumsum(first) - 1]
    return tied


def _in_order(scores, weight):
    """Scores, ascending, and their weights, which sum to 1 whatever the order of the rows."""
    order = np.lexsort((weight, scores))
    return scores[order], weight[order] / math.fsum(weight)
