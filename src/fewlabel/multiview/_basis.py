"""Kernel functions of one view, in coordinates where their norm equals that of the coefficients."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.utils import gen_batches

_VALUES = 2**21  # kernel values at a time: memory of 16 MB is reused, more is not
# A landmark that the others span up to this share of the largest k(x, x) is redundant.
_DEPENDENT = 1e-12


class ViewBasis:
    r"""Functions :math:`\sum_s a_s k(\cdot, x_s)` of a view, for landmarks :math:`x_s`.

    With the Cholesky factor :math:`k(x_s, x_t) = (L L^\top)_{st}`, the coordinates of a row are
    :math:`L^{-1} k(x_s, x)`, and a function with coefficients :math:`\theta` in them has the norm :math:`|\theta|` in
    the kernel space. If all rows are landmarks this is exact, otherwise it is the Nystroem approximation. The factor is
    pivoted: landmarks that depend linearly on the others, such as equal rows, get no coordinate.

    Attributes
    ----------
    own_coordinates : ndarray of shape (n_landmarks, n_coordinates)
        The coordinates of the landmarks themselves.
    """

    def __init__(self, landmarks, kernel):
        gram = kernel(landmarks, landmarks)
        share = max(_DEPENDENT, len(gram) * np.finfo(float).eps)
        tol = share * max(gram.diagonal().max(), 1e-300)
        factor, order, rank, _ = dpstrf(gram, lower=1, tol=tol, overwrite_a=1)
        order -= 1
        rank = max(int(rank), 1)
        self.own_coordinates = np.empty((len(gram), rank))
        self.own_coordinates[order] = np.tril(factor)[:, :rank]
        self._kernel = kernel
        self._landmarks = landmarks
        self._chosen = order[:rank]
        self._factor = np.tril(factor[:rank, :rank])
        # A kernel that is zero everywhere, such as the linear one of a zero row.
        if self._factor[0, 0] == 0.0:
            self._factor[0, 0] = 1.0

    def coordinates(self, X):
        """Return the coordinates of rows, of shape (n_rows, n_coordinates)."""
        values = self._kernel(self._landmarks[self._chosen], X)
        return solve_triangular(self._factor, values, lower=True, overwrite_b=True).T

    def coefficients(self, theta):
        """Return the coefficients :math:`a` of the landmarks for functions with coefficients `theta`."""
        coefficients = np.zeros((len(self._landmarks), theta.shape[1]))
        coefficients[self._chosen] = solve_triangular(self._factor, theta, lower=True, trans="T")
        return coefficients


class ViewKernel(NamedTuple):
    """A kernel with its parameters."""

    name: str
    length_scale: float

    def __call__(self, X, Y):
        """Kernel values of all pairs of rows."""
        if self.name == "linear":
            return linear_kernel(X, Y)
        # Squares of rows far from it would cancel.
        center = Y.mean(axis=0)
        return rbf_kernel(X - center, Y - center, gamma=0.5 / self.length_scale**2)


def sum_of_views(views, kernels, landmarks, coefficients):
    """Sum over the views of the kernel functions at their landmarks, at each of the rows."""
    outputs = np.empty((len(views[0]), coefficients[0].shape[1]))
    for part in gen_batches(len(outputs), max(1, _VALUES // len(landmarks[0]))):
        total = 0.0
        for X, kernel, centers, of_view in zip(views, kernels, landmarks, coefficients):
            total = total + kernel(X[part], centers) @ of_view
        outputs[part] = total
    return outputs
