"""Rounds in one call of a kernel are those that run one by one on rows in pieces, in every bit."""

import numpy as np
import pytest

from fewlabel import PNUAdaBoostClassifier, PNUAUCBoostClassifier, PUAdaBoostClassifier
from fewlabel import threads as threads_module
from fewlabel.boosting import growing
from fewlabel.boosting.rows import Rows, SpreadRows
from fewlabel.kernels import symmetric_trees
from reference.fitted_stumps import stumps_of

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
    """Stumps, losses and threshold with rounds in one call, and one by one in threads; the calls of either kind."""
    calls = {Rows: 0, SpreadRows: 0}
    run = symmetric_trees.weighted_rounds

    def counted(rows, *args):
        calls[type(rows)] += 1
        return run(rows, *args)

    monkeypatch.setattr(symmetric_trees, "weighted_rounds", counted)
    fits = []
    for n_jobs in (1, 3):
        monkeypatch.setattr(threads_module, "_CELLS_PER_THREAD", 50)
        model.set_params(n_jobs=n_jobs).fit_ranking(X, y, sample_weight=weight)
        fits.append((stumps_of(model), model.train_loss_, model.offset_))
    return *fits, calls


ADA = {
    "PNUAB": PNUAdaBoostClassifier(60, random_state=0),
    "Ada-PU": PUAdaBoostClassifier(60, prior=0.4, max_features=0.7, random_state=0),
    "Ada-PU, random cuts": PUAdaBoostClassifier.paper(prior=0.4, normalization="separate", random_state=0),
    "Ada-PU, no guard": PUAdaBoostClassifier(60, prior=0.4, non_negative=False, max_features=1.0, random_state=0),
}


@pytest.mark.filterwarnings("ignore:No split improves", "ignore:prior=")
@pytest.mark.parametrize("kind", ["plain", "separable", "missing values", "one useful column", "weights"])
@pytest.mark.parametrize("name", [*MODELS, *ADA])
def test_rounds_in_one_call_are_those_one_by_one(name, kind, monkeypatch):
    X, y, weight = make_table(kind)
    y = np.where(y == 1, 1, -1) if name.startswith("Ada-PU") else y
    at_once, one_by_one, calls = fit_both({**MODELS, **ADA}[name], X, y, weight, monkeypatch)
    for values, expected in zip(at_once, one_by_one):
        np.testing.assert_array_equal(values, expected)
    assert calls[Rows] > 0
    assert calls[SpreadRows] >= len(one_by_one[0])
    if name == "defaults":
        assert len(at_once[0]) > 100


@pytest.mark.parametrize("refresh", [0.05, 3.0])
def test_weights_computed_again_from_the_scores_give_the_same_model(refresh, monkeypatch):
    X, y, _ = make_table("plain")
    model = PNUAUCBoostClassifier(random_state=0, n_jobs=3)
    monkeypatch.setattr(threads_module, "_CELLS_PER_THREAD", 50)  # not compiled: a constant of a kernel cannot change
    never = model.fit_ranking(X, y).splits_
    for module in (symmetric_trees, growing):
        monkeypatch.setattr(module, "REFRESH", refresh)
    again = model.fit_ranking(X, y).splits_
    np.testing.assert_array_equal(again["column"], never["column"])
    np.testing.assert_array_equal(again["threshold"], never["threshold"])
    np.testing.assert_allclose(again["gain"], never["gain"], rtol=1e-9)


def test_a_warm_start_goes_on_as_one_fit():
    X, y, _ = make_table("missing values")
    whole = PNUAUCBoostClassifier(120, gamma=0.8, random_state=0).fit_ranking(X, y)
    parts = PNUAUCBoostClassifier(70, gamma=0.8, random_state=0, warm_start=True).fit_ranking(X, y)
    parts.set_params(n_estimators=120).fit_ranking(X, y)
    np.testing.assert_array_equal(stumps_of(parts)["column"], stumps_of(whole)["column"])
    np.testing.assert_allclose(stumps_of(parts)["high"], stumps_of(whole)["high"], rtol=1e-9)


def test_the_printed_rounds_are_all_of_them(capsys):
    X, y, _ = make_table("plain")
    PNUAUCBoostClassifier(57, random_state=0, verbose=1).fit_ranking(X, y)
    assert len(capsys.readouterr().out.splitlines()) == 57
