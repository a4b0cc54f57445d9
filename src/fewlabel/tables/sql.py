"""A scorecard as one SQL statement that gives what `fewlabel predict` gives, in SQLite and DuckDB."""

from typing import Any

from fewlabel.auto import AdditiveMember
from fewlabel.export import Statement
from fewlabel.inspection import check_points
from fewlabel.tables.scorecards import additive_booster


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
