"""Scorecards of table classifiers: points in the columns and categories of the table."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fewlabel import inspection
from fewlabel.auto import AdditiveMember, additive_member
from fewlabel.inspection import check_points, contributions, step_intervals
from fewlabel.parts import CategoryColumn, Columns, FittedModel
from fewlabel.parts.cells import BOOLEAN, NUMBER
from fewlabel.parts.columns import Column

OTHER = "other"
MISSING = "missing"


class Term(NamedTuple):
    """The step function of one feature, in terms of a column of the table.

    Attributes
    ----------
    source, feature : str
        The column, and the feature made from it.
    kind : str
        "number", "boolean" or "category"; "derived" for parts of dates and components of text.
    edges, values : ndarray
        Where the function jumps and its values; a category is looked up in `categories` instead.
    missing, other : float
        Value for gaps, and for categories that are not in `categories`.
    categories : dict
    """

    source: str
    feature: str
    kind: str
    edges: np.ndarray
    values: np.ndarray
    missing: float
    other: float
    categories: dict[str, float]


def scorecard_terms(model: Any) -> list[Term]:
    """The step functions of a fitted table model, in the order in which they are summed.

    Parameters
    ----------
    model : FittedModel
        A stump booster, or an AutoClassifier whose only member is one, with the encoder of a table.

    Returns
    -------
    list of Term
    """
    functions = sorted(additive_booster(model).shape_functions_, key=lambda function: function.column)
    terms = []
    encoder: Any = model.encoder
    for function in functions:
        source = encoder.sources[function.column]
        terms.append(_term(encoder, encoder.by_name[source], function))
    return terms


def additive_booster(model: FittedModel) -> AdditiveMember:
    """The sum of step functions that a model is.

    Parameters
    ----------
    model : FittedModel

    Returns
    -------
    AdditiveMember

    Raises
    ------
    TypeError
        If it is not one.
    """
    booster = additive_member(model)
    if booster is None:
        raise TypeError(
            "the model is not a sum of step functions: fit with --method scorecard, or "
            "TableClassifier(AutoClassifier(interpretable=True)) in Python"
        )
    return booster


def _term(encoder: Columns, column: Column, function: Any) -> Term:
    edges = np.asarray(function.edges)
    values = np.asarray(function.values)
    missing = float(function.missing)
    feature = encoder.features[function.column]
    if not isinstance(column, CategoryColumn):
        kind = column.read_as if column.read_as in (NUMBER, BOOLEAN) else "derived"
        return Term(column.name, feature, kind, edges, values, missing, np.nan, {})
    # A feature of a category is 0 or 1: the value of the function at either is that of the category.
    place = function.column - int(encoder.groups[column.name][0])
    absent, present = values[np.searchsorted(edges, [0.0, 1.0])].tolist()
    steps = [present if of_category else absent for of_category in column.encode(column.categories)[:, place]]
    by_category = dict(zip(column.categories, steps))
    at_gap = present if column.gap()[place] else absent
    return Term(column.name, feature, "category", edges, values, at_gap, absent, by_category)


def scorecard(model: Any, *, points: float = 20, base: float = 600) -> pd.DataFrame:
    """Points for the values of each column of an additive model, see :func:`fewlabel.inspection.scorecard`.

    Parameters
    ----------
    model : estimator or FittedModel
        A fitted stump booster, or a `TableClassifier` or `AutoClassifier` that is one, also as :func:`fewlabel.load`
        read it.
    points : float, default=20
        Number of points that doubles the odds.
    base : float, default=600
        Number of points at even odds.

    Returns
    -------
    DataFrame
    """
    fitted = getattr(model, "model_", model)
    if not isinstance(fitted, FittedModel):
        return inspection.scorecard(model, points=points, base=base)
    if fitted.encoder is None:
        return inspection.scorecard(additive_booster(fitted), points=points, base=base)
    return table_scorecard(fitted, points=points, base=base)


def table_scorecard(model: Any, *, points: float = 20, base: float = 600) -> pd.DataFrame:
    """Scorecard of a table classifier, see :func:`fewlabel.inspection.scorecard`.

    Parameters
    ----------
    model : TableClassifier or FittedModel
    points, base : float

    Returns
    -------
    DataFrame
        ``interval`` is ``= car`` for a category, ``other`` for categories that the fit did not see, ``missing`` for
        gaps.
    """
    model = getattr(model, "model_", model)
    terms = scorecard_terms(model)
    booster = additive_booster(model)
    scale, start = check_points(booster, points, base)
    weights = np.asarray(booster.feature_importances_)
    importance = {name: float(weights[group].sum()) for name, group in model.encoder.groups.items()}
    blocks: dict[tuple[str, str], list[Term]] = {}
    for term in terms:
        # Features of a category are rows of one block; each part of a date is a block of its own. The source is part of
        # the key: a column may be called as a part of another.
        name = term.feature if term.kind == "derived" else term.source
        blocks.setdefault((term.source, name), []).append(term)
    rows = [("(base)", "", np.nan, np.nan, start)]
    for source, name in sorted(blocks, key=lambda key: -importance[key[0]]):
        for text, low, high, value in _block_rows(blocks[source, name]):
            rows.append((name, text, low, high, scale * value))
    return pd.DataFrame(rows, columns=["column", "interval", "low", "high", "points"])


def _block_rows(block: list[Term]) -> list[tuple[str, float, float, float]]:
    """Text, bounds and value of each row of a column; the features of a category are summed."""
    first = block[0]
    values: dict[str, float] = {}
    if first.kind == "category":
        for name in first.categories:
            values[f"= {name}"] = sum(term.categories[name] for term in block)
        values[OTHER] = sum(term.other for term in block)
        values[MISSING] = sum(term.missing for term in block)
    elif first.kind == BOOLEAN:
        no, yes = first.values[np.searchsorted(first.edges, [0.0, 1.0])].tolist()
        values = {"= no": no, "= yes": yes, MISSING: first.missing}
    else:
        intervals = step_intervals(first.edges, first.values, first.missing)
        return [(text, low, high, value) for low, high, text, value in intervals]
    return [(text, np.nan, np.nan, value) for text, value in values.items()]


def round_card(card: pd.DataFrame) -> pd.DataFrame:
    """The scorecard with whole points.

    Parameters
    ----------
    card : DataFrame

    Returns
    -------
    DataFrame
    """
    return card.assign(points=card["points"].round().astype(int))


def rounding_loss(model: Any, points: float) -> float | None:
    """Share of the pairs of reference rows whose order changes, or becomes a tie, when points are rounded.

    Parameters
    ----------
    model : TableClassifier
    points : float
        Number of points that doubles the odds.

    Returns
    -------
    float or None
        None if the model has no reference rows.
    """
    model = getattr(model, "model_", model)
    reference = model.evidence.reference
    if reference is None or len(reference) < 2:
        return None
    booster = additive_booster(model)
    scale, _ = check_points(booster, points, 0.0)
    steps = scale * contributions(booster, reference)
    grouped = np.column_stack([steps[:, group].sum(axis=1) for group in model.encoder.groups.values()])
    exact = grouped.sum(axis=1)
    rounded = np.round(grouped).sum(axis=1)
    high, low = np.nonzero(exact[:, None] > exact[None, :] + 1e-9)
    if not len(high):
        return 0.0
    return float(np.mean(rounded[high] <= rounded[low]))
