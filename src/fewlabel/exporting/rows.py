"""Rows to try an exported model on: from the fit, shuffled, with gaps and categories that the fit did not see."""

from typing import Any

import numpy as np

from fewlabel import parts
from fewlabel.exceptions import ExportError
from fewlabel.exporting.flat_trees import flat_trees
from fewlabel.parts import FittedModel
from fewlabel.parts.columns import Column
from fewlabel.parts.notations import parse_number

_N_ROWS = 400
_GAPS = 0.1
_UNSEEN = "\N{LATIN SMALL LETTER E WITH ACUTE} unseen"
_MESSAGE = "column {name!r} is read as {what}, which {kind} cannot express: {remedy}, or leave it out with --drop"


def readable(column: Column, kind: str) -> None:
    """Raise an ExportError that says what to do if a column is a date or a text, or has words among its numbers.

    Parameters
    ----------
    column : Column
    kind : str
        What is written, for the message.
    """
    if isinstance(column, parts.DateColumn):
        what = "dates"
        remedy = "put the parts that matter into columns of numbers, such as the year or the age in days"
    elif isinstance(column, parts.TextColumn):
        what = "free text"
        remedy = "put the words that matter into columns of their own"
    elif any(np.isnan(parse_number(value)) for value in column.special):
        what = f"numbers and words ({', '.join(column.special)})"
        remedy = "write these special values as numbers, such as -999"
    else:
        return
    raise ExportError(_MESSAGE.format(name=column.name, what=what, kind=kind, remedy=remedy))


def trial_rows(model: FittedModel) -> Any:
    """Rows that try what an exported model makes of numbers, categories and gaps.

    Parameters
    ----------
    model : FittedModel

    Returns
    -------
    dict of ndarray, or ndarray without an encoder
    """
    rng = np.random.default_rng(0)
    features = model.evidence.reference
    if features is None or not len(features):
        features = _landmarks(model.score)
    features = features[rng.integers(0, len(features), _N_ROWS)]
    if model.encoder is None:
        features[rng.random(features.shape) < _GAPS] = np.nan
        return features
    table = {}
    for name, group in model.encoder.groups.items():
        column = model.encoder.by_name[name]
        cells = _cells(column, features[:, group])
        # The other half stays as it was in the fit.
        half = _N_ROWS // 2
        cells[:half] = rng.permutation(cells[:half])
        cells[:half][rng.random(half) < _GAPS] = None if cells.dtype == object else np.nan
        table[name] = cells
    return table


def _landmarks(formula):
    """Rows at and around the thresholds of a formula."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(_N_ROWS, formula.n_inputs))
    for part in _walk(formula):
        if part.n_inputs != formula.n_inputs:
            continue
        if isinstance(part, (parts.GaussianKernel, parts.PolynomialKernel)):
            drawn = part.rows[rng.integers(0, len(part.rows), _N_ROWS)]
            rows = drawn + rng.normal(size=drawn.shape) * part.rows.std(axis=0)
        # Half of the values are at a threshold exactly, where a wrong comparison shows.
        for column, thresholds in _thresholds(part):
            spread = thresholds.std() if len(thresholds) > 1 else 1.0
            centers = rng.choice(thresholds, _N_ROWS)
            rows[:, column] = centers + rng.choice([0.0, 0.3 * spread], _N_ROWS) * rng.normal(size=_N_ROWS)
    return rows


def _walk(formula):
    yield formula
    for name in ("steps", "terms", "blocks"):
        for part in getattr(formula, name, []):
            yield from _walk(part)


def _thresholds(part):
    """The columns that a part compares with thresholds, and these."""
    if isinstance(part, parts.FillAndScale):
        spread = np.where(np.isfinite(part.spread), part.spread, 1.0)
        for column in range(part.n_inputs):
            yield column, part.mean[column] + spread[column] * np.array([-1.0, 1.0])
    if isinstance(part, (parts.Steps, parts.SymmetricTrees, parts.Trees)):
        trees = flat_trees(part)
        is_split = (trees.children[0] >= 0) & np.isfinite(trees.threshold)
        for column in np.unique(trees.feature[is_split]):
            yield column, trees.threshold[is_split & (trees.feature == column)]


def _cells(column, features):
    """Cells of a column that have these features, about."""
    if not isinstance(column, parts.CategoryColumn):
        cells = features[:, 0].copy()
        for flag, value in enumerate(column.special, start=1):
            cells[features[:, flag] == 1] = float(value)
        return cells
    cells = np.full(len(features), _UNSEEN, dtype=object)
    if column.missing:
        cells[features[:, column.gap_place] == 1] = None
    for category, place in column.places.items():
        # The first of two has no feature.
        cells[features[:, place] == 1 if place >= 0 else ~features.any(axis=1)] = category
    cells[::20] = _UNSEEN
    return cells
