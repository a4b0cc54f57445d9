"""A scorecard as one SQL statement that gives what `fewlabel predict` gives, in SQLite and DuckDB."""

from typing import Any

import numpy as np
import pandas as pd

from fewlabel.auto import AdditiveMember
from fewlabel.exporting import Statement
from fewlabel.exporting.sql import listed, quoted, text
from fewlabel.inspection import check_points
from fewlabel.parts import BooleanColumn, NumberColumn
from fewlabel.parts.columns import Column
from fewlabel.parts.notations import FALSE_WORDS, NULL_TEXTS, TRUE_WORDS
from fewlabel.tables.scorecards import (
    MISSING,
    OTHER,
    additive_booster,
    round_card,
    table_scorecard,
)


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
    for k, column in enumerate(booster.steps.columns):
        blocks.setdefault(sources[column], []).append(statement.step_function(booster.steps, k))
    rounded = [f"CAST(ROUND({scale!r} * ({' + '.join(block)})) AS INTEGER)" for block in blocks.values()]
    return " + ".join([str(round(start)), *rounded])


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
    Statement(model, table)  # refuses what SQL cannot read
    card = table_scorecard(model, points=points, base=base)
    card = round_card(card) if whole else card.assign(points=card["points"].round(2))
    blocks = [f"  {card['points'].iloc[0]}  -- every row"]
    for name, block in card.iloc[1:].groupby("column", sort=False):
        blocks.append(_points_of_column(model.encoder.by_name[name], block))
    lines = [
        f"-- Scorecard made by fewlabel: {points:g} points double the odds; {base:g} points are even odds.",
        "SELECT t.*,",
        "\n  + ".join(blocks),
        "  AS points",
        f"FROM {quoted(table)} AS t;",
    ]
    return "\n".join(lines) + "\n"


def _points_of_column(part: Column, block: pd.DataFrame) -> str:
    """The CASE of a column; missing values first, because a comparison with NULL holds never."""
    column = f"t.{quoted(part.name)}"
    rows = block.set_index("interval")["points"]
    otherwise = rows.get(OTHER, rows.get(MISSING))
    word = f"CAST({column} AS VARCHAR)"
    arms = {}
    if isinstance(part, NumberColumn):
        arms[f"{column} IS NULL"] = rows[MISSING]
        for value in part.special:
            arms[f"{column} = {value}"] = rows[f"= {value}"]
        intervals = block[block["high"].notna()]
        for high, value in zip(intervals["high"], intervals["points"]):
            if np.isfinite(high):
                arms[f"{column} <= {float(high)!r}"] = value
            otherwise = value
    elif isinstance(part, BooleanColumn):
        for words, name in ((FALSE_WORDS, "= no"), (TRUE_WORDS, "= yes")):
            arms[f"LOWER(TRIM({word})) IN ({listed(words)})"] = rows[name]
    else:
        arms[f"{column} IS NULL OR TRIM({word}) = '' OR {word} IN ({listed(NULL_TEXTS)})"] = rows[MISSING]
        for name, value in rows.items():
            if str(name).startswith("= "):
                arms[f"{word} = {text(str(name)[2:])}"] = value
    written = [f"      WHEN {condition} THEN {value}" for condition, value in arms.items()]
    return "\n".join(["CASE", *written, f"      ELSE {otherwise}", "    END"])
