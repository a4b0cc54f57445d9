"""Scores of a table, as `fewlabel predict` writes them."""

from typing import Any, NamedTuple

import numpy as np

from fewlabel.parts import FittedModel
from fewlabel.parts.explanations import reasons


class Scores(NamedTuple):
    """Scores of encoded rows.

    Attributes
    ----------
    codes : ndarray of int
        Class of each row, by its position in the model's `classes_`.
    probability : ndarray of shape (n_samples, n_classes)
    score : ndarray of shape (n_samples,) or None
        Higher for the positive class; None with more than two classes.
    """

    codes: np.ndarray
    probability: np.ndarray
    score: np.ndarray | None


def score_features(model: FittedModel, features: np.ndarray) -> Scores:
    """Score encoded rows.

    Parameters
    ----------
    model : FittedModel
    features : ndarray of shape (n_samples, n_features)
        What the model's encoder returned.

    Returns
    -------
    Scores
    """
    decision = model.decision_of(features)
    probability = model.probabilities_at(decision)
    score = None
    if model.positive is not None:
        score = -decision if model.positive == 0 else decision
    return Scores(model.codes_at(decision), probability, score)


def score_columns(model: Any, scores: Scores) -> dict[str, np.ndarray]:
    """Scores under the names of the result: `score`, ``probability of bad``, or one probability per class.

    If only positives were labeled, probabilities are proportional to the share of positives, of which only the largest
    possible one is known: ``highest probability of bad`` is that at this share.

    Parameters
    ----------
    model : FittedModel or TableClassifier
    scores : Scores

    Returns
    -------
    dict
    """
    if scores.score is None:
        return {f"probability of {name}": scores.probability[:, k] for k, name in enumerate(model.classes_)}
    positive = model.positive_
    name = f"probability of {model.classes_[positive]}"
    probability = scores.probability[:, positive]
    columns = {"score": scores.score, name: probability}
    highest = highest_probability(model, probability)
    if highest is not None:
        columns[f"highest {name}"] = highest
    return columns


def highest_probability(model: Any, probability: np.ndarray) -> np.ndarray | None:
    """Probabilities at the largest possible share of positives; None unless only positives were labeled.

    Parameters
    ----------
    model : FittedModel or TableClassifier
    probability : ndarray
        Of the positive class, by the model: at the share that other tables suggest.

    Returns
    -------
    ndarray or None
        None also with a share that was stated.
    """
    about = getattr(model, "about", None) or {}
    low, high = about.get("prior_interval") or (0.0, 0.0)
    return np.minimum(probability * (high / model.prior), 1.0) if low < high else None


def score_table(model: Any, table: Any, *, n_reasons: int = 0) -> dict[str, Any]:
    """Score, probabilities and class of each row, and the reasons for the score.

    Parameters
    ----------
    model : TableClassifier or FittedModel
        Fitted.
    table : DataFrame
    n_reasons : int, default=0
        Add this many reasons per row, see :meth:`TableClassifier.explain`.

    Returns
    -------
    dict
        Columns of the result. With two classes: `score`, higher for the positive class; ``probability of bad``, if
        "bad" is the positive class (``classes_[positive_]``), and its highest possible value if only positives
        were labeled; `label`. With more classes: ``probability of a`` and so
        on for each class, and `label`. Then ``reason 1`` and so on, such as ``purpose = car (+0.42)``.
    """
    fitted = getattr(model, "model_", model)
    if fitted is None:
        return _score_by_estimator(model, table, n_reasons)
    cells = fitted.encoder.read(table)
    features = fitted.encoder.encode(cells)
    scores = score_features(fitted, features)
    columns = {**score_columns(fitted, scores), "label": fitted.classes_[scores.codes]}
    if n_reasons:
        columns |= reasons(fitted.explain_features(features), cells, n_reasons)
    return columns


def _score_by_estimator(model, table, n_reasons: int) -> dict[str, Any]:
    """The same of a TableClassifier whose estimator has no formula."""
    probability = model.predict_proba(table)
    score = None
    if model.positive_ is not None:
        decision = model.decision_function(table)
        score = -decision if model.positive_ == 0 else decision
    labels = model.predict(table)
    # The classes are sorted.
    codes = np.searchsorted(model.classes_, labels)
    columns = {**score_columns(model, Scores(codes, probability, score)), "label": labels}
    if n_reasons:
        columns |= reasons(model.explain(table), model.encoder_.read(table), n_reasons)
    return columns
