"""The prior by energy distances, from labeled rows of both classes (Kawakubo, du Plessis and Sugiyama 2016)."""

import math

import numpy as np
from sklearn.metrics import pairwise_distances

from fewlabel.exceptions import LabelError
from fewlabel.prior._rows import dense, has_missing, mean_and_variance

_SAMPLE = 2000


def energy(X, signs, rng):
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
    P, U, N = (X[signs == sign] for sign in (1, 0, -1))
    P, U, N = (rows[rng.permutation(rows.shape[0])[:_SAMPLE]] for rows in (P, U, N))
    scale = np.sqrt(np.maximum(mean_and_variance(X)[1], 1e-300))
    P, U, N = (dense(rows) / scale for rows in (P, U, N))
    pn, pp, nn = pairwise_distances(P, N).mean(), _mean_within(P), _mean_within(N)
    to_n, to_p = pairwise_distances(U, N).mean(axis=1), pairwise_distances(U, P).mean(axis=1)
    apart = 2 * pn - pp - nn
    prior = float(np.clip((pn - nn + (to_n - to_p).mean()) / apart, 0.0, 1.0)) if apart > 0 else 0.5
    return prior, 1.645 * (to_n - to_p).std() / max(apart, 1e-300) / math.sqrt(len(U))


def _mean_within(rows):
    """Mean distance of two different rows."""
    n = len(rows)
    return pairwise_distances(rows).sum() / max(n * (n - 1), 1)
