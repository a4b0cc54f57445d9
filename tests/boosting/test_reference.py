"""Round by round, the boosters equal slow versions with explicit pairs and copies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabel.boosting import PNUAdaBoostClassifier, PNUAUCBoostClassifier
from fewlabel.boosting.growing import draw_columns
from reference import ada, pnu_auc
from reference.fitted_stumps import stumps_of
from reference.tables import tables, to_y

pytestmark = pytest.mark.filterwarnings("ignore:No split improves the objective")


def assert_same_rounds(model, rounds, jump):
    assert model.n_iter_ == len(rounds)
    for stump, expected, loss in zip(stumps_of(model), rounds, model.train_loss_):
        column, theta, sign, missing = expected["stump"]
        assert (stump["column"], stump["sign"]) == (column, sign)
        assert stump["threshold"] == pytest.approx(theta, rel=1e-12)
        if missing is not None:
            assert stump["on_missing"] == missing
        assert stump["high"] - stump["low"] == pytest.approx(jump * expected["alpha"], abs=1e-9)
        assert loss == pytest.approx(expected["objective"], rel=1e-9, abs=1e-9)


@settings(max_examples=200, deadline=None)
@given(
    table=tables(),
    gamma=st.sampled_from([0.0, 0.3, 0.95, 1.0]),
    rho=st.sampled_from([0.0, 0.02, 0.2]),
    step=st.sampled_from(["exact", "bound"]),
    learning_rate=st.sampled_from([0.1, 1.0]),
    max_features=st.sampled_from([0.5, 1.0]),
)
def test_pnu_auc_equals_explicit_pairs(table, gamma, rho, step, learning_rate, max_features):
    X, signs, weight = table
    model = PNUAUCBoostClassifier(
        12,
        gamma=gamma,
        rho=rho,
        step=step,
        learning_rate=learning_rate,
        max_features=max_features,
        random_state=0,
    ).fit(X, to_y(signs), sample_weight=weight)
    rounds = pnu_auc.fit(
        X,
        signs,
        weight=weight,
        gamma=gamma if (signs == 0).any() else 1.0,
        rho=rho,
        step=step,
        learning_rate=learning_rate,
        n_rounds=12,
        draw=lambda t: draw_columns(model._seed, t, t + 1, X.shape[1], model._n_drawn(X.shape[1]))[0],
    )
    assert_same_rounds(model, rounds, jump=1)


@settings(max_examples=60, deadline=None)
@given(
    table=tables(),
    gamma=st.sampled_from([0.1, 0.5, 0.95, 1.0]),
    scheme=st.sampled_from(["labeled", "pu-un"]),
    learning_rate=st.sampled_from([0.1, 1.0]),
)
def test_pnu_ada_equals_adaboost_on_copies(table, gamma, scheme, learning_rate):
    X, signs, _ = table
    if gamma == 1.0 and scheme == "labeled":
        X, signs = X[signs != 0], signs[signs != 0]
    if gamma == 1.0 and scheme == "pu-un":
        gamma = 0.9  # at the end of its range the positives weigh nothing, and their copies are not made
    model = PNUAdaBoostClassifier(
        8, gamma=gamma, scheme=scheme, learning_rate=learning_rate, max_features=1.0, random_state=0
    )
    model.fit(X, to_y(signs))
    rounds = ada.fit(X, signs, gamma=gamma, scheme=scheme, learning_rate=learning_rate, n_rounds=8)
    assert_same_rounds(model, rounds, jump=2)


@settings(max_examples=20, deadline=None)
@given(table=tables(), step=st.sampled_from(["exact", "bound"]))
def test_gamma_1_ignores_unlabeled_rows(table, step):
    X, signs, weight = table
    y = to_y(signs)
    pnu = PNUAUCBoostClassifier(10, gamma=1.0, step=step, random_state=0).fit(X, y, weight)
    labeled = signs != 0
    weight = None if weight is None else weight[labeled]
    without = PNUAUCBoostClassifier(10, gamma=1.0, step=step, random_state=0).fit(X[labeled], y[labeled], weight)
    np.testing.assert_array_equal(stumps_of(pnu), stumps_of(without))


def test_rankboost_by_hand():
    """Positives 3, 4, negatives 1, 3.5: the stump x > 2.  is right on half of the pairs, wrong on none."""
    model = PNUAUCBoostClassifier(1, step="bound", learning_rate=1.0, max_features=1.0).fit(
        [[3.0], [4.0], [1.0], [3.5]], [1, 1, 0, 0]
    )
    stump = stumps_of(model)[0]
    assert stump["threshold"] == 2.0
    assert stump["sign"] == 1
    assert stump["high"] == pytest.approx(0.5 * np.log(1.5 / 0.5))  # edge 1/2
    assert model.train_loss_[0] == pytest.approx(0.5 + 0.5 * np.exp(-stump["high"]))
