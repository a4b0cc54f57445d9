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
    page = out / PAGE
    numbers = out / SUMMARY
    history = out / HISTORY
    if out.exists():
        for path in (page, numbers, history):
            writable_file(path)
    keep_inputs([page, numbers, history], [model, *tables, *(answers or ())])
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
            labels = None if late is None else late.of(block)
            watch.add(block.features, labels)
            report(rows.drift.n_rows, None, "rows read")
    found = watch.result(rows.drift)
    name = batch or source.name
    digest = sha256(model)
    summary = {"title": source.name, "batch": name, "model_sha256": digest, **found.to_dict()}
    out.mkdir(exist_ok=True)
    # The history first: the page shows this batch as its last one.
    append_history(history, name, summary, model_sha256=digest)
    write_json(summary, numbers)
    reporting.write_monitor(summary, read_history(history), page)
    if as_json:
        print_json(summary)
    elif not quiet:
        _show(summary)
        print(f"\nPage:    {page}\nHistory: {history}")
    alarms = summary["alarms"]
    say_notes(alarms, quiet)
    if strict and alarms:
        raise ValueError(f"{len(alarms)} reason(s) to look closer, such as: {alarms[0]}")


def _show(summary: "PlainDict") -> None:
    """Print what is expected, and what was measured beside it."""
    from fewlabel.reporting import FIGURES, estimate_text

    lines = []
    for name, heading in FIGURES.items():
        expected = summary["expected"].get(name)
        measured = summary["measured"].get(name)
        if expected or measured:
            lines.append([heading, estimate_text(name, expected), estimate_text(name, measured)])
    title = f"{short(summary['title'])}: {summary['rows']} new rows, {summary['labels']} with a label"
    if lines:
        print_table(title, ["", "expected (95% interval)", "measured"], lines, left=1)
    else:
        print(title)
    if summary["at_fit"] is not None:
        at_fit = estimate_text("auc", summary["at_fit"])
        print(f"At fit: AUC {at_fit}.")
    if summary["reason"] is not None:
        print(f"Nothing to expect: {summary['reason']}.")
    if summary["missing"] is not None:
        print(f"Only the AUC is expected: {summary['missing']}.")
    if summary["differences"]:
        listed = "; ".join(summary["differences"])
        print(f"New rows differ from the labeled rows of the fit: {listed}.")
    if summary["score_stability"] is not None:
        print(f"Scores: population stability index {summary['score_stability']:.2f} (0.25 is large).")
