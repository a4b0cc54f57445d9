"""AutoClassifier: many methods compared out of fold, the better ones combined."""

from fewlabel.auto.additive import AdditiveMember, additive_member
from fewlabel.auto.classifier import AutoClassifier
from fewlabel.auto.curves import LearningCurve, learning_curve
from fewlabel.auto.experience import Experience
from fewlabel.auto.intervals import DISTRIBUTION_FREE, EXPERIENCE, labels_within
from fewlabel.auto.leaderboard import ENSEMBLE, AdditiveChoice
from fewlabel.auto.members import default_members, portfolio
from fewlabel.auto.task import check_counts
from fewlabel.parts.model import BLOCK

__all__ = [
    "BLOCK",
    "DISTRIBUTION_FREE",
    "ENSEMBLE",
    "EXPERIENCE",
    "AdditiveChoice",
    "AdditiveMember",
    "AutoClassifier",
    "Experience",
    "LearningCurve",
    "additive_member",
    "check_counts",
    "default_members",
    "labels_within",
    "learning_curve",
    "portfolio",
]
