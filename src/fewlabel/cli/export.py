"""``fewlabel export``: a saved model for another system, as ONNX, SQL or JSON."""

from pathlib import Path
from typing import Annotated

import typer

from fewlabel.cli.options import Debug, Quiet
from fewlabel.cli.paths import writable_file
from fewlabel.cli.terminal import say

_KINDS = (".onnx", ".sql", ".json")


def _model_file(path: Path) -> Path:
    if path.suffix.lower() not in _KINDS:
        raise typer.BadParameter(f"{path}: a model is exported as {', '.join(_KINDS)}")
    writable_file(path)
    return path


def export(
    model: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, metavar="MODEL", help="A model.fewlabel file of `fewlabel fit`."),
    ],
    *,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", callback=_model_file, metavar="FILE", help="model.onnx, model.sql or model.json."),
    ],
    table: Annotated[str, typer.Option("--table", metavar="NAME", help="In SQL, the table to score.")] = "rows",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a model for another system: an ONNX graph, a SQL statement, or all of its numbers as JSON.

    ONNX and SQL are tried on rows like those of the fit before they are written, and refused if they give other scores
    than `fewlabel predict`. SQL is for step functions and trees of two classes, on DuckDB and SQLite.
    """
    from fewlabel.export import export_model
    from fewlabel.persistence import load

    export_model(load(model), out, table=table)
    say(f"{out.stat().st_size:,} bytes: {out}", quiet)
