"""The space in which rows are compared."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from fewlabel.thread_limits import one_thread

# Further out, one value would outweigh all other columns.
_MOST_STANDARD_DEVIATIONS = 3.0
_N_ITERATIONS = 20


def standardize(X: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and variance 1, clipped; a missing value lies at the median of its column."""
    present = ~np.isnan(X)
    median = np.zeros(X.shape[1])
    has_values = present.any(axis=0)
    median[has_values] = np.nanmedian(X[:, has_values], axis=0)
    Z = np.where(present, X, median)
    spread = Z.std(axis=0)
    Z = (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    clipped = np.clip(Z, -_MOST_STANDARD_DEVIATIONS, _MOST_STANDARD_DEVIATIONS)
    # Distances are comparable whatever the number of columns.
    return clipped / np.sqrt(X.shape[1])


def nearest_distance(Z: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Distance of each row to the nearest of `references`; infinite if there are none."""
    if len(references) == 0:
        return np.full(len(Z), np.inf)
    return NearestNeighbors(n_neighbors=1).fit(references).kneighbors(Z)[0][:, 0]


def farthest(Z: np.ndarray, distance: np.ndarray, worth: np.ndarray, n: int) -> np.ndarray:
    """Choose rows greedily: each has the largest product of worth and distance to the rows before it.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
    distance : ndarray of shape (n_rows,)
        To the nearest row that is labeled already, infinite if there is none.
    worth : ndarray of shape (n_rows,)
        At least 0.
    n : int

    Returns
    -------
    ndarray of int of shape (n,)
        Positions, the first choice first.
    """
    distance = distance.copy()
    taken = np.zeros(len(Z), dtype=bool)
    chosen = np.empty(n, dtype=np.int64)
    for k in range(n):
        gain = worth * np.where(np.isinf(distance), 1.0, distance)
        # Repeated rows: the worth decides.
        if gain[~taken].max() <= 0:
            gain = worth
        row = np.where(taken, -1.0, gain).argmax()
        chosen[k] = row
        taken[row] = True
        distance = np.minimum(distance, np.linalg.norm(Z - Z[row], axis=1))
    return chosen


def representatives(Z: np.ndarray, weight: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Cluster the rows by weighted k-means, and choose the row nearest to the center of each cluster.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
    weight : ndarray of shape (n_rows,)
        At least 0.
    n : int
        Number of clusters.
    rng : Generator

    Returns
    -------
    ndarray of int of shape (n,)
        Positions, that of the heaviest cluster first.
    """
    if weight.sum() == 0:
        weight = np.ones(len(Z))
    # Sums then have one order.
    with one_thread():
        centers = Z[_first_centers(Z, weight, n, rng)]
        for _ in range(_N_ITERATIONS):
            nearest = _squared_distances(Z, centers).argmin(axis=1)
            mass = np.bincount(nearest, weights=weight, minlength=n)
            sums = np.zeros_like(centers)
            np.add.at(sums, nearest, weight[:, None] * Z)
            means = sums / np.maximum(mass, 1e-300)[:, None]
            # A center without rows stays.
            moved = np.where(mass[:, None] > 0, means, centers)
            if np.array_equal(moved, centers):
                break
            centers = moved
        distance = _squared_distances(Z, centers)
    chosen = np.empty(n, dtype=np.int64)
    for position, cluster in enumerate(np.argsort(-mass, kind="stable")):
        chosen[position] = distance[:, cluster].argmin()
        # One row may be the nearest to two centers.
        distance[chosen[position]] = np.inf
    return chosen


def _first_centers(Z, weight, n, rng):
    """k-means++: each center is drawn with probability proportional to weight and squared distance."""
    chosen = []
    chance = weight
    distance = np.inf
    while len(chosen) < n:
        # Fewer distinct rows than clusters.
        if chance.sum() == 0:
            chance = np.ones(len(Z))
        row = int(rng.choice(len(Z), p=chance / chance.sum()))
        chosen.append(row)
        distance = np.minimum(distance, ((Z - Z[row]) ** 2).sum(axis=1))
        chance = weight * distance
    return chosen


def _squared_distances(Z, centers):
    # By the product of matrices: the differences of all pairs would take n_features times the memory.
    squares = (Z**2).sum(axis=1)[:, None]
    return squares - 2 * Z @ centers.T + (centers**2).sum(axis=1)
