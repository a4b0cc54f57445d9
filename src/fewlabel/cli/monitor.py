"""``fewlabel monitor``: new rows beside those of the fit, what to expect of the model on them, and what it did."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewlabel.cli.options import (
    AnswerFiles,
    AsJson,
    DatabaseTable,
    DayFirst,
    Debug,
    Decimal,
    Encoding,
    ModelFile,
    Query,
    Quiet,
    Sheet,
    Tables,
)
from fewlabel.cli.paths import keep_inputs, sha256, writable_file, writable_folder, write_json
from fewlabel.cli.reading import open_source
from fewlabel.cli.terminal import print_json, print_table, say
from fewlabel.text import short

if TYPE_CHECKING:
    from fewlabel.decisions import Costs
    from fewlabel.types import PlainDict

PAGE = "monitor.html"
SUMMARY = "monitor.json"
HISTORY = "monitor_history.jsonl"
_PERCENT = ("share", "precision", "recall")
_NAMES = {"auc": "AUC", "share": "rows flagged", "cost": "cost per row"}


def monitor(
    model: ModelFile,
    tables: Tables,
    *,
    answers: AnswerFiles = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="COLUMN", help="The column of the table and of --labels that names a row."),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="DATE", help="Use only labels whose time, in --labels, is not after this."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="COLUMN", help="When each row was recorded: stability is then also by month."),
    ] = None,
    cost_miss: Annotated[
        float | None, typer.Option("--cost-miss", min=1e-9, metavar="X", help="Cost of a positive not flagged.")
    ] = None,
    cost_alarm: Annotated[
        float | None, typer.Option("--cost-alarm", min=1e-9, metavar="Y", help="Cost of a negative flagged.")
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option("--batch", metavar="NAME", help="Name of these rows in the history; by default the file's."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=writable_folder, metavar="DIR", help="Folder for the files.")
    ] = Path("."),
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if there is a reason to look closer.")
    ] = False,
    query: Query = None,
    table: DatabaseTable = None,
    sheet: Sheet = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    day_first: DayFirst = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say what to expect of a model on new rows, before labels come.

    The AUC, precision, recall and cost to expect are based on the labeled rows of the fit. Probabilities stand for the
    labels of the new rows, and labeled rows that resemble the new ones count more. With --labels, the same figures are
    measured on the rows whose labels have arrived; labels in the table itself are not used.

    The files are monitor.html, with the distribution of every column and of the score beside those of the fit
    (population stability index), monitor.json, and monitor_history.jsonl, to which each call adds a line: the page
    shows all batches over time.

    Labels are those of `fewlabel next` and `fewlabel label`, or with --key any file that has this column and a column
    called label, or like the label column of the fit.
    """
    from fewlabel import reporting
    from fewlabel.cli.predict import check_table, load_model
    from fewlabel.files import read_table
    from fewlabel.monitor import append_history, monitor_rows, read_history

    costs = _costs(cost_miss, cost_alarm)
    written = [out / name for name in (PAGE, SUMMARY, HISTORY)]
    for path in written if out.exists() else []:
        writable_file(path)
    keep_inputs(written, [model, *tables, *(answers or ())])
    fitted = load_model(model)
    with open_source(tables, query=query, table=table, sheet=sheet, encoding=encoding, decimal=decimal) as source:
        check_table(fitted, source.path, () if key is None else [key], source.encoding, quiet, time)
        form: dict[str, Any] = {"encoding": source.encoding, "decimal": source.decimal}
        rows = read_table(source.path, verbatim=[fitted.target], **form)
    if len(rows) == 0:
        raise ValueError(f"{source.origin} has no rows: expected a line of column names and rows below it")
    late = None
    if answers:
        from fewlabel.cli.late_labels import read_late_labels

        late, notes = read_late_labels(answers, rows, fitted.target, key=key, as_of=as_of, day_first=day_first)
        for note in notes:
            say(f"note: {note}", quiet)
    elif key is not None or as_of is not None:
        raise typer.BadParameter(
            "it is about labels: give them with --labels", param_hint="--key" if key else "--as-of"
        )
    found = monitor_rows(fitted, rows, late, costs=costs, time=None if time is None else rows[time])
    summary = {"title": source.name, "batch": batch or source.name, "model_sha256": sha256(model), **found.to_dict()}
    out.mkdir(exist_ok=True)
    append_history(out / HISTORY, summary["batch"], summary, model_sha256=summary["model_sha256"])
    write_json(summary, out / SUMMARY)
    reporting.write_monitor(summary, read_history(out / HISTORY), out / PAGE)
    if as_json:
        print_json(summary)
    elif not quiet:
        _show(summary)
        print(f"\nPage:    {out / PAGE}\nHistory: {out / HISTORY}")
    for alarm in summary["alarms"]:
        say(f"note: {alarm}", quiet)
    if strict and summary["alarms"]:
        raise ValueError(f"{len(summary['alarms'])} reason(s) to look closer, such as: {summary['alarms'][0]}")


def _costs(miss: float | None, alarm: float | None) -> "Costs | None":
    from fewlabel.decisions import Costs

    if (miss is None) != (alarm is None):
        raise typer.BadParameter("--cost-miss and --cost-alarm go together: give both, in the same unit")
    return None if miss is None or alarm is None else Costs(miss, alarm)


def _show(summary: "PlainDict") -> None:
    """Print what is expected, and what was measured beside it."""
    lines = []
    for name in ("auc", "share", "precision", "recall", "lift", "cost"):
        estimates = [summary["expected"].get(name), summary["measured"].get(name)]
        if any(estimates):
            lines.append([_NAMES.get(name, name), *(_text(name, estimate) for estimate in estimates)])
    title = f"{short(summary['title'])}: {summary['rows']} new rows, {summary['labels']} with a label"
    if lines:
        print_table(title, ["", "expected (95% interval)", "measured"], lines, left=1)
    else:
        print(title)
    if summary["at_fit"] is not None:
        at_fit = summary["at_fit"]
        print(f"At fit: AUC {at_fit['value']:.3f} ({at_fit['low']:.3f} to {at_fit['high']:.3f}).")
    if summary["reason"] is not None:
        print(f"Nothing to expect: {summary['reason']}.")
    if summary["differences"]:
        print(f"New rows differ from the labeled rows of the fit: {'; '.join(summary['differences'])}.")
    if summary["score_stability"] is not None:
        print(f"Scores: population stability index {summary['score_stability']:.2f} (0.25 is large).")


def _text(name: str, estimate: Any) -> str:
    if estimate is None:
        return ""
    low, value, high = (estimate[part] for part in ("low", "value", "high"))
    if name in _PERCENT:
        text = f"{value:.1%}"
        return text if low == high else f"{text} ({low:.1%} to {high:.1%})"
    return f"{value:.3f} ({low:.3f} to {high:.3f})"
