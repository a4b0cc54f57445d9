"""What all stump boosters share: rows in, stumps out, and the additive model they make."""

import math
import numbers
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import Interval, RankingClassifier, RealNotInt
from fewlabel.boosting.loop import STUMP, boost
from fewlabel.boosting.rows import Binning, IncrementalRows, WeightedRows
from fewlabel.exceptions import LabelError
from fewlabel.kernels.bins import MAX_BINS, round_down
from fewlabel.kernels.stumps import score
from fewlabel.threads import RowThreads

_MANY_ROWS = 20_000  # from here on the histograms of all columns are cheaper to keep than to make


class ShapeFunction(NamedTuple):
    """The part of one column in an additive score.

    Attributes
    ----------
    column : int
        Column of the table.
    name : str
        Its name.
    edges : ndarray of shape (m,)
        Where the function jumps.
    values : ndarray of shape (m + 1,)
        Value of each interval; the k-th is ``(edges[k - 1], edges[k]]``.
    missing : float
        Value where the column is missing.
    """

    column: int
    name: str
    edges: np.ndarray
    values: np.ndarray
    missing: float


class StumpBooster(RankingClassifier):
    """Base of stump boosters; a subclass has the parameters and gives `_uses_unlabeled` and `_make_rule`."""

    _allow_nan = True
    _parameter_constraints: dict = {
        "n_estimators": [Interval(numbers.Integral, 1, None, closed="left")],
        "learning_rate": [Interval(numbers.Real, 0, 1, closed="right")],
        "max_bins": [Interval(numbers.Integral, 2, MAX_BINS, closed="both")],
        "max_features": [
            Interval(numbers.Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(numbers.Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(numbers.Integral, 1, None, closed="left")],
        "n_jobs": [numbers.Integral, None],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    @property
    def n_iter_(self):
        """Number of rounds that were kept."""
        check_is_fitted(self)
        return len(self.stumps_)

    @property
    def shape_functions_(self):
        """One `ShapeFunction` for each used column: a sum of stumps is a sum of step functions."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return [
            ShapeFunction(e, f"x{e}" if names is None else str(names[e]), *step_function)
            for e, step_function in _fold(self.stumps_).items()
        ]

    @property
    def feature_importances_(self):
        """Part of each column in the decrease of the logarithm of the objective; sums to one."""
        check_is_fitted(self)
        decrease = -np.diff(np.log(self.train_loss_), prepend=0.0)
        total = np.bincount(self.stumps_["column"], weights=decrease, minlength=self.n_features_in_)
        return total / total.sum() if len(decrease) else total

    def staged_decision_function(self, X):
        """Decision function after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
            The last one is `decision_function`, up to rounding.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        scores = np.full(len(X), self.offset_)
        for column, threshold, sign, on_missing, low, high in self.stumps_.tolist():
            x = X[:, column]
            above = x > np.float64(threshold)  # a plain float would be rounded to the type of a float32 table first
            fires = np.where(np.isnan(x), on_missing, above == (sign > 0))
            scores += np.where(fires, high, low)
            yield scores.copy()

    def _fit(self, X, signs, weight):
        previous, losses = self._previous_rounds()
        validation = self._held_out(signs)
        order, bounds = _group(signs, validation, self._uses_unlabeled())
        has_unlabeled = bounds[2] > bounds[1]
        rule = self._make_rule(has_unlabeled)
        scores = self._score(X) if len(previous) else None
        with RowThreads(self.n_jobs) as threads:
            binning = Binning(X, order, self.max_bins, threads)
            rows = self._rows_kind(len(order))(
                binning,
                binning.encode(X, order, threads),
                bounds,
                [_unit_weights(order[bounds[g] : bounds[g + 1]], weight) for g in range(3)],
                None if scores is None else scores[order],
                threads,
                rule.uses,
            )
            stopper = None
            if len(validation):
                codes = binning.encode(X, validation, threads)
                start = np.zeros(len(validation)) if scores is None else scores[validation]
                known = signs[validation], None if weight is None else weight[validation]
                stopper = _ValidationStop(codes, start, *known, self.n_iter_no_change)
            elif self.early_stopping == "alarm" and has_unlabeled:
                stopper = _AlarmStop(rows, rule)
            self._boost(rows, rule, previous, losses, stopper)

    def _boost(self, rows, rule, previous, losses, stopper, note=None):
        """Run the rounds that are left, and set `stumps_` and `train_loss_`; `note` is told of each that counts."""
        told = self._after_round(stopper)

        def after_round(t, stump, fires, objective):
            stop = told(t, stump, fires, objective)
            if note is not None and not stop:
                note(t, stump, objective)
            return stop

        found, found_losses = boost(
            rows,
            rule,
            rounds=range(len(previous), self.n_estimators),
            draw_columns=self._draw_columns,
            learning_rate=self.learning_rate,
            total_step=float(previous["high"].sum()),
            after_round=after_round,
        )
        kept = len(found) if stopper is None else stopper.kept
        self.stumps_ = np.concatenate([previous, found[:kept]])
        self.train_loss_ = np.concatenate([losses, found_losses[:kept]])
        if len(self.stumps_) == 0:
            warnings.warn(
                "No stump was worth a step, so every row gets the same score: are all columns constant, or is the "
                "least edge (rho) too large?",
                stacklevel=5,
            )

    def _previous_rounds(self):
        """Stumps and losses to go on from; none unless `warm_start`."""
        if not (self.warm_start and hasattr(self, "stumps_")):
            self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            return np.empty(0, dtype=STUMP), np.empty(0)
        if self.n_estimators < len(self.stumps_):
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {len(self.stumps_)} rounds already fitted when "
                "warm_start=True; raise it, or set warm_start=False to start anew"
            )
        return self.stumps_, self.train_loss_

    def _held_out(self, signs):
        """Labeled rows held out for early stopping; none unless it is asked for."""
        labeled = np.flatnonzero(signs)
        if self.early_stopping is not True:
            return labeled[:0]
        n_held_out = max(2, round(self.validation_fraction * len(labeled)))
        fewest = min(np.count_nonzero(signs > 0), np.count_nonzero(signs < 0))
        if fewest < 2 or len(labeled) - n_held_out < 2:
            raise LabelError(
                "early_stopping=True holds out labeled rows of each class, and there are too few of them: set "
                "early_stopping=False or label more rows"
            )
        _, held_out = train_test_split(labeled, test_size=n_held_out, stratify=signs[labeled], random_state=self._seed)
        return np.sort(held_out)

    def _n_drawn(self):
        """Number of columns that a round draws."""
        if isinstance(self.max_features, numbers.Integral):
            return min(self.n_features_in_, self.max_features)
        return max(1, int(self.max_features * self.n_features_in_))

    def _draw_columns(self, t):
        """Columns of round t, from the seed and t alone, so that fits that stop and go on draw the same."""
        d, n_drawn = self.n_features_in_, self._n_drawn()
        if n_drawn == d:
            return np.arange(d)
        return np.sort(np.random.default_rng([self._seed, t]).choice(d, n_drawn, replace=False))

    def _rows_kind(self, n_rows):
        """The faster of two ways to keep the rows; both give the same stumps, up to rounding."""
        keeps_histograms = n_rows >= _MANY_ROWS and self._n_drawn() == self.n_features_in_
        return IncrementalRows if keeps_histograms else WeightedRows

    def _after_round(self, stopper):
        def after_round(t, stump, fires, objective):
            if self.verbose:
                print(f"round {t + 1}/{self.n_estimators}: objective {objective:.6g}")
            return stopper is not None and stopper(stump, fires)

        return after_round

    def _score(self, X):
        functions = _fold(self.stumps_)
        n_edges = np.array([len(edges) for edges, _, _ in functions.values()], dtype=np.int64)
        width = n_edges.max(initial=0)
        edges = np.full((len(functions), width), np.inf)
        values = np.zeros((len(functions), width + 2))
        for j, (column_edges, column_values, missing) in enumerate(functions.values()):
            edges[j, : n_edges[j]] = column_edges
            values[j, : n_edges[j] + 1] = column_values
            values[j, -1] = missing
        columns = np.array(list(functions), dtype=np.int64)
        if len(columns) and not 0 <= columns[0] <= columns[-1] < X.shape[1]:  # a file can hold anything
            raise ValueError("stumps_ names columns that the table does not have: the model is damaged, fit it again")
        edges = round_down(edges, X.dtype)
        scores = np.zeros(len(X))
        with RowThreads(self.n_jobs) as threads:
            threads.over_rows(
                lambda start, stop: score(X, columns, edges, n_edges, values, scores, start, stop),
                len(X),
                len(columns),
            )
        return scores


class _ValidationStop:
    """Stop when the AUC of held-out labeled rows has not grown for `patience` rounds; keep the best round."""

    def __init__(self, codes, scores, signs, weight, patience):
        self._codes, self._scores, self._positive, self._weight = codes, scores, signs > 0, weight
        self._patience = patience
        self._best = -np.inf
        self._rounds = self.kept = 0

    def __call__(self, stump, fires):
        column, *_, low, high = stump
        self._scores += np.where(fires, high, low)[self._codes[column]]
        self._rounds += 1
        auc = roc_auc_score(self._positive, self._scores, sample_weight=self._weight)
        if auc > self._best:
            self._best, self.kept = auc, self._rounds
        return self._rounds - self.kept >= self._patience


class _AlarmStop:
    """Stop at the rule's alarm: labeled rows have parted from unlabeled rows of their own class."""

    def __init__(self, rows, rule):
        self._rows, self._rule = rows, rule
        self.kept = 0

    def __call__(self, stump, fires):
        alarm = self._rule.overfits(self._rows.log_mass)
        self.kept += not alarm
        return alarm


def _group(signs, held_out, uses_unlabeled):
    """Rows to train on, positives first, then unlabeled rows, then negatives; and the bounds of the three groups."""
    training = np.ones(len(signs), dtype=np.bool_)
    training[held_out] = False
    groups = [np.flatnonzero(training & (signs == sign)) for sign in (1, 0, -1)]
    if not uses_unlabeled:
        groups[1] = groups[1][:0]
    return np.concatenate(groups), np.cumsum([0, *map(len, groups)])


def _unit_weights(group, weight):
    """Weights of a group's rows, which sum to one whatever the order of the rows."""
    if weight is None or len(group) == 0:
        return 1.0 / max(len(group), 1)
    return weight[group] / math.fsum(weight[group])


def _fold(stumps):
    """Sum the stumps of each column into one step function: {column: (edges, values, value for missing)}."""
    functions = {}
    for column in np.unique(stumps["column"]).tolist():
        of_column = stumps[stumps["column"] == column]
        low, high = of_column["low"], of_column["high"]
        fires_above = of_column["sign"] > 0
        below, above = np.where(fires_above, low, high), np.where(fires_above, high, low)
        edges, position = np.unique(of_column["threshold"], return_inverse=True)
        jumps = np.bincount(position, weights=above - below)
        values = below.sum() + np.concatenate([[0.0], np.cumsum(jumps)])
        n_edges = np.count_nonzero(edges < np.inf)  # nothing lies above +inf: that stump asks for missing values only
        missing = np.where(of_column["on_missing"], high, low).sum()
        functions[column] = edges[:n_edges], values[: n_edges + 1], float(missing)
    return functions
