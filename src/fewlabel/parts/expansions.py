"""Formulas over stored rows and moments: kernels, pairs of classes, Gaussian naive Bayes."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from fewlabel.parts.part import Finite, Floats, Formula, Positive, Table


@dataclass(frozen=True, eq=False)
class _Kernel(Formula):
    """One output per stored row."""

    rows: Annotated[Table, "n_outputs n_inputs", Finite]


@dataclass(frozen=True, eq=False)
class GaussianKernel(_Kernel):
    r"""Gaussian functions around stored rows, :math:`e^{-\gamma |x - r|^2}`.

    Attributes
    ----------
    rows : ndarray of shape (n_outputs, n_inputs)
    gamma : float
    """

    kind: ClassVar[str] = "gaussian-kernel"
    gamma: float

    def check(self):
        self.require(self.gamma >= 0, "gamma is negative")

    def values_at(self, X):
        squares = -2.0 * (X @ self.rows.T)
        squares += _squared_norms(X)[:, None]
        squares += _squared_norms(self.rows)
        np.maximum(squares, 0.0, out=squares)
        squares *= -self.gamma
        return np.exp(squares, out=squares)


def _squared_norms(rows):
    return np.einsum("ij,ij->i", rows, rows)


@dataclass(frozen=True, eq=False)
class PolynomialKernel(_Kernel):
    r"""Powers of products with stored rows, :math:`(\gamma\, x^\top r + c)^d`.

    Attributes
    ----------
    rows : ndarray of shape (n_outputs, n_inputs)
    gamma, shift : float
    degree : int
    """

    kind: ClassVar[str] = "polynomial-kernel"
    gamma: float
    shift: float
    degree: int

    def check(self):
        self.require(0 <= self.degree <= 100, "the degree is not between 0 and 100")

    def values_at(self, X):
        return (self.gamma * (X @ self.rows.T) + self.shift) ** self.degree


@dataclass(frozen=True, eq=False)
class PairsOfClasses(Formula):
    """One score per class from one per pair of classes: the number of pairs it wins, then its margins.

    Attributes
    ----------
    n_outputs : int
        Number of classes. Input number k compares the k-th pair of (0, 1), (0, 2), ..., (1, 2), ...: a positive
        value means the first of the two.
    """

    kind: ClassVar[str] = "pairs-of-classes"
    n_outputs: int

    def check(self):
        self.require(2 < self.n_outputs <= 10_000, "it is for three classes or more")

    @property
    def n_inputs(self):
        return self.n_outputs * (self.n_outputs - 1) // 2

    def values_at(self, X):
        wins = np.zeros((len(X), self.n_outputs))
        margins = np.zeros((len(X), self.n_outputs))
        pairs = zip(*np.triu_indices(self.n_outputs, 1))
        for k, (first, second) in enumerate(pairs):
            margins[:, first] += X[:, k]
            margins[:, second] -= X[:, k]
            wins[:, first] += ~(X[:, k] < 0)
            wins[:, second] += X[:, k] < 0
        # Margins only decide between classes with as many wins: they are squeezed into (-1/3, 1/3).
        return wins + margins / (3 * (np.abs(margins) + 1))


@dataclass(frozen=True, eq=False)
class GaussianBayes(Formula):
    """Probability of each class, with columns that are independent and Gaussian within a class.

    Attributes
    ----------
    means, variances : ndarray of shape (n_classes, n_inputs)
    log_priors : ndarray of shape (n_classes,)
    """

    kind: ClassVar[str] = "gaussian-bayes"
    means: Annotated[Table, "n_outputs n_inputs"]
    variances: Annotated[Table, "n_outputs n_inputs", Positive]
    log_priors: Annotated[Floats, "n_outputs"]

    def values_at(self, X):
        logs = np.empty((len(X), self.n_outputs))
        for k, (mean, variance) in enumerate(zip(self.means, self.variances)):
            constant = self.log_priors[k] - 0.5 * np.sum(np.log(2.0 * np.pi * variance))
            logs[:, k] = constant - 0.5 * np.sum((X - mean) ** 2 / variance, axis=1)
        highest = logs.max(axis=1, keepdims=True)
        total = highest + np.log(np.exp(logs - highest).sum(axis=1, keepdims=True))
        return np.exp(logs - total)
