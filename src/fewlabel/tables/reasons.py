"""Reasons for a score, in the columns of the table: exact for additive models, by sampling for all others."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from fewlabel.auto import AutoClassifier, additive_member
from fewlabel.inspection import contributions
from fewlabel.parts.cells import Cells, shown
from fewlabel.tables.encoder import TableEncoder
from fewlabel.text import short
from fewlabel.warning_filters import caller_level

_N_REFERENCES = 50
_ROWS_AT_ONCE = 20_000  # rows that the model scores in one call
_LEAST_ROUNDS = 4  # fewer give no useful standard error


class Explanation(NamedTuple):
    """What each column adds to the score of a row.

    Attributes
    ----------
    contributions : DataFrame
        One row per row, one column per column of the table. With `base` they sum to `score`.
    base : ndarray of shape (n_rows,)
        The mean score of the reference rows; without any, the offset of an additive model.
    score : ndarray of shape (n_rows,)
        The score that is explained; with more than two classes, the log-probability of the predicted class.
    standard_error : DataFrame or None
        Standard errors of the contributions; None if they are exact.
    converged : bool
        Whether the standard errors are as small as asked for.
    """

    contributions: pd.DataFrame
    base: np.ndarray
    score: np.ndarray
    standard_error: pd.DataFrame | None
    converged: bool


def additive_model(estimator: Any) -> Any:
    """The sum of step functions that a classifier is, or that its scores increase with; None if there is none.

    Parameters
    ----------
    estimator : estimator
        Fitted: a stump booster, or an AutoClassifier.

    Returns
    -------
    estimator or None
        The booster itself, or the only member of an AutoClassifier as an `AdditiveMember`.
    """
    if isinstance(estimator, AutoClassifier):
        return additive_member(estimator.model_)
    try:
        functions = estimator.shape_functions_
    except AttributeError:  # no booster, or one of deep trees
        return None
    return estimator if len(functions) else None


def reference_rows(features: np.ndarray) -> np.ndarray:
    """Rows to compare others with: evenly spaced along a projection, whatever the order of the rows.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)

    Returns
    -------
    ndarray of shape (at most 50, n_features)
    """
    filled = np.nan_to_num(features)
    scale = filled.std(axis=0)
    weights = np.random.default_rng(0).normal(size=features.shape[1]) / np.where(scale > 0, scale, np.inf)
    order = np.argsort((filled * weights).sum(axis=1), kind="stable")
    places = np.linspace(0, len(order) - 1, min(_N_REFERENCES, len(order))).round().astype(int)
    return features[order[places]]


def explain(
    encoder: TableEncoder,
    estimator: Any,
    features: np.ndarray,
    references: np.ndarray | None,
    *,
    max_rounds: int = 32,
    tol: float = 0.3,
) -> Explanation:
    """Explain the scores of encoded rows, see :meth:`fewlabel.TableClassifier.explain`.

    Parameters
    ----------
    encoder : TableEncoder
    estimator : estimator
        The fitted classifier.
    features : ndarray of shape (n_rows, n_features)
    references : ndarray of shape (n_references, n_features) or None
        Rows to compare with; an additive model needs none.
    max_rounds : int, default=32
    tol : float, default=0.3

    Returns
    -------
    Explanation
    """
    booster = additive_model(estimator)
    if booster is not None:
        return explain_exactly(encoder, booster, features, references)
    if references is None or not hasattr(estimator, "decision_function"):
        raise ValueError(
            f"{type(estimator).__name__} cannot be explained: expected an estimator with a decision_function, fitted "
            "by TableClassifier.fit"
        )
    return explain_by_sampling(encoder, estimator, features, references, max_rounds=max_rounds, tol=tol)


def explain_exactly(
    encoder: TableEncoder, model: Any, features: np.ndarray, references: np.ndarray | None = None
) -> Explanation:
    """Step values of an additive model, summed over the features of each column, and centered by reference rows.

    These are the Shapley values of the columns: in a sum, the order in which columns are replaced makes no difference.

    Parameters
    ----------
    encoder : TableEncoder
    model : estimator
        What `additive_model` returned.
    features : ndarray of shape (n_rows, n_features)
    references : ndarray of shape (n_references, n_features), default=None
        Rows whose mean step values are subtracted; None for the step values themselves.

    Returns
    -------
    Explanation
    """
    steps = contributions(model, features)
    middle = np.zeros(steps.shape[1]) if references is None else contributions(model, references).mean(axis=0)
    names = list(encoder.columns_)
    parts = np.zeros((len(features), len(names)))
    for source, step in zip(encoder.sources_, (steps - middle).T):
        parts[:, names.index(source)] += step
    score, base = np.asarray(model.decision_function(features)), float(model.offset_ + middle.sum())
    return Explanation(pd.DataFrame(parts, columns=names), np.full(len(score), base), score, None, True)


def explain_by_sampling(
    encoder: TableEncoder,
    estimator: Any,
    features: np.ndarray,
    references: np.ndarray,
    *,
    max_rounds: int = 32,
    tol: float = 0.3,
    seed: int = 0,
) -> Explanation:
    """Shapley values of the columns by sampling, against reference rows.

    Columns of a reference row are replaced one after the other, in random order, by those of the row to explain; the
    change of the score at each step is a sample of that column's contribution. Each round uses an order, its reverse
    and another reference row.

    Parameters
    ----------
    encoder : TableEncoder
    estimator : estimator
        The fitted classifier.
    features, references : ndarray of shape (n_rows, n_features)
    max_rounds : int, default=32
    tol : float, default=0.3
        A row needs no more rounds when the norm of its standard errors is this share of that of its contributions.
    seed : int, default=0

    Returns
    -------
    Explanation
        `base` is the mean score of the reference rows that were used.
    """
    names, rng = list(encoder.columns_), np.random.default_rng(seed)
    groups = [np.flatnonzero(np.array(encoder.sources_) == name) for name in names]
    wanted = _wanted_output(estimator, features)
    score = _scores(estimator, features, wanted)
    shape = (len(features), len(names))
    mean, error, base, left = np.zeros(shape), np.zeros(shape), np.zeros(shape[0]), np.arange(shape[0])
    total, squares, starts = np.zeros(shape), np.zeros(shape), np.zeros(shape[0])
    start = rng.permutation(len(references))
    for n_rounds in range(1, max_rounds + 1):
        reference = references[start[(n_rounds - 1) % len(references)]]
        order = rng.permutation(len(names))
        outputs = None if wanted is None else wanted[left]
        walk = _Walk(estimator, features[left], score[left], reference, outputs)
        sample = np.empty((len(left), len(names)))
        sample[:, order] = walk.changes([groups[k] for k in order])
        sample[:, order] += walk.changes([groups[k] for k in order[::-1]])[:, ::-1]
        sample /= 2
        total[left] += sample
        squares[left] += sample**2
        starts[left] += walk.begin
        mean[left], base[left] = total[left] / n_rounds, starts[left] / n_rounds
        spread = np.maximum(squares[left] / n_rounds - mean[left] ** 2, 0.0)
        error[left] = np.sqrt(spread / max(n_rounds - 1, 1))
        if n_rounds >= _LEAST_ROUNDS:
            left = left[(error[left] ** 2).sum(axis=1) > tol**2 * (mean[left] ** 2).sum(axis=1)]
        if not len(left):
            break
    if len(left):
        ratio = np.sqrt((error[left] ** 2).sum() / max((mean[left] ** 2).sum(), 1e-300))
        warnings.warn(
            f"the reasons of {len(left)} of {len(features)} rows have not converged after {max_rounds} rounds: their "
            f"standard error is {ratio:.0%} of their size. Take them as approximate, or raise max_rounds of explain()",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )
    errors = pd.DataFrame(error, columns=names)
    return Explanation(pd.DataFrame(mean, columns=names), base, score, errors, not len(left))


class _Walk:
    """From a reference row to each row, column by column; `begin` is the score at the start."""

    def __init__(self, estimator: Any, features: np.ndarray, score: np.ndarray, reference: np.ndarray, wanted: Any):
        self._estimator, self._features, self._score = estimator, features, score
        self._reference, self._wanted = reference, wanted
        found = np.asarray(estimator.decision_function(reference[None]))
        self.begin = np.full(len(features), found[0]) if wanted is None else found[0, wanted]
        same = (features == reference) | (np.isnan(features) & np.isnan(reference))
        self._differs = ~same

    def changes(self, groups: list) -> np.ndarray:
        """Change of the score at each step: where nothing of a row changes it is zero, and no model is asked."""
        found, rows = np.empty((len(self._features), len(groups))), max(_ROWS_AT_ONCE // len(groups), 1)
        for first in range(0, len(found), rows):
            found[first : first + rows] = self._changes(groups, slice(first, first + rows))
        return found

    def _changes(self, groups: list, part: slice) -> np.ndarray:
        features, scores = self._features[part], [self.begin[part]]
        mixed = np.tile(self._reference, (len(features), 1))
        changed = [np.flatnonzero(self._differs[part][:, group].any(axis=1)) for group in groups[:-1]]
        steps = []
        for group, rows in zip(groups, changed):
            mixed[:, group] = features[:, group]
            steps.append(mixed[rows])
        asked = np.concatenate(changed) if changed else np.empty(0, int)
        outputs = None if self._wanted is None else self._wanted[part][asked]
        answers = _scores(self._estimator, np.vstack(steps), outputs) if len(asked) else np.empty(0)
        for rows, answer in zip(changed, np.split(answers, np.cumsum([len(rows) for rows in changed])[:-1])):
            scores.append(scores[-1].copy())
            scores[-1][rows] = answer
        return np.diff([*scores, self._score[part]], axis=0).T


def _wanted_output(estimator: Any, features: np.ndarray) -> np.ndarray | None:
    """Position of each row's predicted class, with more than two classes."""
    if len(estimator.classes_) == 2:
        return None
    return np.asarray(estimator.decision_function(features)).argmax(axis=1)


def _scores(estimator: Any, rows: np.ndarray, wanted: np.ndarray | None) -> np.ndarray:
    found = np.asarray(estimator.decision_function(rows))
    return found if wanted is None else found[np.arange(len(rows)), wanted]


def reasons(explanation: Explanation, cells: dict[str, Cells], n: int) -> dict[str, list[str]]:
    """The largest contributions of each row as text, such as ``purpose = car (+0.42)``.

    Parameters
    ----------
    explanation : Explanation
    cells : dict of str to Cells
        The same rows as the encoder read them.
    n : int
        Reasons per row.

    Returns
    -------
    dict of str to list of str
        ``reason 1``, ``reason 2``, ...: one text per row, empty where nothing else contributes.
    """
    parts = explanation.contributions.to_numpy()
    names = list(explanation.contributions)
    order = np.argsort(-np.abs(parts), axis=1, kind="stable")[:, :n]
    values = {name: [short(shown(value), 40) for value in cells[name].rows()] for name in names}
    found = {}
    for k in range(n):
        texts = [""] * len(parts)
        for row in range(len(parts)) if k < order.shape[1] else ():
            name, part = names[order[row, k]], parts[row, order[row, k]]
            if part != 0:
                texts[row] = f"{short(name)} = {values[name][row]} ({part:+.2f})"
        found[f"reason {k + 1}"] = texts
    return found
