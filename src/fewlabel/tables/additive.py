"""The best additive model for a table, and what it costs against the best of all methods."""

from typing import Any, NamedTuple

from sklearn.base import clone

from fewlabel.auto import ADDITIVE, AutoClassifier, portfolio
from fewlabel.tables.classifier import EncodedTable, TableClassifier


class AdditiveChoice(NamedTuple):
    """An additive method beside the best of all methods, by their out-of-fold scores.

    Attributes
    ----------
    method, best : str
    score, best_score : float
    """

    method: str
    score: float
    best: str
    best_score: float

    @property
    def text(self) -> str:
        """What the choice costs, as a sentence."""
        if self.method == self.best:
            return f"{self.method} is additive, and no other method has a higher score ({self.score:.3f})"
        return (
            f"{self.method} is the best additive method, with a score of {self.score:.3f}; {self.best}, the best of "
            f"all, has {self.best_score:.3f}: being additive costs {self.best_score - self.score:.3f}"
        )


def fit_additive(model: TableClassifier, table: EncodedTable, *, callback: Any = None) -> AdditiveChoice:
    """Compare all methods out of fold, and fit the best one that is a sum of step functions.

    Parameters
    ----------
    model : TableClassifier
        With an AutoClassifier as its estimator; it is fitted.
    table : EncodedTable
        What `model.encode` returned.
    callback : callable, default=None
        As in `TableClassifier.fit`.

    Returns
    -------
    AdditiveChoice

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import AutoClassifier, TableClassifier
    >>> from fewlabel.tables import fit_additive
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = TableClassifier(AutoClassifier(["logistic regression", "RankBoost"], random_state=0))
    >>> fit_additive(model, model.encode(X[:200], y[:200])).method
    'RankBoost'
    """
    if not isinstance(model.estimator, AutoClassifier):
        raise TypeError(f"estimator is {model.estimator!r}: expected an AutoClassifier, which compares methods")
    whole = model.estimator
    if whole.portfolio == "auto":  # additive methods are not among those that it tries by default
        model.estimator = clone(whole).set_params(portfolio=[member.name for member in portfolio()])
    try:
        model.fit_encoded(table, callback=callback)
    finally:
        model.estimator = whole
    board = model.estimator_.leaderboard_.query("status == 'ok' and family != 'ensemble'")
    additive = board[board["method"].isin(ADDITIVE)]
    if len(additive) == 0:
        raise ValueError(
            f"none of the methods for these labels is additive: two classes or positives only are needed, and one of "
            f"{', '.join(ADDITIVE)} in the portfolio"
        )
    best, chosen = board.iloc[0], additive.iloc[0]
    model.estimator = clone(whole).set_params(portfolio=[chosen["method"]])
    try:
        model.fit_encoded(table, callback=callback)
    finally:
        model.estimator = whole
    return AdditiveChoice(chosen["method"], float(chosen["score"]), best["method"], float(best["score"]))
