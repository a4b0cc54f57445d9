"""Kinds of columns, conversion to a kind, and columns that are dropped."""

import numpy as np
import pandas as pd
import pytest

from fewlabel.exceptions import TableError
from fewlabel.tables import read_columns
from fewlabel.tables.kinds import as_kind, kind_of, why_dropped


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "number"),
        ([1.5, None], "number"),
        (["1", " 2.5 ", None], "number"),
        ([None, None], "number"),
        ([True, False], "boolean"),
        ([True, None], "boolean"),
        (["yes", "No", None], "boolean"),
        (["2024-01-31", "2024-02-01"], "date"),
        (["31.12.2024 10:00", "1.2.2025 11:30"], "date"),
        (pd.to_datetime(["2024-01-31"]), "date"),
        (["a", "b"], "text"),
        (["1", "b"], "text"),
        (["2024-01-31", "soon"], "text"),
        (pd.Categorical(["x", "y"]), "text"),
        (["may", "june"], "text"),
    ],
)
def test_kinds(values, kind):
    assert kind_of(pd.Series(values)) == kind


def test_values_that_do_not_fit_become_missing():
    found = as_kind(pd.Series(["1", "x", None, "inf", "2.5"]), "number")
    np.testing.assert_array_equal(found, [1, np.nan, np.nan, np.nan, 2.5])
    np.testing.assert_array_equal(as_kind(pd.Series([1, 0, None]), "boolean"), [1, 0, np.nan])
    np.testing.assert_array_equal(as_kind(pd.Series(["Yes", "n", "?"]), "boolean"), [1, 0, np.nan])
    assert as_kind(pd.Series(["2024-01-31", "x"]), "date").isna().tolist() == [False, True]
    assert as_kind(pd.Series([1, None], dtype="Int64"), "text").tolist() == ["1", None]


IDENTIFIER = "looks like an identifier"


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("a", [np.nan] * 30, "empty"),
        ("a", [3] * 30, "constant"),
        ("a", [3] * 29 + [np.nan], None),  # whether it is missing may be informative
        ("a", range(30), IDENTIFIER),
        ("a", range(30, 0, -1), IDENTIFIER),
        ("customer_id", np.random.default_rng(0).permutation(30) * 17, IDENTIFIER),
        ("amount", np.random.default_rng(0).permutation(30) * 17, None),
        ("a", np.arange(30) / 7, None),
        ("a", [f"row-{k}" for k in range(30)], IDENTIFIER),
        ("a", [f"a long remark number {k}" for k in range(30)], None),
        ("a", ["x", "y"] * 15, None),
    ],
)
def test_dropped_columns(name, values, reason):
    column = pd.Series(values)
    kind = kind_of(column)
    assert why_dropped(name, as_kind(column, kind), kind) == reason


def test_a_table_is_read_column_by_column():
    table = pd.DataFrame({"paid": ["yes", "no"] * 2, 5: [1, 2, 2, 3], "same": 7, "none": None}, index=[3, 1, 2, 0])
    found = read_columns(table)
    assert found.kinds == {"paid": "boolean", "5": "number"}
    assert found.dropped == {"same": "constant", "none": "empty"}
    assert found.table["paid"].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert found.table.index.tolist() == [3, 1, 2, 0]
    with pytest.raises(TableError, match="no column is left to learn from"):
        read_columns(table[["same", "none"]])
    with pytest.raises(TableError, match="several columns named 'a'"):
        read_columns(pd.DataFrame([[1, 2]], columns=["a", "a"]))
