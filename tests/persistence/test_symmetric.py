"""Frozen symmetric trees: the sum of their leaves, and no index outside of the arrays."""

import numpy as np
import pytest

from fewlabel.persistence import FrozenSymmetricTrees
from fewlabel.persistence.forests import freeze


def made(n_outputs=1):
    rng = np.random.default_rng(0)
    columns, missing_up = rng.integers(4, size=(5, 3)), rng.integers(2, size=(5, 3))
    thresholds, values = rng.normal(size=(5, 3)), rng.normal(size=(n_outputs, 5, 8))
    return FrozenSymmetricTrees(columns, thresholds, missing_up, values, 4, np.arange(n_outputs) + 0.5)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_row_gets_the_sum_of_its_leaves(n_outputs):
    model, X = made(n_outputs), np.random.default_rng(1).normal(size=(300, 4)).astype(np.float32)
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    expected = np.empty((len(X), n_outputs))
    for i, row in enumerate(X):
        for k in range(n_outputs):
            total = model.start[k]
            for t in range(5):
                leaf = 0
                for column, threshold, missing_up in zip(model.columns[t], model.thresholds[t], model.missing_up[t]):
                    up = bool(missing_up) if np.isnan(row[column]) else row[column] > threshold
                    leaf = 2 * leaf + up
                total += model.values[k, t, leaf]
            expected[i, k] = total
    found = model.decision_function(X)
    np.testing.assert_array_equal(found, expected[:, 0] if n_outputs == 1 else expected)


def test_trees_of_several_depths():
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(60, 2)).astype(float)  # two splits are all there are, one of them without use at times
    y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0.5).astype(int)
    model = catboost.CatBoostClassifier(20, depth=6, thread_count=1, verbose=False, allow_writing_files=False).fit(X, y)
    frozen = freeze(model)
    assert np.isinf(frozen.thresholds).any()
    expected = model.predict(X, prediction_type="RawFormulaVal")
    np.testing.assert_allclose(frozen.decision_function(X), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("value", [4, -1])
def test_a_crafted_column_is_refused(value):
    state = {k: np.array(v, copy=True) for k, v in made().__getstate__().items()}
    state["columns"][2, 1] = value
    refuse(state)


@pytest.mark.parametrize("name", ["columns", "thresholds", "missing_up", "values", "start"])
def test_arrays_of_other_shapes_are_refused(name):
    state = made(2).__getstate__()
    for cut in (np.s_[:-1], np.s_[None], np.s_[..., :1]):
        if state[name][cut].shape != state[name].shape:
            refuse({**state, name: state[name][cut]})


def refuse(state):
    with pytest.raises(ValueError, match="damaged"):
        FrozenSymmetricTrees.__new__(FrozenSymmetricTrees).__setstate__(state)


def test_other_columns_are_an_error():
    with pytest.raises(ValueError, match="grown on 4 columns"):
        made().decision_function(np.zeros((2, 3)))
