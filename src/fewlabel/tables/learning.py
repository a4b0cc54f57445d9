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
    TextDateColumn,
    TextNumberColumn,
)
from fewlabel.parts.cells import BOOLEAN, DATE, NUMBER, Cells
from fewlabel.parts.columns import CALENDAR, Column
from fewlabel.parts.notations import is_format, is_null, parse_date, parse_number
from fewlabel.text import short

_TEXT_COMPONENTS = 30
_MOST_CATEGORIES = 39  # a text column with more distinct values is encoded by its n-grams, as in skrub
_DAY = np.timedelta64(1, "D")


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
        hours = _has_times(cells.values)
        return LearnedColumn(DateColumn(name, hours, notation), _calendar_names(name, hours), True)
    texts = [text for text in cells.values if not is_null(text)]
    if not texts:
        return LearnedColumn(CategoryColumn(name, [], missing=False, drop_first=False), [], True)
    # In the order of skrub: a format of dates is tried before numbers.
    date_format = _date_format(cells)
    if date_format is not None:
        moments = np.array([parse_date(text, date_format) for text in texts], dtype="datetime64[us]")
        hours = _has_times(moments)
        return LearnedColumn(TextDateColumn(name, date_format, hours), _calendar_names(name, hours), True)
    numbers = np.array([parse_number(text) for text in texts])
    if not np.isnan(numbers).any():
        return LearnedColumn(TextNumberColumn(name), [name], True)
    if len(texts) <= _MOST_CATEGORIES:
        return _learn_categories(name, cells, sorted(texts))
    return _learn_text(name, cells, random_state)


def _has_times(dates: np.ndarray) -> bool:
    dates = dates[~np.isnat(dates)]
    return bool((dates != dates.astype("datetime64[D]")).any())


def _calendar_names(name: str, hours: bool) -> list[str]:
    return [f"{name}_{part}" for part in CALENDAR if hours or part != "hour"]


def _learn_categories(name: str, cells: Cells, categories: list[str]) -> LearnedColumn:
    # Texts that stand for a gap are not among the categories.
    missing = bool((cells.codes < 0).any()) or len(categories) < len(cells.values)
    drop_first = len(categories) + missing == 2
    names = [f"{name}_{short(category)}" for category in categories]
    if missing:
        names.append(f"{name}_nan")
    column = CategoryColumn(name, categories, missing=missing, drop_first=drop_first)
    return LearnedColumn(column, names[drop_first:], True)


def _learn_text(name: str, cells: Cells, random_state: Any) -> LearnedColumn:
    from skrub import StringEncoder

    # There are fewer components than rows; with more, the encoder would keep n-grams instead.
    n_components = min(_TEXT_COMPONENTS, max(2, cells.n_rows - 1))
    encoder = StringEncoder(n_components, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The matrix shape is")  # few n-grams are kept as they are
        encoder.fit(_without_nulls(cells))
    ngrams = encoder.vectorizer_.get_feature_names_out().tolist()
    frequency = encoder.vectorizer_.idf_
    components = None
    if hasattr(encoder, "tsvd_"):
        components = np.ascontiguousarray(encoder.tsvd_.components_.T, dtype=np.float32)
    n_outputs = encoder.n_components_
    column = TextColumn(name, ngrams, frequency, components, n_outputs, float(encoder.scaling_factor_))
    width = len(str(n_outputs - 1))
    return LearnedColumn(column, [f"{name}_{k:0{width}}" for k in range(n_outputs)], True)


def _without_nulls(cells: Cells) -> pd.Series:
    """Texts of the rows as skrub's encoders expect them, gaps where a text stands for one.

    They are sorted: the components of texts would else depend on the order of the rows.
    """
    texts = np.array([None if is_null(text) else text for text in cells.values] + [None], dtype=object)
    return pd.Series(texts[cells.codes], name="texts").sort_values(ignore_index=True)


def _date_format(cells: Cells) -> str | None:
    """The format in which every text is a date, guessed by skrub; None if there is none."""
    from skrub import ToDatetime

    reader = ToDatetime()
    try:
        reader.fit(_without_nulls(cells))
    except ValueError:  # a column that it rejects
        return None
    if reader.format_ is None or not is_format(reader.format_):
        return None
    # pandas, by which skrub reads them, knows some formats that Python does not.
    readable = all(parse_date(text, reader.format_) is not None for text in cells.values if not is_null(text))
    return reader.format_ if readable else None
