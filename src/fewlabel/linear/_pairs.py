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

    def sum_window(self, values):
        """Sum values of the other class, given in the reverse of its `order`, over the range of each row."""
        sums = np.zeros((len(values) + 1, *values.shape[1:]))
        np.cumsum(values, axis=0, out=sums[1:])
        return sums[self.hi] - sums[self.lo]


class PairValue(NamedTuple):
    """Value and slope of the risk at some scores.

    Attributes
    ----------
    loss : float
        Mean loss over the pairs.
    slack : float
        The part of the duality gap due to the smoothing.
    pull : ndarray of shape (n_rows,)
        Minus the derivative of the mean smoothed loss with respect to the scores; sums to 0.
    sides : tuple of Side
        Positives, and negatives (with reversed sign and order of the scores).
    """

    loss: float
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
        self.positive = positive
        self.row_weight = np.ones(len(positive)) if weight is None else weight
        self.rows = [np.flatnonzero(positive), np.flatnonzero(~positive)]
        self.weight = [self.row_weight[rows] / self.row_weight[rows].sum() for rows in self.rows]

    def __call__(self, scores, width):
        """Return the `PairValue` at the given scores; the hinge is smoothed over `width`."""
        width = np.inf if self.squared else width
        positives, negatives = self.rows
        # A common shift of all scores only affects rounding.
        center = scores[positives].mean()
        s = scores[positives] - center
        t = center - scores[negatives]
        by_s = np.argsort(s)
        by_t = np.argsort(t)
        s = s[by_s]
        t = t[by_t]
        u = self.weight[0][by_s]
        v = self.weight[1][by_t]
        # Each class is the row of a pair once: the kernel sums over the other one.
        slopes, totals, *windows = pair_sums(s, u, -t[::-1], v[::-1], width, self.squared)
        mirrored_slopes, _, *mirrored_windows = pair_sums(t, v, -s[::-1], u[::-1], width, self.squared)
        upper = Side(positives[by_s], u, *windows)
        lower = Side(negatives[by_t], v, *mirrored_windows)
        pull = np.empty(len(scores))
        pull[upper.order] = u * slopes
        pull[lower.order] = -v * mirrored_slopes
        return PairValue(*totals.tolist(), pull, (upper, lower))

    def hessian(self, value, X, width):
        """Return the second derivative as a matrix over the columns of `X`, which should be centered."""
        upper, lower = value.sides
        A = X[upper.order]
        B = X[lower.order[::-1]]
        v = lower.weight[::-1]
        mass = upper.sum_window(v)
        moved = upper.sum_window(v[:, None] * B)
        # Half of the term of A and all of the mixed one: the sum with the transpose completes both.
        partners = 0.5 * mass[:, None] * A - moved
        half = A.T @ (upper.weight[:, None] * partners)
        curved = v * lower.sum_window(upper.weight[::-1])[::-1]
        # A matrix times itself is half of the work. Rounding may leave a sum just below zero.
        scaled = np.sqrt(curved.clip(0.0))[:, None] * B
        H = half + half.T + scaled.T @ scaled
        # The second derivative of the loss of a pair in its curved part.
        return (2.0 if self.squared else 1.0 / width) * H


def weight_at(weight, rows):
    """Weights of some rows; None, for rows of equal weight, stays None."""
    return None if weight is None else weight[rows]
