"""Slow stump search from the definitions: every column, every mid-point, both polarities, both places for NaN."""

import itertools

import numpy as np

TIE = 1e-12  # of all weight, which is one


def midpoints(values):
    """Mid-points of consecutive distinct values."""
    values = np.unique(values[~np.isnan(values)])
    return [0.5 * a + 0.5 * b for a, b in itertools.pairwise(values)]


def candidates(X, columns):
    """All stumps in the order of the tie-break: column, cut, missing values silent before firing, polarity."""
    for e in columns:
        x = X[:, e]
        has_missing = np.isnan(x).any()
        cuts = [(theta, missing) for theta in midpoints(x) for missing in ([False, True] if has_missing else [None])]
        if has_missing:
            cuts.append((np.inf, True))
        for theta, missing_above in cuts:
            above = np.where(np.isnan(x), bool(missing_above), x > theta)
            yield (e, theta, 1, missing_above), above
            yield (e, theta, -1, None if missing_above is None else not missing_above), ~above


def best(X, columns, edge):
    """The first stump whose edge is the largest, ties within 1e-12 of all weight."""
    found = [(stump, fires, edge(fires)) for stump, fires in candidates(X, columns)]
    if not found:
        return None
    largest = max(value for *_, value in found)
    return next(item for item in found if item[2] >= largest - TIE)
