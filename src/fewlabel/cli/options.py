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
    typer.Option("--positive", "-p", metavar="VALUE", help="The class to find; by default the rarer of two."),
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Ignore this column; can be repeated.")
]
Unlabeled = Annotated[
    list[str] | None,
    typer.Option(
        "--unlabeled",
        metavar="VALUE",
        help="A label that marks unlabeled rows, as empty cells do; can be repeated. All others are then classes; '' "
        "for none.",
    ),
]
NegativesUnknown = Annotated[
    bool,
    typer.Option(
        "--negatives-unknown", help="Only the positive class is certain: rows of other classes count as unlabeled."
    ),
]
MergeSpellings = Annotated[
    bool | None,
    typer.Option(
        "--merge-spellings/--keep-spellings", help="Whether labels such as 'Yes' and 'yes ' are one class or several."
    ),
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", metavar="NAME", help="Encoding of a text file; by default utf-8.")
]
Decimal = Annotated[
    str, typer.Option("--decimal", metavar="CHARACTER", help="Decimal separator of a text file, . or ,")
]
DayFirst = Annotated[
    bool | None,
    typer.Option("--day-first/--month-first", help="Whether 03/04/2024 is the third of April or March the fourth."),
]
