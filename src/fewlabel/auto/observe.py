"""What each member achieves on a table whose labels are known: the experience that the choice starts from."""

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fewlabel.auto.attempts import attempt
from fewlabel.auto.crossfit import Training, crossfit, refit
from fewlabel.auto.members import BINARY, available, select_members
from fewlabel.auto.weights import auc, choose
from fewlabel.rows import Rows


class Observation(NamedTuple):
    """One member on one table.

    Attributes
    ----------
    member : str
    out_of_fold : ndarray of shape (n_labeled,)
        Out-of-fold ranks of the labeled rows.
    ranks : ndarray of shape (n_unlabeled,)
        Ranks of the unlabeled rows by the member that was fitted to all rows.
    seconds : tuple of float
        CPU time of the folds and of the fit to all rows.
    """

    member: str
    out_of_fold: np.ndarray
    ranks: np.ndarray
    seconds: tuple[float, float]


def observe_members(X, codes, seed, names=None, n_repeats=1) -> Iterator[Observation]:
    """Fit every member for two classes as `AutoClassifier` does, and rank the unlabeled rows by each.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        NaN marks a missing value.
    codes : ndarray of int
        0 and 1, ``-1`` where the label is hidden.
    seed : int
    names : sequence of str, default=None
        Members to observe; None means all that are installed and for two classes.
    n_repeats : int, default=1
        Number of times that the labeled rows are split into folds.

    Yields
    ------
    Observation
        Members that fail are left out.
    """
    members = available(BINARY) if names is None else select_members(list(names), BINARY, True)[0]
    training = Training(Rows(X, codes, np.array([0, 1])), BINARY, members, seed)
    for member in members:
        observation = attempt(_observe, training, member, n_repeats)
        if isinstance(observation, Observation):
            yield observation


def _observe(training, member, n_repeats):
    start = time.process_time()
    evidence = crossfit(training, member, n_repeats)
    middle = time.process_time()
    hidden = training.rows.X[training.unlabeled]
    ranks = refit(training, member, evidence).formula(hidden)[:, 0]
    seconds = (middle - start, time.process_time() - middle)
    return Observation(member.name, evidence.ranks[:, 0], ranks, seconds)


def weigh_members(out_of_fold, y, experience):
    """Weights that `AutoClassifier` would give to members.

    Parameters
    ----------
    out_of_fold : ndarray of shape (n_members, n_labeled)
        Out-of-fold ranks.
    y : ndarray of int
        0 and 1.
    experience : Experience
        With these members.

    Returns
    -------
    ndarray of shape (n_members,)
    """
    return choose(Rows(None, y, np.array([0, 1])), out_of_fold[:, :, None], auc, experience)
