"""Scores of new rows: sums of trees, or of the step functions that trees of one split add up to."""

import numpy as np

from fewlabel.boosting.additive import step_functions
from fewlabel.kernels import step_functions as steps_kernels
from fewlabel.kernels import symmetric_trees
from fewlabel.kernels.bins import round_down
from fewlabel.threads import RowThreads


def score_splits(splits, values, X, n_jobs=None):
    """Sum of the trees for each row of a table.

    Parameters
    ----------
    splits : ndarray of shape (n_trees, depth) of SPLIT
    values : ndarray of shape (n_trees, 2**depth)
    X : ndarray of shape (n_samples, n_features), float32 or float64
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    if len(splits) == 0:
        return np.zeros(len(X))
    # One step function per column: far fewer than trees.
    score = score_steps if splits.shape[1] == 1 else score_trees
    return score(splits, values, X, n_jobs)


def score_trees(splits, values, X, n_jobs=None):
    """As `score_splits`, tree by tree."""
    thresholds = round_down(splits["threshold"], X.dtype)
    missing_up = splits["missing_up"].astype(np.uint8)
    columns = np.ascontiguousarray(splits["column"])
    return _sum_over_rows(symmetric_trees.score, X, n_jobs, columns, thresholds, missing_up, values)


def score_steps(splits, values, X, n_jobs=None):
    """As `score_splits`, for trees of one split."""
    functions = step_functions(splits[:, 0], values)
    n_edges = np.array([len(edges) for edges, _, _ in functions.values()], dtype=np.int64)
    width = n_edges.max()
    edges = np.full((len(functions), width), np.inf)
    steps = np.zeros((len(functions), width + 2))
    for j, (edges_of_column, steps_of_column, missing) in enumerate(functions.values()):
        edges[j, : n_edges[j]] = edges_of_column
        steps[j, : n_edges[j] + 1] = steps_of_column
        steps[j, -1] = missing
    columns = np.array(list(functions), dtype=np.int64)
    return _sum_over_rows(steps_kernels.score, X, n_jobs, columns, round_down(edges, X.dtype), n_edges, steps)


def _sum_over_rows(kernel, X, n_jobs, columns, *terms):
    if not 0 <= columns.min() <= columns.max() < X.shape[1]:  # a model file can hold anything
        raise ValueError("splits_ refers to columns that the table does not have: the model is damaged, fit it again")
    scores = np.zeros(len(X))
    with RowThreads(n_jobs) as threads:
        threads.over_rows(
            lambda start, stop: kernel(X, columns, *terms, scores, start, stop),
            len(X),
            columns.size,
        )
    return scores
