"""Scaling of the columns, and search for the nearest rows with exact distances."""

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from sklearn.utils.sparsefuncs import min_max_axis

from fewlabel.kernels import paths


def column_scale(X, metric):
    """Return shift and divisor of each column for scaling to [0, 1]; the shift is None if there is none.

    The shift only affects the cosine distance. It is omitted for sparse rows, which stay sparse, and for cosine
    distances, so that dense and sparse rows give the same result.
    """
    low, high = min_max_axis(X, axis=0) if issparse(X) else (X.min(axis=0), X.max(axis=0))
    divisor = np.where(high > low, high - low, 1.0)
    return (None if issparse(X) or metric == "cosine" else low), divisor


def scaled(X, metric, shift, divisor):
    """Scale the columns of dense or CSR rows; for cosine distances the rows are normalized too."""
    if issparse(X):
        X = csr_array(X, copy=True)
        X.sum_duplicates()
        if divisor is not None:
            X.data /= divisor[X.indices]
        return normalize(X) if metric == "cosine" else X
    if divisor is not None:
        X = (X if shift is None else X - shift) / divisor
    return np.ascontiguousarray(normalize(X) if metric == "cosine" else X)


class RowSearch:
    """Search for the nearest rows by scikit-learn or pynndescent; distances are then recomputed by subtraction.

    The searches expand the square of a difference, so that equal rows have a distance of about 1e-8.
    """

    def __init__(self, rows, metric, algorithm, n_neighbors, n_jobs=None, random_state=None):
        self.rows, self.metric, self.algorithm = rows, metric, algorithm
        base = "manhattan" if metric == "manhattan" else "euclidean"  # equivalent to the cosine for rows of length 1
        self.n_neighbors = n_neighbors
        if algorithm == "pynndescent":
            seed = check_random_state(random_state)
            k = min(n_neighbors + 1, rows.shape[0])  # its graph counts a row as its own neighbor
            self._index = _nn_descent()(rows, metric=base, n_neighbors=k, n_jobs=n_jobs, random_state=seed)
        else:
            self._index = NearestNeighbors(algorithm=algorithm, metric=base, n_jobs=n_jobs).fit(rows)

    def graph(self):
        """Return the nearest other rows of each row, and their distances."""
        k = min(self.n_neighbors, self.rows.shape[0] - 1)
        if self.algorithm == "pynndescent":
            found = _without_self(self._index.neighbor_graph[0], k)
        else:
            found = self._index.kneighbors(n_neighbors=k, return_distance=False)
        return self._measure(self.rows, found)

    def query(self, new):
        """Return the nearest rows of new rows, and their distances."""
        k = min(self.n_neighbors, self.rows.shape[0])
        if self.algorithm == "pynndescent":
            found = self._index.query(new, k=k)[0]
        else:
            found = self._index.kneighbors(new, n_neighbors=k, return_distance=False)
        return self._measure(new, found)

    def _measure(self, new, found):
        found = np.ascontiguousarray(found, dtype=np.int32)
        squared = self.metric != "manhattan"
        total = paths.distances(_arrays(new), _arrays(self.rows), found, squared)
        if self.metric == "cosine":
            return found, total / 2
        return found, np.sqrt(total) if squared else total


def _arrays(rows):
    """The rows as the kernel takes them."""
    return (rows.data, rows.indices, rows.indptr) if issparse(rows) else rows


def _without_self(found, k):
    """Remove each row from its own list of neighbors, or the last neighbor if it is not in the list."""
    own = found == np.arange(len(found))[:, None]
    own[~own.any(axis=1), -1] = True
    return found[~own].reshape(len(found), -1)[:, :k]


def _nn_descent():
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise ImportError(
            "algorithm='pynndescent' needs the package pynndescent: run `pip install pynndescent`, or use "
            "algorithm='auto', which is exact"
        ) from error
    return NNDescent
