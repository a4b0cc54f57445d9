"""The labeling loop: which row a browser tab gets, what becomes of its answer, and the model behind both."""

import threading
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fewlabel.active import AUDIT, REASONS, AuditQuery, BatchQuery, QueryStrategy
from fewlabel.active.answers import ANSWER, SKIP, UNDO
from fewlabel.exceptions import TableError
from fewlabel.label_app.progress import Progress, fit_model
from fewlabel.label_app.store import AnswerStore, Entry
from fewlabel.labels import UNLABELED, Labels
from fewlabel.reporting import value_text
from fewlabel.tables import TableEncoder
from fewlabel.types import PlainDict

# Answers between two fits, and rows that a fit adds to the queue.
EVERY = 5
# Rows that a tab gets at once: it shows the next one without waiting for the answer to be stored.
_N_HELD = 3
_MOST_CHARACTERS = 2000  # of a value


class Task(NamedTuple):
    """What is to be labeled.

    Attributes
    ----------
    title : str
    table : DataFrame
        The columns to show and to learn from.
    keys : list of str
        Key of each row.
    target : str
        Name of the label column.
    classes : list of str
        The possible answers.
    codes : ndarray of int
        Class of each row that the table or other files label, -1 elsewhere.
    positive : str or None
        The class to find.
    portfolio : list of str
        Methods of the model; see `fewlabel methods`.
    random_share : float
    audit : int
        Number of rows to draw with known probability, instead of rows that improve the model; 0 for none.
    labeler : str
        Who answers; stored with the answers.
    rubric : str
        How to decide, for the page.
    dayfirst : bool or None
    seed : int
    """

    title: str
    table: pd.DataFrame
    keys: list[str]
    target: str
    classes: list[str]
    codes: np.ndarray
    positive: str | None = None
    portfolio: Sequence[str] = ("logistic regression", "extra trees")
    random_share: float = 0.1
    audit: int = 0
    labeler: str = ""
    rubric: str = ""
    dayfirst: bool | None = None
    seed: int = 0


class Conflict(Exception):
    """An answer that contradicts what is known; the message is for the person who gave it."""


class NotStored(Exception):
    """An answer that could not be written, and may be given again; the message is for the person who gave it."""


class _Ask(NamedTuple):
    """A row in the queue."""

    row: int
    how: str
    probability: float


class LabelingLoop:
    """Hands out rows, stores answers, and refits the model in the background.

    All methods may be called from several threads.

    Parameters
    ----------
    task : Task
    store : AnswerStore
        Answers of an earlier session in it are continued.
    """

    def __init__(self, task: Task, store: AnswerStore) -> None:
        self.task = task
        self.store = store
        self._lock = threading.RLock()
        encoder = TableEncoder(dayfirst=task.dayfirst, random_state=task.seed)
        self._features = np.asarray(encoder.fit_transform(task.table))
        self._row_of = {key: row for row, key in enumerate(task.keys)}
        self._queue: list[_Ask] = []
        # The rows of each tab, the first of which it shows.
        self._held: dict[str, list[_Ask]] = {}
        # Tab and key of each answer of this session.
        self._given: list[tuple[str, str]] = []
        self._model: Progress | None = None
        self._fit: threading.Thread | None = None
        self._fitted_to = -1
        self._problem = ""
        self._check_store()
        self._ask_for(2 * EVERY)
        self._refit()

    def next(self, tab: str) -> PlainDict:
        """The row that a tab should show, those to show after it, and the progress."""
        with self._lock:
            held = self._hold(tab)
            rows = [self._describe(ask) for ask in held]
            return {"row": rows[0] if rows else None, "ahead": rows[1:], "progress": self._progress()}

    def answer(
        self, tab: str, key: str, label: str | None, *, how: str = "", probability: float = 1.0, note: str = ""
    ) -> PlainDict:
        """Store an answer, or that the row is skipped if `label` is None; returns what the tab shows next.

        `how` and `probability` are those that the tab was given with the row; this process may not know them, if it
        was started after that.

        Raises
        ------
        Conflict
            If the row has another label already.
        NotStored
            If the answer could not be written.
        """
        with self._lock:
            if key not in self._row_of:
                raise Conflict("This row is not in the table.")
            if label is not None and label not in self.task.classes:
                raise Conflict("This is not one of the classes.")
            earlier = self.store.latest.get(key)
            if earlier is not None and (earlier.label or None) == label:
                # The same request again: its response got lost.
                return self.next(tab)
            if earlier is not None and earlier.action == ANSWER:
                raise Conflict(f"This row was labeled {earlier.label} in another tab; that answer is kept.")
            action = ANSWER if label is not None else SKIP
            self._append(key, label or "", action=action, how=how, probability=probability, note=note)
            self._given.append((tab, key))
            if len(self.store.latest) - self._fitted_to >= EVERY:
                self._refit()
            return self.next(tab)

    def undo(self, tab: str) -> PlainDict:
        """Take back the last answer of a tab, or else the last of an earlier session; its row is shown again."""
        with self._lock:
            for position in range(len(self._given) - 1, -1, -1):
                owner, key = self._given[position]
                if owner in (tab, "") and key in self.store.latest:
                    break
            else:
                raise Conflict("There is no answer of this tab to undo.")
            entry = self.store.latest[key]
            self._append(key, entry.label, action=UNDO, how=entry.how, probability=entry.chance)
            del self._given[position]
            again = _Ask(self._row_of[key], entry.how, entry.chance)
            self._held[tab] = [again, *self._held.get(tab, [])]
            return self.next(tab)

    def wait(self) -> None:
        """Wait until no fit is running."""
        while (fit := self._fit) is not None:
            fit.join()

    def _check_store(self) -> None:
        unknown = [entry.row for entry in self.store.entries if entry.row not in self._row_of]
        if unknown:
            raise ValueError(
                f"{self.store.path} has answers about rows that the table does not have, such as {unknown[0]!r}: it "
                "belongs to another table; name another file with --out"
            )
        answers = [entry for entry in self.store.latest.values() if entry.action == ANSWER]
        odd = [entry.label for entry in answers if entry.label not in self.task.classes]
        if odd:
            raise ValueError(
                f"{self.store.path} has the label {odd[0]!r}, which is not one of the classes "
                f"{', '.join(self.task.classes)}: add it with --class"
            )
        self._given = [("", key) for key in self.store.latest]

    def _append(self, key: str, label: str, **more) -> None:
        try:
            self.store.append(key, label, labeler=self.task.labeler, **more)
        except (OSError, TableError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise NotStored(f"Not saved yet: {reason} ({self.store.path}).") from error

    def _is_done(self, row: int) -> bool:
        return self.task.codes[row] >= 0 or self.task.keys[row] in self.store.latest

    def _hold(self, tab: str) -> list[_Ask]:
        """The rows of a tab that nobody has answered, filled up from the queue."""
        held = [ask for ask in self._held.get(tab, []) if not self._is_done(ask.row)]
        self._held[tab] = held
        while len(held) < _N_HELD:
            self._queue = [ask for ask in self._queue if not self._is_done(ask.row)]
            if not self._queue:
                self._ask_for(EVERY)
            if not self._queue:
                break
            held.append(self._queue.pop(0))
        # The last rows are held by other tabs, which may have been closed.
        if not held:
            left = [ask for asks in self._held.values() for ask in asks if not self._is_done(ask.row)]
            held += left[-1:]
        return held

    def _codes(self) -> np.ndarray:
        """Class of each row, by the table and by the answers."""
        codes = self.task.codes.copy()
        for key, entry in self.store.latest.items():
            codes[self._row_of[key]] = self.task.classes.index(entry.label) if entry.action == ANSWER else UNLABELED
        return codes

    def _ask_for(self, n: int) -> None:
        """Add rows to the end of the queue."""
        codes = self._codes()
        taken = np.zeros(len(codes), dtype=bool)
        for asks in (self._queue, *self._held.values()):
            taken[[ask.row for ask in asks]] = True
        taken[[self._row_of[key] for key in self.store.latest]] = True
        known = Labels(np.array(self.task.classes, dtype=object), codes)
        seed = self.task.seed + len(self.store.entries)
        if self.task.audit:
            # All at once: rows of one draw are spread over the ranking.
            n = self.task.audit - self._n_audited()
            strategy: QueryStrategy = AuditQuery(random_state=seed)
            probability = None  # of labels before the audit: the model of the page learns while rows are drawn
        else:
            strategy = BatchQuery(random_share=self.task.random_share, positive=self.task.positive, random_state=seed)
            probability = None if self._model is None else self._model.probability
        if n <= 0:
            return
        query = strategy.query(self._features, known, n, probability=probability, exclude=taken)
        for row, how, chance in zip(query.rows, query.how, query.probability):
            self._queue.append(_Ask(int(row), how, float(chance)))

    def _n_audited(self) -> int:
        """Rows of the audit that are answered, skipped or asked for."""
        asked = [ask.how for asks in (self._queue, *self._held.values()) for ask in asks if not self._is_done(ask.row)]
        answered = [entry.how for entry in self.store.latest.values()]
        return [*asked, *answered].count(AUDIT)

    def _refit(self) -> None:
        """Fit the model to the answers so far, in a thread of its own, unless one is running."""
        if self._fit is not None:
            return
        self._fitted_to = len(self.store.latest)
        answers = [entry for entry in self.store.latest.values() if entry.action == ANSWER]
        order = [self._row_of[entry.row] for entry in answers]
        self._fit = threading.Thread(target=self._fit_now, args=(self._codes(), order, answers), daemon=True)
        self._fit.start()

    def _fit_now(self, codes: np.ndarray, order: list[int], answers: list[Entry]) -> None:
        model = None
        problem = ""
        try:
            model = fit_model(self.task, self._features, codes, order, answers, self._model)
        except Exception as error:
            # The answers are safe, and rows can be chosen without a model.
            problem = f"No new model could be fitted: {error}"
        with self._lock:
            self._fit = None
            self._problem = problem
            if model is not None:
                self._model = model
                self._ask_for(EVERY)
            if len(self.store.latest) - self._fitted_to >= EVERY:
                self._refit()

    def _describe(self, ask: _Ask) -> PlainDict:
        """What the page shows of a row."""
        values = []
        for position, name in enumerate(self.task.table.columns):
            shown = value_text(self.task.table.iat[ask.row, position], digits=10)[:_MOST_CHARACTERS]
            values.append({"column": str(name), "value": shown})
        return {
            "key": self.task.keys[ask.row],
            "number": ask.row + 1,
            "why": REASONS.get(ask.how, ""),
            "how": ask.how,
            "probability": ask.probability,
            "values": values,
        }

    def _progress(self) -> PlainDict:
        self.store.check()
        latest = self.store.latest.values()
        n_answers_by = Counter(entry.labeler for entry in latest if entry.action == ANSWER)
        codes = self._codes()
        counts = {name: int((codes == code).sum()) for code, name in enumerate(self.task.classes)}
        of_model = {"history": [], "text": "", "stop": ""} if self._model is None else self._model.summary()
        return {
            "answered": n_answers_by.total(),
            "skipped": len(latest) - n_answers_by.total(),
            "labelers": n_answers_by,
            "labeled": int((codes >= 0).sum()),
            "rows": len(codes),
            "counts": counts,
            "fitting": self._fit is not None,
            "file": str(self.store.path),
            "problem": self.store.problem or self._problem,
            **of_model,
        }
