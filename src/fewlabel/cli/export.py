"""``fewlabel export``: a saved model for another system, as ONNX, SQL or JSON."""

from pathlib import Path
from typing import Annotated

from fewlabel.cli.options import ModelFile, Quiet, SQLTable, option, unfold
from fewlabel.cli.paths import file_ending_in
from fewlabel.cli.terminal import say

_model_file = file_ending_in(".onnx", ".sql", ".json")


@unfold()
def export(
    model: ModelFile,
    *,
    out: Annotated[
        Path,
        option("FILE", "model.onnx, model.sql or model.json.", "--out", "-o", callback=_model_file),
    ],
    table: SQLTable = "rows",
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
