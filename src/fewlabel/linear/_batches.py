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
    batch = labels.read(y)
    check_consistent_length(X, batch.codes)
    declared = None if classes is None else labels.read(classes).classes
    if first:
        if len(declared) != 2:
            raise LabelError(
                f"classes={declared.tolist()} holds {len(declared)} classes: pass two, [negative, positive]"
            )
        model.classes_ = declared
        # Until both classes have been seen, every row has the score 0 and the probability 1/2.
        model.offset_ = 0.0
        model.calibration_ = np.zeros(2)
    elif declared is not None and not np.array_equal(declared, model.classes_):
        raise ValueError(
            f"classes={list(classes)} differs from the first call: pass {model.classes_.tolist()}, or fit a new model"
        )
    unknown = np.setdiff1d(batch.classes, model.classes_)
    if len(unknown):
        raise LabelError(
            f"y holds {unknown.tolist()}, which is not among the classes {model.classes_.tolist()}: drop these rows, "
            "or fit a new model"
        )
    # The code -1 of unlabeled rows points to the last entry.
    sign_of_code = np.append(np.where(batch.classes == model.classes_[1], 1, -1), 0).astype(np.int8)
    return X, sign_of_code[batch.codes]


def set_threshold(model, scores, positive, seen, weight=None):
    """Set threshold and calibration from the available labeled rows, if they are of both classes.

    `seen` holds the weight of negatives and positives of all batches, which those of the available rows are scaled to.
    """
    weight = np.ones(len(scores)) if weight is None else weight
    available = np.bincount(positive, weights=weight, minlength=2)
    if available.all():
        scale = seen / available
        model.offset_, model.calibration_ = calibrate(scores, positive, weight * scale[positive.astype(np.intp)])
