"""Models in files: written completely or not at all, and read without running code from the file."""

from fewlabel.persistence._transition import load, save
from fewlabel.persistence.forests import FrozenClassifier, FrozenTrees
from fewlabel.persistence.symmetric import FrozenSymmetricTrees

__all__ = ["FrozenClassifier", "FrozenSymmetricTrees", "FrozenTrees", "load", "save"]
