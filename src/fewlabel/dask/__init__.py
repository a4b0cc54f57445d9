"""The boosters and least-squares AUC on Dask arrays and DataFrames: rows stay on the workers, sums travel."""

from fewlabel.dask._models import (
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
