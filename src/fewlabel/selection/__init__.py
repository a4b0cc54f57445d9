"""Feature selection: FSCRF, ReliefF, CFS, consistency, scores of graphs, pseudo-labels, stability."""

from fewlabel.selection._consistency import ConsistencySubsetSelector
from fewlabel.selection._correlation import CorrelationSubsetSelector
from fewlabel.selection._graph_scores import GraphScoreSelector
from fewlabel.selection._meta import PseudoLabelSelector, StabilitySelector
from fewlabel.selection._relieff import ReliefFSelector
from fewlabel.selection._subset_relief import SubsetReliefSelector

__all__ = [
    "ConsistencySubsetSelector",
    "CorrelationSubsetSelector",
    "GraphScoreSelector",
    "PseudoLabelSelector",
    "ReliefFSelector",
    "StabilitySelector",
    "SubsetReliefSelector",
]
