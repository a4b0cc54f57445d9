"""``fewlabel predict``: score a table of any length with a saved model, in bounded memory."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewlabel.cli.options import Debug, Quiet, TableFile, no_such_column, say, writable_file
from fewlabel.text import short

if TYPE_CHECKING:
    import pandas as pd

_TEXT = {".csv": ",", ".tsv": "\t"}


def _result_file(path: Path | None) -> Path | None:
    """Check, before any work, that the result can be written."""
    if path is not None and path.suffix.lower() not in (*_TEXT, ".parquet"):
        raise typer.BadParameter(f"{path}: results are written as .csv, .tsv or .parquet")
    return writable_file(path)


def predict(
    model: Annotated[Path, typer.Argument(exists=True, dir_okay=False, metavar="MODEL", help="From `fewlabel fit`.")],
    table: TableFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", callback=_result_file, metavar="FILE", help="A .csv, .tsv or .parquet file."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COLUMN", help="Copy this column; may be given again."),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the score, the probability and the label of each row, in the table's own order.

    The table is read in pieces, so that its size does not matter. Columns may come in any order, and further ones are
    ignored. Without --out the result goes to standard output as CSV.
    """
    if out is not None and out.resolve() == table.resolve():
        raise typer.BadParameter("--out names the table itself", param_hint="--out")
    from fewlabel import persistence
    from fewlabel.auto import BLOCK
    from fewlabel.tables import TableClassifier, read_chunks
    from fewlabel.tables._columns import NUMBER

    fitted = persistence.load(model)
    if not isinstance(fitted, TableClassifier):
        raise ValueError(
            f"{model} holds a {type(fitted).__name__}, which does not know its columns by name: score with it in "
            "Python, or make a model with `fewlabel fit`"
        )
    # What looks like a number in one piece may be text in another: the model knows which it is.
    text = [name for name, kind in fitted.columns_.items() if kind != NUMBER]
    pieces = read_chunks(table, BLOCK, [*text, *(keep or ())])
    n_rows = 0
    with _writer(out) as write:
        for piece in _followed(pieces, quiet):
            for name in keep or ():
                if name not in piece.columns:
                    raise typer.BadParameter(no_such_column(name, list(piece.columns)), param_hint="--keep")
            scored = _scored(fitted, piece, keep)
            if n_rows == 0:
                _note_extra(fitted, piece, keep, quiet)
            write(scored)
            n_rows += len(piece)
        if n_rows == 0:
            raise ValueError(f"{table} has no rows: expected a line of column names, and rows below it")
    if out is not None:
        say(f"{n_rows} rows: {out}", quiet)


def _scored(model: Any, piece: "pd.DataFrame", keep: list[str] | None) -> "pd.DataFrame":
    """One piece of the result."""
    import pandas as pd

    from fewlabel.tables import score_table

    result = score_table(model, piece)
    kept = {name: piece[name].to_numpy() for name in keep or ()}
    return pd.DataFrame({**kept, **result})


def _note_extra(model: Any, piece: "pd.DataFrame", keep: list[str] | None, quiet: bool) -> None:
    known = {*model.columns_, *model.dropped_, model.target_, *(keep or ())}
    extra = [short(name) for name in piece.columns if name not in known]
    if extra:
        say(f"note: {len(extra)} column(s) that the model does not know are ignored: {', '.join(extra[:5])}", quiet)


def _followed(pieces: "Iterator[pd.DataFrame]", quiet: bool) -> "Iterator[pd.DataFrame]":
    """The pieces; rows done are shown on a terminal, and nothing in a pipe, which may hold the result."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield from pieces
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} rows"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("rows", total=None)
        for piece in pieces:
            yield piece
            progress.update(task, advance=len(piece))


@contextmanager
def _writer(out: Path | None) -> Iterator[Any]:
    """A function that takes the pieces; the file appears under its name once all of them are there."""
    from fewlabel.files import atomic_write

    if out is None:
        yield _text_writer(sys.stdout, ",")
        return
    with atomic_write(out) as file:
        if out.suffix.lower() in _TEXT:
            import io

            wrapped = io.TextIOWrapper(file, encoding="utf-8", newline="")
            try:
                yield _text_writer(wrapped, _TEXT[out.suffix.lower()])
                wrapped.flush()
            finally:
                wrapped.detach()
        else:
            with _parquet_writer(file) as write:
                yield write


def _text_writer(file: Any, separator: str) -> Any:
    first = True

    def write(piece: "pd.DataFrame") -> None:
        nonlocal first
        # Numbers with all their digits: they are read back as they were.
        piece.to_csv(file, sep=separator, index=False, header=first, lineterminator="\n")
        first = False

    return write


@contextmanager
def _parquet_writer(file: Any) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None

    def write(piece: "pd.DataFrame") -> None:
        nonlocal writer
        table = pa.Table.from_pandas(piece, preserve_index=False)
        if writer is None:
            writer = pq.ParquetWriter(file, table.schema)
        writer.write_table(table.cast(writer.schema))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
