"""New rows for a saved model: read and encoded in pieces, beside the columns of the fit."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fewlabel import persistence
from fewlabel.arrow import from_numpy, from_texts
from fewlabel.cli.paths import require_column, warn_of_another_set
from fewlabel.cli.results import plain_texts
from fewlabel.cli.terminal import say
from fewlabel.cli.wrong_use import WrongUse
from fewlabel.exceptions import TableError
from fewlabel.parts import FittedModel
from fewlabel.parts.cells import DATE, Cells, read_as
from fewlabel.parts.explanations import reasons
from fewlabel.parts.model import BLOCK
from fewlabel.tables import Drift, TableSource, score_columns, score_features
from fewlabel.tables.kinds import read_column
from fewlabel.tables.pieces import read_pieces, table_columns
from fewlabel.tables.profile import months_of
from fewlabel.text import short
from fewlabel.threads import map_ahead


def load_model(path: Path) -> Any:
    """A model that knows its columns by name."""
    model = persistence.load(path)
    warn_of_another_set(path)
    if not isinstance(model, FittedModel) or model.encoder is None:
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which does not know its columns by name: score with it in "
            "Python, or make a model with `fewlabel fit`"
        )
    return model


class Piece(NamedTuple):
    """Encoded rows, the columns to copy, and the columns as they were read, if reasons are asked for."""

    features: np.ndarray
    kept: pa.Table
    cells: dict[str, Cells]

    def scored(self, model: FittedModel, n_reasons: int) -> pa.Table:
        """The columns to copy, then score, probabilities, label and reasons of each row."""
        scores = score_features(model, self.features)
        columns = dict(zip(self.kept.column_names, self.kept.columns))
        columns |= {name: from_numpy(values) for name, values in score_columns(model, scores).items()}
        names = from_texts([str(name) for name in model.classes_])
        columns["label"] = pa.DictionaryArray.from_arrays(from_numpy(scores.codes.astype(np.int32)), names)
        if n_reasons:
            why = reasons(model.explain_features(self.features), self.cells, n_reasons)
            columns |= {name: from_texts(texts) for name, texts in why.items()}
        return pa.table(columns)


@dataclass(eq=False)
class NewRows:
    """The rows of a table that a model is to score.

    Parameters
    ----------
    model : FittedModel
        With an encoder.
    source : TableSource
    keep : sequence of str
        Columns to keep as they are.
    time : str or None
        The column of dates, to compare the columns month by month.
    with_cells : bool
        Whether pieces hold the columns as they were read.
    day_first : bool or None
        Which of two readings to take where both fit every date of `time`; by default that of the fit.

    Attributes
    ----------
    columns : list of str
        All columns of the table.
    drift : Drift
        The columns of all rows that were read so far, beside those of the fit.
    """

    model: Any
    source: TableSource
    _: KW_ONLY
    keep: Sequence[str]
    time: str | None
    with_cells: bool = False
    day_first: bool | None = None

    def __post_init__(self) -> None:
        self.columns = table_columns(self.source.path, encoding=self.source.encoding)
        self.drift = Drift(self.model.encoder.profile)
        for name in self.keep:
            require_column(name, self.columns, "--keep")
        if self.time is not None:
            require_column(self.time, self.columns, "--time")
        self.model.encoder.require_columns(self.columns)

    def say_unknown(self, quiet: bool) -> None:
        """Print a note on columns that the model does not know."""
        known = {*self.model.encoder.names, self.model.target, *self.keep, self.time}
        unknown = [short(name) for name in self.columns if name not in known]
        if unknown:
            say(f"note: ignored {len(unknown)} column(s) that the model does not know: {', '.join(unknown[:5])}", quiet)

    def ask_for_key(self) -> None:
        """Wrong use: a result that says of no row which one it is, for a table of a database, which has no order."""
        known = (*self.model.encoder.kinds, self.model.target)
        unused = [name for name in self.columns if name not in known]
        example = f", for instance --keep {shlex.quote(unused[0])}" if unused else ""
        raise WrongUse(
            f"a table of a database has no order, so name the column that identifies a row{example}",
            "--keep",
        )

    def blocks(self) -> Iterator[Piece]:
        """The encoded rows, read in threads."""
        encoder = self.model.encoder
        # A column may look like numbers in one piece and text in another: the model knows which it is.
        text = ({*encoder.kinds} - encoder.plain_numbers()) | {*self.keep}
        if self.time is not None:
            text.add(self.time)
        numbers = {*encoder.kinds} - text
        # Shared by all pieces.
        memo: dict[str, Any] = {}
        form: dict[str, Any] = {"encoding": self.source.encoding, "decimal": self.source.decimal}
        notation = "" if self.time is None else self._date_notation(self.time, form)

        def encode(read: Any) -> tuple[Piece, Drift]:
            rows = read()
            cells = encoder.read(rows)
            found = Drift(encoder.profile)
            months = None
            if self.time is not None:
                months = months_of(read_as(rows.column(self.time), DATE, notation).rows())
            found.add(cells, months)
            kept = plain_texts(rows.select(list(self.keep)))
            return Piece(encoder.encode(cells, memo), kept, cells if self.with_cells else {}), found

        # In the blocks of the whole table: the last bit of a score may depend on the other rows of its block.
        pieces = read_pieces(self.source.path, numbers, text, **form, rows=BLOCK)
        for piece, found in map_ahead(encode, pieces, n_jobs=-1):
            self.drift.merge(found)
            yield piece
        if self.drift.n_rows == 0:
            raise ValueError(f"{self.source.origin} has no rows: expected a line of column names and rows below it")

    def _date_notation(self, name: str, form: dict[str, Any]) -> str:
        """How a column writes its dates: by all of its rows, as one piece alone may allow another reading."""
        pieces = read_pieces(self.source.path, (), {name}, **form)
        columns = map_ahead(lambda read: read().select([name]), pieces, n_jobs=-1)
        column = pa.concat_tables(list(columns), promote_options="permissive").column(name)
        day_first = self.day_first
        known = self.model.encoder.profile.get(name)
        if day_first is None and known is not None and known["kind"] == DATE:
            day_first = known["notation"].startswith("31")
        cells, notation = read_column(column, name, day_first)
        is_filled = bool((~cells.gaps()).any())
        if cells.kind != DATE and is_filled:
            example = short(cells.texts().values[0])
            raise TableError(f"--time: column {name!r} holds {cells.kind}, such as {example!r}: name a column of dates")
        return notation
