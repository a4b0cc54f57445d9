r"""Losses on the labeled rows, in coordinates where the rest of the objective is a norm.

With the penalty :math:`\theta^\top H \theta` and :math:`H = L L^\top`, the labeled rows in the coordinates
:math:`Z = \Psi L^{-\top}` give the linear problem :math:`\min_W \sum_i w_i V(y_i, W z_i) + |W|^2`. Its solution is
:math:`W = Z^\top \beta`, and `solve` returns :math:`\beta`.
"""

import warnings

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, helmert
from sklearn.exceptions import ConvergenceWarning

from fewlabel.kernels.simplex import pass_over

_N_FOLDS = 5  # for the held-out outputs


class SquaredLoss:
    """Squared loss |r_y - h|^2, with r_y of +1 for the class and -1 for the others; one column for two classes."""

    def __init__(self, n_classes, codes=None):
        self.codes = np.array([[-1.0], [1.0]]) if n_classes == 2 else 2.0 * np.eye(n_classes) - 1.0
        self.codes = self.codes if codes is None else codes
        self.readout = np.array([[-0.5, 0.5]]) if n_classes == 2 else np.eye(n_classes)
        self.n_iter = 1

    def solve(self, Z, codes, weight):
        """Return the dual coefficients, of shape (n_rows, n_outputs)."""
        Y = self.codes[codes]
        normal = cho_factor(Z.T @ (weight[:, None] * Z) + np.eye(Z.shape[1]), lower=True)
        return weight[:, None] * (Y - Z @ cho_solve(normal, Z.T @ (weight[:, None] * Y)))


class HingeLoss:
    r"""The simplex-cone hinge :math:`\sum_{k \ne y} \max(0, 1 / (P - 1) + \langle s_k, h \rangle)`, in the dual."""

    def __init__(self, n_classes, tol=1e-6, max_iter=2000):
        self.simplex = simplex(n_classes)
        self.codes = np.ascontiguousarray(self.simplex.T)
        # <s_k, h> of all classes; for two classes s is (-1, 1), and half the difference is h itself.
        self.readout = 0.5 * self.simplex if n_classes == 2 else self.simplex
        self.tol, self.max_iter = tol, max_iter
        self.n_iter = 0

    def solve(self, Z, codes, weight):
        """Return the dual coefficients, of shape (n_rows, n_outputs)."""
        return -0.5 * self.dual(Z, codes, weight)[0] @ self.codes

    def dual(self, Z, codes, weight):
        """Return the dual variables, of shape (n_rows, n_classes), and the duality gap."""
        Z, codes = np.ascontiguousarray(Z), np.ascontiguousarray(codes, dtype=np.int64)
        squares = np.einsum("ij,ij->i", Z, Z)
        alpha, W = np.zeros((len(Z), self.simplex.shape[1])), np.zeros((len(self.simplex), Z.shape[1]))
        rng, gap = np.random.RandomState(0), np.inf  # the order of the steps only affects the running time
        for iteration in range(1, self.max_iter + 1):
            pass_over(Z, squares, codes, self.simplex, weight, rng.permutation(len(Z)), alpha, W)
            if iteration % 10 == 0 or iteration == self.max_iter:
                gap = self.gap(Z, codes, weight, alpha)
                if gap <= self.tol:
                    break
        else:
            warnings.warn(
                f"the hinge loss did not converge in {self.max_iter} passes, its duality gap is {gap:.1e}: raise "
                "gamma_A or max_iter",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.n_iter = max(self.n_iter, iteration)
        return alpha, gap

    def gap(self, Z, codes, weight, alpha):
        """Return primal minus dual objective, with the weights recomputed from `alpha`."""
        W = -0.5 * Z.T @ (alpha @ self.codes)
        margin = 1.0 / (self.simplex.shape[1] - 1)
        losses = np.maximum(margin + Z @ W @ self.simplex, 0.0)
        losses[np.arange(len(codes)), codes] = 0.0
        return float(weight @ losses.sum(axis=1) + 2.0 * (W**2).sum() - margin * alpha.sum())


class OutputMatrix:
    r"""The kernel :math:`G(x, z) R` of all outputs together, for a positive semi-definite matrix R (squared loss).

    In the coordinates of an eigenvector of R the outputs are separate problems, in which :math:`\gamma_A` is divided by
    the eigenvalue; a direction whose eigenvalue is 0 has the output 0.
    """

    def __init__(self, R, n_classes, loss):
        R = np.asarray(R, dtype=np.float64)
        if loss != "squared":
            raise ValueError(f"output_matrix is for loss='squared', but loss={loss!r}: set output_matrix=None")
        if R.shape != (n_classes, n_classes) or not np.isfinite(R).all() or np.abs(R - R.T).max() > 1e-8:
            raise ValueError(
                f"output_matrix has shape {R.shape} and should be a symmetric matrix with a row per class: pass "
                f"{n_classes} x {n_classes} numbers"
            )
        values, vectors = eigh(R)
        if values[-1] <= 0 or values[0] < -1e-8 * values[-1]:
            raise ValueError(
                f"output_matrix has the eigenvalues {values.round(6).tolist()}, but none may be negative and not all "
                "0: pass a covariance of the classes, for instance"
            )
        self._codes = 2.0 * np.eye(n_classes) - 1.0
        self._parts = [
            (value, vectors[:, values == value]) for value in np.unique(values) if value > 1e-10 * values[-1]
        ]
        # For two classes half the difference of the outputs, as without a matrix.
        self.readout = np.eye(2) / 2 - 0.25 if n_classes == 2 else np.eye(n_classes)

    def learn(self, system_of, gamma_A, labels, view_weights):
        """Return coefficients of the views and held-out outputs; `system_of` makes the system of a penalty."""
        n_classes = len(self._codes)
        found, held_out = [0.0] * len(view_weights), np.zeros((len(labels[1]), n_classes))
        for value, vectors in self._parts:
            loss = SquaredLoss(n_classes, self._codes @ vectors)
            part, rest = system_of(gamma_A / value).learn(*labels, loss, view_weights, held_out=True)
            found = [total + of_view @ vectors.T for total, of_view in zip(found, part)]
            held_out += rest @ vectors.T
        return found, held_out


def simplex(n_classes):
    """Return unit vectors, one per class, that sum to zero and have equal angles: shape (n_classes - 1, n_classes)."""
    return -np.sqrt(n_classes / (n_classes - 1)) * helmert(n_classes)


def make_loss(name, n_classes, **parameters):
    return SquaredLoss(n_classes) if name == "squared" else HingeLoss(n_classes, **parameters)


def held_out(loss, Z, codes, weight):
    """Return the outputs for each row of a model fitted to the other folds.

    The classes keep their total weights. Otherwise a class would have less weight in the models that score its own
    rows, which would then be ranked too low: with ten rows of a class the AUC of noise would be far below 1/2.
    """
    fold = np.empty(len(codes), dtype=np.int64)
    fold[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % _N_FOLDS  # stratified by class
    outputs = np.empty((len(codes), loss.codes.shape[1]))
    total = np.bincount(codes, weights=weight)
    for k in range(min(_N_FOLDS, len(codes))):
        rest = fold != k
        left = np.bincount(codes[rest], weights=weight[rest], minlength=len(total))
        rescaled = weight[rest] * (total / np.where(left > 0, left, 1.0))[codes[rest]]
        outputs[~rest] = Z[~rest] @ (Z[rest].T @ loss.solve(Z[rest], codes[rest], rescaled))
    return outputs
