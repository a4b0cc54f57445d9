r"""The exact minimizer with kernel functions at all rows, in matrices of the size of the rows.

With the kernel matrix :math:`K_v` of a view and :math:`W_v = \frac{m \gamma_B}{N} I + \frac{\gamma_W}{N} L^v`, let
:math:`S_v = (\gamma_A K_v^{-1} + W_v)^{-1} = K_v (\gamma_A I + W_v K_v)^{-1}`. The penalties of all views together are
block-diagonal up to the term :math:`-\frac{\gamma_B}{N} |\sum_v f^v|^2` of rank N, so that Woodbury's identity gives
their inverse from one system of N rows per view and one for the sum, instead of one of N rows times m views.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, lu_factor, lu_solve
from scipy.sparse import diags_array

from fewlabel.multiview._system import Learner

_JITTER = 1e-12  # of the largest entry: equal rows make the matrix of the labeled rows singular


class ExactSystem(Learner):
    """Minimizer over N rows; the coefficients that it learns are those of the kernel functions at the rows.

    Parameters
    ----------
    grams : list of ndarray of shape (n_rows, n_rows)
        Kernel matrix of each view.
    laplacians : list of sparse or dense matrices
        Laplacian of the graph of each view; not read if gamma_W is 0.
    penalties : Penalties
        Weights of the penalties.
    """

    def __init__(self, grams, laplacians, penalties):
        n_rows, m = len(grams[0]), len(grams)
        self.grams, self.n_rows, self.gamma_A = grams, n_rows, penalties.gamma_A
        self.between = penalties.gamma_B / n_rows if m > 1 else 0.0
        within = penalties.gamma_W / n_rows
        eye = diags_array(np.full(n_rows, m * self.between), format="csr")
        # Without penalties on the rows, S is the kernel matrix over gamma_A.
        self.smoothers = [within * L + eye for L in laplacians] if within else [eye] * m
        self._is_plain = not within and not self.between
        self._factors = None if self._is_plain else [self._factor(v) for v in range(m)]
        if self.between:
            # S of all views is symmetric, and each is needed in full for the sum that couples them.
            self._S = [lu_solve(f, K, trans=1, check_finite=False) for f, K in zip(self._factors, grams)]
            self._factors = None
            T = -self.between * sum(self._S)
            T[np.diag_indices(n_rows)] += 1.0 + 8 * np.finfo(float).eps
            self._coupling = cho_factor(T, lower=True, overwrite_a=True, check_finite=False)

    def _factor(self, v):
        M = self.smoothers[v] @ self.grams[v]
        M[np.diag_indices(self.n_rows)] += self.gamma_A
        return lu_factor(M, overwrite_a=True, check_finite=False)

    def _columns(self, v, positions):
        """Columns of :math:`S_v`."""
        if self.between:
            return self._S[v][:, positions]
        K = self.grams[v][:, positions]
        return K / self.gamma_A if self._is_plain else lu_solve(self._factors[v], K, trans=1, check_finite=False)

    def _reduce(self, labeled, view_weights):
        columns = [self._columns(v, labeled) for v in range(len(self.grams))]
        Q = sum(c * c * S[labeled] for c, S in zip(view_weights, columns))
        coupled = None
        if self.between:
            mixed = sum(c * S for c, S in zip(view_weights, columns))
            coupled = self.between * cho_solve(self._coupling, mixed, check_finite=False)
            Q = Q + mixed.T @ coupled
        Q = 0.5 * (Q + Q.T)
        Q[np.diag_indices_from(Q)] += _JITTER * max(Q.diagonal().max(), 1e-300)
        return cholesky(Q, lower=True, check_finite=False), (columns, coupled)

    def _coefficients(self, labeled, beta, view_weights, reduced):
        columns, coupled = reduced
        found = []
        for v, (c, S) in enumerate(zip(view_weights, columns)):
            target = np.zeros((self.n_rows, beta.shape[1]))
            target[labeled] = c * beta
            values = S @ (c * beta)  # of the function at the rows
            if coupled is not None:
                shared = coupled @ beta
                target += shared
                values += self._S[v] @ shared
            found.append((target - self.smoothers[v] @ values) / self.gamma_A)
        return found

    def _outputs_of_view(self, v, coefficients, positions):
        return self.grams[v][positions] @ coefficients
