"""The rows of a booster on workers: each partition is a `Rows` of its own, and answers are merged."""

import numpy as np

from fewlabel.boosting.rows import Rows
from fewlabel.dask._sketch import merge_sketches, sketch
from fewlabel.threads import RowThreads

SIGNS = (1, 0, -1)  # of the groups of the boosters: positives, unlabeled rows, negatives
SCORE_POINTS = 2**16  # of the sketch of a group's scores; exact if there are fewer


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
    # Blocks, not rows of a block, are worked on in parallel.
    threads = RowThreads(1)
    groups = []
    for sign, is_used in zip(SIGNS, used):
        rows = np.flatnonzero((signs == sign) & is_used)
        codes = binning.encode(X, rows, threads)
        groups.append((codes, previous.score(X[rows]), None if weight is None else weight[rows]))
    return groups


def merge_groups(one, other):
    """Groups of two blocks."""
    return [
        tuple(None if a is None else np.concatenate([a, b], axis=-1) for a, b in zip(*pair)) for pair in zip(one, other)
    ]


def make_rows(groups, n_codes, totals):
    """Rows of a block, or of all blocks, for which `totals` has the weight of each group."""
    codes, scores, weight = zip(*groups)
    bounds = np.cumsum([0, *map(len, scores)])
    given = None if weight[0] is None else np.concatenate(weight)
    return Rows(np.concatenate(codes, axis=1), n_codes, bounds, np.concatenate(scores), given, totals)


def code_rows(X, y, read, binning, used, previous, totals):
    """`Rows` of a block."""
    return make_rows(code_groups(X, y, read, binning, used, previous), binning.n_codes, totals)


def score_sketches(part, table):
    """Sketch of the scores, with a sum of stumps, of each group."""
    scores = part.scores_with(table)
    given = part.sample_weight
    return [sketch(scores[group], SCORE_POINTS, None if given is None else given[group]) for group in part.groups]


def merge_scores(one, other):
    """Merge the sketches of each group."""
    return [merge_sketches(a, b, SCORE_POINTS) for a, b in zip(one, other)]
