"""Options that several commands share, and what they do with a table."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewlabel.text import did_you_mean, short

if TYPE_CHECKING:
    import pandas as pd

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of every random choice.", metavar="SEED")]
TableFile = Annotated[
    Path,
    typer.Argument(
        exists=True, dir_okay=False, metavar="TABLE", help="A .csv, .tsv (also .gz), .parquet, .feather or .arrow file."
    ),
]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The label column, mostly empty.")]
Positive = Annotated[
    str | None, typer.Option("--positive", "-p", metavar="VALUE", help="The class to find; the last one by default.")
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Leave this column out; may be given again.")
]


def writable_file(path: Path | None) -> Path | None:
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


def read_labeled(
    path: Path, target: str, drop: Iterable[str] | None = None
) -> "tuple[pd.DataFrame, pd.Series, list[str]]":
    """The columns, the label column and notes of a table; wrong use if a named column is not there."""
    from fewlabel.files import column_names, whole_numbers
    from fewlabel.tables import read_table

    table = read_table(path)
    notes = []
    names = [str(n) for n in column_names(path)]
    twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
    if target in twice:
        raise typer.BadParameter(
            f"{path} has {names.count(target)} columns called {short(target)!r}", param_hint="--target"
        )
    if twice:
        notes.append(f"columns of the same name are numbered: {', '.join(repr(short(n)) for n in twice[:5])}")
    check_columns(list(table.columns), target, drop)
    y = table.pop(target)
    table = table.drop(columns=list(drop or ()))
    return table, whole_numbers(y), notes


def check_columns(columns: list[str], target: str, drop: Iterable[str] | None) -> None:
    """Wrong use if a named column is not there."""
    for name, option in ((target, "--target"), *((d, "--drop") for d in drop or ())):
        if name not in columns:
            raise typer.BadParameter(no_such_column(name, columns), param_hint=option)


def no_such_column(name: str, columns: list[str]) -> str:
    """Wording for a column that is not there, with the nearest that is."""
    near = did_you_mean(name, columns)
    if near is not None:
        return f"there is no column {short(name)!r}; did you mean {short(near)!r}?"
    shown = ", ".join(repr(short(c)) for c in columns[:6])
    return f"there is no column {short(name)!r}; the columns are {shown}{', ...' if len(columns) > 6 else ''}"


def say(text: str, quiet: bool) -> None:
    """A line about the work, on stderr."""
    if not quiet:
        print(" ".join(text.split()), file=sys.stderr, flush=True)


def follow(steps: Iterable[Any], quiet: bool) -> None:
    """Go through the steps of a fit, and tell of each."""
    with progress(quiet) as tell:
        for step in steps:
            tell(step.done, step.total, step.name)


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[int, int, str], None]]:
    """What tells of steps: a bar with the time left on a terminal, a line each in a pipe, both on stderr."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda done, total, name: say(f"{done}/{total} {name}", quiet)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    if console.width < 60:
        columns = columns[1:3]
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("reading the columns", total=None)
        yield lambda done, total, name: bar.update(task, completed=done, total=total, description=short(name, 30))


def print_json(value: Any) -> None:
    """The results, for other programs."""
    import json

    print(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=True))


def print_table(title: str | None, headings: list[str], rows: list[list[str]], left: int = 1) -> None:
    """A table of texts; the first `left` columns are aligned to the left."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = 120  # a pipe has no width to fit into
    if title:
        console.print(title)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, heading in enumerate(headings):
        table.add_column(heading, justify="left" if k < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)
