"""Scores of a table, as `fewlabel predict` writes them."""

from typing import Any

from fewlabel.tables.classifier import TableClassifier
from fewlabel.tables.profile import Drift
from fewlabel.tables.reasons import explain, reasons


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
    converted, inner = model.encoder_.read(table), model.estimator_
    if drift is not None:
        drift.update(table, converted)
    features = model.encoder_.encode(converted)
    label = model.names_of(model.codes_of(features))
    probability = inner.predict_proba(features)
    found = {}
    if n_reasons:
        found = reasons(explain(model.encoder_, inner, features, model.reference_), converted, n_reasons)
    if model.positive_ is None:
        named = {f"probability of {name}": probability[:, k] for k, name in enumerate(model.classes_)}
        return {**named, "label": label, **found}
    positive = model.classes_[model.positive_]
    score = inner.decision_function(features)
    return {"score": score, f"probability of {positive}": probability[:, 1], "label": label, **found}
