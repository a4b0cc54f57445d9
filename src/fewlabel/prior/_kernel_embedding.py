"""KM2: the prior by kernel embeddings of distributions (Ramaswamy, Scott and Tewari 2016)."""

import math

import numpy as np
from scipy.optimize import nnls
from sklearn.metrics import pairwise_distances

from fewlabel.prior._rows import dense, has_missing

_SAMPLE = 150
_SUM_TO_ONE = 1e3


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
    images = _images(K)
    least_slope = 1.0 / math.sqrt(min(n_p, n_u))
    low, high = 1.0, 8.0
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        extents = middle - tolerance / 4, middle + tolerance / 4
        near, far = (distance_to_hull(images, images @ (extent * of_u + (1 - extent) * of_p)) for extent in extents)
        if (far - near) / (tolerance / 2) > least_slope:
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


def _images(K):
    """Points with these inner products, one per column, in as many dimensions as needed."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-10 * values[-1]
    return np.sqrt(values[kept])[:, None] * vectors[:, kept].T


def distance_to_hull(points, target):
    """Distance of `target` to the nearest convex combination of the columns of `points`.

    Non-negative least squares finds the combination. That its weights sum to 1 is one more equation, with a weight that
    makes the others negligible beside it.
    """
    equations = np.vstack([points, np.full(points.shape[1], _SUM_TO_ONE)])
    combination, _ = nnls(equations, np.r_[target, _SUM_TO_ONE], maxiter=20 * points.shape[1])
    return float(np.linalg.norm(points @ (combination / combination.sum()) - target))
