"""A label column of any library as a pandas Series of ints, whole floats, bools or strings."""

import warnings

import numpy as np
import pandas as pd

from fewlabel.exceptions import LabelError
from fewlabel.text import listed
from fewlabel.warning_filters import caller_level


def as_series(y):
    """Any column as a pandas Series, its missing values marked the pandas way."""
    if y is None:
        raise LabelError("y should be a 1d array: it requires y to be passed, but the target y is None")
    library = type(y).__module__.partition(".")[0]
    if library in ("pandas", "polars", "pyarrow") and hasattr(y, "columns"):
        y = _only_column(y)
    if isinstance(y, pd.Series):
        return y.reset_index(drop=True)
    values = _as_array(y, library)
    if values.ndim == 2 and values.shape[1] == 1:
        _warn_column_vector()
        values = values.ravel()
    if values.ndim != 1:
        raise LabelError(f"y should be a 1d array, got an array of shape {values.shape} instead")
    return pd.Series(values).reset_index(drop=True)


def _as_array(y, library):
    if library == "pyarrow":
        return pd.Series(y.to_pylist(), dtype=object)
    if library == "polars":
        return pd.Series(y.to_list(), dtype=object)
    if isinstance(y, pd.MultiIndex):
        raise LabelError(f"y should be a 1d array, got a MultiIndex of {y.nlevels} levels instead")
    if isinstance(y, (np.ndarray, pd.Index, pd.api.extensions.ExtensionArray)):
        return y
    return np.asarray(y) if hasattr(y, "__array__") else _list_as_array(y)


def _only_column(table):
    """The column of a pandas, polars or Arrow table that has one."""
    if table.shape[1] != 1:
        raise LabelError(f"y should be a 1d array, got a table of shape {table.shape} instead: pass one column of it")
    _warn_column_vector()
    if isinstance(table, pd.DataFrame):
        return table.iloc[:, 0]
    return table.to_series() if hasattr(table, "to_series") else table.column(0)


def _list_as_array(y):
    # A set has no order and a dict iterates over its keys: neither is a column of labels.
    unfit = isinstance(y, (str, bytes, set, frozenset, dict))
    if unfit or not hasattr(y, "__len__") or not hasattr(y, "__iter__"):
        raise LabelError(f"y should be a 1d array, got {type(y).__name__} instead: pass one label per row")
    rows = list(y)
    for i, row in enumerate(rows):
        if np.ndim(row) > 0 and np.shape(row) != (1,):
            raise LabelError(
                f"y should be a 1d array, got nested rows instead (row {i} is {type(row).__name__} of length "
                f"{len(row)}): pass one label per row"
            )
    return np.asarray(rows, dtype=object)


def _warn_column_vector():
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
        "(n_samples,), for example using ravel().",
        DataConversionWarning,
        stacklevel=caller_level(),
    )


def plain_values(present):
    """The labeled values as ints, floats that hold ints, bools or strings; anything else is an error."""
    values = present.to_numpy()
    # An all-missing column may have any type, dates for instance.
    if len(values) == 0:
        return values
    kind = pd.api.types.infer_dtype(values, skipna=False) if values.dtype == object else values.dtype.kind
    if kind == "integer":
        try:
            return values.astype(np.int64)
        except OverflowError:
            raise LabelError("y holds integers of more than 64 bits: write them as text") from None
    if kind == "boolean":
        return values.astype(np.bool_)
    # Gaps make floats of whole numbers: the values are checked below.
    if kind in ("floating", "mixed-integer-float", "decimal"):
        values = values.astype(np.float64)
        kind = "f"
    if kind in ("b", "i", "u", "U", "string", "empty"):
        return values
    if kind != "f":
        # In scikit-learn's words, which its checks look for.
        unsupported = "Complex data not supported: " if kind in ("c", "complex") else ""
        raise LabelError(
            f"{unsupported}y holds {_KIND_NAMES.get(kind, kind)} values, e.g. {show(values[:3])}: labels are ints, "
            "floats that hold ints, bools or strings, of one kind; mark unlabeled rows with None"
        )
    if np.isinf(values).any():
        raise LabelError("y contains infinity: classes are ints, bools or strings; unlabeled rows hold -1 or NaN")
    fractional = values[values != np.round(values)]
    if fractional.size:
        raise LabelError(
            f"Unknown label type: continuous. y holds numbers such as {show(fractional[:1])}, which are "
            "not classes: bin them, or compare them with a threshold, first"
        )
    return values


_KIND_NAMES = {
    "M": "date",
    "m": "duration",
    "c": "complex",
    "mixed-integer": "mixed text and number",
    "S": "bytes",
}


def show(values):
    """The first six values, for a message."""
    return listed(repr(value.item() if hasattr(value, "item") else value) for value in values)
