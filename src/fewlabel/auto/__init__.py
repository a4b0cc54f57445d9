"""The choice between the methods, by out-of-fold evidence."""

from fewlabel.auto._classifier import BLOCK, AutoClassifier, UnlabeledEffect, check_counts
from fewlabel.auto._learning_curve import LearningCurve, learning_curve
from fewlabel.auto._members import portfolio

__all__ = ["BLOCK", "AutoClassifier", "LearningCurve", "UnlabeledEffect", "check_counts", "learning_curve", "portfolio"]
