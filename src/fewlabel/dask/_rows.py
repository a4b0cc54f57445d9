"""The training rows of the boosting loop on workers: each partition has its codes and weights, and returns sums."""

import math

import numpy as np

from fewlabel.boosting.additive import score_stumps
from fewlabel.boosting.rows import CodedRows, search_parts
from fewlabel.dask._sketch import merge_sketches, sketch
from fewlabel.threads import RowThreads

SIGNS = (1, 0, -1)  # of the groups of the boosters: positives, unlabeled rows, negatives
SCORE_POINTS = 2**16  # of the sketch of a group's scores; exact if there are fewer


def code_block(X, y, read, binning, totals, uses, stumps):
    """Code a block of rows.

    Parameters
    ----------
    X, y : a block and its labels
    read : callable
        ``read(X, y)`` gives the rows as floats, their signs, and their weights or None.
    binning : Binning
    totals : ndarray of shape (3,)
        Number of rows of each group in all blocks, or their weight; a group without rows is left out.
    uses : ndarray of shape (2, 3), bool
        As in `CodedRows`.
    stumps : ndarray of STUMP
        The rounds so far: their scores are the ones to start from.

    Returns
    -------
    CodedRows
    """
    X, signs, weight = read(X, y)
    groups = [np.flatnonzero(signs == sign) if n else np.empty(0, np.int64) for sign, n in zip(SIGNS, totals)]
    rows, bounds = np.concatenate(groups), np.cumsum([0, *map(len, groups)])
    weights = [(1.0 if weight is None else weight[group]) / (n or 1) for group, n in zip(groups, totals)]
    start = score_stumps(stumps, X)[rows] if len(stumps) else None
    threads = RowThreads(1)  # blocks, not rows of a block, are worked on in parallel
    return CodedRows(binning.encode(X, rows, threads), bounds, weights, uses, threads, start)


class Spread:
    """Objects on workers that are told what to do, and asked for what is merged to one answer.

    Commands wait for the next question and travel with it.

    Parameters
    ----------
    parts : Parts or RemoteParts
    """

    def __init__(self, parts):
        self._parts, self._commands = parts, []

    def tell(self, work, *values):
        """Call ``work(part, *values)`` for all parts, before they are asked the next time."""
        self._commands.append((work, *values))

    def ask(self, work, *values, merge=None):
        """``work(part, *values)`` of all parts, merged in pairs by ``merge(a, b)``; a list of them without it."""
        commands, self._commands = self._commands, []
        return self._parts.call(_obey_and_answer, commands, (work, *values), merge=merge)


class SpreadRows(Spread):
    """`CodedRows` on workers: a method runs on every block, and the results are merged.

    A round costs two messages per worker.
    """

    def set_log_weights(self, table):
        return self.ask(CodedRows.set_log_weights, table, merge=np.maximum)

    def exponentiate(self, largest):
        parts = self.ask(CodedRows.exponentiate, largest)
        return np.array([[math.fsum(part[kind, g] for part in parts) for g in range(3)] for kind in range(2)])

    def divide(self, sums):
        self.tell(CodedRows.divide, sums)

    def reweight(self, column, fires, jump):
        self.tell(CodedRows.reweight, column, fires, jump)

    def search(self, *args):
        return search_parts(self, *args)

    def histogram(self, coefficients, columns):
        return self.ask(CodedRows.histogram, coefficients, columns, merge=np.add)

    def side_sums(self, column, fires, scales):
        return self.ask(CodedRows.side_sums, column, fires, scales, merge=np.add)

    def score_sketches(self, table, totals):
        """Sketch of the scores of each group, with the number of its rows or their weight, which is in `totals`."""
        return self.ask(_score_sketches, table, totals, merge=merge_scores)


def _obey_and_answer(rows, commands, question):
    for method, *values in commands:
        method(rows, *values)
    method, *values = question
    return method(rows, *values)


def _score_sketches(rows, table, totals):
    return sketch_groups(rows.scores(table), rows.bounds, rows.sample_weight, totals)


def sketch_groups(scores, bounds, weights, totals):
    """Sketch of the scores of each group, whose weights sum to one in all blocks, or are the same for all rows."""
    return [
        sketch(of_group, SCORE_POINTS, weight * total if np.ndim(weight) else None)
        for of_group, weight, total in zip(np.split(scores, bounds[1:3]), weights, totals)
    ]


def merge_scores(one, other):
    """Merge the sketches of each group."""
    return [merge_sketches(a, b, SCORE_POINTS) for a, b in zip(one, other)]
