"""Tri-training: two classifiers that agree on a row label it for the third."""

import math

import numpy as np

from fewlabel.wrappers._learner import take, votes
from fewlabel.wrappers._loop import Run
from fewlabel.wrappers._self_labeling import SelfLabelingClassifier


class TriTrainingRun(Run):
    """Three classifiers; each learns from rows on which the others agree, as long as their joint error decreases.

    `given` has one row per classifier.
    """

    def __init__(self, learner, codes, free, rng):
        super().__init__(learner, codes, free)
        self.given = np.tile(codes, (3, 1))
        self._rng = rng
        self._known = np.flatnonzero(codes >= 0)
        self._free_rows = np.flatnonzero(free)
        # Of each classifier at its last update: the error of the other two, and the rows that it learned from.
        self._errors = np.full(3, 0.5)
        self._sizes = np.zeros(3)
        self._models = []
        for _ in range(3):
            rows = self._bootstrap()
            self._models.append(learner.fit(rows, codes[rows]))

    def _bootstrap(self):
        """Labeled rows drawn with replacement within each class, so that no class is lost."""
        codes = self.codes[self._known]
        drawn = []
        for c in np.unique(codes):
            group = self._known[codes == c]
            drawn.append(group[self._rng.randint(len(group), size=len(group))])
        return np.sort(np.concatenate(drawn))

    def models(self):
        return list(self._models)

    def predict(self, models, rows):
        return votes(models, take(self.learner.X, rows), self.learner.classes).argmax(axis=1)

    def turn(self, iteration):
        if len(self._free_rows) == 0:
            return 0
        on_known = [self.learner.read(model, self._known)[0] for model in self._models]
        on_free = [self.learner.read(model, self._free_rows)[0] for model in self._models]
        lessons = {}
        for i, j, k in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
            agree = on_known[j] == on_known[k]
            wrong = on_known[j] != self.codes[self._known]
            error = np.count_nonzero(agree & wrong) / np.count_nonzero(agree) if agree.any() else 0.5
            rows = self._admit(i, error, np.flatnonzero(on_free[j] == on_free[k]))
            if rows is not None:
                lessons[i] = (error, rows, on_free[j])
        n_labeled = 0
        # Only now that all three have been evaluated: a new classifier would change what the others agree on.
        for i, (error, rows, codes) in lessons.items():
            self.given[i] = self.codes
            self.given[i, self._free_rows[rows]] = codes[rows]
            used = np.flatnonzero(self.given[i] >= 0)
            self._models[i] = self.learner.fit(used, self.given[i, used])
            self._errors[i] = error
            self._sizes[i] = len(rows)
            self.iters[self.free & (self.given[i] >= 0)] = iteration
            n_labeled += len(rows)
        self.iters[self.free & (self.given < 0).all(axis=0)] = -1
        return n_labeled

    def _admit(self, i, error, rows):
        """Rows that classifier i may learn from, by the condition e |L| < e' l'; None if there are none."""
        last_error = self._errors[i]
        if error >= last_error:
            return None
        if self._sizes[i] == 0:
            self._sizes[i] = math.floor(error / (last_error - error) + 1)
        last_size = self._sizes[i]
        # The paper updates a classifier only with more rows than the last time.
        if last_size >= len(rows):
            return None
        if error * len(rows) < last_error * last_size:
            return rows
        if last_size > error / (last_error - error):
            size = math.ceil(last_error * last_size / error - 1)
            return np.sort(self._rng.choice(rows, size, replace=False))
        return None


class TriTrainingClassifier(SelfLabelingClassifier):
    r"""Tri-training: two classifiers that agree on a row label it for the third.

    Three classifiers are first fitted to bootstrap samples of the labeled rows. In each round classifier i learns from
    the labeled rows and the unlabeled rows :math:`L_i` on which the other two agree, if the error :math:`e_i` of their
    agreement on the labeled rows is smaller than at its last update, and

    .. math:: e_i |L_i| < e'_i |L'_i| ,

    otherwise from a random subset of :math:`L_i` that is small enough. It ends when no classifier is updated. The final
    model is their vote.

    :math:`e_i` is measured on training rows, so it is too small for classifiers that fit them well, such as deep trees.
    The guard corrects for this.

    Parameters
    ----------
    estimator : estimator, default=None
        Base classifier with `predict_proba` or `decision_function`. None means 50 extremely randomized trees. With a
        pipeline, or a classifier that takes text, `X` may be a data frame of any columns, or a list of texts.
    stop : {"out-of-fold", "exhausted"}, default="out-of-fold"
        "out-of-fold": the guard of `CrossTrainingClassifier`, compared with the vote of the three bootstrap
        classifiers. "exhausted": stop when no classifier is updated, as published.
    max_iter : int or None, default=30
        Largest number of rounds. None means as many as there are rows.
    n_jobs : int, default=None
        Number of threads that run the rounds and those of the guard; -1 means all cores.
    random_state : int, RandomState instance or None, default=None
        Draws samples and folds, and seeds base classifiers whose own `random_state` is None.
        Labeled rows are drawn by position, so that the order of the rows that have labels matters, and unlabeled ones
        by their values, of which sparse rows have another order than dense ones.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of three estimators
        The final classifiers.
    labeled_iter_ : ndarray of shape (n_samples,)
        Last round in which a classifier of the final model was fitted to the row; 0 if its class was known, -1 if none
        was.
    history_, best_iter_, n_iter_, transduction_
        As in `CrossTrainingClassifier`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    CrossTrainingClassifier : One final classifier instead of a vote.

    Notes
    -----
    `predict` is the majority vote. `predict_proba` adds the mean posterior as a fourth vote, which breaks ties and
    ranks rows with equal votes. Bootstrap samples are drawn within each class, so that no class is
    lost.

    References
    ----------
    .. [1] Zhou, Z.-H. and Li, M. "Tri-training: exploiting unlabeled data using three classifiers." IEEE Transactions
       on Knowledge and Data Engineering 17(11), 2005. The guard is an addition.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fewlabel import TriTrainingClassifier, hide_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> y_few = hide_labels(y, labeled=0.15, random_state=0)
    >>> model = TriTrainingClassifier(GaussianNB(), random_state=0).fit(X, y_few)
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    def _start(self, learner, codes, free, rng):
        return TriTrainingRun(learner, codes, free, rng)

    def _class_scores(self, X):
        return votes(self.estimators_, X, self.classes_)
