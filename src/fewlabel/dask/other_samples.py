"""Whether a fit with other unlabeled rows gives the same ranking: then more of them would not change it."""

from typing import Any

import pandas as pd

from fewlabel.tables import TableClassifier
from fewlabel.tables.classifier import same_methods

AGREE = 0.99  # least Spearman correlation of rankings that count as the same
LARGEST = 40_000  # unlabeled rows of the largest sample
JUDGED = 10_000  # rows, of neither sample, that both models rank
LEAST_JUDGED = 100  # with fewer of them there is no check


def agreement(model: TableClassifier, X: Any, y: Any, further: Any, **fit_parameters: Any) -> float:
    """How alike a model, and one of the same methods that is fitted to other rows, rank further rows: from -1 to 1.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    X, y : DataFrame, Series or Labels
        The other rows.
    further : DataFrame
        Rows that neither model was fitted to.
    **fit_parameters
        Further arguments of `TableClassifier.fit`.
    """
    again = TableClassifier(
        same_methods(model.estimator_),
        positive=model.positive,
        dayfirst=model.dayfirst,
        special_values=model.special_values,
        random_state=model.random_state,
    )
    again.fit(X, y, **fit_parameters)
    return rank_agreement(model.decision_function(further), again.decision_function(further))


def take_more(agreement: float | None, n: int, n_unlabeled: int) -> bool:
    """Whether to fit again with twice as many unlabeled rows: if the rankings differ, and there are as many.

    Examples
    --------
    >>> from fewlabel.dask.other_samples import take_more
    >>> take_more(0.95, 10_000, n_unlabeled=50_000), take_more(0.95, 10_000, n_unlabeled=15_000)
    (True, False)
    """
    differ = agreement is not None and agreement < AGREE
    return differ and 2 * n <= min(LARGEST, n_unlabeled)


def rank_agreement(one: Any, other: Any) -> float:
    """Spearman correlation of two scores of the same rows, the mean over classes if there are several.

    Examples
    --------
    >>> from fewlabel.dask.other_samples import rank_agreement
    >>> rank_agreement([1.0, 2.0, 4.0], [0.1, 0.2, 0.9])
    1.0
    """
    # Spearman's correlation is that of the ranks.
    ranks = pd.DataFrame(one).rank()
    other_ranks = pd.DataFrame(other).rank()
    return float(ranks.corrwith(other_ranks).mean())
