"""Probabilities of AutoClassifier: the share of positives they refer to, and their log-loss."""

import numpy as np
import pytest
from scipy.special import logit
from sklearn.metrics import log_loss, roc_auc_score

from fewlabel import AutoClassifier

QUICK = dict(portfolio=["logistic regression", "naive Bayes"], n_repeats=1, random_state=0)


def rare_class(seed, n=1500, share=0.01, labels=10, shift=1.0):
    """Rows of which 1% are positive; the same number of labels of each class."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n + 4 * labels, dtype=int)
    y[: round(share * n) + labels] = 1
    X = rng.normal(size=(len(y), 4))
    X[:, 0] += shift * y
    few = np.full(len(y), -1)
    few[np.r_[:labels, -labels:0]] = y[np.r_[:labels, -labels:0]]
    return X, y, few


def test_probabilities_average_to_the_prior_on_the_unlabeled_rows():
    X, _, few = rare_class(0)
    plain, moved = AutoClassifier(**QUICK).fit(X, few), AutoClassifier(prior=0.01, **QUICK).fit(X, few)
    assert moved.predict_proba(X[few < 0])[:, 1].mean() == pytest.approx(0.01)
    assert (plain.base_rate_, moved.base_rate_) == (0.5, 0.01)
    assert moved.prior_ is None
    np.testing.assert_array_equal(plain.decision_function(X), moved.decision_function(X))
    np.testing.assert_array_equal(plain.predict(X), moved.predict(X))


def test_without_unlabeled_rows_the_odds_are_multiplied():
    X, y, _ = rare_class(1, n=40, share=0.5)
    plain, moved = AutoClassifier(**QUICK).fit(X, y), AutoClassifier(prior=0.1, **QUICK).fit(X, y)
    before, after = (logit(model.predict_proba(X)[:, 1]) for model in (plain, moved))
    np.testing.assert_allclose(after - before, logit(0.1) - logit(y.mean()))


def test_a_prior_is_for_two_classes():
    with pytest.raises(ValueError, match=r"prior=0.1 is for two classes, and y has 3; leave it out"):
        AutoClassifier(prior=0.1).fit(np.zeros((30, 1)), [0, 1, 2] * 10)


@pytest.mark.parametrize("shift", [0.7, 1.5])
def test_ten_labels_of_each_class_are_not_worse_than_the_constant(shift):
    """A rare class, 20 draws: the log-loss on the unlabeled rows, where the prior is the true share."""
    ratios = []
    for seed in range(20):
        X, y, few = rare_class(seed, shift=shift)
        hidden = few < 0
        share = y[hidden].mean()
        model = AutoClassifier(prior=share, **QUICK).fit(X, few)
        constant = log_loss(y[hidden], np.full(hidden.sum(), share))
        ratios.append(log_loss(y[hidden], model.predict_proba(X[hidden])[:, 1]) / constant)
    assert np.mean(ratios) <= 1.0
    assert max(ratios) < 1.15


@pytest.mark.parametrize("seed", [11, 18])
def test_ten_labels_that_are_ranked_wrong_out_of_fold_do_not_switch_the_model_off(seed):
    """Out of fold the AUC is below 1/2, on the hidden rows above .65: the probabilities still tell rows apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(210) % 2
    X = rng.normal(size=(210, 4)) + 0.5 * y[:, None]
    few = np.where(np.arange(210) < 10, y, -1)
    model = AutoClassifier(["logistic regression"], n_repeats=1, random_state=0).fit(X, few)
    hidden = few < 0
    probability = model.predict_proba(X[hidden])[:, 1]
    assert roc_auc_score(few[model.labeled_rows_], model.out_of_fold_) < 0.5
    np.testing.assert_array_equal(np.argsort(probability), np.argsort(model.decision_function(X[hidden])))
    assert log_loss(y[hidden], probability) < np.log(2)


@pytest.mark.parametrize("n_positive", [20, 60])
def test_predict_is_where_the_probability_is_above_the_share_of_the_labels(n_positive):
    rng = np.random.default_rng(5)
    y = (np.arange(120) < n_positive).astype(int)
    X = rng.normal(size=(120, 3)) + 0.8 * y[:, None]
    model = AutoClassifier(**QUICK).fit(X, y)
    new = rng.normal(size=(500, 3)) + 0.4
    probability = model.predict_proba(new)
    np.testing.assert_array_equal(model.predict(new), probability[:, 1] > n_positive / 120)
    # With as many labels of each class, the more likely class.
    if n_positive == 60:
        np.testing.assert_array_equal(model.predict(new), probability.argmax(axis=1))
