"""Tables of numeric and nominal columns as one array of numbers."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from fewlabel.columns import as_numbers, choose_nominal

_LEAST_ROWS = 20  # fewer rows may have distinct values by chance
_UNIQUE = 0.9  # share of distinct values from which a column may be an identifier


class Columns(NamedTuple):
    """A table as numbers.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features), float64
        Numbers unchanged, nominal values as codes, NaN for missing values.
    nominal : ndarray of shape (n_features,), bool
        Which columns are nominal.
    names : ndarray of shape (n_features,)
    """

    values: np.ndarray
    nominal: np.ndarray
    names: np.ndarray

    def take(self, rows, columns=slice(None)):
        """The same for some of the rows and columns."""
        return Columns(self.values[rows][:, columns], self.nominal[columns], self.names[columns])


def read_columns(table, categorical_features, names=None):
    """Convert a data frame to numbers.

    With "auto" all columns other than numbers and dates are nominal: text, categories, booleans.
    """
    nominal = choose_nominal(categorical_features, table)
    values = np.empty(table.shape)
    for j, is_nominal in enumerate(nominal):
        column = table.iloc[:, j]
        values[:, j] = _codes(column) if is_nominal else as_numbers(column)
    if names is None:
        names = [f"x{j}" for j in range(table.shape[1])]
    return Columns(values, nominal, np.asarray(names))


def _codes(column):
    codes = pd.factorize(column)[0].astype(np.float64)
    # pandas codes a missing value as -1.
    codes[codes < 0] = np.nan
    return codes


def identifiers(columns):
    """Columns in which (nearly) every row has a value of its own: names, keys, and numbers that count the rows."""
    refused = np.zeros(len(columns.nominal), dtype=bool)
    for j, column in enumerate(columns.values.T):
        present = column[~np.isnan(column)]
        n_distinct = len(np.unique(present))
        if present.size < _LEAST_ROWS or n_distinct < _UNIQUE * present.size:
            continue
        is_whole = (present == np.round(present)).all()
        # Whole numbers without gaps or repetitions count the rows.
        counts_rows = n_distinct == present.size and is_whole and np.ptp(present) < present.size
        refused[j] = columns.nominal[j] or counts_rows
    return refused


def scale(columns):
    """Return the values with numeric columns scaled to [0, 1] over the rows; a constant column becomes 0."""
    values = columns.values.copy()
    for j in np.flatnonzero(~columns.nominal):
        column = values[:, j]
        present = column[~np.isnan(column)]
        if present.size:
            # Halved, so that the range of the largest floats does not overflow.
            low = present.min() / 2
            half = present.max() / 2 - low
            values[:, j] = 0.0 * column if half == 0 else (column / 2 - low) / half
    return values


def coordinates(columns):
    """Numbers without gaps: scaled columns with medians for missing values, and an indicator per nominal value.

    Also gives the column that each coordinate belongs to.
    """
    blocks = []
    owner = []
    for j, column in enumerate(scale(columns).T):
        missing = np.isnan(column)
        present = column[~missing]
        if columns.nominal[j]:
            block = (column[:, None] == np.unique(present)).astype(np.float64)
        else:
            median = np.median(present) if present.size else 0.0
            block = np.where(missing, median, column)[:, None]
        blocks.append(block)
        owner += [j] * block.shape[1]
    return np.hstack(blocks), np.array(owner, dtype=np.intp)
