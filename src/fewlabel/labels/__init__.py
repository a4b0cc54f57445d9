"""Every reading of `y`: which rows are labeled, with which class, and how errors about it are worded.

A row is unlabeled if it holds ``-1`` in a numeric `y`, or ``NaN`` / ``None`` / ``pd.NA`` / ``NaT`` in any
`y`. Everything else is a class: an int, a float that holds an int, a bool, or a string. The label column of a file is
read more strictly, by `read_column`: it stops where two readings are possible.
"""

from fewlabel.labels._rare import treat_rare_classes
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
    sorted_classes,
    warn_positive_unlabeled,
)
from fewlabel.labels._written import EMPTY, LabelColumn, python_wording, read_column

__all__ = [
    "EMPTY",
    "UNLABELED",
    "BinaryLabels",
    "LabelColumn",
    "Labels",
    "PULabels",
    "name_rest",
    "python_wording",
    "read",
    "read_binary",
    "read_classes",
    "read_column",
    "read_positive",
    "read_pu",
    "require_labels",
    "require_weight",
    "require_y",
    "sorted_classes",
    "treat_rare_classes",
    "warn_positive_unlabeled",
]
