"""Moments of the classes, which are sufficient for least-squares AUC."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import issparse

SIGNS = (1, -1, 0)  # of the groups: positives, negatives, unlabeled rows
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
        between = (self.weight * share)[:, None] * shift
        scatter = self.scatter + other.scatter + between[:, :, None] * shift[:, None, :]
        return Moments(weight, self.squares + other.squares, mean, scatter)


def group_moments(F, signs, weight=None):
    """Moments of positives, negatives and unlabeled rows."""
    weight = np.ones(len(signs)) if weight is None else weight
    moments = group_means(F, signs, weight)
    scatter = np.zeros((len(SIGNS), F.shape[1], F.shape[1]))
    for group, sign in enumerate(SIGNS):
        rows = F[signs == sign]
        row_weight = weight[signs == sign]
        mean = moments.mean[group]
        if issparse(F):
            products = (rows.T @ rows.multiply(row_weight[:, None])).toarray()
            scatter[group] = products - moments.weight[group] * np.outer(mean, mean)
        else:
            # Before the squares, so that no digits cancel.
            centered = rows - mean
            scatter[group] = centered.T @ (row_weight[:, None] * centered)
    return moments._replace(scatter=scatter)


def group_means(F, signs, weight):
    """As `group_moments`, without the scatter, which is as large as the square of the columns."""
    row_weight = np.array([np.where(signs == sign, weight, 0.0) for sign in SIGNS])
    total = row_weight.sum(axis=1)
    mean = (F.T @ row_weight.T).T / np.maximum(total, _TINY)[:, None]
    return Moments(total, (row_weight**2).sum(axis=1), mean, np.empty(0))


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
    positive_mean, negative_mean, unlabeled_mean = moments.mean
    between = positive_mean - negative_mean
    if risk == "pn" or moments.weight[2] == 0:
        return np.array([1.0, 1.0, 0.0]), np.ones(1), between[None], between
    above = positive_mean - unlabeled_mean
    below = unlabeled_mean - negative_mean
    if risk == "samult":
        rest = 1 - gamma
        shares = np.array([1.0, 1.0, 2 * rest])
        return shares, np.array([gamma, rest, rest]), np.array([between, above, below]), between
    size = abs(gamma)
    # The group whose pairs with unlabeled rows are used, and the share of the other class among these rows.
    group = 0 if gamma >= 0 else 1
    other_share = 1 - prior if gamma >= 0 else prior
    toward = above if gamma >= 0 else below
    repeats = moments.squares[group] / moments.weight[group] ** 2
    # Leaves out the pairs of a row with itself.
    unbiased = 1 / (1 - repeats) if repeats < 1 else 1.0
    unlabeled_share = size / other_share
    shares = np.array([1 - size, 1 - size, unlabeled_share])
    shares[group] += unlabeled_share * (1 - 2 * (1 - other_share) * unbiased)
    scales = np.array([1 - size, unlabeled_share])
    directions = np.array([between, toward])
    return shares, scales, directions, scales @ directions


def quadratic(risk, moments, gamma, prior):
    """The risk as ``w.H.w - 2 h.w``, up to a constant."""
    shares, scales, directions, h = pair_terms(risk, moments, gamma, prior)
    H = np.tensordot(shares / np.maximum(moments.weight, _TINY), moments.scatter, axes=1)
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
