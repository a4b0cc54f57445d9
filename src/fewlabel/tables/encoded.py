"""A table as numbers, with its labels."""

from typing import NamedTuple

import numpy as np

from fewlabel.folds import INDEPENDENT, Sampling
from fewlabel.labels import Labels


class EncodedTable(NamedTuple):
    """A table as numbers, and its labels.

    Attributes
    ----------
    features : ndarray of shape (n_samples, n_features)
        Floats, NaN where a value is missing.
    labels : Labels
        Classes and the code of each row. With two classes, the positive one has code 1.
    sampling : Sampling
        Groups, time and weights of the rows.
    """

    features: np.ndarray
    labels: Labels
    sampling: Sampling = INDEPENDENT


def numbered(codes: np.ndarray) -> Labels:
    """Labels whose classes are their codes."""
    present = np.unique(codes[codes >= 0])
    return Labels(present, np.where(codes < 0, -1, np.searchsorted(present, codes)))
