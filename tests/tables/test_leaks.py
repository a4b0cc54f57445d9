"""Columns that separate the classes by themselves."""

import numpy as np
import pandas as pd

from fewlabel import TableEncoder
from fewlabel.tables import suspected_leaks


def leaks(table, codes):
    encoder = TableEncoder(random_state=0)
    return suspected_leaks(encoder.fit_transform(table), codes, encoder.sources_)


def make_table(y):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "noise": rng.normal(size=len(y)),
            "number": y + rng.random(len(y)) / 2,
            "flag": np.where(y == 1, "b", "a"),
            "category": np.where(y == 1, "b", rng.choice(["a", "c"], len(y))),
            "mixed": rng.choice(["a", "b", "c"], len(y)),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(100 * y + rng.integers(0, 50, len(y)), unit="D"),
        }
    )


def test_columns_that_separate_the_classes_are_reported():
    y = np.repeat([0, 1, -1], 20)
    assert leaks(make_table(y), y) == ["number", "flag", "category", "when"]


def test_three_classes():
    y = np.repeat([0, 1, 2], 10)
    table = make_table(y)
    table["code"] = np.array(["x", "y", "z"])[y]
    found = leaks(table, y)
    assert {"number", "code"} <= set(found)
    assert not {"noise", "mixed", "flag"} & set(found)


def test_few_labels_or_one_class_prove_nothing():
    y = np.repeat([0, 1, -1], 20)
    table = make_table(y)
    few = np.where(np.isin(np.arange(60), [0, 1, 20, 21]), y, -1)
    assert leaks(table, few) == []
    assert leaks(table, np.where(y == 1, 1, -1)) == []


def test_a_category_per_row_separates_by_chance():
    y = np.repeat([0, 1], 20)
    codes = np.eye(40)  # 40 categories of one row each
    assert suspected_leaks(codes, y, ["city"] * 40) == []


def test_missing_values_are_not_compared():
    y = np.repeat([0, 1], 20)
    column = np.where(np.arange(40) == 3, np.nan, 1.0 * y)
    assert suspected_leaks(column[:, None], y, ["a"]) == []
