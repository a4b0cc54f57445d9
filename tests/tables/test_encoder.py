"""TableEncoder: what goes in, what comes out, and what it remembers."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import fewlabel
from fewlabel import TableEncoder
from fewlabel.exceptions import TableError


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(60) < 0.2, np.nan, rng.normal(size=60)),
            "city": rng.choice(["Oslo", "Graz", "Rome"], 60),
            "paid": rng.choice(["yes", "no"], 60),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, 60), unit="D"),
            "note": [f"order {k % 47} arrived" for k in range(60)],
            "row": range(60),
            "same": 1,
        }
    )


def test_what_it_remembers(table):
    encoder = TableEncoder(random_state=0).fit(table)
    assert encoder.columns_ == {"age": "number", "city": "text", "paid": "boolean", "since": "date", "note": "text"}
    assert encoder.dropped_ == {"row": "looks like an identifier", "same": "constant"}
    assert encoder.n_features_in_ == 7
    assert list(encoder.feature_names_in_) == list(table.columns)
    features = encoder.transform(table)
    assert features.shape == (60, len(encoder.features_)) == (60, len(encoder.sources_))
    assert set(encoder.sources_) == set(encoder.columns_)
    assert encoder.features_[:2] == ["age", "paid"]
    assert {"city_Graz", "city_Oslo", "city_Rome"} <= set(encoder.features_)
    np.testing.assert_array_equal(features[:, 0], table["age"])
    np.testing.assert_array_equal(features[:, encoder.features_.index("city_Oslo")], table["city"] == "Oslo")
    assert sum(source == "note" for source in encoder.sources_) == 30


def test_fit_transform_is_transform(table):
    encoder = TableEncoder(random_state=0)
    np.testing.assert_array_equal(encoder.fit_transform(table), encoder.transform(table))
    again = clone(encoder).fit(table)
    np.testing.assert_array_equal(again.transform(table), encoder.transform(table))


@pytest.mark.parametrize("most", [50_000, 2])
def test_pieces_that_share_a_memo(table, monkeypatch, most):
    """The features of a value do not depend on the pieces before, nor on whether it is given as a category."""
    monkeypatch.setattr("fewlabel.parts.columns._MOST_KEPT", most)
    part = TableEncoder(random_state=0).fit(table).part_
    new = table.assign(since=table["since"].astype(str), city=table["city"].replace("Rome", "Lima"))
    new.loc[::7, ["city", "since", "note"]] = None
    expected = part(new)
    memo = {}
    for start in (0, 20, 40, 0):
        piece = new[start : start + 20].astype(dict.fromkeys(["city", "since", "note"], "category"))
        np.testing.assert_array_equal(part.encode(part.read(piece), memo), expected[start : start + 20])
        assert all(len(known) <= most for known in memo.values())


def test_every_type_of_table_gives_the_same_features(table):
    part = TableEncoder(random_state=0).fit(table).part_
    expected = part(table)
    arrow = pa.Table.from_pandas(table)
    np.testing.assert_array_equal(part(arrow), expected)
    np.testing.assert_array_equal(part({name: arrow[name].dictionary_encode() for name in table}), expected)
    np.testing.assert_array_equal(part({name: table[name].to_numpy() for name in table}), expected)
    np.testing.assert_array_equal(part({name: table[name].tolist() for name in table}), expected)
    np.testing.assert_array_equal(part(arrow.slice(20, 30)), expected[20:50])


def test_new_rows_may_have_other_columns_in_another_order(table):
    encoder = TableEncoder(random_state=0).fit(table)
    expected = encoder.transform(table)
    shuffled = table.drop(columns=["row", "same"]).iloc[:, ::-1].assign(more=1)
    np.testing.assert_array_equal(encoder.transform(shuffled), expected)
    as_text = table.astype({"age": str}).replace({"age": {"nan": None}})
    np.testing.assert_array_equal(encoder.transform(as_text), expected)
    with pytest.raises(TableError, match=r"lacks 1 column\(s\) of the model: 'city' \(is it 'City'\?\)"):
        encoder.transform(table.rename(columns={"city": "City"}))


def test_a_new_category_is_zeros_and_a_wrong_number_is_missing(table):
    encoder = TableEncoder(random_state=0).fit(table)
    row = table[:1].assign(city="Lima", age="unknown")
    found = dict(zip(encoder.features_, encoder.transform(row)[0]))
    assert np.isnan(found["age"])
    assert found["city_Graz"] == found["city_Oslo"] == found["city_Rome"] == 0


def test_arrays():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(30, 3))
    encoder = TableEncoder().fit(numbers)
    assert not hasattr(encoder, "feature_names_in_")
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    assert encoder.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(encoder.transform(numbers), numbers)
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame(numbers, columns=["a", "b", "c"])), numbers)
    mixed = np.empty((30, 2), dtype=object)
    mixed[:, 0], mixed[:, 1] = numbers[:, 0], rng.choice(["u", "v", "w"], 30)
    encoder.fit(mixed)
    assert encoder.columns_ == {"x0": "number", "x1": "text"}
    assert encoder.get_feature_names_out(["a", "b"]).tolist() == ["a", "b_u", "b_v", "b_w"]
    with pytest.raises(TableError, match="X has 1 features, but TableEncoder is expecting 2 features"):
        encoder.transform(mixed[:, :1])
    with pytest.raises(ValueError, match="length equal to number of features"):
        encoder.get_feature_names_out(["a"])


def test_a_table_with_names_asks_for_names(table):
    encoder = TableEncoder(random_state=0).fit(table)
    with pytest.raises(TableError, match="expected a table with named columns"):
        encoder.transform(table.to_numpy())
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        encoder.get_feature_names_out([*table.columns[:-1], "other"])
    encoder.fit(np.ones((5, 2)) * np.arange(5)[:, None])  # fitted again, without names
    assert not hasattr(encoder, "feature_names_in_")


def test_polars(table):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    encoder = TableEncoder(random_state=0).fit(polars.from_pandas(table))
    np.testing.assert_array_equal(
        encoder.transform(polars.from_pandas(table)), TableEncoder(random_state=0).fit_transform(table)
    )


def test_set_output_and_pipelines(table):
    encoder = TableEncoder(random_state=0).set_output(transform="pandas")
    features = encoder.fit_transform(table)
    assert features.columns.tolist() == encoder.features_
    assert features.index.equals(table.index)
    y = (table["city"] == "Oslo").astype(int)
    model = make_pipeline(TableEncoder(random_state=0), LogisticRegression())
    assert model.fit(table[["city", "paid"]], y).score(table, y) == 1.0


def test_feature_names_are_distinct():
    table = pd.DataFrame({"a": ["b", "c", "d"] * 10, "a_b": np.arange(30) / 7})
    assert TableEncoder().fit(table).features_ == ["a_b", "a_b.1", "a_c", "a_d"]


def test_global_output_setting_does_not_reach_the_classifier(table):
    y = pd.Series(np.where(table["city"] == "Oslo", "u", "v"))
    rows = table[["city", "paid"]]
    expected = fewlabel.TableClassifier(LogisticRegression()).fit(rows, y).predict_proba(rows)
    with sklearn.config_context(transform_output="pandas"):
        found = fewlabel.TableClassifier(LogisticRegression()).fit(rows, y).predict_proba(rows)
    np.testing.assert_array_equal(found, expected)


def test_too_few_rows(table):
    with pytest.raises(TableError, match=r"the table has 1 row\(s\): at least 2 are needed"):
        TableEncoder().fit(table[:1])


def test_saved_and_loaded(table, tmp_path):
    encoder = TableEncoder(random_state=0).fit(table)
    fewlabel.save(encoder, tmp_path / "encoder.fewlabel")
    again = fewlabel.load(tmp_path / "encoder.fewlabel")
    np.testing.assert_array_equal(again.transform(table), encoder.transform(table))
    assert again.dropped_ == encoder.dropped_
