"""What the commands print: results on stdout; notes and progress on stderr."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from fewlabel.cli.interrupts import stop_if_interrupted
from fewlabel.text import printable, short

Reporter = Callable[[int, int | None, str], None]
# Progress lines in a pipe, such as a log of a batch job; with more steps, only one in several is printed.
_MOST_LINES = 50


def one_line(text: str) -> str:
    """Text on one line, without characters that control the terminal."""
    return printable(" ".join(text.split()))


def say(text: str, quiet: bool) -> None:
    """Print one line about the work to stderr."""
    if not quiet:
        print(one_line(text), file=sys.stderr, flush=True)


def say_notes(notes: Iterable[str], quiet: bool) -> None:
    """Print what is worth knowing about a table or a model to stderr, one line each."""
    for note in notes:
        say(f"note: {note}", quiet)


@contextmanager
def progress(quiet: bool, lines: bool = True) -> Iterator[Reporter]:
    """Progress reporter ``report(done, total, name)``: a bar on a terminal, lines in a pipe, both on stderr.

    Parameters
    ----------
    quiet : bool
        Report nothing.
    lines : bool, default=True
        Whether to print lines in a pipe. The total may be None if it is not known.
    """
    with _reporter(quiet, lines) as report:

        def report_or_stop(done: int, total: int | None, name: str) -> None:
            stop_if_interrupted()
            report(done, total, name)

        yield report_or_stop
        # A signal may come after the last step.
        stop_if_interrupted()


@contextmanager
def _reporter(quiet: bool, lines: bool) -> Iterator[Reporter]:
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield _line_reporter(quiet or not lines)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

    columns: list[ProgressColumn] = [BarColumn(), MofNCompleteColumn()]
    # In a narrower one, the name and the time would leave no room for the bar.
    if console.width >= 60:
        columns = [TextColumn("{task.description}", markup=False), *columns, TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("reading the columns", total=None)

        def report(done: int, total: int | None, name: str) -> None:
            bar.update(task, completed=done, total=total, description=short(name, 30))

        yield report


def _line_reporter(silent: bool) -> Reporter:
    def report(done: int, total: int | None, name: str) -> None:
        every = 1
        if total is not None and total > _MOST_LINES:
            every = total // 20
        if done % every == 0 or done == total:
            say(f"{done}/{total} {name}", silent)

    return report


def print_json(value: Any) -> None:
    """Print results for other programs."""
    import json

    print(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=True))


def print_table(title: str | None, headings: list[str], rows: list[list[str]], left: int = 1) -> None:
    """Print a table of texts; the first `left` columns are left-aligned, the others right-aligned."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        # A pipe has no width: 80 columns, which Rich takes, would fold names of columns.
        console.width = 120
    if title:
        console.print(printable(title))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, heading in enumerate(headings):
        table.add_column(heading, justify="left" if k < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(printable, row))
    console.print(table)
