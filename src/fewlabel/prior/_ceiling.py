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
    0.11 <= 0.16
    """
    rng = np.random.RandomState(0)
    P = subsample(X[positive], rng)
    U = subsample(X[~positive], rng)
    mean_p, _ = mean_and_variance(P)
    mean_u, variance = mean_and_variance(U)
    direction = (mean_p - mean_u) / np.where(variance > 0, variance, np.inf)
    views = []
    # The direction is not finite if a value is missing.
    if np.isfinite(direction).all():
        views.append((P @ direction, U @ direction))
    if not sp.issparse(P):
        views += zip(P.T, U.T)
    # Two tails of two samples per view: the chances that any of these inequalities fails are added up.
    log_chance = math.log(4 * max(len(views), 1) / (1 - confidence))
    bound = 1.0
    for p, u in views:
        has_gaps = np.isnan(p).any() or np.isnan(u).any()
        if not has_gaps:
            bound = min(bound, _bound(p, u, log_chance))
    return bound


def _bound(p, u, log_chance):
    """Bound from one column: its values in the positives and in the unlabeled rows."""
    n_p = len(p)
    n_u = len(u)
    p_bar = math.sqrt(log_chance / (2 * n_p))
    u_bar = math.sqrt(log_chance / (2 * n_u))
    p = np.sort(p)
    u = np.sort(u)
    up_to_p = np.arange(1, n_p + 1) / n_p
    up_to_u = np.searchsorted(u, p, side="right") / n_u
    from_p = 1 - np.arange(n_p) / n_p
    from_u = 1 - np.searchsorted(u, p, side="left") / n_u
    bound = 1.0
    for q_p, q_u in ((up_to_p, up_to_u), (from_p, from_u)):
        large = q_p > p_bar
        ratios = (q_u[large] + u_bar) / (q_p[large] - p_bar)
        bound = float(ratios.min(initial=bound))
    return bound
