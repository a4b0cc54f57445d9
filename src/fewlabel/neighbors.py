"""The graph of nearest rows, exact or approximate; equal distances are decided by the order of the rows."""

import warnings

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from fewlabel.kernels import points
from fewlabel.threads import RowThreads
from fewlabel.warning_filters import caller_level

ALGORITHMS = ("auto", "brute", "kd_tree", "ball_tree", "approximate")
_LARGEST_EXACT = 60_000  # rows; with few columns a tree is exact and fast for any number of rows
_FEW_COLUMNS = 6
_ROUNDING = 1e-7  # relative error of the distances of a search, which expands the square of a difference
_RECALL = 0.95  # share of the true neighbors that an approximate search should find
_SAMPLE = 200  # rows on which it is measured
_N_TREES, _LEAF = 6, 32
_SPARE = (10, 25)  # so many more neighbors than asked for are in the lists while they are improved
_MOST_PASSES = 12
_SETTLED = 0.01  # share of the entries of the lists that a pass changes, below which they are final


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
        One of scikit-learn's, which are exact; "approximate"; or "auto": exact up to 60,000 rows or 6 columns.
    n_neighbors : int
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None
        Grows the trees of the approximate search.
    """

    def __init__(self, rows, metric, algorithm, n_neighbors, n_jobs=None, random_state=None):
        self.rows, self.metric, self.n_neighbors = rows, metric, n_neighbors
        self.recall = 1.0
        large = rows.shape[0] > _LARGEST_EXACT and rows.shape[1] > _FEW_COLUMNS
        self._descent = None
        if algorithm == "approximate" or (algorithm == "auto" and large):
            self._descent = Descent(rows, n_neighbors, self._squared, n_jobs, check_random_state(random_state))
            self.recall = self._descent.recall
            return
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
        if self._descent is not None:
            return self._decide(self.rows, self._descent.lists, min(self.n_neighbors, others))
        found = self._index.kneighbors(n_neighbors=self._n_candidates(others), return_distance=False)
        return self._decide_exactly(self.rows, found, others, own=True)

    def query(self, new):
        """Return the nearest rows of new rows, and their distances."""
        if issparse(self.rows) != issparse(new):  # distances are between rows of one kind
            new = csr_array(new) if issparse(self.rows) else new.toarray()
        n_rows = self.rows.shape[0]
        if self._descent is not None:
            return self._decide(new, self._descent.query(new), min(self.n_neighbors, n_rows))
        found = self._index.kneighbors(new, n_neighbors=self._n_candidates(n_rows), return_distance=False)
        return self._decide_exactly(new, found, n_rows, own=False)

    def _n_candidates(self, available):
        return min(2 * self.n_neighbors, available)

    def _decide(self, new, found, k):
        """The first k of the candidates by exact distance, then by position."""
        found, lengths = self._measure(new, found)
        order = np.lexsort((found, lengths), axis=1)[:, :k]
        return np.take_along_axis(found, order, axis=1), np.take_along_axis(lengths, order, axis=1)

    def _decide_exactly(self, new, candidates, available, own):
        """As `_decide`; if rows outside the candidates may be as near as the last one, all rows are compared."""
        k = min(self.n_neighbors, available)
        found, lengths = self._decide(new, candidates, candidates.shape[1])
        if candidates.shape[1] < available:
            unsure = np.flatnonzero(lengths[:, k - 1] >= lengths[:, -1] * (1 - _ROUNDING))
        else:
            unsure = np.empty(0, dtype=np.intp)
        found, lengths = found[:, :k].copy(), lengths[:, :k].copy()
        if unsure.size:
            exact = points.nearest(_arrays(new), _arrays(self.rows), unsure, own, k, self._squared)
            found[unsure], lengths[unsure] = self._measure(new[unsure], exact)
        return found, lengths

    def _measure(self, new, found):
        found = np.ascontiguousarray(found, dtype=np.int32)
        total = points.distances(_arrays(new), _arrays(self.rows), found, self._squared)
        if self.metric == "cosine":
            return found, total / 2
        return found, np.sqrt(total) if self._squared else total


class Descent:
    """Approximate neighbors of all rows: random trees, then neighbors of neighbors (NN-descent [1]_).

    The lists are improved until hardly an entry changes, and their recall is measured on a sample of the rows by an
    exact search. If it is below 95%, longer lists are tried. Results do not depend on the number of threads.

    Parameters
    ----------
    rows : ndarray or csr_array
    n_neighbors : int
    squared : bool
        Whether distances are sums of squares, or of absolute values.
    n_jobs : int or None
    rng : RandomState

    Attributes
    ----------
    lists : ndarray of shape (n_rows, k), int32
        At least `n_neighbors` neighbors of each row, nearest first.
    recall : float
        Share of the `n_neighbors` nearest rows, of a sample of the rows, that are in the lists.

    References
    ----------
    .. [1] Dong, W., Charikar, M. and Li, K. "Efficient k-nearest neighbor graph construction for generic similarity
       measures." International Conference on World Wide Web, 2011.
    """

    def __init__(self, rows, n_neighbors, squared, n_jobs, rng):
        self._squared, self._n_jobs = squared, n_jobs
        self._trees = []
        # Rows that are close in space are close in memory, if they are in the order of the leaves of a tree.
        self._places = points.grow_tree(_arrays(rows), _draw(rng), _LEAF, squared)[1]
        self._rows = _arrays(rows[self._places])
        n_rows = rows.shape[0]
        sample = np.sort(rng.permutation(n_rows)[:_SAMPLE])
        k = min(n_neighbors, n_rows - 1)
        nearest = points.nearest(self._rows, self._rows, sample, True, k, squared)
        sampled = _arrays(rows[self._places[sample]])
        farthest = points.distances(sampled, self._rows, nearest, squared)[:, -1:] * (1 + _ROUNDING)
        lists, totals = np.empty((n_rows, 0), dtype=np.int32), np.empty((n_rows, 0))
        with RowThreads(n_jobs) as threads:
            for spare in _SPARE:
                before = lists
                lists, totals = _lengthen(lists, totals, min(n_neighbors + spare, n_rows - 1))
                self._add_trees(lists, totals, threads, rng)
                self._improve(lists, totals, _fresh(lists, before), threads)
                self.recall = float(np.mean(totals[sample, :k] <= farthest))  # of equal distances any will do
                if self.recall >= _RECALL or lists.shape[1] == n_rows - 1:
                    break
            else:
                warnings.warn(
                    f"the approximate search finds {self.recall:.0%} of the nearest neighbors, less than "
                    f"{_RECALL:.0%}: the rows have no close neighbors to go by. algorithm='brute' is exact, in time "
                    "quadratic in the rows",
                    UserWarning,
                    stacklevel=caller_level(),
                )
        self._graph = lists
        ranks = np.empty(n_rows, dtype=np.int64)
        ranks[self._places] = np.arange(n_rows)
        self.lists = _renamed(lists, self._places)[ranks]

    def query(self, new):
        """Near rows of new rows, as many as in the lists; -1 for none."""
        k = self._graph.shape[1]
        found = np.full((new.shape[0], k), -1, dtype=np.int32)
        sizes = [len(nodes) for nodes, _ in self._trees]
        roots = np.cumsum([0, *sizes[:-1]])
        nodes = np.concatenate([_shifted(tree, root) for (tree, _), root in zip(self._trees, roots)])
        forest = nodes, roots, np.array([order for _, order in self._trees])
        new = _arrays(new) if isinstance(self._rows, tuple) else np.ascontiguousarray(new)

        def search(start, stop):
            points.walk(new, self._rows, forest, self._graph, found, (start, stop), self._squared)

        with RowThreads(self._n_jobs) as threads:
            threads.over_rows(search, len(found), 100)
        return _renamed(found, self._places)

    def _add_trees(self, lists, totals, threads, rng):
        """Candidates from the leaves of new trees."""
        seeds = [_draw(rng) for _ in range(_N_TREES)]
        new = threads.map(lambda seed: points.grow_tree(self._rows, seed, _LEAF, self._squared), seeds)
        for nodes, order in new:
            leaves = np.ascontiguousarray(nodes[nodes[:, 0] < 0, 2:])

            def join(start, stop, leaves=leaves, order=order):
                points.join_leaves(self._rows, leaves[start:stop], order, lists, totals, self._squared)

            threads.over_rows(join, len(leaves), 10_000)
        self._trees += new

    def _improve(self, lists, totals, fresh, threads):
        """Compare rows with the neighbors of their neighbors until hardly a list changes."""
        for _ in range(_MOST_PASSES):
            before = lists.copy(), points.reverse(lists, lists.shape[1]), fresh.copy()

            def improve(start, stop, before=before):
                after = lists, totals, fresh
                return points.descend(self._rows, (start, stop), before, after, self._squared)

            if threads.over_rows(improve, len(lists), 1000) <= _SETTLED * lists.size:
                break


def _draw(rng):
    return int(rng.randint(np.iinfo(np.int32).max))


def _lengthen(lists, totals, k):
    """Lists of k entries, the new ones empty."""
    new = ((0, 0), (0, k - lists.shape[1]))
    return np.pad(lists, new, constant_values=-1), np.pad(totals, new, constant_values=np.inf)


def _fresh(lists, before):
    """Entries that were not in the lists before."""
    known = np.zeros(lists.shape, dtype=bool)
    for column in before.T:
        known |= lists == column[:, None]
    return ~known


def _renamed(found, names):
    return np.where(found >= 0, names[found], -1).astype(np.int32)


def _shifted(nodes, by):
    """The nodes of a tree, whose children are `by` places further on."""
    inner = nodes[:, :1] >= 0
    return np.hstack([nodes[:, :2], nodes[:, 2:] + by * inner])


def _arrays(rows):
    """The rows as the kernels take them."""
    return (rows.data, rows.indices, rows.indptr) if issparse(rows) else rows
