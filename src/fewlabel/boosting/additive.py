"""A sum of stumps as one step function per column."""

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
    functions = {}
    for column in np.unique(stumps["column"]).tolist():
        of_column = stumps[stumps["column"] == column]
        low, high = of_column["low"], of_column["high"]
        fires_above = of_column["sign"] > 0
        below, above = np.where(fires_above, low, high), np.where(fires_above, high, low)
        edges, position = np.unique(of_column["threshold"], return_inverse=True)
        jumps = np.bincount(position, weights=above - below)
        values = below.sum() + np.concatenate([[0.0], np.cumsum(jumps)])
        n_edges = np.count_nonzero(edges < np.inf)  # +inf is the edge of stumps that test for missing values only
        missing = np.where(of_column["on_missing"], high, low).sum()
        functions[column] = edges[:n_edges], values[: n_edges + 1], float(missing)
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
