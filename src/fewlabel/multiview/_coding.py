"""Numeric and categorical columns as one matrix whose products are correlations (the coding of PCAMIX)."""

import numpy as np
import pandas as pd
from sklearn.utils.validation import validate_data

_MOST_LEVELS = 255
_TINY = 1e-10  # a spread below this share of the largest value is rounding


def learn_coding(table, categorical):
    """How to code each column: a dict of plain values, or None for a constant column, which is left out.

    Numeric columns become z-scores; a categorical one (indicator - p) / sqrt(p) for each level of share p.
    """
    asked = _mask(categorical, table.columns)
    codings = []
    for j in range(table.shape[1]):
        column = table.iloc[:, j]
        nominal = asked[j] if asked is not None else not _holds_numbers(column)
        codings.append(_learn_levels(column) if nominal else _learn_scale(column))
    return codings


def code(table, codings):
    """The coded columns side by side."""
    coded = [_code(table.iloc[:, j], coding) for j, coding in enumerate(codings) if coding is not None]
    return np.hstack(coded) if coded else np.empty((len(table), 0))


def owners(codings):
    """Position in the table of the column that each coded column belongs to."""
    widths = [0 if coding is None else len(coding["shares"]) for coding in codings]
    return np.repeat(np.arange(len(codings)), widths)


def correlations_of_sample(Z, counts, codings):
    """Z'Z / n of the table in which row i occurs ``counts[i]`` times, coded anew.

    A new coding shifts and rescales each column, so that the moments of the old one are enough.
    """
    shares = np.concatenate([coding["shares"] for coding in codings if coding is not None])
    numeric = np.isnan(shares)
    n = counts.sum()
    mean = counts @ Z / n
    second = Z.T @ (counts[:, None] * Z) / n - np.outer(mean, mean)
    share = np.where(numeric, 1.0, shares)
    drawn = share + np.sqrt(share) * mean  # of a level, its share in the sample
    divisor = np.sqrt(np.where(numeric, second.diagonal(), drawn / share).clip(0.0))
    present = divisor > _TINY
    scale = np.where(present, 1.0 / np.where(present, divisor, 1.0), 0.0)
    C = second * np.outer(scale, scale)
    C[np.diag_indices_from(C)] += ~present * 1e-9  # a column that the sample made constant goes where it may
    return C


def read_table(estimator, X, *, reset):
    """The table as a data frame; numbers, or objects."""
    if isinstance(X, pd.DataFrame) or (hasattr(X, "to_pandas") and hasattr(X, "columns")):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        table = X if isinstance(X, pd.DataFrame) else X.to_pandas()
        if len(table) < 1 or table.shape[1] < 1:
            raise ValueError(
                f"X has {len(table)} sample(s) and {table.shape[1]} feature(s): a minimum of 1 is required"
            )
        _check_enough(len(table), reset)
        return table
    array = X if hasattr(X, "toarray") or hasattr(X, "dtype") else np.asarray(X, dtype=object)
    text = not hasattr(array, "toarray") and array.dtype.kind in "OU" and not _all_numbers(array)
    dtype = object if text else np.float64
    array = validate_data(
        estimator, X, reset=reset, dtype=dtype, ensure_all_finite="allow-nan", ensure_min_samples=2 if reset else 1
    )
    return pd.DataFrame(array).infer_objects()


def _check_enough(n_rows, reset):
    if reset and n_rows < 2:
        raise ValueError(f"X has {n_rows} sample(s), while a minimum of 2 is required: correlations need rows")


def _all_numbers(array):
    try:
        np.where(pd.isna(array), np.nan, array).astype(np.float64)
    except ValueError:  # text; other things are a TypeError, as they are for scikit-learn
        return False
    return True


def _mask(asked, names):
    if isinstance(asked, str):
        return None
    asked = np.atleast_1d(np.asarray(asked, dtype=None if len(asked) else np.int64))
    if asked.dtype == bool:
        if len(asked) != len(names):
            raise ValueError(f"categorical_features is a mask of {len(asked)} columns, X has {len(names)}")
        return asked
    positions = asked if asked.dtype.kind in "iu" else pd.Index(names).get_indexer(asked)
    unknown = [c for c, p in zip(asked.tolist(), positions) if not -1 < p < len(names)]
    if unknown:
        raise ValueError(
            f"categorical_features names columns that X does not have: {unknown}. Give names of a data frame's columns"
            f", numbers from 0 to {len(names) - 1}, or a mask"
        )
    mask = np.zeros(len(names), dtype=bool)
    mask[positions] = True
    return mask


def _holds_numbers(column):
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def _learn_scale(column):
    values = _numbers(column)
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return None
    mean = float(present.mean())
    spread = float(np.sqrt(((present - mean) ** 2).sum() / len(values)))  # with the mean in place of what is missing
    if spread <= _TINY * np.abs(present).max():
        return None
    return {"levels": None, "mean": mean, "spread": spread, "shares": np.array([np.nan])}


def _learn_levels(column):
    names = _names(column)
    counts = names.value_counts()
    if len(counts) > _MOST_LEVELS:
        raise ValueError(
            f"column {column.name!r} has {len(counts)} categories, more than {_MOST_LEVELS}: drop it if it names rows, "
            "else group its categories or turn it into numbers"
        )
    levels = sorted(counts.index)
    shares = counts.reindex(levels).to_numpy(dtype=np.float64) / len(names)
    if len(levels) == 0 or shares[0] == 1:
        return None
    return {"levels": levels, "mean": 0.0, "spread": 1.0, "shares": shares}


def _code(column, coding):
    if coding["levels"] is None:
        return np.nan_to_num((_numbers(column)[:, None] - coding["mean"]) / coding["spread"], nan=0.0)
    root = np.sqrt(coding["shares"])
    codes = pd.Index(coding["levels"]).get_indexer(_names(column))  # -1 where missing, or not met in fit
    return (codes[:, None] == np.arange(len(root))) / root - root


def _names(column):
    """Categories as text, which means the same in every table and can be saved."""
    return column.astype(object).where(column.notna(), None).map(str, na_action="ignore")


def _numbers(column):
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {column.name!r} holds values that are not numbers ({error}): name it in categorical_features, or "
            'leave categorical_features="auto"'
        ) from error
    if np.isinf(values).any():
        raise ValueError(f"column {column.name!r} contains infinity: replace it, or mark it as missing (NaN)")
    return values
