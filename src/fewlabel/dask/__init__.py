"""The boosters and least-squares AUC on Dask arrays and DataFrames: only sums leave the workers."""

try:
    import dask as _dask  # noqa: F401
except ImportError as error:
    raise ImportError("fewlabel.dask needs Dask: run `pip install 'fewlabel[dask]'`") from error

from fewlabel.dask._estimators import (
    LeastSquaresAUCClassifier,
    PNUAUCBoostClassifier,
    PUAdaBoostClassifier,
    RankBoostClassifier,
)

__all__ = [
    "LeastSquaresAUCClassifier",
    "PNUAUCBoostClassifier",
    "PUAdaBoostClassifier",
    "RankBoostClassifier",
]
