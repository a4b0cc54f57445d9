"""Search for the nearest rows, with exact distances; equal distances are decided by the order of the vertices."""

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from fewlabel.kernels import points

_ROUNDING = 1e-7  # relative error of the distances of a search, which expands the square of a difference


class RowSearch:
    """Search for the nearest rows by scikit-learn or pynndescent; distances are then recomputed by subtraction.

    The searches expand the square of a difference, so that equal rows have a distance of about 1e-8, and rows at the
    same distance are found in an order that depends on the number of threads. Where such rows compete for the last
    place, the exact search of `kernels.points` decides.
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
        others = self.rows.shape[0] - 1
        if others == 0:
            return np.empty((1, 0), dtype=np.int32), np.empty((1, 0))
        if self.algorithm == "pynndescent":
            found = _without_self(self._index.neighbor_graph[0], min(self.n_neighbors, others))
            return self._measure(self.rows, found)
        found = self._index.kneighbors(n_neighbors=self._n_candidates(others), return_distance=False)
        return self._decide(self.rows, found, others, own=True)

    def query(self, new):
        """Return the nearest rows of new rows, and their distances."""
        if issparse(self.rows) != issparse(new):  # distances are between rows of one kind
            new = csr_array(new) if issparse(self.rows) else new.toarray()
        n_rows = self.rows.shape[0]
        if self.algorithm == "pynndescent":
            return self._measure(new, self._index.query(new, k=min(self.n_neighbors, n_rows))[0])
        found = self._index.kneighbors(new, n_neighbors=self._n_candidates(n_rows), return_distance=False)
        return self._decide(new, found, n_rows, own=False)

    def _n_candidates(self, available):
        return min(2 * self.n_neighbors, available)

    def _decide(self, new, found, available, own):
        """The first of the candidates by exact distance, then by position."""
        k = min(self.n_neighbors, available)
        found, lengths = self._measure(new, found)
        order = np.lexsort((found, lengths), axis=1)[:, :k]
        if found.shape[1] < available:
            farthest = lengths.max(axis=1)
            last = np.take_along_axis(lengths, order[:, -1:], axis=1)[:, 0]
            unsure = np.flatnonzero(last >= farthest * (1 - _ROUNDING))
        else:
            unsure = np.empty(0, dtype=np.intp)
        found, lengths = np.take_along_axis(found, order, axis=1), np.take_along_axis(lengths, order, axis=1)
        if unsure.size:
            exact = points.nearest(_arrays(new), _arrays(self.rows), unsure, own, k, self.metric != "manhattan")
            found[unsure], lengths[unsure] = self._measure(new[unsure], exact)
        return found, lengths

    def _measure(self, new, found):
        found = np.ascontiguousarray(found, dtype=np.int32)
        squared = self.metric != "manhattan"
        total = points.distances(_arrays(new), _arrays(self.rows), found, squared)
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
