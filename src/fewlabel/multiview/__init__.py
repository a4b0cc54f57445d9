"""Views of a table: columns that belong together, and kernel machines whose views learn from each other."""

from fewlabel.multiview._balanced import BalancedMultiviewClassifier
from fewlabel.multiview._kernel import MultiviewKernelClassifier
from fewlabel.multiview._quasi_bagging import QuasiBaggingClassifier
from fewlabel.multiview._variables import VariableClusterer

__all__ = [
    "BalancedMultiviewClassifier",
    "MultiviewKernelClassifier",
    "QuasiBaggingClassifier",
    "VariableClusterer",
]
