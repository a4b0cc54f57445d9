"""Metrics of rankings with few labels (AUC estimates, intervals, tests), and comparisons over many datasets."""

from fewlabel.metrics._comparison import Comparison, compare_methods, plot_critical_difference
from fewlabel.metrics._groups import by_group
from fewlabel.metrics._intervals import AUCInterval, auc_confidence_interval
from fewlabel.metrics._many import hand_till_score
from fewlabel.metrics._paired import PairedAUCTest, paired_auc_test
from fewlabel.metrics._unlabeled import pnu_auc_score, pu_auc_score

__all__ = [
    "AUCInterval",
    "Comparison",
    "PairedAUCTest",
    "auc_confidence_interval",
    "by_group",
    "compare_methods",
    "hand_till_score",
    "paired_auc_test",
    "plot_critical_difference",
    "pnu_auc_score",
    "pu_auc_score",
]
