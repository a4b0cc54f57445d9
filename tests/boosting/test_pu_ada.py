"""Ada-PU: round by round as defined, its invariants, its limits, and its errors."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

import fewlabel
from fewlabel.boosting import PUAdaBoostClassifier
from fewlabel.boosting import _threads as threads_module
from fewlabel.exceptions import LabelError, PriorWarning
from reference import pu_ada

pytestmark = [
    pytest.mark.filterwarnings("ignore:No stump was worth a step"),
    pytest.mark.filterwarnings("ignore::fewlabel.exceptions.PriorWarning"),
]


@st.composite
def tables(draw):
    n_p, n_u = draw(st.integers(1, 8)), draw(st.integers(1, 14))
    n, d = n_p + n_u, draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    positive = rng.permutation(np.arange(n) < n_p)
    levels = draw(st.sampled_from([1, 2, 3, 5, 1000]))
    X = rng.integers(0, levels, (n, d)).astype(float)
    if draw(st.booleans()):
        X = rng.normal(size=(n, d)) + positive[:, None] * draw(st.sampled_from([0.0, 1.0, 4.0]))
    if d > 1 and draw(st.booleans()):
        X[:, d - 1] = X[:, 0]
    if draw(st.booleans()):
        X[rng.random((n, d)) < 0.3] = np.nan
    weight = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else None
    return X, positive, weight


def assert_same_rounds(model, rounds):
    assert model.n_iter_ == len(rounds)
    for stump, expected, loss in zip(model.stumps_, rounds, model.train_loss_):
        column, theta, sign, missing = expected["stump"]
        assert (stump["column"], stump["sign"]) == (column, sign)
        assert stump["threshold"] == pytest.approx(theta, rel=1e-12)
        if missing is not None:
            assert stump["on_missing"] == missing
        assert stump["high"] == -stump["low"] == pytest.approx(expected["alpha"], abs=1e-9, rel=1e-6)
        assert loss == pytest.approx(expected["objective"], rel=1e-6, abs=1e-9)


def next_cuts(X, seed, n_thresholds):
    """The cuts behind the draws of a round, from the raw columns: the next mid-point at or above each draw."""

    def draw(t, e):
        part = np.random.default_rng([seed, t, 1]).random((X.shape[1], n_thresholds))[e]
        values = np.unique(X[~np.isnan(X[:, e]), e])
        if len(values) < 2:
            return np.empty(0)
        drawn = (1 - part) * values[0] + part * values[-1]
        cuts = 0.5 * values[:-1] + 0.5 * values[1:]
        return np.array([cuts[cuts >= v][0] if (cuts >= v).any() else cuts[-1] for v in drawn])

    return draw


@settings(max_examples=200, deadline=None)
@given(
    table=tables(),
    prior=st.sampled_from([0.05, 0.3, 0.5, 0.8]),
    learning_rate=st.sampled_from([0.1, 1.0]),
    splitter=st.sampled_from(["random", "best"]),
    max_step=st.sampled_from([None, 0.5]),
    stop_risk=st.sampled_from([0.0, 0.3]),
    non_negative=st.booleans(),
)
def test_equals_three_explicit_weight_sets(table, prior, learning_rate, splitter, max_step, stop_risk, non_negative):
    X, positive, weight = table
    model = PUAdaBoostClassifier(
        12,
        prior=prior,
        learning_rate=learning_rate,
        splitter=splitter,
        n_thresholds=3,
        max_step=max_step,
        stop_risk=stop_risk,
        non_negative=non_negative,
        random_state=0,
    ).fit(X, positive, weight)
    rounds = pu_ada.fit(
        X,
        positive,
        prior=prior,
        weight=weight,
        learning_rate=learning_rate,
        n_rounds=12,
        max_step=np.inf if max_step is None else max_step,
        stop_risk=stop_risk,
        non_negative=non_negative,
        draw=next_cuts(X, model._seed, 3) if splitter == "random" else None,
    )
    # Once the risk is lost among weights of either sign, rounding decides; both sides end within a round of it.
    lost = next((t for t, r in enumerate(rounds) if r["Z"] < 1e-5), len(rounds))
    assume(lost > 0 or not rounds)
    if lost < len(rounds):
        model.stumps_, model.train_loss_ = model.stumps_[:lost], model.train_loss_[:lost]
        rounds = rounds[:lost]
    assert_same_rounds(model, rounds)
