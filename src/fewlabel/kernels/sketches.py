"""Sketches of sorted numbers: distinct values, or some of them, with the weight up to each."""

import numpy as np

from fewlabel.jit import njit

ROWS = np.empty(0)  # as `weight` of `compress`: every row counts 1


@njit(cache=True, nogil=True)
def take_columns(X, first, columns):
    """Copy the columns of `X` from `first` on to the rows of `columns`; row by row, as `X` is stored."""
    for i in range(X.shape[0]):
        for j in range(columns.shape[0]):
            columns[j, i] = X[i, first + j]


@njit(cache=True, nogil=True)
def compress(numbers, weight, points):
    """Sketch of sorted numbers, without NaN.

    With at most `points` distinct numbers all of them are kept. Otherwise the ones at which equal parts of the rows, or
    of their weight, end.

    Parameters
    ----------
    numbers : ndarray of shape (n,)
        Sorted in ascending order.
    weight : ndarray of shape (n,), float64
        Weights of the numbers; `ROWS` if each counts 1.
    points : int

    Returns
    -------
    values, counts : ndarray
        Numbers that are kept, and the weight above the previous one and at or below each.
    """
    n, is_weighted = numbers.size, weight.size > 0
    n_distinct = min(n, 1)
    for i in range(1, n):
        n_distinct += numbers[i] != numbers[i - 1]
    total = 0.0 if is_weighted else float(n)
    for i in range(weight.size):
        total += weight[i]
    every = n_distinct <= points
    values, counts = np.empty(min(n_distinct, points), numbers.dtype), np.empty(min(n_distinct, points))
    step, reached, before, part, kept, i = total / points, 0.0, 0.0, 1, 0, 0
    while i < n:
        if not (every or is_weighted):  # go to the end of the part at once
            i = min(max(i, int(np.ceil(_end_of_part(part, points, step, total))) - 1), n - 1)
        reached = reached + weight[i] if is_weighted else i + 1.0
        i += 1
        if i < n and numbers[i] == numbers[i - 1]:
            continue
        if every or (part <= points and reached >= _end_of_part(part, points, step, total)):
            values[kept], counts[kept] = numbers[i - 1], reached - before
            before, kept = reached, kept + 1
            while part <= points and _end_of_part(part, points, step, total) <= reached:
                part += 1
    return values[:kept], counts[:kept]


@njit(cache=True, nogil=True)
def _end_of_part(part, points, step, total):
    """Weight up to the end of one of `points` equal parts."""
    return total if part >= points else part * step


@njit(cache=True, nogil=True)
def interleave(values, counts, other_values, other_counts):
    """Merge two sketches into sorted numbers and their weights, equal ones one after another."""
    n, m = values.size, other_values.size
    numbers, weight = np.empty(n + m, values.dtype), np.empty(n + m)
    i = j = 0
    for k in range(n + m):
        if j == m or (i < n and values[i] <= other_values[j]):
            numbers[k], weight[k] = values[i], counts[i]
            i += 1
        else:
            numbers[k], weight[k] = other_values[j], other_counts[j]
            j += 1
    return numbers, weight
