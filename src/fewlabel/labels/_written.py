"""The label column of a file: a stricter reading than that of `y`, which stops where two readings are possible."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fewlabel.checks import is_number
from fewlabel.exceptions import LabelError
from fewlabel.files import MISSING
from fewlabel.labels._column import as_series, plain_values, show
from fewlabel.labels._reading import UNLABELED, Labels, find_class, hidden_categories, require_labels
from fewlabel.text import listed, short

EMPTY = "empty cell"
IMMATURE = "not mature yet"
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
# What people look for, and what they call the rest. A selected sample may hold more of the former than of the latter.
_SOUGHT = re.compile(
    "yes|true|1|pos|positive|bad|fraud|fraudulent|default|defaulted|churn|churned|malignant|cancer|sick|ill|diseased?"
    "|case|event|abnormal|anomaly|anomalous|outlier|attack|intrusion|malicious|spam|phishing|fail|failed|failure|faulty"
    "|defect|defective|broken|dead|died|death|claim|alert|suspicious|confirmed|guilty|toxic|converted|bought|responder"
)
_ORDINARY = re.compile(
    "no|false|neg|negative|good|benign|healthy|control|normal|regular|ordinary|inlier|legit|legitimate|genuine|ham|ok"
    "|okay|pass|passed|fine|alive|survived|cleared|innocent|rest|others?|none"
)
_SIGNS = {"y": "n", "t": "f", "+": "-"}  # other letters beside these are names of their own


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
        "labels: 'bad' (1 row), 'good' (2 rows); unlabeled: 1 row (empty cell); positive: 'bad', by its name"
        """
        classes = []
        for name, n in list(self.counts.items())[:_MOST]:
            classes.append(f"{short(repr(name))} ({_rows(n)})")
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
    immature: np.ndarray | None = None,
    answered: np.ndarray | None = None,
    wording: Callable[..., str] = python_wording,
) -> LabelColumn:
    """Read the label column of a table and say how it was read.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    positive : str, int or bool, default=None
        The class to find. By default the one of two whose name says so (yes, 1, true, bad, fraud, positive, default,
        ..., or any beside no, good, negative, normal, ...), and otherwise the rarer one.
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
    immature : ndarray of bool of shape (n_samples,), default=None
        Rows that are too young for their labels to count, see :func:`fewlabel.tables.immature`: they are unlabeled.
    answered : ndarray of bool of shape (n_samples,), default=None
        Rows whose labels somebody gave who looked at them: these labels count whatever `negatives_unknown` and
        `immature` say.
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
    ({'bad': 1, 'good': 2}, 'bad', 'by its name', {'empty cell': 1})
    >>> read_column([-1, 1, 1])
    Traceback (most recent call last):
    ...
    fewlabel.exceptions.LabelError: y holds only -1 and 1. If -1 is a class: unlabeled=[]; if it marks ...
    """
    series = as_series(y)
    n_rows = len(series)
    present = ~series.isna().to_numpy()
    if repeats is None:
        repeats = np.ones(n_rows, dtype=np.int64)
    repeats = np.asarray(repeats)
    cells = plain_values(series[present])
    # Whole numbers, of a column with gaps.
    if cells.dtype.kind == "f":
        cells = cells.astype(np.int64)
    # Rules look at distinct values, so that a long column costs no more than a short one.
    value_of_cell, written = pd.factorize(cells)
    counts = _sums(value_of_cell, repeats[present], len(written))
    values = []
    n_empty = int(repeats[~present].sum())
    for cell, n in zip(written.tolist(), counts):
        label = cell.strip() if isinstance(cell, str) else cell
        values.append(_Value(cell, label, n))
        if label == "":
            n_empty += n
    marks = {EMPTY: n_empty} if n_empty else {}
    name = f"column {series.name!r}" if isinstance(series.name, str) else "y"
    gate = _Gate(name, wording, marks)
    filled = [value for value in values if value.label != ""]
    classes = gate.without_marks(filled, unlabeled, text_file)
    classes = gate.spelled(classes, merge_spellings)

    label_of = {value.written: value.label for value in classes}
    # None of a value that marks unlabeled rows, whose code is then -1.
    read = pd.Series([label_of.get(value.written) for value in values], dtype=object)
    value_codes, names = pd.factorize(read, sort=True)
    codes = np.full(n_rows, UNLABELED, dtype=np.int64)
    codes[present] = value_codes[value_of_cell]
    # NumPy would make texts of a fixed width.
    dtype = object if any(isinstance(name, str) for name in names) else None
    class_names = np.array(names.tolist(), dtype=dtype)
    labels = Labels(class_names, codes, hidden_categories(series))
    doubtful = np.ones(n_rows, dtype=bool)
    if answered is not None:
        doubtful = ~answered
    if immature is not None:
        labels = gate.matured(labels, immature & doubtful)
    require_labels(labels)
    counts = _class_counts(labels, repeats)
    chosen, why = _choose_positive(counts, positive, negatives_unknown)
    if negatives_unknown:
        is_other = labels.codes != list(counts).index(chosen)
        labels = _without(labels, is_other & doubtful)
        known = _class_counts(labels, repeats)
        for name, n in counts.items():
            n_unknown = n - known.get(name, 0)
            if n_unknown:
                marks[str(name)] = n_unknown
        counts = known
    return LabelColumn(labels, counts, chosen, why, marks, gate.notes)


class _Gate:
    """The rules by which values mark unlabeled rows, are classes, or stop the reading."""

    def __init__(self, name, wording, marks):
        self.name = name
        self.wording = wording
        # What marks unlabeled rows, and how many; rules add to it.
        self.marks = marks
        self.notes = []

    def without_marks(self, values, unlabeled, text_file):
        """The values that are classes, as numbers or booleans if all are; the others are added to `marks`."""
        is_given = unlabeled is not None
        if is_given:
            marked = self._chosen(values, [_key_of_mark(mark) for mark in unlabeled])
        else:
            marked = [value for value in values if text_file and value.label in MISSING]
            if marked:
                self.notes.append(
                    f"{_listed(marked)} is read as unlabeled; if it is a class: {self.wording(unlabeled=[])}"
                )
        self.marks |= {str(value.label): value.rows for value in marked}
        classes = [value for value in values if value not in marked]
        if not is_given:
            self._stop_at_unknown(classes)
        classes = self._typed(classes, text_file, asks=not is_given)
        if is_given or not all(is_number(value.label) for value in classes):
            return classes
        self._stop_at_codes_of_unknown(classes)
        return self._without_minus_one(classes)

    def _chosen(self, values, wanted):
        present = [_key_of_mark(value.label) for value in values]
        for mark in wanted:
            # Empty cells are marks already.
            if mark != "" and mark not in present:
                raise LabelError(
                    f"no row of {self.name} holds {mark!r}, which should mark unlabeled rows: its values are "
                    f"{show(value.label for value in values)}"
                )
        return [value for value, key in zip(values, present) if key in wanted]

    def _stop_at_unknown(self, values):
        texts = [value for value in values if isinstance(value.label, str)]
        all_numbers = all(_NUMBER.fullmatch(value.label) for value in texts)
        doubtful = []
        for value in texts:
            # Beside texts, -1 is one too: it cannot be read as the mark of a column of numbers.
            is_minus_one = not all_numbers and _key_of_mark(value.label) == str(UNLABELED)
            if is_minus_one or _UNKNOWN.fullmatch(value.label):
                doubtful.append(value)
        if doubtful:
            self._stop(f"{self.name} holds {_listed(doubtful)}", doubtful)

    def _typed(self, values, text_file, asks):
        texts = [value.label for value in values]
        if not values or not all(isinstance(text, str) for text in texts):
            return values
        if asks and all(map(_DATE.fullmatch, texts)):
            raise LabelError(
                f"{self.name} holds dates, such as {texts[0]!r}, not classes: name another column. If each is a class: "
                f"{self.wording(unlabeled=[])}"
            )
        # Other sources have types: text in them is meant as text.
        if not text_file:
            return values
        if all(map(_COMMA_NUMBER.fullmatch, texts)):
            raise LabelError(
                f"{self.name} holds numbers with a decimal comma, such as {texts[0]!r}, not classes: write them as "
                "whole numbers, or compare them with a threshold, first"
            )
        if all(text.lower() in _TRUTH for text in texts):
            return [value._replace(label=_TRUTH[value.label.lower()]) for value in values]
        numbers = [value for value in values if _NUMBER.fullmatch(value.label)]
        if len(numbers) == len(values):
            return [value._replace(label=number) for value, number in zip(values, _whole(texts))]
        others = []
        rest = []
        for value in values:
            is_text = value not in numbers and value.label.lower() not in _TRUTH
            (others if is_text else rest).append(value)
        if asks and rest:
            # The kind of fewer rows is in doubt; without texts, booleans are beside numbers.
            odd = min(others, rest, key=lambda some: sum(value.rows for value in some)) or numbers
            self._stop(f"{self.name} mixes kinds of values: {_listed(values)}", odd)
        return values

    def _stop_at_codes_of_unknown(self, values):
        sizes = [abs(value.label) for value in values]
        others = [size for size in sizes if size not in _CODES_OF_UNKNOWN]
        if not others:
            return
        # Classes 1 to 9 are numbered; 9 beside 0 and 1 is a code.
        largest = max(1, *others)
        codes = [size for size in _CODES_OF_UNKNOWN if size > 4 * largest]
        doubtful = [value for value, size in zip(values, sizes) if size in codes]
        if doubtful:
            self._stop(f"{self.name} holds {_listed(doubtful)}, a usual code of unknown values", doubtful)

    def _without_minus_one(self, values):
        """The classes if -1 marks unlabeled rows; stop if it may be a class."""
        minus = [value for value in values if value.label == UNLABELED]
        if not minus:
            return values
        classes = [value for value in values if value.label != UNLABELED]
        if self.marks:
            listed = " and ".join("empty cells" if mark == EMPTY else repr(mark) for mark in self.marks)
            self._stop(f"{self.name} holds -1 and also {listed}", minus)
        if len({value.label for value in classes}) == 1:
            self._stop(f"{self.name} holds only -1 and {classes[0].label}", minus)
        self.marks[str(UNLABELED)] = sum(value.rows for value in minus)
        if classes:
            self.notes.append(f"-1 is read as unlabeled; if it is a class: {self.wording(unlabeled=[])}")
        return classes

    def matured(self, labels, immature):
        """The labels without those of rows that are too young for them."""
        hidden = immature & (labels.codes >= 0)
        if not hidden.any():
            return labels
        numbers = _sums(labels.codes[hidden], None, len(labels.classes))
        names = [short(repr(name)) for name in labels.classes.tolist()]
        counted = [f"{n} {name}" for name, n in zip(names, numbers) if n]
        self.notes.append(f"labels that have not had time to arrive count as unlabeled: {', '.join(counted)}")
        self.marks[IMMATURE] = int(hidden.sum())
        return _without(labels, hidden)

    def _stop(self, problem, doubtful):
        labels = list(dict.fromkeys(value.label for value in doubtful))
        as_class = f"{labels[0]} is a class"
        as_mark = "it marks"
        if len(doubtful) > 1:
            as_class = "they are classes"
            as_mark = "they mark"
        raise LabelError(
            f"{problem}. If {as_class}: {self.wording(unlabeled=[])}; if {as_mark} unlabeled rows: "
            f"{self.wording(unlabeled=labels)}"
        )

    def spelled(self, values, merge):
        """One class for the spellings of it, or one for each."""
        groups = {}
        for value in values:
            groups.setdefault(_spelling_key(value.label), []).append(value)
        texts = [group for group in groups.values() if isinstance(group[0].label, str)]
        several = [group for group in texts if len(group) > 1]
        if not several:
            return values
        if merge is None:
            listed = []
            for group in several[:3]:
                spellings = [f"{value.written!r} ({value.rows})" for value in group]
                listed.append(" and ".join(spellings))
            raise LabelError(
                f"{self.name} holds several spellings: {'; '.join(listed)}. If they are one class: "
                f"{self.wording(merge_spellings=True)}; if each is a class: {self.wording(merge_spellings=False)}"
            )
        if not merge:
            return [value._replace(label=value.written) if isinstance(value.label, str) else value for value in values]
        self.notes.append(f"{len(values)} spellings are read as {len(groups)} class(es)")
        merged = []
        for group in groups.values():
            most_frequent = max(group, key=lambda spelling: (spelling.rows, str(spelling.label)))
            merged += [value._replace(label=most_frequent.label) for value in group]
        return merged


def _without(labels, hidden):
    """The labels without those of some rows, which become unlabeled."""
    codes = np.where(hidden, UNLABELED, labels.codes)
    # A class may have no label left.
    present, consecutive = np.unique(codes[codes >= 0], return_inverse=True)
    codes[codes >= 0] = consecutive
    gone = tuple(np.delete(labels.classes, present).tolist())
    return Labels(labels.classes[present], codes, gone or labels.hidden_classes)


def _class_counts(labels, repeats):
    """Labeled rows of each class."""
    labeled = labels.codes >= 0
    numbers = _sums(labels.codes[labeled], repeats[labeled], len(labels.classes))
    return dict(zip(labels.classes.tolist(), numbers))


def _sums(codes, repeats, n):
    return np.bincount(codes, repeats, minlength=n).astype(np.int64).tolist()


def _choose_positive(counts, positive, is_flag):
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
    # Of a flag that is set for known positives, the set value is positive, whichever is rarer.
    set_flags = [name for name in names if str(name).lower() in _SET_FLAGS]
    if is_flag and len(set_flags) == 1:
        return set_flags[0], "the value of a set flag"
    named = _sought(names)
    if named is not None:
        return named, "by its name"
    first, last = names
    if counts[first] == counts[last]:
        return last, "the last in sorted order, as both classes have the same number of rows"
    return min(names, key=counts.__getitem__), "the rarer class"


def _sought(names):
    """The one of two classes that is looked for, by their names; None if these do not tell."""
    keys = [_spelling_key(str(name)) for name in names]
    if all(is_number(name) for name in names) and set(keys) not in ({"0", "1"}, {"-1", "1"}):
        # 1 and 2 are numbered classes.
        return None
    for name, key, other in zip(names, keys, keys[::-1]):
        alone = _SOUGHT.fullmatch(key) and not _SOUGHT.fullmatch(other)
        if alone or _SIGNS.get(key) == other:
            return name
    # A name that is not known, beside one that says "nothing special".
    unusual = [name for name, key in zip(names, keys) if not _ORDINARY.fullmatch(key)]
    return unusual[0] if len(unusual) == 1 else None


def _key_of_mark(value):
    """A value as text; whole numbers without decimals, so that -1.0 is -1."""
    text = str(value).strip()
    if not _NUMBER.fullmatch(text):
        return text
    number = float(text)
    # Larger floats are not exact.
    if abs(number) < 2**53 and number == round(number):
        return str(round(number))
    return text


def _spelling_key(label):
    if not isinstance(label, str):
        return label
    return " ".join(unicodedata.normalize("NFKC", label).casefold().split())


def _whole(texts):
    numbers = np.array([float(text) for text in texts])
    # An error if some are fractional or infinite.
    plain_values(pd.Series(numbers))
    # Not over a float, which would round more than 53 bits.
    return [int(t) if re.fullmatch(r"[+-]?\d+", t) else int(n) for t, n in zip(texts, numbers)]


def _listed(values):
    return listed(f"{value.label!r} ({_rows(value.rows)})" for value in values)


def _rows(n):
    return f"{n} row" if n == 1 else f"{n} rows"
