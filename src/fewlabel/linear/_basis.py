"""Gaussian functions as columns of a linear ranker."""

from dataclasses import KW_ONLY
from typing import Literal

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse
from sklearn.metrics.pairwise import rbf_kernel

from fewlabel.base import Count, Positive, parametrized
from fewlabel.neighbors import median_distance
from fewlabel.types import Seed

# An eigenvalue below this share of the largest is rounding error.
_DEPENDENT = 1e-10


@parametrized
class KernelBasis:
    """Mixin of rankers that are linear in a basis: the columns, Gaussian functions, or their Nystroem features.

    Sets `components_` and `length_scale_`.
    """

    _: KW_ONLY
    basis: Literal["linear", "rbf", "nystroem"] = "linear"
    n_components: Count = 200
    length_scale: Positive | Literal["median"] = "median"
    random_state: Seed = None

    def _set_basis(self, X, rng):
        if self.basis == "linear":
            return
        n_rows = X.shape[0]
        chosen = rng.choice(n_rows, min(self.n_components, n_rows), replace=False)
        centers = X[np.sort(chosen)]
        self.components_ = centers.toarray() if issparse(centers) else centers
        self.length_scale_ = median_distance(X, rng) if self.length_scale == "median" else self.length_scale
        if self.basis == "nystroem":
            values, vectors = eigh(self._kernel(self.components_))
            independent = values > _DEPENDENT * values[-1]
            self._map = vectors[:, independent] / np.sqrt(values[independent])

    def _kernel(self, X):
        return rbf_kernel(X, self.components_, gamma=0.5 / self.length_scale_**2)

    def _features(self, X):
        if self.basis == "linear":
            return X
        values = self._kernel(X)
        return values if self.basis == "rbf" else values @ self._map

    def _score(self, X):
        return self._features(X) @ self.coef_[0]
