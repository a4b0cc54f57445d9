"""Columns to numbers: what a fitted encoder keeps of each column, and how it turns cells into features."""

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any

import numpy as np

from fewlabel.exceptions import TableError
from fewlabel.parts.cells import BOOLEAN, DATE, NUMBER, TEXT, Cells, columns_of, read_as
from fewlabel.parts.notations import (
    CLOCK,
    DATE_NOTATIONS,
    NAMED_MONTH,
    NUMBER_NOTATIONS,
    is_null,
)
from fewlabel.parts.part import Encoder, Finite, Floats, Json, Part, SingleTable, Texts
from fewlabel.text import did_you_mean, listed, short

Memo = dict[str, dict[str, np.ndarray]]
_MANY = 8  # names that an error lists
_MOST_KEPT = 50_000  # texts of a column whose features a memo keeps
_LONGEST_KEPT = 1000  # characters of such a text
_GRAMS_AT_ONCE = 2**17
_ROWS_AT_ONCE = 2**11
_NONE: Sequence[str] = ()
OTHER = "other"  # categories that the fit did not see
MISSING = "missing"
CALENDAR = ("year", "month", "day", "hour", "total_seconds")


class Column(Part):
    """A column of the table, and what becomes of its values.

    A subclass has `read_as` (the kind to which cells are converted first), `notation`, `n_outputs` and `encode`.

    Attributes
    ----------
    name : str
        The column's name in the table.
    """

    name: str
    read_as = TEXT
    notation = ""
    special = _NONE

    def encode(self, values: Any) -> np.ndarray:
        """Features of values, one row each: of texts, or of an array with NaN or NaT for what is missing."""
        raise NotImplementedError

    def gap(self) -> np.ndarray:
        """Features of a missing value."""
        return np.full(self.n_outputs, np.nan)

    def known_values(self) -> dict[str, np.ndarray]:
        """Features of the values that have some of their own, such as "= yes", and of `OTHER` and `MISSING`."""
        return {}

    def features(self, cells: Cells, memo: dict[str, np.ndarray]) -> np.ndarray:
        """Features of the values of converted cells; with codes, the last row is that of a gap."""
        encoded = self.encode(cells.values)
        return encoded if cells.codes is None else np.vstack([encoded, self.gap()])


class NumberColumn(Column):
    """Numbers as they are.

    Attributes
    ----------
    notation : str
        How texts write them; "" for 1234.5.
    """

    kind = "number-column"
    read_as = NUMBER
    n_outputs = 1
    notation: str = ""

    def check(self):
        self.require(not self.notation or self.notation in NUMBER_NOTATIONS, f"notation {short(self.notation)!r}")

    def encode(self, values):
        return values[:, None]

    def known_values(self):
        flags = np.eye(self.n_outputs)[1:]
        return {f"= {text}": self.gap() + flag for text, flag in zip(self.special, flags)}


class SpecialNumberColumn(NumberColumn):
    """Numbers, and one feature per special value, which is no number: it is a gap among them, and 1 in its feature.

    Attributes
    ----------
    special : list of str
        The special values, such as "-999" or "unknown".
    """

    kind = "special-number-column"
    special: Texts = field(default_factory=list)

    def check(self):
        super().check()
        self.require(self.special and len(set(self.special)) == len(self.special), "special values are not distinct")

    @property
    def n_outputs(self):
        return 1 + len(self.special)

    def gap(self):
        return np.append(np.nan, np.zeros(len(self.special)))

    def features(self, cells, memo):
        flags = cells.special[:, None] == np.array(self.special, dtype=object)
        encoded = np.column_stack([cells.values, flags])
        return encoded if cells.codes is None else np.vstack([encoded, self.gap()])


class BooleanColumn(Column):
    """1 for yes, 0 for no."""

    kind = "boolean-column"
    read_as = BOOLEAN
    n_outputs = 1

    def encode(self, values):
        return values[:, None]

    def known_values(self):
        return {"= no": np.zeros(1), "= yes": np.ones(1), MISSING: self.gap()}


class DateColumn(Column):
    """Year, month and day of a date, the hour if there are times, and the seconds since 1970, in single precision.

    Attributes
    ----------
    hours : bool
        Whether the hour is a feature.
    notation : str
        How texts write the dates; "" for 2024-12-31.
    """

    kind = "date-column"
    read_as = DATE
    hours: bool
    notation: str = ""

    def check(self):
        known = (*DATE_NOTATIONS, NAMED_MONTH, CLOCK, "")
        self.require(self.notation in known, f"notation {short(self.notation)!r}")

    @property
    def n_outputs(self):
        return 4 + self.hours

    def encode(self, values):
        years = values.astype("datetime64[Y]")
        months = values.astype("datetime64[M]")
        days = values.astype("datetime64[D]")
        parts = [years.astype(np.int64) + 1970, months.astype(np.int64) % 12 + 1, (days - months).astype(np.int64) + 1]
        if self.hours:
            parts.append((values - days).astype("timedelta64[h]").astype(np.int64))
        parts.append(values.astype(np.int64) / 1e6)
        features = np.column_stack(parts).astype(np.float32).astype(np.float64)
        features[np.isnat(values)] = np.nan
        return features


class CategoryColumn(Column):
    """One feature per category, 1 where it is the value; a category that is not among them has zeros.

    Attributes
    ----------
    categories : list of str
        Sorted.
    missing : bool
        Whether gaps are a category, the last one.
    drop_first : bool
        Whether the first category has no feature, as one feature tells two categories apart.
    """

    kind = "category-column"
    categories: Texts
    missing: bool
    drop_first: bool

    def check(self):
        self.require(_is_sorted(self.categories), "categories are not sorted")
        n_categories = len(self.categories) + self.missing
        self.require(n_categories == 2 or not self.drop_first, "a category is left out, but there are not two")

    @property
    def n_outputs(self):
        return len(self.categories) + self.missing - self.drop_first

    @functools.cached_property
    def places(self) -> dict[str, int]:
        """The feature of each category; -1 for the one without."""
        return {category: place - self.drop_first for place, category in enumerate(self.categories)}

    @property
    def gap_place(self) -> int:
        """The feature of gaps, the last one; -1 if they have none."""
        return self.n_outputs - 1 if self.missing else -1

    def encode(self, values):
        features = np.zeros((len(values), self.n_outputs))
        for row, text in enumerate(values):
            place = self.gap_place if is_null(text) else self.places.get(text, -1)
            if place >= 0:
                features[row, place] = 1.0
        return features

    def gap(self):
        return self.encode([""])[0]

    def known_values(self):
        encoded = self.encode(self.categories)
        values = {f"= {name}": features for name, features in zip(self.categories, encoded)}
        return {**values, OTHER: np.zeros(self.n_outputs), MISSING: self.gap()}


class TextColumn(Column):
    r"""Leading components of the n-grams of a text.

    The character n-grams of 3 and 4 characters inside of word boundaries are counted, weighted by their inverse
    document frequencies, divided by their norm, and multiplied by the components; all as in skrub's `StringEncoder`,
    in its single precision.

    Attributes
    ----------
    ngrams : list of str
        Sorted.
    frequency : ndarray of shape (n_ngrams,)
        Inverse document frequency of each.
    components : ndarray of float32 of shape (n_ngrams, n_outputs) or None
        None if the features are the first `n_outputs` n-grams themselves.
    n_outputs : int
    scale : float
        Features are divided by it.
    """

    kind = "text-column"
    ngrams: Annotated[Texts, "n_ngrams"]
    frequency: Annotated[Floats, "n_ngrams", Finite]
    components: Annotated[SingleTable, "n_ngrams n_outputs", Finite] | None
    n_outputs: int
    scale: float

    def check(self):
        self.require(_is_sorted(self.ngrams), "n-grams are not sorted")
        self.require(math.isfinite(self.scale) and self.scale > 0, "the scale is not positive")
        if self.components is None:
            self.require(0 < self.n_outputs <= self.n_ngrams, "there are more features than n-grams")

    @functools.cached_property
    def _places(self):
        return {gram: place for place, gram in enumerate(self.ngrams)}

    def features(self, cells, memo):
        new = [text for text in cells.values if text not in memo]
        found = dict(zip(new, self.encode(new)))
        encoded = [found[text] if text in found else memo[text] for text in cells.values]
        if len(memo) + len(found) <= _MOST_KEPT:
            memo.update((text, row) for text, row in found.items() if len(text) <= _LONGEST_KEPT)
        return np.vstack([*encoded, self.gap()])

    def gap(self):
        return np.zeros(self.n_outputs)

    def encode(self, values):
        features = np.zeros((len(values), self.n_outputs), dtype=np.float32)
        places: list[int] = []
        rows: list[int] = []
        first = 0
        for row, text in enumerate(values):
            found = [] if is_null(text) else [self._places[gram] for gram in _ngrams(text) if gram in self._places]
            places += found
            rows += [row - first] * len(found)
            if len(places) > _GRAMS_AT_ONCE or row == len(values) - 1:
                self._project(places, rows, features[first : row + 1])
                places = []
                rows = []
                first = row + 1
        features /= np.float32(self.scale)
        return features.astype(np.float64)

    def _project(self, places, rows, features):
        """Write the features of some texts, by the places of their n-grams and the row of each."""
        # Sums below run in the order of the n-grams, as those of the sparse products that the components come from.
        cells, counts = np.unique(np.array(rows, dtype=np.int64) * self.n_ngrams + places, return_counts=True)
        if not len(cells):
            return
        rows, places = np.divmod(cells, self.n_ngrams)
        weights = counts * self.frequency[places]
        norms = np.sqrt(np.bincount(rows, weights * weights))
        weights = (weights / norms[rows]).astype(np.float32)
        if self.components is None:
            shown = places < self.n_outputs
            features[rows[shown], places[shown]] = weights[shown]
            return
        products = weights[:, None] * self.components[places]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        for row, start, stop in zip(rows[starts], starts, [*starts[1:], len(rows)]):
            features[row] = products[start:stop].sum(axis=0)


def _ngrams(text: str) -> Iterator[str]:
    """Character n-grams of 3 and 4 characters inside of word boundaries, as scikit-learn's analyzer "char_wb"."""
    for word in text.lower().split():
        padded = f" {word} "
        length = len(padded)
        for start in range(max(length - 2, 1)):
            yield padded[start : start + 3]
        # Shorter words are counted once.
        if length > 3:
            for start in range(length - 3):
                yield padded[start : start + 4]


class Columns(Encoder):
    """The columns of a table, encoded one after the other.

    Attributes
    ----------
    columns : list of Column
        In the order of the features.
    features : list of str
        Names of the features.
    names : list of str
        The columns that the fit was given, those that are not used included.
    named : bool
        Whether they have names of their own, rather than x0, x1 and so on.
    dropped : dict
        Columns that are not used, each with the reason.
    profile : dict
        What each column looked like, see `fewlabel.tables.compare`.
    """

    kind = "columns"
    columns: list[Column]
    features: Texts
    names: Texts
    named: bool
    dropped: Json
    profile: Json

    def check(self):
        used = [column.name for column in self.columns]
        self.require(len(set(used)) == len(used), "a column is encoded twice")
        self.require(set(used) <= set(self.names), "a column is not among those of the fit")
        self.require(len(self.features) == self.n_outputs, "there is not one name per feature")
        self.require(isinstance(self.dropped, dict), "dropped is not a JSON object")
        self.require(isinstance(self.profile, dict), "profile is not a JSON object")

    @property
    def n_outputs(self):
        return sum(column.n_outputs for column in self.columns)

    @functools.cached_property
    def by_name(self) -> dict[str, Column]:
        """The columns in use, in the order of the table."""
        columns = {column.name: column for column in self.columns}
        return {name: columns[name] for name in self.names if name in columns}

    @property
    def kinds(self) -> dict[str, str]:
        """Kind of each column in use."""
        return {name: column.read_as for name, column in self.by_name.items()}

    @property
    def notations(self) -> dict[str, str]:
        """How texts write numbers or dates, where it is not the usual way."""
        return {name: column.notation for name, column in self.by_name.items() if column.notation}

    @property
    def sources(self) -> list[str]:
        """The column that each feature comes from."""
        return [column.name for column in self.columns for _ in range(column.n_outputs)]

    @property
    def groups(self) -> dict[str, np.ndarray]:
        """The features of each column in use."""
        sources = np.array(self.sources, dtype=object)
        return {name: np.flatnonzero(sources == name) for name in self.by_name}

    def plain_numbers(self) -> set[str]:
        """The columns to read as floats from a text file; the others are text, whatever they look like there."""
        return {name for name, kind in self.kinds.items() if kind == NUMBER and name not in self.notations}

    def require_columns(self, names: Any) -> None:
        """Raise a `TableError` that suggests names if a table with these columns lacks columns of the fit."""
        missing = [name for name in self.by_name if name not in names]
        if missing:
            raise TableError(_missing_text(missing, [name for name in names if name not in self.by_name]))

    def read(self, table: Any) -> dict[str, Cells]:
        """Convert the columns in use to their kinds, the first half of a call.

        Parameters
        ----------
        table : DataFrame, Arrow table, mapping of names to columns, or ndarray

        Returns
        -------
        dict of str to Cells
            With gaps where a value does not fit the kind or the notation of its column.
        """
        columns = columns_of(table)
        if not self.named and len(columns) == len(self.names):
            columns = dict(zip(self.names, columns.values()))  # by position
        self.require_columns(columns)
        cells = {}
        for name, column in self.by_name.items():
            cells[name] = read_as(columns[name], column.read_as, column.notation, column.special)
        return cells

    def encode(self, cells: Mapping[str, Cells], memo: Memo | None = None) -> np.ndarray:
        """Encode converted columns, the second half of a call.

        Parameters
        ----------
        cells : dict of str to Cells
            What `read` returned.
        memo : dict, default=None
            Empty at first, then passed again with further rows: texts in it are not encoded again. Threads may share
            it.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        memo = {} if memo is None else memo
        n_rows = next(iter(cells.values())).n_rows
        features = np.empty((n_rows, self.n_outputs))
        values = [column.features(cells[column.name], memo.setdefault(column.name, {})) for column in self.columns]
        ends = np.cumsum([column.n_outputs for column in self.columns])
        # Some rows at a time, which stay in the cache while their columns are written.
        for first in range(0, n_rows, _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            for column, of_column, end in zip(self.columns, values, ends):
                codes = cells[column.name].codes
                features[rows, end - column.n_outputs : end] = of_column[rows if codes is None else codes[rows]]
        return features

    def __call__(self, table: Any) -> np.ndarray:
        return self.encode(self.read(table))


def _is_sorted(texts):
    return all(first < second for first, second in itertools.pairwise(texts))


def _missing_text(missing: list[str], present: list[str]) -> str:
    shown = []
    for name in missing:
        near = did_you_mean(name, present)
        shown.append(f"{short(name)!r}" + (f" (is it {short(near)!r}?)" if near else ""))
    return f"the table lacks {len(missing)} column(s) of the model: {listed(shown, _MANY)}"
