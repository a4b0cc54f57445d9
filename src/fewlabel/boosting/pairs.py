"""Pairwise losses of positives, unlabeled rows and negatives: gradient and Hessian at every row."""

import numpy as np
from scipy.special import expit

from fewlabel.boosting.rows import Rows
from fewlabel.kernels import pair_losses
from fewlabel.kernels.pair_losses import MARGIN, MASS_UNIT, NODES_PER_UNIT

MOST_PAIRS = 20_000  # with more, sums over pairs are interpolated, to 1e-6 of the weight of the partners
_MOST_NODES = 65_536  # for a range of scores up to 4,096; nodes are further apart beyond it
_FEW_NODES = 512  # with more, Fourier transforms take less time than all pairs of nodes
_LARGEST_RANGE = 700.0
_POSITIVE, _UNLABELED, _NEGATIVE = range(3)


def pairs_of(gamma):
    """Groups of the better and of the worse rows, and the weight of such pairs."""
    with_unlabeled = (1 - gamma) / 2
    pairs = [
        (_POSITIVE, _NEGATIVE, gamma),
        (_POSITIVE, _UNLABELED, with_unlabeled),
        (_UNLABELED, _NEGATIVE, with_unlabeled),
    ]
    return [pair for pair in pairs if pair[2] > 0]


def has_few_pairs(gamma, sizes):
    """Whether groups of these sizes have so few pairs that sums over them are exact, which needs rows in one part."""
    return sum(int(sizes[a]) * int(sizes[b]) for a, b, _ in pairs_of(gamma)) <= MOST_PAIRS


def needs_one_part(loss, sizes):
    """Whether rows have to be in one part, since sums over the pairs of groups of these sizes may be exact."""
    return loss == "logistic" and has_few_pairs(0.0 if sizes[1] else 1.0, sizes)


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
    rows : Rows or SpreadRows
        In one part, if `has_few_pairs`.
    """

    def __init__(self, kind, gamma, rows):
        self._kind = kind
        self._rows = rows
        self._pairs = pairs_of(gamma)
        self._few_pairs = has_few_pairs(gamma, rows.sizes)
        self._factor = 0.5 * (rows.totals[_POSITIVE] + rows.totals[_NEGATIVE])
        self._known = None  # what `value` needed: `set_derivatives` needs the same before the next round

    def set_derivatives(self):
        r"""Set the negative gradient :math:`-\partial J/\partial f_i` and second derivative of each row; True."""
        known = self._known
        self._known = None
        if self._kind == "exponential":
            center, up, down = known or self._exponential_sums()
            terms = [(a, b, coefficient, up[a], down[b]) for a, b, coefficient in self._pairs]
            self._rows.tell(_exponential_slopes, center, terms, self._factor)
        else:
            ends, mass = known or (_ends(self._rows), None)
            if self._few_pairs and ends[1] - ends[0] < _LARGEST_RANGE:  # powers of e do not overflow
                self._rows.tell(_exact_slopes, _middle(ends), self._pairs, self._factor)
            else:
                self._interpolate(ends, mass)
        return True

    def value(self):
        r"""The loss of an average pair, :math:`2 J(f) / n`; the logistic one is interpolated, to 1e-6."""
        if self._kind == "exponential":
            self._known = self._exponential_sums()
            _, up, down = self._known
            return sum(coefficient * up[a] * down[b] for a, b, coefficient in self._pairs)
        ends = _ends(self._rows)
        scale, n_nodes = _nodes(ends)
        mass = self._mass_at_nodes(scale, n_nodes)
        self._known = ends, mass
        loss_of = pair_losses.node_loss if n_nodes <= _FEW_NODES else _fourier_loss
        return loss_of(mass, np.array(self._pairs), scale[1])

    def _exponential_sums(self):
        """A center of the scores, and the mean of e^-f and of e^f of each group, f being the distance from it."""
        center = _middle(_ends(self._rows))
        means = self._rows.sums(_powers, center)
        return center, means[:3], means[3:]

    def _interpolate(self, ends, mass):
        r"""Slopes by cubic interpolation on a grid of scores.

        Weights are spread over the nodes and convolved with the logistic function. With nodes :math:`\delta = 1/16`
        apart each of the two interpolations errs by at most :math:`\frac{3}{128} \delta^4 \max|s^{(4)}|`, less than
        1e-7 for the slope and 2e-7 for the curvature, of a total weight of one.
        """
        scale, n_nodes = _nodes(ends)
        if mass is None:
            mass = self._mass_at_nodes(scale, n_nodes)
        slopes_of = pair_losses.node_slopes if n_nodes <= _FEW_NODES else _fourier_slopes
        slopes = slopes_of(mass, np.array(self._pairs), scale[1])
        self._rows.tell(_interpolated_slopes, slopes, scale, self._factor)

    def _mass_at_nodes(self, scale, n_nodes):
        """Weights of each group on the nodes of a grid, shape (3, n_nodes)."""
        return self._rows.ask(_spread, scale, n_nodes, merge=np.add) / MASS_UNIT


def _nodes(ends):
    """First score and nodes per unit of a grid for scores between two ends, and the number of nodes."""
    low, high = ends
    scale = low, min(NODES_PER_UNIT, _MOST_NODES / max(high - low, 1.0))
    return scale, int((high - low) * scale[1]) + 2 + 2 * MARGIN


def _ends(rows):
    """Lowest and highest score."""
    low, high = rows.ask(Rows.score_range, merge=np.maximum)
    return -low, high


def _middle(ends):
    """Half-way between the lowest and the highest score: powers of e stay in range on either side."""
    return 0.5 * (ends[0] + ends[1])


def _powers(rows, center):
    """Weights times e^-f of the rows of each group, and weights times e^f."""
    distances = rows.scores - center
    return [rows.weights[group] * np.exp(sign * distances[group]) for sign in (-1, 1) for group in rows.groups]


def _exponential_slopes(rows, center, terms, factor):
    """Slopes of the exponential loss, which are products: the mean of e^f of the partners times e^-f."""
    up = np.exp(center - rows.scores)
    down = np.exp(rows.scores - center)
    derivatives = rows.derivatives
    derivatives[:] = 0.0
    for a, b, coefficient, mean_up, mean_down in terms:
        better = coefficient * (up[rows.groups[a]] * mean_down)
        worse = coefficient * (down[rows.groups[b]] * mean_up)
        # The exponential function is its own derivative: slope and curvature are the same.
        derivatives[:, rows.groups[a]] += better
        derivatives[0, rows.groups[b]] -= worse
        derivatives[1, rows.groups[b]] += worse
    derivatives *= factor * rows.weights


def _exact_slopes(rows, center, pairs, factor):
    """Exact sums over all pairs, in the order of the scores, so that they do not depend on the order of the rows."""
    scores = rows.scores
    by_group = []
    for group, has_one_weight in zip(rows.groups, rows.has_one_weight):
        # Rows of equal weight, as they are without sample weights, need no second key.
        keys = (scores[group],) if has_one_weight else (rows.weights[group], scores[group])
        by_group.append(np.lexsort(keys) + group.start)
    order = np.concatenate(by_group)
    powers = np.exp([center - scores, scores - center])
    slopes = pair_losses.exact_slopes(order, powers, rows.weights, factor, rows.bounds, np.array(pairs))
    rows.derivatives[:] = slopes


def _spread(rows, scale, n_nodes):
    return pair_losses.spread(rows.scores, rows.weights, rows.bounds, scale, n_nodes)


def _interpolated_slopes(rows, slopes, scale, factor):
    pair_losses.interpolate(rows.scores, rows.weights, rows.bounds, slopes, scale, factor, rows.derivatives)


def _fourier_loss(mass, pairs, nodes_per_unit):
    """As `pair_losses.node_loss`, for many nodes."""
    n_nodes = mass.shape[1]
    loss = np.logaddexp(0.0, np.arange(n_nodes - 1, -n_nodes, -1) / nodes_per_unit)
    return sum(coefficient * (mass[int(a)] @ _convolve(mass[int(b)], loss)) for a, b, coefficient in pairs)


def _fourier_slopes(mass, pairs, nodes_per_unit):
    """As `pair_losses.node_slopes`, for many nodes."""
    n_nodes = mass.shape[1]
    wrong = expit(np.arange(1 - n_nodes, n_nodes) / nodes_per_unit)
    curvature = wrong * (1 - wrong)
    slopes = np.zeros((3, 2, n_nodes))
    for a, b, coefficient in pairs:
        better = slopes[int(a)]
        worse = slopes[int(b)]
        better[0] += coefficient * _convolve(mass[int(b)], wrong[::-1])
        better[1] += coefficient * _convolve(mass[int(b)], curvature)
        worse[0] -= coefficient * _convolve(mass[int(a)], wrong)
        worse[1] += coefficient * _convolve(mass[int(a)], curvature)
    return slopes


def _convolve(mass, kernel):
    """Sum over nodes k of ``mass[k]`` times the kernel at the distance to node j, for every j."""
    n = len(mass)
    # Long enough that the ends of a circular convolution do not meet: n nodes and 2 n - 1 distances.
    size = 1 << int(np.ceil(np.log2(3 * n)))
    product = np.fft.rfft(mass, size) * np.fft.rfft(kernel, size)
    return np.fft.irfft(product, size)[n - 1 : 2 * n - 1]
