"""The score at which a row is as probable as wanted."""

import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit


def crossing(scores, positive, size, prior, wanted, positives_only):
    """Score at which the log-odds of a positive are as wanted, for a share of `prior` positives.

    The log-odds f are linear on either side of the mean score and minimize a sum of
    ``hold * log(1 + exp(f)) - pull * f``: the logistic loss or, from positives and unlabeled rows, its unbiased
    estimate (du Plessis, Niu, Sugiyama. Convex formulation for learning from positive and unlabeled data. ICML, 2015).
    """
    center = float(np.mean(scores))
    scale = float(np.std(scores))
    if not scale > 0:
        return float(scores[0]) if wanted >= logit(prior) else float(np.nextafter(scores[0], -np.inf))
    z = (scores - center) / scale
    counts = np.where(positive, size[positive].sum(), size[~positive].sum())
    share = size / counts
    if positives_only:
        hold = np.where(positive, 0.0, share)
        pull = np.where(positive, prior * share, 0.0)
        # The loss has no lower bound where the groups are separable.
        steepest = math.log1p(len(z)) / np.abs(z).max()
    else:
        hold = np.where(positive, prior, 1 - prior) * share
        # Platt's targets instead of 1 and 0: slopes stay finite.
        pull = hold * np.where(positive, (counts + 1) / (counts + 2), 1 / (counts + 2))
        steepest = None
    left_z = np.minimum(z, 0.0)
    right_z = np.maximum(z, 0.0)

    def loss(parameters):
        left, right, middle = parameters
        log_odds = left * left_z + right * right_z + middle
        slope = hold * expit(log_odds) - pull
        # Without the penalty, a side with few rows would get any slope.
        bend = (right - left) / len(z)
        value = -hold @ log_expit(-log_odds) - pull @ log_odds + bend * (right - left) / 2
        return value, np.array([slope @ left_z - bend, slope @ right_z + bend, slope.sum()])

    bounds = [(1e-3, steepest), (1e-3, steepest), (None, None)]
    slope = min(1.0, steepest or 1.0)
    start = [slope, slope, logit(prior)]
    solution = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9})
    left, right, middle = solution.x
    distance = (wanted - middle) / (left if wanted < middle else right)
    return float(center + scale * distance)
