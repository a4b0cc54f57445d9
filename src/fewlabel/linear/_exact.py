"""The exact solver: Newton's method on a smoothed hinge that sharpens, with a certificate at every step."""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import issparse

from fewlabel.linear._pairs import PairRisk

_WIDEST = 2.0  # at w = 0 every pair is then in the curved part, and the first step is that of least squares
_SHARPEN = 0.125  # the least factor of the width from one step to the next
_DIRECT = 1000  # columns up to which a dense Hessian is formed and factorised
_MANY_ROWS = 50_000  # more rows than this are first solved on a tenth of them


class Solution(NamedTuple):
    """What a solver found: coefficients, objective, duality gap, iterations, and whether the gap is small enough."""

    coef: np.ndarray
    objective: float
    gap: float
    n_iter: int
    converged: bool


def solve(X, positive, weight, alpha, *, squared=False, start=None, tol=1e-3, max_iter=200, after=None, rng=None):
    r"""Minimise :math:`P(w) = \frac{\lambda}{2} |w|^2 + R(w)` to a relative duality gap of `tol`.

    At any w the slopes :math:`\alpha_{ij} \in [0, 1]` of the smoothed hinge are feasible in the dual. With g the gradient of the
    smoothed objective, the gap they leave is :math:`S + |g|^2 / 2\lambda`, S the slack of the smoothing: a certificate that
    costs nothing. Newton's method makes the second term small, a sharper hinge the first; whichever is larger has the next step.
    """
    if len(positive) > _MANY_ROWS and start is None:
        few = _sample(positive, len(positive) // 10, rng)
        start = solve(
            X[few],
            positive[few],
            None if weight is None else weight[few],
            alpha,
            squared=squared,
            tol=max(tol, 1e-3),
            max_iter=max_iter,
            rng=rng,
        ).coef
    risk = PairRisk(positive, weight, squared)
    newton = _newton(X, positive, weight, risk, rng)
    w = np.zeros(X.shape[1]) if start is None else start.copy()
    scores, width = X @ w, _WIDEST
    value = risk(scores, width)
    if start is not None and not squared:
        width = _sharper(value, width, tol)
        value = risk(scores, width)
    best, highest, lower = w, math.inf, -math.inf
    n_iter, stuck = 0, False
    while True:
        gradient = alpha * w - X.T @ value.pull
        objective = 0.5 * alpha * (w @ w) + value.loss
        rest = gradient @ gradient / (2.0 * alpha)
        lower = max(lower, objective - value.slack - rest)
        if objective < highest:
            best, highest = w, objective
        if after is not None:
            after(best, highest, highest - lower, best is w and scores)
        if highest - lower <= tol * highest or n_iter >= max_iter or stuck:
            return Solution(best, highest, highest - lower, n_iter, highest - lower <= tol * highest)
        if rest < value.slack:
            width = max(_SHARPEN * width, width * math.sqrt(0.25 * tol * highest / value.slack))
            value = risk(scores, width)
            gradient = alpha * w - X.T @ value.pull
        step = newton(w, scores, value, gradient, alpha, width)
        moved = X @ step
        w, scores, value, stuck = _line_search(risk, alpha, w, scores, value, step, moved, gradient, width)
        n_iter += 1


def _line_search(risk, alpha, w, scores, value, step, moved, gradient, width):
    """Halve the step until the smoothed objective has fallen enough; no product with the rows is needed for that."""
    slope = gradient @ step
    here = 0.5 * alpha * (w @ w) + value.smooth
    length = 1.0
    for _ in range(40):
        there = w + length * step
        found = risk(scores + length * moved, width)
        if 0.5 * alpha * (there @ there) + found.smooth <= here + 1e-4 * length * slope:
            return there, scores + length * moved, found, False
        length *= 0.5
    return w, scores, value, True


def _sharper(value, width, tol):
    return max(_SHARPEN**2 * width, width * math.sqrt(0.25 * tol * value.loss / max(value.slack, 1e-300)))


def _sample(positive, size, rng):
    """About `size` rows in order, a like share of either class but at least as many of the rarer as can be had."""
    groups = np.flatnonzero(positive), np.flatnonzero(~positive)
    return np.sort(np.concatenate([rng.permutation(rows)[: max(size // 2, size * len(rows) // len(positive))] for rows in groups]))


def _newton(X, positive, weight, risk, rng):
    d = X.shape[1]
    if issparse(X) or d > _DIRECT:
        return lambda w, scores, value, gradient, alpha, width: _conjugate_gradients(
            lambda p: alpha * p + X.T @ risk.curve(value, X @ p, width), gradient
        )
    cap = max(500_000 // d, 20 * d)
    rows = _sample(positive, 2 * cap, rng) if len(positive) > 2 * cap else np.arange(len(positive))
    sampled = PairRisk(positive[rows], None if weight is None else weight[rows], risk.squared)
    Z = X[rows].astype(float)
    Z -= Z.mean(axis=0)

    def direction(w, scores, value, gradient, alpha, width):
        if len(rows) < len(positive):
            value = sampled(scores[rows], width)
        H = sampled.hessian(value, Z, width)
        H[np.diag_indices(d)] += alpha
        return -cho_solve(cho_factor(H, overwrite_a=True), gradient)

    return direction


def _conjugate_gradients(product, gradient, accuracy=0.1, max_iter=250):
    x, r = np.zeros_like(gradient), -gradient
    p, rr = r.copy(), r @ r
    goal = accuracy**2 * rr
    for _ in range(max_iter):
        q = product(p)
        a = rr / (p @ q)
        x += a * p
        r -= a * q
        rr, old = r @ r, rr
        if rr <= goal:
            break
        p = r + (rr / old) * p
    return x
