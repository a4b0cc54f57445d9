"""Columns of a table: which ones a parameter chooses, and their values as numbers."""

import numpy as np
import pandas as pd
from sklearn.utils.validation import validate_data


def choose_columns(chosen, n_columns, names=None, *, parameter):
    """Positions of the columns that a parameter chooses.

    Parameters
    ----------
    chosen : array-like
        Names, positions (negative ones count from the end), or a mask of all columns.
    n_columns : int
    names : array-like of str, default=None
        Names of the columns, if they have any.
    parameter : str
        What to call `chosen` in an error.

    Returns
    -------
    ndarray of int
        Ascending, each column once.

    Examples
    --------
    >>> from fewlabel.columns import choose_columns
    >>> choose_columns(["b", "a"], 3, ["a", "b", "c"], parameter="views")
    array([0, 1])
    >>> choose_columns([False, False, True], 3, parameter="views")
    array([2])
    """
    if isinstance(chosen, str) or np.ndim(chosen) != 1:
        raise ValueError(
            f"{parameter} is {chosen!r}: expected a list of columns, by name or position, or a mask of all columns"
        )
    # An empty list would be one of floats.
    chosen = np.asarray(chosen, dtype=None if len(chosen) else np.intp)
    if chosen.dtype == bool:
        if len(chosen) != n_columns:
            raise ValueError(f"{parameter} is a mask of {len(chosen)} columns, X has {n_columns}")
        return np.flatnonzero(chosen)
    if chosen.dtype.kind in "iu":
        valid = (chosen >= -n_columns) & (chosen < n_columns)
        positions = chosen % n_columns
    elif names is None:
        raise ValueError(f"{parameter} holds names of columns, but X has none: pass a data frame, or give positions")
    else:
        positions = pd.Index(names).get_indexer(chosen)
        valid = positions >= 0
    if not valid.all():
        known = "" if names is None else f", and named {', '.join(map(str, names[:20]))}"
        raise ValueError(
            f"{parameter} holds columns that X does not have: {chosen[~valid].tolist()}. Columns are numbered from 0 "
            f"to {n_columns - 1}{known}"
        )
    return np.unique(positions)


def choose_views(views, n_columns, names=None, *, least=1):
    """Positions of the columns of each view.

    Parameters
    ----------
    views : sequence of array-like
        Each as in `choose_columns`, and not empty.
    n_columns : int
    names : array-like of str, default=None
    least : int, default=1
        Fewest views.

    Returns
    -------
    list of ndarray
    """
    if len(views) < least:
        raise ValueError(f"views holds {len(views)} view(s): give {least} or more, each a list of columns")
    positions = []
    for v, view in enumerate(views):
        columns = choose_columns(view, n_columns, names, parameter=f"view {v}")
        if len(columns) == 0:
            raise ValueError(f"view {v} is empty: give one column or more")
        positions.append(columns)
    return positions


def choose_nominal(categorical_features, table):
    """Mask of the columns that hold categories.

    Parameters
    ----------
    categorical_features : "auto" or array-like
        As in `choose_columns`; "auto" means all columns other than numbers and dates: text, categories, booleans.
    table : DataFrame

    Returns
    -------
    ndarray of bool of shape (n_columns,)
    """
    n_columns = table.shape[1]
    if isinstance(categorical_features, str):
        return np.array([not _is_number(column) for _, column in table.items()], dtype=bool)
    mask = np.zeros(n_columns, dtype=bool)
    chosen = choose_columns(categorical_features, n_columns, table.columns, parameter="categorical_features")
    mask[chosen] = True
    return mask


def _is_number(column):
    return pd.api.types.is_any_real_numeric_dtype(column) or _is_time(column)


def _is_time(column):
    return column.dtype.kind in "mM"


def is_table(X) -> bool:
    """Whether X is a data frame (pandas, or polars and Arrow, which turn into one)."""
    return isinstance(X, pd.DataFrame) or (hasattr(X, "to_pandas") and hasattr(X, "columns"))


def as_table(estimator, X, *, reset):
    """Check a data frame or array, and give it as a data frame; an array may hold text.

    Parameters
    ----------
    estimator : estimator
        Whose `n_features_in_` and `feature_names_in_` are set, or compared.
    X : array-like or data frame of shape (n_samples, n_features)
    reset : bool
        Whether this is `fit`, which takes two rows or more.

    Returns
    -------
    DataFrame
    """
    least = 2 if reset else 1
    if is_table(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        table = X if isinstance(X, pd.DataFrame) else X.to_pandas()
        if len(table) < least or table.shape[1] < 1:
            raise ValueError(
                f"X has {len(table)} sample(s) and {table.shape[1]} feature(s), while a minimum of {least} and 1 is "
                "required"
            )
        return table
    dtype = np.float64
    if not hasattr(X, "toarray"):
        values = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
        if values.dtype.kind in "OU" and not _all_numbers(values):
            dtype = object
    array = validate_data(
        estimator, X, reset=reset, dtype=dtype, ensure_all_finite="allow-nan", ensure_min_samples=least
    )
    return pd.DataFrame(array).infer_objects()


def as_numbers(column):
    """The numbers of a column, or those of its dates, NaN where missing; an error if it holds anything else.

    Parameters
    ----------
    column : Series

    Returns
    -------
    ndarray of float64
    """
    if _is_time(column):
        numbers = column.astype("int64").to_numpy(dtype=np.float64)
        numbers[column.isna().to_numpy()] = np.nan
        return numbers
    try:
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {column.name!r} holds values that are not numbers ({error}): name it in categorical_features, or "
            'leave categorical_features="auto"'
        ) from error
    if np.isinf(numbers).any():
        raise ValueError(f"column {column.name!r} contains infinity: replace it, or mark it as missing (NaN)")
    return numbers


def _all_numbers(array):
    try:
        np.where(pd.isna(array), np.nan, array).astype(np.float64)
    # Text; other things are a TypeError, as they are for scikit-learn.
    except ValueError:
        return False
    return True
