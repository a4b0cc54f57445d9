"""The functions that a fit chooses from: kernel functions at all rows (exact) or at some (Nystroem)."""

import numpy as np
from sklearn.utils import gen_batches

from fewlabel.multiview._basis import ViewBasis
from fewlabel.multiview._exact import ExactSystem
from fewlabel.multiview._system import MOST_COLUMNS, System

_BATCH = 10_000  # rows
_BLOCK = 1000  # rows and columns of a part of a kernel matrix that is not kept
_CELLS_KEPT = 64_000_000  # kernel values of all views that are kept between the rounds: 0.5 GB


class RowSpace:
    """Kernel functions at all rows.

    Kernel values are kept for all groups and rounds if they fit into memory, otherwise computed when needed; graphs are
    kept until `forget_graphs`, so that other penalties on the same rows do not search for neighbors again.

    Parameters
    ----------
    views : list of ndarray of shape (n_rows, n_columns_of_view)
        The rows in each view.
    kernels : list of ViewKernel
    n_systems : int
        Number of groups that a fit solves instead of all rows.
    """

    def __init__(self, views, kernels, n_systems):
        self.views, self.kernels = views, kernels
        self.n_rows, m = len(views[0]), len(views)
        if self.n_rows * m > n_systems * MOST_COLUMNS:
            raise MemoryError(
                f"an exact fit of {self.n_rows // n_systems:,} rows in {m} views takes "
                f"{8e-9 * (m + 2) * (self.n_rows / n_systems) ** 2:.0f} GB: set approximation='nystroem'"
            )
        keep = m * self.n_rows**2 <= _CELLS_KEPT
        self._kept = [kernel(X, X) for kernel, X in zip(kernels, views)] if keep else None
        self.forget_graphs()

    def forget_graphs(self):
        """Drop the graphs of all groups."""
        self._graphs = {}

    @property
    def landmarks(self):
        """Rows at which the functions of each view are centered."""
        return self.views

    def system(self, group, penalties):
        """The objective over a group of rows, all of them if None."""
        grams = [self._gram(v, group) for v in range(len(self.views))]
        laplacians = self._laplacians(group, grams, penalties) if penalties.gamma_W else None
        return ExactSystem(grams, laplacians, penalties)

    def _laplacians(self, group, grams, penalties):
        key = b"" if group is None else group.tobytes()
        if key not in self._graphs:
            self._graphs[key] = [
                penalties.laplacian_matrix(K, X if group is None else X[group], kernel.name == "rbf")
                for K, X, kernel in zip(grams, self.views, self.kernels)
            ]
        return self._graphs[key]

    def _gram(self, v, group):
        if self._kept is None:
            X = self.views[v] if group is None else self.views[v][group]
            return self.kernels[v](X, X)
        return self._kept[v] if group is None else self._kept[v][np.ix_(group, group)]

    def place(self, found, group):
        """Coefficients of a group as coefficients of the space."""
        placed = [np.zeros((self.n_rows, of_view.shape[1])) for of_view in found]
        for of_view, full in zip(found, placed):
            full[group] = of_view
        return placed

    def outputs(self, coefficients, view_weights):
        """Weighted sum of the views at all rows."""
        total = np.zeros((self.n_rows, coefficients[0].shape[1]))
        for v, (c, of_view) in enumerate(zip(view_weights, coefficients)):
            if self._kept is not None:
                total += self._kept[v] @ (c * of_view)
                continue
            X, parts = self.views[v], list(gen_batches(self.n_rows, _BLOCK))
            for i, rows in enumerate(parts):
                for others in parts[i:]:  # a kernel is symmetric: each value is computed once, for both of its rows
                    K = self.kernels[v](X[rows], X[others])
                    total[rows] += K @ (c * of_view[others])
                    if others is not rows:
                        total[others] += K.T @ (c * of_view[rows])
        return total

    def coefficients(self, found):
        """Coefficients of the kernel functions at the landmarks."""
        return found


class LandmarkSpace:
    """Kernel functions at some rows, in coordinates where their norm is that of the coefficients.

    Parameters
    ----------
    views, kernels
        As in `RowSpace`.
    chosen : ndarray of int
        Positions of the landmarks.
    """

    def __init__(self, views, kernels, chosen):
        self.views = views
        self.bases = [ViewBasis(X[chosen], kernel) for X, kernel in zip(views, kernels)]
        self.sizes = [basis.size for basis in self.bases]
        ends = np.cumsum([0, *self.sizes])
        self.features = np.empty((len(views[0]), ends[-1]))  # in batches, as it is the largest array in memory
        for v, (basis, rows) in enumerate(zip(self.bases, views)):
            for part in gen_batches(len(rows), _BATCH):
                self.features[part, ends[v] : ends[v + 1]] = basis.coordinates(rows[part])

    def forget_graphs(self):
        """Nothing is kept."""

    @property
    def landmarks(self):
        """Rows at which the functions of each view are centered."""
        return [basis.landmarks for basis in self.bases]

    def system(self, group, penalties):
        """The objective over a group of rows, all of them if None."""
        if group is None:
            return System(self.features, self.sizes, self.views, penalties)
        return System(self.features[group], self.sizes, [X[group] for X in self.views], penalties)

    def place(self, found, group):
        """Coefficients of a group as coefficients of the space, which all groups share."""
        return found

    def outputs(self, coefficients, view_weights):
        """Weighted sum of the views at all rows."""
        return self.features @ np.concatenate([c * of_view for c, of_view in zip(view_weights, coefficients)])

    def coefficients(self, found):
        """Coefficients of the kernel functions at the landmarks."""
        return [basis.coefficients(of_view) for basis, of_view in zip(self.bases, found)]


def choose_landmarks(codes, n_landmarks, rng):
    """Draw landmarks, at most half of them labeled: as many of each class as of any other, as far as there are.

    Drawn from all rows, ten rows of a rare class among thousands would hardly ever be among the landmarks.

    Parameters
    ----------
    codes : ndarray
        Class of each row, -1 if unlabeled.
    n_landmarks : int
    rng : RandomState

    Returns
    -------
    ndarray of int
        Sorted positions.
    """
    if n_landmarks >= len(codes):
        return np.arange(len(codes))
    by_class = [rng.permutation(np.flatnonzero(codes == k)) for k in range(codes.max() + 1)]
    free = np.count_nonzero(codes < 0)
    room = max(n_landmarks // 2, n_landmarks - free)
    taken: list[np.ndarray] = []
    for left, rows in zip(range(len(by_class), 0, -1), sorted(by_class, key=len)):  # what a class lacks, others get
        taken.append(rows[: room // left])
        room -= len(taken[-1])
    chosen = np.concatenate(taken)
    rest = rng.permutation(np.flatnonzero(codes < 0))[: n_landmarks - len(chosen)]
    return np.sort(np.concatenate([chosen, rest]))
