"""``fewlabel label``: a page in the browser that asks for labels, one row at a time."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewlabel.cli.next import RandomShare, read_some_labels
from fewlabel.cli.options import Debug, Quiet, Seed, TableFile, unfold
from fewlabel.cli.paths import writable_file
from fewlabel.cli.reading import Reading, TableRows, read_rows
from fewlabel.cli.terminal import say

if TYPE_CHECKING:
    from fewlabel.label_app import Task
    from fewlabel.labels import LabelColumn


@unfold()
def label(
    table: TableFile,
    *,
    reading: Reading,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--class", metavar="VALUE", help="A possible answer that no labeled row holds yet; can be repeated."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=writable_file, metavar="FILE", help="Where to append the answers.")
    ] = Path("labels.csv"),
    random_share: RandomShare = 0.1,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="PORT", help="Port of the page; 0 for any free one.")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    seed: Seed = 0,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Label rows in the browser, one at a time; a model that learns from the answers chooses the rows.

    Every answer is appended at once to a file, by default labels.csv, which `fewlabel fit --labels labels.csv` reads.
    To go on later, run the same command again. The table may have no label yet: name the classes with --class.

    The page is served to this machine only, at an address with a secret part. Ctrl+C ends it.
    """
    from fewlabel.label_app import AnswerStore, LabelingLoop, LabelServer

    if out.resolve() == table.resolve() or out.suffix.lower() != ".csv":
        raise typer.BadParameter("answers are appended to a .csv file of their own", param_hint="--out")
    if out.resolve() in [path.resolve() for path in reading.answers or ()]:
        raise typer.BadParameter(f"{out} is read anyway: leave it out", param_hint="--labels")
    rows = read_rows(table, reading, new_target=True)
    column = read_some_labels(reading, rows)
    for note in [*rows.notes, *([column.describe(), *column.notes] if column is not None else [])]:
        say(f"note: {note}", quiet)
    store = AnswerStore(out)
    loop = LabelingLoop(_task(table.name, rows, reading, column, classes or [], random_share, seed), store)
    server = LabelServer(loop, port)
    say(f"answers are appended to {out}; Ctrl+C ends the page", quiet)
    print(server.url, flush=True)
    if browser:
        import webbrowser

        webbrowser.open(server.url)
    try:
        server.serve()
    except KeyboardInterrupt:
        say(f"{len(store.latest())} rows answered or skipped, in {out}", quiet)
        say(f"next: fewlabel fit {table} --target {reading.target} --labels {out}", quiet)
    loop.wait()  # compiled code in a thread does not survive the end of the interpreter


def _task(
    title: str,
    rows: TableRows,
    reading: Reading,
    column: "LabelColumn | None",
    more: list[str],
    random_share: float,
    seed: int,
) -> "Task":
    import numpy as np

    from fewlabel.label_app import Task
    from fewlabel.labels import name_rest

    known = [] if column is None else column.labels.classes.tolist()
    names = [str(name) for name in known]
    positive = reading.positive if column is None or column.positive is None else str(column.positive)
    if len(known) == 1 and not more:  # positives only
        more = [str(name_rest(known[0]))]
    names += [name for name in more if name not in names]
    if positive in names:
        names = [positive, *(name for name in names if name != positive)]
    if len(names) < 2:
        raise typer.BadParameter(
            "no row is labeled yet: name at least two possible answers, for instance --class yes --class no",
            param_hint="--class",
        )
    odd = [name for name in names if name != " ".join(name.split()) or not name]
    if odd:
        raise typer.BadParameter(
            f"{odd[0]!r} is not a name on one line, without spaces around it", param_hint="--class"
        )
    codes = np.full(len(rows.keys), -1)
    if column is not None:
        position = np.array([names.index(str(name)) for name in known])
        codes = np.where(column.labels.codes < 0, -1, position[column.labels.codes])
    return Task(
        title=title,
        table=rows.table,
        keys=rows.keys,
        target=reading.target,
        classes=names,
        codes=codes,
        positive=positive,
        random_share=random_share,
        dayfirst=reading.day_first,
        seed=seed,
    )
