"""Wrappers that make a semi-supervised classifier of any scikit-learn classifier, by letting it label rows itself."""

from fewlabel.wrappers._co_training import CoTrainingClassifier
from fewlabel.wrappers._cross_training import CrossTrainingClassifier
from fewlabel.wrappers._tri_training import TriTrainingClassifier

__all__ = ["CoTrainingClassifier", "CrossTrainingClassifier", "TriTrainingClassifier"]
