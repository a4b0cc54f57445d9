"""What every binary ranker shares: validate -> read labels -> `_fit` -> threshold and calibration.

The only file that touches scikit-learn's private helpers.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from fewlabel.calibration import calibrate
from fewlabel.labels import read_binary, require_weight, require_y
from fewlabel.types import MatrixLike

__all__ = [
    "HasMethods",
    "Interval",
    "RankingClassifier",
    "RealNotInt",
    "StrOptions",
    "TakesWhatItsBaseTakes",
    "check_weights",
    "fit_context",
    "set_random_states",
]

fit_context = _fit_context


class ValidatesByTags:
    """Mixin: rows are checked by what the estimator's own tags say of sparse rows and gaps."""

    def _validate(self, X, *, reset, **limits):
        tags = get_tags(self).input_tags
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if tags.sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if tags.allow_nan else True,
            **limits,
        )


class RankingClassifier(ValidatesByTags, ClassifierMixin, BaseEstimator):
    """Base of binary rankers: a subclass gives `_fit` and `_score`, this class makes a classifier of them.

    A ranker's objective has no threshold. `fit` therefore chooses the one with the best balanced accuracy on the
    labeled rows. There the likelihood ratio of the classes is 1; away from it its logarithm is taken to be
    proportional to the decision function, and with the share of positives among the labeled rows it gives the
    probabilities.

    Subclasses implement

    - ``_fit(X, signs, weight)``: learn from the rows, ``signs`` in {+1, -1, 0}, ``weight`` positive or None;
    - ``_score(X)``: the score of each row, higher for positives, any offset.
    """

    _parameter_constraints: dict = {}
    _allow_nan = False
    _accept_sparse = False
    _needed_signs = (-1, 1)
    _drops_weightless = True  # False where rows are named by their position, as in the folds of a cross-validation

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The table; labeled and unlabeled rows.
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` where it is not known.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, within each group of positives, negatives and unlabeled rows.
            A row of weight 0 is left out.

        Returns
        -------
        self : object
        """
        require_y(y, self)
        X = self._validate(X, reset=True, ensure_min_samples=2)
        classes, signs = self._read_labels(y)
        check_consistent_length(X, signs)
        weight = None
        if sample_weight is not None:
            weight = check_weights(sample_weight, X)
            kept = _drop_weightless(X, signs, weight, classes, self._needed_signs)
            X, signs, weight = kept if self._drops_weightless else (X, signs, weight)
        self.__dict__.pop("calibration_", None)  # a fit that is interrupted leaves no model, rather than half of one
        self.classes_ = classes
        self._fit(X, signs, weight)
        self._make_classifier(self._score(X), signs, weight)
        return self

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Score of each row: positive where `predict` gives ``classes_[1]``, and higher the surer.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._score(self._validate(X, reset=False)) + self.offset_

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Class of each row, at the threshold with the best balanced accuracy on the labeled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probability of each class, by a sigmoid fitted to the labeled rows.

        At the threshold of `predict` a row is as likely under either class, so its probability is the share of
        positives among the labeled rows, which is 1/2 only if the classes are of equal size.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        decision = self.decision_function(X)
        slope, intercept = self.calibration_
        margin = slope * decision + intercept
        return np.column_stack([expit(-margin), expit(margin)])

    def __sklearn_is_fitted__(self):
        """Whether the last fit came to its end: what is set last is there."""
        return hasattr(self, "calibration_")

    def _read_labels(self, y):
        """Classes, and the sign of each row: +1, -1, or 0 if unlabeled."""
        return read_binary(y)

    def _make_classifier(self, scores, signs, weight):
        """Set `offset_` (so that 0 is the threshold) and `calibration_` (slope and intercept of the log-odds)."""
        labeled = signs != 0 if weight is None else (signs != 0) & (weight > 0)
        weight = None if weight is None else weight[labeled]
        self.offset_, self.calibration_ = calibrate(scores[labeled], signs[labeled] > 0, weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = self._allow_nan
        tags.input_tags.sparse = self._accept_sparse
        return tags


class TakesWhatItsBaseTakes(ValidatesByTags):
    """Mixin of estimators around another one: sparse rows and gaps are accepted if it accepts them.

    A subclass gives `_base`, the estimator that it will clone.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        base = get_tags(self._base()).input_tags
        tags.input_tags.sparse = base.sparse
        tags.input_tags.allow_nan = base.allow_nan
        return tags


def set_random_states(estimator, rng):
    """Draw every `random_state` of an estimator, at any depth, as scikit-learn's ensembles do."""
    from sklearn.ensemble._base import _set_random_states  # loads all ensembles

    _set_random_states(estimator, rng)


def check_weights(sample_weight, X):
    """The weights of the rows as an array; an error if one is negative, or they are not one for each row."""
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def _drop_weightless(X, signs, weight, classes, needed):
    """Leave out rows of weight 0, as if they were not there."""
    keep = weight > 0
    if keep.all():
        return X, signs, weight
    names = {
        -1: f"labeled row of class {classes[0]!r}",
        0: "unlabeled row",
        1: f"labeled row of class {classes[1]!r}",
    }
    require_weight(signs[keep], {sign: names[sign] for sign in needed})
    return X[keep], signs[keep], weight[keep]
