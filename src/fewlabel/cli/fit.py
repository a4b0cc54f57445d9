"""``fewlabel fit``: from a table to a model, a report and the numbers."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fewlabel.cli.options import (
    AsJson,
    CostOptions,
    OutFolder,
    Quiet,
    Seed,
    Tables,
    option,
    unfold,
)
from fewlabel.cli.paths import keep_inputs, writable_file
from fewlabel.cli.reading import Reading
from fewlabel.cli.wrong_use import WrongUse

MODEL = "model.fewlabel"
REPORT = "report.html"
METRICS = "metrics.json"
NEXT = "label_next.csv"
MANIFEST = "manifest.json"
FILES = (MODEL, REPORT, METRICS, "model_card.md", NEXT, MANIFEST)
MANIFEST_FORMAT = 1


def defaults_from(context: typer.Context, path: Path | None) -> Path | None:
    """Take the options of a manifest where none is given: a callback of Typer."""
    if path is not None:
        context.default_map = read_manifest(path)["options"]
    return path


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest; wrong use if the file is none."""
    try:
        manifest = json.loads(path.read_text("utf-8"))
        is_known = manifest["manifest"] == MANIFEST_FORMAT and isinstance(manifest["options"], dict)
    # No JSON, or that of another file.
    except (ValueError, KeyError, TypeError):
        is_known = False
    if not is_known:
        raise WrongUse(f"{path} is no manifest.json of `fewlabel fit` of this version")
    return manifest


@dataclass(frozen=True)
class ThresholdOptions:
    """The options of `fewlabel fit` that choose the threshold."""

    review: Annotated[
        int | None,
        option("N", "Call the N highest unlabeled rows positive.", min=1),
    ] = None
    costs: CostOptions = field(default_factory=CostOptions)
    at_precision: Annotated[
        float | None,
        option("P", "Flag as many rows as have this precision.", min=1e-6, max=1),
    ] = None

    def __post_init__(self) -> None:
        given = self.given()
        if len(given) > 1:
            raise WrongUse(f"{' and '.join(given)} choose different thresholds: give one of them")

    def given(self) -> list[str]:
        """The options that were given; --cost-alarm only goes with --cost-miss."""
        values = {"--review": self.review, "--cost-miss": self.costs.cost_miss, "--at-precision": self.at_precision}
        return [option for option, value in values.items() if value is not None]


@dataclass(frozen=True)
class FitOptions:
    """The options of `fewlabel fit`."""

    tables: Tables
    reading: Reading
    threshold: ThresholdOptions
    method: Annotated[
        str,
        option(
            "NAME",
            "auto, small, scorecard (the best additive one), or a name from `fewlabel methods`.",
            "--method",
            "-m",
        ),
    ] = "auto"
    out: OutFolder = Path(".")
    groups: Annotated[
        str | None,
        option("COLUMN", "The patient, customer or device of each row: scores are then for new ones. Not a feature."),
    ] = None
    time: Annotated[
        str | None,
        option(
            "COLUMN",
            "When each row was recorded: scores are then for rows later than those learned from. Not a feature.",
        ),
    ] = None
    weights: Annotated[
        str | None,
        option("COLUMN", "How much each row counts, for instance how many it stands for."),
    ] = None
    rare_classes: Annotated[
        Literal["keep", "merge", "drop"],
        option(
            "HOW", "Classes with one or two labels, of three or more: keep them, merge them into one, or drop them."
        ),
    ] = "keep"
    labels_drawn: Annotated[
        Literal["auto", "random", "by-columns"],
        option(
            "HOW",
            "How rows were chosen to be labeled: random, by-columns, or auto to test it. If by columns, all "
            "figures are for the unlabeled rows. With positives only: random if they are a random sample of all.",
        ),
    ] = "auto"
    label_probability: Annotated[
        str | None,
        option("COLUMN", "Probability with which each row was chosen to be labeled; empty where it is not known."),
    ] = None
    labeled_because: Annotated[
        list[str] | None,
        option("COLUMN", "With positives only: a column that decided which of them were labeled; can be repeated."),
    ] = None
    keep: Annotated[
        list[str] | None,
        option("COLUMN", "Use this column of --groups, --time or --weights as a feature."),
    ] = None
    monotone: Annotated[
        list[str] | None,
        option(
            "COLUMN+|COLUMN-",
            "With --method scorecard: points must not fall (+) or rise (-) as the column grows; can be repeated.",
        ),
    ] = None
    special: Annotated[
        list[str] | None,
        option(
            "[COLUMN=]VALUE",
            "A value that stands for something else in columns of numbers, such as -999; can be repeated.",
        ),
    ] = None
    prior: Annotated[
        float | None,
        option(
            "SHARE",
            "Share of positives among the unlabeled rows. Without another threshold, as many are flagged.",
            min=1e-6,
            max=1 - 1e-6,
        ),
    ] = None
    scoring: Annotated[
        Literal["roc_auc", "average_precision"], option("NAME", "What to maximize: roc_auc or average_precision.")
    ] = "roc_auc"
    interval: Annotated[
        Literal["experience", "distribution-free"],
        option(
            "KIND",
            "What scores and their intervals count: experience, other tables too; distribution-free, labels only.",
        ),
    ] = "experience"
    report_by: Annotated[
        list[str] | None,
        option(
            "COLUMN",
            "Report AUC, rows flagged, precision and recall of each group of this column; can be repeated. "
            "It may be a column of --drop.",
        ),
    ] = None
    time_budget: Annotated[
        float | None,
        option("SECONDS", "Start no further method after this time.", min=1),
    ] = None
    jobs: Annotated[int, option("N", "Methods to fit in parallel; -1 for all cores.", "--jobs", "-j")] = -1
    engine: Annotated[Literal["memory", "dask"], option("NAME", "memory, or dask for tables larger than memory.")] = (
        "memory"
    )
    scheduler: Annotated[
        str | None,
        option("ADDRESS", "A Dask cluster; by default threads of this process."),
    ] = None
    repeated: Annotated[
        Path | None,
        option(
            "FILE",
            "A manifest.json: fit again with its table and options, and compare the models.",
            "--from",
            exists=True,
            dir_okay=False,
            is_eager=True,
            callback=defaults_from,
        ),
    ] = None
    seed: Seed = 0
    as_json: AsJson = False
    quiet: Quiet = False


@unfold()
def fit(options: FitOptions) -> None:
    """Learn from a table; write a model, a report and the numbers.

    The files are model.fewlabel, report.html, metrics.json, model_card.md, manifest.json (what the model was made from)
    and label_next.csv, the rows to label next.

    Unlabeled rows have an empty label, or -1 beside two or more classes of numbers. `fewlabel check` shows how a table
    is read. If only one class is labeled, it is the positive class, and unlabeled rows may be of either class.

    With --engine dask, the labeled rows and a random sample of the others are gathered in one pass over the files, and
    the rest is as above; other samples then check that more unlabeled rows would not change the ranking.
    """
    # All that can be wrong with files is said before the first row is read: a fit can take minutes.
    written = [options.out / name for name in FILES]
    if options.out.exists():
        for file in written:
            writable_file(file)
    read = [*options.tables, *(options.reading.answers or ())]
    if options.repeated is not None:
        read.append(options.repeated)
    keep_inputs(written, read)
    if options.engine == "dask":
        from fewlabel.cli.fit_dask import fit_sample

        fit_sample(options)
    else:
        from fewlabel.cli.fit_memory import fit_memory

        fit_memory(options)
