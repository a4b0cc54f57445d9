"""The prior by energy distances, from labeled rows of both classes (Kawakubo, du Plessis and Sugiyama 2016)."""

import math

import numpy as np
from sklearn.metrics import pairwise_distances

from fewlabel.exceptions import LabelError
from fewlabel.prior._rows import dense, has_missing, mean_and_variance

_SAMPLE = 2000


def energy(X, signs, rng, weight=None):
    """Find the mixture of positives and negatives with the smallest energy distance to the unlabeled rows.

    Returns
    -------
    prior : float
    error : float
        Half of a 90% interval, due to the sampling of the unlabeled rows.
    """
    if not (signs == 0).any():
        raise LabelError("every row is labeled, but method='energy' needs unlabeled rows to compare with: mark some -1")
    if has_missing(X):
        raise ValueError("X holds missing values, which method='energy' does not take: fill them in first")
    weight = np.ones(len(signs)) if weight is None else weight
    groups = [np.flatnonzero(signs == sign) for sign in (1, 0, -1)]
    groups = [rows[rng.permutation(len(rows))[:_SAMPLE]] for rows in groups]
    scale = np.sqrt(np.maximum(mean_and_variance(X)[1], 1e-300))
    P, U, N = (dense(X[rows]) / scale for rows in groups)
    of_p, of_u, of_n = (weight[rows] / weight[rows].sum() for rows in groups)
    pn, pp, nn = of_p @ pairwise_distances(P, N) @ of_n, _mean_within(P, of_p), _mean_within(N, of_n)
    nearer = pairwise_distances(U, N) @ of_n - pairwise_distances(U, P) @ of_p
    apart, mean = 2 * pn - pp - nn, of_u @ nearer
    prior = float(np.clip((pn - nn + mean) / apart, 0.0, 1.0)) if apart > 0 else 0.5
    return prior, 1.645 * math.sqrt(of_u**2 @ (nearer - mean) ** 2) / max(apart, 1e-300)


def _mean_within(rows, share):
    """Mean distance of two different rows."""
    return share @ pairwise_distances(rows) @ share / max(1.0 - share @ share, 1e-300)
