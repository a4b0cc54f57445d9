"""Feature selection: subsets by nearest neighbors (FSCRF), ReliefF, CFS and consistency."""

from fewlabel.selection._consistency import ConsistencySubsetSelector
from fewlabel.selection._correlation import CorrelationSubsetSelector
from fewlabel.selection._relieff import ReliefFSelector
from fewlabel.selection._subset_relief import SubsetReliefSelector

__all__ = ["ConsistencySubsetSelector", "CorrelationSubsetSelector", "ReliefFSelector", "SubsetReliefSelector"]
