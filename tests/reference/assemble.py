"""ASSEMBLE.AdaBoost row by row, straight from Bennett et al. (2002), with the margin of several classes."""

import math

import numpy as np
from sklearn.base import clone


def first_classes(X, known):
    """The class of the nearest labeled row, columns scaled to [0, 1]; of a labeled row its own."""
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    labeled = [i for i in range(len(X)) if known[i] >= 0]
    codes = []
    for i in range(len(X)):
        nearest = min(labeled, key=lambda j: math.dist(X[i], X[j]))
        codes.append(known[i] if known[i] >= 0 else known[nearest])
    return codes


def fit(X, known, base, n_rounds, n_classes, labeled_share=0.9):
    """Votes of the rounds, and F: the weighted votes of each row for each class."""
    n = len(X)
    n_labeled = sum(known[i] >= 0 for i in range(n))
    codes = first_classes(X, known)
    weights = [labeled_share / n_labeled if known[i] >= 0 else (1 - labeled_share) / (n - n_labeled) for i in range(n)]
    F = [[0.0] * n_classes for _ in range(n)]
    betas = []
    for _ in range(n_rounds):
        total = sum(weights)
        model = clone(base).fit(X, codes, sample_weight=np.array([w * n / total for w in weights]))
        predicted = [int(c) for c in model.predict(X)]
        error = sum(weights[i] for i in range(n) if predicted[i] != codes[i]) / total
        if error >= 0.5 or error <= 1e-10:
            break
        beta = 0.5 * math.log((1 - error) / error)
        betas.append(beta)
        for i in range(n):
            F[i][predicted[i]] += beta
        for i in range(n):
            if known[i] < 0:
                codes[i] = F[i].index(max(F[i]))
            rivals = [F[i][k] for k in range(n_classes) if k != codes[i]]
            weights[i] = math.exp(-(F[i][codes[i]] - max(rivals)))
    return np.array(betas), np.array(F)
