"""Scores of positives and negatives with a known AUC, from distributions that intervals find easy or hard."""

import numpy as np
from scipy.special import ndtr, ndtri

KINDS = ("normal", "exponential", "exponential negatives", "wide positives", "wide negatives", "tied", "contaminated")


def draw(rng, kind, auc, n_p, n_n):
    """Scores of the positives and of the negatives, and their true AUC (which ties change)."""
    return scores(kind, auc, rng.random(n_p), rng.random(n_n))


def scores(kind, auc, u_p, u_n):
    """As `draw`, from uniform numbers: the quantile functions of the two classes."""
    if kind == "tied":
        return _tied(auc, u_p, u_n)
    z = ndtri(auc)
    if kind == "normal":
        p, n = np.sqrt(2) * z + ndtri(u_p), ndtri(u_n)
    elif kind == "exponential":
        p, n = -np.log1p(-u_p) * auc / (1 - auc), -np.log1p(-u_n)
    elif kind == "exponential negatives":
        p, n = np.log1p(-u_p), np.log1p(-u_n) * auc / (1 - auc)
    elif kind == "wide positives":
        p, n = np.sqrt(10) * z + 3 * ndtri(u_p), ndtri(u_n)
    elif kind == "wide negatives":
        p, n = np.sqrt(10) * z + ndtri(u_p), 3 * ndtri(u_n)
    elif kind == "contaminated":  # a few positives score like negatives, the others above all of them
        share = 2 * (1 - auc)
        p, n = np.where(u_p < share, ndtri(np.minimum(u_p / share, 1 - 1e-12)), 20.0), ndtri(u_n)
    else:
        raise ValueError(kind)
    return p, n, auc


def _tied(auc, u_p, u_n):
    """Normal scores rounded to six levels."""
    mean = np.sqrt(2) * ndtri(auc)
    edges = mean * np.array([-0.5, 0.0, 0.5, 1.0, 1.5])
    of_p, of_n = ndtr(edges - mean), ndtr(edges)
    share_p, share_n = (np.diff(cumulative, prepend=0, append=1) for cumulative in (of_p, of_n))
    true = float(share_p @ (np.cumsum(share_n) - share_n / 2))
    return np.searchsorted(of_p, u_p).astype(float), np.searchsorted(of_n, u_n).astype(float), true


def draw_pair(rng, kinds, auc, sizes, correlation):
    """Two correlated scores of equal AUC, each as those of the positives and those of the negatives."""
    found = []
    for n in sizes:
        shared = rng.normal(size=(n, 1))
        found.append(ndtr(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.normal(size=(n, 2))))
    u_p, u_n = found
    return [scores(kind, auc, u_p[:, k], u_n[:, k])[:2] for k, kind in enumerate(kinds)]
