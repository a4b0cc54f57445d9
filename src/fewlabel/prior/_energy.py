"""The prior by energy distances, from labeled rows of both classes (Kawakubo, du Plessis and Sugiyama 2016)."""

import numpy as np
from sklearn.metrics import pairwise_distances

from fewlabel.exceptions import LabelError
from fewlabel.prior._rows import dense, has_missing, mean_and_variance

_SAMPLE = 2000
_N_BOOTSTRAP = 60


def energy(X, signs, weight, rng):
    """Find the mixture of positives and negatives with the smallest energy distance to the unlabeled rows.

    Returns
    -------
    prior, low, high : float
        The estimate, and the ends of a 90% bootstrap interval.
    """
    if not (signs == 0).any():
        raise LabelError("every row is labeled, but method='energy' needs unlabeled rows to compare with: mark some -1")
    if has_missing(X):
        raise ValueError("X holds missing values, which method='energy' does not take: fill them in first")
    groups = []
    for sign in (1, 0, -1):
        rows = np.flatnonzero(signs == sign)
        groups.append(rows[rng.permutation(len(rows))[:_SAMPLE]])
    _, variance = mean_and_variance(X)
    # Distances add up over the columns: each gets the same scale.
    scale = np.sqrt(np.maximum(variance, 1e-300))
    P, U, N = (dense(X[rows]) / scale for rows in groups)
    pairs = {"pn": (P, N), "pp": (P, P), "nn": (N, N), "un": (U, N), "up": (U, P)}
    distances = {name: pairwise_distances(*pair) for name, pair in pairs.items()}
    weights = [weight[rows] / weight[rows].sum() for rows in groups]
    draws = []
    for _ in range(_N_BOOTSTRAP):
        redrawn = [_redraw(group, rng) for group in weights]
        draws.append(_mixture(distances, *redrawn))
    low, high = np.quantile(draws, [0.05, 0.95]).tolist()
    return _mixture(distances, *weights), low, high


def _mixture(distances, p, u, n):
    """Share of positives in the nearest mixture, from the weights of the rows of each group."""
    p = p / p.sum()
    u = u / u.sum()
    n = n / n.sum()
    pn = p @ distances["pn"] @ n
    un = u @ distances["un"] @ n
    up = u @ distances["up"] @ p
    # Within a class only the distances of two different rows count: the diagonal is 0.
    pp = p @ distances["pp"] @ p / max(1.0 - p @ p, 1e-300)
    nn = n @ distances["nn"] @ n / max(1.0 - n @ n, 1e-300)
    apart = 2 * pn - pp - nn
    # The classes do not differ in energy distance, so that every mixture is as near.
    if apart <= 0:
        return 0.5
    return float(np.clip((pn - nn + un - up) / apart, 0.0, 1.0))


def _redraw(weight, rng):
    """Return the weights of a bootstrap sample: each is multiplied by how many times its row was drawn."""
    n = len(weight)
    return weight * rng.multinomial(n, np.full(n, 1 / n))
