"""``fewlabel audit``: rows to label so that the headline holds for the unlabeled rows, whoever chose the labels."""

from pathlib import Path
from typing import Annotated

from fewlabel.cli.next import SheetFile, encoded, labels_of, read_to_ask, write_query
from fewlabel.cli.options import Quiet, Seed, Tables, option, unfold
from fewlabel.cli.reading import Reading
from fewlabel.cli.terminal import say


@unfold()
def audit(
    tables: Tables,
    *,
    reading: Reading,
    n: Annotated[int, option("ROWS", "Number of rows to draw.", "--n", "-n", min=1)] = 50,
    out: SheetFile = Path("ask.csv"),
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Draw rows to label, so that the estimates hold for all rows.

    Fill in the column `label` of the file where you can, then pass it to `fewlabel fit` with --labels. Each row is
    drawn with a probability that the file keeps. Older labels still train the model; AUC, precision and cost are then
    those of the audited rows, and hold for the unlabeled rows whoever chose the older labels.
    """
    from fewlabel.active import AuditQuery

    rows, column = read_to_ask(tables, reading, out, quiet)
    query = AuditQuery(random_state=seed).query(encoded(rows, reading, seed), labels_of(rows, column), n)
    write_query(out, rows, reading, query)
    say(f"{len(query.rows)} rows, drawn with known probability: {out}", quiet)
    say(f"fill in the column label, then: {reading.command(tables)} --labels {out}", quiet)
