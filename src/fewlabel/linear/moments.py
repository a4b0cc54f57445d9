"""Moments of the classes, which are sufficient for least-squares AUC."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import issparse

SIGNS = (1, -1, 0)  # of the groups: positives, negatives, unlabeled rows


class Moments(NamedTuple):
    """Moments of a group of rows: sum of weights and of squared weights, mean, and scatter (squares about the mean)."""

    weight: float
    squares: float
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, F, weight=None):
        """Compute the moments of rows; dense rows are centered before they are squared, so that no digits cancel."""
        weight = np.ones(F.shape[0]) if weight is None else weight
        total = weight.sum()
        if total == 0:
            return cls.none(F.shape[1])
        mean = F.T @ weight / total
        if issparse(F):
            scatter = (F.T @ F.multiply(weight[:, None])).toarray() - total * np.outer(mean, mean)
            return cls(total, weight @ weight, mean, scatter)
        centered = F - mean
        return cls(total, weight @ weight, mean, centered.T @ (weight[:, None] * centered))

    @classmethod
    def none(cls, n_features):
        """Return the moments of an empty group."""
        return cls(0.0, 0.0, np.zeros(n_features), np.zeros((n_features, n_features)))

    def merge(self, other):
        """Return the moments of the union of both groups, exactly."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        shift = other.mean - self.mean
        scatter = self.scatter + other.scatter + self.weight * other.weight / weight * np.outer(shift, shift)
        return Moments(weight, self.squares + other.squares, self.mean + other.weight / weight * shift, scatter)

    @property
    def covariance(self):
        """Biased covariance."""
        return self.scatter / max(self.weight, 1e-300)


def group_moments(F, signs, weight=None):
    """Moments of positives, negatives and unlabeled rows."""
    rows = [signs == sign for sign in SIGNS]
    return [Moments.of(F[r], None if weight is None else weight[r]) for r in rows]


def pair_terms(risk, gamma, prior, p, n, u):
    r"""Compute the weights of the terms of :math:`H = \sum_g c_g C_g + \sum_k b_k\, d_k d_k^\top` and :math:`h`.

    Parameters
    ----------
    risk : {"pn", "samult", "pnu"}
        The risk of `LeastSquaresAUCClassifier`.
    gamma, prior : float
        Weight of the unlabeled rows, and share of positives among them.
    p, n, u : Moments
        Positives, negatives, unlabeled rows.

    Returns
    -------
    shares : list of float
        Weights of the covariances of positives, negatives and unlabeled rows.
    outer : list of (float, ndarray)
        Weights and vectors of the rank-one terms.
    h : ndarray
        The linear term.
    """
    between = p.mean - n.mean
    if risk == "pn" or u.weight == 0:
        return [1.0, 1.0, 0.0], [(1.0, between)], between
    above, below = p.mean - u.mean, u.mean - n.mean
    if risk == "samult":
        outer = [(gamma, between), (1 - gamma, above), (1 - gamma, below)]
        return [1.0, 1.0, 2 * (1 - gamma)], outer, between
    size, use_p = abs(gamma), gamma >= 0
    side, other, toward = (p, 1 - prior, above) if use_p else (n, prior, below)
    repeats = side.squares / side.weight**2
    unbiased = 1 / (1 - repeats) if repeats < 1 else 1.0  # leaves out the pairs of a row with itself
    within = (1 - size) + size * (1 - 2 * (1 - other) * unbiased) / other
    shares = (within, 1 - size) if use_p else (1 - size, within)
    outer = [(1 - size, between), (size / other, toward)]
    return [*shares, size / other], outer, (1 - size) * between + size / other * toward


def quadratic(risk, moments, gamma, prior):
    """The risk as ``w.H.w - 2 h.w``, up to a constant."""
    shares, outer, h = pair_terms(risk, gamma, prior, *moments)
    H = sum(share * group.covariance for share, group in zip(shares, moments))
    D = np.array([d for _, d in outer])
    return H + D.T @ (np.array([c for c, _ in outer])[:, None] * D), h


def solve(risk, moments, gamma, prior, alphas):
    """Coefficients for each penalty, and whether negative eigenvalues of the risk had to be removed."""
    H, h = quadratic(risk, moments, gamma, prior)
    if len(alphas) == 1:
        try:
            return cho_solve(cho_factor(H + alphas[0] * np.eye(len(h))), h)[None], False
        except np.linalg.LinAlgError:
            pass
    values, vectors = eigh(H)
    projected = vectors.T @ h
    coefs, fixed = [], False
    for alpha in alphas:
        negative = values[0] + alpha <= 0
        fixed |= bool(negative)
        coefs.append(vectors @ (projected / ((np.maximum(values, 0) if negative else values) + alpha)))
    return np.array(coefs), fixed
