r"""The probability of a positive by the score of a row, with its uncertainty.

The log-odds of a positive rise with :math:`z`, the log-odds of the rank of the score among the rows to decide on:
linearly between knots, of which there is one with few labels and more with many. Intercept, slope and changes of slope
have normal priors, and are drawn from the normal approximation of their posterior. Every figure of a threshold is a sum
of these probabilities over the rows to decide on, so that figures of the same rows always add up.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

N_DRAWS = 400
_MOST_ROWS = 2000  # rows to decide on that stand for all of them
_TOP_ROWS = 200  # of these, the highest ones: the top of the ranking is looked at most closely
# Over tables of several fields, intercept and slope had about these means; the deviations are wider.
_PRIOR_MEAN = (-1.5, 1.5)
_PRIOR_DEVIATION = (3.0, 1.5)
_DEVIATION_OF_CHANGES = 1.5  # of the slope at a knot
_LABELS_OF_A_KNOT = 3.0  # there are n^(1/3) / 3 knots, as many as keep bias and variance of a spline in balance
_INFLATION = 1.3  # of the posterior's deviations: the curve of a table is not exactly of this form
_LEAST_SLOPE = 0.02  # a higher score never means a lower probability
_N_STEPS = 60
_LARGEST_STEP = 2.0
_LEAST_PRIOR = 1e-6
_MOST_PRIOR = 0.999  # of what the purest score allows


class Rows(NamedTuple):
    """Rows that stand for all rows to decide on.

    Attributes
    ----------
    scores : ndarray of shape (n_kept,)
        Descending.
    counts : ndarray of shape (n_kept,)
        For how many rows each stands.
    """

    scores: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray) -> "Rows":
        """The highest rows, and evenly spaced ones of the others."""
        ordered = np.sort(scores)[::-1]
        n_rows = len(ordered)
        if n_rows <= _MOST_ROWS:
            return cls(ordered, np.ones(n_rows))
        edges = np.linspace(_TOP_ROWS, n_rows, _MOST_ROWS - _TOP_ROWS + 1).round().astype(int)
        middles = (edges[:-1] + edges[1:]) // 2
        kept = np.concatenate([np.arange(_TOP_ROWS), middles])
        counts = np.concatenate([np.ones(_TOP_ROWS), np.diff(edges)])
        return cls(ordered[kept], counts)


def response_draws(
    rows: Rows,
    positive: np.ndarray,
    scores: np.ndarray,
    size: np.ndarray,
    *,
    rng: np.random.Generator,
    prior: float | None = None,
    prior_interval: tuple[float, float] | None = None,
    positives_only: bool = False,
    ranked_among: Rows | None = None,
    n_draws: int = N_DRAWS,
) -> np.ndarray:
    """Draw the probability of a positive for each of the rows to decide on.

    Parameters
    ----------
    rows : Rows
    positive : ndarray of bool of shape (n_labeled,)
    scores : ndarray of shape (n_labeled,)
    size : ndarray of shape (n_labeled,)
        How much each labeled row counts; their sum is the effective number of rows.
    rng : Generator
    prior : float, default=None
        Share of positives among the rows to decide on, if it is known or estimated elsewhere.
    prior_interval : (float, float), default=None
        A 90% interval of the prior.
    positives_only : bool, default=False
        Whether rows that are not `positive` are unlabeled.
    ranked_among : Rows or None
        Rows whose ranks the curve is a function of; None for the rows to decide on.
    n_draws : int, default=400
        One gives the mode alone.

    Returns
    -------
    ndarray of shape (n_rows, n_draws)
        The first draw is the mode.
    """
    # Beyond the highest of n labeled rows nothing is known: ranks that they cannot tell apart count as equal.
    edge = 1 / (size.sum() + 2)
    ranked_among = ranked_among or rows
    position = _position(scores, ranked_among, edge)
    knots = _knots(position, positive, size)
    mean, covariance = _posterior(_basis(position, knots), positive, size)
    spread = _INFLATION * np.linalg.cholesky(covariance)
    drawn = mean + rng.normal(size=(n_draws, len(mean))) @ spread.T
    drawn[0] = mean  # estimates are at the mode, bands are quantiles of the draws
    slopes = np.maximum(np.cumsum(drawn[:, 1:], axis=1), _LEAST_SLOPE)
    drawn[:, 1:] = np.diff(slopes, axis=1, prepend=0.0)
    log_odds = _basis(_position(rows.scores, ranked_among, edge), knots) @ drawn.T
    purest = _purest(size[positive].sum(), n_draws, rng)
    if prior is None:
        return np.minimum(expit(log_odds), purest)
    if not positives_only:
        # Where classes were labeled at other rates, the purest score has other odds by the same factor.
        factor = logit(prior) - np.log(size[positive].sum() / size[~positive].sum())
        purest = expit(logit(purest) + factor)
    share = rows.counts / rows.counts.sum()
    priors = np.minimum(_prior_draws(prior, prior_interval, n_draws, rng), purest * _MOST_PRIOR)
    # From positives and unlabeled rows, the odds are proportional to the ratio of their densities, and so is the
    # probability of a positive: P(+ | z) = min(c r(z), 1), where c makes their mean equal to the prior.
    curve = _at_most_one if positives_only else expit
    shift = _solve(lambda shift: share @ np.minimum(curve(log_odds + shift), purest) > priors, len(priors))
    return np.minimum(curve(log_odds + shift), purest)


def _position(scores, rows, edge):
    """Log-odds of the rank of each score among rows; a tie counts one half."""
    ascending = rows.scores[::-1]
    below = np.concatenate([[0.0], np.cumsum(rows.counts[::-1])])
    left = below[np.searchsorted(ascending, scores, side="left")]
    right = below[np.searchsorted(ascending, scores, side="right")]
    return logit(np.clip((left + right) / (2 * below[-1]), edge, 1 - edge))


def _knots(position, positive, size):
    """Where the slope may change: quantiles of the labeled rows, of which each class has half of the weight."""
    n_knots = max(1, int(size.sum() ** (1 / 3) / _LABELS_OF_A_KNOT))
    weight = np.where(positive, size / size[positive].sum(), size / size[~positive].sum())
    order = np.argsort(position, kind="stable")
    reached = np.cumsum(weight[order]) / weight.sum()
    wanted = np.arange(1, n_knots + 1) / (n_knots + 1)
    places = np.minimum(np.searchsorted(reached, wanted), len(order) - 1)
    return np.unique(position[order][places])


def _basis(position, knots):
    """Intercept, slope, and one change of slope per knot."""
    changes = np.maximum(position[:, None] - knots, 0.0)
    return np.column_stack([np.ones(len(position)), position, changes])


def _posterior(basis, positive, size):
    """Mode and covariance of the parameters, by Newton's method; the penalty keeps the mode finite."""
    n_changes = basis.shape[1] - 2
    prior_mean = np.array([*_PRIOR_MEAN, *[0.0] * n_changes])
    precision = np.diag(np.array([*_PRIOR_DEVIATION, *[_DEVIATION_OF_CHANGES] * n_changes]) ** -2.0)
    parameters = prior_mean.copy()
    for _ in range(_N_STEPS):
        probability = expit(basis @ parameters)
        gradient = basis.T @ (size * (positive - probability)) - precision @ (parameters - prior_mean)
        curvature = (basis * (size * probability * (1 - probability))[:, None]).T @ basis + precision
        step = np.linalg.solve(curvature, gradient)
        longest = np.abs(step).max()
        # Far from the mode a full step may overshoot.
        parameters = parameters + step * min(1.0, _LARGEST_STEP / max(longest, 1e-300))
        if longest < 1e-9:
            break
    return parameters, np.linalg.inv(curvature)


def _prior_draws(prior, interval, n_draws, rng):
    """Draws of the prior: its log-odds have a normal distribution on either side, with the limits of the interval."""
    if interval is None:
        return np.full(n_draws, prior)
    low, middle, high = logit(np.clip([interval[0], prior, interval[1]], _LEAST_PRIOR, 1 - _LEAST_PRIOR))
    z = rng.normal(size=n_draws) / ndtri(0.95)
    z[0] = 0.0  # the first draw is the mode, which estimates are at
    return expit(middle + z * np.where(z < 0, middle - low, high - middle))


def _purest(n_positive, n_draws, rng):
    """Largest share of positives at any score, after all of n labeled positives were found there (Laplace's rule)."""
    drawn = 1 - rng.beta(1.0, n_positive + 1.0, size=n_draws)
    drawn[0] = 1 - 1 / (n_positive + 2)
    return drawn


def _at_most_one(log_odds):
    return np.exp(np.minimum(log_odds, 0.0))


def _solve(is_too_high, n_draws):
    """The number at which a rising function crosses its bound, for each draw, by bisection."""
    low = np.full(n_draws, -40.0)
    high = np.full(n_draws, 40.0)
    for _ in range(32):
        middle = (low + high) / 2
        too_high = is_too_high(middle)
        high = np.where(too_high, middle, high)
        low = np.where(too_high, low, middle)
    return (low + high) / 2
