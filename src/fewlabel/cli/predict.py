"""``fewlabel predict``: score a table of any length with a saved model, in constant memory."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from fewlabel.addresses import Address
from fewlabel.cli.options import (
    DatabaseTable,
    Debug,
    Decimal,
    Encoding,
    Query,
    Quiet,
    Sheet,
    Tables,
    as_address,
    require_choice,
)
from fewlabel.cli.paths import (
    check_result,
    drift_file,
    keep_inputs,
    require_column,
    warn_of_another_set,
    write_json,
)
from fewlabel.cli.reading import open_source
from fewlabel.cli.terminal import progress, say
from fewlabel.text import short

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from fewlabel.parts.cells import Cells
    from fewlabel.tables import Drift, Finding


def predict(
    model: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, metavar="MODEL", help="A model.fewlabel file of `fewlabel fit`."),
    ],
    tables: Tables,
    *,
    out: Annotated[
        Address | None,
        typer.Option(
            "--out",
            "-o",
            parser=as_address,
            metavar="FILE",
            help="Result: a .csv, .tsv or .parquet file; a database; with --engine dask a folder.",
        ),
    ] = None,
    out_table: Annotated[
        str | None, typer.Option("--out-table", metavar="NAME", help="The table of a database for the result.")
    ] = None,
    if_exists: Annotated[
        Literal["fail", "replace", "append"],
        typer.Option("--if-exists", metavar="WHAT", help="If there is such a table: fail, replace or append."),
    ] = "fail",
    query: Query = None,
    table: DatabaseTable = None,
    sheet: Sheet = None,
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
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="COLUMN", help="With --drift, dates of the rows: also compare month by month."),
    ] = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    engine: Annotated[
        str, typer.Option("--engine", metavar="NAME", help="memory, or dask to score many files on a cluster.")
    ] = "memory",
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="A Dask cluster; by default the cores of this machine."),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the score, probability and label of each row.

    The columns are named by class: with two classes, rank (1 for the highest score), score and `probability of` the
    positive class; with more, one probability per class. The label follows the threshold that `fewlabel fit`
    stored. In a .csv or .tsv file, text that a spreadsheet would run as a formula starts with '.

    The table is read in pieces, so it may be larger than memory; results wait in a temporary file until all rows are
    ranked. All cores are used. Columns may come in any order; columns unknown to the model are ignored. Without --out,
    the result is printed as CSV.

    With --reasons, `reason 1` and so on name the columns that move the score most, with their values: exact for stump
    boosters, by sampling for other methods, which takes a while.

    With --engine dask, --out is a folder with one .parquet file for each table, without ranks.

    A note names each column whose values do not fit those that the model was fitted to: values that cannot be
    parsed, more missing values, unseen categories, another scale, another distribution (population stability index).
    """
    form: dict[str, Any] = {"encoding": encoding, "decimal": decimal}
    if time is not None and (drift is None or engine == "dask"):
        raise typer.BadParameter("it is for the page of --drift, with --engine memory", param_hint="--time")
    if engine == "dask":
        from fewlabel.cli.predict_dask import predict_files
        from fewlabel.tables import local_files

        if reasons or strict:
            raise typer.BadParameter("is for --engine memory", param_hint="--reasons" if reasons else "--strict")
        files = local_files(tables)
        found = predict_files(
            model, files, None if out is None else out.path, keep or (), scheduler, quiet=quiet, **form
        )
        _report_drift(found, drift, f"{len(files)} files", strict, quiet)
        return
    require_choice(engine, ("memory", "dask"), "--engine")
    check_result(out, out_table, if_exists)
    written = [] if out is None or out.is_database else [Path(out.shown)]
    keep_inputs([*written, *([drift] if drift is not None else [])], [model, *tables])
    from fewlabel.cli.results import Results, database_writer, result_writer
    from fewlabel.tables import Drift
    from fewlabel.threads import map_ahead
    from fewlabel.warning_filters import keep_filters

    fitted = load_model(model)
    watch = Drift(fitted.encoder.profile)
    threshold = fitted.threshold
    place: dict[str, Any] = {"query": query, "table": table, "sheet": sheet}
    with open_source(tables, **place, **form) as source, Results(threshold) as results, keep_filters():
        form = {"encoding": source.encoding, "decimal": source.decimal}
        check_table(fitted, source.path, keep or (), source.encoding, quiet, time)
        if out is not None and out.is_database:
            _require_key(fitted, source.path, keep)
        with progress(quiet, lines=False) as report:
            for scored in score_file(fitted, source.path, keep or (), watch, n_reasons=reasons, time=time, **form):
                results.add(scored)
                report(results.n_rows, None, "rows scored")
        if results.n_rows == 0:
            raise ValueError(f"{source.origin} has no rows: expected a line of column names and rows below it")
        _report_drift(watch, drift, source.name, strict, quiet)  # before the result replaces a file
        if out is not None and out.is_database:
            writer = database_writer(out, out_table or "", if_exists)
        else:
            writer = result_writer(None if out is None else Path(out.shown))
        with writer as (render, write):
            for rendered in map_ahead(lambda read: render(read()), results.ranked(), n_jobs=-1):
                write(rendered)
    if threshold is not None:
        where = f"a score above {threshold:.6g} ({fitted.about.get('rule', 'chosen by hand')})"
        say(f"threshold: {results.n_flagged} of {results.n_rows} rows have {where}", quiet)
    if out is not None:
        say(f"{results.n_rows} rows: {out}{f', table {out_table}' if out_table else ''}", quiet)


def _require_key(model: Any, table: Path, keep: Sequence[str] | None) -> None:
    """Wrong use if the result has no column that says which row a score is for: a table of a database has no order."""
    from fewlabel.tables.pieces import table_columns

    if keep:
        return
    unused = [name for name in table_columns(table) if name not in model.encoder.kinds and name != model.target]
    example = f", for instance --keep {shlex.quote(unused[0])}" if unused else ""
    raise typer.BadParameter(
        f"a table of a database has no order, so name the column that identifies a row{example}", param_hint="--keep"
    )


def check_table(
    model: Any, table: Path, keep: Sequence[str], encoding: str | None, quiet: bool, time: str | None = None
) -> None:
    """Wrong use if a column to keep is not there; a note on columns that the model does not know."""
    from fewlabel.tables.pieces import table_columns

    names = table_columns(table, encoding=encoding)
    for name in keep:
        require_column(name, names, "--keep")
    if time is not None:
        require_column(time, names, "--time")
    model.encoder.require_columns(names)
    known = {*model.encoder.names, model.target, *keep, time}
    unknown = [short(name) for name in names if name not in known]
    if unknown:
        say(f"note: ignored {len(unknown)} column(s) that the model does not know: {', '.join(unknown[:5])}", quiet)


def _report_drift(watch: "Drift", page: Path | None, title: str, strict: bool, quiet: bool) -> None:
    """Print the findings and write the page; with `strict`, any finding is an error."""
    findings = watch.findings()
    for name, lines in _by_column(findings).items():
        say(f"note: column {short(name)!r}: {'; '.join(lines)}", quiet)
    if page is not None and page.suffix.lower() == ".json":
        write_json(watch.summary(), page)
    elif page is not None:
        from fewlabel import reporting

        reporting.write_drift(watch.summary(), page, title=title)
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
    from fewlabel.parts import FittedModel

    model = persistence.load(path)
    warn_of_another_set(path)
    if not isinstance(model, FittedModel) or model.encoder is None:
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which does not know its columns by name: score with it in "
            "Python, or make a model with `fewlabel fit`"
        )
    return model


class _Piece(NamedTuple):
    """Encoded rows, the columns to copy, and the columns as they were read, if reasons are asked for."""

    features: "np.ndarray"
    kept: "pa.Table"
    cells: "dict[str, Cells]"

    def cut(self, start: int, stop: int) -> "_Piece":
        rows = slice(start, stop)
        cells = {name: column.take(rows) for name, column in self.cells.items()}
        return _Piece(self.features[rows], self.kept.slice(start, stop - start), cells)

    def join(self, other: "_Piece") -> "_Piece":
        import numpy as np
        import pyarrow as pa

        from fewlabel.parts.cells import join_cells

        cells = {name: join_cells([self.cells[name], other.cells[name]]) for name in self.cells}
        kept = pa.concat_tables([self.kept, other.kept], promote_options="permissive")
        return _Piece(np.concatenate([self.features, other.features]), kept, cells)


def score_file(
    model: Any,
    table: Path,
    keep: Sequence[str],
    watch: "Drift",
    *,
    n_reasons: int = 0,
    time: str | None = None,
    n_jobs: int = -1,
    **form: Any,
) -> "Iterator[pa.Table]":
    """The result, chunk by chunk: rows are read and encoded in pieces, then scored in blocks, in threads.

    The last bit of a score may depend on the other rows of its block. So blocks hold the rows that they hold when the
    model scores the whole table.
    """
    from fewlabel.cli.results import plain_texts
    from fewlabel.parts.model import BLOCK
    from fewlabel.tables import Drift
    from fewlabel.tables.pieces import read_pieces
    from fewlabel.threads import map_ahead

    encoder = model.encoder
    # A column may look like numbers in one piece and text in another: the model knows which it is.
    text = ({*encoder.kinds} - encoder.plain_numbers()) | {*keep}
    if time is not None:
        text.add(time)
    numbers = {*encoder.kinds} - text
    memo: dict[str, Any] = {}  # of all pieces

    def encode(read: Any) -> tuple[_Piece, Drift]:
        rows = read()
        cells = encoder.read(rows)
        found = Drift(watch.profile)
        found.add(cells, None if time is None else _months(rows.column(time), watch.profile.get(time)))
        kept = plain_texts(rows.select(list(keep)))
        return _Piece(encoder.encode(cells, memo), kept, cells if n_reasons else {}), found

    def pieces() -> Iterator[_Piece]:
        readers = read_pieces(table, numbers, text, **form)
        for piece, found in map_ahead(encode, readers, n_jobs):
            watch.merge(found)
            yield piece

    blocks = _whole_blocks(pieces(), BLOCK)
    yield from map_ahead(lambda chunk: _score_chunk(model, chunk, n_reasons), blocks, n_jobs)


def _months(column: Any, profile: "dict[str, Any] | None") -> "np.ndarray":
    """The month of each row; a date is written as at fit, or as 2024-12-31: pieces must not guess differently."""
    from fewlabel.parts.cells import DATE, read_as
    from fewlabel.parts.notations import ISO
    from fewlabel.tables.profile import months_of

    notation = profile["notation"] if profile is not None and profile["kind"] == DATE else ISO
    return months_of(read_as(column, DATE, notation).rows())


def _whole_blocks(pieces: Iterator[_Piece], rows: int) -> Iterator[_Piece]:
    """The same rows in chunks that hold a multiple of `rows` rows, but the last one."""
    rest = None
    for piece in pieces:
        start = 0
        if rest is not None and len(rest.features):
            start = min(rows - len(rest.features), len(piece.features))
            rest = rest.join(piece.cut(0, start))
            if len(rest.features) < rows:
                continue
            yield rest
        n_whole = (len(piece.features) - start) // rows * rows
        if n_whole:
            yield piece.cut(start, start + n_whole)
        rest = piece.cut(start + n_whole, len(piece.features))
    if rest is not None and len(rest.features):
        yield rest


def _score_chunk(model: Any, chunk: _Piece, n_reasons: int) -> "pa.Table":
    import numpy as np
    import pyarrow as pa

    from fewlabel.arrow import from_numpy, from_texts
    from fewlabel.tables import row_reasons, score_columns, score_features

    scores = score_features(model, chunk.features)
    reasons = row_reasons(model, chunk.features, chunk.cells, n_reasons) if chunk.cells else {}
    names = from_texts([str(name) for name in model.classes_])
    label = pa.DictionaryArray.from_arrays(from_numpy(scores.codes.astype(np.int32)), names)
    columns = dict(zip(chunk.kept.column_names, chunk.kept.columns))
    columns |= {name: from_numpy(values) for name, values in score_columns(model, scores).items()}
    columns["label"] = label
    columns |= {name: from_texts(texts) for name, texts in reasons.items()}
    return pa.table(columns)
