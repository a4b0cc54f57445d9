"""What each member of AutoClassifier achieves on tables whose labels are known, and the model of it."""

import json
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fewlabel.auto import Experience
from fewlabel.auto.attempts import attempt
from fewlabel.auto.crossfit import Training, crossfit, refit
from fewlabel.auto.experience import MIDDLE, effective_labels, label_count
from fewlabel.auto.members import BINARY, available, select_members
from fewlabel.auto.weights import auc, choose
from fewlabel.metrics.angles import to_angle
from fewlabel.rows import Rows

_RIDGE = 5.0  # slopes are shrunken as by this many tables without one
# Share of a covariance that is taken from its diagonal alone: there are few tables.
_OWN = 0.3
_OWN_NOISE = 0.5


class Trial(NamedTuple):
    """One table, one choice of labels.

    Attributes
    ----------
    table : str
    n_rarest : int
        Labels of the rarer class.
    auc : ndarray of shape (n_members,)
        On rows whose labels were hidden.
    out_of_fold : ndarray of shape (n_members,)
        Out-of-fold AUC of the labeled rows; NaN if it was not computed.
    """

    table: str
    n_rarest: int
    auc: np.ndarray
    out_of_fold: np.ndarray

    @property
    def has_evidence(self):
        """Whether the out-of-fold scores were computed."""
        return bool(np.isfinite(self.out_of_fold).all())


def learn_experience(trials, members, rule):
    """Estimate the model; every table counts the same, whatever its number of trials.

    Parameters
    ----------
    trials : list of Trial
    members : list of str
    rule : dict
        `steepness` and `most` of the weights, and `noise`, by which the variance of out-of-fold scores is multiplied.

    Returns
    -------
    Experience
    """
    tables = [trial.table for trial in trials]
    weight = 1.0 / np.array([tables.count(name) for name in tables])
    design = np.c_[np.ones(len(trials)), [label_count(trial.n_rarest) for trial in trials]]
    truth = np.array([_centered(to_angle(trial.auc)) for trial in trials])
    weighted = design * weight[:, None]
    lines = np.linalg.solve(design.T @ weighted + np.diag([0.0, _RIDGE]), weighted.T @ truth)
    tried = [k for k, trial in enumerate(trials) if trial.has_evidence]
    seen = np.array([_centered(to_angle(trials[k].out_of_fold)) for k in tried])
    counts = np.array([effective_labels(trials[k].n_rarest) for k in tried])
    errors = seen - truth[tried]
    trust = counts / (counts + MIDDLE)
    bias = trust @ errors / (trust.sum() + _RIDGE)
    state = {
        "members": list(members),
        "mean": lines[0],
        "slope": lines[1],
        "bias": bias,
        "covariance": _shrunken(truth - design @ lines, weight, _OWN),
        "noise": rule["noise"] * _shrunken(errors - bias, counts, _OWN_NOISE) * counts.mean(),
        "rule": rule,
    }
    return Experience(state)


def _centered(angles):
    return angles - angles.mean()


def _shrunken(residuals, weight, share):
    """Weighted covariance; a share of it from the diagonal alone."""
    full = (residuals * weight[:, None]).T @ residuals / weight.sum()
    return (1 - share) * full + share * np.diag(np.diag(full))


def to_json(experience):
    """The state as text; numbers with six digits."""

    def rounded(values):
        return values if isinstance(values, (list, dict)) else np.round(values, 6).tolist()

    return json.dumps({name: rounded(values) for name, values in experience.state.items()}, indent=1) + "\n"


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
