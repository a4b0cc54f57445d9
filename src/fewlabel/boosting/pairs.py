"""Pairwise losses of positives, unlabeled rows and negatives: gradient and Hessian at every row."""

import numpy as np
from scipy.special import expit

from fewlabel.kernels import pair_losses
from fewlabel.kernels.pair_losses import MARGIN, NODES_PER_UNIT, order_free_sum

MOST_PAIRS = 100_000  # with more, sums over pairs are interpolated, to 1e-6 of the weight of the partners
_MOST_NODES = 65_536  # for a range of scores up to 4,096; nodes are further apart beyond it
_LARGEST_RANGE = 700.0
_MASS_UNIT = 2.0**60
_POSITIVE, _UNLABELED, _NEGATIVE = range(3)


class PairLoss:
    r"""The mean loss of the pairs (positive, negative), (positive, unlabeled) and (unlabeled, negative).

    .. math::

        J(f) = \frac{n}{2} \Big[ \gamma\, \overline{\ell(f_p - f_n)} + \frac{1-\gamma}{2} \Big(
        \overline{\ell(f_p - f_u)} + \overline{\ell(f_u - f_n)} \Big) \Big]

    with :math:`n` the number (or total weight) of labeled rows, so that an average labeled row counts as one.

    Parameters
    ----------
    kind : {"logistic", "exponential"}
        :math:`\ell(z) = \log(1 + e^{-z})` or :math:`e^{-z}`.
    gamma : float
    bounds : ndarray of shape (4,)
        Rows ``bounds[g]:bounds[g + 1]`` are the positives, the unlabeled rows and the negatives.
    weights : list of ndarray
        Weights of the rows of each group, which sum to one.
    totals : list of float
        Total weight of each group before that; :math:`n` is that of positives and negatives.
    threads : RowThreads
    """

    def __init__(self, kind, gamma, bounds, weights, totals, threads):
        self._kind = kind
        self._groups = [slice(bounds[g], bounds[g + 1]) for g in range(3)]
        self._weights = weights
        self._size = totals[_POSITIVE] + totals[_NEGATIVE]
        self._threads = threads
        c = (1 - gamma) / 2
        pairs = [(_POSITIVE, _NEGATIVE, gamma), (_POSITIVE, _UNLABELED, c), (_UNLABELED, _NEGATIVE, c)]
        self._pairs = [pair for pair in pairs if pair[2] > 0]
        n_rows = np.diff(bounds)
        n_pairs = sum(int(n_rows[a]) * int(n_rows[b]) for a, b, _ in self._pairs)
        self._known = None  # the last scores and their grid
        if kind == "exponential":
            self._sums = self._exponential
        else:
            self._sums = self._few_pairs if n_pairs <= MOST_PAIRS else self._interpolated

    def derivatives(self, scores):
        r"""Negative gradient :math:`-\partial J/\partial f_i` and second derivative at each row, shape (2, n_rows)."""
        total = np.zeros((2, len(scores)))
        for a, b, coefficient, better, worse in self._sums(scores):
            total[:, self._groups[a]] += coefficient * better
            total[0, self._groups[b]] -= coefficient * worse[0]
            total[1, self._groups[b]] += coefficient * worse[1]
        for group, weights in zip(self._groups, self._weights):
            total[:, group] *= 0.5 * self._size * weights
        return total

    def value(self, scores):
        r"""The loss of an average pair, :math:`2 J(f) / n`; the logistic one is interpolated, to 1e-6."""
        if self._kind == "exponential":
            center = _middle(scores)
            up, down = (
                [
                    order_free_sum(w * np.exp(sign * (scores[rows] - center)))
                    for rows, w in zip(self._groups, self._weights)
                ]
                for sign in (-1, 1)
            )
            return sum(coefficient * up[a] * down[b] for a, b, coefficient in self._pairs)
        mass, differences, _ = self._grid(scores)
        kernel = np.logaddexp(0.0, differences)[None, ::-1]
        return sum(float(mass[a] @ _convolve(mass[b], kernel)[0]) * coefficient for a, b, coefficient in self._pairs)

    def _exponential(self, scores):
        """Slopes of the exponential loss, which are products: the mean of e^f of the partners times e^-f."""
        center = _middle(scores)
        up, down = np.exp(center - scores), np.exp(scores - center)
        for a, b, coefficient in self._pairs:
            better, worse = up[self._groups[a]], down[self._groups[b]]
            of_better = np.broadcast_to(better * order_free_sum(worse * self._weights[b]), (2, len(better)))
            of_worse = np.broadcast_to(worse * order_free_sum(better * self._weights[a]), (2, len(worse)))
            yield a, b, coefficient, of_better, of_worse

    def _few_pairs(self, scores):
        """Sums over all pairs, unless powers of e would overflow."""
        return self._all_pairs(scores) if np.ptp(scores) < _LARGEST_RANGE else self._interpolated(scores)

    def _all_pairs(self, scores):
        """Exact sums over all pairs. Rows are sorted first, so that sums do not depend on the order of the rows."""
        center = _middle(scores)
        orders = [np.lexsort((w, scores[rows])) for rows, w in zip(self._groups, self._weights)]
        sorted_scores = [scores[rows][order] - center for rows, order in zip(self._groups, orders)]
        sorted_weights = [w[order] for w, order in zip(self._weights, orders)]
        for a, b, coefficient in self._pairs:
            sums = [np.zeros((2, len(orders[g]))) for g in (a, b)]
            inverse, direct = np.exp(-sorted_scores[a]), np.exp(sorted_scores[b])
            pair_losses.pair_sums(inverse, direct, sorted_weights[a], sorted_weights[b], *sums)
            better, worse = (_unsort(s, orders[g]) for s, g in zip(sums, (a, b)))
            yield a, b, coefficient, better, worse

    def _interpolated(self, scores):
        r"""Sums by cubic interpolation on a grid of scores.

        Weights are spread over the nodes and convolved with the logistic function. With nodes :math:`\delta = 1/16`
        apart each of the two interpolations errs by at most :math:`\frac{3}{128} \delta^4 \max|s^{(4)}|`, less than
        1e-7 for the slope and 2e-7 for the curvature, of a total weight of one.
        """
        mass, differences, scale = self._grid(scores)
        wrong = expit(differences)
        kernels = np.stack([wrong, wrong * (1 - wrong)])
        for a, b, coefficient in self._pairs:
            better = self._evaluate(scores[self._groups[a]], _convolve(mass[b], kernels[:, ::-1]), scale)
            worse = self._evaluate(scores[self._groups[b]], _convolve(mass[a], kernels), scale)
            yield a, b, coefficient, better, worse

    def _grid(self, scores):
        """Weights of each group on the nodes of a grid, distances between nodes, and the place of the nodes.

        Kept until the scores change: the value of the loss is asked for after a round, the slopes before the next one.
        """
        if self._known is None or not np.array_equal(self._known[0], scores):
            self._known = scores.copy(), self._new_grid(scores)
        return self._known[1]

    def _new_grid(self, scores):
        low, reach = scores.min(), np.ptp(scores)
        scale = low, min(NODES_PER_UNIT, _MOST_NODES / max(reach, 1.0))
        n_nodes = int(reach * scale[1]) + 2 + 2 * MARGIN
        mass = [self._spread(scores[rows], w, scale, n_nodes) for rows, w in zip(self._groups, self._weights)]
        return mass, np.arange(1 - n_nodes, n_nodes) / scale[1], scale

    def _spread(self, scores, weights, scale, n_nodes):
        grid = np.empty(n_nodes, dtype=np.int64)

        def work(start, stop):
            return pair_losses.spread(scores, weights, _MASS_UNIT, grid, scale, start, stop)

        return self._threads.over_rows(work, len(scores)) / _MASS_UNIT

    def _evaluate(self, scores, nodes, scale):
        values = np.zeros((2, len(scores)))
        self._threads.over_rows(
            lambda start, stop: pair_losses.interpolate(scores, nodes, scale, values, start, stop), len(scores)
        )
        return values


def _middle(scores):
    """Half-way between the lowest and the highest score: powers of e stay in range on either side."""
    return 0.5 * (scores.min() + scores.max())


def _unsort(values, order):
    """Undo ``values[:, order]``."""
    unsorted = np.empty_like(values)
    unsorted[:, order] = values
    return unsorted


def _convolve(mass, kernels):
    """Sum over nodes k of ``mass[k]`` times each kernel at the distance to node j, for every j."""
    n = len(mass)
    size = 1 << int(np.ceil(np.log2(3 * n)))
    product = np.fft.rfft(mass, size) * np.fft.rfft(kernels, size)
    return np.ascontiguousarray(np.fft.irfft(product, size)[:, n - 1 : 2 * n - 1])
