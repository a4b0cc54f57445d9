"""Coding of numeric and categorical columns as one matrix whose products are correlations, as in PCAMIX."""

import numpy as np
import pandas as pd

from fewlabel.columns import as_numbers, choose_nominal

_MOST_LEVELS = 255
_TINY = 1e-10  # a smaller standard deviation, relative to the largest value, is rounding error


def learn_coding(table, categorical):
    """Learn the coding of each column: a dict of plain values, or None for a constant column, which is dropped.

    Numeric columns become z-scores, categorical ones (indicator - p) / sqrt(p) for each level of share p.
    """
    nominal = choose_nominal(categorical, table, parameter="categorical_features", by_type=_holds_numbers)
    columns = [table.iloc[:, j] for j in range(table.shape[1])]
    return [_learn_levels(column) if n else _learn_scale(column) for column, n in zip(columns, nominal)]


def code(table, codings):
    """Return the coded columns, concatenated."""
    coded = [_code(table.iloc[:, j], coding) for j, coding in enumerate(codings) if coding is not None]
    return np.hstack(coded) if coded else np.empty((len(table), 0))


def owners(codings):
    """Return the position in the table of the column that each coded column belongs to."""
    widths = [0 if coding is None else len(coding["shares"]) for coding in codings]
    return np.repeat(np.arange(len(codings)), widths)


def correlations_of_sample(Z, counts, codings):
    """Compute Z'Z / n of the table in which row i occurs ``counts[i]`` times, with its own coding.

    That coding shifts and rescales each column of `Z`, so that the moments of `Z` are sufficient.
    """
    shares = np.concatenate([coding["shares"] for coding in codings if coding is not None])
    numeric = np.isnan(shares)
    n = counts.sum()
    mean = counts @ Z / n
    second = Z.T @ (counts[:, None] * Z) / n - np.outer(mean, mean)
    share = np.where(numeric, 1.0, shares)
    drawn = share + np.sqrt(share) * mean  # for a level, its share in the sample
    divisor = np.sqrt(np.where(numeric, second.diagonal(), drawn / share).clip(0.0))
    present = divisor > _TINY
    scale = np.where(present, 1.0 / np.where(present, divisor, 1.0), 0.0)
    C = second * np.outer(scale, scale)
    C[np.diag_indices_from(C)] += ~present * 1e-9  # a column that is constant in the sample may join any cluster
    return C


def _holds_numbers(column):
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def _learn_scale(column):
    values = _numbers(column)
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return None
    mean = float(present.mean())
    spread = float(np.sqrt(((present - mean) ** 2).sum() / len(values)))  # with missing values replaced by the mean
    if spread <= _TINY * np.abs(present).max():
        return None
    return {"levels": None, "mean": mean, "spread": spread, "shares": np.array([np.nan])}


def _learn_levels(column):
    names = _names(column)
    counts = names.value_counts()
    if len(counts) > _MOST_LEVELS:
        raise ValueError(
            f"column {column.name!r} has {len(counts)} categories, more than {_MOST_LEVELS}: drop it if it is an "
            "identifier, otherwise group its categories or convert it to numbers"
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
    codes = pd.Index(coding["levels"]).get_indexer(_names(column))  # -1 if missing, or not seen in fit
    return (codes[:, None] == np.arange(len(root))) / root - root


def _names(column):
    """Categories as text, which is the same in every table and can be saved."""
    return column.astype(object).where(column.notna(), None).map(str, na_action="ignore")


def _numbers(column):
    return as_numbers(column, parameter="categorical_features")
