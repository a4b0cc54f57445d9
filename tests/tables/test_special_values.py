"""Values among numbers that are none: missing there, with a feature and a row of the card of their own."""

import numpy as np
import pandas as pd
import pytest

import fewlabel
from fewlabel import AutoClassifier, PNUAUCBoostClassifier, TableClassifier, TableEncoder, scorecard
from fewlabel.exceptions import ExportError, TableError
from fewlabel.tables import Drift, points_sql, read_columns, score_table, scorecard_sql

SPECIAL = {"income": [-999, -998.0], "age": ["99"]}


def make_rows(n=500, seed=0):
    """Risk falls with income; -999 ("refused") is a high risk and -998 a low one, against the direction."""
    rng = np.random.default_rng(seed)
    income = rng.normal(50, 20, n).round(1)
    kind = rng.choice(4, n, p=[0.7, 0.1, 0.1, 0.1])
    risk = np.select([kind == 1, kind == 2, kind == 3], [2.0, -2.0, 0.0], (50 - income) / 10)
    income = np.select([kind == 1, kind == 2, kind == 3], [-999.0, -998.0, np.nan], income)
    age = rng.integers(20, 70, n).astype(float)
    age[rng.random(n) < 0.1] = 99
    y = np.where(risk + rng.normal(size=n) > 0, "bad", "good")
    return pd.DataFrame({"income": income, "age": age}), pd.Series(y, name="y")


@pytest.fixture(scope="module")
def model():
    booster = PNUAUCBoostClassifier(n_estimators=200, monotone=None, random_state=0)
    return TableClassifier(booster, positive="bad", special_values=SPECIAL, random_state=0).fit(*make_rows())


@pytest.fixture(scope="module")
def directed():
    auto = AutoClassifier(["RankBoost"], interpretable=True, monotone={"income": -1}, n_repeats=1, random_state=0)
    return TableClassifier(auto, positive="bad", special_values=[-999, -998, 99], random_state=0).fit(*make_rows())


def test_a_special_value_is_a_gap_and_a_feature():
    rows = pd.DataFrame({"a": [1.0, -999.0, None, 2.0], "b": [5, 6, -999, 7]})
    encoder = TableEncoder(special_values={"a": [-999]}).fit(rows)
    assert encoder.features_ == ["a", "a_-999", "b"]
    expected = [[1, 0, 5], [np.nan, 1, 6], [np.nan, 0, -999], [2, 0, 7]]
    np.testing.assert_array_equal(encoder.transform(rows), expected)


@pytest.mark.parametrize("written", ["-999", " -999.0", "-9.99e2"])
def test_it_is_found_however_a_file_writes_it(written):
    rows = pd.DataFrame({"a": ["1", "2.5", "-999", "3"] * 3})
    encoder = TableEncoder(special_values=["-999"]).fit(rows)
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"a": [written, "7"]})), [[np.nan, 1], [7, 0]])
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"a": [-999, 7]})), [[np.nan, 1], [7, 0]])


def test_a_word_among_numbers_leaves_them_numbers():
    rows = pd.DataFrame({"a": ["1", "2", "unknown", "3", None]})
    assert read_columns(rows).kinds == {"a": "text"}
    encoder = TableEncoder(special_values=["unknown"]).fit(rows)
    assert encoder.columns_ == {"a": "number"}
    np.testing.assert_array_equal(encoder.transform(rows)[2:], [[np.nan, 1], [3, 0], [np.nan, 0]])


def test_columns_of_texts_and_rows_without_special_values_stay_as_they_are():
    rows = pd.DataFrame({"city": ["unknown", "Oslo", "Graz"] * 4, "a": [1.0, 2.0, 3.0] * 4})
    plain = TableEncoder().fit(rows)
    named = TableEncoder(special_values=["unknown", -999]).fit(rows)
    assert named.features_ == plain.features_
    np.testing.assert_array_equal(named.transform(rows), plain.transform(rows))


def test_a_column_that_is_not_there_is_an_error():
    with pytest.raises(TableError, match="no column 'b'"):
        TableEncoder(special_values={"b": [1]}).fit(pd.DataFrame({"a": [1, 2]}))


def points_of_rows(card, rows):
    total = np.full(len(rows), card["points"].iloc[0])
    for name, block in card.iloc[1:].groupby("column"):
        points = block.set_index("interval")["points"]
        intervals = block[block["high"].notna()]
        for k, value in enumerate(rows[name]):
            if np.isnan(value):
                total[k] += points["missing"]
            elif f"= {value:g}" in points:
                total[k] += points[f"= {value:g}"]
            else:
                total[k] += points.loc[intervals.loc[intervals["high"] >= value, "interval"].iloc[0]]
    return total


@pytest.mark.parametrize("name", ["model", "directed"])
def test_points_sum_to_the_ranking(name, request):
    model = request.getfixturevalue(name)
    new, _ = make_rows(400, seed=1)
    card = scorecard(model)
    assert card.loc[card["column"] == "income", "interval"].tolist()[-3:] == ["missing", "= -998", "= -999"]
    points = points_of_rows(card, new)
    score = score_table(model, new)["score"]
    order = np.argsort(points, kind="stable")
    assert (np.diff(score[order]) >= -1e-9).all()
    assert np.ptp(points) > 50


def test_a_direction_holds_for_numbers_and_not_for_special_values(directed):
    card = scorecard(directed)
    income = card[card["column"] == "income"].set_index("interval")["points"]
    numbers = income[income.index.str.startswith("(")]
    assert (np.diff(numbers) <= 0).all()
    assert income["= -999"] > income["missing"] > income["= -998"]


@pytest.mark.parametrize("name", ["model", "directed"])
def test_sql_reads_special_values(name, request):
    duckdb = pytest.importorskip("duckdb")
    model = request.getfixturevalue(name)
    new, _ = make_rows(2000, seed=2)
    with duckdb.connect() as connection:
        connection.register("rows", new.assign(key=range(len(new))))
        found = connection.execute(scorecard_sql(model)).df().sort_values("key", ignore_index=True)
        short = connection.execute(points_sql(model, whole=False)).df().sort_values("key", ignore_index=True)
    np.testing.assert_allclose(found["score"], score_table(model, new)["score"], rtol=0, atol=1e-9)
    expected = points_of_rows(scorecard(model), new)
    np.testing.assert_allclose(found["points"], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(short["points"], expected, atol=0.02)
    assert "= -999 THEN" in points_sql(model)


def test_onnx_and_a_file_read_special_values(model, tmp_path):
    new, _ = make_rows(300, seed=3)
    expected = score_table(model, new)["score"]
    fewlabel.save(model, tmp_path / "model.fewlabel")
    loaded = fewlabel.load(tmp_path / "model.fewlabel")
    np.testing.assert_array_equal(score_table(loaded, new)["score"], expected)
    reasons = score_table(loaded, new, n_reasons=1)["reason 1"]
    assert any("income = -999 (" in text for text in reasons)
    runtime = pytest.importorskip("onnxruntime")
    fewlabel.export(model, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    columns = {name: new[name].to_numpy()[:, None] for name in new}
    _, _, score = session.run(None, columns)
    np.testing.assert_allclose(score if model.positive_ == 1 else -score, expected, atol=1e-6)


def test_words_are_refused_by_sql(tmp_path):
    X, y = make_rows(200)
    X["income"] = X["income"].astype(object).where(X["income"] != -999, "refused")
    model = TableClassifier(PNUAUCBoostClassifier(n_estimators=20, random_state=0), special_values=["refused"])
    with pytest.raises(ExportError, match="write these special values as numbers"):
        fewlabel.export(model.fit(X, y), tmp_path / "model.sql")


def test_new_rows_are_compared_without_special_values(model):
    new, _ = make_rows(400, seed=4)
    drift = Drift(model.profile_)
    drift.update(new.astype(str).replace("nan", None))
    assert drift.findings() == []
    drift.update(new.assign(income=-999.0))
    assert [finding.reason for finding in drift.findings() if finding.column == "income"][:1] == ["missing"]
