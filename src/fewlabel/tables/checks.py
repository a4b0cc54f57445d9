"""What to know about a table before a fit: labels, columns, repeated rows, suspected leaks and groups."""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_consistent_length

from fewlabel.labels import LabelColumn, read_column, read_positive
from fewlabel.parts.cells import read_cells
from fewlabel.population import describe_selection
from fewlabel.tables.encoder import as_frame, learn_columns
from fewlabel.tables.kinds import ID_NAME, are_codes, read_columns
from fewlabel.tables.leaks import (
    FILLED_IF_LABELED,
    TOO_FEW_FOR_LEAKS,
    enough_for_leaks,
    filled_if_labeled,
    find_leaks,
    suspected_leaks,
)
from fewlabel.text import short
from fewlabel.types import PlainDict

_LEAST_GROUPS, _MOST_PER_GROUP = 20, 50
_ENTITY = re.compile(
    r"(patient|customer|client|user|person|subject|household|account|device|machine|session|member|employee|student"
    r"|company|merchant|card|contract|visitor|family)s?([\W_]*(id|no|nr|number|code|key|name))?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TableCheck:
    """How a table is read, and what is suspicious about it.

    Attributes
    ----------
    labels : LabelColumn
        The labels and how they were read.
    n_rows : int
    columns : list of dict
        Name, kind, share of missing values, number of distinct values and remark of each column. Columns that a fit
        drops have no kind.
    duplicate_rows : int
        Rows that repeat an earlier one in every column in use.
    conflicting_rows : int
        Labeled rows that have the same values as a row of another class.
    notes : list of str
        What a person should know before a fit.
    selection : str
        Whether labels look like a random sample of the rows; empty if that cannot be said.
    """

    labels: LabelColumn
    n_rows: int
    columns: list[PlainDict]
    duplicate_rows: int
    conflicting_rows: int
    notes: list[str]
    selection: str = ""

    def to_dict(self) -> PlainDict:
        """The findings as a dict that can be written as JSON."""
        read = self.labels
        return {
            "rows": self.n_rows,
            "classes": {str(name): n for name, n in read.counts.items()},
            "positive": None if read.positive is None else str(read.positive),
            "why": read.why,
            "unlabeled": read.unlabeled,
            "columns": self.columns,
            "duplicate_rows": self.duplicate_rows,
            "conflicting_rows": self.conflicting_rows,
            "notes": self.notes,
            "selection": self.selection,
        }

    def __str__(self) -> str:
        lines = [self.labels.describe()]
        if self.selection:
            lines.append(self.selection)
        for column in self.columns:
            text = f"{column['name']}: {column['kind'] or 'dropped'}"
            if column["missing"]:
                text += f", {column['missing']:.0%} missing"
            if column["remark"]:
                text += f" ({column['remark']})"
            lines.append(text)
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)


def check(
    X: Any,
    y: Any,
    *,
    positive: Any = None,
    unlabeled: Any = None,
    negatives_unknown: bool = False,
    merge_spellings: bool | None = None,
    dayfirst: bool | None = None,
) -> TableCheck:
    """Show how a table is read, and what is suspicious about it, before a fit.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_columns)
    y : array-like of shape (n_samples,) or LabelColumn
        The label column, read as strictly as that of a file: it stops where two readings are possible.
    positive, unlabeled, negatives_unknown, merge_spellings
        As in :func:`fewlabel.labels.read_column`.
    dayfirst : bool, default=None
        As in :func:`fewlabel.tables.read_columns`.

    Returns
    -------
    TableCheck

    Raises
    ------
    LabelError
        If the labels can be read in two ways; the message names both, and how to choose.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import fewlabel
    >>> rows = pd.DataFrame({"age": np.arange(40) % 13, "refund": [np.nan] * 30 + [5.0] * 10})
    >>> found = fewlabel.check(rows, [None] * 30 + ["fraud"] * 10)
    >>> print(found.labels.describe())
    labels: 'fraud' (10 rows); unlabeled: 30 rows (empty cell); positive: 'fraud', the only labeled class
    >>> print(found.notes[0])
    column 'refund' is filled for labeled rows only: if it is filled in after the label is known, leave it out
    """
    X = as_frame(X)
    X = X.set_axis(X.columns.map(str), axis=1)
    if not isinstance(y, LabelColumn):
        y = read_column(
            y,
            positive=positive,
            unlabeled=unlabeled,
            negatives_unknown=negatives_unknown,
            merge_spellings=merge_spellings,
        )
    codes = y.labels.codes
    check_consistent_length(X, codes)
    used = read_columns(X, dayfirst=dayfirst)
    remarks: dict[str, list[str]] = {name: [] for name in X.columns}
    for name, reason in used.dropped.items():
        remarks[name].append(f"dropped: {reason}")
    for name, notation in used.notations.items():
        remarks[name].append(f"written as {notation}")
    # As a fit encodes them: both say the same of a table.
    encoder = learn_columns(used, list(X.columns), named=True, random_state=0)
    features = encoder.encode(used.cells)
    notes = _column_notes(X, features, encoder.sources, y, remarks)
    rows = repeated_rows(features, codes)
    columns = []
    for name in X.columns:
        cells = read_cells(X[name]).distinct()
        missing = float(np.mean(cells.codes < 0))
        about = {"kind": used.kinds.get(name, ""), "missing": missing, "distinct": len(cells.values)}
        columns.append({"name": name, **about, "remark": "; ".join(remarks[name])})
    notes = [*y.notes, *notes, *rows.notes]
    selection = _selection(features, encoder.features, codes)
    return TableCheck(y, len(X), columns, rows.repeated, rows.conflicting, notes, selection)


def _selection(features: np.ndarray, names: list[str], codes: np.ndarray) -> str:
    """Whether labels look like a random sample, as a fit would say it."""
    if len(np.unique(codes[codes >= 0])) < 2 or (codes >= 0).all():
        return ""
    positive = codes == 1 if codes.max() == 1 else None
    return describe_selection(features, codes >= 0, names, positive=positive).text


class Suspicion(NamedTuple):
    """A column, what is suspicious about it in a few words, and the whole note."""

    column: str
    remark: str
    note: str


def suspicions(X: pd.DataFrame, codes: np.ndarray) -> list[Suspicion]:
    """What the raw table shows: columns filled for labeled rows only, and names of groups.

    Parameters
    ----------
    X : DataFrame of shape (n_samples, n_columns)
    codes : ndarray of int
        Class of each row, ``-1`` if unlabeled.

    Returns
    -------
    list of Suspicion
    """
    found = [_leak(name, FILLED_IF_LABELED) for name in filled_if_labeled(X, codes >= 0)]
    for name, size in _groups(X).items():
        note = (
            f"column {short(name)!r} repeats, {size:.1f} rows per value: if its values name the same patient, customer "
            "or device, scores are too high for new ones, because rows of one are on both sides of a split: give the "
            "column as groups (--groups)"
        )
        found.append(Suspicion(name, "repeats like a group", note))
    return found


def _leak(name: str, reason: str) -> Suspicion:
    note = f"column {short(name)!r} {reason}: if it is filled in after the label is known, leave it out"
    return Suspicion(name, reason.removeprefix("alone ").removeprefix("is "), note)


class RepeatedRows(NamedTuple):
    """Rows that repeat an earlier one, and labeled rows whose values also occur with another class."""

    repeated: int
    conflicting: int

    @property
    def notes(self) -> list[str]:
        """What a person should know."""
        notes = []
        if self.repeated:
            notes.append(f"{self.repeated} rows repeat an earlier one")
        if self.conflicting:
            notes.append(
                f"{self.conflicting} labeled rows have the values of a row of another class: are some labels wrong?"
            )
        return notes


def repeated_rows(features: np.ndarray, codes: np.ndarray) -> RepeatedRows:
    """Count rows that repeat others.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
        The columns in use, as numbers.
    codes : ndarray of int
        Class of each row, ``-1`` if unlabeled.

    Returns
    -------
    RepeatedRows

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.tables import repeated_rows
    >>> repeated_rows(np.array([[30.0], [40.0], [30.0]]), np.array([0, 1, 1])).notes[0]
    '1 rows repeat an earlier one'
    """
    hashes = pd.Series(pd.util.hash_pandas_object(pd.DataFrame(features), index=False).to_numpy())
    labeled = pd.Series(codes[codes >= 0]).groupby(hashes[codes >= 0].to_numpy())
    n_classes = labeled.transform("nunique")
    return RepeatedRows(int(hashes.duplicated().sum()), int((n_classes > 1).sum()))


def _column_notes(
    X: pd.DataFrame, features: np.ndarray, sources: list[str], y: LabelColumn, remarks: dict[str, list[str]]
) -> list[str]:
    """Notes on the columns; a short form of each goes to `remarks`."""
    codes = y.labels.codes
    if (codes >= 0).any():
        codes = read_positive(y.labels, y.positive).codes
    found = suspicions(X, codes)
    for name, reason in find_leaks(X, features, codes, sources):
        leak = _leak(name, reason)
        if leak not in found:
            found.append(leak)
    suspected = {suspicion.column for suspicion in found}
    # One class against rows without any; nothing if there are no such rows.
    is_labeled = np.where(codes >= 0, 1, -1)
    for name, reason in suspected_leaks(features, is_labeled, sources).items():
        if name not in suspected:
            note = f"column {short(name)!r} {reason}: these differ, or it is filled in after the label is known"
            found.append(Suspicion(name, reason.removeprefix("alone "), note))
    for suspicion in found:
        remarks[suspicion.column].append(suspicion.remark)
    notes = [suspicion.note for suspicion in found]
    if (codes >= 0).any() and not enough_for_leaks(codes):
        notes.append(TOO_FEW_FOR_LEAKS)
    return notes


def _groups(X: pd.DataFrame) -> dict[str, float]:
    """Rows per value of columns that are named like an entity, or have the same number of rows for each value."""
    found = {}
    for name in X.columns:
        cells = read_cells(X[name]).distinct()
        counts = cells.counts()
        if len(counts) < _LEAST_GROUPS:
            continue
        size = float(counts.mean())
        if not 1.5 <= size <= _MOST_PER_GROUP or not are_codes(cells):
            continue
        is_named = ID_NAME.search(name) or _ENTITY.search(name)
        usual = np.median(counts)
        # As many rows for almost every value: measurements of the same things, at the same times.
        is_regular = usual >= 2 and (counts == usual).mean() > 0.9
        if is_named or is_regular:
            found[name] = size
    return found
