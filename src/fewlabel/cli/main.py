"""The command line. The commands import heavy packages themselves, which keeps ``--help`` fast."""

import os
import sys
import warnings
from typing import Annotated, Any

import typer

import fewlabel
from fewlabel.cli.audit import audit
from fewlabel.cli.check import check
from fewlabel.cli.demo import demo
from fewlabel.cli.export import export
from fewlabel.cli.fit import fit
from fewlabel.cli.help import GroupedCommand
from fewlabel.cli.interrupts import raise_on_signals, signal_that_came
from fewlabel.cli.label import label
from fewlabel.cli.methods import methods
from fewlabel.cli.monitor import monitor
from fewlabel.cli.next import next_rows
from fewlabel.cli.predict import predict
from fewlabel.cli.prior import prior
from fewlabel.cli.scorecard import scorecard
from fewlabel.cli.select import select
from fewlabel.cli.terminal import one_line

# Exit codes; 130 is what shells give to a command that Ctrl-C ended: 128 and the number of SIGINT.
DONE = 0
FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130

app = typer.Typer(
    name="fewlabel",
    help="Ranking and classification for tables whose labels are few, skewed, or only positive.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; errors are one line on stderr."""
    raise_on_signals()
    _show_warnings_as_notes()
    code = run(sys.argv[1:])
    if code == INTERRUPTED:
        # At once: the interpreter would wait for the methods that are still being fitted.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + signal_that_came())
    sys.exit(code)


def _show_warnings_as_notes() -> None:
    """Print what is worth knowing about the user's data, once, without the line of source code that it comes from."""
    usual = warnings.showwarning
    printed = set()

    def show(
        message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: str | None = None
    ) -> None:
        ours = category is UserWarning or category.__module__.startswith("fewlabel")
        # By name: to import the class would import scikit-learn, which takes seconds.
        if ours or category.__name__ == "ConvergenceWarning":
            note = one_line(f"note: {message}")
            # The learning curve splits the rows again, and has the warnings of the fit.
            if note not in printed:
                print(note, file=file or sys.stderr)
            printed.add(note)
        # The command itself names the methods that fail.
        elif category.__name__ != "FitFailedWarning":
            usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code.

    Examples
    --------
    >>> from fewlabel.cli.main import run
    >>> run(["--version"])
    fewlabel ...
    0
    """
    try:
        # Typer returns the exit code of typer.Exit, and None if the command completes.
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
        # Errors of Typer, which are wrong use, have it: their class is not public.
        if hasattr(error, "format_message"):
            _say_error(f"{error.format_message()} (see: {_help_command(error)})")
            return WRONG_USE
        _say_error(f"{_message(error)} (--debug shows where)")
        return FAILED


def _say_error(text: str) -> None:
    print("fewlabel: " + one_line(text), file=sys.stderr)


def _help_command(error) -> str:
    # There is none before a command is known.
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "fewlabel"
    return f"{command} --help"


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


for command in (demo, check, fit, predict, monitor, export, scorecard, prior, select, methods, audit, label):
    app.command(cls=GroupedCommand)(command)
app.command("next", cls=GroupedCommand)(next_rows)
