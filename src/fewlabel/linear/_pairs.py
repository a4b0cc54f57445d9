"""The risk over all pairs of a positive and a negative row, without enumerating the pairs."""

from typing import NamedTuple

import numpy as np

from fewlabel.kernels.linear_auc import pair_sums


class Side(NamedTuple):
    """The rows of one class by ascending score, and the range of rows of the other class where their loss is curved."""

    order: np.ndarray
    weight: np.ndarray
    lo: np.ndarray
    hi: np.ndarray


class PairValue(NamedTuple):
    """Value and slope of the risk at some scores.

    Attributes
    ----------
    loss : float
        Mean loss over the pairs.
    smooth : float
        The same with the smoothed hinge.
    slack : float
        The part of the duality gap due to the smoothing.
    pull : ndarray of shape (n_rows,)
        Minus the derivative of `smooth` with respect to the scores; sums to 0.
    sides : tuple of Side
        Positives, and negatives (with reversed sign and order of the scores).
    """

    loss: float
    smooth: float
    slack: float
    pull: np.ndarray
    sides: tuple


class PairRisk:
    r"""Mean loss :math:`\sum_{ij} u_i v_j \ell(1 - s_i + t_j)` over all pairs of a positive i and a negative j.

    It costs a sort and a pass over the scores: O(n log n) for n rows, whatever the number of pairs.

    Parameters
    ----------
    positive : ndarray of bool
        Which rows are positive.
    weight : ndarray or None
        Weights of the rows; scaled to sum to one in each class.
    squared : bool
        Squared hinge instead of hinge.
    """

    def __init__(self, positive, weight=None, squared=False):
        self.squared = squared
        self.positive, self.row_weight = positive, weight
        self.rows = np.flatnonzero(positive), np.flatnonzero(~positive)
        weight = np.ones(len(positive)) if weight is None else weight
        self.weight = tuple(weight[rows] / weight[rows].sum() for rows in self.rows)

    def __call__(self, scores, width):
        """Return the `PairValue` at the given scores; the hinge is smoothed over `width`."""
        width = np.inf if self.squared else width
        center = scores[self.rows[0]].mean()  # a common shift of all scores only affects rounding
        s, t = scores[self.rows[0]] - center, center - scores[self.rows[1]]
        by_s, by_t = np.argsort(s), np.argsort(t)
        s, t, u, v = s[by_s], t[by_t], self.weight[0][by_s], self.weight[1][by_t]
        slopes, totals, *windows = pair_sums(s, u, -t[::-1], v[::-1], width, self.squared)
        mirrored, _, *mirrored_windows = pair_sums(t, v, -s[::-1], u[::-1], width, self.squared)
        pull = np.empty(len(self.positive))
        by_s, by_t = self.rows[0][by_s], self.rows[1][by_t]
        pull[by_s] = u * slopes
        pull[by_t] = -v * mirrored
        return PairValue(*totals.tolist(), pull, (Side(by_s, u, *windows), Side(by_t, v, *mirrored_windows)))

    def curve(self, value, direction, width):
        """Return the second derivative of the smoothed risk in the scores, times a `direction` of the scores."""
        out = np.empty(len(self.positive))
        for own, other in (value.sides, value.sides[::-1]):
            v, moved = other.weight[::-1], direction[other.order[::-1]]
            mass, moved = _sums_before(v), _sums_before(v * moved)
            out[own.order] = own.weight * (
                (mass[own.hi] - mass[own.lo]) * direction[own.order] - (moved[own.hi] - moved[own.lo])
            )
        return out * (2.0 if self.squared else 1.0 / width)

    def hessian(self, value, X, width):
        """Return the second derivative as a matrix over the columns of `X`, which should be centered."""
        positives, negatives = value.sides
        A, u, lo, hi = X[positives.order], positives.weight, positives.lo, positives.hi
        Z, v = X[negatives.order[::-1]], negatives.weight[::-1]
        mass, moved = _sums_before(v), _sums_before(v[:, None] * Z)
        partners = 0.5 * (mass[hi] - mass[lo])[:, None] * A - (moved[hi] - moved[lo])
        half = A.T @ (u[:, None] * partners)
        mass = _sums_before(u[::-1])
        curved = v * (mass[negatives.hi] - mass[negatives.lo])[::-1]
        H = half + half.T + Z.T @ (curved[:, None] * Z)
        return H * (2.0 if self.squared else 1.0 / width)


def _sums_before(values):
    """Sums of the first 0, 1, ..., n values."""
    sums = np.zeros((len(values) + 1, *values.shape[1:]))
    np.cumsum(values, axis=0, out=sums[1:])
    return sums
