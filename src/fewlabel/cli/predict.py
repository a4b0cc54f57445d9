"""``fewlabel predict``: score a table of any length with a saved model, in constant memory."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewlabel.cli.options import Debug, Decimal, Encoding, Quiet, TableFile
from fewlabel.cli.paths import TEXT_SEPARATORS, drift_file, require_column, result_file, write_json
from fewlabel.cli.terminal import progress, say
from fewlabel.text import short, without_formula

if TYPE_CHECKING:
    import pandas as pd

    from fewlabel.tables import Drift, Finding


def predict(
    model: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, metavar="MODEL", help="A model.skops file of `fewlabel fit`.")
    ],
    table: TableFile,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", callback=result_file, metavar="FILE", help="Result: a .csv, .tsv or .parquet file."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COLUMN", help="Copy this column to the result; can be repeated."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write no result, with exit code 1, if columns do not fit the model.")
    ] = False,
    drift: Annotated[
        Path | None,
        typer.Option("--drift", callback=drift_file, metavar="FILE", help="Page on the columns: .html, or .json."),
    ] = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the score, the probability and the label of each row, in the order of the table.

    The columns are named by class: with two classes, score and `probability of` the positive class; with more, one
    probability per class. In a .csv or .tsv file, text that a spreadsheet would run as a formula starts with '.

    The table is read in chunks, so it may be larger than memory. Columns may come in any order; columns unknown to
    the model are ignored. Without --out, the result is printed as CSV.

    A note names each column whose values do not fit those that the model was fitted to: values that cannot be
    parsed, more missing values, unseen categories, another scale, another distribution (population stability index).
    """
    if out is not None and out.resolve() == table.resolve():
        raise typer.BadParameter("it is the table itself: name another file", param_hint="--out")
    from fewlabel.auto import BLOCK
    from fewlabel.files import read_chunks
    from fewlabel.tables import NUMBER, Drift

    fitted = _load(model)
    encoder, watch = fitted.encoder_, Drift(fitted.profile_)
    # A column may look like numbers in one chunk and text in another: the model knows which it is.
    text = [name for name, kind in encoder.columns_.items() if kind != NUMBER or name in encoder.notations_]
    n_rows = 0
    with _writer(out, spool=strict) as write:
        with progress(quiet, lines=False) as report:
            for chunk in read_chunks(table, BLOCK, [*text, *(keep or ())], encoding=encoding, decimal=decimal):
                for name in keep or ():
                    require_column(name, list(chunk.columns), "--keep")
                scored = _scored(fitted, chunk, keep, watch)
                if n_rows == 0:
                    _note_unknown(fitted, chunk, keep, quiet)
                write(scored)
                n_rows += len(chunk)
                report(n_rows, None, "rows scored")
        if n_rows == 0:
            raise ValueError(f"{table} has no rows: expected a line of column names and rows below it")
        _report_drift(watch, drift, table.name, strict, quiet)  # before the result replaces a file
    if out is not None:
        say(f"{n_rows} rows: {out}", quiet)


def _report_drift(watch: "Drift", page: Path | None, title: str, strict: bool, quiet: bool) -> None:
    """Print the findings and write the page; with `strict`, any finding is an error."""
    from fewlabel import report

    findings = watch.findings()
    for name, lines in _by_column(findings).items():
        say(f"note: column {short(name)!r}: {'; '.join(lines)}", quiet)
    if page is not None and page.suffix.lower() == ".json":
        write_json(watch.summary(), page)
    elif page is not None:
        report.write_drift(watch.summary(), page, title=title)
    if strict and findings:
        names = list(_by_column(findings))
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        raise ValueError(
            f"{len(names)} column(s) do not fit the model, so --strict wrote no result: "
            f"{', '.join(repr(short(name)) for name in names[:5])}{more}"
        )


def _by_column(findings: "list[Finding]") -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for finding in findings:
        found.setdefault(finding.column, []).append(finding.text)
    return found


def _load(path: Path) -> Any:
    from fewlabel import persistence
    from fewlabel.tables import TableClassifier

    model = persistence.load(path)
    if not isinstance(model, TableClassifier):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which does not know its columns by name: score with it in "
            "Python, or make a model with `fewlabel fit`"
        )
    return model


def _scored(model: Any, chunk: "pd.DataFrame", keep: list[str] | None, watch: "Drift") -> "pd.DataFrame":
    """One chunk of the result."""
    import pandas as pd

    from fewlabel.tables import score_table

    result = score_table(model, chunk, drift=watch)
    kept = {name: chunk[name].to_numpy() for name in keep or ()}
    return pd.DataFrame({**kept, **result})


def _note_unknown(model: Any, chunk: "pd.DataFrame", keep: list[str] | None, quiet: bool) -> None:
    known = {*model.encoder_.columns_, *model.encoder_.dropped_, model.target_, *(keep or ())}
    unknown = [short(name) for name in chunk.columns if name not in known]
    if unknown:
        say(f"note: ignored {len(unknown)} column(s) that the model does not know: {', '.join(unknown[:5])}", quiet)


@contextmanager
def _writer(out: Path | None, spool: bool) -> Iterator[Any]:
    """A function that writes one chunk; the file appears under its name once it is complete.

    With `spool`, what would be printed waits in a temporary file until the block ends without an error.
    """
    from fewlabel.files import atomic_write

    if out is None and spool:
        import shutil
        import tempfile

        with tempfile.SpooledTemporaryFile(2**20, "w+", encoding="utf-8", newline="") as waiting:
            yield _text_writer(waiting, ",")
            waiting.seek(0)
            shutil.copyfileobj(waiting, sys.stdout)
        return
    if out is None:
        yield _text_writer(sys.stdout, ",")
        return
    with atomic_write(out) as file:
        if out.suffix.lower() in TEXT_SEPARATORS:
            import io

            wrapped = io.TextIOWrapper(file, encoding="utf-8", newline="")
            try:
                yield _text_writer(wrapped, TEXT_SEPARATORS[out.suffix.lower()])
                wrapped.flush()
            finally:
                wrapped.detach()
        else:
            with _parquet_writer(file) as write:
                yield write


def _text_writer(file: Any, separator: str) -> Any:
    first = True

    def write(chunk: "pd.DataFrame") -> None:
        nonlocal first
        # All digits, so that the numbers are read back exactly.
        _without_formulas(chunk).to_csv(file, sep=separator, index=False, header=first, lineterminator="\n")
        first = False

    return write


def _without_formulas(chunk: "pd.DataFrame") -> "pd.DataFrame":
    """Texts as a spreadsheet can open them: none of them runs."""
    import pandas as pd

    def safe(value: Any) -> Any:
        return without_formula(value) if isinstance(value, str) else value

    columns = {}
    for name, column in chunk.items():
        may_hold_text = isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_string_dtype(column.dtype)
        columns[safe(name)] = column.astype(object).map(safe, na_action="ignore") if may_hold_text else column
    return pd.DataFrame(columns)


@contextmanager
def _parquet_writer(file: Any) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None

    def write(chunk: "pd.DataFrame") -> None:
        nonlocal writer
        table = pa.Table.from_pandas(chunk, preserve_index=False)
        if writer is None:
            writer = pq.ParquetWriter(file, table.schema)
        writer.write_table(table.cast(writer.schema))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
