"""What all stump boosters share: from labeled rows to stumps, and the additive model they make."""

import math
import numbers
import warnings
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import Interval, RankingClassifier, RealNotInt
from fewlabel.boosting.additive import column_names, score_stumps, shape_functions
from fewlabel.boosting.binning import Binning
from fewlabel.boosting.loop import STUMP, StumpLearner, boost
from fewlabel.boosting.rows import FEW_CELLS, CodedRows, FewRows, WeightedRows
from fewlabel.boosting.stopping import AlarmStop, ValidationStop
from fewlabel.exceptions import LabelError
from fewlabel.kernels.bins import MAX_BINS
from fewlabel.threads import RowThreads
from fewlabel.types import MatrixLike
from fewlabel.warning_filters import caller_level

# What every booster, of stumps or of trees, accepts.
CONSTRAINTS: dict = {
    "n_estimators": [Interval(numbers.Integral, 1, None, closed="left")],
    "learning_rate": [Interval(numbers.Real, 0, 1, closed="right")],
    "max_bins": [Interval(numbers.Integral, 2, MAX_BINS, closed="both")],
    "max_features": [Interval(numbers.Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 1, closed="right")],
    "n_jobs": [numbers.Integral, None],
    "random_state": ["random_state"],
    "warm_start": ["boolean"],
    "verbose": ["verbose"],
}


class StumpBooster(RankingClassifier):
    """Base of stump boosters; a subclass has the parameters and defines `_uses_unlabeled` and `_make_rule`."""

    _allow_nan = True
    _continued = "stumps_"
    _first_loss = 1.0  # the objective before the first round
    _parameter_constraints: dict = {
        **CONSTRAINTS,
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(numbers.Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(numbers.Integral, 1, None, closed="left")],
    }

    @property
    def n_iter_(self) -> int:
        """Number of rounds that were kept."""
        check_is_fitted(self)
        return len(self.stumps_)

    @property
    def shape_functions_(self) -> list:
        """One `ShapeFunction` for each column in use: a sum of stumps is a sum of step functions."""
        check_is_fitted(self)
        return shape_functions(self.stumps_, column_names(self))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in the decrease of the log-objective; the shares sum to one."""
        check_is_fitted(self)
        decrease = -np.diff(np.log(self.train_loss_), prepend=math.log(self._first_loss))
        total = np.bincount(self.stumps_["column"], weights=decrease, minlength=self.n_features_in_)
        return total / total.sum() if len(decrease) else total

    def staged_decision_function(self, X: MatrixLike) -> Iterator:
        """Decision function after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
            The last one equals `decision_function`, up to rounding.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        scores = np.full(len(X), self.offset_)
        for column, threshold, sign, on_missing, low, high in self.stumps_.tolist():
            x = X[:, column]
            above = x > np.float64(threshold)  # a Python float would first be rounded to the type of a float32 table
            fires = np.where(np.isnan(x), on_missing, above == (sign > 0))
            scores += np.where(fires, high, low)
            yield scores.copy()

    def _fit(self, X, signs, weight):
        previous, losses = self._previous_rounds()
        validation = self._held_out(X, signs)
        order, bounds = group_rows(signs, validation, self._uses_unlabeled())
        has_unlabeled = bool(bounds[2] > bounds[1])
        rule = self._make_rule(has_unlabeled)
        uses = rule.uses & (np.diff(bounds) > 0)
        weights = [unit_weights(order[bounds[g] : bounds[g + 1]], weight) for g in range(3)]
        scores = score_stumps(previous, X, self.n_jobs) if len(previous) else None
        with RowThreads(self.n_jobs) as threads:
            binning = Binning.of_rows(X, order, self.max_bins, threads, weight)
            start = None if scores is None else scores[order]
            coded = CodedRows(binning.encode(X, order, threads), bounds, weights, uses, threads, start)
            has_few = coded.n_rows * self._n_drawn() <= FEW_CELLS
            rows = (FewRows if has_few else WeightedRows)(binning, coded, uses)
            stopper = self._alarm(rows, rule, has_unlabeled)
            if len(validation):
                codes = binning.encode(X, validation, threads)
                start = np.zeros(len(validation)) if scores is None else scores[validation]
                known = signs[validation], None if weight is None else weight[validation]
                stopper = ValidationStop(codes, start, *known, self.n_iter_no_change)
            self._boost(rows, rule, previous, losses, stopper)

    def _alarm(self, rows, rule, has_unlabeled):
        """What stops the fit if ``early_stopping="alarm"``; None otherwise, or without unlabeled rows."""
        return AlarmStop(rows, rule) if self.early_stopping == "alarm" and has_unlabeled else None

    def _boost(self, rows, rule, previous, losses, stopper, note=None):
        """Run the remaining rounds and set `stumps_` and `train_loss_`.

        ``note(t, stump, objective)`` is called after each round that does not stop the fit.
        """

        def after_round(t, stump, fires, objective):
            if self.verbose:
                print(f"round {t + 1}/{self.n_estimators}: objective {objective:.6g}")
            stop = stopper is not None and stopper(stump, fires)
            if note is not None and not stop:
                note(t, stump, objective)
            return stop

        total_step = float(previous["high"].sum())
        # An alarm depends on the state of the rows after each round.
        ahead_to = 0 if isinstance(stopper, AlarmStop) else self.n_estimators
        learner = StumpLearner(rows, rule, self._draw_columns, self.learning_rate, total_step, ahead_to)
        found = boost(learner, range(len(previous), self.n_estimators), after_round)
        kept = found if stopper is None else found[: stopper.kept]
        self.stumps_ = np.concatenate([previous, np.array([stump for stump, *_ in kept], dtype=STUMP)])
        self.train_loss_ = np.concatenate([losses, [objective for *_, objective in kept]])
        if len(self.stumps_) == 0:
            warnings.warn(
                "No stump improves the objective, so every row gets the same score: are all columns constant, or is "
                "the minimum edge (rho) too large?",
                stacklevel=caller_level(),
            )

    def _previous_rounds(self):
        """Stumps and losses to continue from; none unless `warm_start`."""
        if not (self.warm_start and hasattr(self, "stumps_")):
            self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            return np.empty(0, dtype=STUMP), np.empty(0)
        if self.n_estimators < len(self.stumps_):
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {len(self.stumps_)} rounds already fitted when "
                "warm_start=True; raise it, or set warm_start=False to start again"
            )
        return self.stumps_, self.train_loss_

    def _held_out(self, X, signs):
        """Labeled rows held out for early stopping, whatever their order; none unless ``early_stopping=True``."""
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
        labeled = labeled[np.lexsort((*X[labeled].T, signs[labeled]))]
        _, held_out = train_test_split(labeled, test_size=n_held_out, stratify=signs[labeled], random_state=self._seed)
        return np.sort(held_out)

    def _n_drawn(self):
        """Number of columns that a round draws."""
        if isinstance(self.max_features, numbers.Integral):
            return min(self.n_features_in_, self.max_features)
        return max(1, int(self.max_features * self.n_features_in_))

    def _draw_columns(self, start, stop):
        """Columns of each of these rounds. They depend on the seed and the round only, so that a fit that is continued
        draws the same."""
        d, n_drawn = self.n_features_in_, self._n_drawn()
        if n_drawn == d:
            return np.tile(np.arange(d), (stop - start, 1))
        return draw_columns(self._seed, start, stop, d, n_drawn)

    def _score(self, X):
        return score_stumps(self.stumps_, X, self.n_jobs)


# A generator of its own for each round takes 20 microseconds, twice as long as the rest of a round on a small table.
# The fits that calibrate a model draw the same columns as the model itself.
@lru_cache(maxsize=32)
def draw_columns(seed, start, stop, n_columns, n_drawn):
    """Sorted columns of the rounds ``start:stop``, one row for each; they depend on the seed and the round only."""
    draws = [np.random.default_rng([seed, t]).choice(n_columns, n_drawn, replace=False) for t in range(start, stop)]
    columns = np.sort(draws, axis=1)
    columns.flags.writeable = False
    return columns


def group_rows(signs, held_out, uses_unlabeled):
    """Training rows, positives first, then unlabeled rows, then negatives; and the bounds of the three groups."""
    training = np.ones(len(signs), dtype=np.bool_)
    training[held_out] = False
    groups = [np.flatnonzero(training & (signs == sign)) for sign in (1, 0, -1)]
    if not uses_unlabeled:
        groups[1] = groups[1][:0]
    return np.concatenate(groups), np.cumsum([0, *map(len, groups)])


def unit_weights(group, weight):
    """Weights of a group's rows, scaled to sum to one, whatever the order of the rows."""
    if weight is None or len(group) == 0:
        return 1.0 / max(len(group), 1)
    return weight[group] / math.fsum(weight[group])
