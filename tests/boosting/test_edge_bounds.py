"""Bounds of edges leave columns out of searches, and never the one with the best stump."""

import numpy as np
import pytest

from fewlabel import PNUAdaBoostClassifier, PNUAUCBoostClassifier, PUAdaBoostClassifier, RankBoostClassifier
from fewlabel.boosting.loop import EdgeBounds, StumpLearner
from fewlabel.kernels.stumps import UNIT, best_stump

MODELS = {
    "PNU-AUC": PNUAUCBoostClassifier(60, gamma=0.8, random_state=0),
    "PNU-AUC, all columns": PNUAUCBoostClassifier(60, gamma=0.8, max_features=1.0, early_stopping="alarm"),
    "PNU-AUC, as published": PNUAUCBoostClassifier.paper(random_state=0),
    "RankBoost": RankBoostClassifier(60, learning_rate=0.3, random_state=0),
    "PNUAB": PNUAdaBoostClassifier(60, learning_rate=0.1, random_state=0),
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 12)).round(2)
    score = X[:, :3] @ [1.0, 0.7, 0.5] + rng.normal(size=600)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 7] = X[:, 1]  # a tie in every round
    return X, np.where(np.arange(600) < 300, score > 0.5, -1).astype(int), rng.integers(1, 4, 600).astype(float)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_those_of_a_search_of_all_drawn_columns(name, table, monkeypatch):
    X, y, weight = table
    bounded = MODELS[name].fit_ranking(X, y, sample_weight=weight).stumps_
    searched = []
    monkeypatch.setattr(EdgeBounds, "candidates", lambda self, columns: searched.append(len(columns)) or columns)
    full = MODELS[name].fit_ranking(X, y, sample_weight=weight).stumps_
    assert len(searched) >= len(full) > 30
    np.testing.assert_array_equal(bounded, full)


@pytest.mark.parametrize("name", MODELS)
def test_edges_of_all_columns_are_within_the_bounds(name, table, monkeypatch):
    X, y, weight = table
    candidates, widths, learners, shares = EdgeBounds.candidates, [], [], []

    def checked(bounds, columns):
        learner = learners[-1]
        rows, every = learner._rows, np.arange(X.shape[1])
        hist = rows.histogram(learner._coefficients, every)
        edges = np.empty(len(every), dtype=np.int64)
        best_stump(hist, every, rows.binning.n_cuts, rows.binning.has_missing, edges)
        edges = edges / UNIT
        assert np.all(bounds._lower - 1e-12 <= edges)
        assert np.all(edges <= bounds._upper + 1e-12)
        widths.append(np.min(bounds._upper - bounds._lower))
        chosen = candidates(bounds, columns)
        shares.append(len(chosen) / len(columns))
        return chosen

    start = StumpLearner.__init__
    monkeypatch.setattr(StumpLearner, "__init__", lambda self, *args: learners.append(self) or start(self, *args))
    monkeypatch.setattr(EdgeBounds, "candidates", checked)
    MODELS[name].fit_ranking(X, y, sample_weight=weight)
    assert np.isfinite(widths[-1])
    if MODELS[name].learning_rate == 0.1:
        assert np.mean(shares) < 0.95


def test_a_guarded_search_leaves_no_column_out(table, monkeypatch):
    X, y, _ = table
    candidates, shares = EdgeBounds.candidates, []

    def counted(bounds, columns):
        chosen = candidates(bounds, columns)
        shares.append(len(chosen) / len(columns))
        return chosen

    monkeypatch.setattr(EdgeBounds, "candidates", counted)
    PUAdaBoostClassifier(20, prior=0.4, random_state=0).fit_ranking(X, np.where(y == 1, 1, -1))
    assert set(shares) == {1.0}
