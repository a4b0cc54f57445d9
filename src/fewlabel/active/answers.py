"""Answers: labels that people gave to rows of a table, in files of their own."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fewlabel.active._query import AGAIN, AUDIT, RANDOM, Query
from fewlabel.active.raters import CombinedAnswers, combine_answers, contradicting
from fewlabel.exceptions import TableError
from fewlabel.files import column_names, has_rows, read_file
from fewlabel.parts.cells import DATE, read_as
from fewlabel.text import distinct, listed, printable, short, without_formula

ROW = "row"
LABEL = "label"
ACTION = "action"
TIME = "time"
HOW = "how"
PROBABILITY = "probability"
NOTE = "note"
LABELER = "labeler"
COLUMNS = (ROW, LABEL, ACTION, TIME, HOW, PROBABILITY, NOTE, LABELER)
ANSWER = "answer"
SKIP = "skip"
UNDO = "undo"
_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_KEY = re.compile(r"r(\d+)-([0-9a-f]{12})")
_SHOWN = 3
_PEOPLE = (
    "{0} people answered, {several} rows more than once: {1.agreement:.0%} of these pairs of answers agree "
    "(Krippendorff's alpha {1.kappa:.2f}), {conflicts} rows have contradicting answers. Estimated share of right "
    "answers: {2}"
)


class Votes(NamedTuple):
    """Answers of several people.

    Attributes
    ----------
    rows : ndarray of int
        Positions of the rows that somebody answered.
    labelers : list of str
    classes : list of str
    codes : ndarray of int of shape (n_answered, n_labelers)
        Position of each answer in `classes`, -1 where somebody did not answer.
    """

    rows: np.ndarray
    labelers: list[str]
    classes: list[str]
    codes: np.ndarray

    def note(self, found: CombinedAnswers) -> str:
        """How far people agree, and how often each of them is right."""
        people = [f"{short(name, 20)} {share:.0%}" for name, share in zip(self.labelers, found.accuracy)]
        n_answers = (self.codes >= 0).sum(axis=1)
        numbers = {"several": np.count_nonzero(n_answers > 1), "conflicts": contradicting(self.codes).sum()}
        return _PEOPLE.format(len(people), found, ", ".join(people), **numbers)


class Merged(NamedTuple):
    """A label column with the answers in it.

    Attributes
    ----------
    column : Series of str
        The label of each row as text, "" if it is unlabeled.
    order : ndarray of int
        For each row the position of its answer among all answers, -1 if it has none.
    random : ndarray of bool
        Whether the row was answered after a random draw, that of an audit included.
    probability : ndarray of float
        The probability of that draw, NaN for other rows.
    n_audited : int
        Answers to rows of an audit.
    votes : Votes or None
        Who answered what, if several people whose names are known answered the same rows.
    notes : list of str
        How many answers there are, and which contradict each other.
    """

    column: pd.Series
    order: np.ndarray
    random: np.ndarray
    probability: np.ndarray
    n_audited: int
    votes: Votes | None
    notes: list[str]

    def known_probability(self) -> np.ndarray | None:
        """Probability with which each row was drawn by one of the answered draws, NaN for other rows.

        None without an audit: the few random rows of other queries are too few to base every estimate on them.
        """
        if self.n_audited == 0:
            return None
        return np.minimum(self.random.sum() * self.probability, 1.0)


def row_keys(table: pd.DataFrame) -> list[str]:
    """Key of each row: its number, from 1, and a hash of its values, which finds the row again if the table changes.

    Parameters
    ----------
    table : DataFrame
        Without the label column.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabel.active.answers import row_keys
    >>> row_keys(pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
    ['r1-...', 'r2-...']
    """
    # Names may repeat.
    columns = {str(k): _comparable(table.iloc[:, k]) for k in range(table.shape[1])}
    plain = pd.DataFrame(columns, index=range(len(table)))
    # Rows without a column have no values to hash, for which pandas 2 has an error.
    hashes = pd.util.hash_pandas_object(plain, index=False).tolist() if columns else [0] * len(table)
    return [f"r{number}-{value >> 16:012x}" for number, value in enumerate(hashes, start=1)]


def _comparable(column: pd.Series) -> pd.Series:
    """Values that are the same whatever the type of the column: a gap turns integers into floats."""
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan))
    present = column.astype(object).where(column.notna(), "")
    return pd.Series(present.map(str).to_numpy(dtype=object))


def one_line(text: str) -> str:
    """A text without line breaks, control characters and repeated spaces.

    Examples
    --------
    >>> from fewlabel.active.answers import one_line
    >>> one_line("two\\r\\nlines ")
    'two lines'
    """
    return " ".join(_BREAKS.sub(" ", text).split())


def guarded(text: str) -> str:
    """A text that no spreadsheet runs, from which `unguarded` gets the original.

    Examples
    --------
    >>> from fewlabel.active.answers import guarded, unguarded
    >>> guarded("=1+1"), guarded("'=1+1"), guarded("'a'")
    ("'=1+1", "''=1+1", "'a'")
    >>> unguarded("''=1+1")
    "'=1+1"
    """
    return "'" + text if _is_formula(text) else text


def unguarded(text: str) -> str:
    """The text that was given to `guarded`."""
    return text[1:] if text.startswith("'") and _is_formula(text) else text


def _is_formula(text: str) -> bool:
    bare = text.lstrip("'")
    return without_formula(bare) != bare


def answer_sheet(table: pd.DataFrame, keys: Sequence[str], query: Query) -> pd.DataFrame:
    """The rows to ask for, for a spreadsheet: key, an empty label, how they were drawn, and their values.

    Parameters
    ----------
    table : DataFrame
        Without the label column.
    keys : sequence of str
        What `row_keys` returned.
    query : Query

    Returns
    -------
    DataFrame
        Without texts that a spreadsheet would take for formulas.
    """
    asked_for = [keys[row] for row in query.rows]
    asked = pd.DataFrame({ROW: asked_for, LABEL: "", HOW: query.how, PROBABILITY: query.probability})
    values = table.iloc[query.rows].reset_index(drop=True)
    for name, kind in values.dtypes.items():
        if not pd.api.types.is_numeric_dtype(kind):
            values[name] = values[name].astype(object).map(_inert)
    sheet = pd.concat([asked, values], axis=1)
    names = [without_formula(str(name)) for name in sheet.columns]
    return sheet.set_axis(distinct(names), axis=1)


def _inert(value: Any) -> Any:
    return without_formula(value) if isinstance(value, str) else value


def read_answers(path: Path, until: np.datetime64 | None = None) -> pd.DataFrame:
    """Read a file of answers: the last line about a row counts if it is a log with the column `action`.

    Parameters
    ----------
    path : Path
        A table with the columns `row` and `label`, for instance from `fewlabel next` or `fewlabel label`.
    until : datetime64, default=None
        Leave out lines of a later time, and those without a time.

    Returns
    -------
    DataFrame
        Columns `row`, `label`, `how`, `probability`, `time`, `labeler`: one line per answer, without empty labels.

    Raises
    ------
    TableError
        If a column is missing, or `until` is given for a sheet, which has no times.
    """
    columns = answer_columns(path)
    for name in (ROW, LABEL):
        if name not in columns:
            raise TableError(
                f"{path} has no column {name!r}: files of answers have the columns {ROW!r} and {LABEL!r}, as "
                "`fewlabel next` writes them"
            )
    written = read_file(path, verbatim=list(columns.values()))
    answers = pd.DataFrame("", index=written.index, columns=list(COLUMNS))
    for name, column in columns.items():
        answers[name] = as_text(written[column]).str.strip()
    answers[LABEL] = answers[LABEL].map(unguarded)
    is_log = bool(answers[ACTION].isin([ANSWER, SKIP, UNDO]).all())
    if not is_log:
        # A sheet, whose columns called action or time are those of the table.
        answers[TIME] = ""
        if until is not None:
            raise TableError(
                f"{path} is an answer sheet, which does not say when each row was labeled: only the log of `fewlabel "
                "label` does. Leave out --as-of, or name the rows with --key, by which any file with the columns "
                f"{LABEL!r} and {TIME!r} can be read"
            )
    if until is not None:
        # Before the last line of a row is looked for: one that came later must not hide one that was there.
        answers = answers.loc[read_as(answers[TIME], DATE).rows() <= until].copy()
    if is_log:
        answers.loc[answers[ACTION] != ANSWER, LABEL] = ""
        answers = answers.drop_duplicates([ROW, LABELER], keep="last")
    answers[PROBABILITY] = pd.to_numeric(answers[PROBABILITY], errors="coerce")
    return answers.loc[answers[LABEL] != "", [ROW, LABEL, HOW, PROBABILITY, TIME, LABELER]]


def recovery_file(path: Path) -> Path:
    """Where the labeling page keeps a second copy of a log of answers.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fewlabel.active.answers import recovery_file
    >>> recovery_file(Path("labels.csv")).name
    'labels.recovery.csv'
    """
    return path.with_name(f"{path.stem}.recovery{path.suffix}")


def answer_columns(path: Path) -> dict[str, str]:
    """The columns of a file of answers by the names that `fewlabel next` and `fewlabel label` give them.

    Programs and people write `Label` for `label`; a column of exactly that name comes first.
    """
    columns: dict[str, str] = {}
    for name in map(str, column_names(path)):
        usual = name.strip().casefold()
        if usual in COLUMNS and (usual not in columns or name == usual):
            columns[usual] = name
    return columns


def _is_filled(cells: pd.Series, answers: pd.Series) -> np.ndarray:
    return cells.to_numpy() != ""


def merge_answers(
    column: pd.Series,
    keys: Sequence[str],
    paths: Sequence[Path],
    until: np.datetime64 | None = None,
    is_label: Callable[[pd.Series, pd.Series], np.ndarray] = _is_filled,
) -> Merged:
    """Write answers into a label column.

    A row is unlabeled, and a note names it, if its answers contradict each other or the label that the table has. If
    the column `labeler` names several people, :func:`fewlabel.active.combine_answers` decides what they contradict each
    other about. An answer to a row that was asked again takes the place of the label that the table has.

    Parameters
    ----------
    column : Series
        The label column as it is in the table, text or typed.
    keys : sequence of str
        What `row_keys` returned.
    paths : sequence of Path
        Files of answers.
    until : datetime64, default=None
        Leave out answers of a later time, and those without a time.
    is_label : callable, default=_is_filled
        ``is_label(cells, answers)``: whether each cell of the column, as text, is a label that an answer can
        contradict, rather than a mark of unlabeled rows. By default every cell that is not empty.

    Returns
    -------
    Merged

    Raises
    ------
    TableError
        If a file is about other rows.
    """
    answers = pd.concat([read_answers(path, until).assign(file=str(path)) for path in paths], ignore_index=True)
    if (answers[TIME] != "").all():
        answers = answers.iloc[np.argsort(answers[TIME], kind="stable")]
    rows = _positions(answers, keys)
    cells = as_text(column)
    labels = cells.to_numpy(dtype=object).copy()
    labeled = is_label(cells, answers[LABEL])
    order = np.full(len(labels), -1)
    random = np.zeros(len(labels), dtype=bool)
    audited = np.zeros(len(labels), dtype=bool)
    probability = np.full(len(labels), np.nan)
    # Who says so, by row and label.
    sources: dict[int, dict[str, str]] = {}
    asked_again: set[int] = set()
    for number, answer in enumerate(answers.itertuples(index=False)):
        row = rows[number]
        if answer.how == AGAIN and row not in asked_again:
            asked_again.add(row)
            sources[row] = {}
        elif row not in sources:
            sources[row] = {labels[row]: "the table"} if labeled[row] else {}
        sources[row].setdefault(answer.label, answer.file)
        labels[row] = answer.label
        order[row] = number
        if answer.how in (RANDOM, AUDIT) and answer.probability > 0:
            random[row] = True
            probability[row] = answer.probability
            audited[row] = answer.how == AUDIT
    conflicts = {row: said for row, said in sources.items() if len(said) > 1}
    votes = _votes(answers, rows)
    notes = []
    if votes is not None:
        found = combine_answers(votes.codes, len(votes.classes))
        notes.append(votes.note(found))
        for row, code in zip(votes.rows, found.codes):
            # The label that a table has is nobody's answer: a contradiction to it stays one.
            if row in conflicts and "the table" not in conflicts[row].values():
                labels[row] = votes.classes[code]
                del conflicts[row]
    contradicted = list(conflicts)
    labels[contradicted] = ""
    order[contradicted] = -1
    random[contradicted] = False
    audited[contradicted] = False
    probability[contradicted] = np.nan
    files = ", ".join(str(path) for path in paths)
    notes.insert(0, f"{len(sources) - len(conflicts)} rows have labels from {files}")
    for path in paths:
        notes += _recovery_notes(path, answers)
    if conflicts:
        notes.append(_conflict_note(conflicts))
    combined = pd.Series(labels, name=column.name, dtype=object)
    return Merged(combined, order, random, probability, int(audited.sum()), votes, notes)


def _votes(answers: pd.DataFrame, rows: list[int]) -> Votes | None:
    """Answers by person; None unless all are named and two of them answered the same row."""
    if len(answers) == 0 or (answers[LABELER] == "").any():
        return None
    table = pd.DataFrame({ROW: rows, LABELER: answers[LABELER].to_numpy(), LABEL: answers[LABEL].to_numpy()})
    table = table.drop_duplicates([ROW, LABELER], keep="last")
    if not table.duplicated(ROW).any():
        return None
    answered, row_codes = np.unique(table[ROW], return_inverse=True)
    labelers, labeler_codes = np.unique(table[LABELER].astype(str), return_inverse=True)
    classes, label_codes = np.unique(table[LABEL].astype(str), return_inverse=True)
    codes = np.full((len(answered), len(labelers)), -1)
    codes[row_codes, labeler_codes] = label_codes
    return Votes(answered, labelers.tolist(), classes.tolist(), codes)


def as_text(column: pd.Series) -> pd.Series:
    """Labels as a text file holds them: whole numbers without a decimal point, "" for a missing value."""

    def written(value: Any) -> str:
        if isinstance(value, (float, np.floating)) and float(value).is_integer():
            return str(int(value))
        return str(value)

    return column.astype(object).map(written).where(column.notna(), "").astype(object)


def _positions(answers: pd.DataFrame, keys: Sequence[str]) -> list[int]:
    """Row of each answer, by its key or, if rows were moved or added, by the hash in it."""
    exact = {key: row for row, key in enumerate(keys)}
    by_hash: dict[str, int] = {}
    for row, key in enumerate(keys):
        by_hash.setdefault(key.partition("-")[2], row)
    rows = []
    for key in answers[ROW]:
        well_formed = _KEY.fullmatch(key)
        # By the hash only if no row has the key: of rows with the same values, the number finds the right one.
        by_values = by_hash.get(well_formed[2], -1) if well_formed else -1
        rows.append(exact.get(key, by_values))
    unknown = answers[[row < 0 for row in rows]]
    if len(unknown):
        first = unknown.iloc[0]
        raise TableError(
            f"{first['file']}: {len(unknown)} answer(s) are about rows that the table does not have, such as "
            f"{short(first[ROW])!r}: their values have changed, or the file belongs to another table. Correct or "
            "remove these lines"
        )
    return rows


def _recovery_notes(path: Path, answers: pd.DataFrame) -> list[str]:
    """A note if answers were saved beside a log that could not be written."""
    recovery = recovery_file(path)
    if not recovery.exists() or not has_rows(recovery):
        return []
    saved = read_answers(recovery)
    n_missing = int((~saved[ROW].isin(answers[ROW])).sum())
    if n_missing == 0:
        return []
    return [f"{recovery} has {n_missing} answers that {path} lacks: start `fewlabel label` again, which adds them"]


def _conflict_note(conflicts: dict[int, dict[str, str]]) -> str:
    shown = []
    for row, labels in conflicts.items():
        said = ", ".join(f"{short(label, 20)!r} in {printable(file)}" for label, file in labels.items())
        shown.append(f"row {row + 1} ({said})")
    return f"{len(conflicts)} row(s) have contradicting labels and count as unlabeled: {listed(shown, _SHOWN)}"
