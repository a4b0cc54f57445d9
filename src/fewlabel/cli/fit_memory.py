"""``fewlabel fit`` on a table in memory: read, encode, fit, report; each once."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer

from fewlabel import persistence, report
from fewlabel.active.answers import answer_sheet
from fewlabel.auto import AutoClassifier
from fewlabel.cli.fit import FILES, METRICS, MODEL, NEXT, REPORT, FitOptions
from fewlabel.cli.methods import SCORECARD, find_method
from fewlabel.cli.paths import keep_answers, new_set, require_column, sha256, write_json
from fewlabel.cli.reading import TableRows, label_rows, read_rows
from fewlabel.cli.terminal import print_json, print_table, progress, say
from fewlabel.decisions import Costs
from fewlabel.label_app import auc_of_table
from fewlabel.rows import Rows
from fewlabel.tables import Decision, TableClassifier, choose_cut, repeated_rows, suspicions
from fewlabel.text import short


def fit_memory(options: FitOptions) -> None:
    """Fit a model to one file, and write the model, the report and the metrics."""
    path = _only_file(options)
    check_options(options)
    rows = read_rows(path, options.reading, new_target=bool(options.reading.answers), with_keys=True)
    fit_rows(options, rows, path.name)


def check_options(options: FitOptions) -> None:
    """Wrong use, or an answer sheet that would be overwritten, before any row is read."""
    _new_estimator(options)
    keep_answers(options.out / NEXT)


def fit_rows(
    options: FitOptions, rows: TableRows, title: str, check: Callable[[TableClassifier], str | None] | None = None
) -> bool:
    """Fit a model to rows in memory, and write the files.

    Parameters
    ----------
    check : callable, default=None
        ``check(model)`` looks at the fitted model; its note goes into the report. If it returns None, nothing is
        written, and the result is False.
    """
    estimator = _new_estimator(options)
    _, column, notes = label_rows(rows, options.reading)
    _say_notes(notes, options.quiet)  # the first line, before dates and texts are encoded
    X, sampled_by = split_by(options, rows)
    day_first = options.reading.day_first
    model = TableClassifier(estimator, positive=column.positive, dayfirst=day_first, random_state=options.seed)
    encoded = model.encode(X, column.labels, target=options.reading.target, **sampled_by)
    n_said = len(notes)
    if options.weights is not None:
        notes.append(
            f"rows count by column {short(options.weights)!r} in the fit of the methods that take weights, in the "
            "scores and in the cut; curves and histograms count rows"
        )
    notes += [found.note for found in suspicions(X, column.labels.codes) if found.column not in model.leaks_]
    notes += repeated_rows(encoded.X, column.labels.codes).notes
    _say_notes([*notes[n_said:], *report.table_notes(model)], options.quiet)
    n_said = len(notes)
    with progress(options.quiet) as tell:
        model.fit_encoded(encoded, callback=tell)
    if check is not None:
        checked = check(model)
        if checked is None:
            return False
        notes.append(checked)
    notes += _table_note(rows, model, encoded)
    _say_notes([*notes[n_said:], *report.method_notes(model)], options.quiet)
    decision = _choose_cut(options, model, encoded)
    say("writing the report", options.quiet)
    query = report.rows_to_label(model, encoded, seed=options.seed)
    summary = report.summarize(
        model,
        X,
        encoded,
        title=title,
        command=_command(options),
        seed=options.seed,
        notes=notes,
        decision=decision,
        model_file=str(options.out / MODEL),
        query=query,
    )
    _write_all(options.out, model, summary, answer_sheet(rows.table, rows.keys, query))
    if options.as_json:
        print_json(report.metrics(summary))
    elif not options.quiet:
        show(summary)
        print(f"\nModel:   {options.out / MODEL}\nReport:  {options.out / REPORT}\nMetrics: {options.out / METRICS}")
    return True


def _say_notes(notes: list[str], quiet: bool) -> None:
    for note in notes:
        say(f"note: {note}", quiet)


def _table_note(rows: TableRows, model: TableClassifier, encoded: Rows) -> list[str]:
    """The AUC that the choice of the answered rows does not bias, if enough of them were drawn at random."""
    if rows.merged is None:
        return []
    merged = rows.merged
    found = auc_of_table(model.estimator_, encoded.codes, merged.order, merged.random, merged.probability)
    if found is None:
        return []
    return [
        f"AUC {found.auc:.3f} ({found.low:.3f} to {found.high:.3f}) for all rows of the table, by the "
        f"{int(merged.random.sum())} answers that were drawn at random; the other figures are for the labeled rows, "
        "most of which were chosen to be hard"
    ]


def split_by(options: FitOptions, rows: TableRows) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The columns to learn from, and those that say how to validate and how much a row counts."""
    X = rows.table
    columns = {
        "groups": options.groups,
        "time": options.time,
        "weights": options.weights,
        "label-probability": options.label_probability,
    }
    given = {option: name for option, name in columns.items() if name is not None}
    for option, name in given.items():
        require_column(name, list(X.columns), f"--{option}")
    for name in options.keep or ():
        if name not in given.values():
            wrong = f"{short(name)!r} is not the column of --groups, --time or --weights"
            raise typer.BadParameter(wrong, param_hint="--keep")
    found = {option: X[name] for option, name in given.items()}
    if "weights" in found:
        written = _read_weights(found.pop("weights"))
        found["sample_weight"] = written if rows.weights is None else rows.weights
    if "label-probability" in found:
        found["label_probability"] = _read_weights(found.pop("label-probability"), "--label-probability")
    return X.drop(columns=sorted({*given.values()} - set(options.keep or ()))), found


def _read_weights(column: pd.Series, option: str = "--weights") -> pd.Series:
    weights = pd.to_numeric(column, errors="coerce").astype(float)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        raise typer.BadParameter(
            f"column {short(str(column.name))!r} has {int(wrong.sum())} values that are not numbers from 0 on, such as "
            f"{short(str(column[wrong].iloc[0]))!r}: replace them",
            param_hint=option,
        )
    return weights


def _only_file(options: FitOptions) -> Path:
    first, *others = options.tables
    if others or first.is_dir():
        raise typer.BadParameter(
            f"{others[0] if others else first}: only --engine dask reads several files or a folder; name one file"
        )
    return first


def _new_estimator(options: FitOptions) -> AutoClassifier:
    if options.scoring not in ("roc_auc", "average_precision"):
        raise typer.BadParameter(f"{options.scoring!r} is not roc_auc or average_precision", param_hint="--scoring")
    if options.labels_drawn not in ("auto", "random", "by-columns"):
        wrong = f"{options.labels_drawn!r} is not auto, random or by-columns"
        raise typer.BadParameter(wrong, param_hint="--labels-drawn")
    return AutoClassifier(
        find_method(options.method),
        scoring=options.scoring,
        prior=options.prior,
        interpretable=options.method == SCORECARD,
        labels_drawn=options.labels_drawn,
        time_budget=options.time_budget,
        n_jobs=options.jobs,
        random_state=options.seed,
    )


def _choose_cut(options: FitOptions, model: TableClassifier, encoded: Rows) -> Decision | None:
    """The cut that the options ask for, now stored in the model; None with more than two classes."""
    cut = options.cut
    if model.positive_ is None:
        if cut.given():
            raise typer.BadParameter(
                "it is for two classes: name the one to find with --positive", param_hint=cut.given()[0]
            )
        return None
    costs = None if cut.cost_miss is None or cut.cost_alarm is None else Costs(cut.cost_miss, cut.cost_alarm)
    at_prior = options.prior is not None and not cut.given()
    return choose_cut(model, encoded, review=cut.review, costs=costs, precision=cut.at_precision, at_prior=at_prior)


def _command(options: FitOptions) -> str:
    """The command that gives the same result."""
    parts = ["fewlabel", "fit", *map(str, options.tables), *options.reading.arguments()]
    for option, value, default in (
        ("--groups", options.groups, None),
        ("--time", options.time, None),
        ("--weights", options.weights, None),
        ("--labels-drawn", options.labels_drawn, "auto"),
        ("--label-probability", options.label_probability, None),
        *(("--keep", name, None) for name in options.keep or ()),
        ("--method", options.method, "auto"),
        ("--prior", options.prior, None),
        ("--review", options.cut.review, None),
        ("--cost-miss", options.cut.cost_miss, None),
        ("--cost-alarm", options.cut.cost_alarm, None),
        ("--at-precision", options.cut.at_precision, None),
        ("--scoring", options.scoring, "roc_auc"),
        ("--time-budget", options.time_budget, None),
        ("--engine", options.engine, "memory"),
        ("--seed", options.seed, 0),
        ("--out", str(options.out), "."),
    ):
        if value != default:
            parts += [option, f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(parts)


def _write_all(out: Path, model: TableClassifier, summary: dict[str, Any], sheet: pd.DataFrame) -> None:
    """Write the files as one set; the report and the metrics hold the digest of their model."""
    with new_set(out, *FILES) as (model_file, report_file, metrics_file, card_file, next_file):
        persistence.save(model, model_file)
        summary["model_sha256"] = sha256(model_file)
        report.write(summary, report_file)
        write_json(report.metrics(summary), metrics_file)
        report.write_card(summary, card_file)
        sheet.to_csv(next_file, index=False)


def show(summary: dict[str, Any]) -> None:
    """Print the leaderboard, the headline and the threshold."""
    data = summary["data"]
    rows = []
    for row in summary["leaderboard"]:
        has_weight = row["weight"] and row["family"] != "ensemble"
        rows.append(
            [
                short(row["method"], 40),
                "all rows" if row["uses_unlabeled"] else "labeled",
                f"{row['score']:.3f}",
                f"{row['low']:.3f} to {row['high']:.3f}",
                f"{row['weight']:.2f}" if has_weight else "",
                f"{row['fit_seconds']:.2f}",
            ]
        )
    title = f"{short(summary['title'])}: {data['labeled']} labeled and {data['unlabeled']} unlabeled rows"
    heads = ["method", "learns from", summary["score_name"], "95% interval", "weight", "seconds"]
    print_table(title, heads, rows, left=2)
    if summary["headline"]["reason"] is not None:
        print("The scores of the methods are for rows like the labeled ones.")
    if summary["selection"]["text"]:
        print(summary["selection"]["text"])
    print(summary["headline"]["text"])
    if summary["task"] == "positive-unlabeled":
        print(summary["unlabeled"]["text"])
    if summary["decisions"] is not None:
        print(summary["decisions"]["text"])
