"""What all boosters share: from labeled rows to trees, and the scores of the trees."""

import math
import numbers
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Literal, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import (
    COUNT,
    MOST_OUT_OF_FOLD,
    Count,
    Interval,
    NonNegative,
    RankingClassifier,
    RealNotInt,
    Share,
    UnitInterval,
    parametrized,
)
from fewlabel.boosting.additive import column_names, shape_functions
from fewlabel.boosting.binning import SPLIT, Binning
from fewlabel.boosting.growing import MAX_DEPTH, Settings, boost
from fewlabel.boosting.pairs import needs_one_part
from fewlabel.boosting.rows import Parts, Rows, SpreadRows, group_totals
from fewlabel.boosting.scoring import score_splits, score_trees
from fewlabel.boosting.stopping import AlarmStop, ValidationStop, best_round, deal_out
from fewlabel.exceptions import LabelError
from fewlabel.kernels.bins import MAX_BINS
from fewlabel.kernels.symmetric_trees import draw_variates
from fewlabel.threads import RowThreads
from fewlabel.types import MatrixLike, Seed
from fewlabel.warning_filters import caller_level

FEW_LABELS = 1000  # below so many labels the out-of-fold AUC is too noisy to choose the number of rounds by
FEW_LABELS_ROUNDS = 1000
MOST_ROUNDS = 2000
N_FOLDS = 3
# Types of parameters, with their constraints.
Depth = Annotated[int, Interval(numbers.Integral, 1, MAX_DEPTH, closed="both")]
Bins = Annotated[int, Interval(numbers.Integral, 2, MAX_BINS, closed="both")]
Rate = Annotated[float, Interval(numbers.Real, 0, 1, closed="right")]
LessThanOne = Annotated[float, Interval(numbers.Real, 0, 1, closed="left")]
Columns = Annotated[float, COUNT, Interval(RealNotInt, 0, 1, closed="right")] | Literal["sqrt"]
Directions = Annotated[Mapping | Sequence, Mapping, "array-like"] | None


class Ensemble(NamedTuple):
    """The trees of a fit, and the objective after each of them."""

    splits: np.ndarray  # (n_trees, depth) of SPLIT
    values: np.ndarray  # (n_trees, 2**depth)
    losses: np.ndarray  # (n_trees,)

    def take(self, n_trees):
        """The first trees."""
        return Ensemble(self.splits[:n_trees], self.values[:n_trees], self.losses[:n_trees])

    def extended(self, rounds, losses, binning):
        """The ensemble with further trees, as a list of `growing.Rounds`, and their losses."""
        if not rounds:
            return self
        splits = binning.as_splits(
            np.concatenate([part.splits for part in rounds]), np.concatenate([part.gains for part in rounds])
        )
        return Ensemble(
            np.concatenate([self.splits, splits]),
            np.concatenate([self.values, *[part.values for part in rounds]]),
            np.concatenate([self.losses, losses]),
        )

    def score(self, X, n_jobs=None):
        """Sum of the trees for each row of a table."""
        return score_splits(self.splits, self.values, X, n_jobs)


@parametrized
class Booster(RankingClassifier):
    """Base of the boosters; a subclass has `max_depth`, and defines `_uses_unlabeled` and `_objective`."""

    _allow_nan = True
    _continued = "splits_"
    _bins_all_rows = False  # or only those that are boosted
    _keeps_losses = True
    _chosen_rounds = None  # for n_estimators="auto", if they are known
    _fold_scores = None  # held-out rows of the folds that chose the rounds, and the scores of all rows
    loss = "exponential"  # a parameter of some subclasses

    n_estimators: Count | Literal["auto"] = "auto"
    _: KW_ONLY
    learning_rate: Rate = 0.1
    max_bins: Bins = 255
    max_features: Columns = 0.3
    n_jobs: int | None = None
    random_state: Seed = None
    warm_start: bool = False
    verbose: int = 0

    @property
    def n_iter_(self) -> int:
        """Number of rounds that were kept."""
        check_is_fitted(self)
        return len(self.splits_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in the gains of all splits; the shares sum to one."""
        check_is_fitted(self)
        gains = self.splits_["gain"].ravel().clip(min=0.0)  # noise can choose a split that gains nothing
        total = np.bincount(self.splits_["column"].ravel(), gains, self.n_features_in_)
        return total / total.sum() if total.any() else total

    @property
    def shape_functions_(self) -> list:
        """One `ShapeFunction` for each column in use, if trees have one split: they are step functions."""
        check_is_fitted(self)
        depth = self.splits_.shape[1]
        if depth > 1:
            raise AttributeError(
                f"shape_functions_ needs trees with one split, and these have {depth} levels: fit with max_depth=1"
            )
        return shape_functions(self.splits_[:, 0], self.leaf_values_, column_names(self))

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
        for t in range(len(self.splits_)):
            scores += score_trees(self.splits_[t : t + 1], self.leaf_values_[t : t + 1], X, self.n_jobs)
            yield scores.copy()

    def _fit(self, X, signs, weight):
        previous = self._previous_rounds()
        held_out = self._held_out(X, signs)
        order, bounds = group_rows(signs, held_out, self._uses_unlabeled())
        given = None if weight is None else weight[order]
        totals = group_totals(given, bounds)
        # A warm start goes on from the scores of the trees so far; the bins may be others.
        scores = previous.score(X, self.n_jobs)
        with RowThreads(self.n_jobs) as threads:
            binned = np.arange(len(X)) if self._bins_all_rows else order
            binning = Binning.of_rows(X, binned, self.max_bins, threads, weight)
            codes = binning.encode(X, order, threads)
            rows = in_one_part = Rows(codes, binning.n_codes, bounds, scores[order], given, totals)
            stopper = self._alarm(rows)
            if len(held_out):
                codes = binning.encode(X, held_out, threads)
                given = None if weight is None else weight[held_out]
                stopper = ValidationStop(
                    codes, binning.n_codes, scores[held_out], signs[held_out], given, self.n_iter_no_change
                )
            n_parts = threads.n_ranges(len(order), self._n_drawn(binning.n_features))
            if n_parts > 1 and not needs_one_part(self.loss, rows.sizes):
                rows = SpreadRows(Parts(rows.in_parts(n_parts), threads.map), rows.sizes, totals)
            self._boost(binning, rows, previous, stopper, choose_by=in_one_part)

    def _scores_of_folds(self, X, signs, weight, decision):
        # The folds that chose the number of rounds have what is needed: to fit others would take as long again.
        order, _ = group_rows(signs, [], self._uses_unlabeled())
        of_folds = self._fold_scores
        self._fold_scores = None
        # Unless they are of a sample of the rows, or without those that are held out.
        if of_folds is None or len(of_folds[0][1]) != len(order):
            return super()._scores_of_folds(X, signs, weight, decision)
        return [_by_row_of_table(order, len(X), *of_fold) for of_fold in of_folds]

    def _ranker_like_this(self):
        model = super()._ranker_like_this()
        model._keeps_losses = False  # which take a tenth of the time, and nobody reads
        # To choose it again, in folds of each fold, would take most of the time of a fit.
        model._chosen_rounds = len(self.splits_)
        return model

    def _boosts_stumps(self):
        """Whether trees are stumps with steps in closed form, or grown on gradients."""
        return self.max_depth == 1

    def _alarm(self, rows):
        """What stops the fit if ``early_stopping="alarm"``; None otherwise, or without unlabeled rows."""
        return AlarmStop() if getattr(self, "early_stopping", None) == "alarm" and rows.sizes[1] else None

    def _boost(self, binning, rows, previous, stopper, *, choose_by, note=None):
        """Run the remaining rounds and set `splits_`, `leaf_values_` and `train_loss_`.

        Parameters
        ----------
        binning : Binning
        rows : Rows or SpreadRows
        previous : Ensemble
        stopper : ValidationStop, AlarmStop or None
        choose_by : Rows
            Rows to choose the number of rounds by, if ``n_estimators="auto"``.
        note : callable, default=None
            ``note(n_done, n_rounds)`` is called after each round that does not stop the fit.
        """
        n_rounds = self.n_estimators
        self._fold_scores = None
        if n_rounds == "auto":
            n_rounds, of_folds = self._choose_rounds(binning, choose_by)
            if len(previous.splits) == 0 and rows.sizes[0] + rows.sizes[2] <= MOST_OUT_OF_FOLD:
                self._fold_scores = of_folds
        rounds = []
        losses = []
        for part in self._rounds(binning, rows, previous, n_rounds):
            n_before = len(previous.splits) + len(losses)
            rounds.append(part)
            losses += part.losses() if self._keeps_losses else [math.nan] * len(part.splits)
            if self._ends_in(part, losses[-len(part.splits) :], n_before, n_rounds, stopper, note):
                break
        ensemble = previous.extended(rounds, losses, binning)
        if stopper is not None:
            ensemble = ensemble.take(len(previous.splits) + stopper.kept)
        self.splits_, self.leaf_values_, self.train_loss_ = ensemble
        if len(self.splits_) == 0:
            warnings.warn(
                "No split improves the objective, so every row gets the same score: are all columns constant, or is "
                "the minimum edge (rho) too large?",
                stacklevel=caller_level(),
            )

    def _ends_in(self, part, losses, n_before, n_rounds, stopper, note):
        """Report the rounds of a part, and tell whether one of them ends the fit."""
        for k, loss in enumerate(losses):
            t = n_before + k + 1
            if self.verbose:
                print(f"round {t}/{n_rounds}: objective {loss:.6g}")
            if stopper is not None and stopper(part, k):
                return True
            if note is not None:
                note(t, n_rounds)
        return False

    def _rounds(self, binning, rows, previous, n_rounds):
        """Further rounds, up to `n_rounds` in total."""
        names = getattr(self, "feature_names_in_", None)
        directions = read_directions(getattr(self, "monotone", None), binning.n_features, names)
        if directions.any() and self.max_depth > 1:
            raise ValueError("monotone is for sums of stumps: set max_depth=1, or leave monotone out")
        fading = MOST_ROUNDS if self.n_estimators == "auto" else self.n_estimators
        # A parameter that a class does not have keeps its default.
        parameters = {name: getattr(self, name) for name in Settings._fields if hasattr(self, name)}
        settings = Settings(self._n_drawn, self._seed, directions, fading, **parameters)
        # A step is what a stump adds where it fires; elsewhere it adds 0, or as much with the other sign.
        total_step = float(previous.values.max(axis=1).sum())
        return boost(rows, binning, self._objective(rows), settings, n_rounds, len(previous.splits), total_step)

    def _choose_rounds(self, binning, rows):
        """Rounds for ``n_estimators="auto"``: a fixed number for few labels, else the best one out of fold.

        The second value has, for each fold, positions of the held-out rows, and the scores of all rows; or is None.
        """
        if self._chosen_rounds is not None:
            return self._chosen_rounds, None
        n_positive, _, n_negative = rows.sizes
        too_few = n_positive + n_negative < FEW_LABELS or min(n_positive, n_negative) < N_FOLDS
        if too_few or self._boosts_stumps():
            return FEW_LABELS_ROUNDS, None
        # A hash of the row's own codes deals it out, so that the order of the rows does not matter.
        variates = draw_variates(rows.keys, np.uint64(self._seed))
        folds = np.full(len(variates), -1)
        for group in (rows.groups[0], rows.groups[2]):
            folds[group] = deal_out(variates[group], rows.weights[group], N_FOLDS)
        of_folds = [rows.without(folds == fold) for fold in range(N_FOLDS)]
        no_rounds = self._no_rounds()
        rounds = [self._rounds(binning, of_fold, no_rounds, MOST_ROUNDS) for of_fold in of_folds]
        held_out = [np.flatnonzero(folds == fold) for fold in range(N_FOLDS)]
        positive = np.arange(len(folds)) < n_positive
        with RowThreads(self.n_jobs) as threads:
            scores = [of_fold.scores for of_fold in of_folds]
            n_rounds, scores = best_round(rounds, scores, held_out, positive, rows.weights, threads)
        return n_rounds, None if scores is None else list(zip(held_out, scores))

    def _no_rounds(self):
        """The trees of a fit that has not begun."""
        shape = (0, 1 << self.max_depth)
        return Ensemble(np.empty((0, self.max_depth), dtype=SPLIT), np.empty(shape), np.empty(0))

    def _previous_rounds(self):
        """The trees to continue from; none unless `warm_start`."""
        if not (self.warm_start and hasattr(self, "splits_")):
            # One number per fit: every round has a generator of its own, so that a continued fit draws the same.
            self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            return self._no_rounds()
        if self.max_depth != self.splits_.shape[1]:
            raise ValueError(
                f"max_depth={self.max_depth} differs from the depth {self.splits_.shape[1]} of the fitted trees; "
                "keep it when warm_start=True, or set warm_start=False to start again"
            )
        if self.n_estimators != "auto" and self.n_estimators < len(self.splits_):
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {len(self.splits_)} rounds already fitted when "
                "warm_start=True; raise it, or set warm_start=False to start again"
            )
        return Ensemble(self.splits_, self.leaf_values_, self.train_loss_)

    def _held_out(self, X, signs):
        """Labeled rows held out for early stopping, whatever their order; none unless ``early_stopping=True``."""
        labeled = np.flatnonzero(signs)
        if getattr(self, "early_stopping", None) is not True:
            return labeled[:0]
        n_held_out = max(2, round(self.validation_fraction * len(labeled)))
        fewest = min(np.count_nonzero(signs > 0), np.count_nonzero(signs < 0))
        if fewest < 2 or len(labeled) - n_held_out < 2:
            raise LabelError(
                "early_stopping=True holds out labeled rows of each class, and there are too few of them: set "
                "early_stopping=False or label more rows"
            )
        # Sorted by their values, so that the order of the rows does not choose the held-out ones.
        labeled = labeled[np.lexsort((*X[labeled].T, signs[labeled]))]
        _, held_out = train_test_split(labeled, test_size=n_held_out, stratify=signs[labeled], random_state=self._seed)
        return np.sort(held_out)

    def _n_drawn(self, n):
        """Number of columns, of n, to search at one level."""
        if self.max_features == "sqrt":
            return math.ceil(math.sqrt(n))
        if isinstance(self.max_features, numbers.Integral):
            return min(n, self.max_features)
        return max(1, int(self.max_features * n))

    def _score(self, X):
        return Ensemble(self.splits_, self.leaf_values_, self.train_loss_).score(X, self.n_jobs)


@parametrized
class LabeledBooster(Booster):
    """Base of the boosters of labeled rows of two classes."""

    _: KW_ONLY
    gamma: UnitInterval = 1.0
    early_stopping: bool | Literal["alarm"] = False
    validation_fraction: Share = 0.1
    n_iter_no_change: Count = 10
    monotone: Directions = None

    def _uses_unlabeled(self):
        return self.gamma < 1


@parametrized
class RandomTrees:
    """Mixin before a `Booster`: the parameters of random trees."""

    _: KW_ONLY
    max_depth: Depth = 6
    learning_rate: Rate = 0.02
    l2_regularization: NonNegative = 0.5
    splitter: Literal["mixed", "random", "best"] = "mixed"
    split_noise: NonNegative = 0.5
    bootstrap: bool = True
    max_features: Columns = "sqrt"


def _by_row_of_table(order, n_rows, held_out, scores):
    """Whether each row of a table is held out, and its score, from those of the rows in the order of a fit."""
    test = np.zeros(n_rows, dtype=np.bool_)
    test[order[held_out]] = True
    by_row = np.zeros(n_rows)
    by_row[order] = scores
    return test, by_row


def read_directions(monotone, n_features, names=None):
    """Direction of each column, from the parameter `monotone`.

    Parameters
    ----------
    monotone : mapping, array-like of shape (n_features,) or None
        1, 0 or -1 of each column, or of some columns by their names or positions.
    n_features : int
    names : array-like of str, default=None
        Names of the columns, if they have any.

    Returns
    -------
    ndarray of int64 of shape (n_features,)

    Examples
    --------
    >>> from fewlabel.boosting.booster import read_directions
    >>> read_directions({"income": -1}, 2, ["age", "income"])
    array([ 0, -1])
    """
    directions = np.zeros(n_features, dtype=np.int64)
    if monotone is None:
        return directions
    if not isinstance(monotone, Mapping):
        values = np.asarray(monotone)
        if values.shape != (n_features,):
            raise ValueError(
                f"monotone: expected 1, 0 or -1 for each of the {n_features} columns, got {values.size} values"
            )
        monotone = dict(enumerate(values.tolist()))
    places = {name: k for k, name in enumerate([] if names is None else list(names))}
    for column, direction in monotone.items():
        place = column if isinstance(column, numbers.Integral) else places.get(column, -1)
        if not 0 <= place < n_features:
            raise ValueError(f"monotone: there is no column {column!r}; give names of columns, or their positions")
        if direction not in (-1, 0, 1):
            raise ValueError(
                f"monotone: {column!r} has {direction!r}; give 1 if the score must not fall as it grows, -1 if it must "
                "not rise"
            )
        directions[place] = direction
    return directions


def group_rows(signs, held_out, uses_unlabeled):
    """Training rows, positives first, then unlabeled rows, then negatives; and the bounds of the three groups."""
    training = np.ones(len(signs), dtype=np.bool_)
    training[held_out] = False
    groups = [np.flatnonzero(training & (signs == sign)) for sign in (1, 0, -1)]
    if not uses_unlabeled:
        groups[1] = groups[1][:0]
    return np.concatenate(groups), np.cumsum([0, *map(len, groups)])
