"""The label column of a file: a stricter reading than that of `y`, which stops where two readings are possible."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fewlabel.exceptions import LabelError
from fewlabel.files import MISSING
from fewlabel.labels._column import as_series, plain_values, show
from fewlabel.labels._reading import UNLABELED, Labels, find_class, hidden_categories, require_labels
from fewlabel.text import short

EMPTY = "empty cell"
_UNKNOWN = re.compile(
    r"unkn?own|unk|not (known|available|assessed|set|yet known)|[?]+|#?n/?a|n[.]a[.]?|<na>|nan|null|nil|none|missing"
    r"|(un|not )labell?ed|no label|undefined|undetermined|undecided|tb[acd]|todo|to be determined|pending|blank|empty"
    r"|[-._*/]+",
    re.IGNORECASE,
)
_CODES_OF_UNKNOWN = (9, 99, 999, 9999)  # of surveys, positive or negative
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
_COMMA_NUMBER = re.compile(r"[+-]?\d[\d.]*,\d+")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d.*)?|\d{1,2}:\d{2}(:\d{2})?")
_TRUTH = {"true": True, "false": False}
_MOST = 8  # classes that a line names
_SET_FLAGS = ("1", "true", "yes", "y", "t", "x")

Wording = Callable[..., str]


class LabelColumn(NamedTuple):
    """A label column and how it was read.

    Attributes
    ----------
    labels : Labels
        Classes and the code of each row.
    counts : dict
        Labeled rows of each class.
    positive : str, int or bool
        The class to find; None with more than two classes.
    why : str
        Why it is the positive class.
    unlabeled : dict
        What marks an unlabeled row, and how many rows it marks.
    notes : list of str
        What a person should know about the reading.
    """

    labels: Labels
    counts: dict[Any, int]
    positive: Any
    why: str
    unlabeled: dict[str, int]
    notes: list[str]

    def describe(self) -> str:
        """One line: the classes, what marks unlabeled rows, and the positive class.

        Examples
        --------
        >>> from fewlabel.labels import read_column
        >>> read_column(["good", "good", "bad", None]).describe()
        "labels: 'bad' (1 row), 'good' (2 rows); unlabeled: 1 row (empty cell); positive: 'bad', the rarer class"
        """
        classes = [f"{short(repr(name))} ({_rows(n)})" for name, n in list(self.counts.items())[:_MOST]]
        if len(self.counts) > _MOST:
            classes.append(f"{len(self.counts) - _MOST} more")
        parts = [f"labels: {', '.join(classes)}"]
        if self.unlabeled:
            marks = ", ".join(short(mark) for mark in list(self.unlabeled)[:_MOST])
            parts.append(f"unlabeled: {_rows(sum(self.unlabeled.values()))} ({marks})")
        if self.positive is not None:
            parts.append(f"positive: {short(repr(self.positive))}, {self.why}")
        return "; ".join(parts)


class _Value(NamedTuple):
    """A distinct value of the column as it is written, the class that it stands for, and its number of rows."""

    written: Any
    label: Any
    rows: int


def python_wording(**parameters: Any) -> str:
    """Parameters as one types them in Python."""
    return ", ".join(f"{name}={value!r}" for name, value in parameters.items())


def read_column(
    y: Any,
    *,
    positive: Any = None,
    unlabeled: Sequence[Any] | None = None,
    negatives_unknown: bool = False,
    merge_spellings: bool | None = None,
    text_file: bool = False,
    repeats: Any = None,
    wording: Wording = python_wording,
) -> LabelColumn:
    """Read the label column of a table and say how it was read.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    positive : str, int or bool, default=None
        The class to find. By default the rarer of two classes.
    unlabeled : sequence, default=None
        The values that mark unlabeled rows, besides empty cells; every other value is a class. By default ``-1`` beside
        two or more classes of numbers, and in text files what pandas reads as missing, such as "NA".
    negatives_unknown : bool, default=False
        Whether rows of the other classes are unlabeled: a flag that is set for known positives only.
    merge_spellings : bool, default=None
        Whether values that differ in case or spaces only are one class.
    text_file : bool, default=False
        Whether the values come from a text file, as they are written there: numbers and booleans are recognized.
    repeats : array-like of int of shape (n_samples,), default=None
        Number of rows that each element of `y` stands for, if `y` holds the distinct values of a column; by default 1.
    wording : callable, default=python_wording
        Turns keyword arguments of this function into the text that messages suggest to type.

    Returns
    -------
    LabelColumn

    Raises
    ------
    LabelError
        If the column can be read in two ways that give different models. The message names both, and how to choose.

    Examples
    --------
    >>> from fewlabel.labels import read_column
    >>> found = read_column(["good", "good", "bad", None])
    >>> found.counts, found.positive, found.why, found.unlabeled
    ({'bad': 1, 'good': 2}, 'bad', 'the rarer class', {'empty cell': 1})
    >>> read_column([-1, 1, 1])
    Traceback (most recent call last):
    ...
    fewlabel.exceptions.LabelError: y holds only -1 and 1. If -1 is a class: unlabeled=[]; if it marks ...
    """
    series = as_series(y)
    present = ~series.isna().to_numpy()
    gate = _Gate(f"column {series.name!r}" if isinstance(series.name, str) else "y", wording)
    repeats = np.ones(len(series), dtype=np.int64) if repeats is None else np.asarray(repeats)
    values = plain_values(series[present])
    if values.dtype.kind == "f":  # whole numbers, of a column with gaps
        values = values.astype(np.int64)
    rows, written = pd.factorize(values)
    counts = _sums(rows, repeats[present], len(written))
    found = [_Value(w, w.strip() if isinstance(w, str) else w, n) for w, n in zip(written.tolist(), counts)]

    empty = int(repeats[~present].sum()) + sum(v.rows for v in found if v.label == "")
    marks = {EMPTY: empty} if empty else {}
    classes = gate.without_marks([v for v in found if v.label != ""], unlabeled, marks, text_file)
    classes = gate.spelled(classes, merge_spellings)

    code_of, names = _numbered(classes)
    codes = np.full(len(series), UNLABELED, dtype=np.int64)
    codes[present] = np.array([code_of.get(v.written, UNLABELED) for v in found], dtype=np.int64)[rows]
    labels = Labels(names, codes, hidden_categories(series))
    require_labels(labels)
    per_class = dict(zip(names.tolist(), _sums(codes[codes >= 0], repeats[codes >= 0], len(names))))
    chosen, why = _choose_positive(per_class, positive, negatives_unknown)
    if negatives_unknown:
        labels, per_class = gate.positives_only(labels, per_class, chosen, marks)
    return LabelColumn(labels, per_class, chosen, why, marks, gate.notes)


class _Gate:
    """The rules by which values mark unlabeled rows, are classes, or stop the reading."""

    def __init__(self, name: str, wording: Wording) -> None:
        self.name, self.wording = name, wording
        self.notes: list[str] = []

    def without_marks(self, values: list[_Value], unlabeled, marks: dict[str, int], text_file: bool) -> list[_Value]:
        """The values that are classes, as numbers or booleans if all are; the others are added to `marks`."""
        if unlabeled is not None:
            marked = self._chosen(values, [u for u in map(_key_of_mark, unlabeled) if u != ""])
        else:
            marked = [v for v in values if text_file and v.label in MISSING]
            if marked:
                self.notes.append(
                    f"{_listed(marked)} is read as unlabeled; if it is a class: {self.wording(unlabeled=[])}"
                )
        marks |= {str(v.label): v.rows for v in marked}
        classes = [v for v in values if v not in marked]
        if unlabeled is None:
            self._stop_at_unknown(classes)
        classes = self._typed(classes, text_file, asks=unlabeled is None)
        if unlabeled is not None or not _are_numbers(classes):
            return classes
        self._stop_at_codes_of_unknown(classes)
        return self._without_minus_one(classes, marks)

    def _chosen(self, values: list[_Value], wanted: list[str]) -> list[_Value]:
        found = {_key_of_mark(v.label) for v in values}
        for mark in wanted:
            if mark not in found:
                raise LabelError(
                    f"no row of {self.name} holds {mark!r}, which should mark unlabeled rows: its values are "
                    f"{show(v.label for v in values)}"
                )
        return [v for v in values if _key_of_mark(v.label) in wanted]

    def _stop_at_unknown(self, values: list[_Value]) -> None:
        texts = [v for v in values if isinstance(v.label, str)]
        all_numbers = all(_NUMBER.fullmatch(v.label) for v in texts)
        doubtful = [
            v
            for v in texts
            if _UNKNOWN.fullmatch(v.label) or (not all_numbers and _key_of_mark(v.label) == str(UNLABELED))
        ]
        if doubtful:
            self._stop(f"{self.name} holds {_listed(doubtful)}", doubtful)

    def _typed(self, values: list[_Value], text_file: bool, asks: bool) -> list[_Value]:
        texts = [v.label for v in values]
        if not values or not all(isinstance(t, str) for t in texts):
            return values
        if asks and all(_DATE.fullmatch(t) for t in texts):
            raise LabelError(
                f"{self.name} holds dates, such as {texts[0]!r}, not classes: name another column. If each is a class: "
                f"{self.wording(unlabeled=[])}"
            )
        if not text_file:
            return values
        if all(_COMMA_NUMBER.fullmatch(t) for t in texts):
            raise LabelError(
                f"{self.name} holds numbers with a decimal comma, such as {texts[0]!r}, not classes: write them as "
                "whole numbers, or compare them with a threshold, first"
            )
        if all(t.lower() in _TRUTH for t in texts):
            return [v._replace(label=_TRUTH[v.label.lower()]) for v in values]
        numbers = [v for v in values if _NUMBER.fullmatch(v.label)]
        if len(numbers) == len(values):
            return [v._replace(label=n) for v, n in zip(values, _whole(texts))]
        others = [v for v in values if v not in numbers and v.label.lower() not in _TRUTH]
        if asks and len(others) < len(values):
            odd = min((others, [v for v in values if v not in others]), key=lambda some: sum(v.rows for v in some))
            odd = odd or numbers  # booleans beside numbers
            self._stop(f"{self.name} mixes kinds of values: {_listed(values)}", odd)
        return values

    def _stop_at_codes_of_unknown(self, values: list[_Value]) -> None:
        others = [v.label for v in values if abs(v.label) not in _CODES_OF_UNKNOWN]
        doubtful = [
            v
            for v in values
            if abs(v.label) in _CODES_OF_UNKNOWN and others and abs(v.label) > 4 * max(1, *map(abs, others))
        ]
        if doubtful:
            self._stop(f"{self.name} holds {_listed(doubtful)}, a usual code of unknown values", doubtful)

    def _without_minus_one(self, values: list[_Value], marks: dict[str, int]) -> list[_Value]:
        """The classes if -1 marks unlabeled rows; stop if it may be a class."""
        minus = [v for v in values if v.label == UNLABELED]
        classes = [v for v in values if v.label != UNLABELED]
        if not minus:
            return classes
        if marks:
            self._stop(f"{self.name} holds -1 and also {' and '.join(map(_mark_name, marks))}", minus)
        if len({v.label for v in classes}) == 1:
            self._stop(f"{self.name} holds only -1 and {classes[0].label}", minus)
        marks[str(UNLABELED)] = sum(v.rows for v in minus)
        if classes:
            self.notes.append(f"-1 is read as unlabeled; if it is a class: {self.wording(unlabeled=[])}")
        return classes

    def _stop(self, problem: str, doubtful: list[_Value]) -> None:
        it, is_, marks = ("they", "are classes", "mark") if len(doubtful) > 1 else ("it", "is a class", "marks")
        subject = it if len(doubtful) > 1 else str(doubtful[0].label)
        typed = list(dict.fromkeys(v.label for v in doubtful))
        raise LabelError(
            f"{problem}. If {subject} {is_}: {self.wording(unlabeled=[])}; if {it} {marks} unlabeled rows: "
            f"{self.wording(unlabeled=typed)}"
        )

    def spelled(self, values: list[_Value], merge: bool | None) -> list[_Value]:
        """One class for the spellings of it, or one for each."""
        groups: dict[Any, list[_Value]] = {}
        for v in values:
            groups.setdefault(_spelling_key(v.label), []).append(v)
        several = [group for group in groups.values() if len(group) > 1 and isinstance(group[0].label, str)]
        if not several:
            return values
        if merge is None:
            spellings = "; ".join(" and ".join(f"{v.written!r} ({v.rows})" for v in group) for group in several[:3])
            raise LabelError(
                f"{self.name} holds several spellings: {spellings}. If they are one class: "
                f"{self.wording(merge_spellings=True)}; if each is a class: {self.wording(merge_spellings=False)}"
            )
        if not merge:
            return [v._replace(label=v.written) if isinstance(v.label, str) else v for v in values]
        names = {key: max(group, key=lambda v: (v.rows, str(v.label))).label for key, group in groups.items()}
        self.notes.append(f"{len(values)} spellings are read as {len(groups)} class(es)")
        return [v._replace(label=names[_spelling_key(v.label)]) for v in values]

    def positives_only(self, labels: Labels, counts: dict[Any, int], positive: Any, marks: dict[str, int]):
        """The labels without those of the negatives, which become unlabeled."""
        code = list(counts).index(positive)
        others = {name: n for name, n in counts.items() if name != positive}
        marks |= {str(name): n for name, n in others.items()}
        hidden = tuple(others) if others else labels.hidden_classes
        codes = np.where(labels.codes == code, 0, UNLABELED)
        return Labels(labels.classes[code : code + 1], codes, hidden), {positive: counts[positive]}


def _sums(codes: np.ndarray, repeats: np.ndarray, n: int) -> list[int]:
    return np.bincount(codes, repeats, minlength=n).astype(np.int64).tolist()


def _numbered(classes: list[_Value]) -> tuple[dict[Any, int], np.ndarray]:
    """Number of each written value's class, and the sorted classes."""
    names = sorted({v.label for v in classes})
    position = {name: k for k, name in enumerate(names)}
    dtype = object if any(isinstance(name, str) for name in names) else None
    return {v.written: position[v.label] for v in classes}, np.array(names, dtype=dtype)


def _choose_positive(counts: dict[Any, int], positive: Any, is_flag: bool) -> tuple[Any, str]:
    """The positive class and why; None with more than two classes."""
    names = list(counts)
    if positive is not None:
        return find_class(positive, names), "given"
    if len(names) == 1:
        return names[0], "the only labeled class"
    if len(names) > 2:
        if is_flag:
            raise LabelError(f"the label column holds {len(names)} classes, {show(names)}: name the positive class")
        return None, "more than two classes"
    set_flags = [name for name in names if str(name).lower() in _SET_FLAGS]
    if is_flag and len(set_flags) == 1:
        return set_flags[0], "the value of a set flag"
    first, last = names
    if counts[first] == counts[last]:
        return last, "the last in sorted order, as both classes have the same number of rows"
    return min(names, key=counts.__getitem__), "the rarer class"


def _key_of_mark(value: Any) -> str:
    """A value as text; whole numbers without decimals, so that -1.0 is -1."""
    text = str(value).strip()
    if _NUMBER.fullmatch(text) and abs(float(text)) < 2**53 and float(text) == round(float(text)):
        return str(round(float(text)))
    return text


def _spelling_key(label: Any) -> Any:
    if not isinstance(label, str):
        return label
    return " ".join(unicodedata.normalize("NFKC", label).casefold().split())


def _whole(texts: list[str]) -> list[int]:
    numbers = np.array([float(t) for t in texts])
    plain_values(pd.Series(numbers))  # an error if some are fractional or infinite
    return [int(t) if re.fullmatch(r"[+-]?\d+", t) else int(n) for t, n in zip(texts, numbers)]


def _are_numbers(values: list[_Value]) -> bool:
    return all(isinstance(v.label, (int, float)) and not isinstance(v.label, bool) for v in values)


def _mark_name(mark: str) -> str:
    return "empty cells" if mark == EMPTY else repr(mark)


def _listed(values: list[_Value], most: int = 6) -> str:
    shown = ", ".join(f"{v.label!r} ({_rows(v.rows)})" for v in values[:most])
    return shown + (", ..." if len(values) > most else "")


def _rows(n: int) -> str:
    return f"{n} row{'' if n == 1 else 's'}"
