"""What the boosters of symmetric trees share: from labeled rows to trees, and scores from them."""

import math
import numbers
import warnings
from collections.abc import Iterator
from operator import attrgetter

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import Interval, RankingClassifier, StrOptions
from fewlabel.boosting.additive import column_names, score_stumps, shape_functions
from fewlabel.boosting.binning import Binning
from fewlabel.boosting.booster import CONSTRAINTS, group_rows, unit_weights
from fewlabel.boosting.joint import joint_shape_functions
from fewlabel.boosting.loop import boost
from fewlabel.boosting.rounds import best_round, deal_out
from fewlabel.boosting.tree_rows import TreeRows
from fewlabel.boosting.trees import MAX_DEPTH, SPLIT, TreeGrower, TreeLearner, as_stumps, n_codes, score_trees
from fewlabel.threads import RowThreads
from fewlabel.types import MatrixLike
from fewlabel.warning_filters import caller_level

FEW_LABELS, FEW_LABELS_ROUNDS = 1000, 1000  # below so many labels the out-of-fold AUC is too noisy to choose by
N_FOLDS, MOST_ROUNDS = 3, 2000


class TreeBooster(RankingClassifier):
    """Base of boosters of symmetric trees; a subclass has the parameters, `_uses_unlabeled` and `_make_loss`."""

    _allow_nan = True
    _continued = "splits_"
    _parameter_constraints: dict = {
        **CONSTRAINTS,
        "n_estimators": [*CONSTRAINTS["n_estimators"], StrOptions({"auto"})],
        "max_features": [*CONSTRAINTS["max_features"], StrOptions({"sqrt"})],
        "max_depth": [Interval(numbers.Integral, 1, MAX_DEPTH, closed="both")],
        "l2_regularization": [Interval(numbers.Real, 0, None, closed="left")],
        "splitter": [StrOptions({"mixed", "random", "best"})],
        "split_noise": [Interval(numbers.Real, 0, None, closed="left")],
        "bootstrap": ["boolean"],
    }

    @property
    def n_iter_(self) -> int:
        """Number of trees."""
        check_is_fitted(self)
        return len(self.splits_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in the gains of all splits; the shares sum to one."""
        check_is_fitted(self)
        gains = self.splits_["gain"].ravel().clip(min=0.0)
        total = np.bincount(self.splits_["column"].ravel(), gains, self.n_features_in_)
        return total / total.sum() if total.any() else total

    @property
    def shape_functions_(self) -> list:
        """One `ShapeFunction` for each column in use, if `max_depth` is 1: trees of one split are step functions."""
        self._check_depth("shape_functions_", 1)
        return shape_functions(as_stumps(self.splits_, self.leaf_values_), column_names(self))

    @property
    def joint_shape_functions_(self) -> list:
        """One `JointShapeFunction` for each column or pair of columns that a tree uses, if `max_depth` is at most 2."""
        self._check_depth("joint_shape_functions_", 2)
        return joint_shape_functions(self.splits_, self.leaf_values_, column_names(self))

    def _check_depth(self, attribute, deepest):
        check_is_fitted(self)
        depth = self.splits_.shape[1]
        if depth > deepest:
            raise AttributeError(
                f"{attribute} needs trees with at most {deepest} split(s), and these have {depth}: fit with "
                f"max_depth={deepest}"
            )

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
        order, bounds = group_rows(signs, [], self._uses_unlabeled())
        with RowThreads(self.n_jobs) as threads:
            binning = Binning.of_rows(X, np.arange(len(X)), self.max_bins, threads, weight)
            weights, totals = _group_weights(order, bounds, weight)
            rows = TreeRows(
                binning.encode(X, order, threads),
                n_codes(binning),
                bounds,
                weights,
                None if weight is None else weight[order],
                self._score(X)[order] if len(previous[0]) else np.zeros(len(order)),
                threads,
            )
            self._boost(binning, rows, totals, previous)

    def _boost(self, binning, rows, totals, previous, sample=None, note=None):
        """Run the remaining rounds and set `splits_`, `leaf_values_` and `train_loss_`.

        Parameters
        ----------
        binning : Binning
        rows : tree_rows.Rows
        totals : sequence of float
            Total weight of the rows of each group.
        previous : tuple
            Of `_previous_rounds`.
        sample : (TreeRows, totals), default=None
            Rows to choose the number of rounds by; `rows` by default, which must then be `TreeRows`.
        note : callable, default=None
            ``note(t, n_rounds)`` is called after each round.
        """
        splits, values, losses = previous
        grower = self._make_grower(binning)
        n_rounds = fading = self.n_estimators
        if n_rounds == "auto":
            n_rounds, fading = self._choose_rounds(grower, *(sample or (rows, totals))), MOST_ROUNDS
        loss, new_losses = self._make_loss(rows, totals), []

        def after_round(t, *tree):
            new_losses.append(loss.value())
            if self.verbose:
                print(f"round {t + 1}/{n_rounds}: loss {new_losses[-1]:.6g}")
            if note is not None:
                note(t, n_rounds)

        learner = TreeLearner(grower, loss, rows, self.learning_rate, fading)
        trees = boost(learner, range(len(splits), n_rounds), after_round)
        if trees:
            splits = np.concatenate([splits, grower.as_splits([found for found, _ in trees])])
            values = np.concatenate([values, [new for _, new in trees]])
        self.splits_, self.leaf_values_ = splits, values
        self.train_loss_ = np.concatenate([losses, new_losses])
        if len(self.splits_) == 0:
            warnings.warn(
                "No tree could be grown, so every row gets the same score: are all columns constant?",
                stacklevel=caller_level(),
            )

    def _make_grower(self, binning):
        return TreeGrower(
            binning,
            max_depth=self.max_depth,
            l2=self.l2_regularization,
            noise=self.split_noise,
            splitter=self.splitter,
            bootstrap=self.bootstrap,
            draw_columns=self._draw_columns,
            seed=self._seed,
        )

    def _choose_rounds(self, grower, rows, totals):
        """Rounds for ``n_estimators="auto"``: a fixed number for few labels, else the best one out of fold."""
        n_rows, (positives, _, negatives) = int(rows.sizes.sum()), rows.groups
        if rows.sizes[0] + rows.sizes[2] < FEW_LABELS or min(rows.sizes[0], rows.sizes[2]) < N_FOLDS:
            return FEW_LABELS_ROUNDS
        rows_weight, variates = np.concatenate(rows.weights), rows.variates(self._seed)
        folds = np.full(n_rows, -1)
        for group in (positives, negatives):
            folds[group] = deal_out(variates[group], rows_weight[group], N_FOLDS)
        learners = []
        for fold in range(N_FOLDS):
            of_fold = rows.with_weights([w * (folds[g] != fold) for g, w in zip(rows.groups, rows.weights)])
            shares = of_fold.sums(attrgetter("weights"))
            of_fold.weights = [w / (share or 1.0) for w, share in zip(of_fold.weights, shares)]
            loss = self._make_loss(of_fold, [total * share for total, share in zip(totals, shares)])
            learners.append(TreeLearner(grower, loss, of_fold, self.learning_rate, MOST_ROUNDS))
        held_out = [np.flatnonzero(folds == fold) for fold in range(N_FOLDS)]
        return best_round(learners, held_out, np.arange(n_rows) < rows.sizes[0], rows_weight, MOST_ROUNDS)

    def _previous_rounds(self):
        """Trees and losses to continue from; none unless `warm_start`."""
        if not (self.warm_start and hasattr(self, "splits_")):
            self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            return np.empty((0, self.max_depth), dtype=SPLIT), np.empty((0, 1 << self.max_depth)), np.empty(0)
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
        return self.splits_, self.leaf_values_, self.train_loss_

    def _n_drawn(self, n):
        """Number of columns, of n, to search at one level."""
        if self.max_features == "sqrt":
            return math.ceil(math.sqrt(n))
        if isinstance(self.max_features, numbers.Integral):
            return min(n, self.max_features)
        return max(1, int(self.max_features * n))

    def _draw_columns(self, rng, columns, n_levels):
        """Columns to search at each level."""
        n_drawn = self._n_drawn(len(columns))
        if n_drawn == len(columns):
            return [columns] * n_levels
        order = rng.random((n_levels, len(columns))).argpartition(n_drawn - 1)[:, :n_drawn]
        return columns[np.sort(order)]

    def _score(self, X):
        if self.max_depth == 1:  # the sums of a stump booster, in the same order
            return score_stumps(as_stumps(self.splits_, self.leaf_values_), X, self.n_jobs)
        return score_trees(self.splits_, self.leaf_values_, X, self.n_jobs)


def _group_weights(order, bounds, weight):
    """Weights of the rows of each group, which sum to one, and their totals before that."""
    groups = [order[bounds[g] : bounds[g + 1]] for g in range(3)]
    weights = [np.broadcast_to(unit_weights(group, weight), len(group)).copy() for group in groups]
    totals = [float(len(group)) if weight is None else math.fsum(weight[group]) for group in groups]
    return weights, totals
