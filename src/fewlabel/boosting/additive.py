"""A sum of stumps as one step function per column."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fewlabel.kernels.bins import round_down
from fewlabel.kernels.step_functions import score
from fewlabel.threads import RowThreads


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


def shape_functions(stumps, names):
    """One `ShapeFunction` for each column in use; `names` are the names of all columns."""
    return [ShapeFunction(e, names[e], *function) for e, function in step_functions(stumps).items()]


def column_names(model):
    """Names of the columns of a fitted model: those of the table, or x0, x1, ..."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{e}" for e in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def step_functions(stumps):
    """Sum the stumps of each column: {column: (edges, values, value for missing)}, in the order of the columns."""
    if len(stumps) == 0:
        return {}
    stumps = stumps[np.argsort(stumps["column"], kind="stable")]  # stumps of a column are summed in their own order
    column, threshold, low, high = (stumps[name] for name in ("column", "threshold", "low", "high"))
    fires_above = stumps["sign"] > 0
    below, above = np.where(fires_above, low, high), np.where(fires_above, high, low)
    on_missing = np.where(stumps["on_missing"], high, low)
    order = np.lexsort((threshold, column))
    is_new_column = np.concatenate([[True], column[1:] != column[:-1]])
    is_new = is_new_column | np.concatenate([[True], threshold[order[1:]] != threshold[order[:-1]]])
    position = np.empty(len(stumps), dtype=np.int64)
    position[order] = np.cumsum(is_new) - 1
    edges, jumps = threshold[order[is_new]], np.bincount(position, weights=above - below)
    ends = np.concatenate([np.flatnonzero(is_new_column), [len(stumps)]])
    functions = {}
    for start, stop in pairwise(ends.tolist()):
        first, last = position[order[start]], position[order[stop - 1]] + 1
        of_column = edges[first:last]
        n_edges = last - first - (of_column[-1] == np.inf)  # +inf: stumps that test for missing values only
        values = below[start:stop].sum() + np.concatenate([[0.0], np.cumsum(jumps[first:last])])
        missing = float(on_missing[start:stop].sum())
        functions[int(column[start])] = of_column[:n_edges], values[: n_edges + 1], missing
    return functions


def score_stumps(stumps, X, n_jobs=None):
    """Sum of the stumps for each row of a table.

    Parameters
    ----------
    stumps : ndarray of STUMP
    X : ndarray of shape (n_samples, n_features), float32 or float64
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    functions = step_functions(stumps)
    n_edges = np.array([len(edges) for edges, _, _ in functions.values()], dtype=np.int64)
    width = n_edges.max(initial=0)
    edges = np.full((len(functions), width), np.inf)
    values = np.zeros((len(functions), width + 2))
    for j, (column_edges, column_values, missing) in enumerate(functions.values()):
        edges[j, : n_edges[j]] = column_edges
        values[j, : n_edges[j] + 1] = column_values
        values[j, -1] = missing
    columns = np.array(list(functions), dtype=np.int64)
    if len(columns) and not 0 <= columns[0] <= columns[-1] < X.shape[1]:  # a model file can hold anything
        raise ValueError("stumps_ refers to columns that the table does not have: the model is damaged, fit it again")
    edges = round_down(edges, X.dtype)
    scores = np.zeros(len(X))
    with RowThreads(n_jobs) as threads:
        threads.over_rows(
            lambda start, stop: score(X, columns, edges, n_edges, values, scores, start, stop),
            len(X),
            len(columns),
        )
    return scores
