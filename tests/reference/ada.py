"""AdaBoost on positives, negatives and two copies of the unlabeled rows, with the copies made."""

import numpy as np

from reference.stumps import best


def fit(X, signs, *, gamma, scheme, learning_rate, n_rounds):
    rows, labels, weights = [], [], []

    def add(mask, label, total):
        if mask.any() and total > 0:
            rows.append(np.flatnonzero(mask))
            labels.append(np.full(mask.sum(), label))
            weights.append(np.full(mask.sum(), total / mask.sum()))

    P, U, N = signs > 0, signs == 0, signs < 0
    labeled, rest = gamma / 2, (1 - gamma) / 2
    p, u_plus, n, u_minus = (labeled, rest, labeled, rest) if scheme == "labeled" else (rest, labeled, labeled, rest)
    if not U.any():
        p = n = 0.5
    for mask, label, total in ((P, 1, p), (U, 1, u_plus), (N, -1, n), (U, -1, u_minus)):
        add(mask, label, total)
    rows, labels, weights = map(np.concatenate, (rows, labels, weights))
    Xc, initial, F = X[rows], weights.copy(), np.zeros(len(rows))
    rounds = []
    for _ in range(n_rounds):
        w = initial * np.exp(-labels * F)
        w /= w.sum()
        found = best(Xc, range(X.shape[1]), lambda fires: np.sum(w * labels * np.where(fires, 1, -1)))  # noqa: B023
        if found is None or found[2] <= 1e-12:
            break
        stump, fires, edge = found
        edge = min(edge, 1 - 1e-6)
        alpha = learning_rate * 0.5 * np.log((1 + edge) / (1 - edge))
        F = F + alpha * np.where(fires, 1, -1)
        rounds.append(dict(stump=stump, alpha=alpha, objective=np.sum(initial * np.exp(-labels * F))))
    return rounds
