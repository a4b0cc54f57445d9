"""The threshold of a fitted table classifier: which rows it calls positive."""

from typing import NamedTuple

import numpy as np

from fewlabel.calibration import prior_threshold
from fewlabel.decisions import Costs, Estimate, Evidence, capacity_threshold
from fewlabel.rows import Rows
from fewlabel.tables.classifier import TableClassifier

DEFAULT_RULE = "best balanced accuracy"


class Decision(NamedTuple):
    """A threshold and what it yields on the rows to decide on: the unlabeled ones, or all if none is unlabeled.

    Attributes
    ----------
    threshold : float
        Rows with a higher score are flagged: called positive.
    rule : str
        How the threshold was chosen, such as "review 200 of 5000 rows".
    n_rows : int
        Rows to decide on.
    n_flagged : int
        Those above the threshold.
    yields : dict of str to Estimate
        What :meth:`fewlabel.decisions.Evidence.at` returns.
    costs : Costs or None
    evidence : Evidence
        What the threshold was chosen by.
    target : float
        Precision below which flagging is not worthwhile: the one that was asked for, the break-even one of the costs,
        or one half.
    """

    threshold: float
    rule: str
    n_rows: int
    n_flagged: int
    yields: dict[str, Estimate]
    costs: Costs | None
    evidence: Evidence
    target: float = 0.5


def evidence_of(model: TableClassifier, rows: Rows) -> Evidence:
    """Out-of-fold scores of the labeled rows, as evidence for a threshold of the unlabeled ones (of all, if none is).

    Parameters
    ----------
    model : TableClassifier
        Fitted to two classes, with an AutoClassifier as its estimator.
    rows : Rows
        What it was fitted to.

    Returns
    -------
    Evidence
    """
    auto = model.estimator_
    if model.positive_ is None:
        raise ValueError(
            f"a threshold is for two classes, and there are {len(model.classes_)}: name the class to find with "
            "positive="
        )
    if not hasattr(auto, "out_of_fold_"):
        raise ValueError(
            f"{type(auto).__name__} has no out-of-fold scores: use an AutoClassifier, or make them with "
            "cross_val_predict, choose a threshold with fewlabel.decisions.Evidence, and call model.set_threshold"
        )
    weight = auto.model_.evidence.weight
    # After an audit, rows that somebody chose say nothing about the others: they have no weight.
    counted = np.ones(len(auto.labeled_rows_), dtype=bool) if weight is None else weight > 0
    positive = rows.codes[auto.labeled_rows_[counted]] == 1
    only = auto.prior_ is not None
    prior = auto.prior_ if only else auto.prior
    interval = auto.prior_interval_ if only else None
    if prior is None and auto.selection_.asks_share:
        draw = auto.selection_.class_draw
        prior = draw.share
        interval = (draw.low, draw.high)
    decided = rows.unlabeled if len(rows.unlabeled) else np.arange(len(rows))
    return Evidence(
        positive,
        auto.out_of_fold_[counted],
        auto.decision_function(rows.X[decided]),
        prior=prior,
        prior_interval=interval,
        positives_only=only,
        sample_weight=None if weight is None else weight[counted],
        training_share=auto.training_share_,
    )


def choose_threshold(
    model: TableClassifier,
    rows: Rows,
    *,
    review: int | None = None,
    costs: Costs | None = None,
    precision: float | None = None,
    at_prior: bool = False,
) -> Decision:
    """Choose the threshold of a fitted model and store it there; `predict` uses it from now on.

    Parameters
    ----------
    model : TableClassifier
        Fitted to two classes, with an AutoClassifier as its estimator.
    rows : Rows
        What it was fitted to, as `model.encode` returned it.
    review : int, default=None
        Flag this many of the rows to decide on.
    costs : Costs, default=None
        Flag rows so that the expected cost is least.
    precision : float, default=None
        Flag as many rows as this precision allows.
    at_prior : bool, default=False
        Flag the share of positives that the estimator was told, ``AutoClassifier(prior=...)``.

    Returns
    -------
    Decision
        With none of these, the model keeps the threshold it has.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import AutoClassifier, TableClassifier, hide_labels
    >>> from fewlabel.tables import choose_threshold
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = TableClassifier(AutoClassifier(["logistic regression"], random_state=0))
    >>> rows = model.encode(X, hide_labels(y, labeled=100, random_state=0))
    >>> decision = choose_threshold(model.fit_encoded(rows), rows, review=50)
    >>> decision.rule, decision.n_flagged
    ('review 50 of 469 rows', 50)
    """
    evidence = evidence_of(model, rows)
    threshold, rule = _threshold(model, evidence, review, costs, precision, at_prior)
    if rule is not None:
        model.set_threshold(threshold, rule)
    n_rows = len(evidence.population)
    yields = evidence.at(threshold, costs)
    target = 0.5
    if precision is not None:
        target = precision
    elif costs is not None:
        target = costs.alarm / (costs.miss + costs.alarm)
    if rule is None:
        rule = _default_rule(model.estimator_)
    return Decision(threshold, rule, n_rows, evidence.n_above(threshold), yields, costs, evidence, target)


def _default_rule(auto) -> str:
    if auto.prior_ is None:
        return DEFAULT_RULE
    source = ", as other tables suggest" if auto.prior is None else ""
    return f"share of positives {auto.prior_:.3g}{source}"


def _threshold(
    model: TableClassifier,
    evidence: Evidence,
    review,
    costs,
    precision,
    at_prior,
) -> tuple[float, str | None]:
    scores = evidence.population
    if review is not None:
        return capacity_threshold(scores, review), f"review {min(review, len(scores))} of {len(scores)} rows"
    if precision is not None:
        return evidence.precision_threshold(precision), f"precision of at least {precision:g} with 80% confidence"
    if costs is not None:
        return evidence.cost_threshold(costs), f"least expected cost: miss {costs.miss:g}, false alarm {costs.alarm:g}"
    if at_prior:
        prior = model.estimator_.prior
        equal_weights = np.full(len(scores), 1 / len(scores))
        threshold = prior_threshold(scores[::-1], equal_weights, prior)
        return float(threshold), f"share of positives {prior:g}"
    # That of the estimator itself is 0.
    return (0.0, None) if model.threshold_ is None else (model.threshold_["score"], model.threshold_["rule"])
