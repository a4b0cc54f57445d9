"""Co-training: classifiers on different columns label rows for each other."""

from dataclasses import KW_ONLY

import numpy as np
from scipy.special import softmax

from fewlabel.base import Count, Values, parametrized
from fewlabel.columns import choose_views
from fewlabel.wrappers._learner import posteriors, take
from fewlabel.wrappers._loop import Run, most_confident
from fewlabel.wrappers._self_labeling import SelfLabelingClassifier

_LEAST = np.exp(-700.0)  # probability


class CoTrainingRun(Run):
    """The classifier of each view labels the rows of a pool that it is most confident in; all views learn from them."""

    def __init__(self, learner, codes, free, views, queue, *, k, pool_size):
        super().__init__(learner, codes, free)
        self.views = views
        self._k = k
        counts = np.bincount(codes[codes >= 0], minlength=len(learner.classes))
        self._shares = counts / counts.sum()
        self._pool = np.sort(queue[:pool_size])
        self._queue = queue[pool_size:]
        # Fitted when needed: the last round's models are not, if no final model is asked for.
        self._models = None

    def turn(self, iteration):
        # Every row has been labeled.
        if len(self._pool) == 0:
            return 0
        models = self.models()
        for _ in range(1 + len(self._queue)):
            agreed, codes, disputed = self._vote(models)
            if agreed.any() or not (disputed.any() and len(self._queue)):
                break
            # Rows that the views dispute would stop all rounds: others take their places in the pool.
            self._replace(disputed)
        self.label(self._pool[agreed], codes[agreed], iteration)
        self._models = None
        self._replace(agreed)
        return int(np.count_nonzero(agreed))

    def _vote(self, models):
        """Which rows of the pool are chosen for one class, that class, and which are chosen for several."""
        votes = np.full((len(models), len(self._pool)), -1)
        for vote, model, view in zip(votes, models, self.views):
            codes, confidence = self.learner.read(model, self._pool, view)
            sure = most_confident(codes, confidence, self._k, self._shares)
            vote[sure] = codes[sure]
        highest = votes.max(axis=0)
        chosen = highest >= 0
        same = ((votes == highest) | (votes < 0)).all(axis=0)
        return chosen & same, highest, chosen & ~same

    def _replace(self, gone):
        """Take rows out of the pool, and put the next of the queue in their places."""
        n_gone = np.count_nonzero(gone)
        self._pool = np.sort(np.concatenate([self._pool[~gone], self._queue[:n_gone]]))
        self._queue = self._queue[n_gone:]

    def models(self):
        if self._models is None:
            rows = np.flatnonzero(self.given >= 0)
            self._models = [self.learner.fit(rows, self.given[rows], view) for view in self.views]
        return self._models

    def predict(self, models, rows):
        X = take(self.learner.X, rows)
        return product(models, self.views, X, self.learner.classes).argmax(axis=1)


def product(models, views, X, classes):
    """Return the normalized product of the posteriors of the views."""
    total = 0.0
    for model, view in zip(models, views):
        posterior = posteriors(model, take(X, slice(None), view), classes)
        # A zero probability in one view must not exclude a class: two views could exclude every class together.
        total = total + np.log(np.maximum(posterior, _LEAST))
    return softmax(total, axis=1)


@parametrized
class CoTrainingClassifier(SelfLabelingClassifier):
    r"""Co-training: classifiers on different columns label rows for each other.

    One classifier is fitted to each view (a set of columns). In each round each of them labels the rows of a pool of
    unlabeled rows that it is most confident in, for each class; all views then learn from them. Rows for which two
    views choose different classes stay in the pool, which is refilled from the other unlabeled rows; if there is no
    other chosen row in a round, others take their places. The final
    posterior is the normalized product :math:`P(c \mid x) \propto \prod_v P_v(c \mid x^{(v)})`.

    Each view should be sufficient to predict the class, and the views should be independent given the class, such as
    the words of a web page and the words of links to it. Random halves of the columns are neither: expect a loss of
    accuracy with them, most of which the guard prevents.

    Parameters
    ----------
    estimator : estimator, default=None
        Base classifier with `predict_proba` or `decision_function`. None means 50 extremely randomized trees. With a
        pipeline, or a classifier that takes text, `X` may be a data frame of any columns, or a list of texts.
    views : sequence of array-like, default=None
        Columns of each view, two views or more: positions, names, or masks. None means two random halves.
    k_best : int, default=4
        Rows that a view labels in a round, in the proportion of the classes among the labeled rows, at least one per
        class. With class shares of 1 to 3 these are 1 and 3, as in [1]_.
    pool_size : int, default=75
        Number of rows in the pool.
    stop : {"out-of-fold", "exhausted"}, default="out-of-fold"
        "out-of-fold": the guard of `CrossTrainingClassifier`. "exhausted": stop after `max_iter` rounds, or when no
        row is left.
    max_iter : int or None, default=30
        Largest number of rounds. None means no limit.
    n_jobs : int, default=None
        Number of threads that run the rounds and those of the guard; -1 means all cores.
    random_state : int, RandomState instance or None, default=None
        Draws views, pool and folds, and seeds base classifiers whose own `random_state` is None.
        Labeled rows are drawn by position, so that the order of the rows that have labels matters, and unlabeled ones
        by their values, of which sparse rows have another order than dense ones.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of estimators
        The final classifiers, one per view.
    views_ : list of ndarray
        Positions of the columns of each view.
    labeled_iter_, history_, best_iter_, n_iter_, transduction_
        As in `CrossTrainingClassifier`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    CrossTrainingClassifier : Does not need views.

    References
    ----------
    .. [1] Blum, A. and Mitchell, T. "Combining labeled and unlabeled data with co-training." Conference on
       Computational Learning Theory, 1998. The guard is an addition.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fewlabel import CoTrainingClassifier, hide_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> y_few = hide_labels(y, labeled=0.15, random_state=0)
    >>> model = CoTrainingClassifier(GaussianNB(), views=[range(6), range(6, 13)], random_state=0).fit(X, y_few)
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    views: Values | None = None
    _: KW_ONLY
    k_best: Count = 4
    pool_size: Count = 75

    def _self_label(self, X, codes):
        # Drawn by the first run, and reused by those of the guard.
        self.views_ = None
        return super()._self_label(X, codes)

    def _start(self, learner, codes, free, rng):
        if self.views_ is None:
            names = getattr(self, "feature_names_in_", None)
            given = self.views is not None
            self.views_ = choose_views(self.views, self.n_features_in_, names, least=2) if given else self._draw(rng)
        queue = rng.permutation(np.flatnonzero(free))
        return CoTrainingRun(learner, codes, free, self.views_, queue, k=self.k_best, pool_size=self.pool_size)

    def _draw(self, rng):
        if self.n_features_in_ < 2:
            raise ValueError(
                f"X has n_features = {self.n_features_in_}, but co-training needs two columns or more to draw views: "
                "use CrossTrainingClassifier, or pass views"
            )
        halves = np.array_split(rng.permutation(self.n_features_in_), 2)
        return [np.sort(half) for half in halves]

    def _class_scores(self, X):
        return product(self.estimators_, self.views_, X, self.classes_)
