"""Bounds of edges leave columns out of searches, and never the one with the best stump."""

import numpy as np
import pytest

from fewlabel import PNUAdaBoostClassifier, PNUAUCBoostClassifier
from fewlabel.kernels import symmetric_trees
from fewlabel.threads import RowThreads

MODELS = {
    "PNU-AUC": PNUAUCBoostClassifier(60, gamma=0.8, random_state=0),
    "PNU-AUC, all columns": PNUAUCBoostClassifier(60, gamma=0.8, max_features=1.0, early_stopping="alarm"),
    "PNU-AUC, as published": PNUAUCBoostClassifier.paper(random_state=0),
    "RankBoost": PNUAUCBoostClassifier(60, learning_rate=0.3, random_state=0),
    "PNUAB": PNUAdaBoostClassifier(60, learning_rate=0.1, random_state=0),
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 12)).round(2)
    score = X[:, :3] @ [1.0, 0.7, 0.5] + rng.normal(size=600)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 5] = rng.normal(size=600)  # nothing is missing
    X[:, 7] = X[:, 1]  # a tie in every round
    return X, np.where(np.arange(600) < 300, score > 0.5, -1).astype(int), rng.integers(1, 4, 600).astype(float)


@pytest.fixture
def one_by_one(monkeypatch):
    """Searches run as Python, so that they can be watched."""
    monkeypatch.setattr(RowThreads, "n_ranges", lambda threads, n_rows, n_columns: 2)


def search_all(monkeypatch):
    """Let a search look at every column that it is given."""
    monkeypatch.setattr(symmetric_trees, "promising_columns", lambda criterion, columns: columns)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_those_of_a_search_of_all_drawn_columns(name, table, one_by_one, monkeypatch):
    X, y, weight = table
    bounded = MODELS[name].fit_ranking(X, y, sample_weight=weight).splits_
    search_all(monkeypatch)
    full = MODELS[name].fit_ranking(X, y, sample_weight=weight).splits_
    assert len(full) > 30
    np.testing.assert_array_equal(bounded, full)


@pytest.mark.parametrize("name", MODELS)
def test_edges_of_all_columns_are_within_the_bounds(name, table, one_by_one, monkeypatch):
    X, y, weight = table
    every = np.arange(X.shape[1])
    shares = []
    search = symmetric_trees.search

    def checked(rows, cuts, criterion, columns, tries, n_leaves, key):
        lower, upper = criterion.lower.copy(), criterion.upper.copy()
        own = criterion._replace(lower=np.empty(len(every)), upper=np.empty(len(every)))
        hist = symmetric_trees.code_sums(rows, every, every[:0], criterion.coefficients, n_leaves)
        symmetric_trees.best_split(hist, hist, every, tries, cuts, own, key)
        assert np.all(lower - 5e-10 <= own.lower)
        assert np.all(own.lower <= upper + 5e-10)
        shares.append(np.mean(upper[columns] >= lower[columns].max() - 1e-9))
        return search(rows, cuts, criterion, columns, tries, n_leaves, key)

    monkeypatch.setattr(symmetric_trees, "search", checked)
    MODELS[name].fit_ranking(X, y, sample_weight=weight)
    if MODELS[name].learning_rate == 0.1:
        assert np.mean(shares) < 0.95
