"""KM2: the prior by kernel embeddings of distributions (Ramaswamy, Scott and Tewari 2016)."""

import math

import numpy as np
from sklearn.metrics import pairwise_distances

from fewlabel.prior._rows import dense, has_missing

_SAMPLE = 150


def km2(P, U, rng, weights=None, tolerance=0.04):
    """Find where the distance of ``lambda U + (1 - lambda) P`` to the convex hull of the rows starts to grow."""
    if has_missing(P, U):
        raise ValueError("method='km2' does not take missing values: fill them in, or use 'bbe' or 'dedpul'")
    drawn = [rng.permutation(rows.shape[0])[:_SAMPLE] for rows in (P, U)]
    P, U = (dense(rows[order]) for rows, order in zip((P, U), drawn))
    w_p, w_u = (np.ones(len(order)) if weights is None else w[order] for w, order in zip(weights or drawn, drawn))
    n_p, n_u = len(P), len(U)
    X = np.vstack([U, P])
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    K = _best_kernel(X, n_u)
    of_u, of_p = np.r_[w_u / w_u.sum(), np.zeros(n_p)], np.r_[np.zeros(n_u), w_p / w_p.sum()]
    step = 1.0 / np.linalg.norm(K, 2)
    hull = np.full(n_u + n_p, 1 / (n_u + n_p))
    least_slope = 1.0 / math.sqrt(min(n_p, n_u))
    low, high = 1.0, 8.0
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        distances = []
        for extent in (middle - tolerance / 4, middle + tolerance / 4):
            hull, distance = distance_to_hull(K, extent * of_u + (1 - extent) * of_p, hull, step)
            distances.append(distance)
        if (distances[1] - distances[0]) / (tolerance / 2) > least_slope:
            high = middle
        else:
            low = middle
    extent = 0.5 * (low + high)
    return (extent - 1) / extent


def _best_kernel(X, n_u):
    """The Gaussian kernel with the largest distance between the means of the two groups."""
    squares = pairwise_distances(X, metric="sqeuclidean")
    width = math.sqrt(max(np.median(squares), 1e-12))
    kernels = [np.exp(-squares / (2 * (width * factor) ** 2)) for factor in (0.1, 0.32, 1.0, 3.2, 10.0)]

    def distance(K):  # without the diagonal, which would favor the narrowest kernel
        u, p = K[:n_u, :n_u], K[n_u:, n_u:]
        within = sum((part.sum() - len(part)) / (len(part) * max(len(part) - 1, 1)) for part in (u, p))
        return within - 2 * K[:n_u, n_u:].mean()

    return max(kernels, key=distance)


def distance_to_hull(K, point, hull, step, n_steps=300):
    """Compute the distance to the nearest convex combination of the rows, by accelerated projected gradient.

    Returns the weights of that combination, starting from `hull`, and the distance.
    """
    ahead, momentum = hull, 1.0
    for _ in range(n_steps):
        following = onto_simplex(ahead - step * (K @ (ahead - point)))
        if np.abs(following - hull).max() < 1e-9:
            hull = following
            break
        grown = 0.5 + math.sqrt(0.25 + momentum**2)
        ahead, hull, momentum = following + (momentum - 1) / grown * (following - hull), following, grown
    gap = hull - point
    return hull, math.sqrt(max(gap @ K @ gap, 0.0))


def onto_simplex(v):
    """Project `v` onto the probability simplex."""
    ordered = np.sort(v)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - excess[np.flatnonzero(ordered > excess)[-1]], 0.0)
