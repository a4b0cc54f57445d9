"""NC-T and ICT: classifiers on all other parts of the rows label rows of the part left out; Se-T: of their own part."""

import math
import warnings
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from fewlabel.base import AtLeastTwo, Count, parametrized
from fewlabel.warning_filters import caller_level
from fewlabel.wrappers._learner import posteriors, take, votes
from fewlabel.wrappers._loop import Run, deal, most_confident
from fewlabel.wrappers._self_labeling import SelfLabelingClassifier


class CrossTrainingRun(Run):
    """A classifier fitted to all other parts (or to part p itself) labels rows of part p, which the next one uses."""

    def __init__(self, learner, codes, free, parts, *, k, shares, own=False):
        super().__init__(learner, codes, free)
        self.parts = parts
        self._n_parts = int(parts.max()) + 1
        self._k = k
        self._shares = shares
        self._own = own

    def turn(self, iteration):
        return sum(self._turn_of_part(p, iteration) for p in range(self._n_parts))

    def _turn_of_part(self, part, iteration):
        left = np.flatnonzero((self.parts == part) & self.free & (self.given < 0))
        model = self._fit_for(part) if len(left) else None
        # No row to label, or no row to learn from.
        if model is None:
            return 0
        codes, confidence = self.learner.read(model, left)
        chosen = most_confident(codes, confidence, self._k, self._shares)
        self.label(left[chosen], codes[chosen], iteration)
        return len(chosen)

    def _fit_for(self, part):
        rows = np.flatnonzero(((self.parts == part) == self._own) & (self.given >= 0))
        return self.learner.fit(rows, self.given[rows]) if len(rows) else None

    def models(self):
        if self._own:
            models = [self._fit_for(part) for part in range(self._n_parts)]
            return [model for model in models if model is not None]
        rows = np.flatnonzero(self.given >= 0)
        return [self.learner.fit(rows, self.given[rows])]

    def predict(self, models, rows):
        if self._own:
            return votes(models, take(self.learner.X, rows), self.learner.classes).argmax(axis=1)
        codes, _ = self.learner.read(models[0], rows)
        return codes


@parametrized
class CrossTrainingClassifier(SelfLabelingClassifier):
    r"""Cross-training: classifiers on all other parts label rows of the part left out (NC-T; ICT with two parts).

    Labeled rows :math:`L` and unlabeled rows :math:`U` are split into `n_parts` parts, :math:`L` stratified by class.
    In each round, for every part p in turn,

    .. math::

        h_p = \text{fit}\Big(\bigcup_{q \ne p} L_q\Big), \qquad
        L_p \leftarrow L_p \cup \{(x, \arg\max_c P_{h_p}(c \mid x)) : x \in \text{top}_k(U_p)\},

    where the top k are the rows of :math:`U_p` with the largest posterior (the first ones among ties), which are then
    removed from :math:`U_p`. The final classifier is fitted to all parts, with true and assigned labels.

    With ``learn_from="own"`` it is self-training in parts (Se-T): :math:`h_p` is fitted to :math:`L_p` itself, and the
    final model is the vote of the classifiers of all parts.

    A classifier that labels its own training rows mostly confirms itself. **The guard**, ``stop="out-of-fold"``, runs
    the same rounds three more times, each time without the labels of a third of the labeled rows, which the final
    classifier of that run predicts after every round. This gives an out-of-fold accuracy of each round. The labels of
    the best round are used if significantly more labeled rows are predicted correctly than from the labeled rows alone
    (McNemar's exact test, one-sided, at 5% for all rounds together). If fewer than five labeled rows are wrong at the
    start, no round could pass, and none is run. Otherwise no assigned label is used, and the model
    is the base classifier fitted to the labeled rows, which is the outcome on most datasets.

    Parameters
    ----------
    estimator : estimator, default=None
        Base classifier with `predict_proba` or `decision_function`. None means 50 extremely randomized trees. With a
        pipeline, or a classifier that takes text, `X` may be a data frame of any columns, or a list of texts.
    n_parts : int, default=3
        Number of parts. 3 is NC-T; 2 is ICT, in which each classifier is fitted to half of the labels.
    k_best : int, default=10
        Number of rows labeled per part and round.
    learn_from : {"others", "own"}, default="others"
        Parts that the classifier of a part learns from: all others, or its own (Se-T).
    stop : {"out-of-fold", "exhausted"}, default="out-of-fold"
        "out-of-fold": the guard above. "exhausted": continue until every row has a label and use them all, as
        published.
    max_iter : int or None, default=10
        Largest number of rounds. If `k_best` rows per round would take more rounds, more rows are labeled in each. None
        means no limit.
    balance : bool, default=False
        Whether to label rows in the proportion of the classes among the labeled rows, by predicted class, at least one
        per class.
    n_jobs : int, default=None
        Number of threads that run the rounds and those of the guard; -1 means all cores.
    random_state : int, RandomState instance or None, default=None
        Draws the parts, and seeds base classifiers whose own `random_state` is None.
        Labeled rows are drawn by position, so that the order of the rows that have labels matters, and unlabeled ones
        by their values, of which sparse rows have another order than dense ones.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of estimators
        The final classifier, or those of the parts with ``learn_from="own"``.
    labeled_iter_ : ndarray of shape (n_samples,)
        Round in which each row got the label that the final model was fitted with: 0 if its class was known, -1 if it
        got none.
    history_ : list of dict
        For each round, where round 0 is the labeled rows alone: `iter`; `n_labeled`, rows labeled so far; `score`,
        out-of-fold accuracy on the labeled rows (NaN with ``stop="exhausted"``).
    best_iter_ : int
        The round whose labels the final model was fitted with; 0 if it was fitted to the labeled rows alone.
    n_iter_ : int
        Number of rounds.
    transduction_ : ndarray of shape (n_samples,)
        Class of each training row: the known one, or the prediction of the final model.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    CoTrainingClassifier : Classifiers on different columns label rows for each other.
    TriTrainingClassifier : Two classifiers that agree label rows for the third.

    Notes
    -----
    It takes ``sum(ceil(|U_p| / k)) + 1`` fits, and about five times as many with the guard. The accuracy of
    the classifier of part p on :math:`L_p`, which it was not fitted to, would be a score at no cost. It is not used,
    because from the second part on the classifier learns from rows that were labeled by classifiers fitted to
    :math:`L_p`, so that the score is too optimistic.

    References
    ----------
    .. [1] Huang, D. "Research on feature selection and semi-supervised classification methods." PhD thesis, Huazhong
       University of Science and Technology, 2011 (in Chinese), chapter 4, figure 4.3. The guard and
       `balance` are additions.
    .. [2] Soonthornphisaj, N. and Kijsirikul, B. "Iterative cross-training: an algorithm for learning from unlabeled
       Web pages." International Journal of Intelligent Systems 19, 2004 (ICT).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fewlabel import CrossTrainingClassifier, hide_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> y_few = hide_labels(y, labeled=0.15, random_state=0)
    >>> model = CrossTrainingClassifier(GaussianNB(), random_state=0).fit(X, y_few)
    >>> model.history_[0]["score"] <= model.history_[model.best_iter_]["score"]
    True
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    n_parts: AtLeastTwo = 3
    k_best: Count = 10
    _: KW_ONLY
    learn_from: Literal["others", "own"] = "others"
    max_iter: Count | None = 10
    balance: bool = False

    def _self_label(self, X, codes):
        counts = np.bincount(codes[codes >= 0])
        if (codes < 0).any() and counts.min() < self.n_parts:
            warnings.warn(
                f"class {self.classes_.tolist()[counts.argmin()]!r} has {counts.min()} labeled row(s), fewer than "
                f"n_parts={self.n_parts}, so some classifiers never see it: label more rows of it, or lower n_parts",
                UserWarning,
                stacklevel=caller_level(),
            )
        return super()._self_label(X, codes)

    def _start(self, learner, codes, free, rng):
        known = np.flatnonzero(codes >= 0)
        counts = np.bincount(codes[known], minlength=len(self.classes_))
        parts = deal(codes, known, self.n_parts, rng)
        unlabeled = np.flatnonzero(free)
        parts[unlabeled] = rng.permutation(len(unlabeled)) % self.n_parts
        k = self.k_best
        if self.max_iter is not None:
            # As many rows per round as it takes to label all of them in time.
            largest_part = math.ceil(len(unlabeled) / self.n_parts)
            k = max(k, math.ceil(largest_part / self.max_iter))
        shares = counts / counts.sum() if self.balance else None
        own = self.learn_from == "own"
        return CrossTrainingRun(learner, codes, free, parts, k=k, shares=shares, own=own)

    def _class_scores(self, X):
        if self.learn_from == "own":
            return votes(self.estimators_, X, self.classes_)
        return posteriors(self.estimators_[0], X, self.classes_)

    def _classes_of(self, X):
        if self.learn_from == "own":
            return super()._classes_of(X)
        # With an SVC this may differ from the class of highest probability.
        return self.estimators_[0].predict(X)
