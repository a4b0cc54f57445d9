"""Formulas over stored rows and moments: kernels, pairs of classes, Gaussian naive Bayes."""

from typing import Annotated

import numpy as np

from fewlabel.parts.part import Finite, Floats, Formula, Positive, Table


class _Kernel(Formula):
    """One output per stored row."""

    rows: Annotated[Table, "n_outputs n_inputs", Finite]


class GaussianKernel(_Kernel):
    r"""Gaussian functions around stored rows, :math:`e^{-\gamma |x - r|^2}`.

    Attributes
    ----------
    rows : ndarray of shape (n_outputs, n_inputs)
    gamma : float
    """

    kind = "gaussian-kernel"
    gamma: float

    def check(self):
        self.require(self.gamma >= 0, "gamma is negative")

    def values_at(self, X):
        squares = -2.0 * (X @ self.rows.T)
        squares += np.expand_dims(_squared_norms(X), 1)
        squares += _squared_norms(self.rows)
        squares = np.maximum(squares, 0.0, out=squares)
        squares *= -self.gamma
        return np.exp(squares, out=squares)


def _squared_norms(rows):
    return np.einsum("ij,ij->i", rows, rows)


class PolynomialKernel(_Kernel):
    r"""Powers of products with stored rows, :math:`(\gamma\, x^\top r + c)^d`.

    Attributes
    ----------
    rows : ndarray of shape (n_outputs, n_inputs)
    gamma, shift : float
    degree : int
    """

    kind = "polynomial-kernel"
    gamma: float
    shift: float
    degree: int

    def check(self):
        self.require(0 <= self.degree <= 100, "the degree is not between 0 and 100")

    def values_at(self, X):
        return (self.gamma * (X @ self.rows.T) + self.shift) ** self.degree


class PairsOfClasses(Formula):
    """One score per class from one per pair of classes: the number of pairs it wins, then its margins.

    Attributes
    ----------
    n_outputs : int
        Number of classes. Input number k compares the k-th pair of (0, 1), (0, 2), ..., (1, 2), ...: a positive
        value means the first of the two.
    """

    kind = "pairs-of-classes"
    n_outputs: int

    def check(self):
        self.require(2 < self.n_outputs <= 10_000, "it is for three classes or more")

    @property
    def n_inputs(self):
        return self.n_outputs * (self.n_outputs - 1) // 2

    def values_at(self, X):
        order = np.arange(self.n_outputs)
        # Of each class against each other one: the input that compares them, and whether it is for the first class.
        sign = np.sign(order - order[:, None])
        pairs = np.zeros(sign.shape, dtype=np.int64)
        pairs[sign > 0] = np.arange(self.n_inputs)
        pairs += pairs.T
        loses = (X < 0).astype(np.float64)
        wins = order[::-1] - np.sum(loses[:, pairs] * sign, axis=2)
        margins = np.sum(X[:, pairs] * sign, axis=2)
        # Margins only decide between classes with as many wins: they are squeezed into (-1/3, 1/3).
        return wins + margins / (3 * (np.abs(margins) + 1))


class GaussianBayes(Formula):
    """Probability of each class, with columns that are independent and Gaussian within a class.

    Attributes
    ----------
    means, variances : ndarray of shape (n_classes, n_inputs)
    log_priors : ndarray of shape (n_classes,)
    """

    kind = "gaussian-bayes"
    means: Annotated[Table, "n_outputs n_inputs"]
    variances: Annotated[Table, "n_outputs n_inputs", Positive]
    log_priors: Annotated[Floats, "n_outputs"]

    def values_at(self, X):
        constants = self.log_priors - 0.5 * np.sum(np.log(2.0 * np.pi * self.variances), axis=1)
        squares = (np.expand_dims(X, 1) - self.means) ** 2 / self.variances
        logs = constants - 0.5 * np.sum(squares, axis=2)
        highest = np.max(logs, axis=1, keepdims=True)
        total = highest + np.log(np.sum(np.exp(logs - highest), axis=1, keepdims=True))
        return np.exp(logs - total)
