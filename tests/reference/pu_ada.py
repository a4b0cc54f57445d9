"""Ada-PU with the three weight sets made explicit, straight from the definitions: error, guards, step, stop."""

import numpy as np

from reference.stumps import candidates

TOLERANCE = 1e-12


def weights(H, positive, prior, weight, correction=1.0):
    """(P as positives, P as negatives, U as negatives), of which the second set is negative."""
    p, u = (np.where(group, weight, 0.0) for group in (positive, ~positive))
    p, u = p / p.sum(), u / u.sum()
    return prior * p * np.exp(-H), -correction * prior * p * np.exp(H), u * np.exp(H)


def fit(
    X,
    positive,
    *,
    prior,
    weight=None,
    learning_rate,
    n_rounds,
    max_step,
    stop_risk,
    non_negative,
    draw,
    correction=1.0,
    start=0.0,
    separate=False,
):
    """`draw(t, e)` gives the thresholds of a column that may be looked at in round t; None for all."""
    weight = np.ones(len(X)) if weight is None else weight
    H, rounds = np.full(len(X), start), []
    for t in range(n_rounds):
        plus, minus, unlabeled = weights(H, positive, prior, weight, correction)
        if not separate and minus.sum() + unlabeled.sum() <= stop_risk * (1 - correction * prior) * np.exp(start):
            break
        if separate:  # each set has its first size again
            first = weights(np.zeros(len(X)), positive, prior, weight, correction)
            plus, minus, unlabeled = (
                part * size.sum() / (part.sum() or 1.0) for part, size in zip((plus, minus, unlabeled), first)
            )
        Z = plus.sum() + minus.sum() + unlabeled.sum()
        tolerance = TOLERANCE * (plus.sum() - minus.sum() + unlabeled.sum())
        found = search(X, plus, minus, unlabeled, tolerance, non_negative, draw, t)
        found = found or search(X, plus, minus, unlabeled, tolerance, non_negative, None, t)
        if not found:
            break
        smallest = max(target for *_, target in found)
        stump, fires, error, _ = next(item for item in found if item[3] >= smallest - tolerance)
        epsilon = error / Z
        alpha = min(0.5 * np.log((1 - epsilon) / epsilon), max_step)
        step = learning_rate * alpha
        H = H + step * np.where(fires, 1, -1)
        risk = sum(part.sum() for part in weights(H, positive, prior, weight, correction))
        if separate:
            risk = np.exp(-step) * (rounds[-1]["objective"] if rounds else 1.0)
        rounds.append(dict(stump=stump, alpha=step, epsilon=epsilon, Z=Z, objective=risk))
    return rounds


def search(X, plus, minus, unlabeled, tolerance, non_negative, draw, t):
    Z = plus.sum() + minus.sum() + unlabeled.sum()
    found = []
    for stump, fires in candidates(X, range(X.shape[1])):
        e, theta, *_ = stump
        if draw is not None and np.isfinite(theta) and not np.isclose(draw(t, e), theta, rtol=1e-12, atol=0).any():
            continue
        on_negatives = np.sum((unlabeled + minus)[fires])
        error = np.sum(plus[~fires]) + on_negatives
        if not tolerance < error < 0.5 * Z - tolerance or (non_negative and on_negatives < -tolerance):
            continue
        found.append((stump, fires, error, Z - 2 * error))
    return found
