"""TableClassifier: an encoder of tables and a classifier."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from fewlabel import labels
from fewlabel.auto import AutoClassifier, check_counts
from fewlabel.base import HasMethods, RankingClassifier, check_weights, fit_context, parametrized
from fewlabel.parts import Classes, Columns, FittedModel, ranking_model
from fewlabel.parts.explanations import Explanation, explain_by_sampling, reference_rows
from fewlabel.population import Selection
from fewlabel.rows import Rows
from fewlabel.tables.encoder import SpecialValues, TableEncoder, as_frame
from fewlabel.tables.kinds import as_moments
from fewlabel.tables.leaks import find_leaks
from fewlabel.types import Seed

Callback = Callable[[int, int, str], None]
_NO_LEAKS = "without suspected leaks"  # how the progress calls the steps of the second fit


def _if_estimator_has(name: str) -> Any:
    return available_if(lambda self: hasattr(getattr(self, "estimator_", None) or self._estimator(), name))


@parametrized
class TableClassifier(ClassifierMixin, BaseEstimator):
    """Classifier for tables with text, dates, categories, booleans and missing values.

    A `TableEncoder` turns the table into numbers, and any classifier learns from them.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier of the encoded table: floats, NaN where a value is missing. None stands for
        ``AutoClassifier(random_state=random_state)``.
    positive : str, int or bool, default=None
        The class to find; with more than two classes, the others become one. By default the last in sorted order.
    dayfirst : bool, default=None
        Whether 03/04/2024 is the third of April or March the fourth, see `TableEncoder`.
    special_values : list, or dict of str to list, default=None
        Values in columns of numbers that stand for something else, such as ``[-999, "unknown"]``, see `TableEncoder`.
        In a scorecard each has a row of its own, and no direction of `monotone` applies to it.
    random_state : int, RandomState instance or None, default=None
        Seed of the encoder and of the default estimator.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    positive_ : int or None
        Position of the positive class in `classes_`; None with more than two classes.
    encoder_ : TableEncoder
        The fitted encoder. Its `columns_` and `dropped_` say how the table was read.
    estimator_ : estimator
        The fitted classifier. It knows the classes as 0, 1, ...; with two classes, 1 is the positive one.
    profile_ : dict
        What each column looked like, see :func:`fewlabel.tables.compare`.
    leaks_ : dict
        Columns that are suspected to leak the label, each with the reason: they separate the classes by themselves, see
        :func:`fewlabel.tables.suspected_leaks`, or are filled for labeled rows only.
    without_leaks_ : dict or None
        `score`, `low` and `high` of the same methods without these columns, with an `AutoClassifier`; None if there are
        no such columns, or no others.
    target_ : str
        Name of the label column, "label" if it had none.
    model_ : FittedModel or None
        The encoder and the classifier as data: formulas of numbers, texts and arrays. It is what
        :func:`fewlabel.save` writes, and all predictions are its own. None if the estimator is neither an
        `AutoClassifier` nor a ranker of two classes of this library.
    reference_ : ndarray or None
        Encoded rows of the fit that `explain` compares others with.
    threshold_ : dict or None
        The threshold that `set_threshold` set: its `score` and `rule`. None if `predict` follows the estimator.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Their names, if `X` had any.

    See Also
    --------
    fewlabel.AutoClassifier : The default estimator.
    fewlabel.TableEncoder : The encoder.

    Notes
    -----
    As in scikit-learn, positive values of `decision_function` favor ``classes_[1]``, unless `set_threshold` moved the
    threshold of `predict`. The probability of the positive
    class is ``predict_proba(X)[:, positive_]``, and :func:`fewlabel.tables.score_table` gives its score.

    References
    ----------
    .. [1] Caruana, Niculescu-Mizil, Crew, Ksikes. Ensemble selection from libraries of models. ICML, 2004. The
       default estimator.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabel import AutoClassifier, TableClassifier
    >>> rows = pd.DataFrame({"city": list("aabb") * 10, "row": range(40), "age": [1.5, None] * 20})
    >>> y = pd.Series(["no", "no", "yes", None] * 10, name="bought")
    >>> model = TableClassifier(AutoClassifier("small", random_state=0)).fit(rows, y)
    >>> model.encoder_.columns_
    {'city': 'text', 'age': 'number'}
    >>> model.encoder_.dropped_
    {'row': 'looks like an identifier'}
    >>> model.predict(rows[["age", "city"]][:3])  # in any order
    array(['no', 'no', 'yes'], dtype=object)
    """

    __metadata_request__fit = {"callback": UNUSED}
    estimator: Annotated[Any, HasMethods(["fit", "predict"]), None] = None
    _: KW_ONLY
    positive: object = None
    dayfirst: bool | None = None
    special_values: SpecialValues = None
    random_state: Seed = None

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        time: Any = None,
        *,
        label_probability: Any = None,
        callback: Callback | None = None,
    ) -> "TableClassifier":
        """Fit the encoder and the classifier.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` if it is unlabeled.
        sample_weight, groups, time : array-like of shape (n_samples,), default=None
            Weights of the rows, the patient, customer or device of each, and when it was recorded, for an
            `AutoClassifier`, see :meth:`fewlabel.AutoClassifier.fit`. Dates can be written as in a column of `X`. Of
            another estimator `fit` is given the weights only.
        label_probability : array-like of shape (n_samples,), default=None
            The probability with which each row was chosen to be labeled, if it is known, for an `AutoClassifier`.
        callback : callable, default=None
            Progress of an `AutoClassifier`: ``callback(done, total, name)`` is called after each step. If columns are
            suspected to leak the label, the chosen methods are fitted a second time without them; `done` then starts
            again, and each `name` says so.

        Returns
        -------
        self : object
        """
        table = self.encode(
            X, y, sample_weight=sample_weight, groups=groups, time=time, label_probability=label_probability
        )
        return self.fit_encoded(table, callback=callback)

    def encode(
        self,
        X: Any,
        y: Any,
        *,
        target: str | None = None,
        sample_weight: Any = None,
        groups: Any = None,
        time: Any = None,
        label_probability: Any = None,
    ) -> Rows:
        """Read the labels and fit the encoder: the first half of `fit`.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
        y : array-like of shape (n_samples,) or Labels
            As in `fit`, or labels that were read before.
        target : str, default=None
            Name of the label column, by default that of `y`.
        sample_weight, groups, time, label_probability : array-like of shape (n_samples,), default=None
            As in `fit`.

        Returns
        -------
        Rows
            `X` holds the encoded table; with two classes, the positive one has code 1.
        """
        labels.require_y(y, self)
        read = labels.read_positive(y, self.positive)
        encoder = TableEncoder(
            dayfirst=self.dayfirst, special_values=self.special_values, random_state=self.random_state
        )
        # The user may have set another output.
        features = np.asarray(encoder.fit_transform(X))
        check_consistent_length(features, read.codes)
        self.encoder_ = encoder
        self.leaks_ = dict(find_leaks(as_frame(X), features, read.codes, encoder.sources_))
        self.target_ = str(target or getattr(y, "name", None) or "label")
        self.without_leaks_: dict[str, float] | None = None
        self.classes_, positions = labels.sorted_classes(read.classes)
        self.positive_ = int(positions[1]) if len(positions) == 2 else None
        weight = None if sample_weight is None else check_weights(sample_weight, features)
        if time is not None:
            time = as_moments(time, dayfirst=self.dayfirst)
        if label_probability is not None:
            label_probability = np.asarray(label_probability, dtype=float)
        return Rows.read(features, read, groups=groups, time=time, weight=weight, label_probability=label_probability)

    def fit_encoded(self, rows: Rows, *, callback: Callback | None = None) -> "TableClassifier":
        """Fit the classifier to an encoded table: the second half of `fit`.

        Parameters
        ----------
        rows : Rows
            What `encode` returned.
        callback : callable, default=None
            As in `fit`.

        Returns
        -------
        self : object
        """
        self.estimator_ = self._estimator()
        self._set_directions(self.estimator_, np.arange(rows.X.shape[1]))
        self.threshold_: dict[str, Any] | None = None
        self.reference_: np.ndarray | None = reference_rows(rows.X)
        if isinstance(self.estimator_, AutoClassifier):
            # Here, where the classes have their names.
            check_counts(rows.classes, rows.codes)
            self._fit_auto(self.estimator_, rows.X, rows, callback)
            # A second fit, of the chosen methods alone: what to expect where suspected leaks are not known yet.
            self.without_leaks_ = self._score_without_leaks(rows, callback)
        else:
            self._fit_other(rows)
        self.model_ = self._as_data()
        return self

    def _fit_other(self, rows: Rows) -> None:
        """Fit an estimator that is no AutoClassifier."""
        if rows.groups is not None or rows.time is not None:
            raise ValueError("groups and time are for an AutoClassifier, which validates itself: leave them out")
        y = rows.codes
        if len(rows.unlabeled):
            y = pd.Series(y, dtype="Int64").mask(y < 0)
        weighted = {} if rows.weight is None else {"sample_weight": rows.weight}
        self.estimator_.fit(rows.X, y, **weighted)

    def _score_without_leaks(self, rows: Rows, callback: Callback | None) -> dict[str, float] | None:
        """The estimate for rows in which suspected leaks are not known."""
        # The same members, so that the difference is that of the columns.
        kept = [k for k, source in enumerate(self.encoder_.sources_) if source not in self.leaks_]
        if not self.leaks_ or not kept:
            return None
        other = same_methods(self.estimator_)
        tell = None if callback is None else lambda done, total, name: callback(done, total, f"{_NO_LEAKS}: {name}")
        self._set_directions(other, np.array(kept))
        self._fit_auto(other, rows.X[:, kept], rows, tell)
        return other.headline_

    def _set_directions(self, estimator, kept: np.ndarray) -> None:
        """Tell the estimator what is given by columns by the positions of their features, of which some are kept."""
        given = self._estimator()
        because = getattr(given, "labeled_because", None)
        if because is not None:
            self._require_columns(because, "labeled_because")
            sources = np.array(self.encoder_.sources_, dtype=object)[kept]
            estimator.set_params(labeled_because=np.flatnonzero(np.isin(sources, list(because))).tolist() or None)
        monotone = getattr(given, "monotone", None)
        if not isinstance(monotone, Mapping):
            return
        self._require_columns(monotone, "monotone")
        for column in monotone:
            kind = self.encoder_.columns_[column]
            if column not in self.encoder_.features_:
                raise ValueError(f"monotone: column {column!r} holds {kind}; only a column of numbers has a direction")
        features = [self.encoder_.features_[k] for k in kept]
        # A suspected leak is left out of the second fit.
        places = {features.index(column): direction for column, direction in monotone.items() if column in features}
        estimator.set_params(monotone=places)

    def _require_columns(self, names: Iterable[str], parameter: str) -> None:
        for name in names:
            if name not in self.encoder_.columns_:
                raise ValueError(f"{parameter}: the table has no column {name!r}")

    @staticmethod
    def _fit_auto(auto: AutoClassifier, features: np.ndarray, rows: Rows, callback: Callback | None = None) -> None:
        auto.fit(
            features,
            _numbered(rows.codes),
            rows.weight,
            rows.groups,
            rows.time,
            label_probability=rows.label_probability,
            callback=callback,
        )

    @property
    def selection_(self) -> Selection:
        """How labeled and unlabeled rows differ, with an `AutoClassifier`."""
        names = {f"x{k}": name for k, name in enumerate(self.encoder_.features_)}
        return self.estimator_.selection_.renamed(names)

    def _as_data(self) -> FittedModel | None:
        """The encoder and the classifier as one model."""
        inner = _model_of_numbers(self.estimator_)
        if inner is None:
            return None
        # What a report on the loaded model says, beside what the estimator itself knows.
        about: dict[str, Any] = {"leaks": self.leaks_, "without_leaks": self.without_leaks_}
        if isinstance(self.estimator_, AutoClassifier):
            about["interpretable"] = self.estimator_.interpretable
            about["stated_prior"] = self.estimator_.prior
        return replace(
            inner,
            classes=Classes.of(self.classes_),
            positive=self.positive_,
            encoder=self.encoder_.part_,
            names=None,
            evidence=replace(inner.evidence, reference=self.reference_),
            target=self.target_,
            about={**inner.about, **about},
        )

    def set_threshold(self, score: float, rule: str = "chosen by hand") -> "TableClassifier":
        """Set the threshold of `predict`, see :func:`fewlabel.tables.choose_threshold` and :mod:`fewlabel.decisions`.

        Parameters
        ----------
        score : float
            Rows with a higher score are positive; the score of :func:`fewlabel.tables.score_table`.
        rule : str, default="chosen by hand"
            How it was chosen, for the reader.

        Returns
        -------
        self : object
        """
        check_is_fitted(self, "estimator_")
        if self.positive_ is None:
            raise ValueError(
                f"a threshold is for two classes, and there are {len(self.classes_)}: fit with positive=..."
            )
        self.threshold_ = {"score": float(score), "rule": rule}
        if self.model_ is not None:
            self.model_ = replace(self.model_, threshold=float(score), about={**self.model_.about, "rule": rule})
        return self

    def explain(self, X: Any, *, max_rounds: int = 32, tol: float = 0.3) -> Explanation:
        """What each column adds to the score of each row.

        Exact for a stump booster, and for an `AutoClassifier` with a stump booster as its only member: the values of
        its step functions, less their means over up to 50 reference rows of the fit; with `base` they sum to the
        booster's score. For every other model these are Shapley values by sampling [1]_ [2]_: the mean change of the
        score when the column's value replaces that of a reference row, over random orders of the columns. A round costs
        two scorings per row and column that differs from the reference row. What is said of a row does not depend on
        the other rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
        max_rounds : int, default=32
            Rounds of sampling; a `ConvergenceWarning` says if they are too few.
        tol : float, default=0.3
            Sampling ends for a row when its standard errors are this share of its contributions (root mean squares).

        Returns
        -------
        Explanation
            Contributions in the columns of the table; higher means more likely of the positive class or, with more than
            two classes, of the predicted class.

        References
        ----------
        .. [1] E. Strumbelj, I. Kononenko. An efficient explanation of individual classifications using game theory.
           Journal of Machine Learning Research 11, 2010. Sampling of orders.
        .. [2] D. Janzing, L. Minorics, P. Bloebaum. Feature relevance quantification in explainable AI: a causal
           problem. AISTATS, 2020. Why values of a reference row replace those of the row, whatever its other columns.
        """
        features = self._features(X)
        if self.model_ is not None:
            return self.model_.explain_features(features, max_rounds=max_rounds, tol=tol)
        if self.reference_ is None or not hasattr(self.estimator_, "decision_function"):
            raise ValueError(
                f"{type(self.estimator_).__name__} cannot be explained: expected an estimator with a "
                "decision_function, fitted by TableClassifier.fit"
            )
        decide = self.estimator_.decision_function
        groups = self.encoder_.part_.groups
        return explain_by_sampling(decide, groups, features, self.reference_, max_rounds=max_rounds, tol=tol)

    @_if_estimator_has("decision_function")
    def decision_function(self, X: Any) -> np.ndarray:
        """Score of each row; with two classes, positive values favor ``classes_[1]``.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Columns in any order; further ones are ignored.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        features = self._features(X)
        if self.model_ is not None:
            return self.model_.decision_of(features)
        score = self.estimator_.decision_function(features)
        return -score if self.positive_ == 0 else score

    @_if_estimator_has("predict_proba")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        features = self._features(X)
        if self.model_ is not None:
            return self.model_.probabilities_at(self.model_.decision_of(features))
        probability = self.estimator_.predict_proba(features)
        return probability[:, ::-1] if self.positive_ == 0 else probability

    @_if_estimator_has("predict_proba")
    def positive_proba(self, X: Any) -> np.ndarray:
        """Probability of the positive class, ``classes_[positive_]``.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._require_positive()
        return self.predict_proba(X)[:, self.positive_]

    @_if_estimator_has("decision_function")
    def rank(self, X: Any) -> np.ndarray:
        """Positions of the rows, the most likely of the positive class first.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of int of shape (n_samples,)
        """
        self._require_positive()
        decision = self.decision_function(X)
        return np.argsort(decision if self.positive_ == 0 else -decision, kind="stable")

    def _require_positive(self) -> None:
        check_is_fitted(self, "estimator_")
        if self.positive_ is None:
            raise ValueError(
                f"there are {len(self.classes_)} classes and none is the positive one: fit with positive=..., or use "
                "predict_proba"
            )

    def predict(self, X: Any) -> np.ndarray:
        """Class of each row.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        features = self._features(X)
        if self.model_ is not None:
            return self.model_.classes_at(self.model_.decision_of(features))
        if self.threshold_ is None:
            return self.names_of(self.estimator_.predict(features))
        return self.names_of(self.estimator_.decision_function(features) > self.threshold_["score"])

    def names_of(self, codes: Any) -> np.ndarray:
        """Classes by the numbers under which `estimator_` knows them.

        Parameters
        ----------
        codes : array-like of int

        Returns
        -------
        ndarray
        """
        classes = self.classes_[::-1] if self.positive_ == 0 else self.classes_
        return classes[np.asarray(codes).astype(np.intp)]

    @property
    def profile_(self) -> dict[str, dict[str, Any]]:
        return self.encoder_.profile_

    @property
    def n_features_in_(self) -> int:
        return self.encoder_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        return self.encoder_.feature_names_in_

    def _features(self, X) -> np.ndarray:
        check_is_fitted(self, "estimator_")
        return np.asarray(self.encoder_.transform(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._estimator())
        tags.classifier_tags.multi_class = inner.classifier_tags is None or inner.classifier_tags.multi_class
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _estimator(self) -> Any:
        return AutoClassifier(random_state=self.random_state) if self.estimator is None else clone(self.estimator)


def same_methods(estimator: Any) -> Any:
    """An unfitted estimator with the methods of a fitted one: of an `AutoClassifier` those that it has chosen.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fewlabel.tables.classifier import same_methods
    >>> same_methods(LogisticRegression(C=2.0).fit([[0], [1]], [0, 1]))
    LogisticRegression(C=2.0)
    """
    again = clone(estimator)
    if isinstance(estimator, AutoClassifier):
        again.set_params(portfolio=list(estimator.ensemble_weights_), time_budget=None)
    return again


def _numbered(codes: np.ndarray) -> labels.Labels:
    """Labels whose classes are their codes: the table's own were read before."""
    present = np.unique(codes[codes >= 0])
    return labels.Labels(present, np.where(codes < 0, -1, np.searchsorted(present, codes)))


def _model_of_numbers(estimator) -> FittedModel | None:
    """A fitted classifier of numbers as data; None if it has no formula."""
    if isinstance(estimator, AutoClassifier):
        return estimator.model_
    return ranking_model(estimator) if isinstance(estimator, RankingClassifier) else None


def table_classifier(model: Any) -> TableClassifier:
    """A model that was saved and loaded, as the classifier that it was.

    Parameters
    ----------
    model : FittedModel or TableClassifier

    Returns
    -------
    TableClassifier

    Raises
    ------
    TypeError
        If the model does not know its columns by name.
    """
    if isinstance(model, TableClassifier):
        return model
    if not isinstance(model, FittedModel) or not isinstance(model.encoder, Columns):
        raise TypeError(
            f"model is a {type(model).__name__}: expected a fitted TableClassifier, or what fewlabel.load read of one"
        )
    n_classes = len(model.classes_)
    # The estimator of a TableClassifier knows the classes by numbers, and 1 is the positive one.
    inner = replace(
        model,
        classes=Classes(list(range(n_classes)), "int"),
        positive=None if model.positive is None else 1,
        encoder=None,
        threshold=None,
    )
    estimator: Any = inner
    about = model.about
    # Only an AutoClassifier has a task; the others are boosters, which a FittedModel can stand for.
    if "task" in about:
        estimator = AutoClassifier(prior=about["stated_prior"], interpretable=about["interpretable"])
        estimator.model_ = inner
        estimator.classes_ = inner.classes_
        estimator.positive_ = inner.positive
        estimator.n_features_in_ = inner.n_features_in_
    positive = None if model.positive is None else model.classes_.tolist()[model.positive]
    table = TableClassifier(estimator, positive=positive)
    encoder = TableEncoder()
    encoder.part_ = model.encoder
    table.encoder_ = encoder
    table.estimator_ = estimator
    table.model_ = model
    table.classes_ = model.classes_
    table.positive_ = model.positive
    table.target_ = model.target
    table.leaks_ = about.get("leaks", {})
    table.without_leaks_ = about.get("without_leaks")
    table.reference_ = model.evidence.reference
    table.threshold_ = (
        None if model.threshold is None else {"score": model.threshold, "rule": about.get("rule", "chosen by hand")}
    )
    return table
