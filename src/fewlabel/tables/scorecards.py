"""Scorecards of table classifiers: points in the columns and categories of the table."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from fewlabel import inspection
from fewlabel.auto import AdditiveMember, additive_member
from fewlabel.inspection import check_points, contributions, step_intervals
from fewlabel.parts import Columns, FittedModel, NumberColumn
from fewlabel.parts.columns import Column

Features = dict[int, float]  # by their positions


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


def _rows_of(encoder: Columns, column: Column, edges: dict[int, np.ndarray]) -> Iterator[tuple[tuple, Features]]:
    """Block, interval and ends of each row of a column, and the features of the cells that it stands for.

    A block is a column; of a date or a free text it is one of the features. `edges` are those of the features in use.
    """
    group = encoder.groups[column.name].tolist()
    values = column.known_values()
    if isinstance(column, NumberColumn):
        gap = dict(zip(group, column.gap()))
        yield from _intervals(column.name, edges.get(group[0], np.empty(0)), gap)
    elif not values:
        for feature in group:
            if feature in edges:
                yield from _intervals(encoder.features[feature], edges[feature], {feature: np.nan})
    for text, features in values.items():
        yield (column.name, text, np.nan, np.nan), dict(zip(group, features))


def _intervals(block: str, edges: np.ndarray, gap: Features) -> Iterator[tuple[tuple, Features]]:
    """The intervals of the first feature, and its missing values."""
    first = next(iter(gap))
    no_values = np.zeros(len(edges) + 1)
    for low, high, text, _ in step_intervals(edges, no_values, 0.0):
        # The upper end belongs to an interval; of missing values it is NaN.
        row = (block, text, low, high)
        yield row, {**gap, first: high}


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
        ``interval`` is ``= car`` for a category and ``= -999`` for a special value, ``other`` for categories that the
        fit did not see, ``missing`` for gaps.
    """
    model = getattr(model, "model_", model)
    booster = additive_booster(model)
    scale, start = check_points(booster, points, base)
    steps = booster.steps
    places = {}
    edges = {}
    for k, feature in enumerate(steps.columns.tolist()):
        places[feature] = k
        edges[feature], _ = steps.function(k)
    encoder = model.encoder
    importances = {}
    for name, group in encoder.groups.items():
        if np.isin(group, steps.columns).any():
            importances[name] = booster.feature_importances_[group].sum()
    rows: list[tuple] = [("(base)", "", np.nan, np.nan, start)]
    # The most important column first.
    for name in sorted(importances, key=importances.__getitem__, reverse=True):
        column = encoder.by_name[name]
        for row, features in _rows_of(encoder, column, edges):
            total = 0.0
            for feature, value in features.items():
                if feature in places:
                    total += steps.at(places[feature], np.array([value]))[0]
            rows.append((*row, scale * total))
    return pd.DataFrame(rows, columns=["column", "interval", "low", "high", "points"])


def round_card(card: pd.DataFrame) -> pd.DataFrame:
    """The scorecard with whole points; intervals side by side with the same points become one.

    Parameters
    ----------
    card : DataFrame

    Returns
    -------
    DataFrame
    """
    rounded = card.assign(points=card["points"].round().astype(int))
    before = rounded.shift()
    is_same = (rounded["column"] == before["column"]) & (rounded["points"] == before["points"])
    # An interval begins where the one before it ends; other rows have no bounds.
    is_next = rounded["low"] == before["high"]
    run_of_row = (~(is_same & is_next)).cumsum()
    runs = rounded.groupby(run_of_row)
    merged = runs.first()
    merged["high"] = runs["high"].last()
    # From the start of the first interval to the end of the last one.
    starts = runs["interval"].first().str.partition(", ")
    ends = runs["interval"].last().str.partition(", ")
    merged["interval"] = starts[0] + ends[1] + ends[2]
    return merged[card.columns].reset_index(drop=True)


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
    # A column with several features has one number of points.
    grouped = [steps[:, group].sum(axis=1) for group in model.encoder.groups.values()]
    points_of_columns = np.column_stack(grouped)
    exact = points_of_columns.sum(axis=1)
    rounded = np.round(points_of_columns).sum(axis=1)
    high, low = np.nonzero(exact[:, None] > exact[None, :] + 1e-9)
    if not len(high):
        return 0.0
    return float(np.mean(rounded[high] <= rounded[low]))
