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
_MOST_COLUMNS = 10_000  # their covariances take 2.4 GB


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
    n_columns = F.shape[1]
    if n_columns > _MOST_COLUMNS:
        raise ValueError(
            f"the covariances of {n_columns:,} columns take {24e-9 * n_columns**2:.0f} GB: reduce them, for instance "
            "with TruncatedSVD, or use LinearAUCClassifier"
        )
    weight = np.ones(len(signs)) if weight is None else weight
    row_weight = np.array([np.where(signs == sign, weight, 0.0) for sign in SIGNS])
    total = row_weight.sum(axis=1)
    means = (F.T @ row_weight.T).T / np.maximum(total, _TINY)[:, None]
    scatter = np.zeros((len(SIGNS), n_columns, n_columns))
    for group, sign in enumerate(SIGNS):
        is_member = signs == sign
        rows = F[is_member]
        member_weight = weight[is_member][:, None]
        if issparse(F):
            products = rows.T @ rows.multiply(member_weight)
            scatter[group] = products.toarray() - total[group] * np.outer(means[group], means[group])
        else:
            # Before the squares, so that no digits cancel.
            centered = rows - means[group]
            scatter[group] = centered.T @ (member_weight * centered)
    return Moments(total, (row_weight**2).sum(axis=1), means, scatter)


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
    r"""The risk as ``w.H.w - 2 h.w``, up to a constant.

    With the covariance :math:`C_g` of each group and the difference :math:`d` of the means of two of them, the risk of
    their pairs is :math:`w^\top (C_A + C_B + d d^\top) w - 2 d^\top w + 1`.
    """
    has_unlabeled = moments.weight[_U] > 0
    shares = np.zeros(len(SIGNS))
    n_columns = moments.mean.shape[1]
    H = np.zeros((n_columns, n_columns))
    h = np.zeros(n_columns)
    for (higher, lower), weight in pair_weights(risk if has_unlabeled else "pn", gamma, prior).items():
        if higher == lower:
            # Without the pairs of a row with itself, whose differences are 0, the others count for more.
            repeats = moments.squares[higher] / moments.weight[higher] ** 2
            shares[higher] += 2 * weight / (1 - repeats if repeats < 1 else 1.0)
        else:
            direction = moments.mean[higher] - moments.mean[lower]
            shares[[higher, lower]] += weight
            H += weight * np.outer(direction, direction)
            h += weight * direction
    H += np.tensordot(shares / np.maximum(moments.weight, _TINY), moments.scatter, axes=1)
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
