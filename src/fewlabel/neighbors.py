"""The graph of nearest rows, exact or approximate; equal distances are decided by the order of the rows."""

import math
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.metrics import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from fewlabel.kernels import cells, points
from fewlabel.threads import map_in_threads

_LARGEST_EXACT = 60_000  # rows; with few columns a tree is exact and fast for any number of rows
_FEW_COLUMNS = 6
_ROUNDING = 1e-7  # relative error of the distances of a search, which expands the square of a difference
_RECALL = 0.97  # share of the true neighbors, of the rows of a sample, that an approximate search finds
_SAMPLE = 200
_SPARE = 10  # so many more candidates than neighbors are found in single precision
_SMALLEST_CELL = 50  # rows, on the mean
_PER_CELL = 30  # rows from which the center of a cell is learned
_N_STEPS = 3  # of k-means
_TOGETHER = 256  # rows that are searched at once


class RowSearch:
    """Search for the nearest rows; the distances are then computed by subtraction.

    The searches of scikit-learn expand the square of a difference, so that equal rows have a distance of about 1e-8,
    and rows at the same distance are found in an order that depends on the number of threads. Where such rows compete
    for the last place, the distances to all rows decide.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_columns), float64
    metric : {"euclidean", "cosine"}
        For "cosine" the rows have length 1.
    algorithm : {"auto", "exact", "approximate"}
        "auto" is exact up to 60,000 rows or 6 columns. Sparse rows are always searched exactly.
    n_neighbors : int
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None
        Draws the rows from which the approximate search learns its cells.
    """

    def __init__(self, rows, metric, algorithm, n_neighbors, n_jobs=None, random_state=None):
        self.rows = rows
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.recall = 1.0
        self._cells = None
        n_rows, n_columns = rows.shape
        is_large = n_rows > _LARGEST_EXACT and n_columns > _FEW_COLUMNS
        if (algorithm == "approximate" or (algorithm == "auto" and is_large)) and not issparse(rows):
            self._cells = Cells(rows, n_neighbors, n_jobs, check_random_state(random_state))
            self.recall = self._cells.recall
            return
        # The Euclidean distance of rows of length 1 has the order of the cosine distance.
        self._index = NearestNeighbors(n_jobs=n_jobs).fit(rows)

    def graph(self):
        """Return the nearest other rows of each row, and their distances."""
        n_others = self.rows.shape[0] - 1
        if n_others == 0:
            return np.empty((1, 0), dtype=np.int32), np.empty((1, 0))
        return self._search(self.rows, None, n_others)

    def query(self, new):
        """Return the nearest rows of new rows, and their distances."""
        # Distances are between rows of one kind.
        if issparse(self.rows) != issparse(new):
            new = csr_array(new) if issparse(self.rows) else new.toarray()
        return self._search(new, new, self.rows.shape[0])

    def _search(self, rows, new, available):
        """Neighbors of `rows`, which are `new`, or, if that is None, the rows themselves."""
        if self._cells is not None:
            candidates = self._cells.graph() if new is None else self._cells.query(new)
        else:
            # Twice as many as needed, so that rows at the same distance are seen to compete for the last place.
            n_candidates = min(2 * self.n_neighbors, available)
            candidates = self._index.kneighbors(new, n_neighbors=n_candidates, return_distance=False)
        return self._decide(rows, candidates, available, own=new is None)

    def _decide(self, new, candidates, available, own):
        """The nearest of the candidates by exact distance, then by position.

        All rows are compared where there are not enough candidates, or, in an exact search, where rows that are no
        candidates may be as near as the last one.
        """
        k = min(self.n_neighbors, available)
        neighbors, lengths = self._measure(new, candidates)
        order = np.lexsort((neighbors, lengths), axis=1)
        farthest = np.take_along_axis(lengths, order[:, -1:], axis=1)[:, 0]
        neighbors = np.take_along_axis(neighbors, order[:, :k], axis=1)
        lengths = np.take_along_axis(lengths, order[:, :k], axis=1)
        # Too few candidates: their places are filled with -1, at an infinite distance.
        unsure = np.isinf(lengths[:, -1])
        if self._cells is None and candidates.shape[1] < available:
            unsure |= lengths[:, -1] >= farthest * (1 - _ROUNDING)
        unsure = np.flatnonzero(unsure)
        if unsure.size:
            exact = [self._nearest(new[[row]], row if own else None, k) for row in unsure]
            neighbors[unsure], lengths[unsure] = self._measure(new[unsure], exact)
        return neighbors, lengths

    def _nearest(self, row, own, k):
        """The k nearest of all rows but its own, of equal distances the first."""
        _, lengths = self._measure(row, np.arange(self.rows.shape[0])[None])
        lengths = lengths[0]
        if own is not None:
            lengths[own] = np.inf
        near = np.flatnonzero(lengths <= np.partition(lengths, k - 1)[k - 1])
        return near[np.argsort(lengths[near], kind="stable")][:k]

    def _measure(self, new, neighbors):
        neighbors = np.ascontiguousarray(neighbors, dtype=np.int32)
        total = points.distances(_arrays(new), _arrays(self.rows), neighbors)
        total[neighbors < 0] = np.inf
        return neighbors, total / 2 if self.metric == "cosine" else np.sqrt(total)


def median_distance(rows, rng, most=500):
    """Median distance between rows, or between a sample of them; the mean if more than half are equal, 1 if all are.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n_rows, n_columns)
    rng : RandomState
    most : int
        Number of rows in the sample.

    Returns
    -------
    float
    """
    n_rows = rows.shape[0]
    few = rows[rng.choice(n_rows, min(most, n_rows), replace=False)]
    distances = euclidean_distances(few)[np.triu_indices(few.shape[0], 1)]
    if not distances.any():
        return 1.0
    return float(np.median(distances) or distances.mean())


def neighbor_graph(rows, n_neighbors):
    """Return a symmetric matrix with 1 where a row is among the nearest neighbors of another one, or vice versa.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
    n_neighbors : int
        All other rows if there are fewer.

    Returns
    -------
    csr_array of shape (n_rows, n_rows)
    """
    search = RowSearch(np.ascontiguousarray(rows), "euclidean", "auto", n_neighbors, random_state=0)
    neighbors, _ = search.graph()
    n_rows, k = neighbors.shape
    starts = k * np.arange(n_rows + 1)
    edges = csr_array((np.ones(n_rows * k), neighbors.ravel(), starts), shape=(n_rows, n_rows))
    return edges.maximum(edges.T)


class Cells:
    """Approximate neighbors: each row is compared with the rows of the cells whose centers are nearest to it [1]_.

    The cells are those of k-means. How many of them a row visits follows from a sample of the rows, whose neighbors are
    searched exactly: the fewest that hold 97% of these neighbors. Results do not depend on the number of threads.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
    n_neighbors : int
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

    def __init__(self, rows, n_neighbors, n_jobs, rng):
        n_rows = rows.shape[0]
        self._n_jobs = n_jobs
        self._n_candidates = n_neighbors + _SPARE
        # Single precision would not hold all numbers: rows are moved to the origin, and scaled to at most 1.
        self._origin = np.median(rows, axis=0)
        self._unit = np.abs(rows - self._origin).max() or 1.0
        single = self._single(rows)
        self._centers = self._learn_centers(single, rng)
        cell = self._nearest_center(single)
        self._order = np.argsort(cell, kind="stable")
        sizes = np.bincount(cell, minlength=self._centers.shape[1])
        self._starts = np.append(0, np.cumsum(sizes))
        self._rows = single[self._order]
        blocks = [self._rows[a:b].T.ravel() for a, b in pairwise(self._starts)]
        self._blocks = np.concatenate(blocks)
        k = min(n_neighbors, max(1, n_rows - 1))
        # As many cells are visited as hold enough of the true neighbors of a sample.
        sample = rng.permutation(n_rows)[:_SAMPLE]
        ranks = np.sort([self._ranks(i, k) for i in sample], axis=None)
        n_wanted = math.ceil(_RECALL * len(ranks))
        self._n_visits = ranks[n_wanted - 1] + 1
        self.recall = float(np.mean(ranks < self._n_visits))

    def graph(self):
        """Candidates for the neighbors of each row, about the nearest first; -1 for none."""
        candidates = np.empty((len(self._rows), self._n_candidates), dtype=np.int32)
        candidates[self._order] = self._search(self._rows, own=True)
        return candidates

    def query(self, new):
        """As `graph`, for new rows."""
        return self._search(self._single(new), own=False)

    def _search(self, rows, own):
        def search(start):
            some = rows[start : start + _TOGETHER]
            far = cells.compare(some, self._centers)
            # Cells at the same distance as the last one are visited too.
            place = self._n_visits - 1
            last = np.partition(far, place, axis=1)[:, place]
            visited = far <= last[:, None]
            first = start if own else -1
            return cells.nearest(some, first, visited, self._blocks, self._starts, self._n_candidates)

        places = self._in_threads(search, len(rows))
        rows = np.where(places >= 0, self._order[places], -1)
        return rows.astype(np.int32)

    def _in_threads(self, work, n_rows):
        return np.concatenate(list(map_in_threads(work, range(0, n_rows, _TOGETHER), self._n_jobs)))

    def _single(self, rows):
        return ((rows - self._origin) / self._unit).astype(np.float32)

    def _learn_centers(self, rows, rng):
        """A few steps of k-means on a part of the rows; the centers as columns."""
        n_rows = len(rows)
        n_cells = max(1, min(int(2 * np.sqrt(n_rows)), n_rows // _SMALLEST_CELL))
        part = rows[rng.permutation(n_rows)[: _PER_CELL * n_cells]]
        self._centers = np.ascontiguousarray(part[:n_cells].T)
        for _ in range(_N_STEPS):
            cell = self._nearest_center(part)
            places = (cell, np.arange(len(part)))
            members = csr_array((np.ones(len(part), np.float32), places), shape=(n_cells, len(part)))
            # The center of an empty cell moves to the origin.
            sizes = np.maximum(members.sum(axis=1), 1)
            self._centers = np.ascontiguousarray((members @ part).T / sizes, dtype=np.float32)
        return self._centers

    def _nearest_center(self, rows):
        def find(start):
            return cells.compare(rows[start : start + _TOGETHER], self._centers).argmin(axis=1)

        return self._in_threads(find, len(rows))

    def _ranks(self, i, k):
        """The k nearest rows of row i: in how many-th cell from it, from 0, each is; of equal ones the nearest cell."""
        row = self._rows[i : i + 1]
        n_columns = row.shape[1]
        distances = []
        for a, b in pairwise(self._starts):
            block = self._blocks[a * n_columns : b * n_columns].reshape(n_columns, -1)
            distances.append(cells.compare(row, block)[0])
        far = np.hstack(distances)
        far[i] = np.inf
        farthest = np.partition(far, k - 1)[k - 1]
        near = np.flatnonzero(far <= farthest)
        by_distance = np.argsort(cells.compare(row, self._centers)[0], kind="stable")
        rank_of_cell = np.argsort(by_distance)
        rank = rank_of_cell[np.searchsorted(self._starts, near, side="right") - 1]
        return np.sort(rank)[:k]


def _arrays(rows):
    """The rows as the kernels take them."""
    return (rows.data, rows.indices, rows.indptr) if issparse(rows) else rows
