"""Boosters of stumps and of symmetric trees, and boosters of any base classifier with pseudo-labels."""

from fewlabel.boosting._multiclass import AssembleClassifier, SemiSupervisedAdaBoostClassifier
from fewlabel.boosting._pnu_ada import PNUAdaBoostClassifier
from fewlabel.boosting._pnu_auc import PNUAUCBoostClassifier
from fewlabel.boosting._pu_ada import PUAdaBoostClassifier
from fewlabel.boosting._tree_auc import TreeAUCBoostClassifier
from fewlabel.boosting._tree_pu import TreePUBoostClassifier
from fewlabel.boosting.additive import ShapeFunction
from fewlabel.boosting.booster import read_directions

__all__ = [
    "AssembleClassifier",
    "PNUAUCBoostClassifier",
    "PNUAdaBoostClassifier",
    "PUAdaBoostClassifier",
    "SemiSupervisedAdaBoostClassifier",
    "ShapeFunction",
    "TreeAUCBoostClassifier",
    "TreePUBoostClassifier",
    "read_directions",
]
