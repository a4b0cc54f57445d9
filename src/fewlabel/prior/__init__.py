"""Class prior of positive-unlabeled data: the share of positives among the unlabeled rows."""

from fewlabel.prior._belief import auc_against_negatives
from fewlabel.prior._ceiling import largest_prior
from fewlabel.prior._estimate import PriorEstimate, class_prior, estimate_class_prior
from fewlabel.prior._labeling import labeling_probability, weigh_positives

__all__ = [
    "PriorEstimate",
    "auc_against_negatives",
    "class_prior",
    "estimate_class_prior",
    "labeling_probability",
    "largest_prior",
    "weigh_positives",
]
