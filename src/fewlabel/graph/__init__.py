"""Classifiers on graphs of nearest neighbors."""

from fewlabel.graph._label_spreading import LabelSpreadingClassifier
from fewlabel.graph._path_neighbors import PathNeighborsClassifier

__all__ = ["LabelSpreadingClassifier", "PathNeighborsClassifier"]
