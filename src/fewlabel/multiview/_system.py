"""The penalties of the objective over some rows, and the model that minimizes it with a loss on the labeled rows."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, qr, solve_triangular
from scipy.sparse import diags_array

from fewlabel.multiview._losses import held_out_outputs
from fewlabel.neighbors import neighbor_graph

MOST_COLUMNS = 30_000  # of a system, views times landmarks: it takes 7 GiB


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
    r"""Cholesky factor of :math:`H = \gamma_A I + \frac{\gamma_B}{N} P_B + \frac{\gamma_W}{N} P_W` over N rows.

    With the coordinates :math:`F^v` of the rows in each view,

    .. math::

        (P_B)_{vw} = (m \delta_{vw} - 1) {F^v}^\top F^w, \qquad (P_W)_{vv} = {F^v}^\top L^v F^v.

    Parameters
    ----------
    features : list of ndarray of shape (n_rows, n_coordinates_of_view)
        The coordinates of the rows in each view.
    views : list of ndarray
        The rows in each view, for the graphs.
    penalties : Penalties
    """

    def __init__(self, features, views, penalties):
        self.sizes = [F.shape[1] for F in features]
        self.features = np.hstack(features)
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

    def learn(self, labeled, loss, view_weights):
        """Compute the coefficients of the coordinates of each view, and held-out outputs of the labeled rows."""
        Psi = self.features[labeled.positions] * np.repeat(view_weights, self.sizes)
        Z = solve_triangular(self.factor, Psi.T, lower=True, check_finite=False).T
        # Only products of rows matter from here on, so a rotation into as many columns as rows is exact.
        if Z.shape[0] < Z.shape[1]:
            Z = qr(Z.T, mode="economic")[1].T
        beta = loss.solve(Z, labeled.codes, labeled.weight)
        theta = cho_solve((self.factor, True), Psi.T @ beta, check_finite=False)
        held_out = held_out_outputs(loss, Z, labeled.codes, labeled.weight)
        return np.split(theta, np.cumsum(self.sizes)[:-1]), held_out


def neighbor_laplacian(X, n_neighbors):
    """Laplacian of the graph that connects each row with its nearest neighbors; sparse."""
    A = neighbor_graph(X, n_neighbors)
    return diags_array(A.sum(axis=1)) - A
