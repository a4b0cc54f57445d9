"""Scores of a table, as `fewlabel predict` writes them."""

from typing import Any, NamedTuple

import numpy as np

from fewlabel.parts.cells import Cells
from fewlabel.tables.classifier import TableClassifier
from fewlabel.tables.profile import Drift
from fewlabel.tables.reasons import explain, reasons


class Scores(NamedTuple):
    """Scores of encoded rows.

    Attributes
    ----------
    codes : ndarray of int
        Class of each row, by the numbers of the model's `estimator_`.
    probability : ndarray of shape (n_samples, n_classes)
    score : ndarray of shape (n_samples,) or None
        None with more than two classes.
    """

    codes: np.ndarray
    probability: np.ndarray
    score: np.ndarray | None


def score_features(model: TableClassifier, features: np.ndarray) -> Scores:
    """Score encoded rows, in one pass if the model's estimator allows it.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    features : ndarray of shape (n_samples, n_features)
        What the model's encoder returned.

    Returns
    -------
    Scores
    """
    inner, is_binary = model.estimator_, model.positive_ is not None
    if not hasattr(inner, "probabilities_at"):
        score = inner.decision_function(features) if is_binary else None
        return Scores(model.codes_of(features), inner.predict_proba(features), score)
    decision = inner.decision_function(features)
    codes = inner.classes_at(decision) if model.cut_ is None else (decision > model.cut_["score"]).astype(np.intp)
    return Scores(codes, inner.probabilities_at(decision), decision if is_binary else None)


def score_columns(model: TableClassifier, scores: Scores) -> dict[str, np.ndarray]:
    """Scores under the names of the result: `score`, ``probability of bad``, or one probability per class.

    Parameters
    ----------
    model : TableClassifier
    scores : Scores

    Returns
    -------
    dict
    """
    if model.positive_ is None or scores.score is None:
        return {f"probability of {name}": scores.probability[:, k] for k, name in enumerate(model.classes_)}
    positive = model.classes_[model.positive_]
    return {"score": scores.score, f"probability of {positive}": scores.probability[:, 1]}


def row_reasons(
    model: TableClassifier, features: np.ndarray, cells: dict[str, Cells], n_reasons: int
) -> dict[str, list[str]]:
    """The columns that move the score of each row most: ``reason 1`` and so on, such as ``purpose = car (+0.42)``.

    Parameters
    ----------
    model : TableClassifier
    features : ndarray of shape (n_samples, n_features)
    cells : dict of str to Cells
        What the model's encoder read.
    n_reasons : int

    Returns
    -------
    dict
    """
    explanation = explain(model.encoder_, model.estimator_, features, model.reference_)
    return reasons(explanation, cells, n_reasons)


def score_table(
    model: TableClassifier, table: Any, *, drift: Drift | None = None, n_reasons: int = 0
) -> dict[str, Any]:
    """Score, probabilities and class of each row, and the reasons for the score.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    table : DataFrame
    drift : Drift, default=None
        Updated with these rows.
    n_reasons : int, default=0
        Add this many reasons per row, see :meth:`TableClassifier.explain`.

    Returns
    -------
    dict
        Columns of the result. With two classes: `score`, higher for the positive class; ``probability of bad``, if
        "bad" is the positive class (``classes_[positive_]``); `label`. With more classes: ``probability of a`` and so
        on for each class, and `label`. Then ``reason 1`` and so on, such as ``purpose = car (+0.42)``.
    """
    cells = model.encoder_.read(table)
    if drift is not None:
        drift.add(cells)
    features = model.encoder_.part_.encode(cells)
    scores = score_features(model, features)
    found = row_reasons(model, features, cells, n_reasons) if n_reasons else {}
    return {**score_columns(model, scores), "label": model.names_of(scores.codes), **found}
