"""Shared by estimators with `partial_fit`: reading a batch, and the threshold from the available rows."""

import numpy as np
from sklearn.utils.validation import check_consistent_length

from fewlabel import labels
from fewlabel.calibration import calibrate
from fewlabel.exceptions import LabelError


def read_batch(model, X, y, classes):
    """Return validated rows and signs (+1, -1, 0) of a batch; sets ``classes_`` on the first call."""
    first = not hasattr(model, "classes_")
    if first and classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit: [negative, positive]")
    X = model._validate(X, reset=first)
    found = labels.read(y)
    check_consistent_length(X, found.codes)
    if first:
        declared = labels.read(classes).classes
        if len(declared) != 2:
            raise LabelError(
                f"classes={declared.tolist()} holds {len(declared)} classes: pass two, [negative, positive]"
            )
        model.classes_ = declared
        model.offset_, model.calibration_ = 0.0, np.zeros(2)
    elif classes is not None and not np.array_equal(labels.read(classes).classes, model.classes_):
        raise ValueError(
            f"classes={list(classes)} differs from the first call: pass {model.classes_.tolist()}, or fit a new model"
        )
    unknown = np.setdiff1d(found.classes, model.classes_)
    if len(unknown):
        raise LabelError(
            f"y holds {unknown.tolist()}, which is not among the classes {model.classes_.tolist()}: drop these rows, "
            "or fit a new model"
        )
    signs = np.zeros(len(found.codes), dtype=np.int8)
    for sign, known in zip((-1, 1), model.classes_):
        at = np.flatnonzero(found.classes == known)
        if len(at):
            signs[found.codes == at[0]] = sign
    return X, signs


def set_threshold(model, scores, positive, seen):
    """Set threshold and calibration from the available labeled rows, weighted to the class counts seen so far."""
    counts = np.array([np.count_nonzero(~positive), np.count_nonzero(positive)])
    if counts.all():
        weight = np.where(positive, *(seen / counts)[::-1])
        model.offset_, model.calibration_ = calibrate(scores, positive, weight)
