r"""Losses on the labeled rows, in coordinates where the rest of the objective is a norm.

With the penalty :math:`\theta^\top H \theta` and :math:`H = L L^\top`, the labeled rows in the coordinates
:math:`Z = \Psi L^{-\top}` give the linear problem :math:`\min_W \sum_i w_i V(y_i, W z_i) + |W|^2`. Its solution is
:math:`W = Z^\top \beta`, and `solve` returns :math:`\beta`.
"""

import warnings

import numpy as np
from scipy.linalg import cho_factor, cho_solve, helmert
from sklearn.exceptions import ConvergenceWarning

from fewlabel.kernels.simplex import pass_over

_N_FOLDS = 5  # for the held-out outputs
# Passes of the hinge loss between two checks: the duality gap costs as much as a pass.
_PASSES_PER_CHECK = 10


class SquaredLoss:
    """Squared loss |r_y - h|^2, with r_y of +1 for the class and -1 for the others; one column for two classes.

    Attributes
    ----------
    codes : ndarray of shape (n_classes, n_outputs)
        What the outputs of each class should be.
    readout : ndarray of shape (n_outputs, n_classes)
        From the outputs to a score per class.
    """

    def __init__(self, n_classes):
        self.n_iter = 1
        self.codes = 2.0 * np.eye(n_classes) - 1.0
        self.readout = np.eye(n_classes)
        if n_classes == 2:
            self.codes = self.codes[:, 1:]
            self.readout = np.array([[-0.5, 0.5]])

    def solve(self, Z, codes, weight):
        """Return the dual coefficients, of shape (n_rows, n_outputs)."""
        Y = self.codes[codes]
        weighted = weight[:, None] * Z
        normal = cho_factor(Z.T @ weighted + np.eye(Z.shape[1]), lower=True)
        return weight[:, None] * (Y - Z @ cho_solve(normal, weighted.T @ Y))


class HingeLoss:
    r"""The simplex-cone hinge :math:`\sum_{k \ne y} \max(0, 1 / (P - 1) + \langle s_k, h \rangle)`, in the dual.

    Attributes
    ----------
    codes, readout
        As in `SquaredLoss`.
    n_iter : int
        Largest number of passes so far.
    """

    def __init__(self, n_classes, tol=1e-6, max_iter=2000):
        self.simplex = simplex(n_classes)
        self.codes = np.ascontiguousarray(self.simplex.T)
        # <s_k, h> of all classes; for two classes s is (-1, 1), and half the difference is h itself.
        self.readout = 0.5 * self.simplex if n_classes == 2 else self.simplex
        self.tol = tol
        self.max_iter = max_iter
        self.n_iter = 0

    def solve(self, Z, codes, weight):
        """Return the dual coefficients, of shape (n_rows, n_outputs)."""
        alpha, _ = self.dual(Z, codes, weight)
        return -0.5 * alpha @ self.codes

    def dual(self, Z, codes, weight):
        """Return the dual variables, of shape (n_rows, n_classes), and the duality gap."""
        Z = np.ascontiguousarray(Z)
        codes = np.ascontiguousarray(codes, dtype=np.int64)
        squares = np.einsum("ij,ij->i", Z, Z)
        n_outputs, n_classes = self.simplex.shape
        alpha = np.zeros((len(Z), n_classes))
        W = np.zeros((n_outputs, Z.shape[1]))
        # The order of the steps only affects the running time.
        rng = np.random.RandomState(0)
        gap = np.inf
        for iteration in range(1, self.max_iter + 1):
            pass_over(Z, squares, codes, self.simplex, weight, rng.permutation(len(Z)), alpha, W)
            if iteration % _PASSES_PER_CHECK == 0 or iteration == self.max_iter:
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
        primal = weight @ losses.sum(axis=1) + (W**2).sum()
        dual = margin * alpha.sum() - (W**2).sum()
        return float(primal - dual)


def simplex(n_classes):
    """Return unit vectors, one per class, that sum to zero and have equal angles: shape (n_classes - 1, n_classes)."""
    return -np.sqrt(n_classes / (n_classes - 1)) * helmert(n_classes)


def held_out_outputs(loss, Z, codes, weight):
    """Return the outputs for each row of a model fitted to the other folds.

    The classes keep their total weights. Otherwise a class would have less weight in the models that score its own
    rows, which would then be ranked too low: with ten rows of a class the AUC of noise would be far below 1/2.
    """
    fold = np.empty(len(codes), dtype=np.int64)
    fold[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % _N_FOLDS  # stratified by class
    outputs = np.empty((len(codes), loss.codes.shape[1]))
    total = np.bincount(codes, weights=weight)
    for k in range(min(_N_FOLDS, len(codes))):
        train = fold != k
        train_Z = Z[train]
        train_codes = codes[train]
        train_weight = weight[train]
        left = np.bincount(train_codes, weights=train_weight, minlength=len(total))
        rescale = total / np.where(left > 0, left, 1.0)
        beta = loss.solve(train_Z, train_codes, train_weight * rescale[train_codes])
        outputs[~train] = Z[~train] @ (train_Z.T @ beta)
    return outputs
