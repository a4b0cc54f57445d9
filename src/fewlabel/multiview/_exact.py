r"""The exact minimizer with kernel functions at all rows, in matrices of the size of the rows.

With the kernel matrix :math:`K_v` of a view and :math:`W_v = \frac{m \gamma_B}{N} I + \frac{\gamma_W}{N} L^v`, let
:math:`M_v = \gamma_A I + W_v K_v` and :math:`S_v = (\gamma_A K_v^{-1} + W_v)^{-1} = K_v M_v^{-1}`. The penalties of all
views together are block-diagonal up to the term :math:`-\frac{\gamma_B}{N} |\sum_v f^v|^2` of rank N, so that the
identity of Woodbury gives their inverse from one system of N rows per view and one for the sum,
:math:`T = I - \frac{\gamma_B}{N} \sum_v S_v`, instead of one of N rows times m views.

Without a graph :math:`M_v` is symmetric and :math:`T = \frac{\gamma_A}{m} \sum_v M_v^{-1}`: Cholesky factors and their
inverses take half of the operations of LU factors and the :math:`S_v`. With one, :math:`M_v` is not symmetric but
:math:`S_v` is: half of it is computed, once for T and for the labeled rows.
"""

import contextlib

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, lu_factor, lu_solve
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotri
from scipy.sparse import diags_array

from fewlabel.multiview._system import System

# Shares of the largest entry that are added: equal rows make the matrix of the labeled rows singular, and nearly equal
# ones leave it indefinite by rounding. The least that works is taken.
_JITTERS = (1e-12, 1e-10, 1e-8)
_BLOCK = 128  # rows of a symmetric matrix that are solved for at a time


class RowSystem(System):
    """Minimizer over N rows; the coefficients that it learns are those of the kernel functions at the rows.

    Parameters
    ----------
    grams : list of ndarray of shape (n_rows, n_rows)
        Kernel matrix of each view.
    laplacians : list of sparse matrices
        Laplacian of the graph of each view; not read if gamma_W is 0.
    penalties : Penalties
    """

    def __init__(self, grams, laplacians, penalties):
        n_rows = len(grams[0])
        n_views = len(grams)
        self.grams = grams
        self.gamma_A = penalties.gamma_A
        self.between = penalties.gamma_B / n_rows if n_views > 1 else 0.0
        within = penalties.gamma_W / n_rows
        agreement = n_views * self.between
        self.is_symmetric = not within
        # S of each view, where the coupling needs all of it.
        self.smoothers = None
        if within:
            eye = diags_array(np.full(n_rows, agreement), format="csr")
            self.factors = []
            for K, L in zip(grams, laplacians):
                M = self._with_norm((within * L + eye) @ K)
                # The transpose has the memory order in which it can be overwritten.
                self.factors.append(lu_factor(M.T, overwrite_a=True, check_finite=False))
        elif agreement:
            self.factors = [_factor(self._with_norm(agreement * K)) for K in grams]
        else:
            # Each M is gamma_A times the identity.
            self.factors = None
        if not self.between:
            return
        if within:
            self.smoothers = [_solve_symmetric(factor, K) for factor, K in zip(self.factors, grams)]
            T = -self.between * sum(self.smoothers)
            # Rounding must not leave it indefinite.
            T[np.diag_indices(n_rows)] += 1.0 + 8 * np.finfo(float).eps
        else:
            # Lower triangles alone, which is what the factor of their sum reads.
            T = self.gamma_A / n_views * sum(dpotri(factor, lower=1)[0] for factor, _ in self.factors)
        self.coupling = _factor(T)

    def _with_norm(self, M):
        M[np.diag_indices_from(M)] += self.gamma_A
        return M

    def _smoother_columns(self, v, positions):
        """Columns of :math:`S_v`."""
        if self.smoothers is not None:
            return self.smoothers[v][:, positions]
        # S is symmetric: it is also the inverse of M', times K.
        return self._solve(v, self.grams[v][:, positions], transposed=True)

    def _solve(self, v, B, transposed=False):
        """:math:`M_v^{-1} B`, or that of the transpose."""
        if self.factors is None:
            return B / self.gamma_A
        if self.is_symmetric:
            return cho_solve(self.factors[v], B, check_finite=False)
        # The factors are those of the transpose.
        return lu_solve(self.factors[v], B, trans=int(not transposed), check_finite=False)

    def reduce(self, positions, view_weights):
        """Labeled rows in coordinates of the norm, and the function from there to the coefficients of the views."""
        Q = 0.0
        mixed = 0.0
        for v, c in enumerate(view_weights):
            columns = self._smoother_columns(v, positions)
            Q = Q + c * c * columns[positions]
            mixed = mixed + c * columns
        coupled = None
        if self.between:
            coupled = self.between * cho_solve(self.coupling, mixed, check_finite=False)
            Q = Q + mixed.T @ coupled
        Q = 0.5 * (Q + Q.T)

        def to_coefficients(beta):
            coefficients = []
            for v, c in enumerate(view_weights):
                target = np.zeros((len(mixed), beta.shape[1])) if coupled is None else coupled @ beta
                target[positions] += c * beta
                coefficients.append(self._solve(v, target))
            return coefficients

        return _factor_with_jitter(Q), to_coefficients


def _factor(M):
    """Cholesky factor of a matrix, of which the lower triangle is read; it may be overwritten."""
    return cho_factor(np.asfortranarray(M), lower=True, overwrite_a=True, check_finite=False)


def _factor_with_jitter(Q):
    """Lower Cholesky factor of a matrix that is positive semidefinite but for rounding."""
    share = max(Q.diagonal().max(), 1e-300) * np.eye(len(Q))
    for jitter in _JITTERS[:-1]:
        with contextlib.suppress(np.linalg.LinAlgError):
            return cholesky(Q + jitter * share, lower=True, check_finite=False)
    return cholesky(Q + _JITTERS[-1] * share, lower=True, check_finite=False)


def _solve_symmetric(factor, K):
    """:math:`A^{-1} K`, where K and the result are symmetric; `factor` is that of A by `lu_factor`."""
    lu, swaps = factor
    order = np.arange(len(K))
    for i, j in enumerate(swaps):
        order[[i, j]] = order[[j, i]]
    # Rows of K in this order, in the memory order of the solver.
    S = dtrsm(1.0, lu, K[:, order].T, lower=1, diag=1, overwrite_b=1)
    # Back substitution in the lower triangle: a row needs those below it, in no columns beyond its own.
    for start in range((len(K) - 1) // _BLOCK * _BLOCK, -1, -_BLOCK):
        end = min(start + _BLOCK, len(K))
        rows = S[start:end, :end] - lu[start:end, end:] @ S[end:, :end]
        S[start:end, :end] = dtrsm(1.0, lu[start:end, start:end], rows)
        S[:start, start:end] = S[start:end, :start].T
    return S
