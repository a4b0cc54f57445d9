"""Boosters of stumps, and boosters of any base classifier with pseudo-labels."""

from fewlabel.boosting._multiclass import AssembleClassifier, SemiSupervisedAdaBoostClassifier
from fewlabel.boosting._pnu_ada import PNUAdaBoostClassifier
from fewlabel.boosting._pnu_auc import PNUAUCBoostClassifier
from fewlabel.boosting._pu_ada import PUAdaBoostClassifier
from fewlabel.boosting._rankboost import RankBoostClassifier
from fewlabel.boosting.additive import ShapeFunction

__all__ = [
    "AssembleClassifier",
    "PNUAUCBoostClassifier",
    "PNUAdaBoostClassifier",
    "PUAdaBoostClassifier",
    "RankBoostClassifier",
    "SemiSupervisedAdaBoostClassifier",
    "ShapeFunction",
]
