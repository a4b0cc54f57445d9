"""A fitted model as one SQL statement that gives what `fewlabel predict` gives, in SQLite and DuckDB."""

import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fewlabel import parts
from fewlabel.exceptions import ExportError
from fewlabel.exporting.flat_trees import flat_trees
from fewlabel.exporting.rows import readable
from fewlabel.parts import FittedModel, Formula, Steps
from fewlabel.parts.cells import LARGEST_NUMBER
from fewlabel.parts.columns import MISSING, OTHER, Column
from fewlabel.parts.notations import FALSE_WORDS, NULL_TEXTS, TRUE_WORDS, parse_number
from fewlabel.parts.numbers import RANK_EDGE
from fewlabel.parts.trees import NO_CHILD

LARGEST_STATEMENT = 1_000_000  # bytes
_LEAST_SPLIT = 30  # characters of a split and its leaves
_LARGEST = repr(LARGEST_NUMBER)
_LARGEST_EXPONENT = 700.0
_TOGETHER = 50  # terms of a sum
# Below and above the reference scores, ranks share what is left of (0, 1).
_RANK = (
    "CASE WHEN {score} < {first} THEN {lowest} - {lowest} * (({first} - {score}) / ({width} + ({first} - {score}))) "
    "ELSE CASE WHEN {score} > {last} THEN {highest} + {rest} * (({score} - {last}) / ({width} + ({score} - {last}))) "
    "ELSE {inside} END END"
)
_ABOUT = "-- Model made by fewlabel. The last three columns of the result are as written by `fewlabel predict`."


class _Number:
    """A feature that is a number."""

    def __init__(self, column: str):
        self.column = column

    def steps(self, edges, values, missing):
        """The value of a step function."""
        column = self.column
        # A comparison with NaN is no value in one database and false in another: NOT ... <= holds in both.
        is_missing = f"{column} IS NULL OR NOT ABS({column}) <= {_LARGEST}"
        arms = {is_missing: missing}
        for edge, value in zip(edges, values):
            arms[f"{column} <= {number(edge)}"] = value
        return _cases(arms, values[-1])

    def split(self, threshold, missing_left, left, right):
        """The left or the right branch of a tree."""
        # Trees of fewer levels than others are filled up with such splits.
        if threshold == np.inf and missing_left:
            return left
        column = self.column
        finite = np.clip(threshold, -LARGEST_NUMBER, LARGEST_NUMBER)
        condition = f"{column}<={number(finite)}"
        # Larger numbers count as missing, and NaN is above all numbers in DuckDB.
        if missing_left:
            condition = f"{column} IS NULL OR {condition} OR {column}>{_LARGEST}"
        else:
            condition = f"{condition} AND {column}>=-{_LARGEST}"
        return _case(condition, left, right)


class _Cases:
    """A feature of few values: one where each of some conditions holds, and another one where none does."""

    def __init__(self, values: Mapping[str, float], otherwise: float):
        self.values = values
        self.otherwise = otherwise

    def steps(self, edges, values, missing):
        def value_at(x):
            return missing if math.isnan(x) else values[np.searchsorted(edges, x)]

        arms = {}
        for condition, x in self.values.items():
            arms[condition] = value_at(x)
        return _cases(arms, value_at(self.otherwise))

    def split(self, threshold, missing_left, left, right):
        def is_left(x):
            return missing_left if math.isnan(x) else x <= threshold

        usual = is_left(self.otherwise)
        others = [condition for condition, x in self.values.items() if is_left(x) != usual]
        usual_branch, other_branch = (left, right) if usual else (right, left)
        # All values go the same way.
        if not others:
            return usual_branch
        return _case(" OR ".join(others), other_branch, usual_branch)


class _Refused:
    """A feature that SQLite and DuckDB would have to be told in different ways, or not at all."""

    def __init__(self, column: Column):
        self.column = column

    def steps(self, *_):
        readable(self.column, "SQL")
        raise ExportError(
            f"column {self.column.name!r} has numbers in a notation of their own, which SQL cannot express: convert "
            "them to plain numbers, or leave it out with --drop"
        )

    split = steps


def _features(column: Column) -> list[Any]:
    has_words = any(math.isnan(parse_number(value)) for value in column.special)
    values = column.known_values()
    is_number = isinstance(column, parts.NumberColumn)
    if column.notation or has_words or not (is_number or values):
        return [_Refused(column)] * column.n_outputs
    holds = conditions(column)
    features: list[Any] = []
    for k, otherwise in enumerate(values.get(OTHER, column.gap())):
        arms = {holds[text]: of[k] for text, of in values.items() if text in holds and of[k] != otherwise}
        features.append(_Cases(arms, otherwise))
    if is_number:
        plain = f"t.{quoted(column.name)}"
        for value in column.special:
            plain = f"NULLIF({plain}, {value})"
        features[0] = _Number(plain)
    return features


def conditions(column: Column) -> dict[str, str]:
    """What holds for the values of a column that have a row in a scorecard, by the text of the row.

    Parameters
    ----------
    column : NumberColumn, BooleanColumn or CategoryColumn

    Returns
    -------
    dict of str
        Gaps first, as a comparison with NULL never holds; those of booleans are all that is neither yes nor no.
    """
    name = f"t.{quoted(column.name)}"
    holds = {}
    if isinstance(column, parts.NumberColumn):
        holds[MISSING] = f"{name} IS NULL"
        for value in column.special:
            holds[f"= {value}"] = f"{name} = {value}"
        return holds
    word = f"CAST({name} AS VARCHAR)"
    if isinstance(column, parts.BooleanColumn):
        lower = f"LOWER(TRIM({word}))"
        holds["= no"] = f"{lower} IN ({listed(FALSE_WORDS)})"
        holds["= yes"] = f"{lower} IN ({listed(TRUE_WORDS)})"
        return holds
    holds[MISSING] = f"{word} IS NULL OR TRIM({word}) = '' OR {word} IN ({listed(NULL_TEXTS)})"
    for category in column.categories:
        holds[f"= {category}"] = f"{word} = {text(category)}"
    return holds


def _case(condition: str, yes: str, no: str) -> str:
    return f"CASE WHEN {condition} THEN {yes} ELSE {no} END"


def _cases(arms: Mapping[str, float], otherwise: float) -> str:
    """The number of the first condition that holds."""
    written = ["CASE"]
    for condition, value in arms.items():
        written.append(f"WHEN {condition} THEN {number(value)}")
    written.append(f"ELSE {number(otherwise)} END")
    return " ".join(written)


def listed(words: Iterable[str]) -> str:
    """Texts in quotes, for a condition with IN."""
    return ", ".join(map(text, sorted(words)))


class Statement:
    """A SELECT statement under construction.

    Parameters
    ----------
    model : FittedModel
        Of two classes, with one score.
    table : str
        Name of the table to score.

    Attributes
    ----------
    own : str
        What no column of the table starts with: a table may hold the result of an earlier statement. The columns that
        the statement makes on the way start with it; the first sum of step functions or trees is ``{own}_sum``.
    features : list
        How each feature is read from the columns of the table.
    """

    def __init__(self, model: Any, table: str):
        if model.score.n_outputs != 1:
            raise ExportError("the model has a score per class: SQL is written for two classes and one score")
        self.model = model
        if model.encoder is None:
            names = _input_names(model)
            self.features: list[Any] = [_Number(f"t.{quoted(name)}") for name in names]
        else:
            names = model.encoder.names
            self.features = [feature for column in model.encoder.columns for feature in _features(column)]
        used = [name.casefold() for name in (*names, model.target, table)]
        self.own = "fewlabel"
        while any(name.startswith(self.own) for name in used):
            self.own += "_"
        self._source = quoted(table)
        self._stages: list[str] = []
        self._made: set[str] = set()
        [score] = self._values(model.score, self.features)
        self.score = self._stage("score", f"{score} + {number(model.link.offset[0])}")

    def _stage(self, name: str, expression: str) -> str:
        """Name a value; it is computed once, before what uses it."""
        column = f"{self.own}_{name}"
        if column in self._made:
            column += f"_{len(self._stages)}"
        self._made.add(column)
        stage = f"{self.own}_step{len(self._stages) + 1}"
        select = f"SELECT t.*,\n      {expression}\n      AS {column}\n  FROM {self._source} AS t"
        self._stages.append(f"{stage} AS MATERIALIZED (\n  {select}\n)")
        self._source = stage
        return column

    def _values(self, formula: Formula, inputs: Sequence[Any]) -> list[str]:
        """Expressions of the values of a formula."""
        if isinstance(formula, parts.Chain):
            for step in formula.steps:
                inputs = self._values(step, inputs)
            return list(inputs)
        if isinstance(formula, parts.WeightedSum):
            weighted = []
            for weight, term in zip(formula.weights, formula.terms):
                [value] = self._values(term, inputs)
                weighted.append(f"{number(weight)} * ({value})")
            return [f"({' + '.join(weighted)})"]
        if isinstance(formula, Steps):
            values = [self.step_function(formula, k) for k in range(len(formula.columns))]
            total = _total(["0.0", *values])
            return [self._stage("sum", total)]
        if isinstance(formula, (parts.Trees, parts.SymmetricTrees)):
            total = self._trees(formula)
            return [self._stage("sum", total)]
        if isinstance(formula, parts.Linear) and formula.coef.shape == (1, 1) and isinstance(inputs[0], str):
            slope = number(formula.coef[0, 0])
            shift = number(formula.intercept[0])
            return [f"({slope} * {inputs[0]} + {shift})"]
        if isinstance(formula, parts.Ranks):
            score = self._stage("decision", inputs[0])
            rank = _rank(formula.scores, formula.ranks, score)
            return [self._stage("rank", rank)]
        if isinstance(formula, parts.LogOdds):
            rank = self._stage("mean", inputs[0])
            low = number(RANK_EDGE)
            high = number(1 - RANK_EDGE)
            below_high = _case(f"{rank} > {high}", high, rank)
            share = self._stage("share", _case(f"{rank} < {low}", low, below_high))
            return [f"LN({share} / (1.0 - {share}))"]
        raise ExportError(
            f"SQL cannot express the part {formula.kind!r} of the model: fit step functions with --method scorecard, "
            "or trees, such as AutoClassifier(['histogram boosting', 'tree AUC boosting'])"
        )

    def step_function(self, steps: Steps, k: int) -> str:
        """The value of the k-th step function.

        Parameters
        ----------
        steps : Steps
        k : int

        Returns
        -------
        str
        """
        edges, values = steps.function(k)
        feature = self.features[steps.columns[k]]
        return feature.steps(edges, values, steps.missing[k])

    def _trees(self, formula: Formula) -> str:
        trees = flat_trees(formula)
        if trees.n_outputs != 1:
            raise ExportError("a sum of trees has several outputs: SQL is written for one score")
        if len(trees.feature) * _LEAST_SPLIT > LARGEST_STATEMENT:
            raise _too_large()
        branches: list[str] = [""] * len(trees.feature)
        left, right = trees.children
        # Children come after their parents.
        for node in reversed(range(len(branches))):
            if left[node] == NO_CHILD:
                branches[node] = number(trees.value[node, 0])
                continue
            low = branches[left[node]]
            high = branches[right[node]]
            # Leaves that no row of the fit was in are alike.
            if low == high:
                branches[node] = low
                continue
            feature = self.features[trees.feature[node]]
            branches[node] = feature.split(trees.threshold[node], trees.missing_left[node], low, high)
        start = number(trees.start[0])
        sums = _total([start, *(branches[root] for root in trees.roots)])
        return f"({sums}) / {number(trees.divisor)}"

    def write(self, about: str = _ABOUT, first: Mapping[str, str] | None = None) -> str:
        """The statement.

        Parameters
        ----------
        about : str
            Comment above it.
        first : dict of str, default=None
            Further columns of the result, before the score.

        Returns
        -------
        str
        """
        model = self.model
        slope = number(model.link.slope[0])
        intercept = number(model.link.intercept[0])
        threshold = number(model.threshold or 0.0)
        # At 0 exactly `predict` gives the first class.
        above = ">=" if model.threshold is None and model.positive == 0 else ">"
        positive = text(model.classes.names[model.positive])
        negative = text(model.classes.names[1 - model.positive])
        added = {
            **(first or {}),
            "score": self.score,
            "probability": f"1.0 / (1.0 + EXP(-({slope} * {self.score} + {intercept})))",
            "label": _case(f"{self.score} {above} {threshold}", positive, negative),
        }
        written = [f"  {expression} AS {name}" for name, expression in added.items()]
        columns = ",\n".join(written)
        stages = ",\n".join(self._stages)
        statement = f"{about}\nWITH {stages}\nSELECT t.*,\n{columns}\nFROM {self._source} AS t;\n"
        if len(statement) > LARGEST_STATEMENT:
            raise _too_large()
        return statement


def _too_large():
    return ExportError(
        f"the statement would have more than {LARGEST_STATEMENT / 1e6:g} MB: fit fewer trees, or export to ONNX"
    )


def model_sql(model: FittedModel, *, table: str = "rows") -> str:
    """The statement that adds `score`, `probability` and `label` to the columns of a table.

    Parameters
    ----------
    model : FittedModel
        Sums of step functions or trees, of two classes.
    table : str, default="rows"
        Name of the table to score.

    Returns
    -------
    str

    Raises
    ------
    ExportError
        If SQL cannot express a part of the model, or a column, or the statement is too large.
    """
    return Statement(model, table).write()


def run_in_sqlite(model: FittedModel, statement: str, table: str, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores and probabilities that the statement gives for rows.

    Parameters
    ----------
    model : FittedModel
    statement : str
    table : str
    rows : dict of ndarray, or ndarray

    Returns
    -------
    score, probability : ndarray of shape (n_rows,)
    """
    table_of_rows = pd.DataFrame(rows)
    if model.encoder is None:
        table_of_rows.columns = _input_names(model)
    with sqlite3.connect(":memory:") as connection:
        # SQLite may be built without them; its own EXP has no error beyond the largest number.
        connection.create_function("LN", 1, math.log)
        connection.create_function("EXP", 1, lambda x: math.exp(min(x, _LARGEST_EXPONENT)))
        table_of_rows.to_sql(table, connection, index=False)
        results = connection.execute(statement).fetchall()
    scores = np.array([(row[-3], row[-2]) for row in results], dtype=np.float64)
    return scores[:, 0], scores[:, 1]


def _input_names(model):
    return model.names or [f"x{k}" for k in range(model.score.n_inputs)]


def _rank(values: np.ndarray, ranks: np.ndarray, score: str) -> str:
    """The rank of a column among the reference scores, interpolated, as a tree of comparisons."""
    ends = {
        "first": values[0],
        "last": values[-1],
        # Not 0, as in the formula.
        "width": values[-1] - values[0] + 1e-300,
        "lowest": ranks[0],
        "highest": ranks[-1],
        "rest": 1 - ranks[-1],
    }
    texts = {name: number(value) for name, value in ends.items()}
    # One score has no piece beside it.
    inside = texts["lowest"]
    if len(values) > 1:
        inside = _pieces(values, ranks, score, 1, len(values) - 1)
    return _RANK.format(score=score, inside=inside, **texts)


def _pieces(values: np.ndarray, ranks: np.ndarray, score: str, low: int, high: int) -> str:
    """Interpolation on the pieces that end at `values[low]` to `values[high]`."""
    if low == high:
        start = number(values[low - 1])
        width = number(values[low] - values[low - 1])
        rank = number(ranks[low - 1])
        rise = number(ranks[low] - ranks[low - 1])
        return f"{rank} + ({score} - {start}) / {width} * {rise}"
    middle = (low + high) // 2
    left = _pieces(values, ranks, score, low, middle)
    right = _pieces(values, ranks, score, middle + 1, high)
    return _case(f"{score} <= {number(values[middle])}", left, right)


def _total(terms: Sequence[str]) -> str:
    """The sum of expressions. Engines limit the depth of expressions, and a long sum is as deep as it is long."""
    while len(terms) > _TOGETHER:
        starts = range(0, len(terms), _TOGETHER)
        terms = [f"({' + '.join(terms[start : start + _TOGETHER])})" for start in starts]
    return "\n      + ".join(terms)


def number(value: Any) -> str:
    """All digits, as a double: DuckDB would take digits without an exponent for a decimal."""
    written = repr(float(value))
    return written if "e" in written else f"{written}e0"


def text(value: Any) -> str:
    """A text in quotes."""
    return "'" + str(value).replace("'", "''") + "'"


def quoted(name: str) -> str:
    """The name of a column or table in quotes."""
    return '"' + name.replace('"', '""') + '"'
