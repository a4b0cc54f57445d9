"""AutoClassifier: many methods compared out of fold, the better ones combined."""

from fewlabel.auto._board import AdditiveChoice
from fewlabel.auto._classifier import BLOCK, AutoClassifier
from fewlabel.auto._effect import UnlabeledEffect
from fewlabel.auto._experience import Experience, Trial, use_experience
from fewlabel.auto._fitted import RANK_EDGE
from fewlabel.auto._learning_curve import LearningCurve, learning_curve
from fewlabel.auto._members import default_members, portfolio
from fewlabel.auto._observe import Observation, observe_members, weigh_members
from fewlabel.auto._reading import check_counts

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
    "use_experience",
    "weigh_members",
]
