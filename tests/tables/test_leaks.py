"""Columns that separate the classes by themselves."""

import numpy as np
import pandas as pd
import pytest

from fewlabel import TableEncoder
from fewlabel.tables import suspected_leaks


def leaks(table, codes):
    encoder = TableEncoder(random_state=0)
    return list(suspected_leaks(encoder.fit_transform(table), codes, encoder.sources_))


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
    assert leaks(table, np.full(60, -1)) == []


def test_positives_against_unlabeled_rows():
    y = np.repeat([0, 1, 0], 20)
    table = make_table(y)
    assert leaks(table, np.where(y == 1, 1, -1)) == ["number", "flag", "category", "when"]
    refund = np.where((y == 1)[:, None], np.arange(60.0)[:, None], np.nan)
    found = suspected_leaks(refund, np.where(y == 1, 1, -1), ["refund"])
    assert found == {"refund": "is filled for labeled rows only"}


@pytest.mark.parametrize("n_labels", [100, 400])
def test_a_column_that_agrees_with_99_percent_of_the_labels(n_labels):
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, n_labels)
        legitimate = y[:, None] + rng.normal(size=(n_labels, 5))
        verdict = np.where(rng.random(n_labels) < 0.01, 1 - y, y)
        names = suspected_leaks(np.column_stack([legitimate, verdict]), y, [*"abcde", "verdict"])
        assert set(names) <= {"verdict"}
        found += "verdict" in names
    assert found >= 18


def test_several_good_columns_explain_each_other():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    good = 5 * y[:, None] + [1.7, 2.0, 2.2] * rng.normal(size=(400, 3))
    assert suspected_leaks(good, y, ["radius", "area", "perimeter"]) == {}
    assert list(suspected_leaks(np.c_[good[:, 0], rng.normal(size=400)], y, ["radius", "noise"])) == ["radius"]


def test_a_category_per_row_separates_by_chance():
    y = np.repeat([0, 1], 20)
    codes = np.eye(40)  # 40 categories of one row each
    assert suspected_leaks(codes, y, ["city"] * 40) == {}


def test_a_missing_value_does_not_hide_a_leak():
    y = np.repeat([0, 1], 20)
    column = np.where(np.arange(40) == 33, np.nan, 1.0 * y)
    found = suspected_leaks(column[:, None], y, ["a"])
    assert found == {"a": "alone nearly separates the classes (AUC 1.000)"}
