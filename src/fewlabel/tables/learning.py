"""What an encoder learns of a column: with skrub and scikit-learn, kept as plain texts and arrays."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fewlabel.parts import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    NumberColumn,
    SpecialNumberColumn,
    TextColumn,
)
from fewlabel.parts.cells import BOOLEAN, DATE, NUMBER, Cells
from fewlabel.parts.columns import CALENDAR, Column
from fewlabel.parts.notations import is_null
from fewlabel.text import short

_TEXT_COMPONENTS = 30
_MOST_CATEGORIES = 39  # a text column with more distinct values is encoded by its n-grams, as in skrub


class LearnedColumn(NamedTuple):
    """A column as it is kept, and the names of its features; whether these are derived from dates or texts."""

    column: Column
    features: list[str]
    is_derived: bool


def learn_column(name: str, cells: Cells, notation: str, random_state: Any) -> LearnedColumn:
    """Learn how to encode a column.

    Parameters
    ----------
    name : str
    cells : Cells
        Converted to the column's kind.
    notation : str
        How texts write its numbers or dates, "" for the usual way.
    random_state : int, RandomState instance or None
        Seed of text components.

    Returns
    -------
    LearnedColumn
    """
    special = cells.special_values()
    if special:
        names = [name, *(f"{name}_{short(text)}" for text in special)]
        return LearnedColumn(SpecialNumberColumn(name, notation, special), names, False)
    if cells.kind == NUMBER:
        return LearnedColumn(NumberColumn(name, notation), [name], False)
    if cells.kind == BOOLEAN:
        return LearnedColumn(BooleanColumn(name), [name], False)
    if cells.kind == DATE:
        dates = cells.values[~cells.missing_values()]
        hours = bool((dates != dates.astype("datetime64[D]")).any())
        names = [f"{name}_{part}" for part in CALENDAR if hours or part != "hour"]
        return LearnedColumn(DateColumn(name, hours, notation), names, True)
    texts = [text for text in cells.values if not is_null(text)]
    if not texts:
        return LearnedColumn(CategoryColumn(name, [], missing=False, drop_first=False), [], True)
    if len(texts) <= _MOST_CATEGORIES:
        return _learn_categories(name, cells, sorted(texts))
    return _learn_text(name, cells, random_state)


def _learn_categories(name: str, cells: Cells, categories: list[str]) -> LearnedColumn:
    # Texts that stand for a gap are not among the categories.
    missing = bool((cells.codes < 0).any()) or len(categories) < len(cells.values)
    drop_first = len(categories) + missing == 2
    names = [f"{name}_{short(category)}" for category in categories]
    if missing:
        names.append(f"{name}_nan")
    column = CategoryColumn(name, categories, missing=missing, drop_first=drop_first)
    return LearnedColumn(column, names[drop_first:], True)


def _learn_text(name: str, cells: Cells, random_state) -> LearnedColumn:
    from skrub import StringEncoder

    # There are fewer components than rows; with more, the encoder would keep n-grams instead.
    n_components = min(_TEXT_COMPONENTS, max(2, cells.n_rows - 1))
    encoder = StringEncoder(n_components, random_state=random_state)
    with warnings.catch_warnings():
        # Few n-grams are kept as they are.
        warnings.filterwarnings("ignore", "The matrix shape is")
        encoder.fit(_without_nulls(cells))
    ngrams = encoder.vectorizer_.get_feature_names_out().tolist()
    frequency = encoder.vectorizer_.idf_
    components = None
    if hasattr(encoder, "tsvd_"):
        components = np.ascontiguousarray(encoder.tsvd_.components_.T, dtype=np.float32)
    n_outputs = encoder.n_components_
    column = TextColumn(name, ngrams, frequency, components, n_outputs, float(encoder.scaling_factor_))
    width = len(str(n_outputs - 1))
    names = [f"{name}_{k:0{width}}" for k in range(n_outputs)]
    return LearnedColumn(column, names, True)


def _without_nulls(cells: Cells) -> pd.Series:
    """Texts of the rows as skrub's encoders expect them, gaps where a text stands for one.

    They are sorted: the components of texts would else depend on the order of the rows.
    """
    texts = np.array([None if is_null(text) else text for text in cells.values] + [None], dtype=object)
    return pd.Series(texts[cells.codes], name="texts").sort_values(ignore_index=True)
