"""FSCRF, ReliefF and consistency straight from their equations: explicit neighbors, one row and one class at a time."""

from collections import Counter, defaultdict

import numpy as np


def subset_score(values, nominal, y, subset, queries, k, norm="sum"):
    """W(S) of FSCRF; `values` are scaled, NaN is missing."""
    classes, counts = np.unique(y, return_counts=True)
    share = dict(zip(classes, counts / len(y)))
    total = 0.0
    for q in queries:
        for c in classes:
            rows = np.flatnonzero((y == c) & (np.arange(len(y)) != q))
            if rows.size == 0:
                continue
            squared = np.zeros(len(rows))
            for f in subset:
                a, b = values[q, f], values[rows, f]
                diff = (a != b).astype(float) if nominal[f] else np.abs(a - b)
                diff[np.isnan(b) | np.isnan(a)] = 1.0
                squared += diff**2
            if norm == "rms":
                squared /= len(subset)
            near = np.sort(np.sqrt(squared))[:k].mean()
            total += -near if c == y[q] else share[c] / (1 - share[y[q]]) * near
    return total / len(queries)


def forward_search(values, nominal, y, queries, k, most, norm="sum"):
    path, scores = [], []
    while len(path) < most:
        rest = [f for f in range(values.shape[1]) if f not in path]
        tried = np.array([subset_score(values, nominal, y, [*path, f], queries, k, norm) for f in rest])
        best = int(np.flatnonzero(tried >= tried.max() - 1e-12)[0])
        if scores and tried[best] <= scores[-1] + 1e-12:
            break
        path.append(rest[best])
        scores.append(tried[best])
    return path, scores


def difference(a, b, n_values):
    if n_values:
        return 1 - 1 / n_values if np.isnan(a) or np.isnan(b) else float(a != b)
    if np.isnan(a) and np.isnan(b):
        return 1.0
    if np.isnan(a) or np.isnan(b):
        known = b if np.isnan(a) else a
        return max(known, 1 - known)
    return abs(a - b)


def relieff(values, n_values, y, k):
    n, d = values.shape
    classes, counts = np.unique(y, return_counts=True)
    share = dict(zip(classes, counts / n))
    weights = np.zeros(d)
    for q in range(n):
        for c in classes:
            rows = [j for j in range(n) if y[j] == c and j != q]
            if not rows:
                continue
            diffs = np.array([[difference(values[q, f], values[j, f], n_values[f]) for f in range(d)] for j in rows])
            distance = np.zeros(len(rows))
            for f in range(d):  # in the order of the columns: ties are then the same
                distance += diffs[:, f]
            near = np.argsort(distance, kind="stable")[:k]
            factor = -1.0 if c == y[q] else share[c] / (1 - share[y[q]])
            weights += factor * diffs[near].mean(axis=0)
    return weights / n


def inconsistency(codes, y, subset):
    groups = defaultdict(Counter)
    for i, c in enumerate(y):
        groups[tuple(codes[f][i] for f in subset)][c] += 1
    return sum(sum(g.values()) - max(g.values()) for g in groups.values()) / len(y)
