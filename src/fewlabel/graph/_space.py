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
    scale : bool or {"robust", "range"}
        True means "robust".
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
    if issparse(X):
        _refuse_gaps(X)
    columns = X.tocsc() if issparse(X) else X
    values = [_distinct(columns, j) for j in range(n_columns)]
    low = np.array([v[0] if v.size else 0.0 for v in values])
    divisor = np.ones(n_columns)
    if scale:
        divisor = np.array([_spread(v, "robust" if scale is True else scale) for v in values])
    fill = np.array([np.median(v) if v.size else 0.0 for v in values])
    # The shift only matters for the cosine distance; sparse rows stay sparse without it.
    shift = None if issparse(X) or metric == "cosine" or not scale else low
    numeric = np.setdiff1d(np.arange(n_columns), nominal)
    missing = np.zeros(n_columns, dtype=bool) if issparse(X) else np.isnan(X).any(axis=0)
    gaps = numeric[missing[numeric]]
    # Two rows drawn at random are then as far apart, on the mean square, as a row with the value and one without it.
    gap = np.array([np.std(values[j] / divisor[j]) if values[j].size else 0.0 for j in gaps])
    return {
        "shift": shift,
        "divisor": divisor,
        "fill": fill,
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
    divisor = space["divisor"]
    if issparse(X):
        _refuse_gaps(X)
        if len(space["nominal"]) or len(space["gaps"]):
            return place(X.toarray(), space, metric)
        X = csr_array(X, copy=True)
        X.sum_duplicates()
        X.data /= divisor[X.indices]
        return normalize(X) if metric == "cosine" else X
    missing = np.isnan(X)
    scaled = np.where(missing, space["fill"], X)
    scaled = (scaled if space["shift"] is None else scaled - space["shift"]) / divisor
    blocks = [scaled, missing[:, space["gaps"]] * space["gap"]]
    if len(space["nominal"]):
        half = 0.5 if metric == "manhattan" else np.sqrt(0.5)
        blocks[0] = np.delete(scaled, space["nominal"], axis=1)
        for j, categories in zip(space["nominal"], space["categories"], strict=True):
            blocks.append((X[:, [j]] == categories) * half)
            blocks.append(missing[:, [j]] * half)
    rows = np.hstack(blocks) if sum(block.shape[1] for block in blocks[1:]) else scaled
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
    return np.unique(np.append(stored, 0.0) if len(stored) < X.shape[0] else stored)


def _spread(values, scale):
    """Length that becomes 1: the range, for "robust" that of the values which are not outliers."""
    if values.size < 2:
        return 1.0
    if scale == "robust":
        low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
        fence = _FENCE * (high - low)
        values = values[(values >= low - fence) & (values <= high + fence)]
    return values[-1] - values[0]
