"""Slow gradient boosting of symmetric trees from the equations: explicit pairs, every cut, both places for NaN."""

import numpy as np

from reference.stumps import midpoints

TIE = 1e-7  # relative


def pair_terms(signs, weight, gamma):
    """(better rows, worse rows, weight of each pair) of all kinds of pairs, as the objective J has them."""
    P, U, N = (np.flatnonzero(signs == s) for s in (1, 0, -1))
    unit = {s: weight[signs == s] / weight[signs == s].sum() for s in (1, 0, -1) if (signs == s).any()}
    gamma = gamma if len(U) else 1.0
    size = weight[signs != 0].sum()
    terms = [(P, N, gamma * np.outer(unit[1], unit[-1]))]
    if gamma < 1:
        c = (1 - gamma) / 2
        terms += [(P, U, c * np.outer(unit[1], unit[0])), (U, N, c * np.outer(unit[0], unit[-1]))]
    return [(better, worse, 0.5 * size * pairs) for better, worse, pairs in terms]


def objective(f, terms, loss):
    total = 0.0
    for better, worse, pairs in terms:
        z = f[better][:, None] - f[worse][None]
        total += (pairs * (np.exp(-z) if loss == "exponential" else np.logaddexp(0, -z))).sum()
    return total


def derivatives(f, terms, loss):
    """Negative gradient and diagonal of the Hessian of the objective."""
    g, h = np.zeros(len(f)), np.zeros(len(f))
    for better, worse, pairs in terms:
        z = f[better][:, None] - f[worse][None]
        if loss == "exponential":
            slope = curvature = pairs * np.exp(-z)
        else:
            wrong = 1 / (1 + np.exp(z))
            slope, curvature = pairs * wrong, pairs * wrong * (1 - wrong)
        g[better] += slope.sum(1)
        g[worse] -= slope.sum(0)
        h[better] += curvature.sum(1)
        h[worse] += curvature.sum(0)
    return g, h


def candidates(X):
    """All splits in the order of the tie-break: column, cut, missing values down before up."""
    for e in range(X.shape[1]):
        x = X[:, e]
        missing = np.isnan(x)
        for theta in midpoints(x):
            for missing_up in (False, True) if missing.any() else (None,):
                yield (e, theta, missing_up), np.where(missing, bool(missing_up), x > theta)
        if missing.any():
            yield (e, np.inf, True), missing


def score(leaf, g, h, l2):
    total = 0.0
    for at in np.unique(leaf):
        rows = leaf == at
        if h[rows].sum() + l2 > 0:
            total += g[rows].sum() ** 2 / (h[rows].sum() + l2)
    return np.sqrt(total)


def boost(X, signs, weight, *, n_estimators, max_depth, learning_rate, l2, loss, gamma):
    """A dict of splits, leaf values (of leaves with rows) and scores for each round."""
    weight = np.ones(len(signs)) if weight is None else weight
    rows = np.arange(len(signs)) if gamma < 1 else np.flatnonzero(signs)
    terms = pair_terms(signs, weight, gamma)
    splits = [(split, up[rows]) for split, up in candidates(X)]
    f = np.zeros(len(signs))
    rounds = []
    for _ in range(n_estimators):
        g, h = (d[rows] for d in derivatives(f, terms, loss))
        if not splits or np.abs(g).sum() == 0:
            break
        leaf, found = np.zeros(len(rows), dtype=int), []
        for _ in range(max_depth):
            scores = [score(2 * leaf + up, g, h, l2) for _, up in splits]
            best = next(i for i, s in enumerate(scores) if s >= max(scores) * (1 - TIE))
            found.append(splits[best][0])
            leaf = 2 * leaf + splits[best][1]
        values = {at: learning_rate * g[leaf == at].sum() / (h[leaf == at].sum() + l2) for at in np.unique(leaf)}
        f[rows] += np.array([values[at] for at in leaf])
        rounds.append({"splits": found, "values": values, "scores": f.copy(), "objective": objective(f, terms, loss)})
    return rounds
