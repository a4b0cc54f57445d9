"""Scores of positives and negatives with a known AUC, from distributions that intervals find easy or hard."""

import numpy as np
from scipy import stats

KINDS = ("normal", "exponential", "exponential negatives", "wide positives", "wide negatives", "tied", "contaminated")


def draw(rng, kind, auc, n_p, n_n):
    """Scores of the positives and of the negatives, and their true AUC (which ties change)."""
    z = stats.norm.ppf(auc)
    if kind == "normal":
        return rng.normal(np.sqrt(2) * z, 1, n_p), rng.normal(size=n_n), auc
    if kind == "exponential":
        return rng.exponential(auc / (1 - auc), n_p), rng.exponential(1, n_n), auc
    if kind == "exponential negatives":
        return -rng.exponential(1, n_p), -rng.exponential(auc / (1 - auc), n_n), auc
    if kind == "wide positives":
        return rng.normal(np.sqrt(10) * z, 3, n_p), rng.normal(size=n_n), auc
    if kind == "wide negatives":
        return rng.normal(np.sqrt(10) * z, 1, n_p), rng.normal(0, 3, n_n), auc
    if kind == "tied":
        edges = np.sqrt(2) * z * np.array([-0.5, 0.0, 0.5, 1.0, 1.5])
        of_p, of_n = (np.diff(stats.norm.cdf(edges, m), prepend=0, append=1) for m in (np.sqrt(2) * z, 0.0))
        true = float(of_p @ (np.cumsum(of_n) - of_n / 2))
        levels = np.arange(len(of_p), dtype=float)
        return rng.choice(levels, n_p, p=of_p), rng.choice(levels, n_n, p=of_n), true
    if kind == "contaminated":  # a few positives score like negatives, the others above all of them
        like_negatives = rng.random(n_p) < 2 * (1 - auc)
        return np.where(like_negatives, rng.normal(size=n_p), 20.0), rng.normal(size=n_n), auc
    raise ValueError(kind)


def paired(rng, auc, n_p, n_n, correlation):
    """Two correlated scores of equal AUC; positives first."""
    shared = rng.normal(size=(n_p + n_n, 1))
    noise = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.normal(size=(n_p + n_n, 2))
    noise[:n_p] += np.sqrt(2) * stats.norm.ppf(auc)
    return noise[:, 0], noise[:, 1]
