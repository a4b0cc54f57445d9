"""SAMME and SSMAB's loop with explicit vector codes, straight from the cost."""

import numpy as np
from sklearn.base import clone


def code(y, n_classes):
    Y = np.full((len(y), n_classes), -1.0 / (n_classes - 1))
    Y[np.arange(len(y)), y] = 1.0
    return Y


def fit(X, y, weight, base, n_rounds, n_classes):
    """Weights of each round from the cost exp(-y.H / K) of the coded sum; gives the votes and the costs."""
    Y, H = code(y, n_classes), np.zeros((len(y), n_classes))
    first, betas, costs = weight / weight.sum(), [], [1.0]
    for _ in range(n_rounds):
        w = first * np.exp(-(Y * H).sum(axis=1) / n_classes)
        w /= w.sum()
        predicted = clone(base).fit(X, y, sample_weight=w * len(w)).predict(X)
        error = w[predicted != y].sum()
        if error >= (n_classes - 1) / n_classes - 1e-12:
            break
        error = max(error, 1e-10)
        beta = (n_classes - 1) ** 2 / n_classes * (np.log((1 - error) / error) + np.log(n_classes - 1))
        H = H + beta * code(predicted, n_classes)
        betas.append(beta)
        costs.append(float(first @ np.exp(-(Y * H).sum(axis=1) / n_classes)))
        if error <= 1e-10:
            break
    return np.array(betas), np.array(costs), H
