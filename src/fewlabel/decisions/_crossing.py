"""The score at which a row is as probable as wanted."""

import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit


def crossing(
    scores: np.ndarray, positive: np.ndarray, size: np.ndarray, prior: float, wanted: float, positives_only: bool
) -> float:
    """Score at which the log-odds of a positive are as wanted, for a share of `prior` positives.

    The log-odds f are linear on either side of the mean score and minimize a sum of
    ``hold * log(1 + exp(f)) - pull * f``: the logistic loss or, from positives and unlabeled rows, its unbiased
    estimate (du Plessis, Niu, Sugiyama. Convex formulation for learning from positive and unlabeled data. ICML, 2015).
    """
    center, scale = float(np.mean(scores)), float(np.std(scores))
    if not scale > 0:
        return float(scores[0]) if wanted >= logit(prior) else float(np.nextafter(scores[0], -np.inf))
    z = (scores - center) / scale
    counts = np.where(positive, size[positive].sum(), size[~positive].sum())
    if positives_only:
        hold, pull = np.where(positive, 0.0, size / counts), np.where(positive, prior * size / counts, 0.0)
        steepest = math.log1p(len(z)) / np.abs(z).max()  # the loss has no lower bound where the groups are separable
    else:
        hold = np.where(positive, prior, 1 - prior) * size / counts
        pull = hold * np.where(positive, (counts + 1) / (counts + 2), 1 / (counts + 2))  # Platt's: finite slopes
        steepest = None
    left_side = z < 0

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        left, right, middle = parameters
        log_odds = np.where(left_side, left, right) * z + middle
        bend = right - left
        slope = hold * expit(log_odds) - pull
        parts = [slope[left_side] @ z[left_side], slope[~left_side] @ z[~left_side], slope.sum()]
        value = -hold @ log_expit(-log_odds) - pull @ log_odds
        return value + bend**2 / (2 * len(z)), np.array(parts) + np.array([-bend, bend, 0.0]) / len(z)

    bounds = [(1e-3, steepest), (1e-3, steepest), (None, None)]
    start = [min(1.0, steepest or 1.0)] * 2 + [logit(prior)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9})
    left, right, middle = found.x
    distance = (wanted - middle) / (left if wanted < middle else right)
    return float(center + scale * distance)
