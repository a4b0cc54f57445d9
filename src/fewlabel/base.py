"""What the classifiers share: validate -> read labels -> drop rows of weight 0 -> `_fit`."""

import dataclasses
import functools
import inspect
import numbers
import types
import typing
import warnings
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from fewlabel.calibration import calibrate, out_of_fold_slope, score_folds
from fewlabel.checks import check_non_negative
from fewlabel.exceptions import LabelError
from fewlabel.foreign.scikit_learn import (
    SET_OUTSIDE_FIT,
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    validate_parameters,
)
from fewlabel.labels import read_binary, read_classes, require_weight, require_y
from fewlabel.types import MatrixLike
from fewlabel.warning_filters import caller_level, keep_filters

__all__ = [
    "COUNT",
    "NON_NEGATIVE",
    "POSITIVE",
    "SHARE",
    "AtLeastTwo",
    "Count",
    "HasMethods",
    "Interval",
    "LabeledClassifier",
    "NonNegative",
    "Positive",
    "RankingClassifier",
    "RealNotInt",
    "ScoresClasses",
    "Share",
    "StrOptions",
    "TakesWhatItsBaseTakes",
    "UnitInterval",
    "ValidatesByTags",
    "Values",
    "check_weights",
    "constraints_of",
    "fit_context",
    "parametrized",
    "set_random_states",
]

# Constraints that many parameters have.
COUNT = Interval(numbers.Integral, 1, None, closed="left")
POSITIVE = Interval(numbers.Real, 0, None, closed="neither")
NON_NEGATIVE = Interval(numbers.Real, 0, None, closed="left")
SHARE = Interval(numbers.Real, 0, 1, closed="neither")
# The same as types of parameters, for `constraints_of`.
Count = Annotated[int, COUNT]
Positive = Annotated[float, POSITIVE]
NonNegative = Annotated[float, NON_NEGATIVE]
Share = Annotated[float, SHARE]
AtLeastTwo = Annotated[int, Interval(numbers.Integral, 2, None, closed="left")]
UnitInterval = Annotated[float, Interval(numbers.Real, 0, 1, closed="both")]
Values = Annotated[ArrayLike, "array-like"]
_CONSTRAINT_BY_NAME = {"random_state": "random_state", "verbose": "verbose", "cv": "cv_object"}
_CONSTRAINT_BY_TYPE = {bool: "boolean", int: numbers.Integral, float: numbers.Real, type(None): None}

MOST_OUT_OF_FOLD = 2000  # labeled rows; with more of them the scores of the fit itself are hardly too good
_N_FOLDS = 3
_LEAST_SLOPE = 0.01  # of that of the fit, so that the probabilities rank rows as the scores do
_QUIET = {"verbose": 0, "warm_start": False, "record_history": False}
_MAY_CHANGE = ("n_estimators", "max_iter", "tol", "n_jobs", "verbose", "warm_start", "record_history")


@typing.dataclass_transform(eq_default=False)
def parametrized(cls):
    """Decorator of an estimator: its annotated attributes, and those of its bases, are the parameters.

    The class is a dataclass whose constructor only assigns, as scikit-learn demands; the types have the constraints.

    Examples
    --------
    >>> from fewlabel.base import Count, LabeledClassifier, parametrized
    >>> @parametrized
    ... class Estimator(LabeledClassifier):
    ...     max_iter: Count = 100
    >>> Estimator(7).get_params()
    {'max_iter': 7}
    """
    # Two estimators are equal if they are the same object, and scikit-learn knows how to print one.
    cls = dataclasses.dataclass(eq=False, repr=False)(cls)
    cls._parameter_constraints = constraints_of(cls.__init__)
    return cls


def constraints_of(init, **given):
    """Read the constraints of parameters from their types, so that neither can say something else.

    Parameters
    ----------
    init : function
        The ``__init__`` of an estimator. A literal allows its values; `Count`, `Positive`, `NonNegative` and `Share`
        have their intervals, and `Values` are array-like.
    **given : list
        Constraints that a type does not tell, such as those of estimators.

    Returns
    -------
    dict
        For ``_parameter_constraints``.

    Examples
    --------
    >>> from typing import Literal
    >>> from fewlabel.base import Count, constraints_of
    >>> def init(self, max_iter: Count | None = None, solver: Literal["exact"] = "exact"): ...
    >>> [[str(one) for one in constraints] for constraints in constraints_of(init).values()]
    [['an int in the range [1, inf)', 'None'], ["a str among {'exact'}"]]
    """
    constraints = {}
    for name, parameter in inspect.signature(init).parameters.items():
        if name in given:
            constraints[name] = given[name]
        elif name in _CONSTRAINT_BY_NAME:
            constraints[name] = [_CONSTRAINT_BY_NAME[name]]
        elif name != "self":
            constraints[name] = _constraints_of_type(parameter.annotation)
    return constraints


def _constraints_of_type(annotation):
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return [constraint for arm in typing.get_args(annotation) for constraint in _constraints_of_type(arm)]
    if origin is Annotated:
        return list(annotation.__metadata__)
    if origin is Literal:
        return [StrOptions(set(typing.get_args(annotation)))]
    return [_CONSTRAINT_BY_TYPE.get(annotation, annotation)]


def fit_context(*, prefer_skip_nested_validation):
    """Decorator of `fit`: as scikit-learn's own, and nothing is kept of an earlier fit, or of one that fails.

    A fit that is interrupted thus leaves a model that is not fitted, rather than parts of two models. Nesting the two
    decorators would add a frame to the stack, and warnings would no longer point to the line that calls `fit`.

    Parameters
    ----------
    prefer_skip_nested_validation : bool
        Whether the estimators that this one makes skip the check of their parameters. False if the user gives them.
    """

    def decorate(fit):
        @functools.wraps(fit)
        def whole(self, *args, **kwargs):
            skip = get_config()["skip_parameter_validation"]
            _forget(self)
            try:
                if not skip:
                    validate_parameters(self)
                with config_context(skip_parameter_validation=prefer_skip_nested_validation or skip):
                    return fit(self, *args, **kwargs)
            except BaseException:
                _forget(self)
                raise

        return whole

    return decorate


def _forget(estimator):
    """Drop what `fit` has set; before a warm start only `calibration_`, without which a ranker is not fitted."""
    if getattr(estimator, "warm_start", False):
        vars(estimator).pop("calibration_", None)
        return
    parameters = None
    for name in list(vars(estimator)):
        if name.endswith("_") or (name.startswith("_") and not name.startswith(SET_OUTSIDE_FIT)):
            # They take longer than all the rest, and a first fit has nothing to drop.
            if parameters is None:
                parameters = estimator.get_params(deep=False)
            if name not in parameters:
                delattr(estimator, name)


class ValidatesByTags:
    """Mixin: rows are checked by what the estimator's tags say about sparse rows and missing values."""

    _allow_nan = False
    _accept_sparse = False
    _dtypes: tuple = (np.float64, np.float32)

    def _validate(self, X, *, reset, **limits):
        tags = get_tags(self).input_tags
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if tags.sparse else False,
            dtype=list(self._dtypes),
            ensure_all_finite="allow-nan" if tags.allow_nan else True,
            **limits,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allow_nan
        tags.input_tags.sparse = self._accept_sparse
        return tags


class LabeledClassifier(ValidatesByTags, ClassifierMixin, BaseEstimator):
    """Base of classifiers for two classes or more, of which rows may be unlabeled.

    Subclasses implement ``_fit(X, codes, weight)``: learn from the rows; ``codes`` holds the position of each row's
    class in `classes_`, -1 if unlabeled, and ``weight`` is positive or None. A subclass whose `fit` takes more than
    rows and labels calls `_read_rows` and `_fit` itself.
    """

    _parameter_constraints: ClassVar[dict] = {}
    # False where rows are named by their position, as in the folds of a cross-validation.
    _drops_weightless = True

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The table; labeled and unlabeled rows.
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` where it is not known.

        Returns
        -------
        self : object
        """
        self._fit(*self._read_rows(X, y))
        return self

    def _read_rows(self, X, y, sample_weight=None):
        """Set `classes_`; rows, codes and weights as `_fit` takes them."""
        require_y(y, self)
        X = self._validate(X, reset=True, ensure_min_samples=2)
        self.classes_, codes = self._read_labels(y)
        check_consistent_length(X, codes)
        if sample_weight is None:
            return X, codes, None
        weight = check_weights(sample_weight, X)
        keep = weight > 0
        require_weight(codes[keep], self._needed_rows())
        if keep.all() or not self._drops_weightless:
            return X, codes, weight
        return X[keep], codes[keep], weight[keep]

    def _read_labels(self, y):
        """Classes, and the code of each row."""
        return read_classes(y, self)[:2]

    def _needed_rows(self):
        """The codes of which a fit needs a row, and what to call such a row."""
        return {code: f"labeled row of class {name!r}" for code, name in enumerate(self.classes_.tolist())}


class ScoresClasses:
    """Mixin of classifiers that score every class; a subclass gives ``_class_scores(X)`` for validated rows."""

    classes_: np.ndarray

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Score of each class; with two classes, that of ``classes_[1]`` minus that of ``classes_[0]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) with two classes
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Class of each row: the one with the highest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def _scores(self, X):
        check_is_fitted(self)
        return self._class_scores(self._validate(X, reset=False))


class RankingClassifier(LabeledClassifier):
    """Base of binary rankers: a subclass gives `_fit` and `_score`, this class makes a classifier of them.

    A ranker's objective has no threshold. `fit` therefore chooses the one with the best balanced accuracy on the
    labeled rows. There the likelihood ratio of the classes is 1; away from it its logarithm is taken to be
    proportional to the decision function, and with the share of positives among the labeled rows it gives the
    probabilities. With up to 2,000 labeled rows the slope comes from rows that a model was not fitted to, in three
    folds: on the rows of the fit itself few labels look separable, and the probabilities would be far too extreme.

    Subclasses implement

    - ``_fit(X, signs, weight)``: learn from the rows, ``signs`` in {+1, -1, 0}, ``weight`` positive or None;
    - ``_score(X)``: the score of each row, higher for positives, any offset.
    """

    _needed_signs = (-1, 1)
    # The attribute that a warm start goes on from, parameters and all.
    _continued: str | None = None

    @fit_context(prefer_skip_nested_validation=True)
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
        self._finish(*self._rank(X, y, sample_weight))
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_ranking(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model for its ranking alone: in a third of the time, but probabilities are too extreme.

        A `prior` is used without checking whether the data support it.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        self : object
        """
        self._rank(X, y, sample_weight)
        return self

    def _rank(self, X, y, sample_weight):
        """Learn, and choose threshold and probabilities; the rows of the fit as `_fit` took them, and their scores."""
        X, signs, weight = self._read_rows(X, y, sample_weight)
        self._compare_with_last_fit()
        self._fit(X, signs, weight)
        scores = self._score(X)
        self._make_classifier(scores, signs, weight)
        return X, signs, weight, scores

    def _finish(self, X, signs, weight, scores):
        """What `fit` does beyond `fit_ranking`."""
        self._calibrate_out_of_fold(X, signs, weight, scores)

    def _compare_with_last_fit(self):
        """Refuse a warm start with other columns or classes, warn of one with other parameters."""
        if self._continued is None:
            return
        # What a fit sets begins or ends with an underscore. `get_params` takes longer than a fit of few rows.
        own = vars(self).items()
        parameters = {k: v for k, v in own if not (k.startswith("_") or k.endswith("_") or k in _MAY_CHANGE)}
        if not isinstance(self.random_state, numbers.Integral):
            parameters["random_state"] = None
        last = getattr(self, "_last_fit", None) if self.warm_start and hasattr(self, self._continued) else None
        n_columns = self.n_features_in_
        classes = self.classes_.tolist()
        self._last_fit = parameters, n_columns, classes
        if last is None:
            return
        before, last_columns, last_classes = last
        if last_columns != n_columns or last_classes != classes:
            raise ValueError(
                f"warm_start=True continues a fit to {last_columns} columns and the classes {last_classes}, and this "
                f"one has {n_columns} and {classes}: set warm_start=False to start again"
            )
        changed = [f"{name} from {before[name]!r} to {v!r}" for name, v in parameters.items() if before[name] != v]
        if changed:
            warnings.warn(
                f"warm_start=True continues the last fit, which had other parameters: {', '.join(changed)}. What it "
                "learned with them stays; set warm_start=False to start again",
                stacklevel=caller_level(),
            )

    def _calibrate_out_of_fold(self, X, signs, weight, scores=None):
        """Replace the slope of the log-odds by one from scores of models that were not fitted to the rows."""
        labeled = _labeled(signs, weight)
        if np.count_nonzero(labeled) > MOST_OUT_OF_FOLD:
            return
        decision = (self._score(X) if scores is None else scores) + self.offset_
        out_of_fold = np.zeros(len(signs))
        decisions = np.zeros(len(signs))
        try:
            for test, scores_of_fold in self._scores_of_folds(X, signs, weight, decision):
                known = labeled & ~test
                decisions[labeled] = scores_of_fold[labeled]
                known_weight = None if weight is None else weight[known]
                decisions += calibrate(decisions[known], signs[known] > 0, known_weight).offset
                # A model of fewer rows may have scores on another scale.
                spread = _mean_size(decisions[known], weight, known)
                full = _mean_size(decision[known], weight, known)
                # Otherwise the model has learned nothing, and its decision is 0.
                if spread > 1e-9 * full:
                    out_of_fold[test] = full / spread * decisions[test]
        except LabelError:  # too few labels for what the model does with them
            return
        weight = None if weight is None else weight[labeled]
        slope = out_of_fold_slope(out_of_fold[labeled], signs[labeled] > 0, weight)
        self.calibration_[0] = max(slope, _LEAST_SLOPE * self.calibration_[0])

    def _scores_of_folds(self, X, signs, weight, decision):
        """Yield the rows of each fold, and the scores of all labeled rows by a model that was not fitted to these."""
        labeled = _labeled(signs, weight)
        folds = score_folds(decision, np.where(labeled, signs, 0), _N_FOLDS)
        if folds is None:
            raise LabelError("too few labels for folds")
        for fold in range(_N_FOLDS):
            train = folds != fold
            model = self._ranker_like_this()
            with keep_filters():
                # The fit itself has warned.
                warnings.simplefilter("ignore")
                model._fit(X[train], signs[train], None if weight is None else weight[train])
            scores = np.zeros(len(signs))
            scores[labeled] = model._score(X[labeled])
            yield ~train, scores

    def _ranker_like_this(self):
        """A model with the same parameters, ready for `_fit`."""
        model = clone(self)
        for name, value in _QUIET.items():
            if name in vars(model):
                setattr(model, name, value)
        model.classes_ = self.classes_
        model.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Score of each row: positive where `predict` gives ``classes_[1]``; higher means more confident.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        decision = self._score(self._validate(X, reset=False)) + self.offset_
        return -decision if self._positive_is_first else decision

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Class of each row, at the threshold with the best balanced accuracy on the labeled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.classes_at(self.decision_function(X))

    def classes_at(self, decision: np.ndarray) -> np.ndarray:
        """Class of each row, by its decision function: what `predict` returns, if scores are known."""
        return self.classes_[(decision > 0).astype(np.intp)]

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
        return self.probabilities_at(self.decision_function(X))

    def probabilities_at(self, decision: np.ndarray) -> np.ndarray:
        """Probability of each class, by its decision function: what `predict_proba` returns, if scores are known."""
        slope, intercept = self.calibration_
        margin = slope * decision + (-intercept if self._positive_is_first else intercept)
        return np.column_stack([expit(-margin), expit(margin)])

    @property
    def _positive_is_first(self):
        """Whether the positive class is ``classes_[0]``, as "fraud" is beside "not fraud"."""
        return getattr(self, "positive_", 1) == 0

    def __sklearn_is_fitted__(self):
        """Whether the last fit was completed: `calibration_` is set last."""
        return hasattr(self, "calibration_")

    def _read_labels(self, y):
        """Classes, and the sign of each row: +1, -1, or 0 if unlabeled."""
        return read_binary(y)

    def _needed_rows(self):
        negative, positive = self.classes_.tolist()[:: -1 if self._positive_is_first else 1]
        names = {-1: f"labeled row of class {negative!r}", 0: "unlabeled row", 1: f"labeled row of class {positive!r}"}
        return {sign: names[sign] for sign in self._needed_signs}

    def _make_classifier(self, scores, signs, weight):
        """Set `offset_` (so that 0 is the threshold) and `calibration_` (slope and intercept of the log-odds)."""
        labeled = _labeled(signs, weight)
        weight = None if weight is None else weight[labeled]
        self.offset_, self.calibration_ = calibrate(scores[labeled], signs[labeled] > 0, weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _labeled(signs, weight):
    """The labeled rows that count."""
    return signs != 0 if weight is None else (signs != 0) & (weight > 0)


def _mean_size(values, weight, rows):
    """Mean absolute value of these rows, summed in ascending order: that of the rows does not matter."""
    sizes = np.abs(values)
    if weight is None:
        return np.sort(sizes).mean()
    order = np.lexsort((weight[rows], sizes))
    return np.average(sizes[order], weights=weight[rows][order])


class TakesWhatItsBaseTakes(ValidatesByTags):
    """Mixin of estimators around another one: they accept sparse rows and missing values if it does.

    A subclass gives `_base`, the estimator that it will clone.
    """

    def _require_weights_are_taken(self):
        if not has_fit_parameter(self._base(), "sample_weight"):
            raise ValueError(f"{self._base()!r} does not take sample_weight: fit without it, or use another estimator")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        base = get_tags(self._base()).input_tags
        tags.input_tags.sparse = base.sparse
        tags.input_tags.allow_nan = base.allow_nan
        return tags


def set_random_states(estimator, rng):
    """Draw every `random_state` of an estimator, at any depth, as scikit-learn's ensembles do."""
    # Sorted, so that the order of the parameters does not choose their seeds.
    names = sorted(estimator.get_params(deep=True))
    seeded = [name for name in names if name.split("__")[-1] == "random_state"]
    estimator.set_params(**{name: rng.randint(np.iinfo(np.int32).max) for name in seeded})


def check_weights(sample_weight, X):
    """The weights of the rows as an array; an error if one is negative, or there is not one per row."""
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(X.shape[0], sample_weight)
    weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight")
    if weight.shape != (X.shape[0],):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(X.shape[0],)}: one number per row")
    if not weight.any():
        raise ValueError("every sample_weight is zero: give at least one row a weight above zero")
    return check_non_negative("sample_weight", weight)
