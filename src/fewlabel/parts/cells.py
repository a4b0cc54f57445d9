"""Cells: a column of any type in one of four stored kinds, and its conversion to the kind that a model expects."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fewlabel.arrow import as_numpy
from fewlabel.parts.notations import ISO, PLAIN, as_boolean, as_number, is_null, parse_date, parse_number

NUMBER = "number"
BOOLEAN = "boolean"
DATE = "date"
TEXT = "text"
_DATE_UNIT = "datetime64[us]"
LARGEST_NUMBER = float(np.finfo(np.float32).max)  # forests are computed with singles; what is larger is a gap
# Years 1 to 9999, as in Python's datetime; 9999-12-31 often stands for "never".
_FIRST_SECOND = np.datetime64("0001-01-01T00:00:00", "s")
_LAST_SECOND = np.datetime64("9999-12-31T23:59:59", "s")


class Cells(NamedTuple):
    """The cells of a column.

    Attributes
    ----------
    kind : str
        "number", "boolean", "date" or "text".
    values : ndarray or list of str
        Floats (numbers, booleans) with NaN for gaps; dates, as microseconds, with NaT for gaps; or texts.
    codes : ndarray of int or None
        Position in `values` of each cell, -1 for a gap; None if there is one value per cell. Texts always have codes.
    written : list of str or None
        The texts that values were converted from. A value that is missing although it was written does not fit its
        column.
    special : ndarray of object or None
        Of numbers: the special value, as text, that each value was before it became a gap; None for the others.
    """

    kind: str
    values: Any
    codes: Any = None
    written: list[str] | None = None
    special: Any = None

    @property
    def n_rows(self) -> int:
        return len(self.values if self.codes is None else self.codes)

    def rows(self) -> np.ndarray:
        """The value of each cell: NaN, NaT or None for a gap."""
        if self.codes is None:
            return self.values
        if self.kind == TEXT:
            values = np.array([*self.values, None], dtype=object)
        else:
            values = np.append(self.values, gap_of(self.values.dtype))
        # -1 is the last value.
        return values[self.codes]

    def gaps(self) -> np.ndarray:
        """Whether each cell is missing."""
        if self.kind == TEXT:
            return self.codes < 0
        missing = self.missing_values()
        return missing if self.codes is None else np.append(missing, True)[self.codes]

    def missing_values(self) -> np.ndarray:
        """Which of the values of numbers, booleans or dates are missing."""
        return np.isnat(self.values) if self.kind == DATE else np.isnan(self.values)

    def is_special(self) -> np.ndarray:
        """Which of the values were special ones."""
        return np.zeros(len(self.values), dtype=bool) if self.special is None else self.special.astype(bool)

    def special_values(self) -> list[str]:
        """The special values that occur, sorted."""
        return sorted(set(self.special[self.is_special()])) if self.special is not None else []

    def shown(self) -> list[str]:
        """Each cell as a person would write it."""
        texts = [_shown(value) for value in self.values]
        for place in np.flatnonzero(self.is_special()):
            texts[place] = self.special[place]
        return texts if self.codes is None else np.array([*texts, _shown(None)], dtype=object)[self.codes].tolist()

    def counts(self) -> np.ndarray:
        """Number of cells with each value."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    def distinct(self) -> "Cells":
        """The same cells with each value once, and none that no cell has, as the categories of other rows."""
        if self.codes is None:
            gaps = self.missing_values()
            found, codes = np.unique(self.values[~gaps], return_inverse=True)
            all_codes = np.full(len(gaps), -1)
            all_codes[~gaps] = codes
            return self._replace(values=found, codes=all_codes)
        is_used = self.counts() > 0
        if is_used.all():
            return self
        left = [value for value, used in zip(self.values, is_used) if used]
        places = np.append(np.cumsum(is_used) - 1, -1)
        values = left if self.kind == TEXT else np.array(left, dtype=self.values.dtype)
        return self._replace(values=values, codes=places[self.codes])

    def texts(self) -> "Cells":
        """The same cells, with values as texts."""
        if self.kind == TEXT:
            return self
        written = _texts_of(self.values.tolist())
        if self.codes is None:
            return written
        return written._replace(codes=np.append(written.codes, -1)[self.codes])

    def take(self, rows: Any) -> "Cells":
        """Some of the cells."""
        if self.codes is not None:
            return self._replace(codes=self.codes[rows])
        special = None if self.special is None else self.special[rows]
        return self._replace(values=self.values[rows], special=special)


def gap_of(dtype: np.dtype) -> Any:
    """What stands for a missing value in an array."""
    # With the unit of the array: NumPy 2.5 deprecates dates without one.
    return np.array("NaT", dtype=dtype)[()] if dtype.kind == "M" else np.nan


def read_cells(column: Any) -> Cells:
    """Read a column in the kind that its type stores: texts and Python objects are texts, whatever they look like.

    Parameters
    ----------
    column : pyarrow array, pandas or polars Series, ndarray or list
        Dates are converted to UTC, without a time zone; those outside of the years 1 to 9999 are gaps. Durations are
        seconds.

    Returns
    -------
    Cells

    Examples
    --------
    >>> from fewlabel.parts.cells import read_cells
    >>> read_cells(["b", None, "a", "b"])
    Cells(kind='text', values=['b', 'a'], codes=array([ 0, -1,  1,  0]), written=None, special=None)
    """
    categories, codes = _split_categories(column)
    if codes is not None:
        return _at_codes(read_cells(categories), codes)
    if hasattr(column, "to_arrow"):  # polars
        column = column.to_arrow()
    if _is_arrow(column):
        return _read_arrow(column)
    if hasattr(column, "isna"):
        return _read_pandas(column)
    return _read_numpy(column) if isinstance(column, np.ndarray) else _texts_of(column)


def read_as(column: Any, kind: str, notation: str = "", special: Sequence[str] = ()) -> Cells:
    """Read a column and convert it to a kind.

    Parameters
    ----------
    column : pyarrow array, pandas or polars Series, ndarray or list
    kind, notation, special
        As in `convert`.

    Returns
    -------
    Cells
    """
    categories, codes = _split_categories(column)
    if codes is not None:
        return _at_codes(read_as(categories, kind, notation, special), codes)
    if kind == TEXT and _holds_integers(column):
        # As 12 rather than 12.0.
        return _texts_of(column.tolist())
    return convert(read_cells(column), kind, notation, special)


def _split_categories(column):
    """The categories of a column, and the category of each cell, -1 for a gap; None without categories."""
    if hasattr(column, "cat") and hasattr(column, "isna"):
        return column.cat.categories.to_series(), column.cat.codes.to_numpy().astype(np.intp)
    if not _is_arrow(column) or not hasattr(column.type, "index_type"):
        return None, None
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    codes = as_numpy(column.indices)
    if column.indices.null_count:
        codes = np.where(np.isnan(codes), -1, codes)
    return column.dictionary, codes.astype(np.intp, copy=False)


def _at_codes(categories, codes):
    of_category = np.arange(len(categories.values)) if categories.codes is None else categories.codes
    return categories._replace(codes=np.append(of_category, -1)[codes])


def _holds_integers(column):
    if _is_arrow(column):
        import pyarrow as pa

        return pa.types.is_integer(column.type)
    return getattr(getattr(column, "dtype", None), "kind", "O") in "iu"


def _is_arrow(column):
    return type(column).__module__.startswith("pyarrow")


def _read_numpy(column):
    kind = column.dtype.kind
    if kind == "b":
        return Cells(BOOLEAN, column.astype(np.float64))
    if kind in "iuf":
        return Cells(NUMBER, _usable(column.astype(np.float64, copy=False)))
    if kind == "M":
        return Cells(DATE, _as_dates(column))
    if kind == "m":
        return Cells(NUMBER, _as_seconds(column))
    return _texts_of(column.tolist())


def _usable(values):
    """Numbers with a gap in place of one that is infinite, or too large to compute with."""
    too_large = np.abs(values) > LARGEST_NUMBER
    return np.where(too_large, np.nan, values) if too_large.any() else values


def _as_dates(column):
    seconds = column.astype("datetime64[s]")
    outside = (seconds < _FIRST_SECOND) | (seconds > _LAST_SECOND)
    if outside.any():
        column = np.where(outside, gap_of(column.dtype), column)
    return column.astype(_DATE_UNIT)


def _as_seconds(column):
    return np.where(np.isnat(column), np.nan, column / np.timedelta64(1, "s"))


def _read_pandas(column):
    kind = getattr(column.dtype, "kind", "O")
    if kind in "biuf":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return Cells(BOOLEAN if kind == "b" else NUMBER, _usable(values))
    if kind == "M" and getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert(None)
    if kind in "mM":
        return _read_numpy(column.to_numpy())
    values = np.where(column.isna(), None, column.to_numpy(dtype=object))
    return _texts_of(values.tolist())


def _read_arrow(column):
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        categories, codes = _split_categories(column.dictionary_encode())
        return Cells(TEXT, categories.to_pylist(), codes)
    if pa.types.is_boolean(kind):
        return Cells(BOOLEAN, as_numpy(column.cast(pa.float64())))
    if pa.types.is_decimal(kind) or pa.types.is_null(kind) or pa.types.is_integer(kind):
        column = column.cast(pa.float64(), safe=False)
    if pa.types.is_floating(column.type) or (pa.types.is_temporal(kind) and not pa.types.is_time(kind)):
        return _read_numpy(as_numpy(column))
    return _texts_of(column.to_pylist())


def _texts_of(values: list) -> Cells:
    """Python objects as texts, each distinct one once."""
    places: dict[str, int] = {}
    codes = np.empty(len(values), dtype=np.intp)
    for row, value in enumerate(values):
        if type(value) is not str:
            if _is_missing(value):
                codes[row] = -1
                continue
            value = str(value)
        codes[row] = places.setdefault(value, len(places))
    return Cells(TEXT, list(places), codes)


def _is_missing(value):
    # Those of pandas, without importing it.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and value != value


def convert(cells: Cells, kind: str, notation: str = "", special: Sequence[str] = ()) -> Cells:
    """Convert cells to the kind of a column; what does not fit becomes a gap. Each distinct text is read once.

    Parameters
    ----------
    cells : Cells
    kind : str
    notation : str, default=""
        How texts write numbers or dates, see `fewlabel.parts.notations`; "" for 1234.5 and 2024-12-31.
    special : sequence of str, default=()
        Values among numbers that stand for something else, such as "-999" or "unknown": they become gaps, and
        `Cells.special` says which.

    Returns
    -------
    Cells

    Examples
    --------
    >>> from fewlabel.parts.cells import convert, read_cells
    >>> convert(read_cells(["1", "x", None, "2.5"]), "number").rows()
    array([1. , nan, nan, 2.5])
    """
    if kind == cells.kind:
        return _set_aside(cells, special)
    if kind == TEXT:
        return cells.texts()
    if kind == NUMBER and cells.kind == BOOLEAN:
        return _set_aside(cells._replace(kind=NUMBER), special)
    texts = cells.texts()
    is_gap = np.array([*map(is_null, texts.values), True])
    texts = texts._replace(codes=np.where(is_gap[texts.codes], -1, texts.codes))
    if kind == DATE:
        moments = [parse_date(text, notation or ISO) for text in texts.values]
        values = np.array(moments, dtype=_DATE_UNIT)
    elif kind == NUMBER:
        values = _usable(np.array([as_number(text, notation or PLAIN) for text in texts.values], dtype=np.float64))
    else:
        values = np.array([as_boolean(text) for text in texts.values], dtype=np.float64)
    return _set_aside(Cells(kind, values, texts.codes, texts.values), special)


def _set_aside(cells, special):
    """Numbers with gaps in place of special values."""
    if not special or cells.kind != NUMBER:
        return cells
    places = np.full(len(cells.values), -1)
    for place, text in enumerate(special):
        # A word is no number, which is equal to none.
        places[cells.values == parse_number(text)] = place
        for k, written in enumerate(cells.written or ()):
            if written.strip() == text:
                places[k] = place
    values = np.where(places < 0, cells.values, np.nan)
    return cells._replace(values=values, special=np.array([*special, None], dtype=object)[places])


def columns_of(table: Any) -> Mapping[str, Any]:
    """The columns of a table by name; an array without names has the columns x0, x1 and so on."""
    if isinstance(table, Mapping):
        return table
    if hasattr(table, "column_names"):  # Arrow
        return dict(zip(table.column_names, table.columns))
    if hasattr(table, "items"):  # pandas
        return {str(name): column for name, column in table.items()}
    if hasattr(table, "get_columns"):  # polars
        return {column.name: column for column in table.get_columns()}
    values = np.asarray(table)
    if values.ndim != 2:
        raise ValueError(f"expected a table, got an array of shape {values.shape}")
    return {f"x{k}": column for k, column in enumerate(values.T)}


def _shown(value):
    if value is None or value != value:
        return "missing"
    if isinstance(value, np.datetime64):
        moment = value.astype(datetime.datetime)
        return str(moment.date()) if moment.time() == datetime.time() else str(moment)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
