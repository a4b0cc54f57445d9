"""Whether a fit with other unlabeled rows gives the same ranking: then more of them would not change it."""

from typing import Any

import pandas as pd
from sklearn.base import clone

AGREE = 0.99  # least Spearman correlation of rankings that count as the same
LARGEST = 40_000  # unlabeled rows of the largest sample
JUDGED = 10_000  # rows, of neither sample, that both models rank
LEAST_JUDGED = 100  # with fewer of them there is no check


def same_methods(estimator: Any) -> Any:
    """An unfitted estimator with the methods of a fitted one: of an `AutoClassifier` those that it has chosen.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fewlabel.dask.other_samples import same_methods
    >>> same_methods(LogisticRegression(C=2.0).fit([[0], [1]], [0, 1]))
    LogisticRegression(C=2.0)
    """
    again = clone(estimator)
    if hasattr(estimator, "ensemble_weights_"):
        again.set_params(portfolio=list(estimator.ensemble_weights_), time_budget=None)
    return again


def rank_agreement(one: Any, other: Any) -> float:
    """Spearman correlation of two scores of the same rows, the mean over classes if there are several.

    Examples
    --------
    >>> from fewlabel.dask.other_samples import rank_agreement
    >>> rank_agreement([1.0, 2.0, 4.0], [0.1, 0.2, 0.9])
    1.0
    """
    columns = [pd.DataFrame(scores).rank() for scores in (one, other)]
    return float(columns[0].corrwith(columns[1]).mean())
