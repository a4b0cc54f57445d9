"""``fewlabel export``: a saved model for another system, as ONNX, SQL or JSON."""

from pathlib import Path
from typing import Annotated

import typer

from fewlabel.cli.options import ModelFile, Quiet, unfold
from fewlabel.cli.paths import require_suffix, writable_file
from fewlabel.cli.terminal import say


def _model_file(path: Path) -> Path:
    require_suffix(path, ".onnx", ".sql", ".json")
    writable_file(path)
    return path


@unfold()
def export(
    model: ModelFile,
    *,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", callback=_model_file, metavar="FILE", help="model.onnx, model.sql or model.json."),
    ],
    table: Annotated[str, typer.Option("--table", metavar="NAME", help="In SQL, the table to score.")] = "rows",
    quiet: Quiet = False,
) -> None:
    """Write a model as an ONNX graph, a SQL statement, or JSON.

    ONNX and SQL are tried on rows like those of the fit before they are written, and refused if they give other scores
    than `fewlabel predict`. SQL is for step functions and trees of two classes, on DuckDB and SQLite.
    """
    from fewlabel import exporting
    from fewlabel.persistence import load

    exporting.export(load(model), out, table=table)
    say(f"{out.stat().st_size:,} bytes: {out}", quiet)
