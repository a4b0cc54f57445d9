"""Coding of numeric and categorical columns as one matrix whose products are correlations, as in PCAMIX."""

import numpy as np
import pandas as pd

from fewlabel.columns import as_numbers, choose_nominal

_MOST_LEVELS = 255
# A smaller standard deviation, relative to the largest value, is rounding error.
_TINY = 1e-10


def learn_coding(table, categorical):
    """Learn the coding of each column: a dict of plain values, or None for a constant column, which is dropped.

    Numeric columns become z-scores, categorical ones (indicator - p) / sqrt(p) for each level of share p.
    """
    nominal = choose_nominal(categorical, table)
    codings = []
    for j, is_nominal in enumerate(nominal):
        column = table.iloc[:, j]
        codings.append(_learn_levels(column) if is_nominal else _learn_scale(column))
    return codings


def code(table, codings):
    """Return the coded columns, concatenated."""
    coded = [np.empty((len(table), 0))]
    for j, coding in enumerate(codings):
        if coding is not None:
            coded.append(_code(table.iloc[:, j], coding))
    return np.hstack(coded)


def owners(codings):
    """Return the position in the table of the column that each coded column belongs to."""
    widths = [0 if coding is None else len(coding["shares"]) for coding in codings]
    return np.repeat(np.arange(len(codings)), widths)


def correlations_of_sample(Z, counts, codings):
    """Compute Z'Z / n of the table in which row i occurs ``counts[i]`` times, with its own coding.

    That coding shifts and rescales each column of `Z`, so that the moments of `Z` are sufficient.
    """
    shares = np.concatenate([coding["shares"] for coding in codings if coding is not None])
    is_numeric = np.isnan(shares)
    shares = np.where(is_numeric, 1.0, shares)
    n_rows = counts.sum()
    mean = counts @ Z / n_rows
    second_moments = Z.T @ (counts[:, None] * Z) / n_rows
    covariance = second_moments - np.outer(mean, mean)
    # The shares of the levels in the sample.
    drawn_shares = shares + np.sqrt(shares) * mean
    variance = np.where(is_numeric, covariance.diagonal(), drawn_shares / shares)
    divisor = np.sqrt(variance.clip(0.0))
    varies = divisor > _TINY
    scale = np.zeros(len(divisor))
    scale[varies] = 1.0 / divisor[varies]
    C = covariance * np.outer(scale, scale)
    # A column that is constant in the sample may join any cluster.
    C[np.diag_indices_from(C)] += ~varies * 1e-9
    return C


def _learn_scale(column):
    values = as_numbers(column)
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return None
    mean = float(present.mean())
    squares = ((present - mean) ** 2).sum()
    # Missing values count as the mean.
    spread = float(np.sqrt(squares / len(values)))
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
        scores = (as_numbers(column) - coding["mean"]) / coding["spread"]
        return np.nan_to_num(scores, nan=0.0)[:, None]
    root = np.sqrt(coding["shares"])
    # -1 if missing, or not seen in fit.
    codes = pd.Index(coding["levels"]).get_indexer(_names(column))
    return (codes[:, None] == np.arange(len(root))) / root - root


def _names(column):
    """Categories as text, which is the same in every table and can be saved."""
    return column.astype(object).where(column.notna(), None).map(str, na_action="ignore")
