"""The model behind the labeling page: how good it is by now, and what more labels would bring."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabel.active import AUDIT, RANDOM, draw_weights
from fewlabel.auto import AutoClassifier, LearningCurve, learning_curve
from fewlabel.metrics import AUCInterval, auc_confidence_interval
from fewlabel.reporting import GAIN, outlook
from fewlabel.rows import Rows
from fewlabel.types import PlainDict

if TYPE_CHECKING:
    from fewlabel.label_app.loop import Task
    from fewlabel.label_app.store import Entry

# Of a class: one row to learn from, one to validate with.
_LEAST_OF_CLASS = 2
# With fewer random rows of a class, an interval would hardly say anything.
_LEAST_RANDOM_OF_CLASS = 5
# With fewer rows of a class, a part of them may lack a class.
_LEAST_FOR_CURVE = 5
# With fewer labels, the slope of the curve is mostly noise.
_LEAST_FOR_FORECAST = 30
# Largest distance from the AUC to the lower end of its interval for a hint to stop.
_SHORT = 0.1
# More than this many times the labels so far for +.01 is a reason to stop.
_MANY = 3


class Point(NamedTuple):
    """AUC with its 95% interval by number of labels; `unbiased` if it represents all rows of the table."""

    labels: int
    auc: float
    low: float
    high: float
    unbiased: bool


class Progress:
    """A fitted model, with the history of its AUC.

    Attributes
    ----------
    probability : ndarray of shape (n_rows, n_classes)
        Of all rows; 0 for a class that has too few labels.
    """

    def __init__(self, probability: np.ndarray) -> None:
        self.probability = probability
        self.history: list[Point] = []
        self.curve: LearningCurve | None = None

    def summary(self) -> PlainDict:
        """What the page shows of it: the history, what more labels would bring, and a hint to stop."""
        text, stop = forecast(self.curve, self.history[-1])
        return {"history": [point._asdict() for point in self.history], "text": text, "stop": stop}


def fit_model(
    task: "Task",
    features: np.ndarray,
    codes: np.ndarray,
    order: list[int],
    draws: "list[Entry]",
    before: Progress | None,
) -> Progress | None:
    """Fit a quick portfolio and measure it out of fold.

    Parameters
    ----------
    task : Task
    features : ndarray of shape (n_rows, n_features)
    codes : ndarray of int
        Class of each row, -1 if it is unlabeled.
    order : list of int
        Rows that were answered, in the order of the answers.
    draws : list of Entry
        How each of them was drawn.
    before : Progress or None
        The model so far, whose history is continued.

    Returns
    -------
    Progress or None
        None if fewer than two classes have enough rows.
    """
    counts = np.bincount(codes[codes >= 0], minlength=len(task.classes))
    known = np.where((codes >= 0) & (counts[codes] >= _LEAST_OF_CLASS), codes, -1)
    if len(np.unique(known[known >= 0])) < 2:
        return None
    model = AutoClassifier(list(task.portfolio), n_repeats=1, random_state=task.seed).fit(features, known)
    probability = np.zeros((len(features), len(task.classes)))
    probability[:, model.classes_] = model.predict_proba(features)
    progress = Progress(probability)
    if counts[counts >= _LEAST_OF_CLASS].min() >= _LEAST_FOR_CURVE:
        progress.curve = learning_curve(model, Rows.read(features, known))
    if before is not None:
        progress.history = list(before.history)
    elif progress.curve is not None:
        # A new session: what fewer labels would have given.
        progress.history = _points(progress.curve)[:-1]
    progress.history.append(_measure(model, known, order, draws))
    return progress


def _points(curve: LearningCurve) -> list[Point]:
    points = []
    for labels, *scores in zip(curve.labels, curve.scores, curve.low, curve.high):
        auc, low, high = np.clip(scores, 0, 1).tolist()
        points.append(Point(int(labels), auc, low, high, False))
    return points


def _measure(model: AutoClassifier, known: np.ndarray, order: list[int], draws: "list[Entry]") -> Point:
    """The AUC of the ensemble out of fold: for all rows of the table if enough rows were drawn at random."""
    place = np.full(len(known), -1)
    random = np.zeros(len(known), dtype=bool)
    chance = np.full(len(known), np.nan)
    place[order] = np.arange(len(order))
    random[order] = [draw.how in (RANDOM, AUDIT) for draw in draws]
    chance[order] = [draw.chance for draw in draws]
    n_labels = int((known >= 0).sum())
    interval = auc_of_table(model, known, place, random, chance)
    if interval is not None:
        return Point(n_labels, interval.auc, interval.low, interval.high, True)
    board = model.leaderboard_.set_index("method").loc["AutoClassifier"]
    return Point(n_labels, float(board["score"]), float(board["low"]), float(board["high"]), False)


def auc_of_table(
    model: AutoClassifier, codes: np.ndarray, place: np.ndarray, random: np.ndarray, probability: np.ndarray
) -> AUCInterval | None:
    """The out-of-fold AUC for all rows of a table, although most labeled rows were chosen by a rule.

    Parameters
    ----------
    model : AutoClassifier
        Fitted to the table.
    codes : ndarray of int of shape (n_rows,)
        Class of each row, -1 if it is unlabeled.
    place : ndarray of int of shape (n_rows,)
        Place of each row among the answers, -1 if it was labeled before.
    random : ndarray of bool of shape (n_rows,)
        Rows that were drawn at random.
    probability : ndarray of float of shape (n_rows,)
        The probability of these draws.

    Returns
    -------
    AUCInterval or None
        None with more than two classes, or with fewer than 5 random rows of a class.
    """
    rows = model.labeled_rows_
    # By time, only the later rows are tested.
    if model.task_ != "binary" or len(model.out_of_fold_) != len(rows):
        return None
    drawn = [int((random[rows] & (codes[rows] == code)).sum()) for code in np.unique(codes[rows])]
    if min(drawn) < _LEAST_RANDOM_OF_CLASS:
        return None
    order = np.argsort(place[rows], kind="stable")
    weights = np.empty(len(rows))
    weights[order] = draw_weights(random[rows][order], probability[rows][order])
    positive = (codes[rows] == codes[rows].max()).astype(int)
    return auc_confidence_interval(positive, model.out_of_fold_, sample_weight=weights)


def forecast(curve: LearningCurve | None, now: Point) -> tuple[str, str]:
    """What more labels would bring by the learning curve, and a hint to stop, or "" where there is no evidence.

    Parameters
    ----------
    curve : LearningCurve or None
    now : Point
        The AUC so far. There is no hint to stop unless its interval is short.

    Returns
    -------
    tuple of str
    """
    if curve is None or now.labels < _LEAST_FOR_FORECAST:
        return "", ""
    more, text = outlook(curve, now.low, now.labels, "AUC")
    if now.auc - now.low > _SHORT:
        return text, ""
    if more is None and curve.error <= GAIN:
        return text, "A good moment to stop."
    if more is not None and more > _MANY * now.labels:
        return text, f"That is more than {_MANY} times the labels so far: consider stopping here."
    return text, ""
