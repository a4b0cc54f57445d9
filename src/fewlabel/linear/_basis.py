"""Gaussian functions as columns of a linear ranker."""

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel


class KernelBasis:
    """Mixin of rankers that are linear in a basis: the columns, Gaussian functions, or their Nystroem features.

    Uses the parameters `basis`, `n_components` and `length_scale`, and sets `components_` and `length_scale_`.
    """

    def _set_basis(self, X, rng):
        if self.basis == "linear":
            return
        n = X.shape[0]
        self.components_ = X[np.sort(rng.choice(n, min(self.n_components, n), replace=False))]
        self.length_scale_ = self.length_scale
        if self.length_scale == "median":
            few = X[rng.choice(n, min(500, n), replace=False)]
            distances = euclidean_distances(few)[np.triu_indices(few.shape[0], 1)]
            self.length_scale_ = float(np.median(distances)) if len(distances) and np.median(distances) > 0 else 1.0
        if self.basis == "nystroem":
            values, vectors = eigh(self._kernel(self.components_))
            kept = values > 1e-10 * values[-1]
            self._map = vectors[:, kept] / np.sqrt(values[kept])

    def _kernel(self, X):
        return rbf_kernel(X, self.components_, gamma=0.5 / self.length_scale_**2)

    def _features(self, X):
        if self.basis == "linear":
            return X
        return self._kernel(X) if self.basis == "rbf" else self._kernel(X) @ self._map

    def _score(self, X):
        return self._features(X) @ self.coef_[0]
