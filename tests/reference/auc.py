"""AUC quantities from their definitions: every pair is compared, nothing is sorted."""

import math

import numpy as np
from hypothesis import strategies as st
from scipy import stats


def beats(a, b):
    """1 if `a` ranks above `b`, 1/2 for a tie, 0 otherwise."""
    return 1.0 if a > b else 0.5 if a == b else 0.0


def pair_placements(high, low):
    """Share of `low` that each row of `high` beats, and share of `high` that beats each row of `low`."""
    psi_high = np.array([sum(beats(h, v) for v in low) / len(low) for h in high])
    psi_low = np.array([sum(beats(h, v) for h in high) / len(high) for v in low])
    return psi_high, psi_low


def pair_auc(high, low):
    return sum(beats(h, v) for h in high for v in low) / (len(high) * len(low))


def sample_variance(values):
    center = sum(values) / len(values)
    return sum((v - center) ** 2 for v in values) / (len(values) - 1)


def delong_variance(high, low):
    psi_high, psi_low = pair_placements(high, low)
    return sample_variance(psi_high) / len(high) + sample_variance(psi_low) / len(low)


def delong_difference_variances(highs, lows):
    """Variance of the difference of two AUCs by sample: L S10 L'/m and L S01 L'/n with L = (1, -1)."""
    psi = [pair_placements(high, low) for high, low in zip(highs, lows)]
    contrast = np.array([1.0, -1.0])
    of_high, of_low = (contrast @ np.cov([psi[0][k], psi[1][k]]) @ contrast for k in (0, 1))
    return of_high / len(highs[0]), of_low / len(lows[0])


def unseen_variances(variances, sizes, aucs):
    """Variances of the mean, raised while there are too few rows that are ranked badly."""
    rare = min([*aucs, *(1 - auc for auc in aucs)])
    found = []
    for variance, n in zip(variances, sizes):
        least = 0.35 * sum(auc * (1 - auc) for auc in aucs) / n
        d = n * rare
        found.append((0.5 * max(variance, least) + d**3 * variance) / (0.5 + d**3))
    return found


def newcombe_gap(t, auc, n_high, n_low, z):
    """Newcombe's equation, left side minus right side: 0 at a bound."""
    size = (n_high + n_low) / 2 - 1
    spread = t * (1 - t) * (1 + size * (1 - t) / (2 - t) + size * t / (1 + t))
    return (auc - t) ** 2 - z**2 * spread / (n_high * n_low)


def score_gap(t, high, low, confidence):
    """The equation of the score interval's lower end, left side minus right side: 0 at the bound."""
    auc = pair_auc(high, low)
    kappa, freedom = [], []
    for psi in pair_placements(high, low):
        n = len(psi)
        largest = auc * (1 - auc)
        observed = min(sample_variance(psi) / largest, 1) if n > 1 and 0 < auc < 1 else 1
        d = n * (1 - auc)
        kappa.append((0.5 * 0.7 + d**3 * observed) / (0.5 + d**3) / n)
        freedom.append(3 * max(n - 1, 1))
    if sum(kappa) == 0:
        return t - auc
    welch = sum(kappa) ** 2 / sum(k**2 / f for k, f in zip(kappa, freedom))
    return (auc - t) ** 2 - stats.t.isf((1 - confidence) / 2, welch) ** 2 * sum(kappa) * t * (1 - t)


def from_pu(p, u, prior):
    return (pair_auc(p, u) - prior / 2) / (1 - prior)


def from_un(u, n, prior):
    return (pair_auc(u, n) - (1 - prior) / 2) / prior


def combined_auc(p, n, u, gamma):
    return gamma * pair_auc(p, n) + (1 - gamma) * (pair_auc(p, u) + pair_auc(u, n) - 0.5)


def combined_variance(p, n, u, gamma):
    """Sum over the three samples of the variance of their rows' influences on `combined_auc`."""
    pn, pu, un = pair_placements(p, n), pair_placements(p, u), pair_placements(u, n)
    return (
        sample_variance(gamma * pn[0] + (1 - gamma) * pu[0]) / len(p)
        + sample_variance(gamma * pn[1] + (1 - gamma) * un[1]) / len(n)
        + sample_variance((1 - gamma) * (pu[1] + un[0])) / len(u)
    )


# Few distinct values, so that most samples have ties.
tied_scores = st.lists(st.integers(0, 4), min_size=1, max_size=12).map(lambda v: np.array(v, dtype=float))


def binormal(rng, auc, n_p, n_n, n_u=0, prior=0.5):
    """PNU labels and normal scores with the given true AUC."""
    shift = math.sqrt(2) * stats.norm.ppf(auc)
    y = np.repeat([1, 0, -1], [n_p, n_n, n_u])
    positive = np.concatenate([np.ones(n_p), np.zeros(n_n), rng.random(n_u) < prior])
    return y, rng.normal(size=len(y)) + shift * positive


def samples(y, score):
    return score[y == 1], score[y == 0], score[y == -1]
