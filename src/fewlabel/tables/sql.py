"""A scorecard as one SQL statement that gives what `fewlabel predict` gives, in SQLite and DuckDB."""

from typing import Any

import numpy as np
import pandas as pd

from fewlabel.auto import AdditiveMember
from fewlabel.exporting import Statement
from fewlabel.exporting.sql import conditions, quoted
from fewlabel.parts.columns import MISSING, OTHER, Column
from fewlabel.tables.scorecards import additive_booster, check_points, round_card, table_scorecard


def scorecard_sql(
    model: Any, *, table: str = "rows", points: float = 20, base: float = 600, whole: bool = False
) -> str:
    """Write the model as a SELECT statement.

    Parameters
    ----------
    model : TableClassifier or FittedModel
        Fitted, with a stump booster as its estimator, or an AutoClassifier whose only member is one.
    table : str, default="rows"
        Name of the table to score.
    points, base : float
        As in :func:`fewlabel.inspection.scorecard`.
    whole : bool, default=False
        Round the points of each value of a column to whole numbers; the score stays as it is.

    Returns
    -------
    str
        A statement that adds `points`, `score`, `probability` and `label` to the columns of the table, for SQLite (with
        mathematical functions) and DuckDB. Numbers have to be in numeric columns.

    Raises
    ------
    ExportError
        If the model uses parts of dates or components of text, or numbers that are written as text.
    """
    model = getattr(model, "model_", model)
    booster = additive_booster(model)
    scale, start = check_points(booster, points, base)
    statement = Statement(model, table)
    if whole:
        of_row = _whole_points(statement, booster, scale, start)
    else:
        of_row = f"{start!r} + {scale!r} * {statement.own}_sum"
    about = f"""-- Scorecard made by fewlabel. The last four columns of the result:
--   points: {points:g} points double the odds; {base:g} points are even odds
--   score, probability, label: as written by `fewlabel predict`"""
    return statement.write(about, {"points": of_row})


def _whole_points(statement: Statement, booster: AdditiveMember, scale: float, start: float) -> str:
    """Sum of the rounded points of each column."""
    sources = statement.model.encoder.sources
    blocks: dict[str, list[str]] = {}
    for k, feature in enumerate(booster.steps.columns):
        block = blocks.setdefault(sources[feature], [])
        block.append(statement.step_function(booster.steps, k))
    terms = [str(round(start))]
    for block in blocks.values():
        total = " + ".join(block)
        terms.append(f"CAST(ROUND({scale!r} * ({total})) AS INTEGER)")
    return " + ".join(terms)


def points_sql(model: Any, *, table: str = "rows", points: float = 20, base: float = 600, whole: bool = True) -> str:
    """Write the points of a scorecard as a SELECT statement that a person can read: one CASE per column.

    Parameters
    ----------
    model : TableClassifier or FittedModel
    table : str, default="rows"
        Name of the table to score.
    points, base : float
        As in :func:`fewlabel.inspection.scorecard`.
    whole : bool, default=True
        Round the points of each value of a column to whole numbers.

    Returns
    -------
    str
        A statement that adds `points` to the columns of the table. NULL is a missing value.

    Raises
    ------
    ExportError
        As in `scorecard_sql`.
    """
    model = getattr(model, "model_", model)
    # It refuses what SQL cannot read.
    Statement(model, table)
    card = table_scorecard(model, points=points, base=base)
    if whole:
        card = round_card(card)
    else:
        card["points"] = card["points"].round(2)
    start = card["points"].iloc[0]
    blocks = [f"  {start}  -- every row"]
    for name, block in card.iloc[1:].groupby("column", sort=False):
        column = model.encoder.by_name[name]
        blocks.append(_points_of_column(column, block))
    lines = [
        f"-- Scorecard made by fewlabel: {points:g} points double the odds; {base:g} points are even odds.",
        "SELECT t.*,",
        "\n  + ".join(blocks),
        "  AS points",
        f"FROM {quoted(table)} AS t;",
    ]
    return "\n".join(lines) + "\n"


def _points_of_column(column: Column, block: pd.DataFrame) -> str:
    """The CASE of a column: the values with a row of their own, then the intervals."""
    rows = block.set_index("interval")["points"]
    otherwise = rows.get(OTHER, rows[MISSING])
    arms = {}
    for text, condition in conditions(column).items():
        arms[condition] = rows[text]
    name = f"t.{quoted(column.name)}"
    intervals = block[block["high"].notna()]
    for high, points in zip(intervals["high"], intervals["points"]):
        if np.isfinite(high):
            arms[f"{name} <= {float(high)!r}"] = points
        # The last interval has no end.
        otherwise = points
    lines = ["CASE"]
    for condition, points in arms.items():
        lines.append(f"      WHEN {condition} THEN {points}")
    lines.append(f"      ELSE {otherwise}")
    lines.append("    END")
    return "\n".join(lines)
