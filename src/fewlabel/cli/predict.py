"""``fewlabel predict``: score a table of any length with a saved model, in constant memory."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fewlabel.addresses import Address
from fewlabel.cli.options import DayFirst, ModelFile, Place, Quiet, Tables, as_address, option, unfold
from fewlabel.cli.paths import TEXT_SEPARATORS, file_ending_in, keep_inputs, require_suffix, writable_file, write_json
from fewlabel.cli.terminal import progress, say
from fewlabel.cli.wrong_use import WrongUse
from fewlabel.text import short

if TYPE_CHECKING:
    from fewlabel.tables import Drift


_drift_file = file_ending_in(".html", ".json")


@dataclass(frozen=True)
class ResultOptions:
    """The options on where scores go."""

    out: Annotated[
        Address | None,
        option("FILE", "Result: a .csv, .tsv or .parquet file, or a database.", "--out", "-o", parser=as_address),
    ] = None
    out_table: Annotated[str | None, option("NAME", "The table of a database for the result.")] = None
    if_exists: Annotated[
        Literal["fail", "replace", "append"],
        option("WHAT", "If there is such a table: fail, replace or append."),
    ] = "fail"

    @property
    def database(self) -> Address | None:
        """The database, if the result goes to one."""
        return self.out if self.out is not None and self.out.is_database else None

    @property
    def path(self) -> Path | None:
        """The file, if the result goes to one."""
        return None if self.out is None or self.out.is_database else Path(self.out.shown)

    def check(self) -> None:
        """Wrong use if the result cannot be written."""
        if self.database is not None:
            from fewlabel.tables import check_target

            if self.out_table is None:
                raise WrongUse(f"name a table in {self.out} for the result", "--out-table")
            check_target(self.database, self.out_table, self.if_exists)
            return
        if self.out_table is not None:
            wrong = "it is for databases: name one with --out, such as --out sqlite:///bank.db"
            raise WrongUse(wrong, "--out-table")
        if self.path is not None:
            require_suffix(self.path, *TEXT_SEPARATORS, ".parquet", option="--out")
        writable_file(self.path)

    @contextlib.contextmanager
    def writer(self) -> Iterator[Any]:
        """As `result_writer`; in a database all rows appear at once, when the last one is written."""
        from fewlabel.cli.results import result_writer

        if self.database is not None:
            from fewlabel.tables import table_writer  # imports drivers

            with table_writer(self.database, self.out_table or "", self.if_exists) as write:
                yield (lambda chunk: chunk), write
        else:
            with result_writer(self.path) as functions:
                yield functions


@unfold()
def predict(
    model: ModelFile,
    tables: Tables,
    *,
    result: ResultOptions,
    place: Place,
    keep: Annotated[
        list[str] | None,
        option("COLUMN", "Copy this column to the result; can be repeated."),
    ] = None,
    reasons: Annotated[int, option("N", "Add the N columns that move the score most, per row.", min=0)] = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write no result, with exit code 1, if columns do not fit the model.")
    ] = False,
    drift: Annotated[
        Path | None,
        option("FILE", "Page on the columns: .html, or .json.", callback=_drift_file),
    ] = None,
    time: Annotated[
        str | None,
        option("COLUMN", "With --drift, dates of the rows: also compare month by month."),
    ] = None,
    day_first: DayFirst = None,
    quiet: Quiet = False,
) -> None:
    """Write the score, probability and label of each row.

    The columns are named by class: with two classes, rank (1 for the highest score), score and `probability of` the
    positive class; with more, one probability per class. If only positives were labeled, the `highest probability`
    follows from the largest possible share of positives. The label follows the threshold that `fewlabel fit` stored. In
    a .csv or .tsv file, text that a spreadsheet would run as a formula starts with '.

    The table is read in pieces, so it may be larger than memory; results wait in a temporary file until all rows are
    ranked. All cores are used. Columns may come in any order; columns unknown to the model are ignored. Without --out,
    the result is printed as CSV.

    With --reasons, `reason 1` and so on name the columns that move the score most, with their values: exact for stump
    boosters, by sampling for other methods, which takes a while.

    A note names each column whose values do not fit those that the model was fitted to: values that cannot be
    parsed, more missing values, unseen categories, another scale, another distribution (population stability index).
    """
    if time is not None and drift is None:
        raise WrongUse("it is for the page of --drift", "--time")
    result.check()
    written = [path for path in (result.path, drift) if path is not None]
    keep_inputs(written, [model, *tables])
    from fewlabel.cli.new_rows import NewRows, load_model
    from fewlabel.cli.results import Results
    from fewlabel.threads import map_ahead
    from fewlabel.warning_filters import keep_filters

    fitted = load_model(model)
    doubt = fitted.about.get("selection", {}).get("doubt")
    if doubt is not None:
        say(f"note: {doubt}", quiet)
    with place.open(tables) as source, Results(fitted.threshold) as results, keep_filters():
        rows = NewRows(fitted, source, keep=keep or (), time=time, with_cells=reasons > 0, day_first=day_first)
        rows.say_unknown(quiet)
        if result.database is not None and not keep:
            rows.ask_for_key()
        # Scores need no order, and ranks all scores: results wait until the last row is read.
        with progress(quiet, lines=False) as report:
            for scored in map_ahead(lambda piece: piece.scored(fitted, reasons), rows.blocks(), n_jobs=-1):
                results.add(scored)
                report(results.n_rows, None, "rows scored")
        # Before the result replaces a file.
        _report_drift(rows.drift, drift, source.name, strict, quiet)
        with result.writer() as (render, write):
            for rendered in map_ahead(lambda read: render(read()), results.ranked(), n_jobs=-1):
                write(rendered)
    if fitted.threshold is not None:
        rule = fitted.about.get("rule", "chosen by hand")
        where = f"a score above {fitted.threshold:.6g} ({rule})"
        say(f"threshold: {results.n_flagged} of {results.n_rows} rows have {where}", quiet)
    if result.out is not None:
        written_to = str(result.out)
        if result.out_table:
            written_to += f", table {result.out_table}"
        say(f"{results.n_rows} rows: {written_to}", quiet)


def _report_drift(drift: "Drift", page: Path | None, title: str, strict: bool, quiet: bool) -> None:
    """Print the findings and write the page; with `strict`, any finding is an error."""
    by_column: dict[str, list[str]] = {}
    for finding in drift.findings():
        by_column.setdefault(finding.column, []).append(finding.text)
    for name, texts in by_column.items():
        listed = "; ".join(texts)
        say(f"note: column {short(name)!r}: {listed}", quiet)
    if page is not None and page.suffix.lower() == ".json":
        write_json(drift.summary(), page)
    elif page is not None:
        from fewlabel import reporting

        reporting.write_drift(drift.summary(), page, title=title)
    if strict and by_column:
        names = [repr(short(name)) for name in by_column]
        shown = ", ".join(names[:5])
        if len(names) > 5:
            shown += f" and {len(names) - 5} more"
        raise ValueError(f"{len(names)} column(s) do not fit the model, so --strict wrote no result: {shown}")
