"""From a ranking to decisions: where to threshold, and what the decisions yield.

The evidence are scores of labeled rows by models that were not fitted to them, such as `out_of_fold_` of
:class:`fewlabel.AutoClassifier`. Rows above the threshold are *flagged*: reviewed, refused, treated as positive.
"""

from fewlabel.decisions._classes import best_class
from fewlabel.decisions._evidence import Costs, Estimate, Evidence, Sensitivity, capacity_threshold

__all__ = ["Costs", "Estimate", "Evidence", "Sensitivity", "best_class", "capacity_threshold"]
