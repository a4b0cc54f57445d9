"""The penalties of the objective over some rows, and the model that minimizes it with a loss on the labeled rows."""

import numpy as np
from scipy.linalg import cho_solve, cholesky, qr, solve_triangular
from scipy.optimize import nnls
from scipy.sparse import csr_array, diags_array
from sklearn.model_selection import StratifiedKFold

from fewlabel.multiview._losses import held_out as outputs_of_other_folds
from fewlabel.neighbors import RowSearch

MOST_COLUMNS = 30_000  # of a system, views times landmarks: it takes 7 GiB


class Learner:
    """Minimizes the objective over some rows, given what a subclass knows of its penalties.

    A subclass gives `_reduce`, the labeled rows in coordinates where the penalties are a norm; `_coefficients` of the
    views for a solution there; and `_outputs_of_view` at some rows.
    """

    def learn(self, labeled, codes, weight, loss, view_weights, *, held_out=False):
        """Compute the coefficients of each view, and held-out outputs of the labeled rows.

        Parameters
        ----------
        labeled : ndarray of int
            Positions of the labeled rows.
        codes, weight : ndarray
            Class and weight of each of them; weights sum to 1.
        loss : SquaredLoss or HingeLoss
            The loss.
        view_weights : ndarray
            Weights of the views in the output.
        held_out : bool, default=False
            Whether to compute the held-out outputs; otherwise they are None.
        """
        Z, reduced = self._reduce(labeled, view_weights)
        beta = loss.solve(Z, codes, weight)
        found = self._coefficients(labeled, beta, view_weights, reduced)
        return found, outputs_of_other_folds(loss, Z, codes, weight) if held_out else None

    def learn_view_weights(self, labeled, codes, weight, loss, start, *, n_splits=5, n_rounds=5):
        """Learn the weights of the views, in alternation with their functions.

        The codes of the classes are regressed on the held-out outputs of the views, with non-negative weights; the
        weights with the smallest held-out error are kept.
        """
        n_splits = min(n_splits, np.bincount(codes).min())
        if len(start) == 1 or n_splits < 2:  # a single view, or no row to hold out
            return start
        folds = list(StratifiedKFold(n_splits).split(codes, codes))
        target, root = loss.codes[codes], np.sqrt(weight)[:, None, None]
        best, least, current = start, np.inf, start
        for _ in range(n_rounds):
            outputs = self._outputs_of_views(labeled, codes, weight, loss, current, folds)
            error = float(((root[:, 0] * (outputs @ current - target)) ** 2).sum())
            if error >= least * (1 - 1e-6):
                break
            best, least = current, error
            found, _ = nnls((root * outputs).reshape(-1, len(start)), (root[:, 0] * target).ravel())
            if found.sum() == 0:
                break
            current = found / found.sum()
        return best

    def _outputs_of_views(self, labeled, codes, weight, loss, view_weights, folds):
        """Output of each view for held-out rows: shape (n_labeled, n_outputs, n_views)."""
        outputs = np.empty((len(labeled), loss.codes.shape[1], len(view_weights)))
        for train, test in folds:
            share = weight[train] / weight[train].sum()
            found, _ = self.learn(labeled[train], codes[train], share, loss, view_weights)
            for v, of_view in enumerate(found):
                outputs[test, :, v] = self._outputs_of_view(v, of_view, labeled[test])
        return outputs


class System(Learner):
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
    rows : list of ndarray
        The rows in each view, for the graphs.
    penalties : Penalties
        Weights of the penalties, and the graph.
    """

    def __init__(self, features, sizes, rows, penalties):
        if features.shape[1] > MOST_COLUMNS:
            raise MemoryError(
                f"the system has {features.shape[1]:,} columns, views times landmarks, which take "
                f"{8e-9 * features.shape[1] ** 2:.0f} GB: lower n_components"
            )
        self.features = features
        self.sizes = sizes
        self.ends = np.cumsum(sizes)[:-1]
        H = self._penalty(
            rows, penalties
        )  # symmetric; its transpose has the memory order in which it can be overwritten
        self.factor = cholesky(H.T, lower=True, overwrite_a=True, check_finite=False)

    def _penalty(self, rows, penalties):
        F, n_rows, m = self.features, len(self.features), len(self.sizes)
        between, within = penalties.gamma_B / n_rows, penalties.gamma_W / n_rows
        H = F.T @ F if between and m > 1 else np.zeros((F.shape[1], F.shape[1]))
        H *= -between
        for start, size, X in zip(np.cumsum([0, *self.sizes[:-1]]), self.sizes, rows):
            own = slice(start, start + size)
            if between and m > 1:
                H[own, own] *= 1 - m  # from -1 to m - 1
            if within:
                H[own, own] += within * penalties.roughness(F[:, own], X)
        H[np.diag_indices_from(H)] += penalties.gamma_A
        return H

    def _reduce(self, labeled, view_weights):
        Psi = self.features[labeled] * np.repeat(view_weights, self.sizes)
        Z = solve_triangular(self.factor, Psi.T, lower=True, check_finite=False).T
        # Only products of rows matter from here on, so a rotation into as many columns as rows is exact.
        return (qr(Z.T, mode="economic")[1].T if Z.shape[0] < Z.shape[1] else Z), Psi

    def _coefficients(self, labeled, beta, view_weights, Psi):
        theta = cho_solve((self.factor, True), Psi.T @ beta, check_finite=False)
        return np.split(theta, self.ends)

    def _outputs_of_view(self, v, coefficients, positions):
        return np.split(self.features[positions], self.ends, axis=1)[v] @ coefficients


class Penalties:
    """Weights of the penalties, and the graph of the roughness penalty."""

    def __init__(self, gamma_A, gamma_B, gamma_W, laplacian, n_neighbors):
        self.gamma_A, self.gamma_B, self.gamma_W = gamma_A, gamma_B, gamma_W
        self.laplacian, self.n_neighbors = laplacian, n_neighbors

    def with_norm(self, gamma_A):
        """The same with another penalty on the norm."""
        return Penalties(gamma_A, self.gamma_B, self.gamma_W, self.laplacian, self.n_neighbors)

    def roughness(self, F, X):
        r""":math:`F^\top L F`, where L is the Laplacian of a graph over the rows of a view."""
        if self.laplacian == "knn":
            A = neighbor_graph(X, self.n_neighbors)
            return F.T @ (A.sum(axis=1)[:, None] * F - A @ F)
        # The edge weights are the kernel values F F', so no matrix of all pairs is needed.
        scaled = F.T @ (_roots(F @ F.sum(axis=0))[:, None] * F)
        return F.T @ F - scaled @ scaled

    def laplacian_matrix(self, K, X, nearness):
        """Return L itself: sparse for "knn", dense for "kernel".

        `K` is the kernel matrix of the view; `nearness` says whether larger values of it mean closer rows, so that the
        graph needs no distances.
        """
        if self.laplacian == "knn":
            A = neighbor_graph(X, self.n_neighbors, K if nearness else None)
            return diags_array(A.sum(axis=1)) - A
        root = _roots(K.sum(axis=1))
        L = -root[:, None] * K * root
        L[np.diag_indices_from(L)] += 1.0
        return L


def _roots(degree):
    """Inverse square roots of the degrees of a graph whose weights are kernel values."""
    if degree.min() < -1e-8 * np.abs(degree).max():
        raise ValueError(
            "laplacian='kernel' needs a kernel with non-negative values: use kernel='rbf' or laplacian='knn'"
        )
    present = degree > 1e-12 * degree.max()
    return np.where(present, 1.0 / np.sqrt(np.where(present, degree, 1.0)), 0.0)


def neighbor_graph(X, n_neighbors, nearness=None):
    """Return a matrix with 1 where a row is among the nearest neighbors of another one, or vice versa.

    `nearness` may hold a decreasing function of the distances between all rows, which saves computing them.
    """
    n_rows, k = len(X), min(n_neighbors, len(X) - 1)
    found = None if nearness is None or k == 0 else _largest(nearness, k)
    if found is None:
        rows = np.ascontiguousarray(X, dtype=np.float64)
        found, _ = RowSearch(rows, "euclidean", "auto", k, random_state=0).graph()
    A = csr_array((np.ones(n_rows * k), found.ravel(), np.arange(0, n_rows * k + 1, k)), shape=(n_rows, n_rows))
    return A.maximum(A.T)


def _largest(nearness, k):
    """Columns of the k largest values of each row but its own; None where they have underflowed to 0."""
    distance = -nearness
    np.fill_diagonal(distance, np.inf)
    found = np.argpartition(distance, k - 1, axis=1)[:, :k]
    return found if np.take_along_axis(nearness, found, axis=1).min() > 0 else None
