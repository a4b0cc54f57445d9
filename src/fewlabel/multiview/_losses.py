r"""The loss on the labeled rows, once the rest of the objective has become a norm.

With the penalty :math:`\theta^\top H \theta` and :math:`H = L L^\top`, the labeled rows in the coordinates
:math:`Z = \Psi L^{-\top}` leave a linear problem, :math:`\min_W \sum_i w_i V(y_i, W z_i) + |W|^2`. Its solution is
:math:`W = Z^\top \beta`, and :math:`\beta` is all that the rest of the library needs.
"""

import warnings

import numpy as np
from scipy.linalg import cho_factor, cho_solve, helmert
from sklearn.exceptions import ConvergenceWarning

from fewlabel.kernels.simplex import pass_over

_N_FOLDS = 5  # of the held-out outputs


class SquaredLoss:
    """|r_y - h|^2, with codes r_y of +1 for the class and -1 for the others; two classes share one column."""

    def __init__(self, n_classes):
        self.codes = np.array([[-1.0], [1.0]]) if n_classes == 2 else 2.0 * np.eye(n_classes) - 1.0
        self.readout = np.array([[-0.5, 0.5]]) if n_classes == 2 else np.eye(n_classes)
        self.n_iter = 1

    def solve(self, Z, codes, weight):
        """The dual coefficients, of shape (n_rows, n_outputs)."""
        Y = self.codes[codes]
        normal = cho_factor(Z.T @ (weight[:, None] * Z) + np.eye(Z.shape[1]), lower=True)
        return weight[:, None] * (Y - Z @ cho_solve(normal, Z.T @ (weight[:, None] * Y)))


class HingeLoss:
    r"""The simplex-cone hinge :math:`\sum_{k \ne y} \max(0, 1 / (P - 1) + \langle s_k, h \rangle)`, by its dual."""

    def __init__(self, n_classes, tol=1e-6, max_iter=2000):
        self.simplex = simplex(n_classes)
        self.codes = np.ascontiguousarray(self.simplex.T)
        # <s_k, h> of all classes; of two classes s is (-1, 1) and half the difference is h itself.
        self.readout = 0.5 * self.simplex if n_classes == 2 else self.simplex
        self.tol, self.max_iter = tol, max_iter
        self.n_iter = 0

    def solve(self, Z, codes, weight):
        """The dual coefficients, of shape (n_rows, n_outputs)."""
        return -0.5 * self.dual(Z, codes, weight)[0] @ self.codes

    def dual(self, Z, codes, weight):
        """The dual variables, of shape (n_rows, n_classes), and the duality gap that they leave."""
        Z, codes = np.ascontiguousarray(Z), np.ascontiguousarray(codes, dtype=np.int64)
        squares = np.einsum("ij,ij->i", Z, Z)
        alpha, W = np.zeros((len(Z), self.simplex.shape[1])), np.zeros((len(self.simplex), Z.shape[1]))
        rng, gap = np.random.RandomState(0), np.inf  # the order of the steps changes nothing but the time they take
        for iteration in range(1, self.max_iter + 1):
            pass_over(Z, squares, codes, self.simplex, weight, rng.permutation(len(Z)), alpha, W)
            if iteration % 10 == 0 or iteration == self.max_iter:
                gap = self.gap(Z, codes, weight, alpha)
                if gap <= self.tol:
                    break
        else:
            warnings.warn(
                f"the hinge loss stopped after {self.max_iter} passes with a duality gap of {gap:.1e}: raise gamma_A, "
                "or the limit (max_iter)",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.n_iter = max(self.n_iter, iteration)
        return alpha, gap

    def gap(self, Z, codes, weight, alpha):
        """Primal less dual objective, with the weights computed again from `alpha`."""
        W = -0.5 * Z.T @ (alpha @ self.codes)
        margin = 1.0 / (self.simplex.shape[1] - 1)
        losses = np.maximum(margin + Z @ W @ self.simplex, 0.0)
        losses[np.arange(len(codes)), codes] = 0.0
        return float(weight @ losses.sum(axis=1) + 2.0 * (W**2).sum() - margin * alpha.sum())


def simplex(n_classes):
    """Unit vectors, one a class, that sum to zero and have equal angles: shape (n_classes - 1, n_classes)."""
    return -np.sqrt(n_classes / (n_classes - 1)) * helmert(n_classes)


def make_loss(name, n_classes, **parameters):
    return SquaredLoss(n_classes) if name == "squared" else HingeLoss(n_classes, **parameters)


def held_out(loss, Z, codes, weight):
    """Outputs for each row of a model that learned from the rows of other folds.

    The classes keep their total weights. Else a class would weigh less in models of other rows of it, and its rows
    would be ranked too low: with ten rows of it the AUC of noise would be far below 1/2.
    """
    fold = np.empty(len(codes), dtype=np.int64)
    fold[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % _N_FOLDS  # class by class
    outputs = np.empty((len(codes), loss.codes.shape[1]))
    total = np.bincount(codes, weights=weight)
    for k in range(min(_N_FOLDS, len(codes))):
        rest = fold != k
        left = np.bincount(codes[rest], weights=weight[rest], minlength=len(total))
        rescaled = weight[rest] * (total / np.where(left > 0, left, 1.0))[codes[rest]]
        outputs[~rest] = Z[~rest] @ (Z[rest].T @ loss.solve(Z[rest], codes[rest], rescaled))
    return outputs
