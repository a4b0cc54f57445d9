import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from fewlabel import CoTrainingClassifier, MultiviewKernelClassifier, ReliefFSelector, VariableClusterer
from fewlabel.columns import as_numbers, as_table, choose_columns, choose_nominal, choose_views

NAMES = ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "chosen",
    [
        [1, 3],
        (3, 1),
        range(1, 4, 2),
        np.array([3, 1, 1], dtype=np.uint8),
        [-1, 1],
        ["b", "d"],
        np.array(["d", "b"]),
        pd.Index(["b", "d"]),
        [False, True, False, True],
        np.array([False, True, False, True]),
    ],
)
def test_names_positions_and_masks_choose_the_same(chosen):
    assert choose_columns(chosen, 4, NAMES, parameter="views").tolist() == [1, 3]


def test_nothing_may_be_chosen():
    assert choose_columns([], 4, parameter="views").tolist() == []
    assert choose_columns([False] * 4, 4, parameter="views").tolist() == []


@pytest.mark.parametrize(
    ("chosen", "names", "message"),
    [
        ("a", NAMES, "views is 'a': expected a list of columns"),
        (2, NAMES, "views is 2: expected a list of columns"),
        ([[0, 1]], NAMES, "expected a list of columns"),
        ([0, 9, -5], None, r"does not have: \[9, -5\]. Columns are numbered from 0 to 3$"),
        (["a", "z"], NAMES, r"does not have: \['z'\]. .* named a, b, c, d$"),
        (["a"], None, "X has none: pass a data frame, or give positions"),
        ([True], NAMES, "a mask of 1 columns, X has 4"),
    ],
)
def test_columns_that_cannot_be_chosen(chosen, names, message):
    with pytest.raises(ValueError, match=message):
        choose_columns(chosen, 4, names, parameter="views")


def test_views():
    assert [v.tolist() for v in choose_views([["a"], [3, 2]], 4, NAMES)] == [[0], [2, 3]]
    with pytest.raises(ValueError, match=r"views holds 1 view\(s\): give 2 or more"):
        choose_views([[0]], 4, least=2)
    with pytest.raises(ValueError, match="view 1 is empty"):
        choose_views([[0], []], 4)
    with pytest.raises(ValueError, match="view 1 holds columns that X does not have"):
        choose_views([[0], [4]], 4)


def test_nominal_columns_by_type_or_as_chosen():
    days = pd.to_datetime(["2024-01-01", None])
    table = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": days, "d": [True, False]})
    assert choose_nominal("auto", table).tolist() == [False, True, False, True]
    assert choose_nominal(["a"], table).tolist() == [True, False, False, False]
    assert choose_nominal([], table).tolist() == [False, False, False, False]


def test_dates_are_numbers():
    days = pd.Series(pd.to_datetime(["2024-01-02", None, "2024-01-01", "2024-01-03"]))
    numbers = as_numbers(days)
    assert np.isnan(numbers[1])
    assert numbers[0] - numbers[2] == numbers[3] - numbers[0] > 0


@pytest.mark.parametrize(
    ("X", "kinds"),
    [
        (np.arange(4.0).reshape(2, 2), "ff"),
        ([[1, "x"], [None, "y"]], "fO"),
        (np.array([[1, None], [2, 3]], dtype=object), "ff"),
        (pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}), "iO"),
    ],
)
def test_tables_of_any_library(X, kinds):
    estimator = BaseEstimator()
    table = as_table(estimator, X, reset=True)
    assert table.shape == (2, 2)
    assert [pd.api.types.is_numeric_dtype(dtype) for dtype in table.dtypes] == [kind != "O" for kind in kinds]
    assert estimator.n_features_in_ == 2


@pytest.mark.parametrize("X", [[[1.0]], pd.DataFrame({"a": [1.0]}), pd.DataFrame({}), csr_array(np.eye(3))])
def test_tables_that_cannot_be_fitted(X):
    with pytest.raises((ValueError, TypeError)):
        as_table(BaseEstimator(), X, reset=True)


def test_numbers_of_a_column():
    assert as_numbers(pd.Series([1, None], dtype="Int64"))[0] == 1
    with pytest.raises(ValueError, match="'a' holds values that are not numbers"):
        as_numbers(pd.Series(["x"], name="a"))
    with pytest.raises(ValueError, match="column 'a' contains infinity"):
        as_numbers(pd.Series([np.inf], name="a"))


@pytest.mark.parametrize(
    "model",
    [
        CoTrainingClassifier(views=[[0], [9]]),
        MultiviewKernelClassifier(views=[[0], [9]]),
        ReliefFSelector(categorical_features=[9]),
        VariableClusterer(categorical_features=[9]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_estimator_refuses_a_column_in_the_same_words(model):
    rng = np.random.default_rng(0)
    with pytest.raises(
        ValueError, match=r"holds columns that X does not have: \[9\]. Columns are numbered from 0 to 3"
    ):
        model.fit(rng.normal(size=(20, 4)), np.arange(20) % 2)
