"""How `AutoClassifier` reads its labels: the task, and the rows to learn from."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from fewlabel import labels
from fewlabel.auto.members import BINARY, MULTICLASS, POSITIVE_UNLABELED
from fewlabel.exceptions import LabelError
from fewlabel.labels import Labels
from fewlabel.prior import PriorEstimate, class_prior, weigh_positives
from fewlabel.row_order import value_order
from fewlabel.rows import Rows

_LEAST = 2  # labeled rows of a class: one to learn from, one to validate with
_MOST_PU = 5000  # unlabeled rows of positive-unlabeled data; more cost time and do not change the choice


class LearningTask(NamedTuple):
    """What a fit is asked to learn.

    Attributes
    ----------
    name : {"binary", "multiclass", "positive-unlabeled"}
    rows : Rows
        The rows to learn from, in an order of their values, so that the order in the table does not matter. With two
        classes the positive one has code 1; in positive-unlabeled data unlabeled rows have code 0.
    positions : ndarray of int
        Of these rows in the table.
    prior : PriorEstimate or None
        Share of positives among the unlabeled rows, in positive-unlabeled data. If it is given, its interval has no
        width.
    n_unlabeled : int
        Rows without a label, also those that are not learned from.
    """

    name: str
    rows: Rows
    positions: np.ndarray
    prior: PriorEstimate | None
    n_unlabeled: int


def read_task(X, y, *, groups=None, time=None, weight=None, prior=None, seed=0, prior_seed=0, because=None):
    """Read the labels.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    groups, time : array-like of shape (n_samples,), default=None
    weight : ndarray of shape (n_samples,), default=None
        Rows of weight 0 are left out.
    prior : float, default=None
        The parameter of `AutoClassifier`.
    seed : int, default=0
        Draws unlabeled rows, if there are many.
    prior_seed : int, default=0
        The `random_state` of the estimate of the prior.
    because : ndarray of int, default=None
        Columns by which positives were chosen to be labeled.

    Returns
    -------
    LearningTask
    """
    read = labels.read(y)
    labels.require_labels(read)
    check_consistent_length(X, read.codes)
    positions = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0)
    others = [read.codes[positions], None if weight is None else weight[positions]]
    positions = positions[value_order(X[positions], *others)]
    n_unlabeled = int((read.codes[positions] < 0).sum())
    if because is not None and len(read.classes) > 1:
        raise ValueError("labeled_because is for positives only, and y has labels of several classes; leave it out")
    if len(read.classes) == 1:
        name = POSITIVE_UNLABELED
        read = _read_positives(y, read, positions)
        is_positive = read.codes == 1
        if because is not None:
            weight = np.ones(len(X)) if weight is None else weight.copy()
            started = _prior(X[positions], is_positive[positions], weight[positions], prior, prior_seed)
            weight[positions] *= weigh_positives(X[positions], is_positive[positions], because, started.prior)
        counted = None if weight is None else weight[positions]
        prior = _prior(X[positions], is_positive[positions], counted, prior, prior_seed)
        positions = _fewer_unlabeled(positions, is_positive[positions], seed)
    else:
        name = BINARY if len(read.classes) == 2 else MULTICLASS
        if prior is not None and name == MULTICLASS:
            raise ValueError(f"prior={prior} is for two classes, and y has {len(read.classes)}; leave it out")
        prior = None
        needed = {k: f"labeled row of class {label!r}" for k, label in enumerate(read.classes.tolist())}
        labels.require_weight(read.codes[positions], needed)
        check_counts(read.classes, read.codes[positions])
    # Members and scores then do not depend on the unit of the weights.
    if weight is not None:
        weight = weight / weight[positions].mean()
    rows = Rows.read(X, read, groups=groups, time=time, weight=weight)
    return LearningTask(name, rows.take(positions).with_groups_in_order(), positions, prior, n_unlabeled)


def _read_positives(y, read, positions):
    """Labels 1 and 0 of the positives and of the unlabeled rows."""
    # Raises if no row is unlabeled.
    classes, positive = labels.read_pu(y)
    labels.warn_positive_unlabeled(y, read)
    labels.require_weight(positive[positions], {True: f"labeled row of class {classes[1:].tolist()[0]!r}"})
    labels.require_weight(positive[positions], {False: "unlabeled row"})
    codes = positive.astype(np.int64)
    check_counts(classes, codes[positions])
    return Labels(classes, codes)


def _prior(X, is_positive, weight, prior, seed):
    """The prior, estimated if it is not given."""
    if prior is not None:
        return PriorEstimate(prior, prior, prior, {}, prior)
    found = class_prior(X, is_positive, seed, weight)
    return found._replace(prior=float(np.clip(found.prior, 0.001, 0.999)))


def _fewer_unlabeled(positions, is_positive, seed):
    """All positives, and a sample of the unlabeled rows if there are many."""
    hidden = positions[~is_positive]
    if len(hidden) <= _MOST_PU:
        return positions
    return np.r_[positions[is_positive], check_random_state(seed).permutation(hidden)[:_MOST_PU]]


def check_counts(classes, codes):
    """Raise `LabelError` if there are too few labeled rows to learn from and to validate with.

    Of two classes each needs two rows. Of more, two classes do: the only row of another one is learned from.

    Parameters
    ----------
    classes : ndarray
    codes : ndarray of int
        Position of each row's class, ``-1`` where it is unknown.
    """
    counts = np.bincount(codes[codes >= 0])
    present = np.flatnonzero(counts)
    # Of two classes the rarer one; of more, the second largest.
    rarest = present[np.argsort(-counts[present], kind="stable")[1 if len(present) > 1 else 0]]
    if counts[rarest] < _LEAST:
        raise LabelError(
            f"class {classes[rarest : rarest + 1].tolist()[0]!r} has {counts[rarest]} labeled row(s): at least "
            f"{_LEAST} rows of each class are needed, one to learn from and one to validate with. Label more rows of "
            "it, or leave the class out"
        )
