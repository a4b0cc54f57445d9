"""A sum of trees of at most two splits as one function per column or pair of columns."""

from typing import NamedTuple

import numpy as np


class JointShapeFunction(NamedTuple):
    """The contribution of one column, or of two columns together, to the score of trees of at most two splits.

    Attributes
    ----------
    columns : tuple of int
        Indices of the one or two columns.
    names : tuple of str
        Their names.
    edges : tuple of ndarray
        Where the function jumps, for each column.
    values : ndarray with one axis per column
        Value on each cell. Along an axis the k-th interval is ``(edges[k - 1], edges[k]]``; the last entry is for
        missing values.
    """

    columns: tuple
    names: tuple
    edges: tuple
    values: np.ndarray


def joint_shape_functions(splits, values, names):
    """Sum the trees that use the same columns; one `JointShapeFunction` for each set of columns, in order."""
    trees: dict = {}
    for of_tree, leaves in zip(splits, values):
        trees.setdefault(tuple(np.unique(of_tree["column"]).tolist()), []).append((of_tree, leaves))
    return [_sum_trees(columns, trees[columns], names) for columns in sorted(trees)]


def _sum_trees(columns, trees, names):
    thresholds = np.concatenate([of_tree for of_tree, _ in trees])
    edges = tuple(_finite_edges(thresholds[thresholds["column"] == e]["threshold"]) for e in columns)
    total = np.zeros([len(of_column) + 2 for of_column in edges])
    for of_tree, leaves in trees:
        leaf = np.zeros(total.shape, dtype=np.int64)
        for split in of_tree:
            axis = columns.index(split["column"])
            up = np.concatenate([[False], edges[axis] >= split["threshold"], [split["missing_up"]]])
            leaf = 2 * leaf + np.expand_dims(up, tuple(a for a in range(total.ndim) if a != axis))
        total += leaves[leaf]
    return JointShapeFunction(columns, tuple(names[e] for e in columns), edges, total)


def _finite_edges(thresholds):
    """Distinct thresholds; +inf, which only tests for missing values, is no edge."""
    edges = np.unique(thresholds)
    return edges[edges < np.inf]
