"""How well scores rank, measured with few labels, and how methods compare over many tables."""

from fewlabel.metrics._auc import (
    AUCInterval,
    PairedAUCTest,
    auc_confidence_interval,
    paired_auc_test,
    pnu_auc_score,
    pu_auc_score,
)
from fewlabel.metrics._comparison import Comparison, compare_methods, plot_critical_difference

__all__ = [
    "AUCInterval",
    "Comparison",
    "PairedAUCTest",
    "auc_confidence_interval",
    "compare_methods",
    "paired_auc_test",
    "plot_critical_difference",
    "pnu_auc_score",
    "pu_auc_score",
]
