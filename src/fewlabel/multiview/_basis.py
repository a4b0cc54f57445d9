"""Kernel functions of one view, in coordinates where their norm equals that of the coefficients."""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import gen_batches

_VALUES = 2**21  # kernel values at a time: memory of 16 MB is reused, more is not
# A landmark that the others span up to this share of k(x, x), which is 1, is redundant.
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

    def __init__(self, landmarks, width):
        gram = gaussian(landmarks, landmarks, width)
        share = max(_DEPENDENT, len(gram) * np.finfo(float).eps)
        factor, order, rank, _ = dpstrf(gram, lower=1, tol=share, overwrite_a=1)
        order -= 1
        self.own_coordinates = np.empty((len(gram), rank))
        self.own_coordinates[order] = np.tril(factor)[:, :rank]
        self._width = width
        self._landmarks = landmarks
        self._chosen = order[:rank]
        self._factor = np.tril(factor[:rank, :rank])

    def coordinates(self, X):
        """Return the coordinates of rows, of shape (n_rows, n_coordinates)."""
        values = gaussian(self._landmarks[self._chosen], X, self._width)
        return solve_triangular(self._factor, values, lower=True, overwrite_b=True).T

    def coefficients(self, theta):
        """Return the coefficients :math:`a` of the landmarks for functions with coefficients `theta`."""
        coefficients = np.zeros((len(self._landmarks), theta.shape[1]))
        coefficients[self._chosen] = solve_triangular(self._factor, theta, lower=True, trans="T")
        return coefficients


def gaussian(X, Y, width):
    r"""Values :math:`\exp(-|x - y|^2 / 2 \sigma^2)` of all pairs of rows, for the width :math:`\sigma`."""
    # Squares of rows far from it would cancel.
    center = Y.mean(axis=0)
    return rbf_kernel(X - center, Y - center, gamma=0.5 / width**2)


def sum_of_views(views, widths, landmarks, coefficients):
    """Sum over the views of the kernel functions at their landmarks, at each of the rows."""
    outputs = np.empty((len(views[0]), coefficients[0].shape[1]))
    for part in gen_batches(len(outputs), max(1, _VALUES // len(landmarks[0]))):
        total = 0.0
        for X, width, centers, of_view in zip(views, widths, landmarks, coefficients):
            total = total + gaussian(X[part], centers, width) @ of_view
        outputs[part] = total
    return outputs
