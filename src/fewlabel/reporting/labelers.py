"""What the report says about people who labeled the same rows: how far they agree, and where they do not."""

import itertools

import numpy as np

from fewlabel.active.answers import Votes
from fewlabel.active.raters import contradicting
from fewlabel.metrics.shares import share_estimate
from fewlabel.reporting.figures import plain
from fewlabel.types import PlainDict

_MOST_CONFLICTS = 20


def describe_labelers(votes: Votes, answers: np.ndarray, combined: np.ndarray, classes: list[str]) -> PlainDict:
    r"""Agreement of each person with the combined label and with each other, and the rows where people disagree.

    Cohen's kappa is :math:`(a - e) / (1 - e)`, with :math:`a` the share of rows on which two people agree and
    :math:`e` what they would agree on if each answered at random with their own frequencies.

    Parameters
    ----------
    votes : Votes
    answers : ndarray of int of shape (n_answered, n_labelers)
        Class of each answer, -1 where somebody did not answer.
    combined : ndarray of int of shape (n_answered,)
        Class that was decided on, -1 if none was.
    classes : list of str

    Returns
    -------
    dict
        `labelers`, `pairs` and `conflicts`, of which the first are listed, and `n_conflicts`.

    References
    ----------
    .. [1] J. Cohen. A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20, 1960.
    """
    people = []
    decided = combined >= 0
    for name, given in zip(votes.labelers, answers.T):
        answered = given >= 0
        n_decided = np.count_nonzero(answered & decided)
        n_equal = np.count_nonzero(answered & (given == combined))
        agrees = share_estimate(n_equal, n_decided)
        people.append({"name": name, "answers": np.count_nonzero(answered), "agrees": agrees})
    pairs = []
    for one, other in itertools.combinations(range(len(people)), 2):
        both = (answers[:, [one, other]] >= 0).all(axis=1)
        if both.any():
            names = [votes.labelers[one], votes.labelers[other]]
            agreement = _agreement(answers[both, one], answers[both, other])
            pairs.append({"labelers": names, "rows": both.sum(), **agreement})
    conflicts = np.flatnonzero(contradicting(answers))
    listed = []
    for place in conflicts[:_MOST_CONFLICTS]:
        said = {votes.labelers[k]: votes.classes[votes.codes[place, k]] for k in np.flatnonzero(answers[place] >= 0)}
        label = classes[combined[place]] if decided[place] else None
        listed.append({"row": votes.rows[place] + 1, "answers": said, "label": label})
    return plain({"labelers": people, "pairs": pairs, "conflicts": listed, "n_conflicts": len(conflicts)})


def _agreement(one: np.ndarray, other: np.ndarray) -> PlainDict:
    """Share of equal answers, and kappa; None if both always gave the same answer, which chance would do, too."""
    shares = [np.bincount(given, minlength=max(one.max(), other.max()) + 1) / len(given) for given in (one, other)]
    by_chance = float(shares[0] @ shares[1])
    estimate = share_estimate(np.count_nonzero(one == other), len(one))
    kappa = None if by_chance == 1 else (estimate.value - by_chance) / (1 - by_chance)
    return {"agrees": estimate, "kappa": kappa}
