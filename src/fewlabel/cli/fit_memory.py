"""``fewlabel fit`` on a table in memory: read, encode, fit, report; each once."""

import shlex
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fewlabel import persistence, reporting
from fewlabel.active.answers import answer_sheet
from fewlabel.active.raters import combine_with_model, contradicting
from fewlabel.auto import DISTRIBUTION_FREE, AutoClassifier
from fewlabel.checks import check_non_negative
from fewlabel.cli.fit import FILES, MODEL, NEXT, FitOptions
from fewlabel.cli.manifest import compare_with, describe_run
from fewlabel.cli.methods import SCORECARD, find_method
from fewlabel.cli.options import command_words
from fewlabel.cli.paths import keep_answers, new_set, require_column, write_json
from fewlabel.cli.reading import TableRows, label_rows, read_rows
from fewlabel.cli.terminal import print_json, print_table, progress, say, say_notes
from fewlabel.cli.wrong_use import WrongUse, as_wrong_use
from fewlabel.files import sha256
from fewlabel.label_app import auc_of_table
from fewlabel.labels import treat_rare_classes
from fewlabel.rows import Rows
from fewlabel.tables import (
    Decision,
    TableClassifier,
    TableDigest,
    choose_threshold,
    digest_table,
    repeated_rows,
    suspicions,
)
from fewlabel.text import short
from fewlabel.types import PlainDict

if TYPE_CHECKING:
    from fewlabel.labels import LabelColumn, Labels

# Options that do not change the result, and so are not part of the command that gives the same one.
_WITHOUT_EFFECT = ("jobs", "scheduler", "as_json", "quiet", "repeated")


def fit_memory(options: FitOptions) -> None:
    """Fit a model to a table, and write the model, the report and the metrics."""
    check_options(options)
    rows = read_rows(options.tables, options.reading, new_target=bool(options.reading.answers), with_keys=True)
    fit_rows(options, rows)


def check_options(options: FitOptions) -> None:
    """Wrong use, or an answer sheet that would be overwritten, before any row is read."""
    # Made only to be checked: an unknown method is wrong use.
    _new_estimator(options)
    keep_answers(options.out / NEXT)


def fit_rows(
    options: FitOptions, rows: TableRows, check: Callable[[TableClassifier], str | None] | None = None
) -> bool:
    """Fit a model to rows in memory, and write the files.

    Parameters
    ----------
    check : callable, default=None
        ``check(model)`` looks at the fitted model; its note goes into the report. If it returns None, nothing is
        written, and the result is False.
    """
    estimator = _new_estimator(options)
    report_by = _report_by(options, rows)
    audit_probability = _audit_probability(options, rows)
    column, label_notes = label_rows(rows, options.reading)
    labels, rare = treat_rare_classes(column.labels, options.rare_classes)
    if rare:
        done = "merged into one" if options.rare_classes == "merge" else "taken as unlabeled"
        label_notes.append(f"classes with one or two labels are {done}: {short(', '.join(map(str, rare)))}")
    # Said before dates and texts are encoded: how the labels are read is the first thing to know.
    say_notes(label_notes, options.quiet)
    X, sampled_by = split_by(options, rows)
    if audit_probability is not None:
        sampled_by["label_probability"] = audit_probability
    model = TableClassifier(
        estimator,
        positive=column.positive,
        dayfirst=options.reading.day_first,
        special_values=_special_values(options, X),
        random_state=options.seed,
    )
    with options.reading.naming_target():
        encoded = model.encode(X, labels, target=options.reading.target, **sampled_by)
    encoded, labelers = _combine_answers(rows, encoded, options.seed)
    table_notes = _notes_on_table(options, X, labels, model, encoded)
    say_notes([*table_notes, *reporting.table_notes(model)], options.quiet)
    with progress(options.quiet) as tell, options.reading.naming_target():
        model.fit_encoded(encoded, callback=tell)
    # Before the report, which takes seconds and would be about a model that is fitted again.
    fit_notes = []
    if check is not None:
        verdict = check(model)
        if verdict is None:
            return False
        fit_notes.append(verdict)
    fit_notes += _note_on_random_answers(rows, model, encoded)
    say_notes([*fit_notes, *reporting.method_notes(model)], options.quiet)
    decision = _choose_threshold(options, model, encoded)
    say("writing the report", options.quiet)
    query = reporting.rows_to_label(model, encoded, seed=options.seed)
    summary = reporting.summarize(
        model,
        X,
        encoded,
        title=rows.source.name,
        command=shlex.join(["fewlabel", "fit", *command_words(options, omit=_WITHOUT_EFFECT)]),
        seed=options.seed,
        notes=label_notes,
        cautions=[*table_notes, *fit_notes],
        decision=decision,
        model_file=str(options.out / MODEL),
        query=query,
        report_by=report_by,
        labelers=labelers,
    )
    manifest = describe_run(options, rows, column, _digest(options, rows, column), summary)
    _write_all(options.out, model, summary, manifest, answer_sheet(rows.table, rows.keys, query))
    if options.as_json:
        print_json(reporting.metrics(summary))
    elif not options.quiet:
        show(summary)
        print()
        titles = ("Model", "Report", "Metrics", "Model card", "Label next", "Manifest")
        for name, file in zip(titles, FILES):
            print(f"{name + ':':12}{options.out / file}")
    if options.repeated is not None:
        say(compare_with(options.repeated, manifest), options.quiet)
    return True


def _digest(options: FitOptions, rows: TableRows, column: "LabelColumn") -> TableDigest:
    """Digest of the rows and their labels, as they were read."""
    labels = column.labels
    names = [*map(str, labels.classes), None]
    texts = [names[code] for code in labels.codes]
    target = pd.Series(texts, dtype=object, index=rows.table.index, name=options.reading.target)
    table = pd.concat([rows.table, target], axis=1)
    return digest_table(table, dayfirst=options.reading.day_first)


def _report_by(options: FitOptions, rows: TableRows) -> dict[str, pd.Series]:
    """The columns whose groups are reported; a column that is not learned from can be one of them."""
    columns = pd.concat([rows.table, rows.dropped], axis=1)
    for name in options.report_by or ():
        require_column(name, list(columns), "--report-by")
    return {name: columns[name] for name in options.report_by or ()}


def _combine_answers(rows: TableRows, encoded: Rows, seed: int) -> tuple[Rows, PlainDict | None]:
    """Rows with labels in which a model has a say, too, where people contradict each other; and how far these agree."""
    votes = None if rows.merged is None else rows.merged.votes
    if votes is None:
        return encoded, None
    code_of = {str(name): code for code, name in enumerate(encoded.classes)}
    # With a class to find, all others are one, whose name may be none of theirs.
    codes = np.array([code_of.get(name, 0) for name in votes.classes])
    answers = np.where(votes.codes < 0, -1, codes[votes.codes])
    found = combine_with_model(answers, len(encoded.classes), encoded.X[votes.rows], seed=seed)
    combined = encoded.codes.copy()
    # Where the table itself contradicts the answers, the row stays unlabeled.
    decided = contradicting(answers) & (combined[votes.rows] >= 0)
    combined[votes.rows[decided]] = found.codes[decided]
    names = [str(name) for name in encoded.classes]
    return replace(encoded, codes=combined), reporting.describe_labelers(votes, answers, combined[votes.rows], names)


def _notes_on_table(
    options: FitOptions, X: pd.DataFrame, labels: "Labels", model: TableClassifier, encoded: Rows
) -> list[str]:
    notes = []
    if options.weights is not None:
        notes.append(
            f"rows count by column {short(options.weights)!r} in the fit of the methods that take weights, in the "
            "scores and in the threshold; curves and histograms count rows"
        )
    for suspicion in suspicions(X, labels.codes):
        # The report has a note of its own on leaks.
        if suspicion.column not in model.leaks_:
            notes.append(suspicion.note)
    return notes + repeated_rows(encoded.X, labels.codes).notes


def _note_on_random_answers(rows: TableRows, model: TableClassifier, encoded: Rows) -> list[str]:
    """The AUC that the choice of the answered rows does not bias, if enough of them were drawn at random."""
    merged = rows.merged
    # After an audit every estimate is for the unlabeled rows already.
    if merged is None or merged.n_audited:
        return []
    estimate = auc_of_table(model.estimator_, encoded.codes, merged.order, merged.random, merged.probability)
    if estimate is None:
        return []
    n_random = int(merged.random.sum())
    return [
        f"AUC {estimate.auc:.3f} ({estimate.low:.3f} to {estimate.high:.3f}) for all rows of the table, by the "
        f"{n_random} answers that were drawn at random; the other figures are for the labeled rows, most of which "
        "were chosen to be hard"
    ]


def role_columns(options: FitOptions, columns: Iterable[str]) -> dict[str, str]:
    """The columns with a role, by the option that names each; wrong use if one is not there."""
    names = {
        "--groups": options.groups,
        "--time": options.time,
        "--weights": options.weights,
        "--label-probability": options.label_probability,
        "--label-time": options.reading.label_time,
    }
    given = {option: name for option, name in names.items() if name is not None}
    for option, name in given.items():
        require_column(name, list(columns), option)
    for name in options.keep or ():
        if name not in given.values():
            wrong = f"{short(name)!r} is not the column of --groups, --time or --weights"
            raise WrongUse(wrong, "--keep")
    return given


def split_by(options: FitOptions, rows: TableRows) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The columns to learn from, and those that say how to validate and how much a row counts."""
    X = rows.table
    roles = role_columns(options, X.columns)
    sampled_by: dict[str, Any] = {}
    for option, name in roles.items():
        column = X[name]
        if option == "--weights":
            sampled_by["sample_weight"] = _read_numbers(column, option)
        elif option == "--label-probability":
            # Where the cell is empty, nobody knows it.
            known = _read_numbers(column[column.notna()], option)
            sampled_by["label_probability"] = known.reindex(column.index)
        elif option in ("--groups", "--time"):
            sampled_by[option.removeprefix("--")] = column
    left_out = set(roles.values()) - set(options.keep or ())
    return X.drop(columns=list(left_out)), sampled_by


def _audit_probability(options: FitOptions, rows: TableRows) -> np.ndarray | None:
    """Probabilities that the answers to an audit hold; wrong use if a column gives others."""
    if rows.merged is None:
        return None
    drawn = rows.merged.known_probability()
    if drawn is not None and options.label_probability is not None:
        raise WrongUse(
            f"the files of --labels have {rows.merged.n_audited} answers to an audit, which was drawn with "
            "probabilities of its own: leave out --label-probability to estimate from the audit. To estimate from the "
            "column instead, empty the column 'probability' of these files",
            "--label-probability",
        )
    return drawn


def _read_numbers(column: pd.Series, option: str) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    with as_wrong_use(option):
        check_non_negative(f"column {short(str(column.name))!r}", numbers, column.to_numpy())
    return numbers


def _directions(options: FitOptions) -> dict[str, int] | None:
    """Directions of columns, from words such as income-."""
    if not options.monotone:
        return None
    if options.method != SCORECARD:
        raise WrongUse("it is for --method scorecard", "--monotone")
    signs = {"+": 1, "-": -1}
    directions = {}
    for word in options.monotone:
        if word[-1:] not in signs:
            raise WrongUse(f"{word!r} ends neither in + nor in -, as income- does", "--monotone")
        directions[word[:-1]] = signs[word[-1]]
    return directions


def _special_values(options: FitOptions, X: pd.DataFrame) -> dict[str, list[str]] | None:
    """Special values of columns, from words such as -999, for all columns, or income=-999."""
    if not options.special:
        return None
    special: dict[str, list[str]] = {name: [] for name in X.columns}
    for word in options.special:
        name, is_named, value = word.rpartition("=")
        for column in [name] if is_named else X.columns:
            special.setdefault(column, []).append(value)
    return special


def _new_estimator(options: FitOptions) -> AutoClassifier:
    if options.interval == DISTRIBUTION_FREE and options.scoring != "roc_auc":
        raise WrongUse("only the AUC has a distribution-free one: leave out --scoring", "--interval")
    return AutoClassifier(
        find_method(options.method),
        scoring=options.scoring,
        prior=options.prior,
        interpretable=options.method == SCORECARD,
        monotone=_directions(options),
        labels_drawn=options.labels_drawn,  # type: ignore[arg-type]  # checked above
        labeled_because=options.labeled_because,
        interval=options.interval,  # type: ignore[arg-type]
        time_budget=options.time_budget,
        n_jobs=options.jobs,
        random_state=options.seed,
    )


def _choose_threshold(options: FitOptions, model: TableClassifier, encoded: Rows) -> Decision | None:
    """The threshold that the options ask for, now stored in the model; None with more than two classes."""
    threshold = options.threshold
    given = threshold.given()
    if model.positive_ is None:
        given += ["--report-by"] if options.report_by else []
        if given:
            raise WrongUse("it is for two classes: name the one to find with --positive", given[0])
        return None
    costs = threshold.costs.read()
    # A prior says how many rows to call positive, unless another threshold does.
    at_prior = options.prior is not None and not given
    asked = threshold.at_precision
    try:
        return choose_threshold(
            model, encoded, review=threshold.review, costs=costs, precision=asked, at_prior=at_prior
        )
    except ValueError as error:
        if asked is None:
            raise
        # These labels cannot promise it.
        raise WrongUse(str(error), "--at-precision") from error


def _write_all(out: Path, model: TableClassifier, summary: PlainDict, manifest: PlainDict, sheet: pd.DataFrame) -> None:
    """Write the files as one set; the report and the metrics hold the digest of their model."""
    with new_set(out, *FILES) as (model_file, report_file, metrics_file, card_file, next_file, manifest_file):
        persistence.save(model, model_file)
        # The model first, as the others name its digest.
        summary["model_sha256"] = sha256(model_file)
        reporting.write(summary, report_file)
        write_json(reporting.metrics(summary), metrics_file)
        manifest["model"] = {"file": MODEL, "sha256": summary["model_sha256"]}
        write_json(manifest, manifest_file)
        reporting.write_card(summary, card_file, manifest)
        sheet.to_csv(next_file, index=False)


def show(summary: PlainDict) -> None:
    """Print who was labeled, the leaderboard, the headline and the threshold."""
    rows = []
    # The model that is saved first, then what it is made of.
    for row in sorted(summary["leaderboard"], key=lambda row: row["family"] != "ensemble"):
        name = short(row["method"], 40)
        learns_from = "all rows" if row["uses_unlabeled"] else "labeled"
        high = reporting.end_text(row["high"], summary["headline"]["positives_only"])
        interval = f"{row['low']:.3f} to {high}"
        # The ensemble has no weight in itself.
        has_weight = row["weight"] and row["family"] != "ensemble"
        weight = f"{row['weight']:.2f}" if has_weight else ""
        rows.append([name, learns_from, f"{row['score']:.3f}", interval, weight, f"{row['fit_seconds']:.2f}"])
    data = summary["data"]
    # First: whom every number below it is about.
    if summary["selection"]["text"]:
        print(summary["selection"]["text"])
    title = f"{short(summary['title'])}: {data['labeled']} labeled and {data['unlabeled']} unlabeled rows"
    headings = ["method", "learns from", summary["score_name"], "95% interval", "weight", "seconds"]
    print_table(title, headings, rows, left=2)
    print(f"{summary['headline']['text']} {summary['certainty']['text']}".rstrip())
    # Old terminals have no minus sign of its own.
    print(summary["choice"]["text"].replace("\N{MINUS SIGN}", "-"))
    if summary["confusion"] is not None:
        print(summary["confusion"]["text"])
    if summary["unlabeled"]["text"]:
        print(summary["unlabeled"]["text"])
    if summary["decisions"] is not None:
        print(summary["decisions"]["text"])
