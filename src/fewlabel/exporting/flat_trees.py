"""Every sum of trees or step functions as plain binary trees that compare 64-bit numbers."""

from dataclasses import replace
from typing import Any

import numpy as np

from fewlabel.parts import Steps, SymmetricTrees, Trees
from fewlabel.parts.trees import NO_CHILD

_AFTER_SINGLES = 2.0**128  # what would follow the largest number of 32 bits


def flat_trees(formula: Any) -> Trees:
    """The same sum as binary trees whose thresholds are for values that are not rounded.

    Parameters
    ----------
    formula : Trees, SymmetricTrees or Steps

    Returns
    -------
    Trees
    """
    if isinstance(formula, Steps):
        return _trees_of_steps(formula)
    if isinstance(formula, SymmetricTrees):
        trees = [_unfold(formula, number) for number in range(formula.n_trees)]
        formula = Trees.join(trees, formula.n_inputs, formula.start, single_values=formula.single)
    if not formula.single_values:
        return formula
    thresholds = thresholds_before_rounding(formula.threshold)
    return replace(formula, threshold=thresholds, single_values=False, single_sums=False)


def thresholds_before_rounding(thresholds: np.ndarray) -> np.ndarray:
    """The largest number, of 64 bits, that is at most each threshold once it is rounded to 32 bits.

    Parameters
    ----------
    thresholds : ndarray

    Returns
    -------
    ndarray
    """
    infinity = np.float32(np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = thresholds.astype(np.float32)
        lower = np.nextafter(rounded, -infinity)
        below = np.where(rounded > thresholds, lower, rounded)
        above = np.nextafter(below, infinity)
    middle = _wide(below) / 2 + _wide(above) / 2
    # A number in the middle is rounded to the even one.
    is_even = below.view(np.int32) % 2 == 0
    before_middle = np.nextafter(middle, -np.inf)
    largest = np.where(is_even, middle, before_middle)
    return np.where(below == np.inf, np.inf, largest)


def _wide(singles):
    """Numbers of 32 bits as such of 64; rounding treats infinity as the number that would follow the largest one."""
    return np.clip(singles.astype(np.float64), -_AFTER_SINGLES, _AFTER_SINGLES)


def _unfold(formula, number):
    """A symmetric tree as a binary one."""
    n_leaves = formula.n_leaves
    nodes = np.arange(2 * n_leaves - 1)
    # The nodes of a level follow those of the one above, and the last level are the leaves.
    is_leaf = nodes >= n_leaves - 1
    level = np.log2(nodes + 1).astype(int)
    value = np.zeros((len(nodes), formula.n_outputs))
    value[is_leaf] = formula.values[:, number].T
    # At the level of the leaves nothing is compared.
    feature = np.append(formula.columns[number], 0)
    threshold = np.append(formula.thresholds[number], 0.0)
    missing_up = np.append(formula.missing_up[number], False)
    tree = {"feature": feature[level], "threshold": threshold[level], "missing_left": ~missing_up[level]}
    tree["left"] = np.where(is_leaf, NO_CHILD, 2 * nodes + 1)
    tree["right"] = np.where(is_leaf, NO_CHILD, 2 * nodes + 2)
    tree["value"] = value
    return tree


def _trees_of_steps(formula):
    trees = []
    for k, column in enumerate(formula.columns.tolist()):
        edges, values = formula.function(k)
        trees.append(search_tree(column, edges, values, formula.missing[k]))
    if not trees:
        nothing = search_tree(0, np.empty(0), np.zeros(1), 0.0)
        trees.append(nothing)
    return Trees.join(trees, formula.n_inputs, np.zeros(1))


def search_tree(column: int, edges: np.ndarray, values: np.ndarray, missing: float) -> dict[str, np.ndarray]:
    """A step function as a tree of few levels.

    Parameters
    ----------
    column : int
    edges, values : ndarray
        As those of `Steps`.
    missing : float
        Value of a missing one.

    Returns
    -------
    dict of ndarray
        As `Trees.join` takes them.
    """
    threshold: list[float] = []
    left: list[int] = []
    right: list[int] = []
    value: list[float] = []

    def leaf(number):
        """Add a leaf; return its place."""
        threshold.append(0.0)
        left.append(NO_CHILD)
        right.append(NO_CHILD)
        value.append(number)
        return len(value) - 1

    def add(low, high):
        """Add the nodes of the values from `low` to `high`; return the place of the first."""
        place = leaf(values[low])
        if low < high:
            middle = (low + high) // 2
            threshold[place] = edges[middle]
            left[place] = add(low, middle)
            right[place] = add(middle + 1, high)
        return place

    # Only missing values go right at the root.
    root = leaf(0.0)
    threshold[root] = np.inf
    left[root] = add(0, len(values) - 1)
    right[root] = leaf(missing)
    tree = {"threshold": np.array(threshold), "left": np.array(left), "right": np.array(right)}
    tree["value"] = np.array(value)[:, None]
    tree["feature"] = np.full(len(value), column)
    tree["missing_left"] = np.zeros(len(value), dtype=bool)
    return tree
