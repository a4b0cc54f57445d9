"""Wrappers that make any scikit-learn classifier semi-supervised by self-labeling."""

from fewlabel.wrappers._co_training import CoTrainingClassifier
from fewlabel.wrappers._cross_training import CrossTrainingClassifier
from fewlabel.wrappers._tri_training import TriTrainingClassifier

__all__ = ["CoTrainingClassifier", "CrossTrainingClassifier", "TriTrainingClassifier"]
