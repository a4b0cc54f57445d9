"""Every reading of `y`: which rows are labeled, with which class, and how errors about it are worded.

A row is unlabeled if it holds ``-1`` in a numeric `y`, or ``NaN`` / ``None`` / ``pd.NA`` / ``NaT`` in any
`y`. Everything else is a class: an int, a float that holds an int, a bool, or a string.
"""

from fewlabel.labels._reading import (
    UNLABELED,
    BinaryLabels,
    Labels,
    PULabels,
    name_rest,
    read,
    read_binary,
    read_classes,
    read_positive,
    read_pu,
    require_labels,
    require_weight,
    require_y,
    warn_positive_unlabeled,
)

__all__ = [
    "UNLABELED",
    "BinaryLabels",
    "Labels",
    "PULabels",
    "name_rest",
    "read",
    "read_binary",
    "read_classes",
    "read_positive",
    "read_pu",
    "require_labels",
    "require_weight",
    "require_y",
    "warn_positive_unlabeled",
]
