"""Upper bound of the class prior."""

import math

import numpy as np
import scipy.sparse as sp

from fewlabel.prior._rows import mean_and_variance, subsample


def largest_prior(X, positive, confidence=0.99):
    r"""Compute the largest prior that is consistent with the columns, at the given confidence.

    The unlabeled rows contain a share :math:`\pi` of positives, so in any interval :math:`\pi F_P \le F_U`. The bound
    uses both tails of every column and of the projection of the rows on the difference of the means, each with the
    Dvoretzky-Kiefer-Wolfowitz inequality [1]_.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The rows. Columns with missing values are ignored, because the values may be missing for a reason.
    positive : ndarray of bool of shape (n_samples,)
        The labeled positives; all other rows are unlabeled.
    confidence : float, default=0.99
        Probability that the bound holds.

    Returns
    -------
    float
        The bound; 1 if every prior is possible.

    References
    ----------
    .. [1] Massart, P. "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality." The Annals of Probability
       18(3), 1990.

    Examples
    --------
    >>> from fewlabel.datasets import make_pu
    >>> from fewlabel.prior import largest_prior
    >>> X, y, true = make_pu(4000, prior=0.2, labeled=400, separation=4.0, return_true=True, random_state=0)
    >>> print(f"{true[y == -1].mean():.2f} <= {largest_prior(X, y == 1):.2f}")
    0.11 <= 0.17
    """
    rng = np.random.RandomState(0)
    P, U = (subsample(X[rows], rng) for rows in (positive, ~positive))
    views = [(P @ w, U @ w) for w in _directions(P, U)]
    if not sp.issparse(P):
        views += [(P[:, e], U[:, e]) for e in range(P.shape[1])]
    log_chance = math.log(2 * 2 * max(len(views), 1) / (1 - confidence))
    complete = [(p, u) for p, u in views if not (np.isnan(p).any() or np.isnan(u).any())]
    return min((_bound(p, u, log_chance) for p, u in complete), default=1.0)


def _bound(p, u, log_chance):
    """Bound from one column: its values in the positives and in the unlabeled rows."""
    n_p, n_u = len(p), len(u)
    p_bar, u_bar = math.sqrt(log_chance / (2 * n_p)), math.sqrt(log_chance / (2 * n_u))
    p, u = np.sort(p), np.sort(u)
    below_p, below_u = np.arange(1, n_p + 1) / n_p, np.searchsorted(u, p, side="right") / n_u
    above_p, above_u = 1 - np.arange(n_p) / n_p, 1 - np.searchsorted(u, p, side="left") / n_u
    bound = 1.0
    for q_p, q_u in ((below_p, below_u), (above_p, above_u)):
        large = q_p > p_bar
        if large.any():
            bound = min(bound, float(np.min((q_u[large] + u_bar) / (q_p[large] - p_bar))))
    return bound


def _directions(P, U):
    """The difference of the means in units of the variance; empty if a value is missing."""
    (mean_p, _), (mean_u, variance) = mean_and_variance(P), mean_and_variance(U)
    w = (mean_p - mean_u) / np.where(variance > 0, variance, np.inf)
    return [w] if np.isfinite(w).all() else []
