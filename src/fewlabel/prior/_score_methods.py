"""Priors from out-of-fold scores: best bin estimation, DEDPUL, a Gaussian mixture, and Elkan and Noto's method.

Each function takes the scores `p` of the labeled positives and `u` of the unlabeled rows, and their weights: those of
the user, or how many times the bootstrap drew each row.
"""

import math

import numpy as np
from scipy import ndimage
from scipy.optimize import bisect
from scipy.special import logit

_DEDPUL_POINTS = 2000
_MIXTURE_POINTS = 200


def bbe(p, u, p_count=None, u_count=None, delta=0.1, gamma=0.01):
    """Best bin estimation: minimize the ratio of unlabeled to labeled rows above a score, with its error bar."""
    pooled = np.concatenate([p, u])
    order = np.argsort(-pooled, kind="stable")
    of_p = np.r_[np.ones(len(p)) if p_count is None else p_count, np.zeros(len(u))][order]
    of_u = np.r_[np.zeros(len(p)), np.ones(len(u)) if u_count is None else u_count][order]
    last = np.r_[np.diff(pooled[order]) < 0, True]  # a threshold includes all rows of equal score
    q_p, q_u = np.cumsum(of_p)[last] / of_p.sum(), np.cumsum(of_u)[last] / of_u.sum()
    q_p, q_u = q_p[q_p > 0], q_u[q_p > 0]
    bar = (1 + gamma) * (math.sqrt(math.log(4 / delta) / (2 * len(u))) + math.sqrt(math.log(4 / delta) / (2 * len(p))))
    k = np.argmin((q_u + bar) / q_p)
    return float(min(1.0, q_u[k] / q_p[k]))


def dedpul(p, u, p_count=None, u_count=None):
    """Run expectation maximization with the density ratio of positives to unlabeled rows along the score."""
    ratio, share = _density_ratio(p, u, p_count, u_count)
    order = np.argsort(ratio, kind="stable")
    ratio, share = ratio[order], share[order]
    sum_share, sum_ratio = np.r_[0.0, np.cumsum(share)], np.r_[0.0, np.cumsum(share * ratio)]

    def gap(prior):  # prior less the mean of min(1, prior * ratio): convex, zero at zero and at the fixed point
        k = np.searchsorted(ratio, 1.0 / prior)
        return prior - prior * sum_ratio[k] - (1.0 - sum_share[k])

    prior = 1.0 if gap(1.0) <= 1e-5 else bisect(lambda x: gap(x) - 1e-5, 1e-9, 1.0, xtol=1e-6)
    grid = np.arange(0.001, 1.0, 0.001)
    gap = gap(grid)
    bend = np.where(gap[1:-1] < 0.05, np.diff(gap, 2), -np.inf)
    other = float(grid[1 + np.argmax(bend)])
    return prior if prior > other and prior > 0.002 else other


def _density_ratio(p, u, p_count, u_count):
    """Smoothed density ratio at a sample of the unlabeled rows, and the share of each of them."""
    x_p, x_u, of_u = logit(p), np.sort(logit(u)), u_count
    u_count = np.ones(len(u)) if u_count is None else u_count[np.argsort(u, kind="stable")]
    x_u, u_count = x_u[u_count > 0], u_count[u_count > 0]
    every = max(1, len(x_u) // _DEDPUL_POINTS)
    all_u, all_counts, x_u, u_count = x_u, u_count, x_u[::every], u_count[::every]
    f_p, f_u = density(x_p, p_count, x_u, 0.1), density(all_u, all_counts, x_u, 0.05)
    ratio = np.minimum(f_p / np.maximum(f_u, 1e-300), 50.0)
    ratio = ndimage.median_filter(ratio, 11, mode="nearest")
    above = x_u > logit(0.5 * (np.average(p, weights=p_count) + np.average(u, weights=of_u)))
    ratio[above] = np.maximum.accumulate(ratio[above])
    ratio = ndimage.median_filter(ratio, 2 * (len(x_u) // 20) + 1, mode="nearest")
    return ratio, u_count / u_count.sum()


def density(x, count, at, factor):
    """Estimate a density by Gaussian kernels on a grid, with linear interpolation.

    The bandwidth is `factor` standard deviations.
    """
    count = np.ones(len(x)) if count is None else count
    mean = np.average(x, weights=count)
    width = factor * max(math.sqrt(np.average((x - mean) ** 2, weights=count)), 1e-6)
    low, high = min(x.min(), at.min()) - 3 * width, max(x.max(), at.max()) + 3 * width
    n = int(np.clip(4 * (high - low) / width, 512, 8192))
    counts, edges = np.histogram(x, bins=n, range=(low, high), weights=count)
    step = edges[1] - edges[0]
    smooth = ndimage.gaussian_filter1d(counts, width / step, mode="constant", truncate=6)
    return np.interp(at, edges[:-1] + step / 2, smooth / (count.sum() * step))


def gaussian_mixture(p, u, p_counts, u_counts):
    """Fit two normal distributions to the log-odds of the unlabeled rows; the one of the positives is known from `p`.

    It needs no region with positives only, but the shape of the scores. Where the classes overlap it is too small
    rather than too large, unlike the other methods.

    Parameters
    ----------
    p, u : ndarray
        Scores.
    p_counts, u_counts : ndarray of shape (n_draws, n_scores)
        Weights of the scores, one line per draw of the bootstrap.

    Returns
    -------
    ndarray of shape (n_draws,)
        The prior by each draw.
    """
    x, z = logit(p), logit(u)
    of_draw = p_counts / p_counts.sum(axis=1, keepdims=True)
    mean_p = of_draw @ x
    variance_p = (of_draw * (x - mean_p[:, None]) ** 2).sum(axis=1) + 1e-9
    share, edges = zip(*(np.histogram(z, _MIXTURE_POINTS, weights=count) for count in u_counts))
    z = 0.5 * (edges[0][1:] + edges[0][:-1])
    share = np.array(share) / u_counts.sum(axis=1, keepdims=True)
    mean_n = z[np.argmax(np.cumsum(share, axis=1) >= 0.25, axis=1)]
    # One line per draw; those that have converged leave the loop.
    result, going = np.full(len(share), 0.5), np.arange(len(share))
    prior, variance_n, like_p = result.copy(), variance_p.copy(), _normal(z, mean_p, variance_p)
    for _ in range(200):
        like_n = _normal(z, mean_n, variance_n)
        of_p = prior[:, None] * like_p
        of_p /= np.maximum(of_p + (1 - prior)[:, None] * like_n, 1e-300)
        of_n = share * (1 - of_p) + 1e-12
        total = of_n.sum(axis=1)
        mean_n = of_n @ z / total
        variance_n = (of_n * (z - mean_n[:, None]) ** 2).sum(axis=1) / total + 1e-4 * variance_p
        before, prior = prior, (share * of_p).sum(axis=1)
        result[going] = prior
        more = np.abs(prior - before) >= 1e-5
        if not more.any():
            break
        going, share, like_p = going[more], share[more], like_p[more]
        prior, mean_n, variance_n, variance_p = prior[more], mean_n[more], variance_n[more], variance_p[more]
    return result


def _normal(z, mean, variance):
    """Densities at `z`, one line per distribution, up to a factor."""
    return np.exp(-0.5 * (z - mean[:, None]) ** 2 / variance[:, None]) / np.sqrt(variance)[:, None]


def elkan_noto(p, u, p_count=None, u_count=None, *, counts, setting):
    """Use the mean score c of the positives, which is P(labeled | positive) if the classes do not overlap."""
    n_p, n_u = counts
    if setting == "case-control":
        c = float(np.average(p, weights=p_count))
        return min(1.0, (1 - c) / c)
    labeled = p * n_p / (p * n_p + (1 - p) * n_u)  # from balanced scores to the probability of a label
    n_positive = n_p / float(np.average(labeled, weights=p_count))
    return float(np.clip((n_positive - n_p) / n_u, 0.0, 1.0))
