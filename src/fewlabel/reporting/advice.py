"""Importance of the columns, and which rows to label next."""

from typing import Any

import numpy as np
import pandas as pd

from fewlabel.active import REASONS, BatchQuery, Query
from fewlabel.reporting.figures import value_text
from fewlabel.rows import Rows
from fewlabel.tables import TableClassifier, highest_probability
from fewlabel.text import short
from fewlabel.types import PlainDict

_MOST_COLUMNS = 60  # columns to shuffle: each costs one scoring of the rows
_MOST_ROWS = 400
_MOST_SHOWN = 12  # columns


def importances(model: Any, features: np.ndarray, seed: int = 0) -> list[PlainDict]:
    """Permutation importance: the mean move of a row in the ranking when a column is shuffled.

    It uses no labels, so rows that the model was fitted to do not bias it.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    features : ndarray of shape (n_rows, n_features)
        The encoded rows.
    seed : int, default=0

    Returns
    -------
    list of dict
        Column and importance (a share of all rows), the largest first.
    """
    rng = np.random.default_rng(seed)
    sampled = rng.permutation(len(features))[:_MOST_ROWS]
    rows = features[sampled]
    before = _ranks(model.estimator_, rows)
    sources = np.array(model.encoder_.sources_, dtype=object)
    moves: list[PlainDict] = []
    for name in _promising(rows, before, sources):
        # All features of a column together: the model could read one off the others.
        own = np.flatnonzero(sources == name)
        other_rows = rng.permutation(len(rows))
        shuffled = rows.copy()
        shuffled[:, own] = rows[other_rows][:, own]
        after = _ranks(model.estimator_, shuffled)
        moved = np.abs(after - before)
        moves.append({"column": str(name), "importance": float(moved.mean())})
    moves.sort(key=lambda row: -row["importance"])
    return moves[:_MOST_SHOWN]


def _promising(rows: np.ndarray, ranks: np.ndarray, sources: np.ndarray) -> list[str]:
    """All columns or, if there are too many, those with the highest rank correlation with the scores."""
    names = list(dict.fromkeys(sources))
    if len(names) <= _MOST_COLUMNS:
        return names
    # Not in place: pandas hands out arrays that cannot be written to.
    order = pd.DataFrame(np.nan_to_num(rows)).rank().to_numpy()
    centered = order - order.mean(axis=0)
    scaled = centered / np.maximum(centered.std(axis=0), 1e-12)  # a constant column has no correlation
    correlation = scaled.T @ (ranks - ranks.mean(axis=0))
    strength = np.abs(correlation).max(axis=1)
    best = pd.Series(strength).groupby(pd.Series(sources.astype(str))).max()
    best = best.sort_values(ascending=False)
    return list(best.index[:_MOST_COLUMNS])


def _ranks(estimator: Any, rows: np.ndarray) -> np.ndarray:
    decision = np.asarray(estimator.decision_function(rows)).reshape(len(rows), -1)
    return pd.DataFrame(decision).rank().to_numpy() / len(rows)


def rows_to_label(
    model: TableClassifier, encoded: Rows, probability: np.ndarray | None = None, *, n: int = 20, seed: int = 0
) -> Query:
    """Choose the unlabeled rows to label next by :class:`fewlabel.active.BatchQuery`.

    Parameters
    ----------
    model : TableClassifier
        Fitted to these rows.
    encoded : Rows
    probability : ndarray of shape (n_rows, n_classes), default=None
        Of all rows, by the estimator of the model, if they are known already.
    n : int, default=20
    seed : int, default=0

    Returns
    -------
    Query
    """
    if model.estimator_.prior_ is not None:
        probability = None  # from positives only: rows like them, as before any negative is known
    elif probability is None:
        probability = model.estimator_.predict_proba(encoded.X)
    positive = None if model.positive_ is None else model.classes_[model.positive_]
    batch = BatchQuery(positive=positive, random_state=seed)
    return batch.query(encoded.X, encoded.labels, n, probability=probability)


def described(
    model: TableClassifier, X: pd.DataFrame, query: Query, probability: np.ndarray, shown: list[str]
) -> list[PlainDict]:
    """The rows to label next, with what the model says and the values of some columns.

    Of positives only, the probability of a positive is the highest possible one: no other is known.

    Parameters
    ----------
    model : TableClassifier
    X : DataFrame
        All rows.
    query : Query
    probability : ndarray of shape (n_rows, n_classes)
    shown : list of str
        Columns.

    Returns
    -------
    list of dict
    """
    table = X.set_axis(X.columns.map(str), axis=1)
    # Of two classes that of the positive one, also if it is the less likely.
    likely = probability[:, 1] if probability.shape[1] == 2 else probability.max(axis=1)
    highest = highest_probability(model.model_, likely)
    if highest is not None:
        likely = highest
    described_rows = []
    for row, how in zip(query.rows.tolist(), query.how):
        values = []
        for name in shown:
            text = value_text(table[name].iloc[row])
            values.append({"column": name, "value": short(text, 24)})
        described_rows.append(
            {
                "row": row + 1,  # counted from 1
                "probability": float(likely[row]),
                "is_highest": highest is not None,
                "label": str(model.names_of(probability[row].argmax())),
                "how": how,
                "why": REASONS[how],
                "values": values,
            }
        )
    return described_rows
