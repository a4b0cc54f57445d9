"""The rows of the tree boosters on workers, or gathered in one process if they are few."""

import math

import numpy as np

from fewlabel.boosting.tree_rows import TreeRows
from fewlabel.boosting.trees import score_trees
from fewlabel.dask._rows import SIGNS, Spread, merge_scores, sketch_groups
from fewlabel.kernels.symmetric_trees import sum_unit, whole_sum
from fewlabel.threads import RowThreads


class SpreadTreeRows(Spread):
    """`TreeRows` on workers.

    Parameters
    ----------
    parts : Parts or RemoteParts
        Of `TreeRows`.
    sizes : ndarray of shape (3,)
        Number of rows of each group in all parts.
    """

    def __init__(self, parts, sizes):
        super().__init__(parts)
        self.sizes = sizes

    def grow(self, draws, tried, terms):
        return None

    def sums(self, terms, *values):
        """As `TreeRows.sums`, to the last bit: the parts agree on a unit, and then add integers."""
        sizes, largest = self.ask(_size_up, terms, *values, merge=_merge_sizes)
        units = [sum_unit(n, most) if most > 0 else 0.0 for n, most in zip(sizes.tolist(), largest.tolist())]
        whole = self.ask(_add_up, units, terms, *values, merge=np.add)
        return [total / unit if unit else 0.0 for total, unit in zip(whole.tolist(), units)]


def _size_up(rows, terms, *values):
    """Size and largest number of each term."""
    found = terms(rows, *values)
    return np.array([len(term) for term in found]), np.array([term.max(initial=0.0) for term in found])


def _merge_sizes(one, other):
    return one[0] + other[0], np.maximum(one[1], other[1])


def _add_up(rows, units, terms, *values):
    return np.array([whole_sum(term, unit) for term, unit in zip(terms(rows, *values), units)])


def code_groups(X, y, read, binning, used, previous):
    """Codes, scores to start from, and weights (or None) of the rows of each group of a block.

    Parameters
    ----------
    X, y, read, binning
        As in `fewlabel.dask._rows.code_block`.
    used : ndarray of shape (3,), bool
        Whether each group is needed; the others have no rows.
    previous : tuple
        Splits and leaf values of the trees so far.
    """
    X, signs, weight = read(X, y)
    threads = RowThreads(1)
    groups = [
        np.flatnonzero(signs == sign) if of_group else np.empty(0, np.int64) for sign, of_group in zip(SIGNS, used)
    ]
    return [
        (
            binning.encode(X, group, threads),
            score_trees(*previous, X[group]) if len(previous[0]) else np.zeros(len(group)),
            None if weight is None else weight[group],
        )
        for group in groups
    ]


def merge_groups(one, other):
    """Groups of two blocks."""
    return [
        tuple(None if a is None else np.concatenate([a, b], axis=-1) for a, b in zip(*pair)) for pair in zip(one, other)
    ]


def weigh(groups):
    """Total weight of each group, whatever the order of the rows."""
    return [float(len(scores)) if weight is None else math.fsum(weight) for _, scores, weight in groups]


def make_rows(groups, n_codes, totals, threads):
    """Rows of a block, or of all blocks, for which `totals` has the weight of each group."""
    codes, scores, weights = zip(*groups)
    unit_weights = [
        np.full(len(s), 1 / (total or 1.0)) if w is None else w / (total or 1.0)
        for s, w, total in zip(scores, weights, totals)
    ]
    bounds = np.cumsum([0, *map(len, scores)])
    sample_weight = None if weights[0] is None else np.concatenate(weights)
    return TreeRows(
        np.concatenate(codes, axis=1), n_codes, bounds, unit_weights, sample_weight, np.concatenate(scores), threads
    )


def code_rows(X, y, read, binning, used, previous, n_codes, totals):
    """`TreeRows` of a block."""
    return make_rows(code_groups(X, y, read, binning, used, previous), n_codes, totals, RowThreads(1))


def score_sketches(rows, totals):
    """Sketch of the scores of each group of all rows, `TreeRows` or spread ones."""
    return rows.ask(_sketch_part, totals, merge=merge_scores)


def _sketch_part(part, totals):
    return sketch_groups(part.scores, part.bounds, part.weights, totals)
