"""Every sum of trees or step functions as plain binary trees that compare 64-bit numbers."""

from dataclasses import replace

import numpy as np

from fewlabel.parts import Formula, Steps, SymmetricTrees, Trees
from fewlabel.parts.trees import NO_CHILD

_AFTER_SINGLES = 2.0**128  # what would follow the largest number of 32 bits


def flat_trees(formula: Formula) -> Trees:
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
        trees = [_unfold(formula, number) for number in range(len(formula.columns))]
        joined = Trees.join(trees, formula.n_inputs, formula.start)
        rounds = formula.single
    else:
        joined = formula
        rounds = formula.single_values
    if not rounds:
        return joined
    thresholds = thresholds_before_rounding(joined.threshold)
    return replace(joined, threshold=thresholds, single_values=False, single_sums=False)


def thresholds_before_rounding(thresholds: np.ndarray) -> np.ndarray:
    """The largest number, of 64 bits, that is at most each threshold once it is rounded to 32 bits.

    Parameters
    ----------
    thresholds : ndarray

    Returns
    -------
    ndarray
    """
    with np.errstate(over="ignore", invalid="ignore"):
        below = thresholds.astype(np.float32)
        below = np.where(below > thresholds, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf))
    # Rounding treats infinity as the number that would follow the largest one.
    low = np.clip(below.astype(np.float64), -_AFTER_SINGLES, _AFTER_SINGLES)
    high = np.clip(above.astype(np.float64), -_AFTER_SINGLES, _AFTER_SINGLES)
    middle = low / 2 + high / 2
    # A number in the middle is rounded to the even one.
    is_even = below.view(np.int32) % 2 == 0
    largest = np.where(is_even, middle, np.nextafter(middle, -np.inf))
    return np.where(below == np.inf, np.inf, largest)


def _unfold(formula, number):
    """A symmetric tree as a binary one."""
    n_splits = 2**formula.depth - 1
    nodes = np.arange(n_splits + 2**formula.depth)
    is_leaf = nodes >= n_splits
    level = np.log2(nodes + 1).astype(int)
    value = np.zeros((len(nodes), formula.n_outputs))
    value[is_leaf] = formula.values[:, number].T
    # Leaves have a level of their own, at which nothing is compared.
    return dict(
        feature=np.append(formula.columns[number], 0)[level],
        threshold=np.append(formula.thresholds[number], 0.0)[level],
        left=np.where(is_leaf, NO_CHILD, 2 * nodes + 1),
        right=np.where(is_leaf, NO_CHILD, 2 * nodes + 2),
        missing_left=~np.append(formula.missing_up[number], False)[level],
        value=value,
    )


def _trees_of_steps(formula):
    trees = []
    for k, column in enumerate(formula.columns.tolist()):
        edges, values = formula.function(k)
        trees.append(search_tree(column, edges, values, formula.missing[k]))
    if not trees:
        trees = [search_tree(0, np.empty(0), np.zeros(1), 0.0)]
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
    # Threshold, left and right child, and value of each node; only missing values go right at the root.
    nodes = [[np.inf, 1, 2, 0.0]]

    def add(low, high):
        """Add the nodes of the values from `low` to `high`; return the first."""
        place = len(nodes)
        node = [0.0, NO_CHILD, NO_CHILD, values[low]]
        nodes.append(node)
        if low < high:
            middle = (low + high) // 2
            node[:3] = [edges[middle], add(low, middle), add(middle + 1, high)]
        return place

    add(0, len(values) - 1)
    nodes[0][2] = len(nodes)
    nodes.append([0.0, NO_CHILD, NO_CHILD, missing])
    threshold, left, right, value = np.array(nodes).T
    return dict(
        feature=np.full(len(nodes), column),
        threshold=threshold,
        left=left.astype(int),
        right=right.astype(int),
        missing_left=np.zeros(len(nodes), dtype=bool),
        value=value[:, None],
    )
