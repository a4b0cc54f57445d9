"""The rows of a booster on workers: each partition is a `Rows` of its own, and answers are merged."""

import math

import numpy as np

from fewlabel.boosting.rows import Rows
from fewlabel.dask._sketch import merge_sketches, sketch
from fewlabel.kernels.symmetric_trees import sum_unit, whole_sum
from fewlabel.threads import RowThreads

SIGNS = (1, 0, -1)  # of the groups of the boosters: positives, unlabeled rows, negatives
SCORE_POINTS = 2**16  # of the sketch of a group's scores; exact if there are fewer


class SpreadRows:
    """`boosting.rows.RowParts` on workers. Commands wait for the next question and travel with it.

    Parameters
    ----------
    parts : Parts or RemoteParts
        Of `Rows`.
    sizes : ndarray of shape (3,)
        Number of rows of each group in all parts.
    n_codes : int
    """

    def __init__(self, parts, sizes, n_codes):
        self._parts = parts
        self._commands = []
        self.sizes = sizes
        self.n_codes = n_codes

    def in_one_piece(self, n_columns):
        return None

    def tell(self, work, *values):
        self._commands.append((work, *values))

    def ask(self, work, *values, merge):
        commands = self._commands
        self._commands = []
        return self._parts.call(_obey_and_answer, commands, (work, *values), merge=merge)

    def sums(self, terms, *values):
        """As `Rows.sums`, to the last bit: the parts agree on a unit, and then add integers."""
        sizes, largest = self.ask(_size_up, terms, *values, merge=_merge_sizes)
        # One unit for all parts: integers then add up to the same sum in any parts.
        units = [sum_unit(n, most) if most > 0 else 0.0 for n, most in zip(sizes.tolist(), largest.tolist())]
        whole = self.ask(_add_up, units, terms, *values, merge=np.add)
        return [total / unit if unit else 0.0 for total, unit in zip(whole.tolist(), units)]


def _obey_and_answer(rows, commands, question):
    for work, *values in commands:
        work(rows, *values)
    work, *values = question
    return work(rows, *values)


def _size_up(rows, terms, *values):
    """Size and largest number of each term."""
    of_part = terms(rows, *values)
    sizes = np.array([len(term) for term in of_part])
    return sizes, np.array([term.max(initial=0.0) for term in of_part])


def _merge_sizes(one, other):
    return one[0] + other[0], np.maximum(one[1], other[1])


def _add_up(rows, units, terms, *values):
    return np.array([whole_sum(term, unit) for term, unit in zip(terms(rows, *values), units)])


def code_groups(X, y, read, binning, used, previous):
    """Codes, scores to start from, and weights (or None) of the rows of each group of a block.

    Parameters
    ----------
    X, y : a block and its labels
    read : callable
        ``read(X, y)`` gives the rows as floats, their signs, and their weights or None.
    binning : Binning
    used : ndarray of shape (3,), bool
        Whether each group is needed; the others have no rows.
    previous : Ensemble
        The trees so far: their scores are the ones to start from.
    """
    X, signs, weight = read(X, y)
    threads = RowThreads(1)  # blocks, not rows of a block, are worked on in parallel
    groups = []
    for sign, is_used in zip(SIGNS, used):
        rows = np.flatnonzero((signs == sign) & is_used)
        scores = previous.score(X[rows]) if len(previous.splits) else np.zeros(len(rows))
        groups.append((binning.encode(X, rows, threads), scores, None if weight is None else weight[rows]))
    return groups


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
    codes, scores, given = zip(*groups)
    bounds = np.cumsum([0, *map(len, scores)])
    sample_weight = None if given[0] is None else np.concatenate(given)
    weights = np.ones(bounds[3]) if sample_weight is None else sample_weight.copy()
    for g, total in enumerate(totals):
        weights[bounds[g] : bounds[g + 1]] /= total or 1.0
    codes = np.concatenate(codes, axis=1)
    return Rows(codes, n_codes, bounds, weights, sample_weight, np.concatenate(scores), threads)


def code_rows(X, y, read, binning, used, previous, totals):
    """`Rows` of a block."""
    groups = code_groups(X, y, read, binning, used, previous)
    return make_rows(groups, binning.n_codes, totals, RowThreads(1))


def score_sketches(part, table, totals):
    """Sketch of the scores, with a sum of stumps, of each group; `totals` has the weight of each group in all parts."""
    scores = part.scores_with(table)
    is_weighted = part.sample_weight is not None
    return [
        sketch(scores[group], SCORE_POINTS, part.weights[group] * total if is_weighted else None)
        for group, total in zip(part.groups, totals)
    ]


def merge_scores(one, other):
    """Merge the sketches of each group."""
    return [merge_sketches(a, b, SCORE_POINTS) for a, b in zip(one, other)]
