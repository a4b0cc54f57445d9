"""Parts check themselves, and formulas are what they say."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, logit

from fewlabel.parts import (
    Chain,
    Classes,
    Evidence,
    FittedModel,
    Linear,
    LogOdds,
    Ranks,
    Select,
    Sigmoids,
    Softmax,
    WeightedSum,
)
from fewlabel.parts.part import plain_json

X = np.random.default_rng(0).normal(size=(50, 3))


def line(*coef):
    return Linear(np.array([coef], dtype=float), np.zeros(1))


def binary_model(**fields):
    ranks = Ranks.among(X @ np.array([[1.0], [2.0], [0.0]]))
    score = Chain([line(1.0, 2.0, 0.0), ranks, LogOdds(1)])
    link = Sigmoids(np.array([0.3]), np.array([0.7]), np.array([-0.2]))
    fields = {"positive": 1, **fields}
    return FittedModel(score, link, Classes.of(np.array(["no", "yes"], dtype=object)), **fields)


def test_a_sum_of_chains_is_the_sum():
    total = WeightedSum(np.array([0.25, 0.75]), [line(1.0, 0.0, 0.0), Chain([Select(np.array([2, 1]), 3), line(1, 2)])])
    expected = 0.25 * X[:, 0] + 0.75 * (X[:, 2] + 2 * X[:, 1])
    np.testing.assert_allclose(total(X)[:, 0], expected, rtol=1e-14)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Select(np.array([0, 3]), 3),
        lambda: Select(np.array([-1]), 3),
        lambda: Select(np.array([0.0]), 3),
        lambda: Select(np.array([[0]]), 3),
        lambda: Select([0], 3),
        lambda: Select(np.array([0]), 3.0),
        lambda: Select(np.array([0]), True),
        lambda: Chain([]),
        lambda: Chain([line(1.0), Linear(np.ones((1, 2)), np.zeros(1))]),
        lambda: Chain(line(1.0)),
        lambda: Chain([np.ones(3)]),
        lambda: WeightedSum(np.ones(2), [line(1.0)]),
        lambda: WeightedSum(np.ones(2), [line(1.0), line(1.0, 1.0)]),
        lambda: WeightedSum(np.array([np.nan]), [line(1.0)]),
        lambda: Linear(np.ones((2, 1)), np.zeros(1)),
        lambda: Ranks(np.array([1.0, 1.0]), np.array([0.2, 0.8]), np.array([0, 2])),
        lambda: Ranks(np.array([1.0, 2.0]), np.array([0.2, 0.8]), np.array([0, 3])),
        lambda: Ranks(np.array([1.0, 2.0]), np.array([0.2, 0.8]), np.array([0, 2, 2])),
        lambda: Ranks(np.array([1.0, np.nan]), np.array([0.2, 0.8]), np.array([0, 2])),
        lambda: Classes(["a"], "object"),
        lambda: Classes(["a", None], "object"),
        lambda: Classes(["a", "b"], "int"),
        lambda: Classes(["a", "b"], "V8"),
        lambda: Evidence(labeled_rows=np.arange(3)),
        lambda: binary_model(positive=None),
        lambda: binary_model(positive=2),
        lambda: binary_model(names=["a"]),
        lambda: binary_model(about=[]),
        lambda: binary_model(about={1: 2}),
    ],
)
def test_unsound_parts_are_refused(make):
    with pytest.raises((ValueError, TypeError)):
        make()


def test_formulas_refuse_other_tables():
    with pytest.raises(ValueError, match="3 columns"):
        line(1.0, 2.0, 3.0)(np.ones((2, 4)))


def test_ranks_continue_beyond_the_reference_rows():
    ranks = Ranks.among(np.array([[1.0], [2.0], [2.0], [4.0]]))
    found = ranks(np.array([[-np.inf], [-1e9], [1.0], [1.5], [2.0], [4.0], [5.0], [np.inf], [np.nan]]))[:, 0]
    assert (np.diff(found[:-1]) > 0).all()
    assert found[0] >= 0
    assert found[-2] <= 1
    np.testing.assert_allclose(found[2:6], [1 / 8, 5 / 16, 1 / 2, 7 / 8])
    assert found[-1] == ranks(np.array([[0.0]]))[0, 0]


@pytest.mark.parametrize("positive", [0, 1])
def test_a_binary_model_by_hand(positive):
    model = binary_model(positive=positive)
    towards = logit(np.clip(model.score.steps[1](X[:, :1] + 2 * X[:, 1:2]), 1e-6, 1 - 1e-6))[:, 0] + 0.3
    decision = model.decision_function(X)
    np.testing.assert_allclose(decision, towards if positive else -towards, atol=1e-13)
    np.testing.assert_allclose(model.positive_proba(X), expit(0.7 * towards - 0.2), atol=1e-14)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert (model.predict(X) == np.where(towards > 0, *model.classes_[[positive, 1 - positive]])).all()
    assert (np.diff(towards[model.rank(X)]) <= 0).all()
    moved = binary_model(positive=positive, threshold=1.0)
    assert (moved.predict(X) == model.classes_[np.where(towards > 1.0, positive, 1 - positive)]).all()


def test_more_classes_by_hand():
    scores = Linear(np.eye(3), np.zeros(3))
    classes = Classes.of(np.array([3, 5, 9]))
    slopes = Sigmoids(np.array([0.1, 0.0, -0.1]), np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.5, -0.5]))
    model = FittedModel(scores, slopes, classes, None)
    odds = expit((X + slopes.offset) * slopes.slope + slopes.intercept)
    np.testing.assert_allclose(model.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), rtol=1e-12)
    assert (model.predict(X) == model.classes_[odds.argmax(axis=1)]).all()
    softmax = FittedModel(scores, Softmax(2.0, 3), classes, None)
    power = np.exp(2.0 * X)
    np.testing.assert_allclose(softmax.predict_proba(X), power / power.sum(axis=1, keepdims=True), rtol=1e-12)
    with pytest.raises(ValueError, match="none is the positive one"):
        model.positive_proba(X)


def test_json_is_plain_and_finite():
    assert plain_json({"a": (1, np.float32(0.5)), "b": float("nan")}) == {"a": [1, 0.5], "b": None}
    deep = []
    for _ in range(40):
        deep = [deep]
    for wrong in ({1: 2}, {"a": object()}, deep, np.ones(3)):
        with pytest.raises(ValueError, match="value"):
            plain_json(wrong)


def test_sizes_of_the_same_name_agree_and_are_attributes_also_after_pickling():
    linear = Linear(np.ones((2, 3)), np.zeros(2))
    again = pickle.loads(pickle.dumps(linear))
    assert (again.n_inputs, again.n_outputs) == (linear.n_inputs, linear.n_outputs) == (3, 2)
    with pytest.raises(ValueError, match=r"intercept has the shape \(3,\)"):
        Linear(np.ones((2, 3)), np.zeros(3))
