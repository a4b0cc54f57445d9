"""``fewlabel bench``: rerun a paper's experiments beside its numbers."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewlabel.cli.options import Debug, Quiet
from fewlabel.cli.terminal import print_table, progress, say

if TYPE_CHECKING:
    from fewlabel.bench import Suite
    from fewlabel.bench.tables import ResultTable


def _parts(text: str | None) -> list[str] | None:
    """Split a list at commas; a comma before a blank belongs to a name, as in "nnPU, linear"."""
    import re

    return None if text is None else [part.strip() for part in re.split(r",(?! )", text) if part.strip()]


def bench(
    suite: Annotated[str | None, typer.Argument(help="A suite; --list shows them all.")] = None,
    *,
    experiments: Annotated[str | None, typer.Option(help='Only these experiments, such as "Table 2,Figure 2".')] = None,
    datasets: Annotated[str | None, typer.Option(help="Only these datasets, such as pima,sonar.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these methods, separated by commas without blanks.")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Number of repeats; by default the experiment's.")] = None,
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
    pages_only: Annotated[
        bool, typer.Option("--pages-only", help="Run nothing: write the pages of --out again; without SUITE, of all.")
    ] = False,
    add: Annotated[
        Path | None, typer.Option(help="With --pages-only: a run whose results replace those stored in --out.")
    ] = None,
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
    if pages_only:
        _write_again(suite, out, add, quiet)
        return
    if suite == "experience":
        _experience(out or Path("bench") / suite, repeats or 2, home, _parts(methods), quiet)
        return
    if suite not in SUITES:
        raise typer.BadParameter(f"name a suite: {', '.join(SUITES)}, or experience", param_hint="SUITE")
    chosen = get_suite(suite)
    parts = {"experiments": _parts(experiments), "datasets": _parts(datasets), "methods": _parts(methods)}
    try:
        cells, left_out = plan(chosen, **parts, repeats=repeats, data_home=home, download=download)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    folder = out or Path("bench") / chosen.name
    _check_folder(folder, resume)
    for what, why in left_out.items():
        say(f"left out: {what}: {why}", quiet)
    if not cells:
        raise ValueError("nothing to run: every dataset or method is left out, for the reasons above")
    with progress(quiet) as report:
        refused = run_cells(
            chosen,
            cells,
            folder,
            jobs=jobs,
            time_limit=time_limit,
            data_home=home,
            retry_failed=retry_failed,
            progress=report,
        )
    for why, count in refused.items():
        say(f"run again: {count} stored cells {why}", quiet)
    tables = write_pages(chosen, folder, left_out)
    if not quiet:
        _show(tables)
    say(f"wrote {folder / 'index.html'}, index.md and results.parquet", quiet)


def _experience(folder: Path, n_draws: int, home: str | None, methods: list[str] | None, quiet: bool) -> None:
    """Run the members of AutoClassifier on all tables; write its data file and figures."""
    from fewlabel.bench import experience

    with progress(quiet) as report:
        experience.run(folder, n_draws, home, methods, report)
    found = experience.write(folder)
    if not quiet:
        rows = [
            [f"{share:.0%}", name, f"{row.auc:.4f}", f"{row['rank']:.1f}"] for (share, name), row in found.iterrows()
        ]
        print_table("Tables left out one by one", ["labels", "method", "mean AUC", "mean rank"], rows, left=2)
    say(f"wrote {folder / 'experience.json'}, scores.csv and figures.csv", quiet)


def _show(tables: "list[ResultTable]") -> None:
    for table in tables:
        rows = [[str(d), *(table.mean(m, d) for m in table.mean_scores)] for d in table.mean_scores.index]
        print_table(table.title, ["", *map(str, table.mean_scores.columns)], rows, left=1)
        print("\n".join(table.sentences()))


def _check_folder(folder: Path, resume: bool) -> None:
    """Wrong use if a folder has results that a new run would replace."""
    if (folder / "cells").exists():
        if not resume:
            raise typer.BadParameter(
                f"{folder} already holds a run: continue it with --resume, or choose another folder with --out"
            )
    elif (folder / "results.parquet").exists():
        raise typer.BadParameter(
            f"{folder} already holds results that this run would replace: choose another folder with --out; "
            f"--pages-only --out {folder} --add THAT_FOLDER then replaces what it has"
        )


def _write_again(suite: str | None, out: Path | None, add: Path | None, quiet: bool) -> None:
    from fewlabel.bench import SUITES, add_results, get_suite, write_all_pages, write_pages

    if suite is not None and suite not in SUITES:
        raise typer.BadParameter(f"name a suite: {', '.join(SUITES)}", param_hint="SUITE")
    folder = out or (Path("bench") / suite if suite else Path("bench"))
    if suite is None:
        if add is not None:
            raise typer.BadParameter("name the suite whose results are replaced", param_hint="SUITE")
        write_all_pages(_suites(SUITES), folder)
    else:
        if add is not None:
            add_results(get_suite(suite), folder, add)
        write_pages(get_suite(suite), folder)
    say(f"wrote the pages in {folder}", quiet)


def _suites(names: Iterable[str]) -> "list[Suite]":
    from fewlabel.bench import get_suite

    return [get_suite(name) for name in names]


def _list(data_home: str | None) -> None:
    from fewlabel.bench import SUITES
    from fewlabel.datasets import list_datasets

    rows = [[s.name, s.title, ", ".join(e.name for e in s.experiments)] for s in _suites(SUITES)]
    print_table("Suites", ["suite", "title", "experiments"], rows, left=3)
    rows = [
        [str(name), f"{known['rows']:,}", str(known["columns"]), str(known["classes"]), known["where"] or "-"]
        for name, known in list_datasets(data_home).iterrows()
    ]
    print_table("Datasets", ["dataset", "rows", "columns", "classes", "where"], rows, left=1)
