"""From a ranking to decisions: where to put the threshold, and what the decisions yield.

The evidence are scores of labeled rows by models that were not fitted to them, such as `out_of_fold_` of
:class:`fewlabel.AutoClassifier`. Rows above the threshold are *flagged*: reviewed, refused, treated as positive.
"""

from fewlabel.decisions._classes import best_class
from fewlabel.decisions._evidence import (
    FACTOR,
    Costs,
    Estimate,
    Evidence,
    Sensitivity,
    auc_range,
    capacity_threshold,
    curve_auc,
    reversing_odds,
)

__all__ = [
    "FACTOR",
    "Costs",
    "Estimate",
    "Evidence",
    "Sensitivity",
    "auc_range",
    "best_class",
    "capacity_threshold",
    "curve_auc",
    "reversing_odds",
]
