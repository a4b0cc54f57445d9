"""Labels that arrive after the rows: which row each belongs to, and when it was known."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fewlabel.active.answers import LABEL, TIME, as_text, merge_answers, row_keys
from fewlabel.cli.new_rows import Piece
from fewlabel.cli.paths import require_column
from fewlabel.cli.wrong_use import WrongUse
from fewlabel.files import column_names, read_file
from fewlabel.tables.kinds import as_moments
from fewlabel.text import short

if TYPE_CHECKING:
    from fewlabel.tables import TableSource


class LateLabels:
    """The labels of new rows, by a column that names each row or, without one, by the values of the whole row.

    Parameters
    ----------
    paths : sequence of Path
        Files of answers; with `key`, any tables with this column and a column of labels.
    source : TableSource
        The new rows. Their own label column is not looked at. Without `key`, they are read into memory.
    target : str
        Name of the label column at fit.
    key : str or None
        The column that names a row, in the table and in the files.
    as_of : str or None
        Labels with a later time are not used, nor are those without one.
    day_first : bool or None
        How dates are written.

    Attributes
    ----------
    notes : list of str
    """

    def __init__(
        self,
        paths: Sequence[Path],
        source: "TableSource",
        target: str,
        *,
        key: str | None,
        as_of: str | None,
        day_first: bool | None,
    ) -> None:
        self.key = key
        self.notes: list[str] = []
        until = None if as_of is None else _moment(as_of, day_first)
        self._n_rows = 0
        if key is not None:
            self._by_key = self._read(paths, key, target, until, day_first)
            self._used: set[str] = set()
            return
        rows = source.read(verbatim=[target])
        keys = row_keys(rows.drop(columns=[target], errors="ignore"))
        merged = merge_answers(pd.Series("", index=range(len(rows)), dtype=object), keys, paths, until)
        self.notes += merged.notes
        self._by_row = merged.column.where(merged.column != "", None).to_numpy()

    def of(self, rows: Piece) -> np.ndarray:
        """The label of each of the next rows, None where it has not arrived."""
        # Blocks come in the order of the table.
        start = self._n_rows
        self._n_rows += len(rows.features)
        if self.key is None:
            return self._by_row[start : self._n_rows]
        names = as_text(rows.kept.column(self.key).to_pandas())
        found = names[names.isin(self._by_key)]
        repeated = found[found.duplicated() | found.isin(self._used)]
        if len(repeated):
            raise WrongUse(
                f"column {short(self.key)!r} has {short(repeated.iloc[0])!r} more than once: name one with a value per "
                "row",
                "--key",
            )
        self._used.update(found)
        return np.array([self._by_key.get(name) for name in names], dtype=object)

    def _read(
        self, paths: Sequence[Path], key: str, target: str, until: np.datetime64 | None, day_first: bool | None
    ) -> dict[str, str | None]:
        """The label of each key, None if labels contradict each other."""
        parts = []
        for path in paths:
            names = [str(name) for name in column_names(path)]
            require_column(key, names, "--key")
            label = target if target in names else LABEL
            require_column(label, names, "--labels")
            table = read_file(path, verbatim=[key, label])
            if until is not None:
                require_column(TIME, names, "--as-of")
                moments = as_moments(table[TIME], dayfirst=day_first)
                # Rows without a time are left out.
                table = table[moments <= until]
            labels = as_text(table[label]).str.strip()
            parts.append(pd.DataFrame({"key": as_text(table[key]), "label": labels}))
        given = pd.concat(parts)
        said = given[given["label"] != ""].drop_duplicates()
        by_key: dict[str, str | None] = dict(zip(said["key"], said["label"]))
        contradicted = set(said["key"][said["key"].duplicated()])
        if contradicted:
            self.notes.append(f"{len(contradicted)} key(s) have contradicting labels and count as unlabeled")
        return by_key | dict.fromkeys(contradicted)


def _moment(text: str, day_first: bool | None) -> np.datetime64:
    """The end of a day, or a moment."""
    try:
        [moment] = as_moments([text], "--as-of", day_first)
        if not isinstance(moment, np.datetime64) or np.isnat(moment):
            raise ValueError(text)
    except ValueError as error:
        raise WrongUse(f"{text!r} is not a date, such as 2024-03-31", "--as-of") from error
    is_day = moment == moment.astype("datetime64[D]")
    return moment + np.timedelta64(1, "D") - np.timedelta64(1, "us") if is_day else moment
