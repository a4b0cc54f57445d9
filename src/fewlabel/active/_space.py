"""The space in which rows are compared, and an order of the rows that does not depend on how they are stored."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

_N_NEIGHBORS = 10
_MOST_STANDARD_DEVIATIONS = 3.0  # further out, one value would outweigh all other columns
_MOST_REFERENCES = 2000  # rows among which neighbors are looked for; more do not change a density


def canonical_order(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Positions that sort the rows by their values, so that no result depends on their order."""
    return np.lexsort((codes, *X.T[::-1]))


def standardize(X: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and variance 1, clipped; a missing value lies at the median of its column."""
    present = ~np.isnan(X)
    median = np.zeros(X.shape[1])
    has_values = present.any(axis=0)
    median[has_values] = np.nanmedian(X[:, has_values], axis=0)
    Z = np.where(present, X, median)
    spread = Z.std(axis=0)
    Z = (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.clip(Z, -_MOST_STANDARD_DEVIATIONS, _MOST_STANDARD_DEVIATIONS) / np.sqrt(X.shape[1])


def density(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One over the mean distance to the nearest rows, as a share of the largest."""
    references = Z if len(Z) <= _MOST_REFERENCES else Z[rng.choice(len(Z), _MOST_REFERENCES, replace=False)]
    n_neighbors = min(_N_NEIGHBORS + 1, len(references))  # a row may be its own neighbor
    distance = NearestNeighbors(n_neighbors=n_neighbors).fit(references).kneighbors(Z)[0].mean(axis=1)
    typical = max(float(np.median(distance)), 1e-12)
    found = 1 / (distance + 0.1 * typical)  # repeated rows do not become infinitely dense
    return found / found.max()


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
    distance, taken = distance.copy(), np.zeros(len(Z), dtype=bool)
    chosen = np.empty(n, dtype=np.int64)
    for k in range(n):
        gain = worth * np.where(np.isinf(distance), 1.0, distance)
        # Where nothing is left to gain, such as among repeated rows, the worth decides.
        gain = np.where(taken, -1.0, gain if gain[~taken].max() > 0 else worth)
        chosen[k] = gain.argmax()
        taken[chosen[k]] = True
        distance = np.minimum(distance, np.linalg.norm(Z - Z[chosen[k]], axis=1))
    return chosen
