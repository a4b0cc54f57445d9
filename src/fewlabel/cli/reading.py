"""How a command reads its table: the columns, the labels, and what to say about them."""

import contextlib
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fewlabel.cli.options import (
    AnswerFiles,
    DayFirst,
    Place,
    command_words,
    option,
)
from fewlabel.cli.paths import check_columns, require_column
from fewlabel.cli.wrong_use import WrongUse, as_wrong_use
from fewlabel.exceptions import LabelError
from fewlabel.text import did_you_mean, short

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from fewlabel.active.answers import Merged
    from fewlabel.labels import LabelColumn
    from fewlabel.tables import TableSource


@dataclass(frozen=True)
class Reading:
    """The options on how to read a table: which columns to use, and how to read the labels and the file."""

    target: Annotated[str, option("COLUMN", "The label column, mostly empty.", "--target", "-t")]
    place: Place = field(default_factory=Place)
    positive: Annotated[
        str | None,
        option(
            "VALUE",
            "The class to find. By default the one whose name says so (yes, 1, bad, fraud, ...), or the rarer of two.",
            "--positive",
            "-p",
        ),
    ] = None
    unlabeled: Annotated[
        list[str] | None,
        option(
            "VALUE",
            "A label that marks unlabeled rows, as empty cells do; can be repeated. All others are then classes; "
            "'' for none.",
        ),
    ] = None
    negatives_unknown: Annotated[
        bool,
        typer.Option(
            "--negatives-unknown", help="Only the positive class is certain: rows of other classes count as unlabeled."
        ),
    ] = False
    merge_spellings: Annotated[
        bool | None,
        typer.Option(
            "--merge-spellings/--keep-spellings",
            help="Whether labels such as 'Yes' and 'yes ' are one class or several.",
        ),
    ] = None
    answers: AnswerFiles = None
    label_time: Annotated[
        str | None,
        option("COLUMN", "When the wait for the label of each row began, for --mature-after. Not a feature."),
    ] = None
    mature_after: Annotated[
        str | None,
        option(
            "DURATION", "How long a label takes to arrive, such as 90d, 12w or 36h: younger rows count as unlabeled."
        ),
    ] = None
    drop: Annotated[list[str] | None, option("COLUMN", "Ignore this column; can be repeated.")] = None
    day_first: DayFirst = None

    # Here rather than in callbacks of Typer, which see one option at a time.
    def __post_init__(self) -> None:
        if (self.label_time is None) != (self.mature_after is None):
            raise WrongUse("--label-time and --mature-after go together: give both")

    def command(self, tables: Iterable[Any]) -> str:
        """The command that fits a model to this table, to which options can be added."""
        return shlex.join(["fewlabel", "fit", *map(str, tables), *command_words(self)])

    def labels(self, y: Any, **more: Any) -> "LabelColumn":
        """Read the label column; wrong use if it can be read in two ways."""
        from fewlabel.labels import read_column

        with as_wrong_use("--target", LabelError), self.naming_target():
            return read_column(
                y,
                positive=self.positive,
                unlabeled=self.unlabeled,
                negatives_unknown=self.negatives_unknown,
                merge_spellings=self.merge_spellings,
                wording=as_options,
                **more,
            )

    @contextlib.contextmanager
    def naming_target(self) -> Iterator[None]:
        """Let errors about labels start with the name of their column."""
        try:
            yield
        except LabelError as error:
            raise LabelError(f"column {short(self.target)!r}: {error}") from error


def as_options(unlabeled: Iterable[Any] | None = None, merge_spellings: bool | None = None) -> str:
    """Parameters of `read_column` as options of a command.

    Examples
    --------
    >>> from fewlabel.cli.reading import as_options
    >>> as_options(unlabeled=[-1, "not known"]), as_options(unlabeled=[]), as_options(merge_spellings=True)
    ("--unlabeled=-1 --unlabeled='not known'", "--unlabeled ''", '--merge-spellings')
    """
    if merge_spellings is not None:
        return "--merge-spellings" if merge_spellings else "--keep-spellings"
    if not unlabeled:
        # The empty value says that no label marks unlabeled rows.
        return "--unlabeled ''"
    return " ".join(f"--unlabeled={shlex.quote(str(value))}" for value in unlabeled)


class TableRows(NamedTuple):
    """A table as it was read, before its labels are.

    Attributes
    ----------
    source : TableSource
        Where it was read from; a temporary file is gone.
    table : DataFrame
        The columns to use, without the label column.
    target : Series
        The label column.
    written : bool
        Whether the labels are as they are written in a text file.
    dropped : DataFrame
        The columns that are not to be used.
    keys : list of str
        Key of each row, if answers are read or asked for.
    merged : Merged or None
        The answers in the label column, if there are any.
    notes : list of str
    immature : ndarray of bool or None
        Rows that are too young for the table's labels to count.
    """

    source: "TableSource"
    table: "pd.DataFrame"
    target: "pd.Series"
    written: bool
    dropped: "pd.DataFrame"
    keys: list[str]
    merged: "Merged | None"
    notes: list[str]
    immature: "np.ndarray | None" = None


def read_labeled(tables: Any, reading: Reading) -> "tuple[TableRows, LabelColumn, list[str]]":
    """Read a table and its labels, and make notes on them; wrong use if a column is not there."""
    rows = read_rows(tables, reading, new_target=bool(reading.answers))
    column, notes = label_rows(rows, reading)
    return rows, column, notes


def label_rows(rows: TableRows, reading: Reading) -> "tuple[LabelColumn, list[str]]":
    """Read the labels of a table, and make notes on them."""
    answered = None if rows.merged is None else rows.merged.order >= 0
    column = reading.labels(rows.target, text_file=rows.written, immature=rows.immature, answered=answered)
    return column, [*rows.notes, column.describe(), *column.notes]


def read_rows(tables: Any, reading: Reading, *, new_target: bool, with_keys: bool = False) -> TableRows:
    """Read a table and write the answers into its label column; with `new_target`, that column may be missing."""
    from fewlabel.active.answers import merge_answers, row_keys
    from fewlabel.files import column_names, is_text_file

    target = reading.target
    with reading.place.open(tables) as source:
        table = source.read(verbatim=[target])
        names = column_names(source.path, encoding=source.encoding)
        notes = _note_repeated_names(names, target, source.origin)
    # A name close to that of a column is a typing error rather than a new column.
    if new_target and target not in table and did_you_mean(target, table.columns) is None:
        notes.append(f"the table has no column {short(target)!r}: all its rows are unlabeled")
        table[target] = ""
    check_columns(list(table.columns), target, reading.drop)
    column = table.pop(target)
    # Before columns are dropped: answers are found by the values of the whole row.
    keys = row_keys(table) if new_target or with_keys else []
    written = is_text_file(source.path)
    merged = None
    young = _immature(table, reading)
    if reading.answers:
        merged = merge_answers(column, keys, reading.answers, is_label=partial(_is_label, reading, young))
        column = merged.column
        notes += merged.notes
        # Answers are text.
        written = True
    dropped = table[list(reading.drop or ())]
    table = table.drop(columns=dropped.columns)
    return TableRows(source, table, column, written, dropped, keys, merged, notes, immature=young)


def _is_label(reading: Reading, young: "np.ndarray | None", cells: "pd.Series", answers: "pd.Series") -> "np.ndarray":
    """Which cells of the label column are labels, rather than marks of unlabeled rows."""
    import numpy as np
    import pandas as pd

    # Without answers there is nothing to contradict, and the table may have no label yet.
    if answers.empty:
        return np.zeros(len(cells), dtype=bool)
    # Read together: whether -1 is a mark, or which class is positive, may depend on the classes of the answers.
    both = pd.concat([cells, answers], ignore_index=True).rename(reading.target)
    answered = np.arange(len(both)) >= len(cells)
    immature = None if young is None else np.append(young, np.zeros(len(answers), dtype=bool))
    column = reading.labels(both, text_file=True, immature=immature, answered=answered)
    return column.labels.codes[: len(cells)] >= 0


def _immature(table: "pd.DataFrame", reading: Reading) -> "np.ndarray | None":
    """Rows whose labels have not had time to arrive; None unless the options ask for it."""
    from fewlabel.tables import immature

    if reading.label_time is None or reading.mature_after is None:
        return None
    name = reading.label_time
    require_column(name, list(table.columns), "--label-time")
    with as_wrong_use("--mature-after"):
        return immature(table[name], reading.mature_after, name=name, dayfirst=reading.day_first)


def _note_repeated_names(names: Iterable[str], target: str, origin: str) -> list[str]:
    """A note on columns of the same name; wrong use if the label column is one of them."""
    counts = Counter(map(str, names))
    repeated = sorted(name for name, count in counts.items() if count > 1)
    if target in repeated:
        raise WrongUse(
            f"{origin} has {counts[target]} columns called {short(target)!r}: rename all but one",
            "--target",
        )
    if not repeated:
        return []
    listed = ", ".join(repr(short(name)) for name in repeated[:5])
    return [f"columns with the same name are numbered: {listed}"]
