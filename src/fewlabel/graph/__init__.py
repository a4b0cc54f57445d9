"""Classifiers on graphs of nearest neighbours."""

from fewlabel.graph._path_neighbors import PathNeighborsClassifier

__all__ = ["PathNeighborsClassifier"]
