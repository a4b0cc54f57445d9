"""What the unlabeled rows are worth: the same member with and without them, on the same folds."""

from typing import NamedTuple

from fewlabel.auto.attempts import attempt
from fewlabel.auto.crossfit import crossfit
from fewlabel.auto.intervals import compare
from fewlabel.auto.members import POSITIVE_UNLABELED
from fewlabel.auto.weights import score_ranks

_MOST_TRIED = 3  # members; not every one can be fitted without unlabeled rows


class UnlabeledEffect(NamedTuple):
    """What the unlabeled rows are worth: one method that uses them, with and without them.

    Attributes
    ----------
    difference : float
        Of the out-of-fold scores; positive if the unlabeled rows help.
    low, high : float
        Its 95% interval, on the same rows.
    pvalue : float
    method : str
        The method: of those that use unlabeled rows, the one with the largest weight, or else the best.
    score, without : float
        Its score with and without the unlabeled rows.
    """

    difference: float
    low: float
    high: float
    pvalue: float
    method: str
    score: float
    without: float


def unlabeled_effect(training, evidence, weights, n_repeats, scorer):
    """Compare a member that uses unlabeled rows with itself without them.

    Parameters
    ----------
    training : Training
    evidence : dict
        Out-of-fold results of each member.
    weights : dict
        Weight of the chosen members, by name.
    n_repeats : int
        As for `evidence`.
    scorer : callable

    Returns
    -------
    UnlabeledEffect or None
        None if no member uses unlabeled rows, or if those that do cannot be fitted without them.
    """
    if training.task == POSITIVE_UNLABELED:
        return None
    rows = training.tested_rows
    members = [m for m in evidence if training.uses_unlabeled(m)]
    scores = {m: score_ranks(evidence[m].ranks, rows.codes, scorer, rows.weight) for m in members}
    for member in sorted(members, key=lambda m: (-weights.get(m.name, 0.0), -scores[m]))[:_MOST_TRIED]:
        # On the same folds, so that the difference is paired.
        without = member.without_unlabeled()
        training.learn_views([without])
        other = attempt(crossfit, training, without, n_repeats)
        if isinstance(other, Exception):
            continue
        difference, low, high, pvalue = compare(rows, evidence[member].ranks, other.ranks, scorer, training.seed)
        score_without = score_ranks(other.ranks, rows.codes, scorer, rows.weight)
        return UnlabeledEffect(float(difference), low, high, pvalue, member.name, scores[member], score_without)
    return None
