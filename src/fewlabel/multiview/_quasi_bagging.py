"""Quasi-bagging: one model per part of the majority, each with the whole minority."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.special import log_softmax
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import check_random_state

from fewlabel.base import (
    Count,
    HasMethods,
    LabeledClassifier,
    ScoresClasses,
    TakesWhatItsBaseTakes,
    fit_context,
    parametrized,
    set_random_states,
)
from fewlabel.multiview._groups import count_parts, deal
from fewlabel.random_streams import draw_seed
from fewlabel.types import MatrixLike, Seed

# A probability of 0 in one group must not determine the result.
_LEAST_PROBABILITY = 1e-6


@parametrized
class QuasiBaggingClassifier(ScoresClasses, TakesWhatItsBaseTakes, MetaEstimatorMixin, LabeledClassifier):
    r"""Models on disjoint parts of the majority, each with the whole minority (quasi-bagging).

    The labeled rows of the majority are split into parts, each as large as the minority. Model :math:`g` is fitted to
    part g and all rows of the minority, a balanced sample. It sees the share :math:`b_{gk}` of class k, which its
    probabilities are corrected for:

    .. math::

        s_k(x) = \frac1G \sum_g \big[ \log p_g(k \mid x) - \log b_{gk} \big], \qquad
        p(k \mid x) = \text{softmax}_k\, s(x) .

    Every row is used, each row of the majority once. Unlabeled rows are ignored; in `BalancedMultiviewClassifier` the
    method assigns their initial labels.

    Its ranking is seldom better than that of one model on all rows: a booster on all rows is as good on most datasets.
    It helps base classifiers that tend to predict the majority, such as SVMs and small trees, and it is fast.

    Parameters
    ----------
    estimator : estimator, default=None
        Base classifier with `predict_proba`. None means `HistGradientBoostingClassifier` with 100 small trees,
        even smaller ones if the rarest class has fewer than five rows.
    n_groups : int or "balanced", default="balanced"
        Number of groups; "balanced" means the size of the largest class divided by that of the rarest, rounded.
    n_jobs : int, default=None
        Number of processes that fit models; -1 means all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the groups, by position, so that the order of the rows matters, and seeds the base classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of estimators
        The fitted models.
    group_rows_ : list of ndarray
        Positions of the rows that each of them was fitted to.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    BalancedMultiviewClassifier : The same groups with unlabeled rows.

    Notes
    -----
    With more than two classes the rarest is in every group, the largest is cut into one part per group, and the others
    in proportion, so that every group holds all classes.

    References
    ----------
    .. [1] Cui, W., Chen, W. and Cheng, H. "A multi-view based semi-supervised classifier with co-regularization for
       imbalanced data." Journal of University of Science and Technology of China 50(5), 596-604, 2020 (in Chinese),
       remark 1 of section 1.1, which only outlines the method; the details are those of this implementation.
    .. [2] Liu, X.-Y., Wu, J. and Zhou, Z.-H. "Exploratory undersampling for class-imbalance learning." IEEE
       Transactions on Systems, Man, and Cybernetics, Part B 39(2), 2009. EasyEnsemble, with overlapping groups.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fewlabel import QuasiBaggingClassifier
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(600, weights=[0.9], random_state=0)
    >>> model = QuasiBaggingClassifier(LogisticRegression(), random_state=0).fit(X, y)
    >>> len(model.estimators_)
    9
    >>> abs(model.predict_proba(X)[:, 1].mean() - y.mean()) < 0.03
    np.True_
    """

    _drops_weightless = False

    estimator: Annotated[Any, HasMethods(["fit", "predict_proba"]), None] = None
    n_groups: Count | Literal["balanced"] = "balanced"
    _: KW_ONLY
    n_jobs: int | None = None
    random_state: Seed = None

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the models.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Labeled and unlabeled rows.
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` for unlabeled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, if the base classifier takes them. The groups are drawn by rows: a row of weight 2 is
            not the same as a repeated row. Rows of weight 0 are in no group.

        Returns
        -------
        self : object
        """
        X, codes, weight = self._read_rows(X, y, sample_weight)
        if weight is not None:
            self._require_weights_are_taken()
            # The groups hold no rows of weight 0.
            codes = np.where(weight > 0, codes, -1)
        rng = check_random_state(self.random_state)
        labeled = np.flatnonzero(codes >= 0)
        counts = np.bincount(codes[labeled])
        n_groups, parts = count_parts(counts, self.n_groups)
        base = _small_trees(counts.min()) if self.estimator is None else self.estimator
        groups = deal(codes[labeled], parts, n_groups, rng)
        self.group_rows_ = [labeled[group] for group in groups]
        seeds = draw_seed(rng, len(self.group_rows_))
        jobs = []
        for rows, seed in zip(self.group_rows_, seeds):
            options = {} if weight is None else {"sample_weight": weight[rows]}
            jobs.append(delayed(_fit_one)(base, X[rows], self.classes_[codes[rows]], seed, options))
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(jobs)
        weight = np.ones(len(codes)) if weight is None else weight
        total = np.bincount(codes[labeled], weights=weight[labeled])
        in_group = [np.bincount(codes[rows], weights=weight[rows]) for rows in self.group_rows_]
        self._log_shares = np.log(np.array(in_group) / total)
        return self

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Compute the probability of each class in the data, not in the balanced groups.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities.
        """
        return np.exp(self._scores(X))

    def _class_scores(self, X):
        """Mean log-probability of each class, corrected for the shares of the groups."""
        total = 0.0
        for model, log_share in zip(self.estimators_, self._log_shares):
            probability = model.predict_proba(X).clip(_LEAST_PROBABILITY)
            total = total + np.log(probability) - log_share
        return log_softmax(total / len(self.estimators_), axis=1)

    def _base(self):
        return HistGradientBoostingClassifier() if self.estimator is None else self.estimator


def _fit_one(base, X, y, seed, options):
    model = clone(base)
    set_random_states(model, np.random.RandomState(seed))
    return model.fit(X, y, **options)


def _small_trees(n_rarest):
    tiny = n_rarest < 5
    return HistGradientBoostingClassifier(
        max_leaf_nodes=3 if tiny else 15,
        min_samples_leaf=1 if tiny else max(5, n_rarest // 4),
        l2_regularization=1.0,
        early_stopping=False,
    )
