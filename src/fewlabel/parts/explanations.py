"""Reasons for a score, in the columns of the table: exact for sums of step functions, by sampling for all others."""

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewlabel.parts.cells import Cells
from fewlabel.parts.numbers import Chain, WeightedSum
from fewlabel.parts.trees import Steps
from fewlabel.text import short
from fewlabel.warning_filters import caller_level

if TYPE_CHECKING:
    import pandas as pd

Score = Callable[[np.ndarray], np.ndarray]
Groups = Mapping[str, np.ndarray]
_N_REFERENCES = 50
_ROWS_AT_ONCE = 20_000  # rows that the model scores in one call
_LEAST_ROUNDS = 4  # fewer give no useful standard error


class Explanation(NamedTuple):
    """What each column adds to the score of a row.

    Attributes
    ----------
    names : list of str
        The columns of the table.
    values : ndarray of shape (n_rows, n_columns)
        With `base` the values of a row sum to `score`.
    base : ndarray of shape (n_rows,)
        The mean score of the reference rows; without any, the offset of an additive model.
    score : ndarray of shape (n_rows,)
        The score that is explained; with more than two classes, the log-probability of the predicted class.
    errors : ndarray of shape (n_rows, n_columns) or None
        Standard errors of the values; None if they are exact.
    converged : bool
        Whether the standard errors are as small as asked for.
    """

    names: list[str]
    values: np.ndarray
    base: np.ndarray
    score: np.ndarray
    errors: np.ndarray | None
    converged: bool

    @property
    def contributions(self) -> "pd.DataFrame":
        """The values as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.values, columns=self.names)

    @property
    def standard_error(self) -> "pd.DataFrame | None":
        """Their standard errors as a DataFrame; None if they are exact."""
        import pandas as pd

        return None if self.errors is None else pd.DataFrame(self.errors, columns=self.names)


def additive_steps(formula: Any) -> tuple[Steps, float] | None:
    """The step functions that a score is the sum of, or increases with, and what is added to them; None without any."""
    first = _first_step(formula)
    if isinstance(first, WeightedSum):
        # An ensemble of one member, whose ranks increase with its scores.
        member = first.terms[0] if len(first.terms) == 1 else None
        formula = _first_step(member)
        first = _first_step(formula)
    if not isinstance(first, Steps) or len(formula.steps) != 2 or not len(first.columns):
        return None
    shift = formula.steps[1]
    return first, float(shift.intercept[0])


def _first_step(formula):
    return formula.steps[0] if isinstance(formula, Chain) else None


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
    # A constant has no say.
    scale[scale == 0] = np.inf
    weights = np.random.default_rng(0).normal(size=features.shape[1]) / scale
    projection = (filled * weights).sum(axis=1)
    order = np.argsort(projection, kind="stable")
    n_references = min(_N_REFERENCES, len(order))
    places = np.linspace(0, len(order) - 1, n_references).round().astype(int)
    return features[order[places]]


def explain_steps(
    steps: Steps, offset: float, groups: Groups, features: np.ndarray, references: np.ndarray | None
) -> Explanation:
    """Values of step functions, summed over the features of each column, and centered by reference rows.

    These are the Shapley values of the columns: in a sum, the order in which columns are replaced makes no difference.

    Parameters
    ----------
    steps : Steps
    offset : float
        Added to their sum.
    groups : dict of str to ndarray of int
        The features of each column.
    features : ndarray of shape (n_rows, n_features)
    references : ndarray of shape (n_references, n_features) or None
        Rows whose mean values are subtracted; None for the values themselves.

    Returns
    -------
    Explanation
    """
    place = {}
    for k, group in enumerate(groups.values()):
        for feature in group.tolist():
            place[feature] = k
    n_rows = len(features)
    values = np.zeros((n_rows, len(groups)))
    base = offset
    for k, feature in enumerate(steps.columns.tolist()):
        middle = 0.0
        if references is not None:
            middle = steps.at(k, references[:, feature]).mean()
        values[:, place[feature]] += steps.at(k, features[:, feature]) - middle
        base += middle
    score = steps(features)[:, 0] + offset
    return Explanation(list(groups), values, np.full(n_rows, base), score, None, True)


def explain_by_sampling(
    decide: Score,
    groups: Groups,
    features: np.ndarray,
    references: np.ndarray,
    *,
    max_rounds: int = 32,
    tol: float = 0.3,
) -> Explanation:
    """Shapley values of the columns by sampling, against reference rows.

    Columns of a reference row are replaced one after the other, in random order, by those of the row to explain; the
    change of the score at each step is a sample of that column's contribution. Each round uses an order, its reverse
    and another reference row.

    Parameters
    ----------
    decide : callable
        The score of encoded rows, or one score per class.
    groups : dict of str to ndarray of int
        The features of each column.
    features, references : ndarray of shape (n_rows, n_features)
    max_rounds : int, default=32
    tol : float, default=0.3
        A row needs no more rounds when the norm of its standard errors is this share of that of its contributions.

    Returns
    -------
    Explanation
        `base` is the mean score of the reference rows that were used.
    """
    columns = list(groups.values())
    rng = np.random.default_rng(0)
    decision = _in_columns(decide(features))
    # With more than two classes, the score of the predicted one.
    wanted = decision.argmax(axis=1)
    score = decision[np.arange(len(decision)), wanted]
    samples = _Samples(len(features), len(columns))
    left = np.arange(len(features))
    start = rng.permutation(len(references))
    rows_at_once = max(_ROWS_AT_ONCE // len(columns), 1)
    for n_rounds in range(1, max_rounds + 1):
        reference = references[start[(n_rounds - 1) % len(references)]]
        order = rng.permutation(len(columns))
        in_order = [columns[k] for k in order]
        of_reference = _in_columns(decide(reference[None]))[0]
        for first in range(0, len(left), rows_at_once):
            rows = left[first : first + rows_at_once]
            walk = _Walk(decide, features[rows], reference, wanted[rows], of_reference[wanted[rows]], score[rows])
            # What comes early in one order is late in its reverse: errors of the two cancel in part.
            forward = walk.changes(in_order)
            backward = walk.changes(in_order[::-1])[:, ::-1]
            sample = np.empty(forward.shape)
            sample[:, order] = (forward + backward) / 2
            samples.add(rows, sample, walk.begin)
        if n_rounds >= _LEAST_ROUNDS:
            left = left[_sizes(samples.error[left]) > tol**2 * _sizes(samples.mean[left])]
        if not len(left):
            break
    if len(left):
        _warn_unfinished(samples, left, max_rounds)
    return Explanation(list(groups), samples.mean, samples.base, score, samples.error, not len(left))


def _in_columns(decision):
    """One column per class, or one for all."""
    return np.atleast_2d(np.asarray(decision).T).T


def _sizes(rows):
    return (rows**2).sum(axis=1)


class _Samples:
    """Means of the samples of each row and column, and their standard errors."""

    def __init__(self, n_rows, n_columns):
        self._rounds = np.zeros((n_rows, 1))
        self._total = np.zeros((n_rows, n_columns))
        self._squares = np.zeros((n_rows, n_columns))
        self._begins = np.zeros(n_rows)

    def add(self, rows, sample, begin):
        self._rounds[rows] += 1
        self._total[rows] += sample
        self._squares[rows] += sample**2
        self._begins[rows] += begin

    @property
    def base(self):
        return self._begins / self._rounds[:, 0]

    @property
    def mean(self):
        return self._total / self._rounds

    @property
    def error(self):
        spread = np.maximum(self._squares / self._rounds - self.mean**2, 0.0)
        return np.sqrt(spread / np.maximum(self._rounds - 1, 1))


def _warn_unfinished(samples, rows, max_rounds):
    from sklearn.exceptions import ConvergenceWarning

    size = _sizes(samples.mean[rows]).sum()
    error = _sizes(samples.error[rows]).sum()
    # All contributions may be 0.
    ratio = np.sqrt(error / max(size, 1e-300))
    warnings.warn(
        f"the reasons of {len(rows)} of {len(samples.mean)} rows have not converged after {max_rounds} rounds: their "
        f"standard error is {ratio:.0%} of their size. Take them as approximate, or raise max_rounds of explain()",
        ConvergenceWarning,
        stacklevel=caller_level(),
    )


class _Walk(NamedTuple):
    """From a reference row to each row, column by column: from the score `begin` to the score `end`."""

    decide: Score
    features: np.ndarray
    reference: np.ndarray
    wanted: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    def changes(self, groups):
        """Change of the score at each step: where nothing of a row changes it is zero, and no model is asked."""
        differs = (self.features != self.reference) & ~(np.isnan(self.features) & np.isnan(self.reference))
        # The last step ends at the row itself, whose score is known.
        n_asked = len(groups) - 1
        mixed = np.tile(self.reference, (n_asked, len(self.features), 1))
        changed = np.empty(mixed.shape[:2], dtype=bool)
        for step, group in enumerate(groups[:-1]):
            mixed[step:, :, group] = self.features[:, group]
            changed[step] = differs[:, group].any(axis=1)
        scores = np.vstack([self.begin, np.empty(changed.shape), self.end])
        if changed.any():
            wanted = np.broadcast_to(self.wanted, changed.shape)[changed]
            answers = _in_columns(self.decide(mixed[changed]))
            scores[1:-1][changed] = answers[np.arange(len(wanted)), wanted]
        for step in range(n_asked):
            scores[step + 1] = np.where(changed[step], scores[step + 1], scores[step])
        return np.diff(scores, axis=0).T


def reasons(explanation: Explanation, cells: Mapping[str, Cells], n: int) -> dict[str, list[str]]:
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
    values = explanation.values
    written = []
    for name in explanation.names:
        called = short(name)
        shown = cells[name].shown()
        written.append([f"{called} = {short(text, 40)}" for text in shown])
    order = np.argsort(-np.abs(values), axis=1, kind="stable")
    columns = {}
    for k in range(n):
        texts = [""] * len(order)
        # There may be fewer columns than reasons asked for.
        for row, place in enumerate(order[:, k]) if k < len(written) else ():
            value = values[row, place]
            if value != 0:
                texts[row] = f"{written[place][row]} ({value:+.2f})"
        columns[f"reason {k + 1}"] = texts
    return columns
