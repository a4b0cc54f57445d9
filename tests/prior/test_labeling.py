"""Labeling that depends on named columns: SAR-EM against a slow version, and what it does for estimates."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from fewlabel import AutoClassifier, TableClassifier
from fewlabel.prior import _labeling, labeling_probability, weigh_positives
from tests.reference.labeling import sar_em


def labeled_by_a_column(n=900, seed=0):
    """Positives differ in the first two columns; those with a high third column are labeled."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.35
    X = rng.normal(size=(n, 3))
    X[:, :2] += 1.5 * truth[:, None]
    chance = np.where(X[:, 2] > 0, 0.7, 0.1)
    return X, truth, truth & (rng.random(n) < chance)


def test_sar_em_equals_its_slow_version(monkeypatch):
    X, _, labeled = labeled_by_a_column(300)
    monkeypatch.setattr(_labeling, "_TOLERANCE", 0.0)
    monkeypatch.setattr(_labeling, "_N_STEPS", 8)
    slow, likelihoods = sar_em(X, labeled, [2], 0.3, 8)
    np.testing.assert_allclose(labeling_probability(X, labeled, [2], 0.3), np.clip(slow, 1e-3, 1 - 1e-3), atol=0.01)
    assert (np.diff(likelihoods) > -1e-6).all()


def test_labeled_rows_stand_for_the_others_by_their_weights():
    X, truth, labeled = labeled_by_a_column()
    weight = weigh_positives(X, labeled, [2], 0.3)
    assert (weight[~labeled] == 1).all()
    hidden = truth & ~labeled
    plain = abs(X[labeled, 2].mean() - X[hidden, 2].mean())
    assert abs(np.average(X[labeled, 2], weights=weight[labeled]) - X[hidden, 2].mean()) < 0.6 * plain


def test_a_named_column_no_longer_ranks():
    X, truth, labeled = labeled_by_a_column()
    y = pd.Series(np.where(labeled, "yes", None))
    hidden = ~labeled
    members = ["logistic regression", "extra trees"]
    aucs = {}
    for because in (None, ["region"]):
        model = TableClassifier(AutoClassifier(members, n_repeats=1, labeled_because=because, random_state=0))
        model.fit(pd.DataFrame(X, columns=["a", "b", "region"]), y)
        aucs[because is None] = roc_auc_score(truth[hidden], model.estimator_.decision_function(X[hidden]))
    assert aucs[False] > aucs[True] + 0.02


def test_bad_columns_are_named():
    X, truth, labeled = labeled_by_a_column(60)
    y = pd.Series(np.where(labeled, 1, -1)).mask(~labeled)
    with pytest.raises(ValueError, match="labeled_because holds columns that X does not have"):
        AutoClassifier("small", labeled_because=[7]).fit(X, y)
    with pytest.raises(ValueError, match="labeled_because is for positives only"):
        AutoClassifier("small", labeled_because=[2]).fit(X, np.where(np.arange(60) < 30, truth, -1))
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="the table has no column 'd'"):
        TableClassifier(AutoClassifier("small", labeled_because=["d"])).fit(table, y)
