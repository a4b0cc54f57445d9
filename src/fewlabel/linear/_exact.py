"""The exact solver: Newton's method on a smoothed hinge that is sharpened, with a duality gap at every step."""

import math
from collections import deque
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import cho_factor, cho_solve, qr, solve_triangular
from scipy.linalg.lapack import dpotrf
from scipy.sparse import issparse

from fewlabel.linear._pairs import PairRisk, weight_at
from fewlabel.thread_limits import blas_threads

# At w = 0 every pair is then in the curved part, so the first step is a least-squares solution.
_WIDEST = 2.0
# Smallest factor of the width from one step to the next.
_SHARPEN = 0.125
_MANY_ROWS = 50_000  # with more rows, a tenth of them is solved first
# Upper bound of a squared value over the penalty: sums of these, and of their products, stay finite.
_LARGEST = 1e200
# Steps without a smaller gap: only rounding errors are left.
_PATIENCE = 30
_DIRECT = 1000  # largest number of columns for a dense Hessian
# Pairs of a step and a change of the gradient that L-BFGS keeps.
_MEMORY = 20
# L-BFGS steps that count as an iteration, which with a Hessian is a Newton step.
_STEPS_PER_ITERATION = 10
# Largest number of rows for which more columns than rows are rotated away.
_WIDE = 3000
# If the distance of a row from the span of those before it is below this share of the largest, the Gram matrix, which
# holds squares, has too few digits.
_INDEPENDENT = 1e-3
_CELLS_WORTH_THREADS = 5_000_000
# A gap that is not below this share of the smallest one counts as no smaller.
_LEAST_PROGRESS = 0.999
# Share of the first slope at which a line search ends.
_FLATTER = 0.2
_MOST_TRIALS = 30  # lengths that a line search tries
# Cells of each class that a Hessian is computed from, but at least 20 rows per column.
_HESSIAN_CELLS = 500_000


class Solution(NamedTuple):
    """Result of a solver: coefficients, objective, duality gap, and number of iterations or passes."""

    coef: np.ndarray
    objective: float
    gap: float
    n_iter: int


def solve(X, positive, weight, alpha, *, squared, tol, max_iter, rng, start=None, after=None):
    r"""Minimize :math:`P(w) = \frac{\lambda}{2} |w|^2 + R(w)` until the duality gap is at most ``tol * P(w)``.

    At any w the slopes :math:`\alpha_{ij} \in [0, 1]` of the smoothed hinge are feasible in the dual. With g the
    gradient of the smoothed objective, the duality gap is :math:`S + |g|^2 / 2\lambda`, where S is the slack due
    to the smoothing, so it costs no extra work. Newton's method reduces the second term, a sharper hinge the first;
    each step reduces the larger one. With sparse rows, or too many columns for a Hessian, L-BFGS takes the place of
    Newton's method.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The labeled rows.
    positive : ndarray of bool
        Which rows are positive.
    weight : ndarray or None
        Weights of the rows.
    alpha : float
        The penalty :math:`\lambda`.
    squared : bool
        Squared hinge, which needs no smoothing, instead of hinge.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Largest number of iterations: Newton steps, or ten L-BFGS steps each.
    rng : numpy.random.Generator
        Draws the rows of the first, smaller problem and those of the Hessian.
    start : ndarray or None
        Where to begin; not changed.
    after : callable or None
        Called with coefficients, objective and gap after each iteration.

    Returns
    -------
    Solution
    """
    _check_magnitude(X, alpha)
    if start is None:
        control = {"squared": squared, "tol": tol, "max_iter": max_iter, "rng": rng}
        start = _first_guess(X, positive, weight, alpha, control)
    risk = PairRisk(positive, weight, squared)
    is_small = X.shape[1] <= _DIRECT and not issparse(X)
    method = _DenseNewton(X, risk, rng) if is_small else _LimitedMemory()
    most_steps = max_iter * method.steps_per_iteration
    patience = _PATIENCE * method.steps_per_iteration
    w = start
    scores = X @ w
    # From a guess fewer pairs are far from their place, and a sharper hinge is worth its first steps.
    width = _WIDEST * _SHARPEN**2 if w.any() else _WIDEST
    value = risk(scores, width)
    bounds = _Bounds(alpha, w)
    n_steps = 0
    while True:
        objective = 0.5 * alpha * (w @ w) + value.loss
        gradient = alpha * w - X.T @ value.pull
        rest = gradient @ gradient / (2.0 * alpha)
        bounds.add(w, objective, DualPoint(objective - value.slack - rest, w - gradient / alpha))
        if after is not None:
            after(bounds.coef, bounds.upper, bounds.gap)
        if bounds.gap <= tol * bounds.upper or n_steps == most_steps or bounds.n_stuck == patience:
            n_iter = math.ceil(n_steps / method.steps_per_iteration)
            return Solution(bounds.coef, bounds.upper, bounds.gap, n_iter)
        # Before the hinge is sharpened: gradients of different functions do not show the curvature of either.
        method.observe(w, gradient)
        if rest < value.slack:
            enough = math.sqrt(0.25 * tol * bounds.upper / value.slack)
            width *= max(_SHARPEN, enough)
            value = risk(scores, width)
            gradient = alpha * w - X.T @ value.pull
        step = method.direction(w, scores, value, gradient, alpha, width)
        moved = X @ step
        length, value = _line_search(risk, alpha, w, scores, step, moved, gradient, width)
        w = w + length * step
        scores = scores + length * moved
        n_steps += 1


def solve_path(X, positive, weight, alphas, **control):
    """Return the solution at each penalty, each started from the one before; other parameters are those of `solve`.

    Dense rows with more columns than there are rows are solved in the coordinates of the space that they span, which
    contains the optimum.
    """
    if is_wide(X):
        rows, expand = row_span(X)
        solutions = solve_path(rows, positive, weight, alphas, **control)
        return [one._replace(coef=expand(one.coef)) for one in solutions]
    solutions = []
    start = None
    for alpha in alphas:
        solutions.append(solve(X, positive, weight, alpha, start=start, **control))
        start = solutions[-1].coef
    return solutions


def is_wide(X):
    """Whether a fit is faster in the space that the rows span."""
    return not issparse(X) and len(X) < X.shape[1] and len(X) <= _WIDE


def row_span(X):
    """Coordinates of rows in the space that they span, and a function from coefficients there to those of the columns.

    Differences of rows do not depend on their mean, which is removed first, as it would cost digits.
    """
    centered = X - X.mean(axis=0, dtype=np.float64)
    # The last row is minus the sum of the others.
    others = centered[:-1]
    # Squares that overflow leave no factor, and rows that `solve` refuses.
    with np.errstate(over="ignore", invalid="ignore"):
        gram = others @ others.T
    triangle, failed_at = dpotrf(gram, lower=1)
    distances = triangle.diagonal()
    if failed_at == 0 and distances.min() > _INDEPENDENT * distances.max():
        rows = np.vstack([triangle, -triangle.sum(axis=0)])
        return rows, lambda w: solve_triangular(triangle, w, lower=True, trans="T") @ others
    basis, triangle = qr(centered.T, mode="economic", overwrite_a=True, check_finite=False)
    return np.ascontiguousarray(triangle.T), lambda w: basis @ w


def _check_magnitude(X, alpha):
    values = X.data if issparse(X) else X
    largest = max(float(values.max()), -float(values.min())) if values.size else 0.0
    if largest > math.sqrt(_LARGEST * alpha):
        raise ValueError(
            f"X holds values up to {largest:.3g}, whose squares overflow: scale the columns, for instance with "
            "StandardScaler"
        )


def _first_guess(X, positive, weight, alpha, control):
    """Zero or, if there are many rows, the solution on a tenth of them."""
    if len(positive) <= _MANY_ROWS:
        return np.zeros(X.shape[1])
    few = _sample(positive, len(positive) // 10, control["rng"])
    # The minimum of a sample is no closer to that of all rows than this, however exact.
    rough = {**control, "tol": max(control["tol"], 1e-3)}
    with linear_algebra_threads(1, X):
        return solve(X[few], positive[few], weight_at(weight, few), alpha, **rough).coef


class DualPoint(NamedTuple):
    """A feasible point of the dual: its value, a lower bound of the minimum, and the coefficients that belong to it."""

    value: float
    coef: np.ndarray


class _Bounds:
    """The best coefficients so far, their objective (an upper bound of the minimum), and the best lower bound."""

    def __init__(self, alpha, w):
        self._alpha = alpha
        self._dual = None
        self._smallest_gap = math.inf
        self.coef = w
        self.upper = math.inf
        self.gap = math.inf
        self.n_stuck = 0

    def add(self, w, objective, dual):
        """Update the bounds; `n_stuck` counts the calls without a smaller gap."""
        self._dual = dual if self._dual is None else best_dual(self._dual, dual, self._alpha)
        if objective < self.upper:
            self.coef = w
            self.upper = objective
        self.gap = max(self.upper - self._dual.value, 0.0)
        is_smaller = self.gap < _LEAST_PROGRESS * self._smallest_gap
        self.n_stuck = 0 if is_smaller else self.n_stuck + 1
        self._smallest_gap = min(self.gap, self._smallest_gap)


def best_dual(one, other, alpha):
    """The best point between two dual points.

    The dual of the hinge is a parabola between them; that of the squared hinge lies above it.
    """
    # From the higher one, so that a first point far below leaves no rounding error of its own size.
    low, high = sorted((one, other), key=lambda point: point.value)
    change = low.coef - high.coef
    bend = alpha * (change @ change)
    share = max(0.5 - (high.value - low.value) / bend, 0.0) if bend > 0 else 0.0
    return DualPoint(high.value + 0.5 * share**2 * bend, high.coef + share * change)


def _line_search(risk, alpha, w, scores, step, moved, gradient, width):
    """Length of a step at which the derivative of the smoothed objective is small, and the risk there.

    The objective is convex, so the derivative has one root, which is bracketed and narrowed by false position
    (Illinois). No product with the rows is needed: `moved` is that of the rows with `step`.
    """
    steepness = gradient @ step
    left = 0.0
    right = math.inf
    at_left = steepness
    at_right = math.nan
    length = 1.0
    for _ in range(_MOST_TRIALS):
        value = risk(scores + length * moved, width)
        slope = alpha * (w @ step + length * (step @ step)) - value.pull @ moved
        if abs(slope) <= -_FLATTER * steepness:
            break
        # Illinois: the slope at the end that stays is halved, or that end might never move.
        if slope < 0:
            left = length
            at_left = slope
            at_right = 0.5 * at_right
        else:
            right = length
            at_left = 0.5 * at_left
            at_right = slope
        if math.isinf(right):
            length *= 2.0
        else:
            share = at_left / (at_left - at_right)
            length = left + (right - left) * min(max(share, 0.1), 0.9)
    return length, value


def _sample(positive, size, rng):
    """Rows in order: each class has its share of `size`, but the rarer one up to half of `size`."""
    drawn = []
    for rows in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        n_drawn = max(size // 2, size * len(rows) // len(positive))
        drawn.append(rng.permutation(rows)[:n_drawn])
    return np.sort(np.concatenate(drawn))


class _DenseNewton:
    """Newton's direction with the Hessian of all rows or, if there are many, of a sample of them."""

    steps_per_iteration = 1

    def __init__(self, X, risk, rng):
        n_columns = X.shape[1]
        size = 2 * max(_HESSIAN_CELLS // n_columns, 20 * n_columns)
        self._is_sampled = len(risk.positive) > size
        self._rows = slice(None)
        self._risk = risk
        if self._is_sampled:
            self._rows = _sample(risk.positive, size, rng)
            self._risk = PairRisk(risk.positive[self._rows], risk.row_weight[self._rows], risk.squared)
        self._Z = X[self._rows].astype(np.float64)
        # The mean cancels in the pairs, but would cost digits in the sums.
        self._Z -= self._Z.mean(axis=0)

    def observe(self, w, gradient):
        """Nothing is learned from the gradients."""

    def direction(self, w, scores, value, gradient, alpha, width):
        """Return the step."""
        if not self._is_sampled:
            return self._solve(value, gradient, alpha, width)
        # The matrix of a sample is small.
        with blas_threads(1):
            return self._solve(self._risk(scores[self._rows], width), gradient, alpha, width)

    def _solve(self, value, gradient, alpha, width):
        H = self._risk.hessian(value, self._Z, width)
        # Rounding could leave the smallest eigenvalue just below zero.
        H[np.diag_indices_from(H)] += alpha + 1e-13 * H.diagonal().max()
        return -cho_solve(cho_factor(H, overwrite_a=True, check_finite=False), gradient)


class _LimitedMemory:
    """Direction of L-BFGS: from the changes of the gradient over the last steps, without products with the rows."""

    steps_per_iteration = _STEPS_PER_ITERATION

    def __init__(self):
        self._pairs = deque(maxlen=_MEMORY)
        self._last_w = None
        self._last_gradient = None

    def observe(self, w, gradient):
        """Keep the change of the gradient over the last step."""
        if self._last_w is None:
            return
        s = w - self._last_w
        y = gradient - self._last_gradient
        # A pair without curvature, or with rounding errors alone, would spoil all later directions.
        if s @ y > 1e-12 * math.sqrt((s @ s) * (y @ y)):
            self._pairs.append((s, y, 1.0 / (s @ y)))

    def direction(self, w, scores, value, gradient, alpha, width):
        """Return the step."""
        self._last_w = w
        self._last_gradient = gradient
        step = -gradient
        shares = []
        for s, y, scale in reversed(self._pairs):
            share = scale * (s @ step)
            shares.append(share)
            step = step - share * y
        if self._pairs:
            _, y, scale = self._pairs[-1]
            step = step / (scale * (y @ y))
        for (s, y, scale), share in zip(self._pairs, reversed(shares)):
            step = step + (share - scale * (y @ step)) * s
        return step


def linear_algebra_threads(n_jobs, X):
    """Context in which products with a large `X` use `n_jobs` threads; with a small one threads cost too much."""
    n_cells = math.prod(X.shape)
    return blas_threads(effective_n_jobs(n_jobs) if n_cells > _CELLS_WORTH_THREADS else 1)
