"""``fewlabel label``: a page in the browser that asks for labels, one row at a time."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewlabel.cli.next import RandomShare, read_some_labels
from fewlabel.cli.options import Quiet, Seed, Tables, option, unfold
from fewlabel.cli.paths import keep_inputs, writable_file
from fewlabel.cli.reading import Reading, TableRows, read_rows
from fewlabel.cli.terminal import say, say_notes
from fewlabel.cli.wrong_use import WrongUse

if TYPE_CHECKING:
    from fewlabel.label_app import LabelServer, Task
    from fewlabel.labels import LabelColumn

_MOST_RUBRIC = 20_000  # characters


@unfold()
def label(
    tables: Tables,
    *,
    reading: Reading,
    classes: Annotated[
        list[str] | None,
        option("VALUE", "A possible answer that no labeled row holds yet; can be repeated.", "--class"),
    ] = None,
    out: Annotated[Path, option("FILE", "Where to append the answers.", "--out", "-o", callback=writable_file)] = Path(
        "labels.csv"
    ),
    random_share: RandomShare = 0.1,
    audit: Annotated[
        int,
        option("N", "Ask for N rows of an audit instead, see `fewlabel audit`.", min=0),
    ] = 0,
    labeler: Annotated[str, option("NAME", "Who answers: stored with each answer, and counted.", "--as")] = "",
    rubric: Annotated[
        Path | None,
        option("FILE", "A text on how to decide, shown on the page.", exists=True, dir_okay=False),
    ] = None,
    port: Annotated[int, option("PORT", "Port of the page; 0 for any free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Label rows in the browser, one at a time.

    A model that learns from the answers chooses the rows. Every answer is appended at once to a file, by default
    labels.csv, which `fewlabel fit --labels labels.csv` reads. To go on later, run the same command again. The
    table may have no label yet: name the classes with --class.

    While the page is open, a second copy of the answers is beside that file, in case something happens to it.

    The page is served to this machine only, at an address with a secret part. Ctrl+C ends it.
    """
    from fewlabel.label_app import AnswerStore, LabelingLoop, LabelServer

    if out.suffix.lower() != ".csv":
        raise WrongUse("answers are appended to a .csv file of their own", "--out")
    read = [*tables, *(reading.answers or ())]
    text = ""
    if rubric is not None:
        read.append(rubric)
        text = _read_rubric(rubric)
    keep_inputs([out], read)
    if labeler:
        _require_one_line(labeler, "--as")
    rows = read_rows(tables, reading, new_target=True)
    column = read_some_labels(reading, rows)
    say_notes(rows.notes, quiet)
    if column is not None:
        say_notes([column.describe(), *column.notes], quiet)
    task = _task(rows, reading, column, classes or [])._replace(
        random_share=random_share,
        audit=audit,
        labeler=labeler,
        rubric=text,
        seed=seed,
    )
    store = AnswerStore(out)
    say(f"answers are appended to {out}; Ctrl+C ends the page", quiet)
    restored = store.problem
    if restored:
        say(f"note: {restored}", quiet)
    try:
        loop = LabelingLoop(task, store)
        _serve(LabelServer(loop, port), out.parent, browser)
        say(f"{len(store.latest)} rows answered or skipped, in {out}", quiet)
        say(f"next: {reading.command(tables)} --labels {out}", quiet)
        # Compiled code in a thread does not survive the end of the interpreter.
        loop.wait()
    finally:
        store.close()
        if store.problem not in ("", restored):
            # Answers that are in the recovery file only are worth a line whatever was asked for.
            say(f"note: {store.problem}", quiet and not store.recovery.exists())


def _serve(server: "LabelServer", folder: Path, browser: bool) -> None:
    """Print the address, open it, and answer requests until Ctrl+C."""
    print(server.url, flush=True)
    if browser:
        import webbrowser

        webbrowser.open(server.write_opener(folder).as_uri())
    try:
        server.serve()
    except KeyboardInterrupt:
        pass
    finally:
        server.remove_opener()


def _read_rubric(path: Path) -> str:
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    if len(text) > _MOST_RUBRIC:
        raise WrongUse(f"{path} has {len(text):,} characters: the page shows up to {_MOST_RUBRIC:,}", "--rubric")
    return text.strip()


def _require_one_line(name: str, option: str) -> None:
    from fewlabel.active.answers import one_line

    if name != one_line(name) or not name:
        raise WrongUse(f"{name!r} is not a name on one line, without spaces around it", option)


def _task(rows: TableRows, reading: Reading, column: "LabelColumn | None", more: list[str]) -> "Task":
    import numpy as np

    from fewlabel.label_app import Task
    from fewlabel.labels import name_rest

    positive = reading.positive
    known = []
    if column is not None:
        known = column.labels.classes.tolist()
        if column.positive is not None:
            positive = str(column.positive)
        # Of positives only, an answer can also be that a row is none.
        if len(known) == 1 and not more:
            more = [str(name_rest(known[0], column.labels.hidden_classes))]
    names = list(dict.fromkeys([*map(str, known), *more]))
    if positive in names:
        # The key 1 of the page is for it.
        names.remove(positive)
        names.insert(0, positive)
    if len(names) < 2:
        raise WrongUse(
            "no row is labeled yet: name at least two possible answers, for instance --class yes --class no",
            "--class",
        )
    for name in names:
        _require_one_line(name, "--class")
    codes = np.full(len(rows.keys), -1)
    if column is not None:
        position = [names.index(str(name)) for name in known]
        # The last one is for the code -1 of rows without a label.
        codes = np.array([*position, -1])[column.labels.codes]
    return Task(
        title=rows.source.name,
        table=rows.table,
        keys=rows.keys,
        target=reading.target,
        classes=names,
        codes=codes,
        positive=positive,
        dayfirst=reading.day_first,
    )
