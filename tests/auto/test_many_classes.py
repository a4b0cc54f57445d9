"""Three classes or more: the pool of calibrated probabilities, and classes with one or two labels."""

import warnings

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import log_loss

from fewlabel import AutoClassifier

QUICK = dict(n_repeats=1, random_state=0)


def digits(counts, n_rows=600):
    X, y = load_digits(return_X_y=True)
    X, y = X[:n_rows], y[:n_rows]
    few = np.full(n_rows, -1)
    for code, count in enumerate(counts):
        few[np.flatnonzero(y == code)[:count]] = code
    return X, y, few


def test_the_model_is_the_pool_of_its_members():
    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(150) % 5 == 0, y, -1)
    model = AutoClassifier(["logistic regression", "extra trees", "naive Bayes"], **QUICK).fit(X, few)
    logs = [log_softmax(formula(X), axis=1) for formula in model.members_.values()]
    pooled = sum(weight * log for weight, log in zip(model.ensemble_weights_.values(), logs))
    np.testing.assert_allclose(model.predict_proba(X), np.exp(log_softmax(pooled, axis=1)), atol=1e-12)
    assert (model.predict(X) == model.classes_[model.predict_proba(X).argmax(axis=1)]).all()


def test_probabilities_beat_those_of_ranks():
    """Ranks within each class do not decide between classes: the pool of probabilities has a lower log-loss."""
    X, y, few = digits([4] * 10)
    hidden = few < 0
    model = AutoClassifier(["logistic regression", "extra trees + components"], **QUICK).fit(X, few)
    assert log_loss(y[hidden], model.predict_proba(X[hidden])) < 1.0


@pytest.mark.parametrize("counts", [[6, 1, 6, 2, 6], [4, 4, 1]])
def test_a_class_with_one_label_is_learned_and_nothing_is_said(counts):
    X, _, few = digits(counts, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AutoClassifier(["logistic regression", "linear discriminant", "extra trees"], **QUICK).fit(X, few)
    assert model.classes_.tolist() == list(range(len(counts)))
    alone = counts.index(1)
    # Never tested: there is no other row to learn it from.
    assert alone not in few[model.labeled_rows_]
    assert len(model.labeled_rows_) == sum(counts) - 1
    assert (model.predict_proba(X)[:, alone] > 0).all()
    board = model.leaderboard_.set_index("method")
    assert board.loc["linear discriminant", "status"] == "skipped: a class has fewer than 3 labels"
