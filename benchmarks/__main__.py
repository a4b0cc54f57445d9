"""Rerun the suites.

python -m benchmarks list                          # suites, their experiments, and missing datasets
python -m benchmarks run pnu-auc [--datasets pima sonar] [--repeats 2] [--out FOLDER]
python -m benchmarks store pnu-auc FOLDER          # put the results of a run into the stored ones
python -m benchmarks pages                         # write docs/results from the stored results
python -m benchmarks rerun [--cells 100]           # run stored cells again, drawn at random, and compare
python -m benchmarks rerun --of-each --cells 2     # the same with two cells of each experiment, method and commit

A run writes each cell to a file of its own. Run it again with the same folder to continue it.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.harness import (
    SUITES,
    add_results,
    get_suite,
    plan,
    run_cells,
    write_all_pages,
    write_run_page,
)
from benchmarks.harness.provenance import RERUN, RERUN_OF_EACH, commit
from benchmarks.harness.rerun import draw, rerun
from benchmarks.harness.tables import markdown_table
from fewlabel.datasets import list_datasets

RUNS = Path("build") / "runs"
PAGES = Path(__file__).parents[1] / "docs" / "results"


def say(text: str) -> None:
    """Print a line about the work to stderr."""
    print(text, file=sys.stderr, flush=True)


def say_progress(done: int, total: int, name: str) -> None:
    """Print the cell that was finished."""
    say(f"{done}/{total} {name}")


def show_list(options: argparse.Namespace) -> None:
    """Print the suites, and the datasets that are missing here."""
    for name in SUITES:
        suite = get_suite(name)
        print(f"{name}: {suite.title} ({'; '.join(experiment.name for experiment in suite.experiments)})")
    where = list_datasets(options.data_home)["where"]
    missing = where.index[(where == "") | (where == "OpenML")]
    print(f"Datasets that are not on this machine: {', '.join(missing) or 'none'}")


def run_suite(options: argparse.Namespace) -> None:
    """Run the cells of a suite that its folder does not have yet, and write the page of the run."""
    suite = get_suite(options.suite)
    folder = options.out or RUNS / suite.name
    cells, left_out = plan(
        suite,
        experiments=options.experiments,
        datasets=options.datasets,
        methods=options.methods,
        repeats=options.repeats,
        data_home=options.data_home,
        download=options.download,
    )
    for what, why in left_out.items():
        say(f"left out: {what}: {why}")
    if not cells:
        raise ValueError("nothing to run: every dataset or method is left out, for the reasons above")
    refused = run_cells(
        suite,
        cells,
        folder,
        jobs=options.jobs,
        time_limit=options.time_limit,
        data_home=options.data_home,
        retry_failed=options.retry_failed,
        progress=say_progress,
    )
    for why, count in refused.items():
        say(f"run again: {count} stored cells {why}")
    for table in write_run_page(suite, folder, left_out):
        print(f"## {table.title}\n\n{table.markdown()}\n")
    say(f"wrote {folder / 'index.md'}")


def store_results(options: argparse.Namespace) -> None:
    """Put the results of a run into those in the folder of the suite."""
    suite = get_suite(options.suite)
    add_results(suite, options.run)
    say(f"wrote {suite.stored}; python -m benchmarks pages writes the pages")


def write_pages(options: argparse.Namespace) -> None:
    """Write docs/results from the stored results."""
    write_all_pages([get_suite(name) for name in SUITES], options.out)
    say(f"wrote the pages in {options.out}")


def rerun_cells(options: argparse.Namespace) -> None:
    """Run stored cells again, drawn at random; write them with both numbers, and print those that differ."""
    suites = [get_suite(name) for name in SUITES]
    drawn = draw(suites, options.cells, options.seconds, options.seed, of_each=options.of_each)
    out = options.out or (RERUN_OF_EACH if options.of_each else RERUN)
    found = rerun(suites, drawn, options.data_home)
    found.assign(seed=options.seed, below_seconds=options.seconds, run_with=commit()).to_csv(out, index=False)
    print(markdown_table(found[~found["same"]].set_index("suite")))
    say(f"{found['same'].sum()} of {len(found)} cells are the same; wrote {out}")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Options of a command, with its function as `command`."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    data = argparse.ArgumentParser(add_help=False)
    data.add_argument("--data-home", help="folder of the datasets; by default the variable FEWLABEL_DATA")
    cells = argparse.ArgumentParser(add_help=False)
    cells.add_argument("--out", type=Path, help=f"folder of the run; by default {RUNS}/SUITE")
    cells.add_argument("--repeats", type=int, help="number of repeats; by default the experiment's")
    cells.add_argument("--methods", nargs="+", metavar="METHOD", help="only these methods")

    listing = commands.add_parser("list", parents=[data], help="list suites and missing datasets")
    listing.set_defaults(command=show_list)

    run = commands.add_parser("run", parents=[data, cells], help="run a suite, or continue its run")
    run.add_argument("suite", choices=SUITES)
    run.add_argument("--experiments", nargs="+", metavar="EXPERIMENT", help="only these experiments")
    run.add_argument("--datasets", nargs="+", metavar="DATASET", help="only these datasets")
    run.add_argument("--jobs", type=int, default=1, help="number of parallel processes")
    run.add_argument("--time-limit", type=float, help="seconds per cell")
    run.add_argument("--retry-failed", action="store_true", help="run cells again that failed before")
    run.add_argument("--download", action="store_true", help="download missing datasets from OpenML")
    run.set_defaults(command=run_suite)

    store = commands.add_parser("store", help="put the results of a run into the stored ones")
    store.add_argument("suite", choices=SUITES)
    store.add_argument("run", type=Path)
    store.set_defaults(command=store_results)

    pages = commands.add_parser("pages", help="write docs/results from the stored results")
    pages.add_argument("--out", type=Path, default=PAGES)
    pages.set_defaults(command=write_pages)

    again = commands.add_parser("rerun", parents=[data], help="run stored cells again, drawn at random")
    again.add_argument("--cells", type=int, default=100, help="number of cells")
    again.add_argument("--of-each", action="store_true", help="that many of each experiment, method and commit")
    again.add_argument("--seconds", type=float, default=2.0, help="only cells that took less")
    again.add_argument("--seed", type=int, default=0, help="of the draw")
    again.add_argument("--out", type=Path, help="file of the cells with both numbers")
    again.set_defaults(command=rerun_cells)

    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; an error is one line on stderr."""
    options = parse(arguments)
    try:
        options.command(options)
    except ValueError as error:
        say(f"benchmarks: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
