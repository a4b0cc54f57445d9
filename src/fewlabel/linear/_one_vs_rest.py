"""Rankers of two classes for many: one against the rest."""

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import HasMethods, LabeledClassifier, ScoresClasses, TakesWhatItsBaseTakes, fit_context, parametrized
from fewlabel.linear._auc_path import LinearAUCClassifierCV
from fewlabel.types import MatrixLike


@parametrized
class OneVsRestRankingClassifier(ScoresClasses, TakesWhatItsBaseTakes, MetaEstimatorMixin, LabeledClassifier):
    """Many classes by rankers of two: each class against all others, with unlabeled rows.

    scikit-learn's `OneVsRestClassifier` would take the marker -1 of unlabeled rows for a class. Judge the ranking by
    `fewlabel.metrics.hand_till_score`.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier of two classes with `decision_function` and `predict_proba`, where -1 marks unlabeled rows. None
        means `LinearAUCClassifierCV`, which chooses the penalty of each class by its own AUC.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list
        The fitted ranker of each class against the rest; a single one, of ``classes_[1]``, if there are two classes.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    fewlabel.metrics.hand_till_score : Mean AUC over all pairs of classes.

    References
    ----------
    .. [1] Hand, D. J. and Till, R. J. "A simple generalisation of the area under the ROC curve for multiple class
       classification problems." Machine Learning 45(2), 171-186, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from fewlabel import OneVsRestRankingClassifier, hide_labels
    >>> from fewlabel.metrics import hand_till_score
    >>> X, y = load_iris(return_X_y=True)
    >>> few = hide_labels(y, labeled=60, random_state=0)
    >>> model = OneVsRestRankingClassifier().fit(scale(X), few)
    >>> bool(hand_till_score(y, model.predict_proba(scale(X))) > 0.9)
    True
    """

    estimator: Annotated[Any, HasMethods(["fit", "decision_function", "predict_proba"]), None] = None

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a ranker per class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Labeled and unlabeled rows.
        y : array-like of shape (n_samples,)
            Their classes; ``-1`` in a numeric `y`, or a missing value, marks an unlabeled row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, if the estimator takes them.

        Returns
        -------
        self : object
        """
        X, codes, weight = self._read_rows(X, y, sample_weight)
        if weight is not None:
            self._require_weights_are_taken()
        options = {} if weight is None else {"sample_weight": weight}
        # Of two classes the second is ranked; the first would be the same ranking backwards.
        ranked = range(len(self.classes_)) if len(self.classes_) > 2 else (1,)
        self.estimators_ = []
        for code in ranked:
            against_rest = np.where(codes < 0, -1, codes == code)
            self.estimators_.append(clone(self._base()).fit(X, against_rest, **options))
        return self

    def _base(self):
        return LinearAUCClassifierCV(random_state=0) if self.estimator is None else self.estimator

    def _class_scores(self, X):
        """Log-odds of each class against the rest; with two classes the score of the ranker is their difference."""
        if len(self.classes_) > 2:
            return np.column_stack([_log_odds(one, X) for one in self.estimators_])
        half = self.estimators_[0].decision_function(X) / 2
        return np.column_stack([-half, half])

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probability of each class: those of the rankers, divided by their sum.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return self.estimators_[0].predict_proba(self._validate(X, reset=False))
        probability = expit(self._scores(X))
        return probability / np.maximum(probability.sum(axis=1, keepdims=True), 1e-300)


def _log_odds(model, X):
    """Log-odds of the positive class: exact where the model has them, otherwise from its probabilities."""
    if hasattr(model, "calibration_"):
        slope, intercept = model.calibration_
        return slope * model.decision_function(X) + intercept
    return logit(np.clip(model.predict_proba(X)[:, 1], 1e-15, 1 - 1e-15))
