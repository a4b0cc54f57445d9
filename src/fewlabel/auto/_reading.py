"""How `AutoClassifier` reads its labels: the classes, the task, and the rows to learn from."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from fewlabel import labels
from fewlabel.auto._members import BINARY, MULTICLASS, POSITIVE_UNLABELED
from fewlabel.exceptions import LabelError
from fewlabel.prior import class_prior
from fewlabel.row_order import value_order

_LEAST = 2  # labeled rows of a class: one to learn from, one to validate with
_MOST_PU = 5000  # unlabeled rows of positive-unlabeled data; more cost time and do not change the choice


class Reading(NamedTuple):
    """What `y` says.

    Attributes
    ----------
    classes : ndarray
    task : {"binary", "multiclass", "positive-unlabeled"}
    codes : ndarray of int
        Class of each row, ``-1`` if unlabeled; in positive-unlabeled data 1 and 0.
    kept : ndarray of int
        The rows to learn from, in an order of their values, so that the order in the table does not matter.
    prior : float or None
        Share of positives among the unlabeled rows, in positive-unlabeled data.
    """

    classes: np.ndarray
    task: str
    codes: np.ndarray
    kept: np.ndarray
    prior: float | None


def read_task(X, y, prior, seed, weight=None):
    """Read the labels.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    prior : float or None
        The parameter of `AutoClassifier`.
    seed : int
    weight : ndarray of shape (n_samples,), default=None
        Rows of weight 0 are left out.

    Returns
    -------
    Reading
    """
    found = labels.read(y)
    labels.require_labels(found)
    check_consistent_length(X, found.codes)
    kept = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0)
    kept = kept[value_order(X[kept], found.codes[kept], None if weight is None else weight[kept])]
    if len(found.classes) == 1:
        return _read_positives(X, y, found, prior, seed, kept)
    task = BINARY if len(found.classes) == 2 else MULTICLASS
    if prior is not None and task == MULTICLASS:
        raise ValueError(f"prior={prior} is for two classes, and y has {len(found.classes)}; leave it out")
    names = {k: f"labeled row of class {name!r}" for k, name in enumerate(found.classes.tolist())}
    labels.require_weight(found.codes[kept], names)
    check_counts(found.classes, found.codes[kept])
    return Reading(found.classes, task, found.codes, kept, None)


def _read_positives(X, y, found, prior, seed, kept):
    classes, positive = labels.read_pu(y)  # raises if no row is unlabeled
    labels.warn_positive_unlabeled(y, found)
    labels.require_weight(positive[kept], {True: f"labeled row of class {classes[1:].tolist()[0]!r}"})
    labels.require_weight(positive[kept], {False: "unlabeled row"})
    check_counts(classes, positive[kept].astype(np.int64))
    prior = class_prior(X[kept], positive[kept], seed) if prior is None else prior
    hidden = kept[~positive[kept]]
    if len(hidden) > _MOST_PU:
        hidden = check_random_state(seed).permutation(hidden)[:_MOST_PU]
        kept = np.r_[kept[positive[kept]], hidden]
    return Reading(classes, POSITIVE_UNLABELED, positive.astype(np.int64), kept, float(np.clip(prior, 0.001, 0.999)))


def check_counts(classes, codes):
    """Raise `LabelError` if a class has too few labeled rows to learn from and to validate with.

    Parameters
    ----------
    classes : ndarray
    codes : ndarray of int
        Position of each row's class, ``-1`` where it is unknown.
    """
    counts = np.bincount(codes[codes >= 0])
    present = np.flatnonzero(counts)
    rarest = present[counts[present].argmin()]
    if counts[rarest] < _LEAST:
        raise LabelError(
            f"class {classes[rarest : rarest + 1].tolist()[0]!r} has {counts[rarest]} labeled row(s): at least "
            f"{_LEAST} rows of each class are needed, one to learn from and one to validate with. Label more rows of "
            "it, or leave the class out"
        )
