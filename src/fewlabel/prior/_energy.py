"""The prior by energy distances, from labeled rows of both classes (Kawakubo, du Plessis and Sugiyama 2016)."""

import numpy as np
from sklearn.metrics import pairwise_distances

from fewlabel.exceptions import LabelError
from fewlabel.prior._rows import dense, has_missing, mean_and_variance

_SAMPLE = 2000
_N_BOOTSTRAP = 60


def energy(X, signs, rng, weight=None):
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
    weight = np.ones(len(signs)) if weight is None else weight
    groups = [np.flatnonzero(signs == sign) for sign in (1, 0, -1)]
    groups = [rows[rng.permutation(len(rows))[:_SAMPLE]] for rows in groups]
    scale = np.sqrt(np.maximum(mean_and_variance(X)[1], 1e-300))
    P, U, N = (dense(X[rows]) / scale for rows in groups)
    shares = [weight[rows] / weight[rows].sum() for rows in groups]
    pairs = {"pn": (P, N), "pp": (P, P), "nn": (N, N), "un": (U, N), "up": (U, P)}
    distances = {name: pairwise_distances(*pair) for name, pair in pairs.items()}
    drawn = [[_redraw(share, rng) for share in shares] for _ in range(_N_BOOTSTRAP)]
    low, high = np.quantile([_mixture(distances, *redrawn) for redrawn in drawn], [0.05, 0.95])
    return _mixture(distances, *shares), float(low), float(high)


def _mixture(distances, p, u, n):
    """Share of positives in the nearest mixture, from the weights of the rows of each group."""
    pn, un, up = p @ distances["pn"] @ n, u @ distances["un"] @ n, u @ distances["up"] @ p
    # Distances of two different rows.
    pp, nn = (s @ distances[name] @ s / max(1.0 - s @ s, 1e-300) for name, s in (("pp", p), ("nn", n)))
    apart = 2 * pn - pp - nn
    return float(np.clip((pn - nn + un - up) / apart, 0.0, 1.0)) if apart > 0 else 0.5


def _redraw(share, rng):
    """Weights of a bootstrap sample."""
    drawn = share * rng.multinomial(len(share), np.full(len(share), 1 / len(share)))
    return drawn / drawn.sum()
