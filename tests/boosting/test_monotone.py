"""Directions of columns: step functions that rise or fall as they must."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabel import (
    AutoClassifier,
    PNUAdaBoostClassifier,
    PNUAUCBoostClassifier,
    PUAdaBoostClassifier,
    TableClassifier,
    TreeAUCBoostClassifier,
    scorecard,
)

BOOSTERS = (
    PNUAUCBoostClassifier,
    PNUAdaBoostClassifier,
    PUAdaBoostClassifier,
    partial(TreeAUCBoostClassifier, max_depth=1),
    partial(TreeAUCBoostClassifier, max_depth=1, splitter="best", max_features=1, learning_rate=0.5),
)


def draw_table(seed, n=120, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X) @ rng.normal(size=d) + rng.normal(size=n) > 0).astype(int)
    y[:2] = [0, 1]
    return X, np.where(rng.random(n) < 0.4, -1, y), rng.integers(-1, 2, d)


@pytest.mark.parametrize("booster", BOOSTERS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_step_goes_in_the_wrong_direction(booster, seed):
    X, y, directions = draw_table(seed)
    if booster is PUAdaBoostClassifier:
        y = np.where(y == 1, 1, -1)
    if len(np.unique(y)) < (2 if booster is PUAdaBoostClassifier else 3):
        return
    model = booster(30, monotone=directions, random_state=0)
    model.set_params(**({"prior": 0.4} if booster is PUAdaBoostClassifier else {}))
    model.fit_ranking(X, y)
    for function in model.shape_functions_:
        steps = np.diff(function.values)
        assert (directions[function.column] * steps >= 0).all()


@pytest.mark.parametrize("booster", BOOSTERS[:2])
def test_free_columns_give_the_model_without_directions(booster):
    X, y, _ = draw_table(3)
    plain = booster(40, random_state=0).fit(X, y)
    free = booster(40, monotone=[0, 0, 0], random_state=0).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), free.decision_function(X))
    # Directions that the free model has anyway change nothing either.
    signs = {f.column: np.sign(np.diff(f.values)) for f in plain.shape_functions_ if len(f.edges)}
    known = {column: int(s[0]) for column, s in signs.items() if (s == s[0]).all()}
    same = booster(40, monotone=known, random_state=0).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), same.decision_function(X))


def test_trees_of_one_level_without_directions_stay_as_they_are():
    X, y, _ = draw_table(3)
    plain = TreeAUCBoostClassifier(40, max_depth=1, random_state=0).fit(X, y)
    free = TreeAUCBoostClassifier(40, max_depth=1, monotone=[0, 0, 0], random_state=0).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), free.decision_function(X))


def test_a_round_without_a_split_in_the_right_direction_does_not_end_the_fit():
    x = np.arange(60.0)[:, None]
    y = (x[:, 0] < 30).astype(int)
    model = TreeAUCBoostClassifier(10, max_depth=1, monotone=[1], bootstrap=False, random_state=0).fit(x, y)
    assert model.n_iter_ == 10
    assert np.ptp(model.decision_function(x)) == 0


def test_names_positions_and_mistakes():
    X, y, _ = draw_table(5)
    table = pd.DataFrame(X, columns=["age", "income", "debt"])
    by_name = PNUAUCBoostClassifier(20, monotone={"income": -1}, random_state=0).fit(table, y)
    by_place = PNUAUCBoostClassifier(20, monotone={1: -1}, random_state=0).fit(X, y)
    np.testing.assert_array_equal(by_name.decision_function(table), by_place.decision_function(X))
    for wrong, message in (
        ({"salary": 1}, "no column 'salary'"),
        ({"income": 2}, "'income' has 2"),
        ([1, 0], "each of the 3 columns"),
    ):
        with pytest.raises(ValueError, match=message):
            PNUAUCBoostClassifier(monotone=wrong).fit(table, y)
    with pytest.raises(ValueError, match="max_depth=1"):
        PNUAUCBoostClassifier(monotone={0: 1}, max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match="interpretable=True"):
        AutoClassifier("small", monotone={0: 1}).fit(X, y)


def test_a_table_model_keeps_the_directions_of_its_columns():
    X, y, _ = draw_table(7, n=300)
    table = pd.DataFrame(X, columns=["age", "income", "debt"]).assign(city=["a", "b", "c"] * 100)
    labels = pd.Series(y).map({0: "good", 1: "bad"})  # the positive class comes first in the alphabet
    auto = AutoClassifier(["RankBoost"], interpretable=True, monotone={"age": 1, "income": -1}, random_state=0)
    model = TableClassifier(auto, positive="bad", random_state=0).fit(table, labels)
    score = []
    for age in np.linspace(-3, 3, 50):
        score.append(model.positive_proba(table.assign(age=age).iloc[:1])[0])
    assert (np.diff(score) >= 0).all()
    card = scorecard(model)
    points = card[(card["column"] == "income") & (card["interval"] != "missing")]["points"]
    assert (np.diff(points) <= 0).all()
    auto.set_params(monotone={"city": 1})
    with pytest.raises(ValueError, match="only a column of numbers"):
        TableClassifier(auto, positive="bad").fit(table, labels)
