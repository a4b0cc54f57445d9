"""The command line. Heavy imports are inside the commands, so that ``--help`` answers at once."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fewlabel

if TYPE_CHECKING:
    from fewlabel.report import Measured, Method, Table

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    name="fewlabel",
    help="Ranking and classification for tables whose labels are few, skewed, or only positive.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def main() -> None:
    """Run the command line; errors are one line on stderr."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line with some arguments and give its exit code.

    Examples
    --------
    >>> from fewlabel.cli import run
    >>> run(["--version"])
    fewlabel ...
    0
    """
    try:
        # Typer gives back the exit code of typer.Exit, and None when the command comes to its end.
        code = app(arguments, standalone_mode=False, prog_name="fewlabel")
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        return code or DONE
    except (KeyboardInterrupt, typer.Abort):
        _say_error("interrupted; no file is half-written")
        return INTERRUPTED
    except Exception as error:
        if "--debug" in arguments:
            raise
        if hasattr(error, "format_message"):  # what Typer raises on wrong use
            _say_error(f"{error.format_message()} (see: {_help_command(error)})")
            return WRONG_USE
        _say_error(f"{_message(error)} (--debug shows where)")
        return FAILED


def _say_error(text: str) -> None:
    print("fewlabel: " + " ".join(text.split()), file=sys.stderr)


def _help_command(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'fewlabel'} --help"


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fewlabel {fewlabel.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(WRONG_USE)


def _writable_file(path: Path | None) -> Path | None:
    """Check, before any work, that a file can be written."""
    if path is None:
        return None
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder: name a file in it")
    folder = path.parent
    if not folder.is_dir():
        raise typer.BadParameter(f"there is no folder {folder}: make it first, or name another")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise typer.BadParameter(f"{path} cannot be written: choose another place")
    return path


def _share(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter(f"{value:g} is not a share of the labels: choose one between 0 and 1, such as 0.1")
    return value


@app.command()
def demo(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", callback=_writable_file, help="The report to write.", metavar="FILE"),
    ] = Path("report.html"),
    model_out: Annotated[
        Path | None,
        typer.Option("--model-out", callback=_writable_file, help="Also save the PNU-AUCBoost model.", metavar="FILE"),
    ] = None,
    labeled: Annotated[
        float,
        typer.Option("--labeled", callback=_share, help="Share of the training labels to keep.", metavar="SHARE"),
    ] = 0.1,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of every random choice.", metavar="SEED")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of a table.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn from a table with 90% of its labels hidden, beside what scikit-learn gives, and write a report.

    The data is scikit-learn's breast-cancer table. Every method is measured on rows that none of them saw.
    """
    if model_out is not None and model_out.resolve() == out.resolve():
        raise typer.BadParameter("--out and --model-out name the same file")
    from fewlabel import persistence, report
    from fewlabel.report.demo import PAIR, breast_cancer, methods

    try:
        table = breast_cancer(labeled, seed)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--labeled") from error
    found = _measure_with_progress(table, methods(seed), quiet)
    model_file = None if model_out is None else str(model_out)
    command = _command(out, model_out, labeled, seed)
    summary = report.summarize(table, found, pair=PAIR, seed=seed, command=command, model_file=model_file)
    if model_out is not None:
        persistence.save(next(m.model for m in found if m.method.name == PAIR[0]), model_out)
    report.write(summary, out)
    if as_json:
        _print_json(summary)
    elif not quiet:
        _print_leaderboard(summary)
        print(f"\nReport: {out}")
        if model_out is not None:
            print(f"Model:  {model_out}")


def _command(out: Path, model_out: Path | None, labeled: float, seed: int) -> str:
    import shlex

    parts = ["fewlabel", "demo", "--labeled", f"{labeled:g}", "--seed", str(seed), "--out", str(out)]
    return shlex.join(parts if model_out is None else [*parts, "--model-out", str(model_out)])


def _measure_with_progress(table: "Table", chosen: "list[Method]", quiet: bool) -> "list[Measured]":
    """Measure the methods; a bar on a terminal, a line each in a pipe, both on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from fewlabel.report import measure

    console = Console(stderr=True)
    if quiet:
        return measure(table, chosen)
    if not console.is_terminal:
        return measure(table, chosen, lambda m: print(_result_line(m), file=sys.stderr, flush=True))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        names = [method.name for method in chosen]
        task = progress.add_task(names[0], total=len(names))

        def advance(_: "Measured") -> None:
            names.pop(0)
            progress.update(task, advance=1, description=names[0] if names else "done")

        return measure(table, chosen, advance)


def _result_line(measured: "Measured") -> str:
    return f"{measured.method.name}: AUC {measured.auc.auc:.3f}, fitted in {measured.fit_seconds:.3f} s"


def _print_leaderboard(summary: dict[str, Any]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = 120  # a pipe has no width to fit into
    data = summary["data"]
    console.print(
        f"{summary['title']}: {data['labelled']} labelled and {data['unlabelled']} unlabelled training rows, "
        f"{data['test_rows']} test rows"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    table.add_column("learns from")
    for heading in ("AUC", "95% interval", "bal. acc.", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in summary["leaderboard"]:
        table.add_row(
            row["method"],
            "all rows" if row["uses_unlabelled"] else "labelled",
            f"{row['auc']:.3f}",
            f"{row['auc_low']:.3f} to {row['auc_high']:.3f}",
            f"{row['balanced_accuracy']:.3f}",
            f"{row['fit_seconds']:.3f}",
            style="bold" if row["uses_unlabelled"] else None,
        )
    console.print(table)
    console.print(summary["verdict"]["text"].replace("\N{MINUS SIGN}", "-"))  # not every terminal has the sign


def _print_json(summary: dict[str, Any]) -> None:
    import json

    print(json.dumps(summary, indent=2, allow_nan=False, ensure_ascii=True))


if __name__ == "__main__":
    main()
