"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Random seed.", metavar="SEED")]
TableFile = Annotated[
    Path,
    typer.Argument(
        exists=True, dir_okay=False, metavar="TABLE", help="A .csv, .tsv (also .gz), .parquet, .feather or .arrow file."
    ),
]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The label column, mostly empty.")]
Positive = Annotated[
    str | None,
    typer.Option("--positive", "-p", metavar="VALUE", help="The class to find; by default the last in sorted order."),
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Ignore this column; can be repeated.")
]
