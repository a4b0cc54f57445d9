"""KM2: the prior by kernel embeddings of distributions (Ramaswamy, Scott and Tewari 2016)."""

import math

import numpy as np
from scipy.optimize import nnls
from sklearn.metrics import pairwise_distances

from fewlabel.prior._estimate import _scored_groups

_SAMPLE = 150
_TOLERANCE = 0.04
_WIDEST = 8.0  # the search ends here: a prior of 7/8
_SUM_TO_ONE = 1e3


def estimate_km2(X, positive, rng):
    """Estimate of dense rows without missing values, after the same draws as the library's methods."""
    groups = _scored_groups(X, positive, np.ones(len(X)), rng)
    return km2(groups.P, groups.U, groups.p_weight, groups.u_weight, rng)


def km2(P, U, p_weight, u_weight, rng):
    """Find where the distance of ``lambda U + (1 - lambda) P`` to the convex hull of the rows starts to grow."""
    p_rows = rng.permutation(P.shape[0])[:_SAMPLE]
    u_rows = rng.permutation(U.shape[0])[:_SAMPLE]
    n_p = len(p_rows)
    n_u = len(u_rows)
    X = np.vstack([U[u_rows], P[p_rows]])
    # One width of the kernel serves all columns only if they have the same scale.
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    images = _images(_best_kernel(X, n_u))
    u_mean = np.average(images[:, :n_u], axis=1, weights=u_weight[u_rows])
    p_mean = np.average(images[:, n_u:], axis=1, weights=p_weight[p_rows])

    def distance(extent):
        return distance_to_hull(images, extent * u_mean + (1 - extent) * p_mean)

    # The distance grows by chance as well: slopes below its standard error count as flat (KM2's threshold).
    least_slope = 1.0 / math.sqrt(min(n_p, n_u))
    low = 1.0
    high = _WIDEST
    while high - low > _TOLERANCE:
        middle = 0.5 * (low + high)
        rise = distance(middle + _TOLERANCE / 4) - distance(middle - _TOLERANCE / 4)
        if rise / (_TOLERANCE / 2) > least_slope:
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

    def distance(K):
        within_u = _mean_off_diagonal(K[:n_u, :n_u])
        within_p = _mean_off_diagonal(K[n_u:, n_u:])
        return within_u + within_p - 2 * K[:n_u, n_u:].mean()

    return max(kernels, key=distance)


def _mean_off_diagonal(K):
    """The diagonal, which is 1, would favor the narrowest kernel."""
    n = len(K)
    return (K.sum() - n) / (n * max(n - 1, 1))


def _images(K):
    """Points with these inner products, one per column, in as many dimensions as needed."""
    values, vectors = np.linalg.eigh(K)
    # Smaller eigenvalues are rounding errors, and may be negative.
    positive = values > 1e-10 * values[-1]
    return np.sqrt(values[positive])[:, None] * vectors[:, positive].T


def distance_to_hull(points, target):
    """Distance of `target` to the nearest convex combination of the columns of `points`.

    Non-negative least squares finds the combination. That its weights sum to 1 is one more equation, with a weight that
    makes the others negligible beside it.
    """
    n_points = points.shape[1]
    equations = np.vstack([points, np.full(n_points, _SUM_TO_ONE)])
    weights, _ = nnls(equations, np.append(target, _SUM_TO_ONE), maxiter=20 * n_points)
    nearest = points @ (weights / weights.sum())
    return float(np.linalg.norm(nearest - target))
