"""The space that distances are measured in: scaled columns, categories and missing values as coordinates."""

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import normalize

_TAIL = 0.05  # share of the distinct values of a column on each side that may be outliers
_FENCE = 3.0  # they are if they lie farther out than the others, in multiples of the range of the others


def learn_space(X, metric, scale, nominal):
    """Learn from the rows of a fit how to place rows; see `place`.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    metric : str
    scale : bool or "range"
    nominal : ndarray of int
        The columns that hold categories.

    Returns
    -------
    dict of arrays
        ``shift`` (None for none), ``divisor`` and ``fill`` (the median) of each column; ``gaps``, the columns with
        missing values, and ``gap``, the coordinate of a missing value on an axis of its own; ``nominal``, and their
        ``categories``.
    """
    n_columns = X.shape[1]
    columns = X
    missing = np.zeros(n_columns, dtype=bool)
    if issparse(X):
        _refuse_gaps(X)
        columns = X.tocsc()
    else:
        missing = np.isnan(X).any(axis=0)
    values = [_distinct(columns, j) for j in range(n_columns)]
    divisor = np.ones(n_columns)
    if scale:
        divisor = np.array([_spread(column, scale) for column in values])
    # The shift only matters for the cosine distance; sparse rows stay sparse without it.
    shift = None
    if scale and metric != "cosine" and not issparse(X):
        shift = np.array([column[0] if column.size else 0.0 for column in values])
    numeric = np.setdiff1d(np.arange(n_columns), nominal)
    gaps = numeric[missing[numeric]]
    # Two rows drawn at random are then as far apart, on the mean square, as a row with the value and one without it.
    gap = np.zeros(len(gaps))
    for k, j in enumerate(gaps):
        if values[j].size:
            gap[k] = np.std(values[j] / divisor[j])
    return {
        "shift": shift,
        "divisor": divisor,
        "fill": np.array([np.median(column) if column.size else 0.0 for column in values]),
        "gaps": gaps,
        "gap": gap,
        "nominal": nominal,
        "categories": [values[j] for j in nominal],
    }


def place(X, space, metric):
    """Scale the columns of dense or CSR rows, and add coordinates for missing values and categories.

    A category is an axis on which different categories are at distance 1. A missing value takes the place of the
    median, and is set apart on an axis of its own. For cosine distances the rows are normalized.
    """
    nominal = space["nominal"]
    if issparse(X):
        _refuse_gaps(X)
        if len(nominal) or len(space["gaps"]):
            return place(X.toarray(), space, metric)
        rows = csr_array(X, copy=True)
        rows.sum_duplicates()
        rows.data /= space["divisor"][rows.indices]
        return normalize(rows) if metric == "cosine" else rows
    missing = np.isnan(X)
    scaled = np.where(missing, space["fill"], X)
    if space["shift"] is not None:
        scaled = scaled - space["shift"]
    scaled = scaled / space["divisor"]
    blocks = [np.delete(scaled, nominal, axis=1), missing[:, space["gaps"]] * space["gap"]]
    # Two categories differ in two coordinates: their distance is 1.
    half = np.sqrt(0.5)
    for j, categories in zip(nominal, space["categories"], strict=True):
        blocks.append((X[:, [j]] == categories) * half)
        blocks.append(missing[:, [j]] * half)
    rows = np.hstack(blocks)
    return np.ascontiguousarray(normalize(rows) if metric == "cosine" else rows)


def _refuse_gaps(X):
    if np.isnan(X.data).any():
        raise ValueError("sparse rows hold NaN: pass dense rows, or replace the missing values")


def _distinct(X, j):
    """The distinct values of a column, ascending, without NaN: copies of rows do not count."""
    if not issparse(X):
        column = np.unique(X[:, j])
        return column[~np.isnan(column)]
    stored = X.data[X.indptr[j] : X.indptr[j + 1]]
    # The other rows hold 0.
    if len(stored) < X.shape[0]:
        stored = np.append(stored, 0.0)
    return np.unique(stored)


def _spread(values, scale):
    """Length that becomes 1: the range, unless "range" is asked for without outliers."""
    if values.size < 2:
        return 1.0
    if scale != "range":
        low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
        fence = _FENCE * (high - low)
        values = values[(values >= low - fence) & (values <= high + fence)]
    return values[-1] - values[0]
