"""Tables of numeric and nominal columns as one array of numbers."""

from typing import NamedTuple

import numpy as np
import pandas as pd


class Columns(NamedTuple):
    """A table as numbers.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features), float64
        Numbers as they are, nominal values as codes, NaN where missing.
    nominal : ndarray of shape (n_features,), bool
    """

    values: np.ndarray
    nominal: np.ndarray


def is_table(X) -> bool:
    """Whether X is a data frame (pandas, or polars and Arrow, which turn into one)."""
    return isinstance(X, pd.DataFrame) or (hasattr(X, "to_pandas") and hasattr(X, "columns"))


def read_columns(X, nominal_features) -> Columns:
    """Read a data frame or a 2d array.

    With "auto" the columns that do not hold numbers or dates are nominal: text, categories, booleans.
    """
    table = X if isinstance(X, pd.DataFrame) else X.to_pandas() if is_table(X) else pd.DataFrame(X).infer_objects()
    asked = _asked(nominal_features, table.columns)
    values, nominal = np.empty(table.shape), np.zeros(table.shape[1], dtype=bool)
    for j in range(table.shape[1]):
        column = table.iloc[:, j]
        nominal[j] = (asked is None and not _is_number(column)) or (asked is not None and asked[j])
        values[:, j] = _codes(column) if nominal[j] else _numbers(column)
    return Columns(values, nominal)


def _asked(nominal_features, names):
    if isinstance(nominal_features, str) and nominal_features == "auto":
        return None
    chosen = np.atleast_1d(np.asarray(nominal_features, dtype=None if len(nominal_features) else np.intp))
    mask = np.zeros(len(names), dtype=bool)
    if chosen.dtype == bool:
        if chosen.shape != mask.shape:
            raise ValueError(f"nominal_features is a mask of {chosen.size} columns, X has {len(names)}")
        return chosen
    positions = chosen if chosen.dtype.kind in "iu" else pd.Index(names).get_indexer(chosen)
    unknown = [c for c, p in zip(chosen.tolist(), positions) if not -1 < p < len(names)]
    if unknown:
        raise ValueError(
            f"nominal_features names columns that X does not have: {unknown}. Give names of a data frame's columns, "
            f"numbers from 0 to {len(names) - 1}, or a mask"
        )
    mask[positions] = True
    return mask


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
    try:
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {column.name!r} holds values that are not numbers ({error}): name it in nominal_features, or "
            'leave nominal_features="auto"'
        ) from error
    if np.isinf(numbers).any():
        raise ValueError(f"column {column.name!r} contains infinity: replace it, or mark it as missing (NaN)")
    return numbers


def scale(columns: Columns) -> Columns:
    """Numeric columns from 0 to 1 over the rows; a constant column is 0."""
    values = columns.values.copy()
    for j in np.flatnonzero(~columns.nominal):
        present = values[~np.isnan(values[:, j]), j]
        if present.size:
            # Halved, so that the range of the largest floats does not overflow.
            low, half = present.min(), present.max() / 2 - present.min() / 2
            values[:, j] = 0.0 * values[:, j] if half == 0 else (values[:, j] / 2 - low / 2) / half
    return Columns(values, columns.nominal)
