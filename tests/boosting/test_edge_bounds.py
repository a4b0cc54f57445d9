"""Bounds of edges leave columns out of searches, and never the one with the best stump."""

import numpy as np
import pytest

from fewlabel import PNUAdaBoostClassifier, PNUAUCBoostClassifier, PUAdaBoostClassifier
from fewlabel import threads as threads_module
from fewlabel.boosting import booster as booster_module
from fewlabel.boosting import rows as rows_module
from fewlabel.boosting.loop import StumpLearner
from fewlabel.kernels.stumps import UNIT, best_stump

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


def spy(monkeypatch, look):
    """Call ``look(learner, columns)`` before every search, none of which is inside a kernel of many rounds."""
    search = StumpLearner._search
    monkeypatch.setattr(booster_module, "FEW_CELLS", 0)

    def spied(learner, columns, t):
        look(learner, columns)
        return search(learner, columns, t)

    monkeypatch.setattr(StumpLearner, "_search", spied)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_those_of_a_search_of_all_drawn_columns(name, table, monkeypatch):
    X, y, weight = table
    bounded = MODELS[name].fit_ranking(X, y, sample_weight=weight).stumps_
    spy(monkeypatch, lambda learner, columns: learner._bounds.widen(np.inf))
    full = MODELS[name].fit_ranking(X, y, sample_weight=weight).stumps_
    assert len(full) > 30
    np.testing.assert_array_equal(bounded, full)


@pytest.mark.parametrize("name", MODELS)
def test_searches_in_one_call_and_step_by_step_are_the_same(name, table, monkeypatch):
    X, y, weight = table
    calls, search_parts = [], rows_module.search_parts
    monkeypatch.setattr(booster_module, "FEW_CELLS", 0)
    monkeypatch.setattr(rows_module, "search_parts", lambda *args: calls.append(args) or search_parts(*args))
    at_once = MODELS[name].fit_ranking(X, y, sample_weight=weight).stumps_
    assert not calls
    monkeypatch.setattr(threads_module, "_CELLS_PER_THREAD", 50)
    in_parts = MODELS[name].set_params(n_jobs=3).fit_ranking(X, y, sample_weight=weight).stumps_
    MODELS[name].set_params(n_jobs=None)
    assert len(calls) >= len(in_parts)
    np.testing.assert_array_equal(at_once, in_parts)


@pytest.mark.parametrize("name", MODELS)
def test_edges_of_all_columns_are_within_the_bounds(name, table, monkeypatch):
    X, y, weight = table
    every, shares = np.arange(X.shape[1]), []

    def check(learner, columns):
        rows, (lower, upper, slack) = learner._rows, learner._bounds.limits
        hist, edges = rows.histogram(learner._coefficients, every), np.empty(len(every), dtype=np.int64)
        best_stump(hist, every, rows.binning.n_cuts, rows.binning.has_missing, edges)
        assert np.all(lower - slack / 2 <= edges / UNIT)
        assert np.all(edges / UNIT <= upper + slack / 2)
        shares.append(np.mean(upper[columns] >= lower[columns].max() - slack))

    spy(monkeypatch, check)
    MODELS[name].fit_ranking(X, y, sample_weight=weight)
    if MODELS[name].learning_rate == 0.1:
        assert np.mean(shares) < 0.95


@pytest.mark.parametrize("form", [{}, {"splitter": "random"}, {"non_negative": False, "learning_rate": 1.0}])
@pytest.mark.parametrize("max_features", [0.5, 1.0])
def test_a_guarded_search_finds_what_a_search_of_all_drawn_columns_does(form, max_features, table, monkeypatch):
    X, y, weight = table
    y = np.where(y == 1, 1, -1)
    model = PUAdaBoostClassifier(60, prior=0.4, max_features=max_features, random_state=0, **form)
    bounded = model.fit_ranking(X, y, sample_weight=weight).stumps_
    searched = []
    spy(monkeypatch, lambda learner, columns: searched.append(np.isfinite(learner._bounds.limits[1]).all()))
    np.testing.assert_array_equal(model.fit_ranking(X, y, sample_weight=weight).stumps_, bounded)
    assert any(searched)
    spy(monkeypatch, lambda learner, columns: learner._bounds.widen(np.inf))
    monkeypatch.setattr("fewlabel.boosting._pu_ada._FIRST", len(X.T))
    np.testing.assert_array_equal(model.fit_ranking(X, y, sample_weight=weight).stumps_, bounded)
    assert len(bounded) > 5
