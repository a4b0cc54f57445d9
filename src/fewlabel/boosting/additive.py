"""A sum of stumps as step functions, one per column."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np


class ShapeFunction(NamedTuple):
    """The contribution of one column to an additive score.

    Attributes
    ----------
    column : int
        Index of the column.
    name : str
        Its name.
    edges : ndarray of shape (m,)
        Where the function jumps.
    values : ndarray of shape (m + 1,)
        Value on each interval; the k-th is ``(edges[k - 1], edges[k]]``.
    missing : float
        Value where the column is missing.
    """

    column: int
    name: str
    edges: np.ndarray
    values: np.ndarray
    missing: float


def shape_functions(splits, values, names):
    """One `ShapeFunction` for each column in use; `names` are the names of all columns."""
    return [ShapeFunction(e, names[e], *function) for e, function in step_functions(splits, values).items()]


def column_names(model):
    """Names of the columns of a fitted model: those of the table, or x0, x1, ..."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{e}" for e in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def step_functions(splits, values):
    """Sum the stumps of each column: {column: (edges, values, value for missing)}, in the order of the columns.

    Parameters
    ----------
    splits : ndarray of shape (n_stumps,) of SPLIT
    values : ndarray of shape (n_stumps, 2)
        Added at or below the threshold, and above it.
    """
    if len(splits) == 0:
        return {}
    by_column = np.argsort(splits["column"], kind="stable")  # stumps of a column are summed in their own order
    splits = splits[by_column]
    column = splits["column"]
    threshold = splits["threshold"]
    below = values[by_column, 0]
    above = values[by_column, 1]
    on_missing = np.where(splits["missing_up"], above, below)
    order = np.lexsort((threshold, column))
    is_new_column = np.concatenate([[True], column[1:] != column[:-1]])
    is_new_threshold = np.concatenate([[True], threshold[order[1:]] != threshold[order[:-1]]])
    is_new_edge = is_new_column | is_new_threshold
    # The edge of each stump, numbered over all columns; stumps with equal thresholds share one.
    edge_of = np.empty(len(splits), dtype=np.int64)
    edge_of[order] = np.cumsum(is_new_edge) - 1
    edges = threshold[order[is_new_edge]]
    jumps = np.bincount(edge_of, weights=above - below)
    ends = np.concatenate([np.flatnonzero(is_new_column), [len(splits)]])
    functions = {}
    for start, stop in pairwise(ends.tolist()):
        first = edge_of[order[start]]
        last = edge_of[order[stop - 1]] + 1
        edges_of_column = edges[first:last]
        n_edges = last - first - (edges_of_column[-1] == np.inf)  # +inf: stumps that test for missing values only
        steps = below[start:stop].sum() + np.concatenate([[0.0], np.cumsum(jumps[first:last])])
        missing = float(on_missing[start:stop].sum())
        functions[int(column[start])] = edges_of_column[:n_edges], steps[: n_edges + 1], missing
    return functions
