"""The penalties of the objective over some rows, and the model that minimizes it with a loss on the labeled rows."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, qr, solve_triangular
from scipy.sparse import diags_array

from fewlabel.multiview._losses import held_out_outputs
from fewlabel.neighbors import RowSearch, neighbor_graph

MOST_COLUMNS = 30_000  # of a system, views times landmarks: it takes 7 GiB
_N_SPLITS = 5  # for the weights of the views
_N_ROUNDS = 5


class Penalties(NamedTuple):
    """Weights of the penalties, and the number of neighbors in the graph of the roughness penalty."""

    gamma_A: float
    gamma_B: float
    gamma_W: float
    n_neighbors: int


class LabeledRows(NamedTuple):
    """Positions of the labeled rows among those of a system, their classes, and their weights, which sum to 1."""

    positions: np.ndarray
    codes: np.ndarray
    weight: np.ndarray


class System:
    """Minimizes the objective over some rows, given what a subclass knows of its penalties.

    A subclass gives `reduce`: the labeled rows in coordinates where the penalties are a norm, and a function that
    turns a solution there into coefficients of the views.
    """

    def learn(self, labeled, loss, view_weights):
        """Compute the coefficients of each view, and held-out outputs of the labeled rows.

        Parameters
        ----------
        labeled : LabeledRows
        loss : SquaredLoss or HingeLoss
        view_weights : ndarray of shape (n_views,)
            Weights of the views in the output.

        Returns
        -------
        coefficients : list of ndarray
        held_out : ndarray of shape (n_labeled, n_outputs)
        """
        Z, to_coefficients = self.reduce(labeled.positions, view_weights)
        coefficients = to_coefficients(loss.solve(Z, labeled.codes, labeled.weight))
        return coefficients, held_out_outputs(loss, Z, labeled.codes, labeled.weight)


class LandmarkSystem(System):
    r"""Cholesky factor of :math:`H = \gamma_A I + \frac{\gamma_B}{N} P_B + \frac{\gamma_W}{N} P_W` over N rows.

    With the coordinates :math:`F^v` of the rows in each view,

    .. math::

        (P_B)_{vw} = (m \delta_{vw} - 1) {F^v}^\top F^w, \qquad (P_W)_{vv} = {F^v}^\top L^v F^v.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_columns)
        The coordinates of all views, concatenated.
    sizes : list of int
        Number of columns of each view.
    views : list of ndarray
        The rows in each view, for the graphs.
    penalties : Penalties
    """

    def __init__(self, features, sizes, views, penalties):
        n_columns = features.shape[1]
        if n_columns > MOST_COLUMNS:
            raise MemoryError(
                f"the system has {n_columns:,} columns, views times landmarks, which take "
                f"{8e-9 * n_columns**2:.0f} GB: lower n_components"
            )
        self.features = features
        self.sizes = sizes
        self.ends = np.cumsum(sizes)[:-1]
        H = self._penalty(views, penalties)
        # Symmetric: its transpose has the memory order in which it can be overwritten.
        self.factor = cholesky(H.T, lower=True, overwrite_a=True, check_finite=False)

    def _penalty(self, views, penalties):
        F = self.features
        n_rows, n_columns = F.shape
        n_views = len(views)
        between = penalties.gamma_B / n_rows if n_views > 1 else 0.0
        within = penalties.gamma_W / n_rows
        H = F.T @ F if between else np.zeros((n_columns, n_columns))
        # In place, as it is the largest matrix.
        H *= -between
        end = 0
        for size, X in zip(self.sizes, views):
            own = slice(end, end + size)
            end += size
            H[own, own] *= 1 - n_views  # from -1 to m - 1
            if within:
                L = neighbor_laplacian(X, penalties.n_neighbors)
                H[own, own] += within * F[:, own].T @ (L @ F[:, own])
        H[np.diag_indices_from(H)] += penalties.gamma_A
        return H

    def reduce(self, positions, view_weights):
        """Labeled rows in coordinates of the norm, and the function from there to the coefficients of the views."""
        Psi = self.features[positions] * np.repeat(view_weights, self.sizes)
        Z = solve_triangular(self.factor, Psi.T, lower=True, check_finite=False).T

        def to_coefficients(beta):
            theta = cho_solve((self.factor, True), Psi.T @ beta, check_finite=False)
            return np.split(theta, self.ends)

        # Only products of rows matter from here on, so a rotation into as many columns as rows is exact.
        if Z.shape[0] < Z.shape[1]:
            Z = qr(Z.T, mode="economic")[1].T
        return Z, to_coefficients


def neighbor_laplacian(X, n_neighbors, nearness=None):
    """Laplacian of the graph that connects each row with its nearest neighbors; sparse.

    `nearness` may hold a decreasing function of the distances between all rows, which saves computing them.
    """
    k = min(n_neighbors, len(X) - 1)
    neighbors = None if nearness is None or k == 0 else _largest(nearness, k)
    if neighbors is None:
        rows = np.ascontiguousarray(X, dtype=np.float64)
        neighbors, _ = RowSearch(rows, "euclidean", "auto", k, random_state=0).graph()
    A = neighbor_graph(neighbors)
    return diags_array(A.sum(axis=1)) - A


def _largest(nearness, k):
    """Columns of the k largest values of each row but its own; None where they have underflowed to 0."""
    distance = -nearness
    np.fill_diagonal(distance, np.inf)
    columns = np.argpartition(distance, k - 1, axis=1)[:, :k]
    smallest = np.take_along_axis(nearness, columns, axis=1).min()
    return columns if smallest > 0 else None
