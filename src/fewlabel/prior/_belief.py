r"""What can be known of the class prior and of the AUC without labeled negatives.

A share :math:`\pi` of the unlabeled rows is positive, so the AUC of positives against unlabeled rows is
:math:`A_U = (1 - \pi) A + \pi / 2`. Neither :math:`\pi` nor :math:`A` is identified by it, only that :math:`\pi` is at
most :math:`2 (1 - A_U)`, and at most the ratio of unlabeled to labeled rows above any score. Between 0 and this bound
every share explains the rows as well, so that is the interval. The estimate within it is experience: how far others
were from the true share on tables with as many positives and as high an :math:`A_U`. Its constants are maximum
likelihood estimates from 888 draws of 43 tables of several fields, each table with the same weight.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit, ndtri

from fewlabel.metrics.angles import from_angle, to_angle

_PRIORS = np.linspace(-7.0, 4.5, 116)  # log-odds
_ANGLES = np.linspace(0.3, np.pi + 1.0, 130)  # 2 arcsin(sqrt(AUC)); those above pi are an AUC of 1
_AUCS = from_angle(_ANGLES)
# Log-odds of the prior: a line in those of the estimates, lower the more the classes may overlap.
_SHIFT = -0.003
_SLOPE = 0.978
_BY_OVERLAP = -0.551
_BY_LARGEST = -0.454  # where the classes overlap, by the largest prior above this:
_LARGEST_FROM = -1.0
# Logarithm of its deviation, and what changes it.
_LOG_SPREAD = -0.848
_SPREAD_BY_LARGEST = 0.222
_SPREAD_BY_POSITIVES = -0.131
_SPREAD_BY_OVERLAP = 0.828
_CHANCE = 2.5  # over the root of the number of positives: overlap that they do not rule out
_WIDER = 1.15  # for tables unlike those that the constants were learned from
_ESTIMATES = (0.01, 0.95)  # beyond, the data cannot tell estimates apart
_LARGEST = (0.02, 0.95)
_POSITIVES = (8, 300)
# Angles of AUCs: over tables, with 12 positives; their growth with the logarithm of the positives; noise of one fit.
_MIDDLE = 2.3
_GROWTH = 0.13
_DEVIATION = 0.5
_NOISE = 0.6
_MOST_POSITIVES = 150
_MOST_AUC = 0.999  # without labeled negatives nothing shows that a ranking is perfect
_IMPOSSIBLE = 0.01  # likelihood of a given prior, relative to one that fits


def believe_prior(
    estimates: Sequence[float], auc: float, rise: float, bound: float, n_positive: float, n_unlabeled: float
):
    """Estimate of the class prior, and its interval from 0 to a bound that it exceeds in at most 5% of cases.

    Parameters
    ----------
    estimates : sequence of float
        By best bin estimation and by DEDPUL.
    auc : float
        Of labeled positives against unlabeled rows, out of fold.
    rise : float
        See `ratio_rise`.
    bound : float
        See `ratio_bound`.
    n_positive, n_unlabeled : float
        Effective numbers of rows.

    Returns
    -------
    prior, low, high : float
    """
    middle = logit(np.clip(estimates, *_ESTIMATES)).mean()
    largest = logit(np.clip(2 * (1 - auc), *_LARGEST))
    overlap = np.clip(max(rise, 0.0) + _CHANCE / np.sqrt(n_positive), 0.0, 1.0)
    by_overlap = _BY_OVERLAP + _BY_LARGEST * max(largest - _LARGEST_FROM, 0.0)
    expected = _SHIFT + _SLOPE * middle + overlap * by_overlap
    positives = np.log(np.clip(n_positive, *_POSITIVES) / 40)
    log_spread = _LOG_SPREAD + _SPREAD_BY_LARGEST * largest
    log_spread += _SPREAD_BY_POSITIVES * positives + _SPREAD_BY_OVERLAP * overlap
    spread = _WIDER * np.exp(log_spread)
    log_believed = -0.5 * ((_PRIORS - expected) / spread) ** 2
    log_believed += _log_possible(expit(_PRIORS), auc, _noise(n_positive, n_unlabeled))
    believed = np.exp(log_believed - log_believed.max())
    believed /= believed.sum()
    prior = float(believed @ expit(_PRIORS))
    by_experience = expit(np.interp(0.95, np.cumsum(believed) - believed / 2, _PRIORS))
    return prior, 0.0, float(max(by_experience, bound))


def auc_against_negatives(auc: float, n_positive: float, n_unlabeled: float, prior: float, low: float, high: float):
    """Posterior mean of the AUC of positives against negatives, and a 95% interval.

    The interval carries the uncertainty of the prior, whose log-odds have a normal distribution on either side. With
    a prior known exactly, `low` and `high` equal it; if it is impossible, any smaller one is thought as likely.

    Parameters
    ----------
    auc : float
        Of labeled positives against unlabeled rows, out of fold.
    n_positive, n_unlabeled : float
        Effective numbers of rows.
    prior, low, high : float
        The class prior and its 90% interval.

    Returns
    -------
    score, low, high : float
    """
    noise = _noise(n_positive, n_unlabeled)
    priors = expit(_PRIORS)
    log_believed = np.zeros(len(priors))
    if low < high:
        log_believed = _log_density(logit(prior), *logit(np.clip([low, high], priors[0], priors[-1])))
    elif np.exp(_log_possible(prior, auc, noise)) < _IMPOSSIBLE:
        priors = np.linspace(0.0, prior, len(priors))
    else:
        priors = np.full(len(priors), prior)
    log_believed = log_believed + _log_possible(priors, auc, noise)
    # With many rows and an AUC that no prior allows, every likelihood is too small for a float: only ratios count.
    believed = np.exp(log_believed - log_believed.max())
    expected = _MIDDLE + _GROWTH * np.log(np.clip(n_positive, 3, _MOST_POSITIVES) / 12)
    of_tables = -0.5 * ((_ANGLES - expected) / _DEVIATION) ** 2
    against_unlabeled = (1 - priors[:, None]) * _AUCS + priors[:, None] / 2
    of_rows = -0.5 * (to_angle(auc) - to_angle(against_unlabeled)) ** 2 / noise
    # How high AUCs usually are says something of the AUC, but nothing of the prior: it is given here.
    given_prior = np.exp(of_tables + of_rows - (of_tables + of_rows).max(axis=1, keepdims=True))
    given_prior /= given_prior.sum(axis=1, keepdims=True)
    posterior = believed @ given_prior / believed.sum()
    score = min(float(posterior @ _AUCS), _MOST_AUC)
    ends = np.interp([0.025, 0.975], np.cumsum(posterior) - posterior / 2, _AUCS)
    return score, float(min(ends[0], score)), float(ends[1])


def _log_density(middle, low, high):
    """Log-density of log-odds, normal on either side of the middle, with half of the mass and 45% up to the end."""
    spread = np.where(middle > _PRIORS, middle - low, high - middle) / ndtri(0.95)
    spread = np.maximum(spread, 1e-3)
    return -0.5 * ((_PRIORS - middle) / spread) ** 2 - np.log(spread)


def _log_possible(priors, auc, noise):
    """Log-likelihood of priors, relative to those that allow the AUC: at most 1 - prior / 2, at least prior / 2."""
    angle = to_angle(auc)
    too_high = np.maximum(angle - to_angle(1 - priors / 2), 0.0)
    too_low = np.maximum(to_angle(priors / 2) - angle, 0.0)
    return -0.5 * (too_high + too_low) ** 2 / noise


def _noise(n_positive, n_unlabeled):
    return _NOISE * (1 / max(n_positive - 1, 1) + 1 / max(n_unlabeled - 1, 1))
