"""SSMAB and ASSEMBLE: boosting any base classifier on labeled and pseudo-labeled rows."""

import math
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import diags_array, issparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import has_fit_parameter

from fewlabel.base import (
    Count,
    HasMethods,
    LabeledClassifier,
    Positive,
    ScoresClasses,
    Share,
    TakesWhatItsBaseTakes,
    fit_context,
    parametrized,
    set_random_states,
)
from fewlabel.types import MatrixLike, Seed

Classifier = Annotated[Any, HasMethods(["fit", "predict"]), None]
_ROUNDING = 1e-12  # an error this close to chance level counts as chance level
_LEAST_ERROR = 1e-10  # used for a base classifier without error, which ends the fit


@parametrized
class PseudoLabelBooster(ScoresClasses, TakesWhatItsBaseTakes, LabeledClassifier):
    """Boosting loop of SSMAB and ASSEMBLE: fit the base classifier, compute its weight, reweight the rows.

    A subclass implements

    - ``_first_weights(labeled)``: the initial weights;
    - ``_vote(error, n_classes)``: the weight of the classifier, None if it is not better than chance;
    - ``_next(codes, weight, right, votes, labeled, beta, own)``: labels and weights for the next round.
    """

    resample = False

    estimator: Classifier = None
    _: KW_ONLY
    n_estimators: Count = 30
    teacher: Classifier = None
    n_neighbors: Count = 1
    random_state: Seed = None

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Labeled and unlabeled rows; sparse, or with missing values, if base classifier and teacher take them.
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` for unlabeled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the initial weights. Rows of weight 0 are ignored. A row of weight 2 is not the same as a
            repeated row, which is also two neighbors of others.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._fit(*self._read_rows(X, y, sample_weight))
        return self

    def _fit(self, X, known, own):
        own = np.ones(len(known)) if own is None else own
        rng = check_random_state(self.random_state)
        labeled = known >= 0
        n_classes = len(self.classes_)
        codes = self._pseudo_labels(X, known, rng)
        self._majority = int(np.argmax(np.bincount(known[labeled], weights=own[labeled])))
        weight = self._first_weights(labeled) * own
        total = weight.sum()
        votes = np.zeros((len(known), n_classes))
        self.estimators_ = []
        betas = []
        errors = []
        for _ in range(self.n_estimators):
            model = self._fit_base(X, codes, weight, labeled, rng)
            predicted = model.predict(X).astype(np.int64)
            right = predicted == codes
            error = float(weight[~right].sum() / weight.sum())
            beta = self._vote(max(error, _LEAST_ERROR), n_classes)
            if beta is None:
                break
            self.estimators_.append(model)
            betas.append(beta)
            errors.append(error)
            if error <= _LEAST_ERROR:  # another round would repeat it
                break
            votes[np.arange(len(known)), predicted] += beta
            codes, weight = self._next(codes, weight, right, votes, labeled, beta, own)
            weight *= total / weight.sum()
        self.estimator_weights_ = np.array(betas)
        self.estimator_errors_ = np.array(errors)
        self.n_iter_ = len(betas)
        self.transduction_ = self.classes_[np.where(labeled, known, self._class_scores(X).argmax(axis=1))]

    def _pseudo_labels(self, X, known, rng=None):
        """Classes of the unlabeled rows by the teacher; by default their nearest labeled rows, in scaled columns."""
        labeled = known >= 0
        codes = known.copy()
        if labeled.all():
            return codes
        rows = np.flatnonzero(labeled)
        if self.teacher is None:
            X = _scaled(X)
            if not issparse(X):  # of equally near rows the first is taken: let it not depend on their order
                rows = rows[np.lexsort((known[rows], *X[rows].T))]
            teacher = KNeighborsClassifier(min(self.n_neighbors, np.count_nonzero(labeled)))
        else:
            teacher = clone(self.teacher)
            set_random_states(teacher, rng)
        if learns_from_unlabeled(teacher):
            teacher.fit(X, known)
        else:
            teacher.fit(X[rows], known[rows])
        codes[~labeled] = teacher.predict(X[~labeled])
        return codes

    def _base(self):
        return DecisionTreeClassifier(min_samples_leaf=20) if self.estimator is None else self.estimator

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.teacher is not None:
            teacher = get_tags(self.teacher).input_tags
            tags.input_tags.sparse &= teacher.sparse
            tags.input_tags.allow_nan &= teacher.allow_nan
        return tags

    def _fit_base(self, X, codes, weight, labeled, rng):
        model = clone(self._base())
        if "random_state" in model.get_params():
            model.set_params(random_state=rng.randint(np.iinfo(np.int32).max))
        if self.resample:
            drawn = rng.choice(len(codes), np.count_nonzero(labeled), p=weight / weight.sum())
            return model.fit(X[drawn], codes[drawn])
        if not has_fit_parameter(model, "sample_weight"):
            raise ValueError(
                f"estimator={type(model).__name__} does not support sample_weight, which boosting needs: use one that "
                "does, such as a decision tree, naive Bayes or logistic regression"
            )
        # A mean weight of one: base classifiers with a penalty depend on the scale of the weights.
        scale = len(weight) / weight.sum()
        return model.fit(X, codes, sample_weight=weight * scale)

    def _class_scores(self, X):
        """Weighted votes of each class."""
        votes = np.zeros((X.shape[0], len(self.classes_)))
        if not self.estimators_:  # no base classifier was better than chance: the most frequent labeled class
            votes[:, self._majority] = 1.0
        for model, beta in zip(self.estimators_, self.estimator_weights_):
            votes[np.arange(len(votes)), model.predict(X).astype(np.int64)] += beta
        return votes

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Compute the share of the weighted votes of each class, which is not a calibrated probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The shares.
        """
        votes = self._scores(X)
        return votes / votes.sum(axis=1, keepdims=True)


def learns_from_unlabeled(estimator):
    """Whether `fit` takes -1 for unlabeled rows, as that of ours and of sklearn.semi_supervised does."""
    return isinstance(estimator, LabeledClassifier) or type(estimator).__module__.startswith("sklearn.semi_supervised")


def _scaled(X):
    """Columns scaled to a range of 1, dense ones to [0, 1]; missing values replaced by the median."""
    if issparse(X):  # without the shift to 0, which changes no distance
        low = np.ravel(X.min(axis=0).toarray())
        high = np.ravel(X.max(axis=0).toarray())
        width = np.where(high > low, high - low, 1.0)
        return X @ diags_array(1.0 / width)
    return make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), MinMaxScaler()).fit_transform(X)


@parametrized
class SemiSupervisedAdaBoostClassifier(PseudoLabelBooster):
    r"""Multi-class AdaBoost on labeled and pseudo-labeled rows (SSMAB).

    Unlabeled rows get the class of their nearest labeled rows, or that of any `teacher`. With classes coded as
    :math:`y \in \{1, -1/(K-1)\}^K` and base classifiers coded the same way, it minimizes

    .. math:: L = \sum_i w_i \exp\big(-\tfrac1K\, y_i^\top H(x_i)\big) , \qquad H = \sum_m \beta_m h_m .

    It transfers the information of nearest neighbors to the base classifier: expect an improvement over a weak tree,
    not over a forest. If neighbors are misleading (irrelevant or badly scaled columns), so is the model; compare it
    with the base classifier on the labeled rows alone.

    Parameters
    ----------
    estimator : estimator, default=None
        Base classifier whose `fit` takes `sample_weight`. None means a decision tree with at least 20 samples per leaf.
    n_estimators : int, default=30
        Largest number of rounds.
    teacher : estimator, default=None
        Classifier that gives the unlabeled rows their classes. One of fewlabel's, or of sklearn.semi_supervised, is
        fitted to all rows; any other to the labeled rows. None means the nearest labeled rows, in scaled columns.
    n_neighbors : int, default=1
        Number of labeled neighbors that determine a pseudo-label, without a teacher. Distances
        between sparse rows are rounded differently, so that of equally near rows others may be chosen.
    labeled_weight : float, default=8.0
        Initial weight of a labeled row.
    unlabeled_weight : float, default=2.0
        Initial weight of an unlabeled row; only the ratio of the two matters.
    labeled_factor : float, default=2.0
        Extra factor of the weight of a misclassified labeled row; 1 follows the cost above.
    update : {"samme", "damped"}, default="samme"
        "samme": weights follow the cost, with factors :math:`e^{-\beta/(K-1)}` for correctly classified rows and
        :math:`e^{\beta/(K-1)^2}` for others. "damped": correctly classified rows keep their weight, which comes closest
        to the results of [1]_.
    random_state : int, RandomState instance or None, default=None
        Seeds the base classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list
        The base classifiers; they predict positions in `classes_`.
    estimator_weights_ : ndarray
        :math:`\beta_m`.
    estimator_errors_ : ndarray
        Weighted errors, on labels and pseudo-labels.
    n_iter_ : int
        Number of base classifiers.
    transduction_ : ndarray of shape (n_samples,)
        Class of each training row: the known one, or the prediction of the final model.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    AssembleClassifier : Updates the labels of the unlabeled rows in each round.

    Notes
    -----
    Equation 5.7 of [1]_ has the factor :math:`e^{-\beta/(K-1)^2}` for misclassified rows, which lowers their weight;
    its cost implies the opposite sign, which is used here. Without unlabeled rows and with
    ``labeled_factor=1`` this is SAMME [2]_.

    References
    ----------
    .. [1] Huang, D. "Research on feature selection and semi-supervised classification methods." PhD thesis, Huazhong
       University of Science and Technology, 2011 (in Chinese), chapter 5: cost, equation 5.2; vote,
       equation 5.6; weights, equation 5.7 (sign corrected).
    .. [2] Zhu, J., Zou, H., Rosset, S. and Hastie, T. "Multi-class AdaBoost." Statistics and Its Interface 2, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fewlabel import SemiSupervisedAdaBoostClassifier, hide_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> y_few = hide_labels(y, labeled=0.1, random_state=0)
    >>> model = SemiSupervisedAdaBoostClassifier(random_state=0).fit(X, y_few)
    >>> bool((model.predict(X) == y).mean() > 0.8)
    True
    """

    _: KW_ONLY
    labeled_weight: Positive = 8.0
    unlabeled_weight: Positive = 2.0
    labeled_factor: Positive = 2.0
    update: Literal["samme", "damped"] = "samme"

    def _first_weights(self, labeled):
        return np.where(labeled, self.labeled_weight, self.unlabeled_weight)

    def _vote(self, error, n_classes):
        if error >= (n_classes - 1) / n_classes - _ROUNDING:
            return None
        # The minimum of the cost; with two classes half the log-odds, as in AdaBoost.
        log_odds = math.log((1 - error) / error) + math.log(n_classes - 1)
        return (n_classes - 1) ** 2 / n_classes * log_odds

    def _next(self, codes, weight, right, votes, labeled, beta, own):
        others = len(self.classes_) - 1
        when_right = math.exp(-beta / others) if self.update == "samme" else 1.0
        when_wrong = math.exp(beta / others**2) * np.where(labeled, self.labeled_factor, 1.0)
        return codes, weight * np.where(right, when_right, when_wrong)


@parametrized
class AssembleClassifier(PseudoLabelBooster):
    r"""Boosting that updates the labels of the unlabeled rows in each round (ASSEMBLE.AdaBoost).

    Starts with the classes of the nearest labeled rows. After each round the current votes :math:`F` determine the
    classes of the unlabeled rows, and every row gets the weight :math:`e^{-m_i}`, where :math:`m_i = F_{y_i} - \max_{k
    \ne y_i} F_k` is its margin.

    It relies on its own votes: later rounds become more confident in early mistakes.

    Parameters
    ----------
    estimator : estimator, default=None
        Base classifier. None means a decision tree with at least 20 samples per leaf.
    n_estimators : int, default=30
        Largest number of rounds.
    teacher : estimator, default=None
        Classifier that gives the unlabeled rows their first classes, as in `SemiSupervisedAdaBoostClassifier`.
    n_neighbors : int, default=1
        Number of labeled neighbors that determine an initial pseudo-label, without a teacher. Distances
        between sparse rows are rounded differently, so that of equally near rows others may be chosen.
    labeled_share : float, default=0.9
        Initial share of the labeled rows in the total weight, in (0, 1).
    resample : bool, default=False
        If False, fit the base classifier to all rows with their weights. If True, fit it to as many rows as are
        labeled, drawn by weight with replacement, as in [1]_; these are few for a base classifier that needs many rows.
    random_state : int, RandomState instance or None, default=None
        Draws the rows, by position, so that the order of the rows matters with `resample`; seeds the base classifiers.

    Attributes
    ----------
    classes_, estimators_, estimator_weights_, estimator_errors_, n_iter_, transduction_
        As in `SemiSupervisedAdaBoostClassifier`.

    References
    ----------
    .. [1] Bennett, K. P., Demiriz, A. and Maclin, R. "Exploiting unlabeled data in ensemble methods." ACM SIGKDD
       International Conference on Knowledge Discovery and Data Mining, 2002. For two classes; with more, the margin
       above is used.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fewlabel import AssembleClassifier, hide_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> y_few = hide_labels(y, labeled=0.3, random_state=0)
    >>> model = AssembleClassifier(random_state=0).fit(X, y_few)
    >>> bool((model.predict(X) == y).mean() > 0.8)
    True
    """

    _: KW_ONLY
    labeled_share: Share = 0.9
    resample: bool = False

    def _first_weights(self, labeled):
        n_labeled = np.count_nonzero(labeled)
        n_unlabeled = len(labeled) - n_labeled
        share = self.labeled_share if n_unlabeled else 1.0
        return np.where(labeled, share / n_labeled, (1 - share) / max(n_unlabeled, 1))

    def _vote(self, error, n_classes):
        return None if error >= 0.5 - _ROUNDING else 0.5 * math.log((1 - error) / error)

    def _next(self, codes, weight, right, votes, labeled, beta, own):
        codes = np.where(labeled, codes, np.argmax(votes, axis=1))
        rows = np.arange(len(codes))
        others = votes.copy()
        others[rows, codes] = -np.inf
        margin = votes[rows, codes] - others.max(axis=1)
        # Less the smallest margin, so that no weight overflows; weights are scaled after each round.
        return codes, own * np.exp(margin.min() - margin)
