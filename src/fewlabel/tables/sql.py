"""A scorecard as one SQL statement that gives what `fewlabel predict` gives, in SQLite and DuckDB."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fewlabel.auto import additive_member
from fewlabel.exceptions import TableError
from fewlabel.inspection import check_points
from fewlabel.parts import Ranks
from fewlabel.parts.cells import BOOLEAN, DATE
from fewlabel.parts.notations import FALSE_WORDS, TRUE_WORDS
from fewlabel.parts.numbers import RANK_EDGE
from fewlabel.tables.scorecards import Term, scorecard_terms

_LARGEST = "1.7976931348623157e308"


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
    TableError
        If the model uses parts of dates or components of text, or numbers that are written as text.
    """
    model = getattr(model, "model_", model)
    terms = scorecard_terms(model)
    _require_plain(model, terms)
    booster: Any = additive_member(model)
    scale, start = check_points(booster, points, base)
    slope = float(model.link.slope[0])
    intercept = float(model.link.intercept[0])
    cut = 0.0 if model.cut is None else model.cut
    positive = _text(model.classes_[model.positive])
    negative = _text(model.classes_[1 - model.positive])
    # In the order of the model's own sum, so that the last bit is the same.
    steps = "\n      + ".join(["0.0", *(_case(term) for term in terms), _number(booster.offset_)])
    own = _own_prefix(model)
    ranks = ""
    score = f"{own}_sum"
    last = "summed"
    if booster.ranks is not None:
        ranks, score, last = _rank_steps(model, booster.ranks, own)
    total = f"{_number(start - scale * booster.offset_)} + {_number(scale)} * {own}_sum"
    if whole:
        total = _whole_points(terms, scale, start)
    # A table may have a column called score: only names that start with `own` are used on the way.
    return f"""-- Scorecard made by fewlabel. The last four columns of the result:
--   points: {points:g} points double the odds; {base:g} points are even odds
--   score, probability, label: as written by `fewlabel predict`
WITH summed AS MATERIALIZED (
  SELECT t.*,
      {steps}
      AS {own}_sum
  FROM {_name(table)} AS t
){ranks},
scored AS MATERIALIZED (
  SELECT *, {score} AS {own}_score FROM {last}
)
SELECT *,
  {total} AS points,
  {own}_score AS score,
  1.0 / (1.0 + EXP(-({_number(slope)} * {own}_score + {_number(intercept)}))) AS probability,
  CASE WHEN {own}_score > {_number(cut)} THEN {positive} ELSE {negative} END AS label
FROM scored;
"""


def _own_prefix(model: Any) -> str:
    """What no column of the table starts with: a table may hold the result of an earlier statement."""
    names = [name.casefold() for name in (*model.encoder.names, model.target)]
    prefix = "fewlabel"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def _rank_steps(model: Any, ranks: Ranks, own: str) -> tuple[str, str, str]:
    """From the sum to the score of an AutoClassifier: steps of the statement, the score, and where it is found."""
    [weight] = model.score.steps[0].weights
    rank = _rank(ranks.scores, ranks.ranks, f"{own}_sum")
    low, high = _number(RANK_EDGE), _number(1 - RANK_EDGE)
    value = f"{own}_rank"
    limited = f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"
    steps = (
        f",\nranked AS MATERIALIZED (\n  SELECT *, {_number(weight)} * ({rank}) AS {value} FROM summed\n),\n"
        f"limited AS MATERIALIZED (\n  SELECT *, {limited} AS {own}_limited FROM ranked\n)"
    )
    return steps, f"LN({own}_limited / (1.0 - {own}_limited)) + {_number(model.link.offset[0])}", "limited"


def _whole_points(terms: Sequence[Term], scale: float, start: float) -> str:
    """Sum of the rounded points of each column."""
    blocks: dict[str, list[str]] = {}
    for term in terms:
        blocks.setdefault(term.source, []).append(_case(term, "scored"))
    summands = [str(round(start))]
    for block in blocks.values():
        steps = " + ".join(block)
        summands.append(f"CAST(ROUND({_number(scale)} * ({steps})) AS INTEGER)")
    return " + ".join(summands)


def _require_plain(model: Any, terms: Sequence[Term]) -> None:
    """Refuse what SQLite and DuckDB would have to be told in different ways, or not at all."""
    kinds = model.encoder.kinds
    derived = {term.source for term in terms if term.kind == "derived"}
    dates = {name for name in derived if kinds[name] == DATE}
    written = {term.source for term in terms} & set(model.encoder.notations)
    for names, what, remedy in (
        (dates, "dates", "Put the parts that matter into columns of numbers, such as the year or the age in days"),
        (derived - dates, "free text", "Put the words that matter into columns of their own"),
        (written, "numbers or dates in a notation of their own", "Convert them to plain numbers"),
    ):
        if names:
            shown = ", ".join(repr(name) for name in sorted(names)[:5])
            raise TableError(
                f"the model uses columns that SQL cannot read the way it does ({what}): {shown}. {remedy}, or leave "
                "them out with --drop, and fit again"
            )


def _case(term: Term, table: str = "t") -> str:
    column = f"{table}.{_name(term.source)}"
    if term.kind == "category":
        return _category_case(term, column)
    if term.kind == BOOLEAN:
        no, yes = term.values[np.searchsorted(term.edges, [0.0, 1.0])]
        word = f"LOWER(TRIM(CAST({column} AS VARCHAR)))"
        arms = [_among(word, sorted(FALSE_WORDS), no), _among(word, sorted(TRUE_WORDS), yes)]
        return _joined(arms, term.missing)
    # A comparison with NaN is no value in one database and false in another: NOT ... <= holds in both.
    arms = [f"WHEN {column} IS NULL OR NOT ABS({column}) <= {_LARGEST} THEN {_number(term.missing)}"]
    for edge, value in zip(term.edges, term.values):
        arms.append(f"WHEN {column} <= {_number(edge)} THEN {_number(value)}")
    return _joined(arms, term.values[-1])


def _category_case(term: Term, column: str) -> str:
    texts: dict[float, list[str]] = {}
    values = {**dict.fromkeys(term.nulls, term.missing), **term.categories}
    for text, value in values.items():
        if value != term.other:
            texts.setdefault(value, []).append(text)
    arms = [f"WHEN {column} IS NULL THEN {_number(term.missing)}"]
    arms += [_among(column, of_value, value) for value, of_value in texts.items()]
    return _joined(arms, term.other)


def _among(column: str, texts: Sequence[str], value: float) -> str:
    listed = ", ".join(map(_text, texts))
    return f"WHEN {column} IN ({listed}) THEN {_number(value)}"


def _joined(arms: list[str], otherwise: float) -> str:
    return f"CASE {' '.join(arms)} ELSE {_number(otherwise)} END"


def _rank(values: np.ndarray, ranks: np.ndarray, total: str) -> str:
    """The rank of the column `total` among the reference scores, interpolated, as a tree of comparisons."""
    first = _number(values[0])
    last = _number(values[-1])
    width = _number(values[-1] - values[0] + 1e-300)  # not 0, as in the model's own formula
    above = f"({total} - {last})"
    below = f"({first} - {total})"
    lowest = _number(ranks[0])
    high = f"{_number(ranks[-1])} + {_number(1 - ranks[-1])} * ({above} / ({width} + {above}))"
    low = f"{lowest} - {lowest} * ({below} / ({width} + {below}))"
    inside = lowest if len(values) == 1 else _tree(values, ranks, total, 1, len(values) - 1)
    return f"CASE WHEN {total} < {first} THEN {low} WHEN {total} > {last} THEN {high} ELSE {inside} END"


def _tree(values: np.ndarray, ranks: np.ndarray, total: str, low: int, high: int) -> str:
    """Interpolation on the pieces that end at `values[low]` to `values[high]`."""
    if low == high:
        before = low - 1
        width = _number(values[low] - values[before])
        rise = _number(ranks[low] - ranks[before])
        return f"{_number(ranks[before])} + ({total} - {_number(values[before])}) / {width} * {rise}"
    middle = (low + high) // 2
    left = _tree(values, ranks, total, low, middle)
    right = _tree(values, ranks, total, middle + 1, high)
    return f"CASE WHEN {total} <= {_number(values[middle])} THEN {left} ELSE {right} END"


def _number(value: Any) -> str:
    """All digits, as a double: DuckDB would take digits without an exponent for a decimal."""
    return f"{float(value):.17e}"


def _text(value: Any) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
