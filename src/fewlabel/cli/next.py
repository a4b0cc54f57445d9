"""``fewlabel next``: which rows to label next, as a file for a spreadsheet."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewlabel.cli.options import Quiet, Seed, Tables, option, unfold
from fewlabel.cli.paths import TEXT_SEPARATORS, keep_answers, keep_inputs, writable_file
from fewlabel.cli.reading import Reading, TableRows, label_rows, read_rows
from fewlabel.cli.terminal import say, say_notes
from fewlabel.cli.wrong_use import WrongUse
from fewlabel.exceptions import TableError
from fewlabel.text import short

if TYPE_CHECKING:
    import numpy as np

    from fewlabel.active import Query
    from fewlabel.labels import LabelColumn, Labels

RandomShare = Annotated[
    float,
    option(
        "SHARE",
        "Share of the rows to draw at random: estimates without the bias of the choice are based on them.",
        min=0,
        max=1,
    ),
]


def _sheet_file(path: Path) -> Path:
    if path.suffix.lower() not in TEXT_SEPARATORS:
        raise WrongUse(f"{path}: rows to label are written as .csv or .tsv")
    writable_file(path)
    return path


SheetFile = Annotated[Path, option("FILE", "Where to write them.", "--out", "-o", callback=_sheet_file)]


@unfold()
def next_rows(
    tables: Tables,
    *,
    reading: Reading,
    n: Annotated[int, option("ROWS", "Number of rows to ask for.", "--n", "-n", min=1)] = 50,
    out: SheetFile = Path("ask.csv"),
    random_share: RandomShare = 0.1,
    again: Annotated[bool, typer.Option("--again", help="Ask again for labeled rows whose labels look wrong.")] = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Write the rows to label next, for a spreadsheet.

    Fill in its column `label`, then pass the file to `fewlabel fit` or again to `fewlabel next` with --labels. The
    table may have no label at all yet. Rows are chosen because a quick model is uncertain about them, they are typical
    of many rows, and they differ from each other; some are drawn at random. The model's score is not written, so that
    it does not influence the answers.

    With --again, the rows are labeled ones whose labels look wrong, out of fold: their answers replace the labels of
    the table.
    """
    from fewlabel.active import BatchQuery

    rows, column = read_to_ask(tables, reading, out, quiet)
    if again:
        query = _doubtful(rows, reading, column, n, seed)
    else:
        # Before the first label only the option can name it.
        positive = reading.positive if column is None else column.positive
        strategy = BatchQuery(random_share=random_share, positive=positive, random_state=seed)
        query = strategy.query(encoded(rows, reading, seed), labels_of(rows, column), n)
    write_query(out, rows, reading, query)
    counts = {how: query.how.count(how) for how in dict.fromkeys(query.how)}
    drawn = [f"{count} {how}" for how, count in counts.items()]
    say(f"{len(query.rows)} rows ({', '.join(drawn)}): {out}", quiet)
    say(f"fill in the column label, then: {reading.command(tables)} --labels {out}", quiet)


def read_to_ask(tables: Tables, reading: Reading, out: Path, quiet: bool) -> "tuple[TableRows, LabelColumn | None]":
    """Read a table of which rows are asked for, and say how; no file that is read, or holds answers, is written."""
    keep_inputs([out], [*tables, *(reading.answers or ())])
    keep_answers(out)
    rows = read_rows(tables, reading, new_target=True)
    column = read_some_labels(reading, rows)
    about_labels = ["no row is labeled"] if column is None else [column.describe(), *column.notes]
    say_notes([*rows.notes, *about_labels], quiet)
    return rows, column


def read_some_labels(reading: Reading, rows: TableRows) -> "LabelColumn | None":
    """Read the label column; None if no row is labeled."""
    values = rows.target[rows.target.notna()]
    if (values.astype(str).str.strip() == "").all():
        return None
    column, _ = label_rows(rows, reading)
    return column


def labels_of(rows: TableRows, column: "LabelColumn | None") -> "Labels":
    """The labels of a table, which may have none."""
    from fewlabel.labels import UNLABELED, read

    return read([UNLABELED] * len(rows.table)) if column is None else column.labels


def encoded(rows: TableRows, reading: Reading, seed: int) -> "np.ndarray":
    """The columns of a table as numbers."""
    import numpy as np

    from fewlabel.tables import TableEncoder

    return np.asarray(TableEncoder(dayfirst=reading.day_first, random_state=seed).fit_transform(rows.table))


def _doubtful(rows: TableRows, reading: Reading, column: "LabelColumn | None", n: int, seed: int) -> "Query":
    """Labeled rows, those first whose labels look most wrong."""
    import numpy as np

    from fewlabel.active import AGAIN, Query, label_confidence

    if column is None or len(column.labels.classes) < 2:
        raise WrongUse("labels of two classes or more are needed to find wrong ones", "--again")
    confidence = label_confidence(encoded(rows, reading, seed), column.labels.codes, seed=seed)
    n_known = int(np.isfinite(confidence).sum())
    lowest = np.argsort(confidence, kind="stable")[: min(n, n_known)]
    return Query(lowest, np.ones(len(lowest)), [AGAIN] * len(lowest))


def write_query(out: Path, rows: TableRows, reading: Reading, query: "Query") -> None:
    """Write the rows to label, for a spreadsheet; an error if there are none."""
    from fewlabel.active.answers import answer_sheet
    from fewlabel.files import atomic_write

    if len(query.rows) == 0:
        raise TableError(
            f"column {short(reading.target)!r} labels every row of {rows.source.origin}: there is none to ask for"
        )
    with atomic_write(out) as file:
        sheet = answer_sheet(rows.table, rows.keys, query)
        sheet.to_csv(file, sep=TEXT_SEPARATORS[out.suffix.lower()], index=False)
