"""A fitted model as one SQL statement that gives what `fewlabel predict` gives, in SQLite and DuckDB."""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fewlabel import parts
from fewlabel.exceptions import ExportError
from fewlabel.export.flat_trees import flat_trees
from fewlabel.export.rows import readable
from fewlabel.parts import FittedModel, Formula, Steps
from fewlabel.parts.columns import Column
from fewlabel.parts.notations import FALSE_WORDS, NULL_TEXTS, TRUE_WORDS
from fewlabel.parts.numbers import RANK_EDGE
from fewlabel.parts.trees import NO_CHILD

LARGEST_STATEMENT = 1_000_000  # bytes
_LEAST_SPLIT = 30  # characters of a split and its leaves
_LARGEST_NUMBER = float(np.finfo(np.float64).max)
_LARGEST = "1.7976931348623157e308"
_TOGETHER = 50  # terms of a sum; engines limit the depth of expressions
_ABOUT = "-- Model made by fewlabel. The last three columns of the result are as written by `fewlabel predict`."


class _Number:
    """A feature that is a number."""

    def __init__(self, column: str):
        self.column = column

    def steps(self, edges, values, missing):
        """The value of a step function."""
        arms = [f"WHEN {self.column} IS NULL OR NOT ABS({self.column}) <= {_LARGEST} THEN {number(missing)}"]
        for edge, value in zip(edges, values):
            arms.append(f"WHEN {self.column} <= {number(edge)} THEN {number(value)}")
        return f"CASE {' '.join(arms)} ELSE {number(values[len(edges)])} END"

    def split(self, threshold, missing_left, left, right):
        """The left or the right branch of a tree. Infinities are missing, and NaN is above all numbers in DuckDB."""
        if threshold == np.inf and missing_left:  # trees of other depths are filled up with such splits
            return left
        bound = number(np.clip(threshold, -_LARGEST_NUMBER, _LARGEST_NUMBER))
        if missing_left:
            condition = f"{self.column} IS NULL OR {self.column}<={bound} OR {self.column}>{_LARGEST}"
        else:
            condition = f"{self.column}<={bound} AND {self.column}>=-{_LARGEST}"
        return f"CASE WHEN {condition} THEN {left} ELSE {right} END"


class _Flag:
    """A feature that is 1 where a condition holds, and else 0."""

    def __init__(self, condition: str):
        self.condition = condition

    def steps(self, edges, values, missing):
        absent, present = values[np.searchsorted(edges, [0.0, 1.0])]
        return f"CASE WHEN {self.condition} THEN {number(present)} ELSE {number(absent)} END"

    def split(self, threshold, missing_left, left, right):
        absent = left if threshold >= 0.0 else right
        present = left if threshold >= 1.0 else right
        return absent if absent is present else f"CASE WHEN {self.condition} THEN {present} ELSE {absent} END"


class _Boolean:
    """A feature that is 1 for yes, 0 for no, and else missing."""

    def __init__(self, column: str):
        self.word = f"LOWER(TRIM(CAST({column} AS VARCHAR)))"

    def steps(self, edges, values, missing):
        no, yes = values[np.searchsorted(edges, [0.0, 1.0])]
        arms = [
            f"WHEN {self._is(words)} THEN {number(value)}" for words, value in ((FALSE_WORDS, no), (TRUE_WORDS, yes))
        ]
        return f"CASE {' '.join(arms)} ELSE {number(missing)} END"

    def split(self, threshold, missing_left, left, right):
        goes_left = {FALSE_WORDS: threshold >= 0.0, TRUE_WORDS: threshold >= 1.0}
        # Words that go the other way than all that is neither yes nor no.
        others = [word for words, to_left in goes_left.items() for word in words if to_left != missing_left]
        usual, other = (left, right) if missing_left else (right, left)
        return f"CASE WHEN {self._is(others)} THEN {other} ELSE {usual} END" if others else usual

    def _is(self, words):
        return f"{self.word} IN ({', '.join(map(text, sorted(words)))})"


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
    name = f"t.{quoted(column.name)}"
    if isinstance(column, parts.NumberColumn) and not column.notation:
        return [_Number(name)]
    if isinstance(column, parts.BooleanColumn):
        return [_Boolean(name)]
    if not isinstance(column, parts.CategoryColumn):
        return [_Refused(column)] * column.n_outputs
    word = f"CAST({name} AS VARCHAR)"
    features = [_Flag(f"{word} = {text(category)}") for category in column.categories[int(column.drop_first) :]]
    if column.missing:
        nulls = ", ".join(map(text, sorted(NULL_TEXTS)))
        features.append(_Flag(f"{word} IS NULL OR TRIM({word}) = '' OR {word} IN ({nulls})"))
    return features


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
            names = model.names or [f"x{k}" for k in range(model.score.n_inputs)]
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
            terms = [self._values(term, inputs) for term in formula.terms]
            weighted = [f"{number(weight)} * ({term[0]})" for weight, term in zip(formula.weights, terms)]
            return [f"({' + '.join(weighted)})"]
        if isinstance(formula, Steps):
            values = [self.step_function(formula, k) for k in range(len(formula.columns))]
            return [self._stage("sum", total(["0.0", *values]))]
        if isinstance(formula, (parts.Trees, parts.SymmetricTrees)):
            return [self._stage("sum", self._trees(formula))]
        if isinstance(formula, parts.Linear) and formula.coef.shape == (1, 1) and isinstance(inputs[0], str):
            return [f"({number(formula.coef[0, 0])} * {inputs[0]} + {number(formula.intercept[0])})"]
        if isinstance(formula, parts.Ranks):
            score = self._stage("decision", inputs[0])
            return [self._stage("rank", _rank(formula.scores, formula.ranks, score))]
        if isinstance(formula, parts.LogOdds):
            rank = self._stage("mean", inputs[0])
            low = number(RANK_EDGE)
            high = number(1 - RANK_EDGE)
            share = self._stage(
                "share", f"CASE WHEN {rank} < {low} THEN {low} WHEN {rank} > {high} THEN {high} ELSE {rank} END"
            )
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
        return self.features[steps.columns[k]].steps(edges, values, steps.missing[k])

    def _trees(self, formula: Formula) -> str:
        trees = flat_trees(formula)
        if trees.n_outputs != 1:
            raise ExportError("a sum of trees has several outputs: SQL is written for one score")
        if len(trees.feature) * _LEAST_SPLIT > LARGEST_STATEMENT:
            raise _too_large()
        branches: list[str] = [""] * len(trees.feature)
        left, right = trees.children
        for node in reversed(range(len(branches))):  # children come after their parents
            if left[node] == NO_CHILD:
                branches[node] = number(trees.value[node, 0])
                continue
            low = branches[left[node]]
            high = branches[right[node]]
            feature = self.features[trees.feature[node]]
            is_split = low != high
            branches[node] = (
                feature.split(trees.threshold[node], trees.missing_left[node], low, high) if is_split else low
            )
        sums = total([number(trees.start[0]), *(branches[root] for root in trees.roots)])
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
        margin = f"{number(model.link.slope[0])} * {self.score} + {number(model.link.intercept[0])}"
        cut = number(model.cut or 0.0)
        # At 0 exactly `predict` gives the first class.
        above = ">=" if model.cut is None and model.positive == 0 else ">"
        positive = text(model.classes.names[model.positive])
        negative = text(model.classes.names[1 - model.positive])
        added = {
            **(first or {}),
            "score": self.score,
            "probability": f"1.0 / (1.0 + EXP(-({margin})))",
            "label": f"CASE WHEN {self.score} {above} {cut} THEN {positive} ELSE {negative} END",
        }
        columns = ",\n".join(f"  {expression} AS {name}" for name, expression in added.items())
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
    if not isinstance(rows, Mapping):
        names = model.names or [f"x{k}" for k in range(rows.shape[1])]
        rows = dict(zip(names, rows.T))
    columns = {name: [None if value != value else value for value in cells.tolist()] for name, cells in rows.items()}
    with sqlite3.connect(":memory:") as connection:
        connection.create_function("LN", 1, math.log)  # SQLite may be built without them
        connection.create_function("EXP", 1, math.exp)
        connection.execute(f"CREATE TABLE {quoted(table)} ({', '.join(map(quoted, columns))})")
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", zip(*columns.values()))
        results = connection.execute(statement).fetchall()
    scores = np.array([(row[-3], row[-2]) for row in results], dtype=np.float64)
    return scores[:, 0], scores[:, 1]


def _rank(values: np.ndarray, ranks: np.ndarray, score: str) -> str:
    """The rank of a column among the reference scores, interpolated, as a tree of comparisons."""
    first = number(values[0])
    last = number(values[-1])
    width = number(values[-1] - values[0] + 1e-300)
    above = f"({score} - {last})"
    below = f"({first} - {score})"
    high = f"{number(ranks[-1])} + {number(1 - ranks[-1])} * ({above} / ({width} + {above}))"
    low = f"{number(ranks[0])} - {number(ranks[0])} * ({below} / ({width} + {below}))"
    inside = number(ranks[0]) if len(values) == 1 else _pieces(values, ranks, score, 1, len(values) - 1)
    return f"CASE WHEN {score} < {first} THEN {low} WHEN {score} > {last} THEN {high} ELSE {inside} END"


def _pieces(values: np.ndarray, ranks: np.ndarray, score: str, low: int, high: int) -> str:
    """Interpolation on the pieces that end at `values[low]` to `values[high]`."""
    if low == high:
        start = number(values[low - 1])
        width = number(values[low] - values[low - 1])
        return f"{number(ranks[low - 1])} + ({score} - {start}) / {width} * {number(ranks[low] - ranks[low - 1])}"
    middle = (low + high) // 2
    left = _pieces(values, ranks, score, low, middle)
    right = _pieces(values, ranks, score, middle + 1, high)
    return f"CASE WHEN {score} <= {number(values[middle])} THEN {left} ELSE {right} END"


def total(terms: Sequence[str]) -> str:
    """The sum of expressions, of little depth.

    Parameters
    ----------
    terms : list of str

    Returns
    -------
    str
    """
    while len(terms) > _TOGETHER:
        groups = [terms[start : start + _TOGETHER] for start in range(0, len(terms), _TOGETHER)]
        terms = [f"({' + '.join(group)})" for group in groups]
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
