"""The exact solver: Newton's method on a smoothed hinge that is sharpened, with a duality gap at every step."""

import contextlib
import math
from collections import deque
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import cho_factor, cho_solve, qr
from scipy.sparse import issparse

from fewlabel.linear._pairs import PairRisk
from fewlabel.thread_limits import blas_threads

_WIDEST = 2.0  # at w = 0 every pair is then in the curved part, so the first step is a least-squares solution
_SHARPEN = 0.125  # smallest factor of the width from one step to the next
_MANY_ROWS = 50_000  # with more rows, a tenth of them is solved first
# Upper bound of a squared value over the penalty: sums of these, and of their products, stay finite.
_LARGEST = 1e200
_PATIENCE = 30  # steps without a smaller gap: only rounding errors are left
_DIRECT = 1000  # largest number of columns for a dense Hessian
_MEMORY = 20  # pairs of a step and a change of the gradient that L-BFGS keeps
_STEPS_PER_ITERATION = 10  # L-BFGS steps that cost about as much as a Newton step by conjugate gradients
_WIDE = 3000  # largest number of rows for which more columns than rows are rotated away
_CELLS_WORTH_THREADS = 5_000_000
_HESSIAN_CELLS = 500_000  # cells of each class that a Hessian is computed from, but at least 20 rows per column


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
    each step reduces the larger one. With too many columns for a Hessian, L-BFGS takes the place of Newton's method for
    the hinge: the sharper it is, the more conjugate gradients a Newton step would need.

    Rows with more columns than there are rows are solved in the coordinates of the space that they span, which
    contains the optimum.

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
    control = dict(squared=squared, tol=tol, max_iter=max_iter, rng=rng)
    if is_wide(X):
        F, Q = row_space(X)
        rotated = None if start is None else Q.T @ start
        report = None if after is None else lambda w, objective, gap: after(Q @ w, objective, gap)
        found = solve(F, positive, weight, alpha, start=rotated, after=report, **control)
        return found._replace(coef=Q @ found.coef)
    if start is None:
        start = _first_guess(X, positive, weight, alpha, {**control, "tol": max(tol, 1e-3)})
    risk = PairRisk(positive, weight, squared)
    method = _method(X, risk, rng)
    w, scores, n_steps = start, X @ start, 0
    width = _WIDEST * _SHARPEN**2 if w.any() else _WIDEST
    value, bounds = risk(scores, width), _Bounds(alpha, w)
    while True:
        objective = 0.5 * alpha * (w @ w) + value.loss
        gradient = alpha * w - X.T @ value.pull
        rest = gradient @ gradient / (2.0 * alpha)
        bounds.add(w, objective, objective - value.slack - rest, w - gradient / alpha)
        if after is not None:
            after(bounds.coef, bounds.upper, bounds.gap)
        n_iter = -(-n_steps // method.steps_per_iteration)
        stuck = bounds.n_stuck == _PATIENCE * method.steps_per_iteration
        if bounds.gap <= tol * bounds.upper or n_steps == max_iter * method.steps_per_iteration or stuck:
            return Solution(bounds.coef, bounds.upper, bounds.gap, n_iter)
        method.observe(w, gradient)
        if rest < value.slack:
            width *= max(_SHARPEN, math.sqrt(0.25 * tol * bounds.upper / value.slack))
            value = risk(scores, width)
            gradient = alpha * w - X.T @ value.pull
        step = method.direction(w, scores, value, gradient, alpha, width)
        w, scores, value = _line_search(risk, alpha, w, scores, step, X @ step, gradient, width)
        n_steps += 1


def is_wide(X):
    """Whether dense rows have more columns than there are rows, and few enough rows to rotate them."""
    return not issparse(X) and len(X) < X.shape[1] and len(X) <= _WIDE


def row_space(X):
    """Return the rows in coordinates of the space that they span, and the matrix that maps coefficients back.

    Differences of rows do not depend on their mean, which is removed first, as it would cost digits.
    """
    Z = X.astype(np.float64)
    Z -= Z.mean(axis=0)
    Q, R = qr(Z.T, mode="economic", overwrite_a=True, check_finite=False)
    return np.ascontiguousarray(R.T), Q


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
    few_weight = None if weight is None else weight[few]
    with linear_algebra_threads(1, X):
        return solve(X[few], positive[few], few_weight, alpha, **control).coef


class _Bounds:
    """The best coefficients so far, their objective (an upper bound of the minimum), and the best lower bound."""

    def __init__(self, alpha, w):
        self._alpha, self._dual, self._smallest_gap = alpha, None, math.inf
        self.coef, self.upper, self.gap, self.n_stuck = w, math.inf, math.inf, 0

    def add(self, w, objective, dual_value, dual_w):
        """Update the bounds; `n_stuck` counts the calls without a smaller gap."""
        self._dual = best_dual(self._dual, (dual_value, dual_w), self._alpha)
        if objective < self.upper:
            self.coef, self.upper = w, objective
        self.gap = max(self.upper - self._dual[0], 0.0)
        self.n_stuck = 0 if self.gap < 0.999 * self._smallest_gap else self.n_stuck + 1
        self._smallest_gap = min(self.gap, self._smallest_gap)


def best_dual(old, new, alpha):
    """The best point between two dual points, each given by its value and its w.

    The dual of the hinge is a parabola between them; that of the squared hinge lies above it.

    It is computed from the higher one, so that a first point far below leaves no rounding error of its own size.
    """
    if old is None:
        return new
    (low, v), (high, w) = sorted((old, new), key=lambda point: point[0])
    bend = alpha * ((v - w) @ (v - w))
    share = max(0.5 - (high - low) / bend, 0.0) if bend > 0 else 0.0
    return high + 0.5 * share**2 * bend, w + share * (v - w)


def _line_search(risk, alpha, w, scores, step, moved, gradient, width):
    """Move along `step` until the derivative of the smoothed objective is at most a fifth of its initial size.

    The objective is convex, so the derivative has one root, which is bracketed and narrowed by false position
    (Illinois). No product with the rows is needed.
    """
    steepness = gradient @ step
    left, right, at_left, at_right = 0.0, math.inf, steepness, math.nan
    length = 1.0
    for _ in range(30):
        found = risk(scores + length * moved, width)
        slope = alpha * (w @ step + length * (step @ step)) - found.pull @ moved
        if abs(slope) <= -0.2 * steepness:
            break
        if slope < 0:
            left, at_left, at_right = length, slope, 0.5 * at_right
        else:
            right, at_left, at_right = length, 0.5 * at_left, slope
        if math.isinf(right):
            length *= 2.0
        else:
            length = left + (right - left) * min(max(at_left / (at_left - at_right), 0.1), 0.9)
    return w + length * step, scores + length * moved, found


def _sample(positive, size, rng):
    """Rows in order: each class has its share of `size`, but the rarer one up to half of `size`."""
    groups = np.flatnonzero(positive), np.flatnonzero(~positive)
    sizes = [max(size // 2, size * len(rows) // len(positive)) for rows in groups]
    return np.sort(np.concatenate([rng.permutation(rows)[:n] for rows, n in zip(groups, sizes)]))


def _method(X, risk, rng):
    """How the direction of a step is found."""
    if not issparse(X) and X.shape[1] <= _DIRECT:
        return _DenseNewton(X, risk, rng)
    few = X.shape[1] <= _DIRECT  # conjugate gradients need no more steps than there are columns
    return _ConjugateNewton(X, risk) if risk.squared or few else _LimitedMemory()


class _DenseNewton:
    """Newton's direction with the Hessian of all rows or, if there are many, of a sample of them."""

    steps_per_iteration = 1

    def __init__(self, X, risk, rng):
        self._X, d = X, X.shape[1]
        positive, weight = risk.positive, risk.row_weight
        size = 2 * max(_HESSIAN_CELLS // d, 20 * d)
        self._sampled = len(positive) > size
        self._rows = rows = _sample(positive, size, rng) if self._sampled else slice(None)
        self._Z = X[rows].astype(np.float64)
        self._Z -= self._Z.mean(axis=0)  # the mean cancels in the pairs, but would cost digits in the sums
        of_rows = None if weight is None else weight[rows]
        self._risk = PairRisk(positive[rows], of_rows, risk.squared) if self._sampled else risk

    def observe(self, w, gradient):
        """Nothing is learned from the gradients."""

    def direction(self, w, scores, value, gradient, alpha, width):
        """Return the step."""
        with linear_algebra_threads(1, self._X) if self._sampled else contextlib.nullcontext():  # a small matrix
            value = self._risk(scores[self._rows], width) if self._sampled else value
            H = self._risk.hessian(value, self._Z, width)
            H[np.diag_indices_from(H)] += alpha + 1e-13 * H.diagonal().max()
            return -cho_solve(cho_factor(H, overwrite_a=True, check_finite=False), gradient)


class _ConjugateNewton:
    """Newton's direction by conjugate gradients; a product with the Hessian costs two products with the rows."""

    steps_per_iteration = 1

    def __init__(self, X, risk, accuracy=0.1, max_iter=250):
        self._X, self._risk, self._accuracy, self._max_iter = X, risk, accuracy, max_iter

    def observe(self, w, gradient):
        """Nothing is learned from the gradients."""

    def direction(self, w, scores, value, gradient, alpha, width):
        """Return the step."""
        X = self._X
        x, r = np.zeros_like(gradient), -gradient
        p, rr = r, r @ r
        goal = self._accuracy**2 * rr
        for _ in range(self._max_iter):
            if rr <= goal:
                break
            q = alpha * p + X.T @ self._risk.curve(value, X @ p, width)
            length = rr / (p @ q)
            x, r = x + length * p, r - length * q
            rr, old = r @ r, rr
            p = r + (rr / old) * p
        return x


class _LimitedMemory:
    """Direction of L-BFGS: from the changes of the gradient over the last steps, without products with the rows."""

    steps_per_iteration = _STEPS_PER_ITERATION

    def __init__(self):
        self._pairs, self._last = deque(maxlen=_MEMORY), None

    def observe(self, w, gradient):
        """Keep the change of the gradient over the last step; call it before the hinge is sharpened."""
        if self._last is None:
            return
        s, y = w - self._last[0], gradient - self._last[1]
        if s @ y > 1e-12 * math.sqrt((s @ s) * (y @ y)):
            self._pairs.append((s, y, 1.0 / (s @ y)))

    def direction(self, w, scores, value, gradient, alpha, width):
        """Return the step."""
        self._last = w, gradient
        step, shares = -gradient, []
        for s, y, scale in reversed(self._pairs):
            shares.append(scale * (s @ step))
            step = step - shares[-1] * y
        if self._pairs:
            s, y, scale = self._pairs[-1]
            step = step / (scale * (y @ y))
        for (s, y, scale), share in zip(self._pairs, reversed(shares)):
            step = step + (share - scale * (y @ step)) * s
        return step


def linear_algebra_threads(n_jobs, X):
    """Context in which products with a large `X` use `n_jobs` threads; with a small one threads cost too much."""
    n_threads = effective_n_jobs(n_jobs) if math.prod(X.shape) > _CELLS_WORTH_THREADS else 1
    return blas_threads(n_threads)
