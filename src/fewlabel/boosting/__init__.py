"""Boosters of stumps."""

from fewlabel.boosting._booster import ShapeFunction
from fewlabel.boosting._pnu_ada import PNUAdaBoostClassifier
from fewlabel.boosting._pnu_auc import PNUAUCBoostClassifier
from fewlabel.boosting._rankboost import RankBoostClassifier

__all__ = ["PNUAUCBoostClassifier", "PNUAdaBoostClassifier", "RankBoostClassifier", "ShapeFunction"]
