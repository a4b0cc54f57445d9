"""``fewlabel audit``: rows to label so that the headline holds for the unlabeled rows, whoever chose the labels."""

from pathlib import Path
from typing import Annotated

import typer

from fewlabel.cli.next import SheetFile, no_labels, read_to_ask, write_sheet
from fewlabel.cli.options import Debug, Quiet, Seed, Tables, unfold
from fewlabel.cli.reading import Reading
from fewlabel.cli.terminal import say
from fewlabel.exceptions import TableError
from fewlabel.text import short


@unfold()
def audit(
    tables: Tables,
    *,
    reading: Reading,
    n: Annotated[int, typer.Option("--n", "-n", min=1, metavar="ROWS", help="Number of rows to draw.")] = 50,
    out: SheetFile = Path("ask.csv"),
    seed: Seed = 0,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Draw rows whose labels make the estimates hold.

    Fill in its column `label` as far as you can tell, then pass the file to `fewlabel fit` with --labels. Each row is
    drawn with a probability that the file keeps. Older labels still train the model; AUC, precision and cost are then
    those of the audited rows, and hold for the unlabeled rows whatever the older labels were chosen by.
    """
    from fewlabel.active import AuditQuery
    from fewlabel.active.answers import answer_sheet
    from fewlabel.tables import TableEncoder

    rows, column = read_to_ask(tables, reading, out, quiet)
    features = TableEncoder(dayfirst=reading.day_first, random_state=seed).fit_transform(rows.table)
    labels = no_labels(len(features)) if column is None else column.labels
    query = AuditQuery(random_state=seed).query(features, labels, n)
    if len(query.rows) == 0:
        raise TableError(
            f"column {short(reading.target)!r} labels every row of {rows.source.origin}: there is none to draw"
        )
    write_sheet(out, answer_sheet(rows.table, rows.keys, query))
    say(f"{len(query.rows)} rows, drawn with known probability: {out}", quiet)
    say(f"fill in the column label, then: {reading.command(tables)} --labels {out}", quiet)
