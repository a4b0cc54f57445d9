"""Scores of column subsets by the neighbors of rows, as in Relief, with incremental distances.

Rows are sorted by class; class c is rows ``starts[c]:starts[c + 1]``. A column is numeric, scaled to [0, 1], or
nominal, with codes; NaN is a missing value in both.
"""

import math

import numpy as np

from fewlabel.jit import njit


@njit(cache=True, nogil=True)
def add_column(column, nominal, queries, squared):
    """Add a column's squared differences from the query rows to `squared`, of shape (n_queries, n_rows), in place."""
    for i in range(queries.size):
        a = column[queries[i]]
        for j in range(column.size):
            squared[i, j] += _squared_difference(a, column[j], nominal)


@njit(cache=True, nogil=True)
def _class_weight(starts, query, c):
    """Weight of the mean distance from a query row to class c: -1 for its own, else its share of the other rows."""
    own = np.searchsorted(starts, query, side="right") - 1
    if c == own:
        return -1.0
    n_others = starts[-1] - (starts[own + 1] - starts[own])
    return (starts[c + 1] - starts[c]) / n_others


@njit(cache=True, nogil=True)
def subset_scores(columns, nominal, candidates, starts, queries, squared, n_neighbors):
    r"""Sum miss - hit over the query rows, for the current subset with each candidate column added to it.

    Adding a column can only increase a squared distance. Rows are therefore visited by their distance in the current
    subset, and the rest of a class is skipped once one of them is beyond the k-th neighbor.

    Parameters
    ----------
    columns : ndarray of shape (n_features, n_rows)
        All columns.
    nominal : ndarray of shape (n_features,), bool
        Which of them are nominal.
    candidates : ndarray of int64
        The columns to try.
    starts : ndarray of shape (n_classes + 1,), int64
        First row of each class, and the number of rows.
    queries : ndarray of int64
        Positions of the query rows.
    squared : ndarray of shape (n_queries, n_rows)
        Squared distances in the current subset.
    n_neighbors : int
        Number of neighbors in each class, or as many as the class has.

    Returns
    -------
    ndarray of shape (len(candidates),)
        The score of each candidate.
    """
    nearest = np.empty(n_neighbors)
    total = np.zeros(candidates.size)
    for i in range(queries.size):
        query = queries[i]
        for c in range(starts.size - 1):
            # The nearest first: a candidate column can only make a row farther.
            order = starts[c] + np.argsort(squared[i, starts[c] : starts[c + 1]])
            weight = _class_weight(starts, query, c)
            for k in range(candidates.size):
                column = columns[candidates[k]]
                n_nearest = _nearest(column, query, nominal[candidates[k]], squared[i], order, nearest)
                if n_nearest:
                    mean = 0.0
                    for m in range(n_nearest):
                        mean += math.sqrt(nearest[m])
                    total[k] += weight * (mean / n_nearest)
    return total


@njit(cache=True, nogil=True)
def _squared_difference(a, b, nominal):
    if nominal:
        # NaN differs from every value, including NaN.
        return 1.0 if a != b else 0.0
    d = (a - b) * (a - b)
    return d if d == d else 1.0


@njit(cache=True, nogil=True)
def _insert(nearest, n_nearest, d):
    """Insert d into the sorted list, which holds at most ``nearest.size`` values; returns its length."""
    place = min(n_nearest, nearest.size - 1)
    while place > 0 and nearest[place - 1] > d:
        nearest[place] = nearest[place - 1]
        place -= 1
    nearest[place] = d
    return min(n_nearest + 1, nearest.size)


@njit(cache=True, nogil=True)
def _nearest(column, query, nominal, squared, order, nearest):
    """Fill `nearest` with the smallest squared distances, ascending; returns their number."""
    n_nearest = 0
    worst = np.inf
    for j in order:
        # No later row is nearer.
        if squared[j] >= worst:
            break
        if j == query:
            continue
        d = squared[j] + _squared_difference(column[query], column[j], nominal)
        if d < worst:
            n_nearest = _insert(nearest, n_nearest, d)
            if n_nearest == nearest.size:
                worst = nearest[n_nearest - 1]
    return n_nearest


@njit(cache=True, nogil=True)
def relief_weights(table, n_values, starts, queries, n_neighbors):
    """Sum ReliefF's update of each column weight over the query rows.

    Neighbors minimize the sum of the differences of the columns; among equally near rows the first are used.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_features)
        The rows.
    n_values : ndarray of shape (n_features,), int64
        Number of values of a nominal column, 0 for a numeric one.
    starts, queries, n_neighbors
        As in `subset_scores`.

    Returns
    -------
    ndarray of shape (n_features,)
        The sum of the updates of each column.
    """
    n_rows, n_features = table.shape
    distances = np.empty(n_rows)
    nearest = np.empty(n_neighbors, dtype=np.int64)
    weights = np.zeros(n_features)
    for query in queries:
        for j in range(n_rows):
            d = 0.0
            for f in range(n_features):
                d += _difference(table[query, f], table[j, f], n_values[f])
            distances[j] = d
        for c in range(starts.size - 1):
            n_nearest = _nearest_rows(distances, starts[c], starts[c + 1], query, nearest)
            if n_nearest == 0:
                continue
            weight = _class_weight(starts, query, c) / n_nearest
            for m in range(n_nearest):
                for f in range(n_features):
                    weights[f] += weight * _difference(table[query, f], table[nearest[m], f], n_values[f])
    return weights


@njit(cache=True, nogil=True)
def _difference(a, b, n_values):
    """Difference of two values as in Weka, with the expected difference if a value is missing."""
    if n_values > 0:
        if a != a or b != b:
            return 1.0 - 1.0 / n_values
        return 1.0 if a != b else 0.0
    d = abs(a - b)
    if d == d:
        return d
    if a == a:
        return max(a, 1.0 - a)
    if b == b:
        return max(b, 1.0 - b)
    return 1.0


@njit(cache=True, nogil=True)
def _nearest_rows(distances, start, stop, query, nearest):
    n_nearest = 0
    for j in range(start, stop):
        if j == query or (n_nearest == nearest.size and distances[j] >= distances[nearest[n_nearest - 1]]):
            continue
        place = min(n_nearest, nearest.size - 1)
        while place > 0 and distances[nearest[place - 1]] > distances[j]:
            nearest[place] = nearest[place - 1]
            place -= 1
        nearest[place] = j
        n_nearest = min(n_nearest + 1, nearest.size)
    return n_nearest
