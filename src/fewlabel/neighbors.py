"""The graph of nearest rows, exact or approximate; equal distances are decided by the order of the rows."""

import math
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from fewlabel.kernels import cells, points
from fewlabel.threads import map_in_threads

ALGORITHMS = ("auto", "brute", "kd_tree", "ball_tree", "approximate")
_LARGEST_EXACT = 60_000  # rows; with few columns a tree is exact and fast for any number of rows
_FEW_COLUMNS = 6
_ROUNDING = 1e-7  # relative error of the distances of a search, which expands the square of a difference
_RECALL = 0.97  # share of the true neighbors, of the rows of a sample, that an approximate search finds
_SAMPLE = 200
_SPARE = 10  # so many more candidates than neighbors are found in single precision
_SMALLEST_CELL = 50  # rows, on the mean
_PER_CELL, _N_STEPS = 30, 3  # rows from which the centers of the cells are learned, and steps
_TOGETHER = 256  # rows that are searched at once


class RowSearch:
    """Search for the nearest rows; the distances are then computed by subtraction.

    The searches of scikit-learn expand the square of a difference, so that equal rows have a distance of about 1e-8,
    and rows at the same distance are found in an order that depends on the number of threads. Where such rows compete
    for the last place, the exact search of `kernels.points` decides.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_columns), float64
    metric : {"euclidean", "manhattan", "cosine"}
        For "cosine" the rows have length 1.
    algorithm : str
        One of scikit-learn's, which are exact; "approximate"; or "auto": exact up to 60,000 rows or 6 columns. Sparse
        rows are always searched exactly.
    n_neighbors : int
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None
        Draws the rows from which the approximate search learns its cells.
    """

    def __init__(self, rows, metric, algorithm, n_neighbors, n_jobs=None, random_state=None):
        self.rows, self.metric, self.n_neighbors = rows, metric, n_neighbors
        self.recall = 1.0
        large = rows.shape[0] > _LARGEST_EXACT and rows.shape[1] > _FEW_COLUMNS
        self._cells = None
        if (algorithm == "approximate" or (algorithm == "auto" and large)) and not issparse(rows):
            self._cells = Cells(rows, n_neighbors, self._squared, n_jobs, check_random_state(random_state))
            self.recall = self._cells.recall
            return
        algorithm = "auto" if algorithm == "approximate" else algorithm
        base = "manhattan" if metric == "manhattan" else "euclidean"  # equivalent to the cosine for rows of length 1
        self._index = NearestNeighbors(algorithm=algorithm, metric=base, n_jobs=n_jobs).fit(rows)

    @property
    def _squared(self):
        return self.metric != "manhattan"

    def graph(self):
        """Return the nearest other rows of each row, and their distances."""
        others = self.rows.shape[0] - 1
        if others == 0:
            return np.empty((1, 0), dtype=np.int32), np.empty((1, 0))
        if self._cells is not None:
            return self._decide(self.rows, self._cells.graph(), others, own=True)
        found = self._index.kneighbors(n_neighbors=self._n_candidates(others), return_distance=False)
        return self._decide(self.rows, found, others, own=True)

    def query(self, new):
        """Return the nearest rows of new rows, and their distances."""
        if issparse(self.rows) != issparse(new):  # distances are between rows of one kind
            new = csr_array(new) if issparse(self.rows) else new.toarray()
        n_rows = self.rows.shape[0]
        if self._cells is not None:
            return self._decide(new, self._cells.query(new), n_rows, own=False)
        found = self._index.kneighbors(new, n_neighbors=self._n_candidates(n_rows), return_distance=False)
        return self._decide(new, found, n_rows, own=False)

    def _n_candidates(self, available):
        return min(2 * self.n_neighbors, available)

    def _decide(self, new, candidates, available, own):
        """The nearest of the candidates by exact distance, then by position.

        All rows are compared where there are not enough candidates, or, in an exact search, where rows that are no
        candidates may be as near as the last one.
        """
        k = min(self.n_neighbors, available)
        found, lengths = self._measure(new, candidates)
        order = np.lexsort((found, lengths), axis=1)
        farthest = np.take_along_axis(lengths, order[:, -1:], axis=1)[:, 0]
        found, lengths = (np.take_along_axis(values, order[:, :k], axis=1) for values in (found, lengths))
        unsure = np.isinf(lengths[:, -1])
        if self._cells is None and candidates.shape[1] < available:
            unsure |= lengths[:, -1] >= farthest * (1 - _ROUNDING)
        unsure = np.flatnonzero(unsure)
        if unsure.size:
            exact = points.nearest(_arrays(new), _arrays(self.rows), unsure, own, k, self._squared)
            found[unsure], lengths[unsure] = self._measure(new[unsure], exact)
        return found, lengths

    def _measure(self, new, found):
        found = np.ascontiguousarray(found, dtype=np.int32)
        total = points.distances(_arrays(new), _arrays(self.rows), found, self._squared)
        total[found < 0] = np.inf
        if self.metric == "cosine":
            return found, total / 2
        return found, np.sqrt(total) if self._squared else total


class Cells:
    """Approximate neighbors: each row is compared with the rows of the cells whose centers are nearest to it [1]_.

    The cells are those of k-means. How many of them a row visits follows from a sample of the rows, whose neighbors are
    searched exactly: the fewest that hold 97% of these neighbors. Results do not depend on the number of threads.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
    n_neighbors : int
    squared : bool
        Whether distances are sums of squares, or of absolute values.
    n_jobs : int or None
    rng : RandomState

    Attributes
    ----------
    recall : float
        Share of the nearest neighbors of the sample that are in the cells they visit; of equal distances any will do.

    References
    ----------
    .. [1] Sivic, J. and Zisserman, A. "Video Google: a text retrieval approach to object matching in videos."
       International Conference on Computer Vision, 2003. The inverted file of cells.
    """

    def __init__(self, rows, n_neighbors, squared, n_jobs, rng):
        n_rows = rows.shape[0]
        self._squared, self._n_jobs = squared, n_jobs
        self._n_candidates = n_neighbors + _SPARE
        self._origin = np.median(rows, axis=0)
        self._unit = np.abs(rows - self._origin).max() or 1.0  # single precision would not hold all numbers
        single = self._single(rows)
        self._centers = self._learn_centers(single, rng)
        cell = self._nearest_center(single)
        self._order = np.argsort(cell, kind="stable")
        sizes = np.bincount(cell, minlength=self._centers.shape[1])
        self._starts = np.r_[0, np.cumsum(sizes)]
        self._rows = single[self._order]
        self._blocks = np.concatenate([self._rows[a:b].T.ravel() for a, b in pairwise(self._starts)])
        k = min(n_neighbors, max(1, n_rows - 1))
        ranks = np.sort([self._ranks(i, k) for i in rng.permutation(n_rows)[:_SAMPLE]], axis=None)
        self._n_visits = ranks[math.ceil(_RECALL * len(ranks)) - 1] + 1
        self.recall = float(np.mean(ranks < self._n_visits))

    def graph(self):
        """Candidates for the neighbors of each row, about the nearest first; -1 for none."""
        found = np.empty((len(self._rows), self._n_candidates), dtype=np.int32)
        found[self._order] = self._search(self._rows, own=True)
        return found

    def query(self, new):
        """As `graph`, for new rows."""
        return self._search(self._single(new), own=False)

    def _search(self, rows, own):
        def search(start):
            some = rows[start : start + _TOGETHER]
            far = cells.compare(some, self._centers, self._squared)
            last = np.partition(far, self._n_visits - 1, axis=1)[:, self._n_visits - 1]
            table = self._blocks, self._starts
            first = start if own else -1
            return cells.nearest(some, first, far <= last[:, None], *table, self._n_candidates, self._squared)

        found = np.concatenate(list(map_in_threads(search, range(0, len(rows), _TOGETHER), self._n_jobs)))
        return np.where(found >= 0, self._order[found], -1).astype(np.int32)

    def _single(self, rows):
        return ((rows - self._origin) / self._unit).astype(np.float32)

    def _learn_centers(self, rows, rng):
        """A few steps of k-means on a part of the rows; the centers as columns."""
        n_cells = max(1, min(int(2 * np.sqrt(len(rows))), len(rows) // _SMALLEST_CELL))
        part = rows[rng.permutation(len(rows))[: _PER_CELL * n_cells]]
        self._centers = np.ascontiguousarray(part[:n_cells].T)
        for _ in range(_N_STEPS):
            cell, present = self._nearest_center(part), np.arange(len(part))
            members = csr_array((np.ones(len(part), np.float32), (cell, present)), shape=(n_cells, len(part)))
            sizes = np.maximum(members.sum(axis=1), 1)  # the center of an empty cell moves to the origin
            self._centers = np.ascontiguousarray((members @ part).T / sizes, dtype=np.float32)
        return self._centers

    def _nearest_center(self, rows):
        def find(start):
            return cells.compare(rows[start : start + _TOGETHER], self._centers, self._squared).argmin(axis=1)

        return np.concatenate(list(map_in_threads(find, range(0, len(rows), _TOGETHER), self._n_jobs)))

    def _ranks(self, i, k):
        """The k nearest rows of row i: in how many-th cell from it, from 0, each is; of equal ones the nearest cell."""
        row = self._rows[i : i + 1]
        n_columns = row.shape[1]
        blocks = [self._blocks[a * n_columns : b * n_columns].reshape(n_columns, -1) for a, b in pairwise(self._starts)]
        far = np.hstack([cells.compare(row, block, self._squared)[0] for block in blocks])
        far[i] = np.inf
        near = np.flatnonzero(far <= np.partition(far, k - 1)[k - 1])
        nearer = np.argsort(cells.compare(row, self._centers, self._squared)[0], kind="stable")
        rank = np.argsort(nearer)[np.searchsorted(self._starts, near, side="right") - 1]
        return np.sort(rank)[:k]


def _arrays(rows):
    """The rows as the kernels take them."""
    return (rows.data, rows.indices, rows.indptr) if issparse(rows) else rows
