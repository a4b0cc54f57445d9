"""``fewlabel bench``: rerun a paper's experiments and compare with its numbers."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fewlabel.cli.options import Debug, Quiet
from fewlabel.cli.terminal import print_table, progress, say


def _parts(text: str | None) -> list[str] | None:
    """Split a list at commas; a comma before a blank belongs to a name, as in "nnPU, linear"."""
    import re

    return None if text is None else [part.strip() for part in re.split(r",(?! )", text) if part.strip()]


def bench(
    suite: Annotated[str | None, typer.Argument(help="A suite; --list shows them all.")] = None,
    *,
    datasets: Annotated[str | None, typer.Option(help="Only these datasets, such as pima,sonar.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these methods, separated by commas without blanks.")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Number of repeats; by default the paper's.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of parallel processes.")] = 1,
    time_limit: Annotated[float | None, typer.Option(min=0.1, help="Seconds per run of a method.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; bench/SUITE by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="With --resume: also repeat what failed.")
    ] = False,
    data_home: Annotated[
        Path | None, typer.Option(help="Folder of the datasets; by default the variable FEWLABEL_DATA.")
    ] = None,
    download: Annotated[bool, typer.Option("--download", help="Download missing datasets from OpenML.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List suites and datasets.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Rerun a paper's experiments and print our numbers next to the published ones."""
    from fewlabel.bench import SUITES, get_suite, plan, run_cells, write_pages

    home = str(data_home) if data_home else None
    if list_all:
        _list(home)
        return
    if suite not in SUITES:
        raise typer.BadParameter(f"name a suite: {', '.join(SUITES)}", param_hint="SUITE")
    chosen = get_suite(suite)
    try:
        cells, left_out = plan(
            chosen,
            datasets=_parts(datasets),
            methods=_parts(methods),
            repeats=repeats,
            data_home=home,
            download=download,
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    folder = out or Path("bench") / chosen.name
    if (folder / "cells").exists() and not resume:
        raise typer.BadParameter(
            f"{folder} already holds a run: continue it with --resume, or choose another folder with --out"
        )
    for what, why in left_out.items():
        say(f"left out: {what}: {why}", quiet)
    if not cells:
        raise ValueError("nothing to run: every dataset or method is left out, for the reasons above")
    with progress(quiet) as report:
        for step in run_cells(
            chosen, cells, folder, jobs=jobs, time_limit=time_limit, data_home=home, retry_failed=retry_failed
        ):
            report(step.done, step.total, step.name)
    command = "fewlabel " + shlex.join(sys.argv[1:]) if sys.argv[1:2] == ["bench"] else f"fewlabel bench {chosen.name}"
    summary = write_pages(chosen, folder, left_out, command)
    if not quiet:
        _show(summary, chosen.title)
    say(f"wrote {folder / 'index.html'}, index.md and results.parquet", quiet)


def _show(summary: dict[str, Any], title: str) -> None:
    for section in summary["sections"]:
        table = section["paper"] if section["paper"] is not None else section["ours"]
        rows = [[str(value) for value in row] for row in table.reset_index().to_numpy()]
        print_table(section["setting"] or title, ["", *map(str, table.columns)], rows, left=1)


def _list(data_home: str | None) -> None:
    from fewlabel.bench import SUITES, get_suite
    from fewlabel.datasets import list_datasets

    suites = [get_suite(name) for name in SUITES]
    rows = [[s.name, s.title, str(len(s.datasets)), str(len(s.methods)), str(s.repeats)] for s in suites]
    print_table("Suites", ["suite", "title", "datasets", "methods", "repeats"], rows, left=2)
    rows = [
        [str(name), f"{known['rows']:,}", str(known["columns"]), str(known["classes"]), known["where"] or "-"]
        for name, known in list_datasets(data_home).iterrows()
    ]
    print_table("Datasets", ["dataset", "rows", "columns", "classes", "where"], rows, left=1)
