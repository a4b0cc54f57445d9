"""``fewlabel bench``: a paper's experiment, rerun beside its numbers."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from fewlabel.cli.options import Debug, Quiet, follow, print_table, say


def _parts(text: str | None) -> list[str] | None:
    """Names in a list with commas; a name may hold a comma itself if a blank follows it, as in "nnPU, linear"."""
    import re

    return None if text is None else [part.strip() for part in re.split(r",(?! )", text) if part.strip()]


def bench(
    suite: Annotated[str | None, typer.Argument(help="A suite; --list names them.")] = None,
    datasets: Annotated[str | None, typer.Option(help="Some of its datasets: pima,sonar")] = None,
    methods: Annotated[str | None, typer.Option(help="Some of its methods, with commas and no blanks between.")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Repeats; as many as the paper by default.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    time_limit: Annotated[float | None, typer.Option(min=0.1, help="Seconds for a cell.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for cells and pages; bench/SUITE by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that is there.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="With --resume: failed cells too.")] = False,
    data_home: Annotated[Path | None, typer.Option(help="Folder with the datasets; FEWLABEL_DATA by default.")] = None,
    download: Annotated[bool, typer.Option("--download", help="Look on OpenML for datasets not here.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List suites and datasets.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run a paper's experiment and print our numbers beside the paper's."""
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
        raise typer.BadParameter(f"{folder} holds a run already: --resume goes on with it, --out names another folder")
    for what, why in left_out.items():
        say(f"left out: {what}: {why}", quiet)
    if not cells:
        raise ValueError("nothing can run: every dataset or method is left out (the lines above say why)")
    follow(
        run_cells(chosen, cells, folder, jobs=jobs, time_limit=time_limit, data_home=home, retry_failed=retry_failed),
        quiet,
    )
    command = "fewlabel " + shlex.join(sys.argv[1:]) if sys.argv[1:2] == ["bench"] else f"fewlabel bench {chosen.name}"
    summary = write_pages(chosen, folder, left_out, command)
    if not quiet:
        for section in summary["sections"]:
            table = section["paper"] if section["paper"] is not None else section["ours"]
            rows = [[str(value) for value in row] for row in table.reset_index().to_numpy()]
            print_table(section["setting"] or chosen.title, ["", *map(str, table.columns)], rows, left=1)
    say(f"wrote {folder / 'index.html'}, index.md and results.parquet", quiet)


def _list(data_home: str | None) -> None:
    from fewlabel.bench import SUITES, get_suite
    from fewlabel.datasets import list_datasets

    suites = [get_suite(name) for name in SUITES]
    rows = [[s.name, s.title, str(len(s.datasets)), str(len(s.methods)), str(s.repeats)] for s in suites]
    print_table("Suites", ["suite", "what it reruns", "datasets", "methods", "repeats"], rows, left=2)
    rows = [
        [str(name), f"{known['rows']:,}", str(known["columns"]), str(known["classes"]), known["where"] or "-"]
        for name, known in list_datasets(data_home).iterrows()
    ]
    print_table("Datasets", ["dataset", "rows", "columns", "classes", "where"], rows, left=1)
