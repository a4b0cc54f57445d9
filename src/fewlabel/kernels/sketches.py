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
    n = numbers.size
    is_weighted = weight.size > 0
    n_distinct = min(n, 1)
    for i in range(1, n):
        n_distinct += numbers[i] != numbers[i - 1]
    total = 0.0 if is_weighted else float(n)
    for i in range(weight.size):
        total += weight[i]
    keeps_all = n_distinct <= points
    values = np.empty(min(n_distinct, points), numbers.dtype)
    counts = np.empty(min(n_distinct, points))
    step = total / points
    reached = 0.0
    before = 0.0
    part = 1
    n_kept = 0
    i = 0
    while i < n:
        if not (keeps_all or is_weighted):  # go to the end of the part at once
            end = int(np.ceil(_end_of_part(part, points, step, total)))
            i = min(max(i, end - 1), n - 1)
        reached = reached + weight[i] if is_weighted else i + 1.0
        i += 1
        if i < n and numbers[i] == numbers[i - 1]:
            continue
        if keeps_all or (part <= points and reached >= _end_of_part(part, points, step, total)):
            values[n_kept] = numbers[i - 1]
            counts[n_kept] = reached - before
            before = reached
            n_kept += 1
            # A heavy number can end several parts.
            while part <= points and _end_of_part(part, points, step, total) <= reached:
                part += 1
    return values[:n_kept], counts[:n_kept]


@njit(cache=True, nogil=True)
def _end_of_part(part, points, step, total):
    """Weight up to the end of one of `points` equal parts."""
    return total if part >= points else part * step


@njit(cache=True, nogil=True)
def interleave(values, counts, other_values, other_counts):
    """Merge two sketches into sorted numbers and their weights, equal ones one after another."""
    n = values.size
    m = other_values.size
    numbers = np.empty(n + m, values.dtype)
    weight = np.empty(n + m)
    i = 0
    j = 0
    for k in range(n + m):
        if j == m or (i < n and values[i] <= other_values[j]):
            numbers[k] = values[i]
            weight[k] = counts[i]
            i += 1
        else:
            numbers[k] = other_values[j]
            weight[k] = other_counts[j]
            j += 1
    return numbers, weight
