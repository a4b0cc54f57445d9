"""Linear models: AUC with hinge and squared losses, and positive-unlabeled risks."""

from fewlabel.linear._auc import LinearAUCClassifier
from fewlabel.linear._auc_path import LinearAUCClassifierCV, linear_auc_path
from fewlabel.linear._least_squares import LeastSquaresAUCClassifier
from fewlabel.linear._one_vs_rest import OneVsRestRankingClassifier
from fewlabel.linear._pu import LinearPUClassifier

__all__ = [
    "LeastSquaresAUCClassifier",
    "LinearAUCClassifier",
    "LinearAUCClassifierCV",
    "LinearPUClassifier",
    "OneVsRestRankingClassifier",
    "linear_auc_path",
]
