"""Kinds of columns: number, boolean, date or text, found by their values; columns without information."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewlabel.exceptions import TableError
from fewlabel.parts.cells import BOOLEAN, DATE, NUMBER, TEXT, Cells, columns_of, convert, read_cells
from fewlabel.parts.notations import FALSE_WORDS, ISO, PLAIN, TRUE_WORDS, is_null, parse_number
from fewlabel.tables.notations import find_date_notation, find_number_notation
from fewlabel.text import short

if TYPE_CHECKING:
    import pandas as pd

ID_NAME = re.compile(r"(^|[\W_])(id|uuid|guid|key|index|rowid|row_number)$|^unnamed: ?\d+$", re.IGNORECASE)
_LEAST_ID_ROWS = 20  # in fewer rows, values may all differ by chance
IDENTIFIER = "looks like an identifier"
# Booleans in words; with 1 and 0 alone a column holds numbers.
_WORDS = (TRUE_WORDS | FALSE_WORDS) - {"1", "1.0", "0", "0.0"}
_NESTED = {list: "lists", tuple: "lists", np.ndarray: "lists", dict: "records", bytes: "bytes", bytearray: "bytes"}


class ReadColumns(NamedTuple):
    """The useful columns of a table, each converted to its kind.

    Attributes
    ----------
    cells : dict of str to Cells
        Floats for numbers and booleans, dates, or text; gaps where a value does not fit the kind.
    kinds : dict
        Kind of each column: "number", "boolean", "date" or "text".
    dropped : dict
        The other columns, each with the reason why it was dropped.
    notations : dict
        How the numbers or dates of a column are written, where it is not the usual way: "1.234,5", "31/12/2024".
    """

    cells: dict[str, Cells]
    kinds: dict[str, str]
    dropped: dict[str, str]
    notations: dict[str, str]

    @property
    def table(self) -> "pd.DataFrame":
        """The converted columns as a DataFrame."""
        import pandas as pd

        return pd.DataFrame({name: cells.rows() for name, cells in self.cells.items()})


def read_columns(X: Any, *, dayfirst: bool | None = None, special_values: Any = None) -> ReadColumns:
    """Find the kind of each column and drop the columns without information.

    Parameters
    ----------
    X : DataFrame of shape (n_samples, n_columns)
    dayfirst : bool, default=None
        Whether 03/04/2024 is the third of April or March the fourth, in a column whose dates can all be read either
        way. By default such a column is an error.
    special_values : list, or dict of str to list, default=None
        Values among numbers that are none, such as -999 or "unknown"; a dict has those of each column.

    Returns
    -------
    ReadColumns

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
    columns = columns_of(X)
    names = [str(name) for name in X.columns]
    if len(columns) < len(names):
        repeated = next(name for place, name in enumerate(names) if name in names[:place])
        raise TableError(f"the table has several columns named {repeated!r}: give each column a name of its own")
    special = _special_texts(special_values, names)
    found = ReadColumns({}, {}, {}, {})
    for name, column in columns.items():
        nested = _nested(column)
        if nested is not None:
            found.dropped[name] = f"holds {nested}"
            continue
        cells, notation = read_column(column, name, dayfirst, special[name])
        reason = why_dropped(name, cells)
        if reason is not None:
            found.dropped[name] = reason
            continue
        found.cells[name] = cells
        found.kinds[name] = cells.kind
        if notation:
            found.notations[name] = notation
    if not found.kinds:
        raise TableError(
            "no column is left to learn from: every column is empty, constant, looks like an identifier, or holds "
            "lists, records or bytes"
        )
    return found


def _special_texts(special_values, names: Sequence[str]) -> dict[str, list[str]]:
    """The special values of each column as texts, a number in one way only."""
    by_column = special_values if isinstance(special_values, Mapping) else dict.fromkeys(names, special_values or ())
    unknown = [name for name in by_column if name not in names]
    if unknown:
        raise TableError(f"special values: the table has no column {short(unknown[0])!r}")
    texts: dict[str, list[str]] = {name: [] for name in names}
    for name, values in by_column.items():
        for value in values:
            number = parse_number(str(value))
            text = str(value).strip() if np.isnan(number) else f"{number:.15g}"
            texts[name].append(text)
    return texts


def _nested(column) -> str | None:
    """What a column holds that is neither a number nor a date nor a text, by its first value; None if it is one."""
    # Other types than objects cannot hold them.
    if column.dtype != object:
        return None
    present = column.dropna()
    return _NESTED.get(type(present.iloc[0])) if len(present) else None


def kind_and_notation(
    cells: Cells, dayfirst: bool | None = None, name: str = "", special: Sequence[str] = ()
) -> tuple[str, str]:
    """Kind of a column, and the notation of its numbers or dates; "" if they are written the usual way.

    Texts that stand for a gap, such as "?", and special values do not count.

    Examples
    --------
    >>> from fewlabel.parts.cells import read_cells
    >>> from fewlabel.tables.kinds import kind_and_notation
    >>> kind_and_notation(read_cells(["1,5", "2,75"]))
    ('number', '1.234,5')
    """
    if cells.kind != TEXT:
        return cells.kind, ""
    texts = [text.strip() for text in cells.values if not is_null(text)]
    texts = [text for text in texts if text not in special]
    # A column without a value is dropped, whatever its kind.
    if not texts:
        return NUMBER, ""
    words = {text.lower() for text in texts}
    if words <= TRUE_WORDS | FALSE_WORDS and words & _WORDS:
        return BOOLEAN, ""
    notation = find_number_notation(texts)
    if notation is not None:
        return NUMBER, "" if notation == PLAIN else notation
    notation = find_date_notation(texts, name, dayfirst)
    if notation is not None:
        return DATE, "" if notation == ISO else notation
    return TEXT, ""


def read_column(
    column: Any, name: str = "", dayfirst: bool | None = None, special: Sequence[str] = ()
) -> tuple[Cells, str]:
    """The cells of a column, converted to its kind, and its notation; as in `kind_and_notation`."""
    cells = read_cells(column)
    # A part of a table may have categories that none of its rows has.
    if cells.kind == TEXT:
        cells = cells.distinct()
    kind, notation = kind_and_notation(cells, dayfirst, name, special)
    return convert(cells, kind, notation, special), notation


def as_moments(column: Any, name: str | None = None, dayfirst: bool | None = None) -> np.ndarray:
    """Convert a column that says when rows were recorded to numbers or dates; errors call it by its own name.

    Raises
    ------
    TableError
        If it holds something else.

    Examples
    --------
    >>> from fewlabel.tables.kinds import as_moments
    >>> first, second = as_moments(["31/12/2023", "01/02/2024"])
    >>> bool(first < second)
    True
    """
    name = str(name or getattr(column, "name", None) or "time")
    cells, _ = read_column(column, name, dayfirst)
    if cells.kind not in (NUMBER, DATE):
        example = short(cells.texts().values[0])
        raise TableError(
            f"time: column {name!r} holds {cells.kind}, such as {example!r}: name a column of numbers or dates"
        )
    return cells.rows()


def why_dropped(name: str, cells: Cells) -> str | None:
    """Reason to drop a converted column (empty, constant, looks like an identifier), or None to keep it."""
    n_rows = cells.n_rows
    n_present = n_rows - int(np.count_nonzero(cells.gaps()))
    if n_present == 0:
        return "empty"
    values = cells.values if cells.kind == TEXT else np.unique(cells.values[~cells.missing_values()])
    n_distinct = len(values)
    # One value and gaps stay: where it is missing may be informative.
    if n_distinct == 1 and n_present == n_rows:
        return "constant"
    if n_rows < _LEAST_ID_ROWS or n_distinct < n_rows:
        return None
    return IDENTIFIER if _is_identifier(name, cells) else None


def _is_identifier(name: str, cells: Cells) -> bool:
    """Whether a column with one distinct value per row is named or shaped like a row number or a code."""
    named = bool(ID_NAME.search(name))
    if cells.kind == NUMBER:
        is_counter = (np.abs(np.diff(cells.rows())) == 1).all()
        return are_codes(cells) and (named or bool(is_counter))
    return cells.kind == TEXT and (named or are_codes(cells))


def are_codes(cells: Cells) -> bool:
    """Whether values are whole numbers, or texts without spaces."""
    if cells.kind == TEXT:
        return not any(re.search(r"\s", text) for text in cells.values)
    return cells.kind == NUMBER and bool((cells.values == np.round(cells.values)).all())
