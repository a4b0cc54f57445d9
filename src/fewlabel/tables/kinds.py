"""Kinds of columns: number, boolean, date or text; conversion to a kind; columns without information."""

import math
import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from fewlabel.exceptions import TableError
from fewlabel.tables.notations import ISO, PLAIN, find_date_notation, find_number_notation, parse_dates, parse_numbers

NUMBER, BOOLEAN, DATE, TEXT = "number", "boolean", "date", "text"
_TRUE, _FALSE = {"true", "yes", "t", "y"}, {"false", "no", "f", "n"}
_ONE, _ZERO = {"1", "1.0"}, {"0", "0.0"}  # booleans in a column that is known to be one
TRUE_WORDS, FALSE_WORDS = _TRUE | _ONE, _FALSE | _ZERO
ID_NAME = re.compile(r"(^|[\W_])(id|uuid|guid|key|index|rowid|row_number)$|^unnamed: ?\d+$", re.IGNORECASE)
_LEAST_ID_ROWS = 20
IDENTIFIER = "looks like an identifier"
_MOST_KEPT = 50_000  # distinct values of a column whose conversion is kept


class Columns(NamedTuple):
    """The useful columns of a table, each converted to its kind.

    Attributes
    ----------
    table : DataFrame
        Floats for numbers and booleans, dates, or text; missing values where a value does not fit the kind.
    kinds : dict
        Kind of each column: "number", "boolean", "date" or "text".
    dropped : dict
        The other columns, each with the reason why it was dropped.
    notations : dict
        How the numbers or dates of a column are written, where it is not the usual way: "1.234,5", "31/12/2024".
    """

    table: pd.DataFrame
    kinds: dict[str, str]
    dropped: dict[str, str]
    notations: dict[str, str]


def read_columns(X: pd.DataFrame, *, dayfirst: bool | None = None) -> Columns:
    """Find the kind of each column and drop the columns without information.

    Parameters
    ----------
    X : DataFrame of shape (n_samples, n_columns)
    dayfirst : bool, default=None
        Whether 03/04/2024 is the third of April or March the fourth, in a column whose dates can all be read either
        way. By default such a column is an error.

    Returns
    -------
    Columns

    Raises
    ------
    TableError
        If two columns have the same name, no column is left, or day and month are ambiguous.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabel.tables import read_columns
    >>> found = read_columns(pd.DataFrame({"paid": ["yes", "no"], "when": ["2024-01-31", "2024-02-01"], "x": [3, 3]}))
    >>> found.kinds, found.dropped
    ({'paid': 'boolean', 'when': 'date'}, {'x': 'constant'})
    """
    X = X.set_axis(X.columns.map(str), axis=1)
    if X.columns.has_duplicates:
        name = X.columns[X.columns.duplicated()][0]
        raise TableError(f"the table has several columns named {name!r}: give each column a name of its own")
    found = {name: kind_and_notation(X[name], dayfirst) for name in X.columns}
    kinds = {name: kind for name, (kind, _) in found.items()}
    converted = {name: as_kind(X[name], *found[name]) for name in kinds}
    reasons = {name: why_dropped(name, converted[name], kinds[name]) for name in kinds}
    kept = {name: kind for name, kind in kinds.items() if reasons[name] is None}
    if not kept:
        raise TableError("no column is left to learn from: every column is empty, constant or looks like an identifier")
    dropped = {name: reason for name, reason in reasons.items() if reason is not None}
    notations = {name: found[name][1] for name in kept if found[name][1]}
    return Columns(pd.DataFrame({name: converted[name] for name in kept}, index=X.index), kept, dropped, notations)


def kind_of(column: pd.Series) -> str:
    """Kind of a column, by its dtype or, for objects and text, by its values.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabel.tables.kinds import kind_of
    >>> [kind_of(pd.Series(v)) for v in ([1, 2], ["yes", None], ["2024-01-31", "2024-02-01"], ["a", "b"])]
    ['number', 'boolean', 'date', 'text']
    """
    return kind_and_notation(column)[0]


def kind_and_notation(column: pd.Series, dayfirst: bool | None = None) -> tuple[str, str]:
    """Kind of a column, and the notation of its numbers or dates; "" if they are written the usual way."""
    kind = _kind_of_dtype(column)
    if kind is not None:
        return kind, ""
    present = column.dropna()
    texts = present.astype(str).str.strip()
    words = set(texts.str.lower().unique())
    if words <= TRUE_WORDS | FALSE_WORDS and words & (_TRUE | _FALSE):
        return BOOLEAN, ""
    notation = find_number_notation(texts)
    if notation is not None:
        return NUMBER, "" if notation == PLAIN else notation
    notation = find_date_notation(texts, dayfirst)
    if notation is not None:
        return DATE, "" if notation == ISO else notation
    return TEXT, ""


def as_moments(column: pd.Series, dayfirst: bool | None = None) -> pd.Series:
    """Convert a column that says when rows were recorded to numbers or dates.

    Raises
    ------
    TableError
        If it holds something else.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabel.tables.kinds import as_moments
    >>> as_moments(pd.Series(["31/12/2023", "01/02/2024"])).is_monotonic_increasing
    True
    """
    kind, notation = kind_and_notation(column, dayfirst)
    if kind not in (NUMBER, DATE):
        found = next(iter(column.dropna()), None)
        raise TableError(
            f"time: column {column.name!r} holds {kind}, such as {found!r}: name a column of numbers or dates"
        )
    return as_kind(column, kind, notation)


def _kind_of_dtype(column: pd.Series) -> str | None:
    """Kind of a column whose values need not be looked at; None for text and objects."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return BOOLEAN
    if pd.api.types.is_numeric_dtype(column.dtype):
        return NUMBER
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return DATE
    return NUMBER if column.isna().all() else None


class Converted(NamedTuple):
    """Categories of a column as they were given, and converted to its kind."""

    given: pd.Index
    values: pd.Series


def as_kind(
    column: pd.Series,
    kind: str,
    notation: str = "",
    *,
    keep_categories: bool = False,
    memo: dict[str, Converted] | None = None,
) -> pd.Series:
    """Convert a column of any dtype to floats (numbers, booleans), dates or text; what does not fit becomes missing.

    `notation` is how texts write numbers or dates, see `fewlabel.tables.notations`. With `keep_categories`, dates and
    texts that were given as categories are returned as such. `memo` is empty at first and passed again with further
    rows of the table: categories in it are not converted again. Threads may share it.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        converted = _convert_categories(column, kind, notation, {} if memo is None else memo)
        return _each_category(column, converted, keep_categories and kind in (DATE, TEXT))
    if kind == NUMBER:
        if not pd.api.types.is_numeric_dtype(column.dtype):
            column = parse_numbers(column.astype(object), notation or PLAIN)
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        finite = np.isfinite(values)
        return pd.Series(values if finite.all() else np.where(finite, values, np.nan), index=column.index)
    if kind == BOOLEAN:
        return _as_boolean(column)
    if kind == DATE:
        if pd.api.types.is_datetime64_any_dtype(column.dtype):
            return column.dt.tz_localize(None) if column.dt.tz is None else column.dt.tz_convert(None)
        return parse_dates(column.astype(object).map(str, na_action="ignore").astype(object), notation or ISO)
    return column.astype(object).map(str, na_action="ignore").astype(object).where(column.notna(), None)


def _convert_categories(column: pd.Series, kind: str, notation: str, memo: dict[str, Converted]) -> pd.Series:
    """The categories of a column, converted to its kind."""
    categories, known = column.cat.categories, memo.get(str(column.name))
    if known is None or known.given.dtype != categories.dtype:
        known = Converted(categories, as_kind(pd.Series(categories, dtype=categories.dtype), kind, notation))
        places = np.arange(len(categories))
    else:
        places = known.given.get_indexer(categories)
        new = categories[places < 0]
        if len(new):
            values = as_kind(pd.Series(new, dtype=new.dtype), kind, notation)
            known = Converted(known.given.append(new), pd.concat([known.values, values], ignore_index=True))
            places[places < 0] = np.arange(len(known.given) - len(new), len(known.given))
    if len(known.given) <= _MOST_KEPT:
        memo[str(column.name)] = known
    return known.values.take(places).reset_index(drop=True)


def _each_category(column: pd.Series, converted: pd.Series, keep_categories: bool) -> pd.Series:
    """A column of categories, each of them replaced by what it was converted to."""
    if not keep_categories:
        return converted.reindex(column.cat.codes).set_axis(column.index)
    numbers, values = pd.factorize(converted)
    codes = np.append(numbers, -1)[column.cat.codes]
    return pd.Series(pd.Categorical.from_codes(codes, values), index=column.index)


def factorized(column: pd.Series) -> tuple[np.ndarray, pd.Index]:
    """For each row the position of its value, -1 if it is missing; and the distinct values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), column.cat.categories
    return pd.factorize(column)


def _as_boolean(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.astype("float64").where(column.isin([0, 1]))
    texts = column.astype(object).map(lambda v: str(v).strip().lower(), na_action="ignore")
    values = {**dict.fromkeys(TRUE_WORDS, 1.0), **dict.fromkeys(FALSE_WORDS, 0.0)}
    return texts.map(lambda t: values.get(t, math.nan), na_action="ignore").astype("float64")


def why_dropped(name: str, column: pd.Series, kind: str) -> str | None:
    """Reason to drop a column (empty, constant, looks like an identifier), or None to keep it."""
    values = column.to_numpy()
    present = values[~pd.isna(values)]
    if len(present) == 0:
        return "empty"
    n_distinct = len(pd.unique(present))
    if n_distinct == 1 and len(present) == len(values):
        return "constant"
    if len(values) < _LEAST_ID_ROWS or n_distinct < len(values):
        return None
    return IDENTIFIER if _is_identifier(name, present, kind) else None


def _is_identifier(name: str, distinct: np.ndarray, kind: str) -> bool:
    """Whether a column with one distinct value per row is named or shaped like a row number or a code."""
    named = bool(ID_NAME.search(name))
    if kind == NUMBER:
        is_whole = (distinct == np.round(distinct)).all()
        return bool(is_whole and (named or (np.abs(np.diff(distinct)) == 1).all()))
    return kind == TEXT and (named or not any(re.search(r"\s", text) for text in distinct))
