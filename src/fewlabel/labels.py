"""The one meaning of `y`: which rows are labeled, with which class, and how errors are worded.

A row is unlabeled if it holds ``-1`` in a numeric `y`, or ``NaN`` / ``None`` / ``pd.NA`` / ``NaT`` in any
`y`. Everything else is a class: an int, a float that holds an int, a bool, or a string.
"""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd

from fewlabel.exceptions import LabelError

UNLABELED = -1


class Labels(NamedTuple):
    """Labels as numbers.

    Attributes
    ----------
    classes : ndarray
        The sorted classes that occur on labeled rows, in the type of `y`.
    codes : ndarray of int64
        Position of each row's class in `classes`, ``-1`` where the row is unlabeled.
    hidden_classes : tuple
        Declared categories of a categorical `y` that no labeled row holds.
    """

    classes: np.ndarray
    codes: np.ndarray
    hidden_classes: tuple = ()


class BinaryLabels(NamedTuple):
    """Two classes as signs: ``+1`` for ``classes[1]``, ``-1`` for ``classes[0]``, ``0`` if unlabeled."""

    classes: np.ndarray
    signs: np.ndarray


class PULabels(NamedTuple):
    """Positive-unlabeled reading: `positive` marks the labeled positives, every other row is unlabeled.

    `classes` has one element, the positive class, if unlabeled rows are marked, and two if they hold a class of
    their own.
    """

    classes: np.ndarray
    positive: np.ndarray
    hidden_classes: tuple = ()


def read(y) -> Labels:
    """Read `y`, with any number of classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        List, NumPy array, pandas, polars or Arrow column.

    Returns
    -------
    Labels

    Examples
    --------
    >>> from fewlabel.labels import read
    >>> read(["no", None, "yes", "no"]).codes
    array([ 0, -1,  1,  0])
    >>> read([0, 1, -1]).classes
    array([0, 1])
    """
    series = _as_series(y)
    hidden = ()
    if isinstance(series.dtype, pd.CategoricalDtype):
        present = set(series.cat.remove_unused_categories().cat.categories)
        hidden = tuple(c for c in series.cat.categories if c not in present and not _is_marker(c))
    labeled = ~series.isna().to_numpy()
    values = _plain_values(series[labeled])
    if values.dtype.kind in "iuf":
        marked = values == UNLABELED
        labeled[np.flatnonzero(labeled)[marked]] = False
        values = values[~marked]
    classes, found = np.unique(values, return_inverse=True)
    codes = np.full(len(series), -1, dtype=np.int64)
    codes[labeled] = found
    return Labels(classes, codes, hidden)


def read_binary(y) -> BinaryLabels:
    """Read `y` with two classes, as every binary ranker does; ``classes[1]`` is the positive class.

    Examples
    --------
    >>> from fewlabel.labels import read_binary
    >>> read_binary([1, 0, -1, 0]).signs
    array([ 1, -1,  0, -1], dtype=int8)
    """
    labels = read(y)
    _require_two_classes(labels)
    signs = np.zeros(len(labels.codes), dtype=np.int8)
    signs[labels.codes == 0] = -1
    signs[labels.codes == 1] = 1
    return BinaryLabels(labels.classes, signs)


def read_pu(y) -> PULabels:
    """Read `y` as positive-unlabeled.

    It holds one labeled class and markers, or two classes and no marker; ``classes[-1]`` is positive.

    Examples
    --------
    >>> from fewlabel.labels import read_pu
    >>> read_pu([1, 0, 0, 1]).positive
    array([ True, False, False,  True])
    >>> read_pu(["fraud", None, None]).positive
    array([ True, False, False])
    """
    labels = read(y)
    require_labels(labels)
    n_classes, unlabeled = len(labels.classes), labels.codes < 0
    if n_classes == 2 and unlabeled.any():
        raise LabelError(
            f"y holds labeled rows of both classes ({_show(labels.classes)}) and unlabeled rows: "
            "positive-unlabeled methods use labeled positives only. Use a semi-supervised method such as "
            "PNUAUCBoostClassifier, which learns from labeled negatives too, or hide the negatives first "
            "(mark them -1)"
        )
    if n_classes > 2:
        raise LabelError(
            "Only binary classification is supported. The type of the target is multiclass: positive-unlabeled "
            f"methods need one positive class, y holds {n_classes}: {_show(labels.classes)}. Recode y: 1 for the "
            "positives, -1 or 0 for the rest"
        )
    if n_classes == 1 and not unlabeled.any():
        raise LabelError(
            f"every row is labeled {_show(labels.classes)}: there is no unlabeled row to compare the "
            "positive class with; mark unlabeled rows with -1, None or NaN"
        )
    return PULabels(labels.classes, labels.codes == n_classes - 1, labels.hidden_classes)


def require_labels(labels: Labels) -> None:
    """Raise `LabelError` if no row is labeled."""
    if len(labels.classes) == 0:
        raise LabelError(
            "y holds no labeled row: every value is missing or -1, the mark of unlabeled rows. Label a few "
            "rows of each class (if -1 is one of your classes, recode it, for instance as 0)"
        )


def read_classes(y, estimator) -> Labels:
    """Labels of an estimator for two classes or more; every error names its remedy."""
    if y is None:
        raise LabelError(f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None")
    labels = read(y)
    require_labels(labels)
    if len(labels.classes) < 2:
        raise LabelError(
            f"only one labeled class ({labels.classes.tolist()[0]!r}), 1 class in all: label rows of two classes or "
            "more. If -1 is one of your classes, recode it, for instance as 0: -1 marks unlabeled rows. With "
            "positives alone use a positive-unlabeled method such as PUAdaBoostClassifier"
        )
    return labels


def _require_two_classes(labels: Labels) -> None:
    require_labels(labels)
    n_classes = len(labels.classes)
    if n_classes == 2:
        return
    if n_classes > 2:
        hint = ""
        if any(str(c) == str(UNLABELED) for c in labels.classes):
            hint = f". The text {str(UNLABELED)!r} is a class: mark unlabeled rows of a text column with None"
        raise LabelError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"y holds {n_classes} classes, {_show(labels.classes)}{hint}"
        )
    only = f"only one labeled class ({_show(labels.classes)})"
    if labels.hidden_classes:
        raise LabelError(
            f"{only}: every row of class {_show(labels.hidden_classes)} is hidden; label a few rows of it, "
            "or use a positive-unlabeled method"
        )
    numeric = labels.classes.dtype.kind in "iuf"
    if numeric and (labels.codes < 0).any():
        raise LabelError(f"{only}: if -1 is your negative class, recode it as 0; -1 marks unlabeled rows")
    raise LabelError(
        f"{only}: rows of both classes are needed. If only positives are labeled, use a positive-unlabeled method"
    )


def _as_series(y) -> pd.Series:
    """Any column as a pandas Series, its missing values marked the pandas way."""
    if y is None:
        raise LabelError("y should be a 1d array: it requires y to be passed, but the target y is None")
    library = type(y).__module__.partition(".")[0]
    if library in ("pandas", "polars", "pyarrow") and hasattr(y, "columns"):
        y = _only_column(y)
    if isinstance(y, pd.Series):
        return y.reset_index(drop=True)
    if library == "pyarrow":
        y = pd.Series(y.to_pylist(), dtype=object)
    elif library == "polars":
        y = pd.Series(y.to_list(), dtype=object)
    elif isinstance(y, pd.MultiIndex):
        raise LabelError(f"y should be a 1d array, got a MultiIndex of {y.nlevels} levels instead")
    elif not isinstance(y, (np.ndarray, pd.Index, pd.api.extensions.ExtensionArray)):
        y = np.asarray(y) if hasattr(y, "__array__") else _list_as_array(y)
    if y.ndim == 2 and y.shape[1] == 1:
        _warn_column_vector()
        y = y.ravel()
    if y.ndim != 1:
        raise LabelError(f"y should be a 1d array, got an array of shape {y.shape} instead")
    return pd.Series(y).reset_index(drop=True)


def _only_column(table):
    """The column of a pandas, polars or Arrow table that has one."""
    if table.shape[1] != 1:
        raise LabelError(f"y should be a 1d array, got a table of shape {table.shape} instead: pass one column of it")
    _warn_column_vector()
    if isinstance(table, pd.DataFrame):
        return table.iloc[:, 0]
    return table.to_series() if hasattr(table, "to_series") else table.column(0)


def _list_as_array(y) -> np.ndarray:
    # A set has no order and a dict iterates over its keys: neither is a column of labels.
    unfit = isinstance(y, (str, bytes, set, frozenset, dict))
    if unfit or not hasattr(y, "__len__") or not hasattr(y, "__iter__"):
        raise LabelError(f"y should be a 1d array, got {type(y).__name__} instead: pass one label a row")
    rows = list(y)
    for i, row in enumerate(rows):
        if np.ndim(row) > 0 and np.shape(row) != (1,):
            raise LabelError(
                f"y should be a 1d array, got nested rows instead (row {i} is {type(row).__name__} of length "
                f"{len(row)}): pass one label a row"
            )
    return np.asarray(rows, dtype=object)


def _warn_column_vector() -> None:
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
        "(n_samples,), for example using ravel().",
        DataConversionWarning,
        stacklevel=5,
    )


def _plain_values(present: pd.Series) -> np.ndarray:
    """The labeled values as ints, floats that hold ints, bools or strings; anything else is an error."""
    values = present.to_numpy()
    if len(values) == 0:  # an all-missing column may have any type, dates for instance
        return values
    kind = pd.api.types.infer_dtype(values, skipna=False) if values.dtype == object else values.dtype.kind
    if kind == "integer":
        try:
            return values.astype(np.int64)
        except OverflowError:
            raise LabelError("y holds integers of more than 64 bits: write them as text") from None
    if kind == "boolean":
        return values.astype(np.bool_)
    if kind in ("floating", "mixed-integer-float", "decimal"):
        values = values.astype(np.float64)
        kind = "f"
    if kind in ("b", "i", "u", "U", "string", "empty"):
        return values
    if kind != "f":
        raise LabelError(
            f"y holds {_KIND_NAMES.get(kind, kind)} values, e.g. {_show(values[:3])}: labels are ints, "
            "floats that hold ints, bools or strings, of one kind; mark unlabeled rows with None"
        )
    if np.isinf(values).any():
        raise LabelError("y contains infinity: classes are ints, bools or strings; unlabeled rows hold -1 or NaN")
    fractional = values[values != np.round(values)]
    if fractional.size:
        raise LabelError(
            f"Unknown label type: continuous. y holds numbers such as {_show(fractional[:1])}, which are "
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


def _is_marker(value) -> bool:
    return not isinstance(value, (str, bool, np.bool_)) and value == UNLABELED


def _show(values) -> str:
    values = list(values)
    shown = ", ".join(repr(v.item() if hasattr(v, "item") else v) for v in values[:6])
    return shown + (", ..." if len(values) > 6 else "")
