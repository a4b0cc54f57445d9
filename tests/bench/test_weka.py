"""The stand-ins for Weka's classifiers."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.tree import DecisionTreeClassifier

from benchmarks.papers.weka import NaiveBayes, PrunedTree, extra_errors, kinds_of_columns


def test_naive_bayes_agrees_with_those_of_sklearn():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    weight = rng.integers(1, 4, size=300).astype(float)
    numbers = rng.normal(size=(300, 2)) + y[:, None]
    codes = np.column_stack([(y + rng.integers(2, size=300)) % 3, rng.integers(2, size=300)])
    one_hot = np.column_stack([codes[:, :1] == np.arange(3), codes[:, 1:] == np.arange(2)]).astype(float)
    data = pd.DataFrame({"a": pd.Categorical(codes[:, 0]), "n": numbers[:, 0], "b": codes[:, 1].astype(str)})
    kinds = kinds_of_columns(data)
    assert kinds.tolist() == [-1, 0, 0, 0, 1, 1]
    ours = NaiveBayes(np.array([-1, -1])).fit(numbers, y, weight).predict(numbers)
    assert (ours == GaussianNB().fit(numbers, y, weight).predict(numbers)).mean() > 0.98  # priors differ by a row each
    ours = NaiveBayes(kinds[1:]).fit(one_hot, y, weight / weight.mean()).predict(one_hot)
    theirs = CategoricalNB().fit(codes, y, weight / weight.mean()).predict(codes)
    assert (ours == theirs).mean() > 0.98


def test_naive_bayes_without_columns_gives_the_largest_class():
    model = NaiveBayes(np.array([], dtype=int)).fit(np.empty((3, 0)), np.array([1, 1, 0]))
    assert model.predict(np.empty((2, 0))).tolist() == [1, 1]


def test_bounds_of_quinlan_s_example():
    """The leaves of the example in C4.5, chapter 4: without errors 0.206, 0.143 and 0.750; 1 of 16 wrong: 0.157."""
    bounds = (np.r_[0, 0, 0, 1] + extra_errors([6, 9, 1, 16], [0, 0, 0, 1], 0.25)) / [6, 9, 1, 16]
    np.testing.assert_allclose(bounds, [0.206, 0.143, 0.750, 0.157], atol=0.005)


@pytest.mark.parametrize(("n", "wrong"), [(20, 3), (50, 10), (200, 31)])
def test_bounds_are_those_of_the_binomial(n, wrong):
    bound = (wrong + extra_errors(n, wrong, 0.25)) / n
    assert binom.cdf(wrong, n, bound) == pytest.approx(0.25, abs=0.02)


def n_leaves(tree, X):
    """Leaves that rows reach; what was cut off stays in the tree's arrays."""
    return len(np.unique(tree.apply(X)))


def test_noise_is_pruned_and_signal_is_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    noise, signal = rng.integers(2, size=300), (X[:, 0] > 0).astype(int)
    full = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0)
    assert n_leaves(PrunedTree(random_state=0).fit(X, noise), X) < n_leaves(full.fit(X, noise), X)
    assert (PrunedTree(random_state=0).fit(X, signal).predict(X) == signal).all()


def test_a_pruned_tree_is_the_full_tree_cut_bottom_up():
    """Against a recursion over the full tree."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int) + (X[:, 1] > 1)
    full = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0).fit(X, y)
    pruned = PrunedTree(random_state=0).fit(X, y)

    def cut(node, rows):
        """Predicted classes of the rows of a node, and its pessimistic errors."""
        counts = np.bincount(y[rows], minlength=3)
        wrong = len(rows) - counts.max()
        leaf = wrong + float(extra_errors(len(rows), wrong, 0.25))
        as_leaf = {row: counts.argmax() for row in rows}
        left, right = full.tree_.children_left[node], full.tree_.children_right[node]
        if left < 0:
            return as_leaf, leaf
        below = X[rows, full.tree_.feature[node]].astype(np.float32) <= full.tree_.threshold[node]
        (a, errors_a), (b, errors_b) = cut(left, rows[below]), cut(right, rows[~below])
        return (as_leaf, leaf) if leaf <= errors_a + errors_b + 0.1 else (a | b, errors_a + errors_b)

    expected = cut(0, np.arange(200))[0]
    assert pruned.predict(X).tolist() == [expected[row] for row in range(200)]
    assert n_leaves(pruned, X) < n_leaves(full, X)
