"""Multi-view learning: clustering of columns into views, and kernel machines on several views."""

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
