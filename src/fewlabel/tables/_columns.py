"""What the columns of a table are: numbers, booleans, dates or text; which are of no use, and which know too much."""

import math
import re
import warnings

import numpy as np
import pandas as pd

NUMBER, BOOLEAN, DATE, TEXT = "number", "boolean", "date", "text"
_TRUE, _FALSE = {"true", "yes", "t", "y"}, {"false", "no", "f", "n"}
_ID_NAME = re.compile(r"(^|[\W_])(id|uuid|guid|key|index|rowid|row_number)$|^unnamed: ?\d+$", re.IGNORECASE)
_LEAST_ID_ROWS = 20
_SURE = 0.01  # chance of a false alarm over all columns, below which a leak is worth a warning


def kind_of(column):
    """The kind of a column, by its type and, if that says nothing, by its values.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabel.tables._columns import kind_of
    >>> [kind_of(pd.Series(v)) for v in ([1, 2], ["yes", None], ["2024-01-31", "2024-02-01"], ["a", "b"])]
    ['number', 'boolean', 'date', 'text']
    """
    if pd.api.types.is_bool_dtype(column.dtype):
        return BOOLEAN
    if pd.api.types.is_numeric_dtype(column.dtype):
        return NUMBER
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return DATE
    present = column.dropna()
    if len(present) == 0:
        return NUMBER
    if present.map(lambda v: isinstance(v, (bool, np.bool_))).all():
        return BOOLEAN
    texts = present.astype(str).str.strip()
    if set(texts.str.lower().unique()[:5]) <= _TRUE | _FALSE:
        return BOOLEAN
    if pd.to_numeric(texts, errors="coerce").notna().all():
        return NUMBER
    return DATE if _are_dates(texts) else TEXT


def _are_dates(texts):
    sample = texts.iloc[:200]
    if not sample.str.contains(r"\d{1,4}[-/.:]\d{1,2}").all():  # what pandas would take for a date is more than we want
        return False
    return bool(_to_dates(texts).notna().all())


def _to_dates(texts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dates = pd.to_datetime(texts, errors="coerce", utc=True, format="mixed")
    return dates.dt.tz_localize(None)


def as_kind(column, kind):
    """The column as numbers (floats), dates or text, whatever type a file gave it; what does not fit becomes a gap."""
    if kind == NUMBER:
        if not pd.api.types.is_numeric_dtype(column.dtype):
            column = pd.to_numeric(column.astype(object), errors="coerce")
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.Series(np.where(np.isfinite(values), values, np.nan), index=column.index)
    if kind == BOOLEAN:
        return _as_truth(column)
    if kind == DATE:
        if pd.api.types.is_datetime64_any_dtype(column.dtype):
            return column.dt.tz_localize(None) if column.dt.tz is None else column.dt.tz_convert(None)
        return _to_dates(column.astype(object).where(column.notna()).map(lambda v: v if v is None else str(v)))
    return column.astype(object).map(str, na_action="ignore").astype(object).where(column.notna(), None)


def _as_truth(column):
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return column.astype("float64")
    texts = column.map(lambda v: str(v).strip().lower(), na_action="ignore")
    truth = texts.map(lambda t: 1.0 if t in _TRUE else 0.0 if t in _FALSE else math.nan, na_action="ignore")
    return truth.astype("float64")


def useless(name, column, kind):
    """Why a column is left out, or None: it is empty, has one value, or numbers the rows."""
    values = column.to_numpy()
    present = values[~pd.isna(values)]
    if len(present) == 0:
        return "empty"
    n_distinct = len(pd.unique(present))
    if n_distinct == 1 and len(present) == len(values):
        return "one value"
    if len(values) < _LEAST_ID_ROWS or n_distinct < len(values):
        return None
    if kind == NUMBER and (present == np.round(present)).all():
        steps = np.abs(np.diff(present))
        if _ID_NAME.search(name) or (steps == 1).all():
            return "numbers the rows"
    if kind == TEXT and (_ID_NAME.search(name) or not any(re.search(r"\s", text) for text in present)):
        return "names the rows"
    return None


def leaks(columns, codes):
    """Names of the columns that alone separate the labeled classes, and can hardly do so by chance.

    Parameters
    ----------
    columns : DataFrame
        Cleaned columns.
    codes : ndarray of int
        Class of each row, -1 where it is not known.
    """
    labeled = codes >= 0
    y = codes[labeled]
    if len(np.unique(y)) < 2:
        return []
    counts = np.bincount(y)
    counts = counts[counts > 0]
    # Chance that a column of no meaning keeps the classes apart: orders of the classes over orders of the rows.
    log_chance = math.lgamma(len(counts) + 1) + sum(math.lgamma(c + 1) for c in counts) - math.lgamma(len(y) + 1)
    if log_chance + math.log(max(columns.shape[1], 1)) > math.log(_SURE):
        return []
    return [str(name) for name in columns if _separates(columns[name].to_numpy()[labeled], y, len(counts))]


def _separates(values, y, n_classes):
    if pd.isna(values).any():
        return False
    groups = pd.factorize(values, sort=values.dtype.kind != "O")[0]
    order = np.argsort(groups, kind="stable")
    groups, y = groups[order], y[order]
    new_group, new_class = np.diff(groups) > 0, np.diff(y) != 0
    if (new_class & ~new_group).any():
        return False
    if values.dtype.kind == "O":
        return groups[-1] + 1 <= len(y) / 5
    return int(new_class.sum()) == n_classes - 1
