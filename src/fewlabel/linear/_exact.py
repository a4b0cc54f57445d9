"""The exact solver: Newton's method on a smoothed hinge that sharpens, with a certificate at every step."""

import contextlib
import math
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import issparse

from fewlabel.linear._pairs import PairRisk
from fewlabel.thread_limits import blas_threads

_WIDEST = 2.0  # at w = 0 every pair is then in the curved part, and the first step is that of least squares
_SHARPEN = 0.125  # the least factor of the width from one step to the next
_MANY_ROWS = 50_000  # more rows than this are first solved on a tenth of them
# A squared value over the penalty is at most this large: sums of such, and of their products, stay finite.
_LARGEST = 1e200
_PATIENCE = 30  # steps without a smaller gap: rounding is all that is left
_DIRECT = 1000  # columns up to which a dense Hessian is formed
_CELLS_WORTH_THREADS = 5_000_000
_HESSIAN_CELLS = 500_000  # of so many cells of each class, or of 20 rows a column


class Solution(NamedTuple):
    """What a solver found: coefficients, objective, duality gap, and number of iterations or passes."""

    coef: np.ndarray
    objective: float
    gap: float
    n_iter: int


def solve(X, positive, weight, alpha, *, squared, tol, max_iter, rng, start=None, after=None):
    r"""Minimize :math:`P(w) = \frac{\lambda}{2} |w|^2 + R(w)` until the duality gap is at most ``tol * P(w)``.

    At any w the slopes :math:`\alpha_{ij} \in [0, 1]` of the smoothed hinge are feasible in the dual. With g the
    gradient of the smoothed objective, the gap they leave is :math:`S + |g|^2 / 2\lambda`, where S is the slack of the
    smoothing: a certificate that costs nothing. Newton's method makes the second term small, a sharper hinge the
    first; the larger has the next step.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The labeled rows.
    positive : ndarray of bool
    weight : ndarray or None
    alpha : float
        The paper's lambda.
    squared : bool
        The squared hinge, which needs no smoothing.
    rng : numpy.random.Generator
        Draws the rows of the first, smaller problem and those of the Hessian.
    start : ndarray or None
        Where to begin; not changed.
    after : callable or None
        Called with coefficients, objective and gap after each iteration.
    """
    values = X.data if issparse(X) else X
    largest = max(float(values.max()), -float(values.min())) if values.size else 0.0
    if largest > math.sqrt(_LARGEST * alpha):
        raise ValueError("the columns of X are too large to be squared: scale them, for instance by StandardScaler")
    if start is None:
        start = np.zeros(X.shape[1])
        if len(positive) > _MANY_ROWS:
            few = _sample(positive, len(positive) // 10, rng)
            few_weight = None if weight is None else weight[few]
            control = dict(squared=squared, tol=max(tol, 1e-3), max_iter=max_iter, rng=rng)
            with linear_algebra_threads(1, X):
                start = solve(X[few], positive[few], few_weight, alpha, **control).coef
    risk = PairRisk(positive, weight, squared)
    newton = _dense_newton(X, risk, rng) if not issparse(X) and X.shape[1] <= _DIRECT else _sparse_newton(X, risk)
    w, scores, n_iter = start, X @ start, 0
    width = _WIDEST * _SHARPEN**2 if w.any() else _WIDEST
    value = risk(scores, width)
    best, highest, dual = w, math.inf, None
    smallest, n_stuck = math.inf, 0
    while True:
        objective = 0.5 * alpha * (w @ w) + value.loss
        gradient = alpha * w - X.T @ value.pull
        rest = gradient @ gradient / (2.0 * alpha)
        dual = _best_dual(dual, (objective - value.slack - rest, w - gradient / alpha), alpha)
        if objective < highest:
            best, highest = w, objective
        gap = max(highest - dual[0], 0.0)
        if after is not None:
            after(best, highest, gap)
        n_stuck = 0 if gap < 0.999 * smallest else n_stuck + 1
        smallest = min(gap, smallest)
        if gap <= tol * highest or n_iter == max_iter or n_stuck == _PATIENCE:
            return Solution(best, highest, gap, n_iter)
        if rest < value.slack:
            width *= max(_SHARPEN, math.sqrt(0.25 * tol * highest / value.slack))
            value = risk(scores, width)
            gradient = alpha * w - X.T @ value.pull
        step = newton(scores, value, gradient, alpha, width)
        w, scores, value = _line_search(risk, alpha, w, scores, step, X @ step, gradient, width)
        n_iter += 1


def _best_dual(old, new, alpha):
    """The best point between two of the dual, each given by its value and its w: between them it is a parabola.

    It is found from the higher one, so that a first point far below leaves no rounding of its own size.
    """
    if old is None:
        return new
    (low, v), (high, w) = sorted((old, new), key=lambda point: point[0])
    bend = alpha * ((v - w) @ (v - w))
    share = max(0.5 - (high - low) / bend, 0.0) if bend > 0 else 0.0
    return high + 0.5 * share**2 * bend, w + share * (v - w)


def _line_search(risk, alpha, w, scores, step, moved, gradient, width):
    """Go along `step` to where the smoothed objective is about least: its derivative a fifth of what it was, or less.

    The objective is convex, so the derivative has one root: it is bracketed and narrowed by false position (Illinois).
    No product with the rows is needed.
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
    """Rows in order: of each class its share of `size`, and of the rarer class half of `size` if it has as many."""
    groups = np.flatnonzero(positive), np.flatnonzero(~positive)
    sizes = [max(size // 2, size * len(rows) // len(positive)) for rows in groups]
    return np.sort(np.concatenate([rng.permutation(rows)[:n] for rows, n in zip(groups, sizes)]))


def _dense_newton(X, risk, rng):
    """Newton's direction by a Hessian of all rows or, where they are many, of a sample of them."""
    d = X.shape[1]
    positive, weight = risk.positive, risk.row_weight
    size = 2 * max(_HESSIAN_CELLS // d, 20 * d)
    sampled = len(positive) > size
    rows = _sample(positive, size, rng) if sampled else slice(None)
    Z = X[rows].astype(np.float64)
    Z -= Z.mean(axis=0)  # pairs do not see the mean, but the canceling sums of the Hessian do
    few = PairRisk(positive[rows], None if weight is None else weight[rows], risk.squared) if sampled else risk

    def direction(scores, value, gradient, alpha, width):
        with linear_algebra_threads(1, X) if sampled else contextlib.nullcontext():  # a small matrix
            H = few.hessian(few(scores[rows], width) if sampled else value, Z, width)
            H[np.diag_indices(d)] += alpha + 1e-13 * H.diagonal().max()
            return -cho_solve(cho_factor(H, overwrite_a=True, check_finite=False), gradient)

    return direction


def _sparse_newton(X, risk, accuracy=0.1, max_iter=250):
    """Newton's direction by conjugate gradients: a product with the Hessian costs two products with the rows."""

    def direction(scores, value, gradient, alpha, width):
        x, r = np.zeros_like(gradient), -gradient
        p, rr = r, r @ r
        goal = accuracy**2 * rr
        for _ in range(max_iter):
            if rr <= goal:
                break
            q = alpha * p + X.T @ risk.curve(value, X @ p, width)
            length = rr / (p @ q)
            x, r = x + length * p, r - length * q
            rr, old = r @ r, rr
            p = r + (rr / old) * p
        return x

    return direction


def linear_algebra_threads(n_jobs, X):
    """Context in which products with large `X` use `n_jobs` threads; on small ones threads cost more than they save."""
    n_threads = effective_n_jobs(n_jobs) if math.prod(X.shape) > _CELLS_WORTH_THREADS else 1
    return blas_threads(n_threads)
