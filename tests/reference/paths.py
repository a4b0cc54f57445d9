"""Path costs straight from the definitions: a run of Dijkstra for each pair, exponentials with all their digits."""

from decimal import Decimal, localcontext

import numpy as np


def graph(X, k, directed, metric="euclidean"):
    """Edges {row: {row: length}} of the k nearest other rows; both ways unless `directed`."""
    edges = {i: {} for i in range(len(X))}
    for i in range(len(X)):
        lengths = [length(X[i], x, metric) for x in X]
        others = sorted((j for j in range(len(X)) if j != i), key=lambda j: (lengths[j], j))
        for j in others[:k]:
            edges[i][j] = lengths[j]
            if not directed:
                edges[j][i] = lengths[j]
    return edges


def length(a, b, metric):
    if metric == "cosine":
        return float(1 - a @ b / np.sqrt((a @ a) * (b @ b)))
    return float(np.sqrt(((a - b) ** 2).sum()))


def cheapest(edges, start, end, value):
    """Cost and edges of the path from start to end whose values sum to least; None if there is none."""
    costs, paths, done = {start: value(None)}, {start: []}, set()
    while True:
        waiting = [i for i in costs if i not in done]
        if not waiting:
            return None
        i = min(waiting, key=lambda i: costs[i])
        if i == end:
            return costs[i], paths[i]
        done.add(i)
        for j, d in edges[i].items():
            cost = costs[i] + value(d)
            if j not in costs or cost < costs[j]:
                costs[j], paths[j] = cost, [*paths[i], d]


def labels(edges, codes, cost, path, delta):
    """For each row: cost (a Decimal, None if unreachable) and code of the labeled row it takes its class from."""
    lengths = {d for ends in edges.values() for d in ends.values()}
    with localcontext() as context:
        # As many digits as tell the longest edge's exponential with an edge of length 0 added to it.
        context.prec = 30 if cost == "length" else int(max(lengths) / delta / np.log(10)) + 30
        plain = {None: Decimal(0)} | {d: Decimal(d) for d in lengths}
        if cost == "exponential":
            exponential = {None: Decimal(0)} | {d: (Decimal(d) / Decimal(delta)).exp() for d in lengths}
        value = exponential if cost == "exponential" and path == "cheapest" else plain
        results = []
        for i, code in enumerate(codes):
            if code >= 0:
                results.append((Decimal(0), int(code)))
                continue
            best = (None, -1)
            for j in np.flatnonzero(codes >= 0):
                found = cheapest(edges, i, j, value.__getitem__)
                if found is None:
                    continue
                total = sum(exponential[d] for d in found[1]) if cost == "exponential" else found[0]
                if best[0] is None or total < best[0]:
                    best = (total, int(codes[j]))
            results.append(best)
        return results


def log(value):
    with localcontext() as context:
        context.prec = 50
        return float(value.ln()) if value else -np.inf
