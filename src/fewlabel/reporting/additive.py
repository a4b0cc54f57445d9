"""Shape functions and scorecard of an additive model, for its figures."""

from typing import Any

import numpy as np
import pandas as pd

from fewlabel.inspection import scorecard
from fewlabel.types import PlainDict

_MOST_SHAPES = 6
_MOST_BLOCKS = 4
_QUANTILES = (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98)
_POINTS = 20
_BASE = 600


def described_booster(booster: Any, table: pd.DataFrame) -> PlainDict:
    """The most important shape functions and the first blocks of the scorecard.

    Parameters
    ----------
    booster : estimator
        With `shape_functions_` and `feature_importances_`.
    table : DataFrame
        The encoded rows of the fit.

    Returns
    -------
    dict
        `shape_functions` and `scorecard`.
    """
    importances = np.asarray(booster.feature_importances_)
    functions = sorted(booster.shape_functions_, key=lambda f: (-importances[f.column], f.column))
    shapes = []
    for function in functions[:_MOST_SHAPES]:
        importance = float(importances[function.column])
        shapes.append(_shape(function, table, importance))
    return {"shape_functions": shapes, "scorecard": _card(booster, table)}


def _shape(function: Any, table: pd.DataFrame, importance: float) -> PlainDict:
    column = table.iloc[:, function.column]
    n_edges = int(np.isfinite(function.edges).sum())
    edges = np.asarray(function.edges)[:n_edges]
    values = np.asarray(function.values)[: n_edges + 1]
    quantiles = column.quantile(list(_QUANTILES)).dropna()
    return {
        "name": str(column.name),
        "importance": importance,
        "quantiles": quantiles.tolist(),
        "edges": edges.tolist(),
        "values": values.tolist(),
        # Without missing values in training, the effect of one was not learned.
        "missing": float(function.missing) if column.isna().any() else None,
    }


def _card(booster: Any, table: pd.DataFrame) -> PlainDict:
    card = scorecard(booster, points=_POINTS, base=_BASE)
    with_gaps = table.columns[table.isna().any()].map(str)
    columns = card_columns(card[(card["interval"] != "missing") | card["column"].isin(with_gaps)])
    shown = columns[:_MOST_BLOCKS]
    return {
        "points": _POINTS,
        "base": _BASE,
        "start": float(card["points"].iloc[0]),
        "columns": shown,
        "columns_left_out": len(columns) - len(shown),
    }


def card_columns(card: pd.DataFrame) -> list[PlainDict]:
    """The intervals of each column and their points.

    Parameters
    ----------
    card : DataFrame
        What :func:`fewlabel.inspection.scorecard` returned.

    Returns
    -------
    list of dict
    """
    columns = []
    # The first row is the number of points that every row of the table starts with.
    for name, rows in card.iloc[1:].groupby("column", sort=False):
        columns.append({"name": name, "rows": rows[["interval", "points"]].to_dict("records")})
    return columns
