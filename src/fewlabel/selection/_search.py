"""Best-first search over subsets of columns."""

from typing import NamedTuple

import numpy as np

TIE = 1e-12  # scores that differ by less are equal, so that rounding does not choose a column
WEKA_TOLERANCE = 1e-5  # smallest improvement that Weka's best-first search counts


class Subset(NamedTuple):
    """Columns in the order in which they were added, and the score after each."""

    columns: tuple = ()
    scores: tuple = ()

    def add(self, column, score):
        """The subset with one more column."""
        return Subset((*self.columns, int(column)), (*self.scores, float(score)))


def best_first(score_children, *, empty_score, max_columns, tol=WEKA_TOLERANCE, max_stale=5):
    """Run a best-first search, forward from the empty set, as in Weka.

    Expands the best subset that has not been expanded yet: each column is added to it in turn. At most `max_stale`
    subsets wait for expansion, and the search ends after `max_stale` expansions without a better subset.

    Parameters
    ----------
    score_children : callable
        ``score_children(columns)`` returns the score of the subset with each column added, NaN for those in it.
    empty_score : float
        Score of the empty set.
    max_stale : int
        See above.
    tol : float
        A subset is better if its score is higher by more than this.
    max_columns : int
        Largest size of a subset.

    Returns
    -------
    Subset
        The best subset.
    """
    best = Subset()
    best_score = empty_score
    waiting = [best]
    expanded = set()
    stale = 0
    while waiting and stale < max_stale:
        parent = waiting.pop(0)
        expanded.add(frozenset(parent.columns))
        stale += 1
        # A full subset has no children, but counts as an expansion without improvement.
        if len(parent.columns) == max_columns:
            continue
        scores = score_children(parent.columns)
        known = expanded | {frozenset(subset.columns) for subset in waiting}
        children = []
        for column in ranked(scores):
            child = parent.add(column, scores[column])
            if frozenset(child.columns) not in known:
                children.append(child)
            if len(children) == max_stale:
                break
        if children and children[0].scores[-1] > best_score + tol:
            best = children[0]
            best_score = best.scores[-1]
            stale = 0
        waiting = sorted(waiting + children, key=lambda subset: -subset.scores[-1])[:max_stale]
    return best


def ranked(scores):
    """Return the columns by descending score, without NaN; among equal scores the lower column comes first."""
    order = np.argsort(-np.round(scores, 12), kind="stable")
    return order[~np.isnan(scores[order])]
