"""What the unlabeled rows are worth: the same member with and without them, on the same folds."""

from typing import NamedTuple

from fewlabel.auto._attempt import attempt
from fewlabel.auto._crossfit import crossfit
from fewlabel.auto._intervals import compare
from fewlabel.auto._members import LABELED, POSITIVE_UNLABELED
from fewlabel.auto._weights import score_ranks

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


def unlabeled_effect(rows, evidence, weights, n_repeats, scorer):
    """Compare a member that uses unlabeled rows with itself without them.

    Parameters
    ----------
    rows : TrainingRows
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
    if rows.task == POSITIVE_UNLABELED:
        return None
    y, sampling = rows.tested_y, rows.tested_sampling
    scores = {
        m: score_ranks(e.ranks, y, scorer, sampling.weight) for m, e in evidence.items() if rows.uses_unlabeled(m)
    }
    for member in sorted(scores, key=lambda m: (-weights.get(m.name, 0.0), -scores[m]))[:_MOST_TRIED]:
        other = attempt(_crossfit_without, rows, member, n_repeats)
        if not isinstance(other, Exception):
            found = compare(y, evidence[member].ranks, other.ranks, scorer, rows.seed, sampling)
            without = score_ranks(other.ranks, y, scorer, sampling.weight)
            return UnlabeledEffect(*map(float, found), member.name, scores[member], without)
    return None


def _crossfit_without(rows, member, n_repeats):
    return crossfit(rows.without_unlabeled(member), member._replace(learns=LABELED), n_repeats)
