"""The labeling loop: which row a browser tab gets, what becomes of its answer, and the model behind both."""

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fewlabel.active import REASONS, BatchQuery
from fewlabel.active.answers import ANSWER, SKIP, UNDO
from fewlabel.label_app.progress import Progress, fit_model
from fewlabel.label_app.store import AnswerStore, Entry
from fewlabel.labels import UNLABELED, Labels
from fewlabel.tables import TableEncoder

EVERY = 5  # answers between two fits, and rows that a fit adds to the queue


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
    dayfirst: bool | None = None
    seed: int = 0


class Conflict(Exception):
    """An answer that cannot be stored; the message is for the person who gave it."""


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
        self.task, self.store = task, store
        self._lock = threading.RLock()
        self._encoder = TableEncoder(dayfirst=task.dayfirst, random_state=task.seed)
        self._features = np.asarray(self._encoder.fit_transform(task.table))
        self._row_of = {key: row for row, key in enumerate(task.keys)}
        self._queue: list[_Ask] = []
        self._held: dict[str, _Ask] = {}  # the row that each tab shows
        self._given: list[tuple[str, str]] = []  # tab and key of each answer of this session
        self._model: Progress | None = None
        self._fit: threading.Thread | None = None
        self._fitted_to = -1
        self._problem = ""
        self._read_store()
        self._ask_for(2 * EVERY)
        self._refit()

    def next(self, tab: str) -> dict[str, Any]:
        """The row that a tab should show, and the progress."""
        with self._lock:
            ask = self._held.get(tab)
            if ask is None or self._is_done(ask.row):
                ask = self._take(tab)
            return {"row": None if ask is None else self._describe(ask), "progress": self._progress()}

    def answer(
        self, tab: str, key: str, label: str | None, *, how: str = "", probability: float = 1.0, note: str = ""
    ) -> dict[str, Any]:
        """Store an answer, or that the row is skipped if `label` is None; returns what the tab shows next.

        `how` and `probability` are those that the tab was given with the row; this process may not know them, if it
        was started after that.

        Raises
        ------
        Conflict
            If the row has another label already.
        """
        with self._lock:
            row = self._row_of.get(key)
            if row is None:
                raise Conflict("This row is not in the table.")
            if label is not None and label not in self.task.classes:
                raise Conflict("This is not one of the classes.")
            earlier = self._latest.get(key)
            if earlier is not None and (earlier.label or None) == label:
                return self.next(tab)  # the same request again: its response got lost
            if earlier is not None and earlier.action == ANSWER:
                raise Conflict(f"This row was labeled {earlier.label} in another tab; that answer is kept.")
            action = ANSWER if label is not None else SKIP
            self._append(key, label or "", action=action, how=how, probability=probability, note=note)
            self._given.append((tab, key))
            if len(self._latest) - self._fitted_to >= EVERY:
                self._refit()
            return self.next(tab)

    def undo(self, tab: str) -> dict[str, Any]:
        """Take back the last answer of a tab, or else the last of an earlier session; its row is shown again."""
        with self._lock:
            for position in range(len(self._given) - 1, -1, -1):
                owner, key = self._given[position]
                if owner in (tab, "") and key in self._latest:
                    break
            else:
                raise Conflict("There is no answer of this tab to undo.")
            del self._given[position]
            entry = self._latest[key]
            self._append(key, entry.label, action=UNDO, how=entry.how, probability=float(entry.probability or 1))
            held = self._held.get(tab)
            if held is not None and not self._is_done(held.row):
                self._queue.insert(0, held)
            self._held[tab] = _Ask(self._row_of[key], entry.how, float(entry.probability or 1))
            return self.next(tab)

    def wait(self) -> None:
        """Wait until no fit is running."""
        while (fit := self._fit) is not None:
            fit.join()

    def _read_store(self) -> None:
        unknown = [entry.row for entry in self.store.entries if entry.row not in self._row_of]
        if unknown:
            raise ValueError(
                f"{self.store.path} has answers about rows that the table does not have, such as {unknown[0]!r}: it "
                "belongs to another table; name another file with --out"
            )
        self._latest: dict[str, Entry] = self.store.latest()
        odd = [entry.label for entry in self._latest.values() if entry.action == ANSWER and self._code(entry) < 0]
        if odd:
            raise ValueError(
                f"{self.store.path} has the label {odd[0]!r}, which is not one of the classes "
                f"{', '.join(self.task.classes)}: add it with --classes"
            )
        self._given = [("", key) for key in self._latest]

    def _append(self, key: str, label: str, **more: Any) -> None:
        entry = self.store.append(key, label, **more)
        self._latest.pop(key, None)
        if entry.action != UNDO:
            self._latest[key] = entry

    def _code(self, entry: Entry) -> int:
        return self.task.classes.index(entry.label) if entry.label in self.task.classes else UNLABELED

    def _is_done(self, row: int) -> bool:
        return self.task.codes[row] >= 0 or self.task.keys[row] in self._latest

    def _take(self, tab: str) -> _Ask | None:
        """The first row of the queue that nobody has answered."""
        self._held.pop(tab, None)
        self._queue = [ask for ask in self._queue if not self._is_done(ask.row)]
        if not self._queue:
            self._ask_for(EVERY)
        if not self._queue:  # all rows are answered, or shown in other tabs, which may have been closed
            left = [ask for ask in self._held.values() if not self._is_done(ask.row)]
            self._queue = left[:1]
        if not self._queue:
            return None
        self._held[tab] = self._queue.pop(0)
        return self._held[tab]

    def _codes(self) -> np.ndarray:
        """Class of each row, by the table and by the answers."""
        codes = self.task.codes.copy()
        for key, entry in self._latest.items():
            codes[self._row_of[key]] = self._code(entry)
        return codes

    def _ask_for(self, n: int) -> None:
        """Add rows to the end of the queue."""
        codes = self._codes()
        taken = np.zeros(len(codes), dtype=bool)
        taken[[ask.row for ask in (*self._queue, *self._held.values())]] = True
        taken[[self._row_of[key] for key in self._latest]] = True
        known = Labels(np.array(self.task.classes, dtype=object), codes)
        strategy = BatchQuery(
            random_share=self.task.random_share,
            positive=self.task.positive,
            random_state=self.task.seed + len(self.store.entries),
        )
        probability = None if self._model is None else self._model.probability
        found = strategy.query(self._features, known, n, probability=probability, exclude=taken)
        self._queue += [
            _Ask(int(row), how, float(chance)) for row, how, chance in zip(found.rows, found.how, found.probability)
        ]

    def _refit(self) -> None:
        """Fit the model to the answers so far, in a thread of its own, unless one is running."""
        if self._fit is not None:
            return
        self._fitted_to = len(self._latest)
        order = [self._row_of[key] for key, entry in self._latest.items() if entry.action == ANSWER]
        draws = [entry for entry in self._latest.values() if entry.action == ANSWER]
        self._fit = threading.Thread(target=self._fit_now, args=(self._codes(), order, draws), daemon=True)
        self._fit.start()

    def _fit_now(self, codes: np.ndarray, order: list[int], draws: list[Entry]) -> None:
        found, problem = None, ""
        try:
            found = fit_model(self.task, self._features, codes, order, draws, self._model)
        except Exception as error:  # the answers are safe, and rows can be chosen without a model
            problem = f"No new model could be fitted: {error}"
        with self._lock:
            self._fit, self._problem = None, problem
            if found is not None:
                self._model = found
                self._ask_for(EVERY)
            if len(self._latest) - self._fitted_to >= EVERY:
                self._refit()

    def _describe(self, ask: _Ask) -> dict[str, Any]:
        """What the page shows of a row."""
        names = [str(name) for name in self.task.table.columns]
        score, weights = None, dict.fromkeys(names, 0.0)
        if self._model is not None:
            score = self._model.score(ask.row)
            weights |= self._model.contributions(self._encoder, self._features, ask.row)
        most = max(weights.values(), default=0.0)
        order = sorted(range(len(names)), key=lambda k: -weights[names[k]])
        return {
            "key": self.task.keys[ask.row],
            "number": ask.row + 1,
            "score": score,
            "why": REASONS.get(ask.how, ""),
            "how": ask.how,
            "probability": ask.probability,
            "values": [
                {
                    "column": names[k],
                    "value": _shown(self.task.table.iat[ask.row, k]),
                    "weight": round(weights[names[k]] / most, 3) if most > 0 else 0.0,
                }
                for k in order
            ],
        }

    def _progress(self) -> dict[str, Any]:
        answers = [entry for entry in self._latest.values() if entry.action == ANSWER]
        codes = self._codes()
        counts = {name: int((codes == k).sum()) for k, name in enumerate(self.task.classes)}
        return {
            "answered": len(answers),
            "skipped": len(self._latest) - len(answers),
            "labeled": int((codes >= 0).sum()),
            "rows": len(codes),
            "counts": counts,
            "fitting": self._fit is not None,
            "file": str(self.store.path),
            "problem": self._problem,
            **(self._model.summary() if self._model is not None else {"history": [], "text": "", "stop": ""}),
        }


def _shown(value: Any) -> str:
    """A value as text, "" if it is missing."""
    if value is None or (np.isscalar(value) and pd.isna(value)):
        return ""
    if isinstance(value, (float, np.floating)):
        return f"{value:.10g}"
    return str(value)[:2000]
