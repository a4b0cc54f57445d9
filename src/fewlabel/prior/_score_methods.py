"""Priors from out-of-fold scores: best bin estimation, DEDPUL, and Elkan and Noto's method.

Each function takes the scores `p` of the labeled positives and `u` of the unlabeled rows, and their weights.
"""

import math

import numpy as np
from scipy import ndimage
from scipy.optimize import bisect
from scipy.special import logit

from fewlabel.rows import effective_number

_BBE_DELTA = 0.1  # chance that the error bar of best bin estimation fails
_BBE_GAMMA = 0.01  # by which it is widened (Garg et al. 2021)
_BOUND_DEVIATIONS = 2.6  # of the smallest of many ratios
_BOUND_SHARE = 0.25  # of the positives above a score: of fewer, chance decides
_BOUND_SCORES = 60
_DEDPUL_POINTS = 2000
_LARGEST_RATIO = 50.0


def bbe(p, u, p_count, u_count):
    """Best bin estimation: minimize the ratio of unlabeled to labeled rows above a score, with its error bar."""
    pooled = np.concatenate([p, u])
    order = np.argsort(-pooled, kind="stable")
    of_p = np.pad(p_count, (0, len(u)))[order]
    of_u = np.pad(u_count, (len(p), 0))[order]
    # A threshold includes all rows of equal score.
    last = np.append(np.diff(pooled[order]) < 0, True)
    q_p = np.cumsum(of_p)[last] / of_p.sum()
    q_u = np.cumsum(of_u)[last] / of_u.sum()
    some = q_p > 0
    q_p = q_p[some]
    q_u = q_u[some]
    log_chance = math.log(4 / _BBE_DELTA)
    p_bar = math.sqrt(log_chance / (2 * len(p)))
    u_bar = math.sqrt(log_chance / (2 * len(u)))
    # The error bar keeps the threshold away from the top, where few rows make the ratio small by chance.
    bar = (1 + _BBE_GAMMA) * (u_bar + p_bar)
    k = np.argmin((q_u + bar) / q_p)
    return float(min(1.0, q_u[k] / q_p[k]))


def ratio_bound(p, u, p_count, u_count):
    """Upper confidence bound of the prior: the smallest one of the ratio of unlabeled to labeled rows above a score.

    The logarithm of a ratio of two shares q of n rows has the variance (1 - q) / (n q) of each.
    """
    bound = 1.0
    for score in np.unique(np.quantile(p, np.linspace(0.0, 1 - _BOUND_SHARE, _BOUND_SCORES))):
        shares = []
        variance = 0.0
        for scores, count in ((p, p_count), (u, u_count)):
            n_rows = effective_number(count)
            # Half a row more: no unlabeled row may be as high.
            share = max(count[scores >= score].sum() / count.sum(), 0.5 / n_rows)
            variance += (1 - share) / (n_rows * share)
            shares.append(share)
        bound = min(bound, shares[1] / shares[0] * math.exp(_BOUND_DEVIATIONS * math.sqrt(variance)))
    return float(bound)


def dedpul(p, u, p_count, u_count):
    """Run expectation maximization with the density ratio of positives to unlabeled rows along the score."""
    ratio, share = _density_ratio(p, u, p_count, u_count)
    order = np.argsort(ratio, kind="stable")
    ratio = ratio[order]
    share = share[order]
    sum_share = np.append(0.0, np.cumsum(share))
    sum_ratio = np.append(0.0, np.cumsum(share * ratio))

    def gap(prior):
        """Prior minus the mean of min(1, prior * ratio): convex, zero at zero and at the fixed point."""
        k = np.searchsorted(ratio, 1.0 / prior)
        return prior - prior * sum_ratio[k] - (1.0 - sum_share[k])

    prior = 1.0
    if gap(1.0) > 1e-5:
        prior = bisect(lambda x: gap(x) - 1e-5, 1e-9, 1.0, xtol=1e-6)
    # Smoothing can hide the fixed point; the gap then bends where it would have been.
    grid = np.arange(0.001, 1.0, 0.001)
    gaps = gap(grid)
    near_zero = gaps[1:-1] < 0.05
    bend = np.where(near_zero, np.diff(gaps, 2), -np.inf)
    at_bend = float(grid[1 + np.argmax(bend)])
    return prior if prior > max(at_bend, 0.002) else at_bend


def _density_ratio(p, u, p_count, u_count):
    """Smoothed density ratio at a sample of the unlabeled rows, and the share of each of them."""
    mean_p = np.average(p, weights=p_count)
    mean_u = np.average(u, weights=u_count)
    middle = logit(0.5 * (mean_p + mean_u))
    order = np.argsort(u, kind="stable")
    x = logit(u[order])
    count = u_count[order]
    x = x[count > 0]
    count = count[count > 0]
    every = max(1, len(x) // _DEDPUL_POINTS)
    points = x[::every]
    share = count[::every] / count[::every].sum()
    f_p = density(logit(p), p_count, points, 0.1)
    f_u = density(x, count, points, 0.05)
    ratio = np.minimum(f_p / np.maximum(f_u, 1e-300), _LARGEST_RATIO)
    ratio = ndimage.median_filter(ratio, 11, mode="nearest")
    # Where positives prevail, the ratio can only grow with the score.
    above = points > middle
    ratio[above] = np.maximum.accumulate(ratio[above])
    size = 2 * (len(points) // 20) + 1
    ratio = ndimage.median_filter(ratio, size, mode="nearest")
    return ratio, share


def density(x, count, at, factor):
    """Estimate a density by Gaussian kernels on a grid, with linear interpolation.

    The bandwidth is `factor` standard deviations.
    """
    mean = np.average(x, weights=count)
    deviation = math.sqrt(np.average((x - mean) ** 2, weights=count))
    width = factor * max(deviation, 1e-6)
    low = min(x.min(), at.min()) - 3 * width
    high = max(x.max(), at.max()) + 3 * width
    # Four cells of the grid per bandwidth.
    n = int(np.clip(4 * (high - low) / width, 512, 8192))
    counts, edges = np.histogram(x, bins=n, range=(low, high), weights=count)
    step = edges[1] - edges[0]
    smooth = ndimage.gaussian_filter1d(counts, width / step, mode="constant", truncate=6)
    centers = edges[:-1] + step / 2
    return np.interp(at, centers, smooth / (count.sum() * step))


def elkan_noto(p, p_count, n_p, n_u, setting):
    """Use the mean score c of the positives, which is P(labeled | positive) if the classes do not overlap."""
    if setting == "case-control":
        c = float(np.average(p, weights=p_count))
        return min(1.0, (1 - c) / c)
    # From balanced scores to the probability of a label.
    labeled = p * n_p / (p * n_p + (1 - p) * n_u)
    n_positive = n_p / float(np.average(labeled, weights=p_count))
    return float(np.clip((n_positive - n_p) / n_u, 0.0, 1.0))


def ratio_rise(p, u, p_count, u_count):
    """Logarithmic growth of the ratio of unlabeled to labeled rows above a score, from a high score to a low one.

    With a region of positives only it is the prior at both scores. Where the classes overlap, it grows.
    """
    order = np.argsort(-p, kind="stable")
    above = np.cumsum(p_count[order]) / p_count.sum()
    logarithms = []
    for share in (0.25, 0.9):
        score = p[order][min(np.searchsorted(above, share), len(p) - 1)]
        # Half a row more: no unlabeled row may be as high.
        of_u = u_count[u >= score].sum() / u_count.sum() + 0.5 / len(u)
        of_p = p_count[p >= score].sum() / p_count.sum() + 0.5 / len(p)
        logarithms.append(math.log(of_u / of_p))
    return logarithms[1] - logarithms[0]
