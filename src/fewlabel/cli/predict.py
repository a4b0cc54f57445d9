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
    reasons: Annotated[
        int, typer.Option("--reasons", min=0, metavar="N", help="Add the N columns that move the score most, per row.")
    ] = 0,
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

    The columns are named by class: with two classes, rank (1 for the highest score), score and `probability of` the
    positive class; with more, one probability per class. The label follows the cut that `fewlabel fit`
    stored. In a .csv or .tsv file, text that a spreadsheet would run as a formula starts with '.

    The table is read in chunks, so it may be larger than memory; results wait in a temporary file until all rows are
    ranked. Columns may come in any order; columns unknown to the model are ignored. Without --out, the result is
    printed as CSV.

    With --reasons, `reason 1` and so on name the columns that move the score most, with their values: exact for stump
    boosters, by sampling for other methods, which takes a while.

    A note names each column whose values do not fit those that the model was fitted to: values that cannot be
    parsed, more missing values, unseen categories, another scale, another distribution (population stability index).
    """
    if out is not None and out.resolve() == table.resolve():
        raise typer.BadParameter("it is the table itself: name another file", param_hint="--out")
    from fewlabel.auto import BLOCK
    from fewlabel.files import read_chunks
    from fewlabel.tables import NUMBER, Drift

    fitted = load_model(model)
    encoder, watch = fitted.encoder_, Drift(fitted.profile_)
    # A column may look like numbers in one chunk and text in another: the model knows which it is.
    text = [name for name, kind in encoder.columns_.items() if kind != NUMBER or name in encoder.notations_]
    results = Results(fitted)
    with results:
        with progress(quiet, lines=False) as report:
            for chunk in read_chunks(table, BLOCK, [*text, *(keep or ())], encoding=encoding, decimal=decimal):
                for name in keep or ():
                    require_column(name, list(chunk.columns), "--keep")
                scored = _scored(fitted, chunk, keep, watch, reasons)
                if results.n_rows == 0:
                    _note_unknown(fitted, chunk, keep, quiet)
                results.add(scored)
                report(results.n_rows, None, "rows scored")
        if results.n_rows == 0:
            raise ValueError(f"{table} has no rows: expected a line of column names and rows below it")
        _report_drift(watch, drift, table.name, strict, quiet)  # before the result replaces a file
        with _writer(out) as write:
            for ranked in results.ranked():
                write(ranked)
    if fitted.cut_ is not None:
        where = f"a score above {fitted.cut_['score']:.6g} ({fitted.cut_['rule']})"
        say(f"cut: {results.n_flagged} of {results.n_rows} rows have {where}", quiet)
    if out is not None:
        say(f"{results.n_rows} rows: {out}", quiet)


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


def load_model(path: Path) -> Any:
    """A model that knows its columns by name."""
    from fewlabel import persistence
    from fewlabel.tables import TableClassifier

    model = persistence.load(path)
    if not isinstance(model, TableClassifier):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which does not know its columns by name: score with it in "
            "Python, or make a model with `fewlabel fit`"
        )
    return model


def _scored(
    model: Any, chunk: "pd.DataFrame", keep: list[str] | None, watch: "Drift", n_reasons: int
) -> "pd.DataFrame":
    """One chunk of the result."""
    import pandas as pd

    from fewlabel.tables import score_table

    result = score_table(model, chunk, drift=watch, n_reasons=n_reasons)
    kept = {name: chunk[name].to_numpy() for name in keep or ()}
    return pd.DataFrame({**kept, **result})


def _note_unknown(model: Any, chunk: "pd.DataFrame", keep: list[str] | None, quiet: bool) -> None:
    known = {*model.encoder_.columns_, *model.encoder_.dropped_, model.target_, *(keep or ())}
    unknown = [short(name) for name in chunk.columns if name not in known]
    if unknown:
        say(f"note: ignored {len(unknown)} column(s) that the model does not know: {', '.join(unknown[:5])}", quiet)


class Results:
    """Scored chunks that wait in a temporary file until the rank of every row is known.

    Memory grows by 8 bytes per row, for the scores.
    """

    def __init__(self, model: Any) -> None:
        self.n_rows = self.n_flagged = 0
        self._cut = None if model.cut_ is None else model.cut_["score"]
        self._scores: list[Any] = []

    def __enter__(self) -> "Results":
        import tempfile

        self._file = tempfile.TemporaryFile()
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, chunk: "pd.DataFrame") -> None:
        """Keep a chunk until all are there."""
        import pickle

        pickle.dump(chunk, self._file)
        self.n_rows += len(chunk)
        if "score" in chunk:
            self._scores.append(chunk["score"].to_numpy())
            self.n_flagged += 0 if self._cut is None else int((chunk["score"] > self._cut).sum())

    def ranked(self) -> "Iterator[pd.DataFrame]":
        """The chunks, with two classes each row with its rank; equal scores have the same rank."""
        import pickle

        import numpy as np

        self._file.seek(0)
        ordered = np.sort(np.concatenate(self._scores)) if self._scores else None
        n_left = self.n_rows
        while n_left:
            chunk = pickle.load(self._file)  # written above
            n_left -= len(chunk)
            if ordered is not None:
                above = len(ordered) - np.searchsorted(ordered, chunk["score"].to_numpy(), side="right")
                chunk.insert(chunk.columns.get_loc("score"), "rank", above + 1)
            yield chunk


@contextmanager
def _writer(out: Path | None) -> Iterator[Any]:
    """A function that writes one chunk; the file appears under its name once it is complete."""
    from fewlabel.files import atomic_write

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
        without_formulas(chunk).to_csv(file, sep=separator, index=False, header=first, lineterminator="\n")
        first = False

    return write


def without_formulas(chunk: "pd.DataFrame") -> "pd.DataFrame":
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
