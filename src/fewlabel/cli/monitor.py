"""``fewlabel monitor``: new rows beside those of the fit, what to expect of the model on them, and what it did."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewlabel.cli.options import (
    AnswerFiles,
    AsJson,
    CostOptions,
    DayFirst,
    ModelFile,
    OutFolder,
    Place,
    Quiet,
    Tables,
    option,
    unfold,
)
from fewlabel.cli.paths import keep_inputs, writable_file, write_json
from fewlabel.cli.terminal import print_json, print_table, progress, say_notes
from fewlabel.cli.wrong_use import WrongUse
from fewlabel.files import sha256
from fewlabel.text import short

if TYPE_CHECKING:
    from fewlabel.types import PlainDict

PAGE = "monitor.html"
SUMMARY = "monitor.json"
HISTORY = "monitor_history.jsonl"


@unfold()
def monitor(
    model: ModelFile,
    tables: Tables,
    *,
    answers: AnswerFiles = None,
    key: Annotated[
        str | None,
        option("COLUMN", "The column of the table and of --labels that names a row."),
    ] = None,
    as_of: Annotated[
        str | None,
        option("DATE", "Use only labels whose time, in --labels, is not after this."),
    ] = None,
    time: Annotated[
        str | None,
        option("COLUMN", "When each row was recorded: stability is then also by month."),
    ] = None,
    costs: CostOptions,
    batch: Annotated[
        str | None,
        option("NAME", "Name of these rows in the history; by default the file's."),
    ] = None,
    out: OutFolder = Path("."),
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if there is a reason to look closer.")
    ] = False,
    place: Place,
    day_first: DayFirst = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Estimate how good a model is on new rows, before labels arrive.

    The AUC, precision, recall and cost to expect are based on the labeled rows of the fit. Probabilities stand for the
    labels of the new rows, and labeled rows that resemble the new ones count more. With --labels, the same figures are
    measured on the rows whose labels have arrived; labels in the table itself are not used.

    The files are monitor.html, with the distribution of every column and of the score beside those of the fit
    (population stability index), monitor.json, and monitor_history.jsonl, to which each call adds a line: the page
    shows all batches over time.

    Labels are those of `fewlabel next` and `fewlabel label`, or with --key any file that has this column and a column
    called label, or like the label column of the fit.
    """
    if not answers and (key or as_of):
        wrong = "it is about labels: give them with --labels"
        raise WrongUse(wrong, "--key" if key else "--as-of")
    written = [out / name for name in (PAGE, SUMMARY, HISTORY)]
    for path in written if out.exists() else []:
        writable_file(path)
    keep_inputs(written, [model, *tables, *(answers or ())])
    from fewlabel import reporting
    from fewlabel.cli.late_labels import LateLabels
    from fewlabel.cli.new_rows import NewRows, load_model
    from fewlabel.monitor import Monitor, append_history, read_history

    fitted = load_model(model)
    watch = Monitor(fitted, costs=costs.read())
    late = None
    with place.open(tables) as source, progress(quiet, lines=False) as report:
        rows = NewRows(fitted, source, keep=[key] if key else [], time=time, day_first=day_first)
        rows.say_unknown(quiet)
        if answers:
            late = LateLabels(answers, source, fitted.target, key=key, as_of=as_of, day_first=day_first)
            say_notes(late.notes, quiet)
        for block in rows.blocks():
            watch.add(block.features, None if late is None else late.of(block))
            report(rows.drift.n_rows, None, "rows read")
    found = watch.result(rows.drift)
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
    say_notes(summary["alarms"], quiet)
    if strict and summary["alarms"]:
        raise ValueError(f"{len(summary['alarms'])} reason(s) to look closer, such as: {summary['alarms'][0]}")


def _show(summary: "PlainDict") -> None:
    """Print what is expected, and what was measured beside it."""
    from fewlabel.reporting import FIGURES, estimate_text

    lines = []
    for name, heading in FIGURES.items():
        estimates = [summary["expected"].get(name), summary["measured"].get(name)]
        if any(estimates):
            lines.append([heading, *(estimate_text(name, estimate) for estimate in estimates)])
    title = f"{short(summary['title'])}: {summary['rows']} new rows, {summary['labels']} with a label"
    if lines:
        print_table(title, ["", "expected (95% interval)", "measured"], lines, left=1)
    else:
        print(title)
    if summary["at_fit"] is not None:
        print(f"At fit: AUC {estimate_text('auc', summary['at_fit'])}.")
    if summary["reason"] is not None:
        print(f"Nothing to expect: {summary['reason']}.")
    if summary["differences"]:
        print(f"New rows differ from the labeled rows of the fit: {'; '.join(summary['differences'])}.")
    if summary["score_stability"] is not None:
        print(f"Scores: population stability index {summary['score_stability']:.2f} (0.25 is large).")
