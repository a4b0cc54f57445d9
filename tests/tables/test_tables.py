"""Tables as people have them: what the columns are, which are of no use, and which know too much."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fewlabel import TableClassifier
from fewlabel.exceptions import LabelError, TableError
from fewlabel.tables import read_chunks, read_table
from fewlabel.tables._columns import as_kind, kind_of, leaks, useless
from fewlabel.text import did_you_mean


class Supervised(LogisticRegression):
    """Logistic regression on the rows that are labeled, with gaps filled."""

    def fit(self, X, y):
        known = ~pd.isna(y).to_numpy()
        return super().fit(np.nan_to_num(X[known]), y[known].to_numpy(dtype=int))

    def predict_proba(self, X):
        return super().predict_proba(np.nan_to_num(X))

    def predict(self, X):
        return super().predict(np.nan_to_num(X))


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


def test_what_does_not_fit_becomes_a_gap():
    found = as_kind(pd.Series(["1", "x", None, "inf", "2.5"]), "number")
    np.testing.assert_array_equal(found, [1, np.nan, np.nan, np.nan, 2.5])
    np.testing.assert_array_equal(as_kind(pd.Series([1, 0, None]), "boolean"), [1, 0, np.nan])
    np.testing.assert_array_equal(as_kind(pd.Series(["Yes", "n", "?"]), "boolean"), [1, 0, np.nan])
    assert as_kind(pd.Series(["2024-01-31", "x"]), "date").isna().tolist() == [False, True]
    assert as_kind(pd.Series([1, None], dtype="Int64"), "text").tolist() == ["1", None]


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("a", [np.nan] * 30, "empty"),
        ("a", [3] * 30, "one value"),
        ("a", [3] * 29 + [np.nan], None),  # the gap itself may tell
        ("a", range(30), "numbers the rows"),
        ("a", range(30, 0, -1), "numbers the rows"),
        ("customer_id", np.random.default_rng(0).permutation(30) * 17, "numbers the rows"),
        ("amount", np.random.default_rng(0).permutation(30) * 17, None),
        ("a", np.arange(30) / 7, None),
        ("a", [f"row-{k}" for k in range(30)], "names the rows"),
        ("a", [f"a long remark number {k}" for k in range(30)], None),
        ("a", ["x", "y"] * 15, None),
    ],
)
def test_columns_of_no_use(name, values, reason):
    column = pd.Series(values)
    kind = kind_of(column)
    assert useless(name, as_kind(column, kind), kind) == reason


def test_leaks_are_columns_that_can_hardly_separate_by_chance():
    y = np.repeat([0, 1, -1], 20)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "noise": rng.normal(size=60),
            "number": y + rng.random(60) / 2,
            "category": np.where(y == 1, "b", "a"),
            "names": [f"n{k}" for k in range(60)],
        }
    )
    table["category"] = table["category"].astype(object)
    table["names"] = table["names"].astype(object)
    assert leaks(table, y) == ["number", "category"]
    few = np.r_[[0, 0, 1, 1], np.full(56, -1)]
    assert leaks(table.iloc[np.r_[0, 1, 20, 21, 40:60, 22:58]].reset_index(drop=True), few) == []
    assert leaks(table, np.zeros(60, int)) == []


def test_nearest_names():
    assert did_you_mean("Outcom", ["income", "outcome"]) == "outcome"
    assert did_you_mean("zzz", ["income"]) is None


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    z = rng.normal(size=120)
    table = pd.DataFrame(
        {"z": z, "city": np.where(z > 0, "Oslo", "Graz"), "when": "2024-01-01", 5: rng.normal(size=120)}
    )
    table.loc[::3, "when"] = "2024-06-30"
    y = pd.Series(np.where(rng.random(120) < 0.5, np.where(z > 0, "b", "a"), None), name="class")
    return table, y


def test_any_estimator_and_any_order_of_columns(rows):
    table, y = rows
    model = TableClassifier(Supervised()).fit(table, y)
    assert model.columns_ == {"z": "number", "city": "text", "when": "date", "5": "number"}
    assert model.target_ == "class"
    assert len(model.features_) == len(model.sources_) == model.transform(table).shape[1]
    assert set(model.sources_) == set(model.columns_)
    shuffled = table.iloc[:, ::-1].assign(more=1)
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(table))
    assert set(model.predict(table)) <= {"a", "b"}
    with pytest.raises(TableError, match=r"lacks 1 column\(s\) of the model"):
        model.transform(table.drop(columns="city"))
    with pytest.raises(TableError, match="named columns"):
        model.transform(table.to_numpy())


def test_the_positive_class_comes_last(rows):
    table, y = rows
    model = TableClassifier(Supervised(), positive="a").fit(table, y)
    assert model.classes_.tolist() == ["b", "a"]
    other = TableClassifier(Supervised()).fit(table, y)
    np.testing.assert_allclose(model.predict_proba(table)[:, 1], other.predict_proba(table)[:, 0], rtol=1e-6)
    three = y.where(np.arange(120) % 2 == 0, "c")
    assert TableClassifier(Supervised(), positive="c").fit(table, three).classes_.tolist() == ["not c", "c"]
    with pytest.raises(LabelError, match="no labeled row holds the positive class 'd': the classes are 'a', 'b'"):
        TableClassifier(positive="d").fit(table, y)


def test_polars_tables(rows):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    table, y = rows
    table = table.rename(columns={5: "5"})
    model = TableClassifier(Supervised()).fit(table, y)
    np.testing.assert_array_equal(model.predict(polars.from_pandas(table)), model.predict(table))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
def test_pieces_have_the_size_that_was_asked_for(rows, suffix, tmp_path):
    table = rows[0].rename(columns={5: "5"})
    path = tmp_path / f"t.{suffix}"
    getattr(table, f"to_{suffix}")(path, **({"index": False} if suffix == "csv" else {}))
    pieces = list(read_chunks(path, 50))
    assert [len(piece) for piece in pieces] == [50, 50, 20]
    pd.testing.assert_frame_equal(
        pd.concat(pieces, ignore_index=True), read_table(path), check_dtype=False, check_index_type=False
    )


def test_too_few_rows_and_unequal_lengths(rows):
    table, y = rows
    with pytest.raises(TableError, match="120 rows and the label column 119"):
        TableClassifier(Supervised()).fit(table, y[:-1])
    with pytest.raises(TableError, match="no column is left"):
        TableClassifier(Supervised()).fit(pd.DataFrame({"a": [1] * 120}), y)
