"""What `fewlabel.check` finds in a table, and what it leaves alone."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

import fewlabel
from fewlabel.exceptions import LabelError

N = 240


def make(**columns):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=N), "city": rng.choice(["Oslo", "Graz"], N)})
    return table.assign(**columns)


def half_labeled():
    rng = np.random.default_rng(1)
    return pd.Series(np.where(np.arange(N) % 4 == 0, rng.choice(["good", "bad"], N, p=[0.7, 0.3]), None), name="y")


def remarks(found):
    return {column["name"]: column["remark"] for column in found.columns if column["remark"]}


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_clean_tables_have_no_notes(load):
    X, y = load(as_frame=True, return_X_y=True)
    found = fewlabel.check(X, y.mask(np.arange(len(y)) % 3 == 0))
    assert found.notes == []
    assert {column["kind"] for column in found.columns} == {"number"}


def test_columns_that_a_fit_drops():
    X = make(id=np.arange(N), constant=3, empty=np.nan)
    found = fewlabel.check(X, half_labeled())
    assert remarks(found) == {
        "id": "dropped: looks like an identifier",
        "constant": "dropped: constant",
        "empty": "dropped: empty",
    }
    assert next(c for c in found.columns if c["name"] == "empty")["missing"] == 1


def test_repeated_rows_and_conflicting_labels():
    X, y = make(), half_labeled()
    X.loc[4] = X.loc[0]
    X.loc[9] = X.loc[8]
    y[0], y[4] = "good", "bad"
    found = fewlabel.check(X, y)
    assert (found.duplicate_rows, found.conflicting_rows) == (2, 2)
    assert any("2 rows repeat an earlier one" in note for note in found.notes)


def test_leaks_against_the_label_and_against_being_labeled():
    y = half_labeled()
    is_bad, labeled = (y == "bad").to_numpy(), y.notna().to_numpy()
    rng = np.random.default_rng(2)
    X = make(
        refund=np.where(is_bad, 5.0, 0.0) + rng.random(N),
        verdict=np.where(is_bad, "guilty", "free"),
        closed=np.where(is_bad, "2024-01-31", None),
        review=np.where(labeled, rng.random(N), np.nan),
        some=np.where(labeled & (rng.random(N) < 0.5), rng.random(N), np.nan),
        batch=np.where(labeled, 1.0, 2.0) + rng.random(N) / 2,
        gaps=np.where(rng.random(N) < 0.5, np.nan, rng.random(N)),
    )
    found = remarks(fewlabel.check(X, y))
    assert found["refund"] == found["verdict"] == "separates the classes"
    assert found["closed"] == "filled for labeled rows only; filled for one class only"
    assert found["review"] == found["some"] == "filled for labeled rows only"
    assert found["batch"] == "separates labeled from unlabeled rows"
    assert "gaps" not in found
    assert "age" not in found


@pytest.mark.parametrize(
    ("name", "values", "is_group"),
    [
        ("patient", np.repeat(np.arange(N // 4), 4), True),
        ("customer_id", np.repeat([f"C{k}" for k in range(N // 3)], 3), True),
        ("x", np.repeat(np.arange(N // 4), 4), True),  # the same number of rows each
        ("age_in_years", np.random.default_rng(0).integers(18, 80, N), False),
        ("patient", np.arange(N), False),
        ("patient", np.random.default_rng(0).normal(size=N // 4).repeat(4), False),
        ("card", np.arange(N) % 3, False),
    ],
)
def test_groups(name, values, is_group):
    found = remarks(fewlabel.check(make(**{name: values}), half_labeled()))
    assert (found.get(name) == "repeats like a group") == is_group


def test_notations_of_numbers_and_dates():
    X = make(amount=[f"{k % 50},{k % 7}" for k in range(N)], day=[f"{k % 27 + 1:02}.12.2024" for k in range(N)])
    found = fewlabel.check(X, half_labeled())
    assert remarks(found) == {"amount": "written as 1.234,5", "day": "written as 31/12/2024"}
    assert found.notes == []


def test_views_of_the_result():
    X = make(constant=1)
    found = fewlabel.check(X, half_labeled(), positive="good")
    assert json.loads(json.dumps(found.to_dict()))["positive"] == "good"
    assert "constant: dropped (dropped: constant)" in str(found)


def test_labels_with_two_readings_stop_and_arrays_are_tables():
    X = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(LabelError, match="If -1 is a class: unlabeled="):
        fewlabel.check(X, [-1, 1, -1, 1, 1, 1])
    found = fewlabel.check(X, [-1, 1, -1, 1, 1, 1], unlabeled=[])
    assert found.labels.positive == 1
    assert [column["name"] for column in found.columns] == ["x0", "x1"]
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fewlabel.check(X, [0, 1])


def test_an_open_data_table(monkeypatch):
    import os

    if "FEWLABEL_DATA" not in os.environ:
        pytest.skip("needs FEWLABEL_DATA")
    table = pd.read_parquet(os.path.join(os.environ["FEWLABEL_DATA"], "credit-g.parquet"))
    y = table.pop(table.columns[-1])
    found = fewlabel.check(table, y)
    assert found.labels.counts == {"bad": 300, "good": 700}
    assert (found.labels.positive, found.labels.why) == ("bad", "by its name")
