"""Scorecards in the words of the table, and as SQL that gives what predict gives."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

from fewlabel import AutoClassifier, PNUAUCBoostClassifier, TableClassifier, load, save, scorecard
from fewlabel.inspection import round_card, rounding_loss
from fewlabel.tables import points_sql, score_table, scorecard_sql


def make_rows(n=400, seed=0, unseen=False):
    """Numbers with gaps, categories with quotes, gaps and texts that mean a gap, two categories, a boolean."""
    rng = np.random.default_rng(seed)
    purposes = ["car", "it's", 'a "b"', "N/A", None, *(["boat", "?"] if unseen else [])]
    rows = pd.DataFrame(
        {
            "purpose": rng.choice(np.array(purposes, dtype=object), n),
            'odd "name"': rng.choice(["u", "v", *(["w"] if unseen else [])], n),
            "owner": rng.choice(np.array(["yes", "no", None], dtype=object), n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "count": rng.integers(0, 5, n).astype(float),
        }
    )
    z = 2 * (rows["purpose"] == "car") + rows["age"].fillna(1) + (rows["owner"] == "yes") + 0.3 * rows["count"]
    y = pd.Series(np.where(z + rng.normal(size=n) > 1.5, "bad", "it's good"), name="y")
    return rows, y


@pytest.fixture(scope="module")
def rows():
    return make_rows()


@pytest.fixture(scope="module")
def auto(rows):
    model = AutoClassifier(["RankBoost"], n_repeats=1, random_state=0)
    return TableClassifier(model, positive="bad").fit(*rows).set_threshold(0.3)


@pytest.fixture(scope="module")
def booster(rows):
    return TableClassifier(PNUAUCBoostClassifier(n_estimators=80, random_state=0), positive="bad").fit(*rows)


def in_sqlite(table, sql):
    with sqlite3.connect(":memory:") as connection:
        table.to_sql("rows", connection, index_label="key")
        return pd.read_sql(sql.rstrip().rstrip(";"), connection).sort_values("key", ignore_index=True)


def in_duckdb(table, sql):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("rows", table.rename_axis("key").reset_index())
        return connection.execute(sql).df().sort_values("key", ignore_index=True)  # it keeps no order


@pytest.mark.parametrize("engine", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("name", ["auto", "booster"])
def test_sql_gives_what_predict_gives(engine, name, request):
    model = request.getfixturevalue(name)
    new, _ = make_rows(10_000, seed=1, unseen=True)
    new.loc[:3, "age"] = [50.0, -50.0, 1e300, -1e300]  # beyond the rows of the fit
    found, expected = engine(new, scorecard_sql(model)), score_table(model, new)
    np.testing.assert_allclose(found["score"], expected["score"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["probability"], expected["probability of bad"], rtol=0, atol=1e-9)
    assert found["label"].tolist() == expected["label"].tolist()
    assert set(found["label"]) == {"bad", "it's good"}


def test_the_points_of_a_row_are_those_of_the_card(auto):
    new, _ = make_rows(60, seed=2, unseen=True)
    card = scorecard(auto)
    assert card["column"].iloc[0] == "(base)"
    total = np.full(len(new), card["points"].iloc[0])
    for row in range(len(new)):
        for name in new:
            total[row] += points_of(card[card["column"] == name], new[name].iloc[row])
    np.testing.assert_allclose(in_sqlite(new, scorecard_sql(auto))["points"], total, atol=1e-9)


def points_of(block, value):
    if len(block) == 0:  # a column that the model does not use
        return 0.0
    by_text = dict(zip(block["interval"], block["points"]))
    if value is None or value in ("N/A", "?") or (isinstance(value, float) and np.isnan(value)):
        return by_text["missing"]
    if isinstance(value, str):
        return by_text.get(f"= {value}", by_text.get("other"))
    return block.loc[(block["low"] < value) & (value <= block["high"]), "points"].item()


@pytest.mark.parametrize("engine", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("name", ["auto", "booster"])
def test_readable_points_are_those_of_the_rounded_card(engine, name, request):
    model = request.getfixturevalue(name)
    new, _ = make_rows(300, seed=2, unseen=True)
    card = round_card(scorecard(model))
    total = np.full(len(new), card["points"].iloc[0])
    for column in new:
        block = card[card["column"] == column]
        total += np.array([int(points_of(block, value)) for value in new[column]])
    sql = points_sql(model)
    np.testing.assert_array_equal(engine(new, sql)["points"], total)
    assert len(sql) < 3000


@pytest.mark.parametrize("engine", [in_sqlite, in_duckdb])
def test_columns_of_the_table_may_be_called_as_those_of_the_result(engine):
    X, y = make_rows(200)
    X = X[["age", "count"]].set_axis(["score", "label"], axis=1)
    model = TableClassifier(PNUAUCBoostClassifier(n_estimators=20, random_state=0), positive="bad").fit(X, y)
    found = engine(X, scorecard_sql(model))
    np.testing.assert_allclose(found.iloc[:, -3].astype(float), score_table(model, X)["score"], rtol=0, atol=1e-9)


def test_categories_gaps_and_unseen_categories_have_rows(booster):
    card = scorecard(booster)
    purpose = card.loc[card["column"] == "purpose", "interval"].tolist()
    assert purpose == ['= a "b"', "= car", "= it's", "other", "missing"]
    assert card.loc[card["column"] == 'odd "name"', "interval"].tolist() in (["= u", "= v", "other", "missing"], [])


def test_a_saved_model_has_the_same_card(auto, tmp_path):
    save(auto, tmp_path / "model.fewlabel")
    pd.testing.assert_frame_equal(scorecard(load(tmp_path / "model.fewlabel")), scorecard(auto))


def test_rounding_loses_little_and_says_how_much(auto):
    exact = scorecard(auto)
    rounded = round_card(exact)
    assert rounded["points"].dtype.kind == "i"
    intervals = rounded[rounded["high"].notna()]
    after = intervals.shift(-1)
    joined = (intervals["column"] == after["column"]) & (intervals["high"] == after["low"])
    assert (intervals["points"] != after["points"])[joined].all()
    assert joined.sum() < (exact["high"].notna()).sum()
    assert set(rounded["interval"]) >= {"missing", "other", "= car", "= yes"}
    assert rounding_loss(auto, 20) < 0.05
    assert rounding_loss(auto, 0.5) > rounding_loss(auto, 20)


def test_dates_and_texts_are_refused_in_sql(rows):
    X, _ = rows
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, len(X)), unit="D")
    late = pd.DataFrame({"since": days, "age": X["age"]})
    model = TableClassifier(PNUAUCBoostClassifier(n_estimators=20, random_state=0)).fit(late, days.year == 2021)
    assert scorecard(model)["column"].str.startswith("since_").any()
    with pytest.raises(ValueError, match=r"'since' is read as dates.*put the parts that matter"):
        scorecard_sql(model)


def test_only_sums_of_step_functions_have_a_card(rows):
    model = TableClassifier(AutoClassifier(["logistic regression"], n_repeats=1, random_state=0)).fit(*rows)
    with pytest.raises(TypeError, match="--method scorecard"):
        scorecard(model)
