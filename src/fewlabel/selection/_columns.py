"""Tables of numeric and nominal columns as one array of numbers."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from fewlabel.columns import as_numbers, choose_nominal

_LEAST_ROWS, _UNIQUE = 20, 0.9  # from so many rows on, and from this share of distinct values


class Columns(NamedTuple):
    """A table as numbers.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features), float64
        Numbers unchanged, nominal values as codes, NaN for missing values.
    nominal : ndarray of shape (n_features,), bool
        Which columns are nominal.
    """

    values: np.ndarray
    nominal: np.ndarray


def read_columns(table, nominal_features) -> Columns:
    """Convert a data frame to numbers.

    With "auto" all columns other than numbers and dates are nominal: text, categories, booleans.
    """
    nominal = choose_nominal(nominal_features, table, parameter="nominal_features", by_type=_is_number)
    values = np.empty(table.shape)
    for j in range(table.shape[1]):
        column = table.iloc[:, j]
        values[:, j] = _codes(column) if nominal[j] else _numbers(column)
    return Columns(values, nominal)


def _is_number(column):
    types = pd.api.types
    if types.is_bool_dtype(column.dtype):
        return False
    return (
        types.is_numeric_dtype(column.dtype)
        or types.is_datetime64_any_dtype(column.dtype)
        or types.is_timedelta64_dtype(column.dtype)
    )


def _codes(column):
    codes = pd.factorize(column)[0].astype(np.float64)
    codes[codes < 0] = np.nan
    return codes


def _numbers(column):
    if not pd.api.types.is_numeric_dtype(column.dtype) and _is_number(column):
        numbers = column.astype("int64").to_numpy(dtype=np.float64)
        numbers[column.isna().to_numpy()] = np.nan
        return numbers
    return as_numbers(column, parameter="nominal_features")


def identifiers(columns: Columns) -> np.ndarray:
    """Columns in which (nearly) every row has a value of its own: names, keys, and numbers that count the rows."""
    found = np.zeros(len(columns.nominal), dtype=bool)
    for j, column in enumerate(columns.values.T):
        present = column[~np.isnan(column)]
        n_distinct = len(np.unique(present))
        if present.size < _LEAST_ROWS or n_distinct < _UNIQUE * present.size:
            continue
        counts = n_distinct == present.size and (present == np.round(present)).all() and np.ptp(present) < present.size
        found[j] = columns.nominal[j] or counts
    return found


def scale(columns: Columns) -> Columns:
    """Scale numeric columns to [0, 1] over the rows; a constant column becomes 0."""
    values = columns.values.copy()
    for j in np.flatnonzero(~columns.nominal):
        present = values[~np.isnan(values[:, j]), j]
        if present.size:
            # Halved, so that the range of the largest floats does not overflow.
            low, half = present.min(), present.max() / 2 - present.min() / 2
            values[:, j] = 0.0 * values[:, j] if half == 0 else (values[:, j] / 2 - low / 2) / half
    return Columns(values, columns.nominal)


def coordinates(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Numbers without gaps: scaled columns with medians for missing values, and an indicator per nominal value.

    Also gives the column that each coordinate belongs to.
    """
    scaled = scale(columns).values
    blocks, owner = [], []
    for j, nominal in enumerate(columns.nominal):
        column = scaled[:, j]
        missing = np.isnan(column)
        if nominal:
            block = (column[:, None] == np.unique(column[~missing])).astype(np.float64)
        else:
            block = np.where(missing, np.median(column[~missing]) if not missing.all() else 0.0, column)[:, None]
        blocks.append(block)
        owner += [j] * block.shape[1]
    return np.hstack(blocks), np.array(owner, dtype=np.intp)
