"""Which rows are labeled when, and with which class: equal to slow versions of the three published rules."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier

from fewlabel import hide_labels
from fewlabel.wrappers._co_training import CoTrainingRun
from fewlabel.wrappers._cross_training import CrossTrainingRun
from fewlabel.wrappers._learner import Learner
from fewlabel.wrappers._loop import deal
from fewlabel.wrappers._tri_training import TriTrainingRun
from reference import co_training, cross_training, tri_training


def toy(seed=0, labeled=0.2, n=120):
    X, y = make_blobs(n, centers=3, n_features=4, cluster_std=3.0, random_state=seed)
    return X, hide_labels(y, labeled=labeled, mechanism="per-class", random_state=seed)


class Nearer(ClassifierMixin, BaseEstimator):
    """Two classes on a line: the posterior of a class is the other's distance over the sum of both."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self._rows = [X[y == c, 0] for c in self.classes_]
        return self

    def predict_proba(self, X):
        distance = np.array([np.abs(X[:, :1] - rows).min(axis=1) for rows in self._rows]).T
        return distance[:, ::-1] / distance.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def order_of(run):
    """Rows and classes in the order in which a run labels them."""
    labeled, iteration = [], 0
    label = run.label
    run.label = lambda rows, codes, t: (labeled.extend(zip(rows.tolist(), codes.tolist())), label(rows, codes, t))
    while run.turn(iteration + 1):
        iteration += 1
    return labeled


def test_nct_by_hand():
    """Three parts, one row a part and round. Labels are 0 at 0, 1, 2 and 1 at 10, 11, 12.

    Round 1. Part 0 learns from 1, 2 | 11, 12: the posterior of 3 is 8/9, that of 5 is 2/3, so 3 becomes 0. Part 1
    learns from 0, 3, 2 | 10, 12: 8 becomes 1 (5/7). Part 2 learns from 0, 3, 1 | 10, 8, 11: 6 becomes 1 (3/5); without
    the label just given to 8 it would have become 0. Round 2. Part 0 learns from 1, 2 | 11, 8, 12, 6: 5 becomes 1.
    """
    X = np.array([0, 1, 2, 10, 11, 12, 3, 5, 8, 6], dtype=float)[:, None]
    codes = np.array([0, 0, 0, 1, 1, 1, -1, -1, -1, -1])
    parts = np.array([0, 1, 2, 0, 1, 2, 0, 0, 1, 2])
    learner = Learner(Nearer(), X, np.arange(2), np.random.RandomState(0))
    run = CrossTrainingRun(learner, codes, codes < 0, parts, k=1, shares=None)
    assert order_of(run) == [(6, 0), (8, 1), (9, 1), (7, 1)]
    assert run.iters.tolist() == [0, 0, 0, 0, 0, 0, 1, 2, 1, 1]


def test_learning_from_its_own_part_is_self_training_of_the_part():
    X, y = toy(3)
    codes, k = y.astype(int), 4
    parts = deal(codes, np.flatnonzero(codes >= 0), 3, np.random.RandomState(0))
    free = np.flatnonzero(codes < 0)
    parts[free] = np.arange(len(free)) % 3
    base = LogisticRegression(C=0.1)
    learner = Learner(base, X, np.arange(3), np.random.RandomState(0))
    run = CrossTrainingRun(learner, codes, codes < 0, parts, k=k, shares=None, own=True)
    order_of(run)
    models, expected = run.models(), []
    for p, model in enumerate(models):
        part = np.flatnonzero(parts == p)
        reference = SelfTrainingClassifier(base, criterion="k_best", k_best=k, max_iter=None).fit(X[part], codes[part])
        np.testing.assert_array_equal(run.given[part], reference.transduction_)
        np.testing.assert_array_equal(run.iters[part], reference.labeled_iter_)
        expected.append(reference.predict(X))
        np.testing.assert_array_equal(model.predict(X), expected[-1])
    agreed = (np.array(expected) == expected[0]).all(axis=0)
    np.testing.assert_array_equal(run.predict(models, np.flatnonzero(agreed)), expected[0][agreed])


class CountingLearner(Learner):
    n_fits = 0

    def fit(self, *arguments):
        self.n_fits += 1
        return super().fit(*arguments)


@pytest.mark.parametrize("n_parts", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make_model", [GaussianNB, lambda: KNeighborsClassifier(3)])  # the second has many ties
def test_nct_labels_rows_in_the_order_of_the_slow_reference(n_parts, seed, make_model):
    X, codes = toy(seed)
    rng = np.random.RandomState(seed)
    parts = deal(codes, np.flatnonzero(codes >= 0), n_parts, rng)
    free = np.flatnonzero(codes < 0)
    parts[free] = rng.permutation(len(free)) % n_parts
    learner = CountingLearner(make_model(), X, np.arange(3), rng)
    run = CrossTrainingRun(learner, codes, codes < 0, parts, k=5, shares=None)
    order, n_fits = cross_training.label_order(make_model, X, codes, parts.tolist(), k=5)
    assert order_of(run) == [(i, c) for i, _, _, c in order]
    assert [int(run.iters[i]) for i, *_ in order] == [t for _, t, _, _ in order]
    sizes = np.bincount(parts[free])
    assert learner.n_fits == n_fits == sum(-(-size // 5) for size in sizes)  # the final fit comes on top


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("pool_size", [7, 30, 500])
@pytest.mark.parametrize("make_model", [GaussianNB, lambda: KNeighborsClassifier(3)])
def test_co_training_labels_the_rows_of_the_slow_reference(seed, pool_size, make_model):
    X, codes = toy(seed)
    views = [np.array([0, 2]), np.array([1, 3])]
    queue = np.random.RandomState(seed).permutation(np.flatnonzero(codes < 0))
    learner = Learner(make_model(), X, np.arange(3), np.random.RandomState(0))
    run = CoTrainingRun(learner, codes, codes < 0, views, queue, k=6, pool_size=pool_size)
    history = co_training.label_order(make_model, X, codes, views, queue.tolist(), 6, pool_size, rounds=8)
    for iteration, expected in enumerate(history, start=1):
        assert run.turn(iteration) == len(expected)
        rows = np.flatnonzero(run.iters == iteration).tolist()
        assert {i: int(run.given[i]) for i in rows} == expected


def labeled(codes):
    """The labeled rows, and their classes."""
    rows = np.flatnonzero(codes >= 0)
    return rows, codes[rows]


def test_tri_training_learns_what_the_slow_reference_learns():
    n_drawn = n_lessons = 0
    for seed in range(8):
        X, codes = toy(seed, n=90)
        learner = Learner(DecisionTreeClassifier(max_depth=2), X, np.arange(3), np.random.RandomState(0))
        seed_of_trees = learner.fit(*labeled(codes)).random_state

        def make_tree(seed=seed_of_trees):
            # It errs on its own rows, which is what tri-training counts.
            return DecisionTreeClassifier(max_depth=2, random_state=seed)

        run = TriTrainingRun(learner, codes, codes < 0, np.random.RandomState(seed))
        rng = np.random.RandomState(seed)
        groups = [np.flatnonzero(codes == c) for c in range(3)]
        samples = [np.sort(np.concatenate([g[rng.randint(len(g), size=len(g))] for g in groups])) for _ in range(3)]
        history, drawn = tri_training.lessons_of_rounds(
            make_tree, X, codes, samples, lambda rows, size, rng=rng: rng.choice(rows, size, replace=False).tolist()
        )
        n_drawn, n_lessons = n_drawn + drawn, n_lessons + len(history)
        for iteration, lessons in enumerate(history, start=1):
            assert run.turn(iteration) == sum(len(lesson) for lesson in lessons.values())
            for i, lesson in lessons.items():
                rows = np.flatnonzero((run.given[i] >= 0) & (codes < 0)).tolist()
                assert {r: int(run.given[i, r]) for r in rows} == lesson
        assert run.turn(len(history) + 1) == 0
    assert n_drawn > 0  # the condition e |L| < e' l' made it draw a part of the rows
    assert n_lessons > 8
