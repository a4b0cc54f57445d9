"""AutoClassifier: many methods compared out of fold, the better ones combined."""

from fewlabel.auto._fitted import RANK_EDGE
from fewlabel.auto.classifier import BLOCK, AutoClassifier
from fewlabel.auto.curves import LearningCurve, learning_curve
from fewlabel.auto.effect import UnlabeledEffect
from fewlabel.auto.experience import Experience, Trial
from fewlabel.auto.leaderboard import AdditiveChoice
from fewlabel.auto.members import default_members, portfolio
from fewlabel.auto.observe import Observation, observe_members, weigh_members
from fewlabel.auto.task import check_counts

__all__ = [
    "BLOCK",
    "RANK_EDGE",
    "AdditiveChoice",
    "AutoClassifier",
    "Experience",
    "LearningCurve",
    "Observation",
    "Trial",
    "UnlabeledEffect",
    "check_counts",
    "default_members",
    "learning_curve",
    "observe_members",
    "portfolio",
    "weigh_members",
]
