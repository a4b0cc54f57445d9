"""Base of the self-labeling classifiers: validate -> read labels -> loop -> final classifiers."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import MetaEstimatorMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import Count, HasMethods, LabeledClassifier, ScoresClasses, TakesWhatItsBaseTakes, parametrized
from fewlabel.columns import as_table, is_table
from fewlabel.random_streams import draw_seed
from fewlabel.row_order import value_order
from fewlabel.types import MatrixLike, Seed
from fewlabel.wrappers._learner import Learner, take
from fewlabel.wrappers._loop import deal, self_label

_WITH_POSTERIORS = HasMethods(["fit", "predict", "predict_proba"])
_WITH_DECISIONS = HasMethods(["fit", "predict", "decision_function"])
_N_TREES = 50  # of the default base classifier


def _has_posteriors(self):
    # Depends on the base classifier as passed, so that the answer is the same before and after fit.
    return hasattr(self._base(), "predict_proba")


@parametrized
class SelfLabelingClassifier(ScoresClasses, TakesWhatItsBaseTakes, MetaEstimatorMixin, LabeledClassifier):
    """Base of the wrappers: a subclass defines a run, this class adds the guard and the final model.

    Subclasses implement

    - ``_start(learner, codes, free, rng)``: return a `Run`;
    - ``_class_scores(X)``: return the combined posteriors of the final classifiers `estimators_`.
    """

    # Folds of the labeled rows, for the guard.
    _n_folds = 3

    estimator: Annotated[Any, _WITH_POSTERIORS, _WITH_DECISIONS, None] = None
    _: KW_ONLY
    stop: Literal["out-of-fold", "exhausted"] = "out-of-fold"
    max_iter: Count | None = 30
    n_jobs: int | None = None
    random_state: Seed = None

    def _fit(self, X, codes, weight):
        order = _order_of_rows(X, codes)
        self.labeled_iter_ = np.empty(len(order), dtype=np.int64)
        self.labeled_iter_[order] = self._self_label(take(X, order), codes[order])
        self._transduce(X, codes)

    def _self_label(self, X, codes):
        """Set the final classifiers and the history; return the round in which each row was labeled."""
        rng = check_random_state(self.random_state)
        learner = Learner(self._base(), X, self.classes_, rng)
        run = self._start(learner, codes, codes < 0, rng)
        guarded = self.stop == "out-of-fold" and bool((codes < 0).any())
        watchers = self._watchers(learner, codes, rng) if guarded else []
        max_iter = len(codes) if self.max_iter is None else self.max_iter
        self.estimators_, iters, self.best_iter_, self.history_ = self_label(
            run, watchers, codes, max_iter, self.n_jobs
        )
        self.n_iter_ = len(self.history_) - 1
        return iters

    def _watchers(self, learner, codes, rng):
        """Runs that do not see the labels of one fold, one per fold."""
        folds = deal(codes, np.flatnonzero(codes >= 0), self._n_folds, rng)
        # Each watcher draws by itself, so that threads do not share a generator.
        seeds = draw_seed(rng, self._n_folds)
        watchers = []
        for fold, seed in enumerate(seeds):
            held = folds == fold
            seen = np.where(held, -1, codes)
            # A fold may be empty, or hold all labels.
            if held.any() and (seen >= 0).any():
                watchers.append(self._start(learner, seen, codes < 0, np.random.RandomState(seed)))
        return watchers

    def _transduce(self, X, codes):
        """Keep known classes, and predict all other rows by the final model."""
        self.transduction_ = self.classes_[np.maximum(codes, 0)]
        unlabeled = np.flatnonzero(codes < 0)
        if len(unlabeled):
            self.transduction_[unlabeled] = self._classes_of(take(X, unlabeled))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes.
        """
        check_is_fitted(self)
        return self._classes_of(self._validate(X, reset=False))

    @available_if(_has_posteriors)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Compute the probability of each class, as returned by the base classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities.
        """
        return self._scores(X)

    def _classes_of(self, X):
        return self.classes_[self._class_scores(X).argmax(axis=1)]

    def _base(self):
        return ExtraTreesClassifier(_N_TREES) if self.estimator is None else self.estimator

    def _validate(self, X, *, reset, **limits):
        """Tables and texts for a base classifier that takes them stay as they are."""
        base = self._base()
        if isinstance(base, Pipeline) or get_tags(base).input_tags.string:
            if is_table(X):
                return as_table(self, X, reset=reset)
            if np.ndim(X) == 1 and all(isinstance(text, str) for text in X):
                return pd.Series(list(X))
        return super()._validate(X, reset=reset, **limits)


def _order_of_rows(X, codes):
    """Labeled rows in their order, then the unlabeled ones sorted by their values.

    Random draws and ties then do not depend on the order of the unlabeled rows.
    """
    unlabeled = np.flatnonzero(codes < 0)
    rows = take(X, unlabeled)
    if hasattr(rows, "iloc"):
        ranks = np.argsort(pd.util.hash_pandas_object(rows, index=False).to_numpy(), kind="stable")
    elif issparse(rows):
        ranks = value_order(rows)
    else:
        ranks = np.lexsort(rows.T[::-1])
    return np.concatenate([np.flatnonzero(codes >= 0), unlabeled[ranks]])
