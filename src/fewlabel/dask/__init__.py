"""Dask arrays and DataFrames: boosters and least-squares AUC on all rows, other classifiers on a sample of them."""

try:
    import dask as _dask  # noqa: F401
except ImportError as error:
    raise ImportError("fewlabel.dask needs Dask: run `pip install 'fewlabel[dask]'`") from error

from fewlabel.dask._estimators import (
    LeastSquaresAUCClassifier,
    PNUAUCBoostClassifier,
    PUAdaBoostClassifier,
    TreeAUCBoostClassifier,
    TreePUBoostClassifier,
)
from fewlabel.dask._table_classifier import TableClassifier

__all__ = [
    "LeastSquaresAUCClassifier",
    "PNUAUCBoostClassifier",
    "PUAdaBoostClassifier",
    "TableClassifier",
    "TreeAUCBoostClassifier",
    "TreePUBoostClassifier",
]
