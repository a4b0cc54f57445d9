"""Sums of trees and of step functions; with NumPy for few rows, with Numba for many, bit for bit the same."""

import functools
import sys
from typing import Annotated

import numpy as np

from fewlabel.parts.part import (
    Below,
    Cube,
    Flags,
    FlagTable,
    Floats,
    Formula,
    Ints,
    IntTable,
    SmallInts,
    SmallIntTable,
    Table,
)

NO_CHILD = -1
# Padding is at most this many times the space of the step functions themselves.
_MOST_PADDING = 100
# A leaf of a symmetric tree is a 16-bit number in the kernel.
_DEEPEST = 16
# Up to here NumPy takes less time than importing Numba and reading compiled code.
_FEW_ROWS = 2048


def _uses_kernels(X):
    return len(X) > _FEW_ROWS or "numba" in sys.modules


class Trees(Formula):
    """Sum over binary trees of the value of the leaf that a row falls into.

    Attributes
    ----------
    roots : ndarray of int
        First node of each tree.
    feature : ndarray of int of shape (n_nodes,)
        Column that a node compares.
    threshold : ndarray of shape (n_nodes,)
        A row goes left if its value is at most this.
    children : ndarray of int of shape (2, n_nodes)
        Left and right child, which come after their parent; -1 at a leaf.
    missing_left : ndarray of bool of shape (n_nodes,)
        Whether a row with a missing value goes left.
    value : ndarray of shape (n_nodes, n_outputs)
    start : ndarray of shape (n_outputs,)
        The sum begins with these values.
    n_inputs : int
    divisor : int
        The sum is divided by it.
    single_values : bool
        Whether values of the table are rounded to 32 bits before they are compared.
    single_sums : bool
        Whether sums are made with 32 bits.
    """

    kind = "trees"
    roots: Annotated[SmallInts, "n_trees", Below("n_nodes")]
    feature: Annotated[SmallInts, "n_nodes", Below("n_inputs")]
    threshold: Annotated[Floats, "n_nodes"]
    children: Annotated[SmallIntTable, "2 n_nodes"]
    missing_left: Annotated[Flags, "n_nodes"]
    value: Annotated[Table, "n_nodes n_outputs"]
    start: Annotated[Floats, "n_outputs"]
    n_inputs: int
    divisor: int = 1
    single_values: bool = False
    single_sums: bool = False

    @classmethod
    def join(cls, trees, n_inputs, start, **settings):
        """Join separate trees.

        Parameters
        ----------
        trees : iterable of dict
            One per tree, with the arrays `feature`, `threshold`, `left`, `right`, `missing_left` and `value`.
            Leaves have `left` of -1.
        n_inputs : int
        start : array-like of shape (n_outputs,)
        **settings
            Further fields.

        Returns
        -------
        Trees
        """
        trees = list(trees)
        joined = {}
        for name, dtype in (("feature", np.int32), ("threshold", float), ("missing_left", bool), ("value", float)):
            joined[name] = np.concatenate([tree[name] for tree in trees]).astype(dtype)
        ends = np.cumsum([len(tree["left"]) for tree in trees], dtype=np.int32)
        roots = np.concatenate([[0], ends[:-1]]).astype(np.int32)
        children = []
        for tree, root in zip(trees, roots):
            own = np.array([tree["left"], tree["right"]]) + root
            children.append(np.where(tree["left"] < 0, NO_CHILD, own))
        joined["children"] = np.concatenate(children, axis=1).astype(np.int32)
        # Some libraries mark leaves there.
        joined["feature"][joined["children"][0] == NO_CHILD] = 0
        start = np.array(start, dtype=np.float64)
        return cls(roots=roots, n_inputs=int(n_inputs), start=start, **joined, **settings)

    def check(self):
        self.require(self.n_outputs > 0, "it has no outputs")
        self.require(0 < self.divisor < 2**31, "the divisor is not a number of trees")
        is_leaf = self.children == NO_CHILD
        self.require((is_leaf[0] == is_leaf[1]).all(), "a node has one child")
        # A child comes after its parent, so that every walk ends.
        forward = (self.children > np.arange(self.n_nodes)) & (self.children < self.n_nodes)
        self.require((is_leaf | forward).all(), "a child does not come after its parent")

    def values_at(self, X):
        if self.single_values:
            X = _rounded(X)
        dtype = np.float32 if self.single_sums else np.float64
        start = self.start.astype(dtype)
        value = self.value.astype(dtype, copy=False)
        if _uses_kernels(X):
            from fewlabel.kernels.trees import leaf_sums

            arrays = (self.feature, self.threshold, self.children, self.missing_left)
            total = leaf_sums(X, start, self.roots, *arrays, value)
        else:
            total = np.tile(start, (len(X), 1))
            for leaves in self._leaves(X).T:
                total += value[leaves]
        return (total / self.divisor).astype(np.float64)

    def _leaves(self, X):
        """The leaf of each row in each tree."""
        n_trees = len(self.roots)
        # Where each row begins in the flat table.
        first = np.repeat(np.arange(len(X)) * self.n_inputs, n_trees)
        node = np.tile(self.roots, len(X))
        walking = np.flatnonzero(self.children[0][node] != NO_CHILD)
        flat = X.ravel()
        while walking.size:
            at = node[walking]
            x = flat[first[walking] + self.feature[at]]
            left = np.where(np.isnan(x), self.missing_left[at], x <= self.threshold[at])
            following = np.where(left, self.children[0][at], self.children[1][at])
            node[walking] = following
            walking = walking[self.children[0][following] != NO_CHILD]
        return node.reshape(len(X), n_trees)


def _rounded(X):
    """The table rounded to 32 bits."""
    with np.errstate(over="ignore"):
        return X.astype(np.float32).astype(np.float64)


class SymmetricTrees(Formula):
    """Sum over trees that have one split per level.

    Attributes
    ----------
    columns : ndarray of int of shape (n_trees, depth)
    thresholds : ndarray of shape (n_trees, depth)
        A row goes up at a level where its value is above the threshold.
    missing_up : ndarray of bool of shape (n_trees, depth)
        Whether a row with a missing value goes up.
    values : ndarray of shape (n_outputs, n_trees, 2**depth)
        Of the leaves. The ups and downs of a row, the first level first, are the bits of its leaf.
    start : ndarray of shape (n_outputs,)
        The sum begins with these values.
    n_inputs : int
    single : bool
        Whether values of the table are rounded to 32 bits before they are compared.
    """

    kind = "symmetric-trees"
    columns: Annotated[IntTable, "n_trees depth", Below("n_inputs")]
    thresholds: Annotated[Table, "n_trees depth"]
    missing_up: Annotated[FlagTable, "n_trees depth"]
    values: Annotated[Cube, "n_outputs n_trees n_leaves"]
    start: Annotated[Floats, "n_outputs"]
    n_inputs: int
    single: bool = False

    def check(self):
        self.require(self.depth <= _DEEPEST, f"its trees are deeper than {_DEEPEST} levels")
        self.require(self.n_leaves == 2**self.depth, "there is not one value per leaf")
        self.require(self.n_outputs > 0, "it has no outputs")

    def values_at(self, X):
        if self.single:
            X = _rounded(X)
        total = np.repeat(self.start[:, None], len(X), axis=1)
        if _uses_kernels(X):
            from fewlabel.kernels.symmetric_trees import score

            missing_up = self.missing_up.view(np.uint8)
            for scores, values in zip(total, self.values):
                score(X, self.columns, self.thresholds, missing_up, values, scores, 0, len(X))
        else:
            leaves = self._leaves(X)
            for scores, values in zip(total, self.values):
                for leaf, value in zip(leaves, values):
                    scores += value[leaf]
        return total.T

    def _leaves(self, X):
        """The leaf of each row, one array per tree."""
        leaves = np.zeros((self.n_trees, len(X)), dtype=np.intp)
        by_column = np.ascontiguousarray(X.T)
        for level in range(self.depth):
            x = by_column[self.columns[:, level]]
            threshold = self.thresholds[:, level, None]
            up = x > threshold
            up |= np.isnan(x) & self.missing_up[:, level, None]
            leaves *= 2
            leaves += up
        return leaves


class Steps(Formula):
    """Sum of step functions, one per column.

    Attributes
    ----------
    columns : ndarray of int of shape (n_functions,)
    starts : ndarray of int of shape (n_functions + 1,)
        Where the edges of each function begin, and the end.
    edges : ndarray of shape (n_edges,)
        Of all functions, one after the other, each ascending.
    values : ndarray of shape (n_edges + n_functions,)
        Of the intervals between the edges of each function; an edge belongs to the interval below it.
    missing : ndarray of shape (n_functions,)
        Value for a missing one.
    n_inputs : int
    """

    kind = "steps"
    n_outputs = 1
    columns: Annotated[Ints, "n_functions", Below("n_inputs")]
    starts: Ints
    edges: Annotated[Floats, "n_edges"]
    values: Floats
    missing: Annotated[Floats, "n_functions"]
    n_inputs: int

    def check(self):
        self.require(len(self.starts) == self.n_functions + 1, "there is not one start per function")
        self.require(len(self.values) == self.n_edges + self.n_functions, "there is not one value per interval")
        self.require(self.starts[0] == 0 and self.starts[-1] == self.n_edges, "its functions do not cover its edges")
        self.require((np.diff(self.starts) >= 0).all(), "its starts do not ascend")
        rises = np.ones(self.n_edges, dtype=bool)
        rises[1:] = np.diff(self.edges) > 0
        # From one function to the next.
        rises[self.starts[:-1][self.starts[:-1] < self.n_edges]] = True
        self.require(rises.all() and not np.isnan(self.edges).any(), "the edges of a function do not ascend")

    @functools.cached_property
    def _padded(self):
        """Edges, their numbers and values as tables for the kernel; None if one function has most of the edges."""
        n_edges = np.diff(self.starts)
        width = int(n_edges.max(initial=0))
        if len(n_edges) * width > _MOST_PADDING * len(self.values):
            return None
        edges = np.full((len(n_edges), width), np.inf)
        values = np.zeros((len(n_edges), width + 2))
        values[:, -1] = self.missing
        for k, n in enumerate(n_edges):
            edges[k, :n], values[k, : n + 1] = self.function(k)
        return edges, n_edges, values

    def function(self, k):
        """Edges and values of the k-th step function."""
        start = self.starts[k]
        stop = self.starts[k + 1]
        return self.edges[start:stop], self.values[start + k : stop + k + 1]

    def values_at(self, X):
        scores = np.zeros(len(X))
        if _uses_kernels(X) and self._padded is not None:
            from fewlabel.kernels.step_functions import score

            edges, n_edges, values = self._padded
            score(X, self.columns, edges, n_edges, values, scores, 0, len(X))
            return scores[:, None]
        for k, column in enumerate(self.columns):
            scores += self.at(k, X[:, column])
        return scores[:, None]

    def at(self, k, x):
        """Values of the k-th step function at the values of its column."""
        edges, values = self.function(k)
        interval = np.searchsorted(edges, x)
        interval[np.isnan(x)] = 0
        return np.where(np.isnan(x), self.missing[k], values[interval])
