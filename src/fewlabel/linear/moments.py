"""Moments of the classes, which are sufficient for least-squares AUC."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import issparse

SIGNS = (1, -1, 0)  # of the groups: positives, negatives, unlabeled rows
# Positions of the groups.
_P = 0
_N = 1
_U = 2
# Instead of the weight of an empty group, whose moments are 0.
_TINY = 1e-300


class Moments(NamedTuple):
    """Moments of the rows of each group of `SIGNS`.

    Attributes
    ----------
    weight, squares : ndarray of shape (3,)
        Sum of weights, and of squared weights.
    mean : ndarray of shape (3, n_features)
    scatter : ndarray of shape (3, n_features, n_features)
        Sum of squares and products about the mean.
    """

    weight: np.ndarray
    squares: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    def merge(self, other):
        """Return the moments of the rows of both, exactly."""
        weight = self.weight + other.weight
        share = other.weight / np.maximum(weight, _TINY)
        shift = other.mean - self.mean
        mean = self.mean + share[:, None] * shift
        weighted_shift = (self.weight * share)[:, None] * shift
        between = weighted_shift[:, :, None] * shift[:, None, :]
        scatter = self.scatter + other.scatter + between
        return Moments(weight, self.squares + other.squares, mean, scatter)


def group_moments(F, signs, weight=None):
    """Moments of positives, negatives and unlabeled rows."""
    weight = np.ones(len(signs)) if weight is None else weight
    moments = group_means(F, signs, weight)
    scatter = np.zeros((len(SIGNS), F.shape[1], F.shape[1]))
    for group, sign in enumerate(SIGNS):
        is_member = signs == sign
        rows = F[is_member]
        row_weight = weight[is_member][:, None]
        mean = moments.mean[group]
        if issparse(F):
            products = rows.T @ rows.multiply(row_weight)
            scatter[group] = products.toarray() - moments.weight[group] * np.outer(mean, mean)
        else:
            # Before the squares, so that no digits cancel.
            centered = rows - mean
            scatter[group] = centered.T @ (row_weight * centered)
    return moments._replace(scatter=scatter)


def group_means(F, signs, weight):
    """As `group_moments`, without the scatter, which is as large as the square of the columns."""
    row_weight = np.array([np.where(signs == sign, weight, 0.0) for sign in SIGNS])
    total = row_weight.sum(axis=1)
    sums = (F.T @ row_weight.T).T
    mean = sums / np.maximum(total, _TINY)[:, None]
    squares = (row_weight**2).sum(axis=1)
    return Moments(total, squares, mean, np.empty(0))


def pair_terms(risk, moments, gamma, prior):
    r"""Compute the terms of :math:`H = \sum_g c_g C_g + \sum_k b_k\, d_k d_k^\top` and :math:`h`.

    Parameters
    ----------
    risk : {"pn", "samult", "pnu"}
        The risk of `LeastSquaresAUCClassifier`.
    moments : Moments
        Their scatter is not used.
    gamma, prior : float
        Weight of the unlabeled rows, and share of positives among them.

    Returns
    -------
    shares : ndarray of shape (3,)
        Weights :math:`c` of the covariances of positives, negatives and unlabeled rows.
    scales, directions : ndarray of shape (n_terms,) and (n_terms, n_features)
        Weights :math:`b` and vectors :math:`d` of the rank-one terms.
    h : ndarray
        The linear term.
    """
    has_unlabeled = moments.weight[_U] > 0
    shares = np.zeros(len(SIGNS))
    scales = []
    directions = []
    for (higher, lower), weight in pair_weights(risk if has_unlabeled else "pn", gamma, prior).items():
        if higher == lower:
            # Without the pairs of a row with itself, whose differences are 0, the others count for more.
            repeats = moments.squares[higher] / moments.weight[higher] ** 2
            shares[higher] += 2 * weight / (1 - repeats if repeats < 1 else 1.0)
        else:
            shares[[higher, lower]] += weight
            scales.append(weight)
            directions.append(moments.mean[higher] - moments.mean[lower])
    scales = np.array(scales)
    directions = np.array(directions)
    return shares, scales, directions, scales @ directions


def pair_weights(risk, gamma, prior):
    r"""Weights of the pair risks :math:`R_{AB}` in a risk of `LeastSquaresAUCClassifier`, by the groups A and B."""
    if risk == "pn":
        return {(_P, _N): 1.0}
    if risk == "samult":
        return {(_P, _N): gamma, (_P, _U): 1 - gamma, (_U, _N): 1 - gamma}
    size = abs(gamma)
    if gamma >= 0:
        return {(_P, _N): 1 - size, (_P, _U): size / (1 - prior), (_P, _P): -size * prior / (1 - prior)}
    return {(_P, _N): 1 - size, (_U, _N): size / prior, (_N, _N): -size * (1 - prior) / prior}


def quadratic(risk, moments, gamma, prior):
    """The risk as ``w.H.w - 2 h.w``, up to a constant."""
    shares, scales, directions, h = pair_terms(risk, moments, gamma, prior)
    scatter_shares = shares / np.maximum(moments.weight, _TINY)
    H = np.tensordot(scatter_shares, moments.scatter, axes=1)
    H += directions.T @ (scales[:, None] * directions)
    return H, h


def solve(risk, moments, gamma, prior, alphas):
    """Coefficients for each penalty, and whether negative eigenvalues of the risk had to be removed."""
    H, h = quadratic(risk, moments, gamma, prior)
    if len(alphas) == 1:
        try:
            factor = cho_factor(H + alphas[0] * np.eye(len(h)))
            return cho_solve(factor, h)[None], False
        except np.linalg.LinAlgError:
            # An indefinite risk: its eigenvalues say by how much.
            pass
    values, vectors = eigh(H)
    projected = vectors.T @ h
    non_negative = np.maximum(values, 0.0)
    coefs = []
    for alpha in alphas:
        definite = values if values[0] + alpha > 0 else non_negative
        coefs.append(vectors @ (projected / (definite + alpha)))
    return np.array(coefs), bool(values[0] + min(alphas) <= 0)
