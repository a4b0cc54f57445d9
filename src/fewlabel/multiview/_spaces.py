"""The functions that a fit chooses from: kernel functions at all rows (exact) or at some (Nystroem)."""

import numpy as np
from sklearn.utils import gen_batches

from fewlabel.multiview._basis import ViewBasis
from fewlabel.multiview._exact import RowSystem
from fewlabel.multiview._system import MOST_COLUMNS, LandmarkSystem, neighbor_laplacian

ALL_ROWS = slice(None)  # as a group, which then needs no copies of its rows
_BATCH = 10_000  # rows
# Rows and columns of a part of a kernel matrix that is not kept.
_BLOCK = 1000
# Kernel values of all views that are kept between the rounds: 0.5 GB.
_CELLS_KEPT = 64_000_000


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
        self.views = views
        self.kernels = kernels
        self.n_rows = len(views[0])
        n_views = len(views)
        if self.n_rows * n_views > n_systems * MOST_COLUMNS:
            raise MemoryError(
                f"an exact fit of {self.n_rows // n_systems:,} rows in {n_views} views takes "
                f"{8e-9 * (n_views + 2) * (self.n_rows / n_systems) ** 2:.0f} GB: set approximation='nystroem'"
            )
        self._grams = None
        if n_views * self.n_rows**2 <= _CELLS_KEPT:
            self._grams = [kernel(X, X) for kernel, X in zip(kernels, views)]
        self.forget_graphs()

    def forget_graphs(self):
        """Drop the graphs of all groups."""
        self._graphs = {}

    @property
    def landmarks(self):
        """Rows at which the functions of each view are centered."""
        return self.views

    def system(self, group, penalties):
        """The objective over a group of rows."""
        grams = [self._gram(v, group) for v in range(len(self.views))]
        laplacians = self._laplacians(group, grams, penalties.n_neighbors) if penalties.gamma_W else None
        return RowSystem(grams, laplacians, penalties)

    def _gram(self, v, group):
        if self._grams is not None:
            return self._grams[v] if group is ALL_ROWS else self._grams[v][np.ix_(group, group)]
        X = self.views[v][group]
        return self.kernels[v](X, X)

    def _laplacians(self, group, grams, n_neighbors):
        key = b"" if group is ALL_ROWS else group.tobytes()
        if key not in self._graphs:
            self._graphs[key] = [self._laplacian(v, group, K, n_neighbors) for v, K in enumerate(grams)]
        return self._graphs[key]

    def _laplacian(self, v, group, K, n_neighbors):
        # Larger values of this kernel mean closer rows: no distances are needed.
        nearness = K if self.kernels[v].name == "rbf" else None
        return neighbor_laplacian(self.views[v][group], n_neighbors, nearness)

    def place(self, coefficients, group):
        """Coefficients of a group as coefficients of the space."""
        placed = []
        for of_view in coefficients:
            at_all_rows = np.zeros((self.n_rows, of_view.shape[1]))
            at_all_rows[group] = of_view
            placed.append(at_all_rows)
        return placed

    def outputs(self, coefficients, view_weights):
        """Weighted sum of the views at all rows."""
        return sum(c * self._outputs_of_view(v, coefficients[v]) for v, c in enumerate(view_weights))

    def _outputs_of_view(self, v, coefficients):
        if self._grams is not None:
            return self._grams[v] @ coefficients
        X = self.views[v]
        outputs = np.zeros(coefficients.shape)
        parts = list(gen_batches(self.n_rows, _BLOCK))
        for i, rows in enumerate(parts):
            # A kernel is symmetric: each value is computed once, for both of its rows.
            for others in parts[i:]:
                K = self.kernels[v](X[rows], X[others])
                outputs[rows] += K @ coefficients[others]
                if others is not rows:
                    outputs[others] += K.T @ coefficients[rows]
        return outputs

    def landmark_coefficients(self, coefficients):
        """Coefficients of the kernel functions at the landmarks."""
        return coefficients


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
        self.n_rows = len(views[0])
        self.bases = [ViewBasis(X[chosen], kernel) for X, kernel in zip(views, kernels)]
        self.sizes = [len(basis.landmarks) for basis in self.bases]
        self.features = np.empty((self.n_rows, sum(self.sizes)))
        end = 0
        for basis, X, size in zip(self.bases, views, self.sizes):
            # In batches, as it is the largest array in memory.
            for part in gen_batches(self.n_rows, _BATCH):
                self.features[part, end : end + size] = basis.coordinates(X[part])
            end += size

    def forget_graphs(self):
        """Nothing is kept."""

    @property
    def landmarks(self):
        """Rows at which the functions of each view are centered."""
        return [basis.landmarks for basis in self.bases]

    def system(self, group, penalties):
        """The objective over a group of rows."""
        return LandmarkSystem(self.features[group], self.sizes, [X[group] for X in self.views], penalties)

    def place(self, coefficients, group):
        """Coefficients of a group as coefficients of the space, which all groups share."""
        return coefficients

    def outputs(self, coefficients, view_weights):
        """Weighted sum of the views at all rows."""
        return self.features @ np.concatenate([c * of_view for c, of_view in zip(view_weights, coefficients)])

    def landmark_coefficients(self, coefficients):
        """Coefficients of the kernel functions at the landmarks."""
        return [basis.coefficients(of_view) for basis, of_view in zip(self.bases, coefficients)]


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
    unlabeled = np.flatnonzero(codes < 0)
    room = max(n_landmarks // 2, n_landmarks - len(unlabeled))
    n_classes_left = len(by_class)
    chosen: list[np.ndarray] = []
    # The rarest first: what a class lacks, others get.
    for rows in sorted(by_class, key=len):
        chosen.append(rows[: room // n_classes_left])
        room -= len(chosen[-1])
        n_classes_left -= 1
    n_labeled = sum(len(rows) for rows in chosen)
    chosen.append(rng.permutation(unlabeled)[: n_landmarks - n_labeled])
    return np.sort(np.concatenate(chosen))
