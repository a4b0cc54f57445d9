"""Rounds that run ahead in one call of a kernel are those that run one by one, in every bit."""

import numpy as np
import pytest

from fewlabel import PNUAUCBoostClassifier
from fewlabel.boosting import booster as booster_module
from fewlabel.boosting import rows as rows_module
from fewlabel.boosting.rows import FewRows

MODELS = {
    "defaults": PNUAUCBoostClassifier(random_state=0),
    "unlabeled rows": PNUAUCBoostClassifier(180, gamma=0.7, rho=0.05, random_state=0),
    "as published": PNUAUCBoostClassifier.paper(n_estimators=230, random_state=0),
    "long steps": PNUAUCBoostClassifier(400, learning_rate=1, random_state=0),
    "bound": PNUAUCBoostClassifier(60, step="bound", gamma=0, max_features=2, random_state=0),
    "early stopping": PNUAUCBoostClassifier(early_stopping=True, random_state=0),
    "alarm": PNUAUCBoostClassifier(early_stopping="alarm", gamma=0.6, random_state=0),
    "no edge is enough": PNUAUCBoostClassifier(rho=0.97, random_state=0),
}


def make_table(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 8)).round(1)
    score = X[:, :3] @ [1.0, 0.7, 0.5] + (0.0 if kind == "separable" else 1.0) * rng.normal(size=240)
    if kind == "missing values":
        X[rng.random(X.shape) < 0.1] = np.nan
    if kind == "one useful column":
        X[:, 1:] = 0.0
    weight = rng.integers(1, 4, 240).astype(float) if kind == "weights" else None
    return X, np.where(np.arange(240) < 120, score > 0.3, -1).astype(int), weight


def fit_both(model, X, y, weight, monkeypatch):
    """Stumps and losses with rounds ahead, and one by one; the number of calls for rounds ahead."""
    calls, run, found = [], FewRows.run, []
    monkeypatch.setattr(FewRows, "run", lambda *args: calls.append(0) or run(*args))
    for few in (booster_module.FEW_CELLS, 0):
        monkeypatch.setattr(booster_module, "FEW_CELLS", few)
        model.fit_ranking(X, y, sample_weight=weight)
        found.append((model.stumps_, model.train_loss_, model.offset_))
    return *found, len(calls)


@pytest.mark.filterwarnings("ignore:No stump improves")
@pytest.mark.parametrize("kind", ["plain", "separable", "missing values", "one useful column", "weights"])
@pytest.mark.parametrize("name", MODELS)
def test_rounds_ahead_are_those_one_by_one(name, kind, monkeypatch):
    ahead, one_by_one, n_calls = fit_both(MODELS[name], *make_table(kind), monkeypatch)
    for values, expected in zip(ahead, one_by_one):
        np.testing.assert_array_equal(values, expected)
    assert (n_calls == 0) == (name == "alarm")
    if name == "defaults":
        assert len(ahead[0]) > 100


@pytest.mark.parametrize("refresh", [0.05, 3.0])
def test_weights_are_recomputed_as_often(refresh, monkeypatch):
    monkeypatch.setattr(rows_module, "_REFRESH", refresh)
    ahead, one_by_one, n_calls = fit_both(MODELS["defaults"], *make_table("plain"), monkeypatch)
    np.testing.assert_array_equal(ahead[0], one_by_one[0])
    assert n_calls > 3


def test_a_warm_start_goes_on_as_one_fit(monkeypatch):
    X, y, _ = make_table("missing values")
    whole = PNUAUCBoostClassifier(120, gamma=0.8, random_state=0).fit_ranking(X, y)
    parts = PNUAUCBoostClassifier(70, gamma=0.8, random_state=0, warm_start=True).fit_ranking(X, y)
    parts.set_params(n_estimators=120).fit_ranking(X, y)
    np.testing.assert_array_equal(parts.stumps_["column"], whole.stumps_["column"])
    np.testing.assert_allclose(parts.stumps_["high"], whole.stumps_["high"], rtol=1e-9)


def test_the_printed_rounds_are_all_of_them(capsys):
    X, y, _ = make_table("plain")
    PNUAUCBoostClassifier(57, random_state=0, verbose=1).fit_ranking(X, y)
    assert len(capsys.readouterr().out.splitlines()) == 57
