"""Kernel functions of one view, in coordinates where their norm equals that of the coefficients."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import linear_kernel
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from fewlabel.kernels.exponentials import exp_in_place

# Kernel values at a time, which stay in the cache between their steps.
_VALUES = 2**19
# A landmark that the others span up to this share of the largest k(x, x) is redundant.
_DEPENDENT = 1e-12
_MOST_COMPARED = 1000  # rows between which the median distance is computed


class ViewBasis:
    r"""Functions :math:`\sum_s a_s k(\cdot, x_s)` of a view, for landmarks :math:`x_s`.

    With the Cholesky factor :math:`k(x_s, x_t) = (L L^\top)_{st}`, the coordinates of a row are
    :math:`L^{-1} k(x_s, x)`, and a function with coefficients :math:`\theta` in them has the norm :math:`|\theta|` in
    the kernel space. If all rows are landmarks this is exact, otherwise it is the Nystroem approximation. The factor is
    pivoted: landmarks that depend linearly on the others, such as equal rows, are omitted.
    """

    def __init__(self, landmarks, kernel):
        gram = kernel(landmarks, landmarks)
        share = max(_DEPENDENT, len(gram) * np.finfo(float).eps)
        tol = share * max(gram.diagonal().max(), 1e-300)
        factor, order, rank, _ = dpstrf(gram, lower=1, tol=tol, overwrite_a=1)
        rank = max(int(rank), 1)
        self.kernel = kernel
        self.landmarks = landmarks[order[:rank] - 1]
        self.factor = np.tril(factor[:rank, :rank])
        # A kernel that is zero everywhere, such as the linear one of a zero row.
        if self.factor[0, 0] == 0.0:
            self.factor[0, 0] = 1.0

    def coordinates(self, X):
        """Return the coordinates of rows, of shape (n_rows, n_landmarks)."""
        values = self.kernel(self.landmarks, X)
        return solve_triangular(self.factor, values, lower=True, overwrite_b=True).T

    def coefficients(self, theta):
        """Return the coefficients :math:`a` of the landmarks for functions with coefficients `theta`."""
        return solve_triangular(self.factor, theta, lower=True, trans="T")


class ViewKernel(NamedTuple):
    """A kernel with its parameters."""

    name: str
    length_scale: float

    def __call__(self, X, Y):
        """Kernel values of all pairs of rows."""
        if self.name == "rbf":
            return _gaussian(X, Y, 0.5 / self.length_scale**2)
        return linear_kernel(X, Y)


def _gaussian(X, Y, gamma):
    r""":math:`\exp(-\gamma |x - y|^2)` of all rows, in less than half of the time of scikit-learn's kernel."""
    # Squares far from it would cancel.
    center = Y.mean(axis=0)
    X = X - center
    Y = Y - center
    # One product of matrices gives -gamma (|x|^2 - 2 x'y + |y|^2).
    x_squares = gamma * row_norms(X, squared=True)
    y_squares = gamma * row_norms(Y, squared=True)
    left = np.column_stack([2 * gamma * X, -x_squares, np.full(len(X), -1.0)])
    right = np.column_stack([Y, np.ones(len(Y)), y_squares]).T
    values = np.empty((len(X), len(Y)))
    for part in gen_batches(len(X), max(1, _VALUES // len(Y))):
        np.matmul(left[part], right, out=values[part])
        exp_in_place(values[part].ravel())
    return values


def median_distance(X, rng):
    """Return the median distance between rows, or between a sample of them; 1 if all are equal."""
    few = X if len(X) <= _MOST_COMPARED else X[rng.choice(len(X), _MOST_COMPARED, replace=False)]
    distances = pdist(few)
    if len(distances) == 0:
        return 1.0
    median = float(np.median(distances))
    # More than half of the rows are equal.
    if median == 0.0:
        median = float(distances.mean())
    return median if median > 0 else 1.0
