"""FittedModel: a formula of scores, and what turns scores into classes and probabilities."""

from dataclasses import field, replace
from typing import Annotated, Any

import numpy as np

from fewlabel.parts.explanations import Explanation, additive_steps, explain_by_sampling, explain_steps
from fewlabel.parts.part import Encoder, Finite, Flags, Floats, Formula, Ints, Json, Part, SingleTable, Table, Texts
from fewlabel.text import short
from fewlabel.thread_limits import one_thread

# Rows that are scored together; matrix products of other sizes may differ in the last bit.
BLOCK = 4096
_CLASS_TYPES = {
    "object": object,
    "str": np.str_,
    "bool": np.bool_,
    "int": np.int64,
    "float": np.float64,
}


class Sigmoids(Part):
    r"""Probabilities by one sigmoid per output.

    The decision function is the score plus `offset`, so that 0 is the threshold, and the log-odds are
    :math:`a \cdot decision + b`. With several outputs the probabilities are divided by their sum.

    Attributes
    ----------
    offset, slope, intercept : ndarray of shape (n_outputs,)
    """

    kind = "sigmoids"
    offset: Annotated[Floats, "n_inputs"]
    slope: Annotated[Floats, "n_inputs"]
    intercept: Annotated[Floats, "n_inputs"]

    def check(self):
        self.require(self.n_inputs > 0, "it has no outputs")

    def decisions(self, scores):
        """Decision function of each output; with several, the logarithm of the probability of each class."""
        decision = scores + self.offset
        if self.n_inputs == 1:
            return decision
        probability = expit(self.slope * decision + self.intercept)
        return np.log(probability / np.sum(probability, axis=1, keepdims=True))

    def probabilities(self, decision):
        """Probability of each class, by the decision function: of two classes the second is the positive one."""
        if self.n_inputs > 1:
            return np.exp(decision)
        margin = self.slope * decision + self.intercept
        return np.hstack([expit(-margin), expit(margin)])


class _ScorePerClass(Part):
    """What the links of one score per class share; these are the decision function."""

    def check(self):
        self.require(self.n_inputs > 1, "it is for two classes or more")

    def decisions(self, scores):
        """The scores."""
        return scores


class Softmax(_ScorePerClass):
    """Probabilities by the softmax of scores, one per class.

    Attributes
    ----------
    slope : float
        The scores are multiplied by it.
    n_inputs : int
        Number of classes.
    """

    kind = "softmax"
    slope: float
    n_inputs: int

    def probabilities(self, decision):
        """Probability of each class."""
        scaled = self.slope * decision
        scaled = np.exp(scaled - np.max(scaled, axis=1, keepdims=True))
        return scaled / np.sum(scaled, axis=1, keepdims=True)


class Shares(_ScorePerClass):
    """Scores that are probabilities already, one per class.

    Attributes
    ----------
    n_inputs : int
        Number of classes.
    """

    kind = "shares"
    n_inputs: int

    def probabilities(self, decision):
        """Probability of each class."""
        return decision


class Classes(Part):
    """The classes, in their order.

    Attributes
    ----------
    names : list of str, int, float or bool
    type : {"object", "str", "bool", "int", "float"}
        Type of the array of classes.
    """

    kind = "classes"
    names: Json
    type: str

    @classmethod
    def of(cls, classes):
        """The classes of an array."""
        classes = np.asarray(classes)
        kinds = {"O": "object", "U": "str", "b": "bool", "i": "int", "u": "int", "f": "float"}
        return cls(classes.tolist(), kinds[classes.dtype.kind])

    def check(self):
        self.require(self.type in _CLASS_TYPES, f"its type is {self.type!r}")
        self.require(isinstance(self.names, list) and len(self.names) > 1, "there are fewer than two")
        for name in self.names:
            self.require(isinstance(name, (str, int, float)), f"a {type(name).__name__} is not a class")
        # NumPy refuses names that are not of the type.
        self.array()

    def array(self):
        """The classes as an array."""
        return np.array(self.names, dtype=_CLASS_TYPES[self.type])


class Baseline(Part):
    """Rows of the fit that new rows are compared with; two classes only.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        Decision function of labeled rows by models that were not fitted to them; higher for the positive class.
    positive : ndarray of bool of shape (n_rows,)
        Whether each of them is positive.
    features : ndarray of shape (n_rows, n_columns)
        Encoded, with 32 bits; NaN where a value is missing.
    weight : ndarray of shape (n_rows,) or None
        How much each of them counts in estimates at fit.
    population : ndarray of shape (n_population,)
        Decision function of rows that the model was fitted for: of the unlabeled ones, if there were any.
    """

    kind = "baseline"
    scores: Annotated[Floats, "n_rows", Finite]
    positive: Annotated[Flags, "n_rows"]
    features: Annotated[SingleTable, "n_rows n_columns"]
    population: Annotated[Floats, "n_population", Finite]
    weight: Annotated[Floats, "n_rows"] | None = None


class Evidence(Part):
    """What is known of the rows of the fit.

    Attributes
    ----------
    out_of_fold : ndarray of shape (n_tested, n_outputs)
        Decision function of rows by models that were not fitted to them.
    labeled_rows : ndarray of int of shape (n_tested,)
        Positions of these rows in the table of the fit.
    weight : ndarray of shape (n_tested,) or None
        How much each of them counts in estimates.
    reference : ndarray of shape (n_reference, n_columns) or None
        Encoded rows of the fit that `explain` compares others with.
    baseline : Baseline or None
        What :mod:`fewlabel.monitor` compares new rows with.
    """

    kind = "evidence"
    out_of_fold: Annotated[Table, "n_tested n_outputs"] | None = None
    labeled_rows: Annotated[Ints, "n_tested"] | None = None
    weight: Annotated[Floats, "n_tested"] | None = None
    reference: Table | None = None
    baseline: Baseline | None = None

    def check(self):
        self.require(self.labeled_rows is None or self.out_of_fold is not None, "rows without scores")
        self.require(self.weight is None or self.labeled_rows is not None, "weights without rows")


class FittedModel(Part):
    """A fitted classifier as data: what predicts is what is saved.

    Attributes
    ----------
    score : Formula
        Numbers to one score (two classes: higher means more likely positive) or one per class.
    link : Sigmoids, Softmax or Shares
        Scores to decision function and probabilities.
    classes : Classes
        Sorted.
    positive : int or None
        Position of the positive class; None with three classes or more.
    encoder : Encoder or None
        Table to numbers; None if the input is the numbers.
    names : list of str or None
        Names of the input columns, if they had any.
    evidence : Evidence
    threshold : float or None
        Rows whose score for the positive class is above it are positive, in place of 0.
    target : str
        Name of the label column.
    prior : float or None
        Share of positives that the model was fitted for.
    about : dict
        JSON for people: leaderboard, headline, profile, parameters, the rule of the threshold.
    """

    kind = "model"
    score: Formula
    link: Sigmoids | Softmax | Shares
    classes: Classes
    positive: int | None
    encoder: Encoder | None = None
    names: Texts | None = None
    evidence: Evidence = field(default_factory=Evidence)
    threshold: float | None = None
    target: str = "label"
    prior: float | None = None
    about: Json = field(default_factory=dict)

    def check(self):
        n_classes = len(self.classes.names)
        n_outputs = self.score.n_outputs
        self.require(n_outputs == self.link.n_inputs, "the scores do not fit their probabilities")
        self.require(n_outputs == n_classes or (n_outputs == 1 and n_classes == 2), "the scores do not fit the classes")
        self.require(self.positive in (0, 1) if n_outputs == 1 else True, "the positive class is neither 0 nor 1")
        self.require(self.positive is None or 0 <= self.positive < n_classes, "the positive class is not a class")
        if self.encoder is not None:
            self.require(self.encoder.n_outputs == self.score.n_inputs, "the encoder does not fit the scores")
        elif self.names is not None:
            self.require(len(self.names) == self.score.n_inputs, "there is not one name per column")
        if self.evidence.baseline is not None:
            fits = self.evidence.baseline.n_columns == self.score.n_inputs
            self.require(n_outputs == 1, "a baseline is for two classes")
            self.require(fits, "the baseline does not fit the scores")
        self.require(isinstance(self.about, dict), "about is not a JSON object")

    @property
    def classes_(self) -> np.ndarray:
        return self.classes.array()

    @property
    def positive_(self) -> int | None:
        return self.positive

    @property
    def _sign(self):
        """Of the decision function, which is for the second class, against scores, which are for the positive one."""
        return -1 if self.positive == 0 else 1

    @property
    def feature_names_in_(self) -> np.ndarray:
        names = self.names if self.encoder is None else self.encoder.names
        if names is None:
            raise AttributeError("the model was fitted to a table without names")
        return np.array(names, dtype=object)

    @property
    def n_features_in_(self) -> int:
        return self.score.n_inputs if self.encoder is None else len(self.encoder.names)

    @property
    def headline_(self) -> dict[str, Any]:
        """What to expect; NaN where the labels cannot tell."""
        headline = dict(self.about["headline"])
        for name in ("score", "low", "high"):
            if headline[name] is None:
                headline[name] = float("nan")
        return headline

    @property
    def leaderboard_(self) -> Any:
        """The methods that were compared, as a DataFrame."""
        import pandas as pd

        board = pd.DataFrame(self.about["leaderboard"])
        empty = [name for name in board if board[name].isna().all()]
        return board.astype(dict.fromkeys(empty, float))

    def without_times(self) -> "FittedModel":
        """The same model without the seconds that its methods took: they differ from fit to fit."""
        board = self.about.get("leaderboard")
        if not isinstance(board, list):
            return self
        untimed = [{**row, "fit_seconds": None} for row in board]
        return replace(self, about={**self.about, "leaderboard": untimed})

    def features(self, X: Any) -> np.ndarray:
        """The numbers of each row."""
        if self.encoder is not None:
            return self.encoder(X)
        if self.names is not None and list(getattr(X, "columns", self.names)) != self.names:
            raise ValueError(f"the columns are not those of the fit, in their order: {short(', '.join(self.names))}")
        features = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if np.isinf(features).any():
            raise ValueError("a number is infinite: replace it, or use NaN for a missing value")
        return features

    def scores_of(self, features: np.ndarray) -> np.ndarray:
        """Score of each encoded row, one column per output, before the offset; in blocks, each with one thread."""
        starts = range(0, max(len(features), 1), BLOCK)
        # Sums then have one order.
        with one_thread():
            blocks = [self.score(features[start : start + BLOCK]) for start in starts]
        return np.vstack(blocks)

    def decision_of(self, features: np.ndarray) -> np.ndarray:
        """As `decision_function`, of encoded rows."""
        decision = self.link.decisions(self.scores_of(features))
        return decision if decision.shape[1] > 1 else self._sign * decision[:, 0]

    def decision_function(self, X: Any) -> np.ndarray:
        """Score of each row; higher means more confident.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes positive where `predict` gives ``classes_[1]``. With more, the logarithm of the probability
            of each class.
        """
        return self.decision_of(self.features(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self.probabilities_at(self.decision_function(X))

    def probabilities_at(self, decision: np.ndarray) -> np.ndarray:
        """Probability of each class, by the decision function: what `predict_proba` returns, if scores are known."""
        if decision.ndim == 2:
            return self.link.probabilities(decision)
        return self.link.probabilities(self._sign * decision[:, None])[:, :: self._sign]

    def predict(self, X: Any) -> np.ndarray:
        """Class of each row.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.classes_at(self.decision_function(X))

    def classes_at(self, decision: np.ndarray) -> np.ndarray:
        """Class of each row, by its decision function: what `predict` returns, if scores are known."""
        return self.classes_[self.codes_at(decision)]

    def codes_at(self, decision: np.ndarray) -> np.ndarray:
        """Position of each row's class in `classes_`, by its decision function."""
        if decision.ndim == 2:
            codes = decision.argmax(axis=1)
        elif self.threshold is None:
            codes = decision > 0
        else:
            codes = (self._sign * decision > self.threshold) == self.positive
        return codes.astype(np.intp)

    def positive_proba(self, X: Any) -> np.ndarray:
        """Probability of the positive class.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._require_positive()
        return self.predict_proba(X)[:, self.positive]

    def rank(self, X: Any) -> np.ndarray:
        """Positions of the rows, the most likely of the positive class first.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of int of shape (n_samples,)
        """
        self._require_positive()
        towards = self.scores_towards(self.features(X))
        if towards.ndim == 2:
            towards = towards[:, self.positive]
        return np.argsort(-towards, kind="stable")

    def _require_positive(self):
        if self.positive is None:
            raise ValueError(f"there are {len(self.classes_)} classes and none is the positive one: use predict_proba")

    def explain(self, X: Any, *, max_rounds: int = 32, tol: float = 0.3) -> Explanation:
        """What each column adds to the score of each row.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_columns)
        max_rounds : int, default=32
            Rounds of sampling, unless the model is a sum of step functions; see `TableClassifier.explain`.
        tol : float, default=0.3

        Returns
        -------
        Explanation
        """
        return self.explain_features(self.features(X), max_rounds=max_rounds, tol=tol)

    def explain_features(self, features: np.ndarray, *, max_rounds: int = 32, tol: float = 0.3) -> Explanation:
        """As `explain`, of encoded rows."""
        references = self.evidence.reference
        groups = self._groups()
        additive = additive_steps(self.score)
        if additive is not None:
            return explain_steps(*additive, groups, features, references)
        if references is None:
            raise ValueError("the model has no rows to compare others with: fit it with a TableClassifier")
        return explain_by_sampling(self.scores_towards, groups, features, references, max_rounds=max_rounds, tol=tol)

    def scores_towards(self, features: np.ndarray) -> np.ndarray:
        """Score of each encoded row, higher for the positive class; with three classes or more, one per class."""
        decision = self.decision_of(features)
        return decision if decision.ndim == 2 else self._sign * decision

    def _groups(self):
        if self.encoder is not None:
            return self.encoder.groups
        names = self.names or [f"x{k}" for k in range(self.score.n_inputs)]
        return {name: np.array([k]) for k, name in enumerate(names)}

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        inputs = InputTags(allow_nan=True, string=self.encoder is not None)
        return Tags("classifier", TargetTags(required=True), None, ClassifierTags(), None, input_tags=inputs)

    def __sklearn_is_fitted__(self):
        return True


def expit(x):
    """The logistic function."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)
