"""fewlabel scorecard: a saved model as points, SQL or a page."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

from fewlabel.cli.main import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.normal(size=200).round(3), "purpose": rng.choice(["=car", "trip", "<b>"], 200)})
    for name in ("fewlabel_sum", "Fewlabel_Score", "fewlabel__rank"):  # as in the result of a statement
        rows[name] = 1.5
    y = np.where(rows["age"] + (rows["purpose"] == "=car") + rng.normal(size=200) > 0.5, "bad", "good")
    path = tmp_path_factory.mktemp("card")
    rows.assign(y=y).to_csv(path / "rows.csv", index=False)
    options = ["--target", "y", "--positive", "bad", "--method", "scorecard", "--out", str(path), "--quiet"]
    assert run(["fit", str(path / "rows.csv"), *options, "--time-budget", "1"]) == 0  # additive methods come first
    return path


def written(folder, name, *options):
    assert run(["scorecard", str(folder / "model.fewlabel"), "--out", str(folder / name), *options]) == 0
    return (folder / name).read_text()


def test_the_choice_of_an_additive_method_is_noted(folder):
    text = json.loads((folder / "metrics.json").read_text())["choice"]["text"]
    assert "is additive" in text or "being additive costs" in text


def test_sql_gives_what_the_command_predict_writes(folder, capsys):
    assert (
        run(["predict", str(folder / "model.fewlabel"), str(folder / "rows.csv"), "--out", str(folder / "s.csv")]) == 0
    )
    expected, sql = pd.read_csv(folder / "s.csv"), written(folder, "card.sql", "--table", "my rows")
    with sqlite3.connect(":memory:") as connection:
        pd.read_csv(folder / "rows.csv").to_sql("my rows", connection, index=False)
        found = pd.read_sql(sql.rstrip().rstrip(";"), connection)
    np.testing.assert_allclose(found["score"], expected["score"], rtol=0, atol=1e-9)
    assert found["label"].tolist() == expected["label"].tolist()


def test_csv_has_the_points_and_runs_no_formula(folder, capsys):
    written(folder, "card.csv", "--round")
    assert "rounding changes or ties the order of" in capsys.readouterr().err
    card = pd.read_csv(folder / "card.csv")
    assert card["points"].dtype.kind == "i"
    assert "'= =car" in card["interval"].tolist()


def test_rounded_points_of_sql_are_those_of_the_card(folder):
    sql, card = written(folder, "card.sql", "--round"), written(folder, "card.csv", "--round")
    assert card
    card = pd.read_csv(folder / "card.csv")
    with sqlite3.connect(":memory:") as connection:
        rows = pd.read_csv(folder / "rows.csv")
        rows.to_sql("rows", connection, index=False)
        found = pd.read_sql(sql.rstrip().rstrip(";"), connection)["points"]
    ages = card[card["column"] == "age"]
    first = ages[(ages["low"].fillna(-np.inf) < rows["age"][0]) & (rows["age"][0] <= ages["high"].fillna(np.inf))]
    purpose = card.loc[card["interval"] == ("'" * 1 + f"= {rows['purpose'][0]}"), "points"].item()
    assert found[0] == card["points"][0] + first["points"].iloc[0] + purpose


def test_the_page_is_inert(folder):
    page = written(folder, "card.html")
    assert "= &lt;b&gt;" in page
    assert "<b>" not in page
    assert "<script" not in page


def test_wrong_use(folder, capsys):
    assert run(["scorecard", str(folder / "model.fewlabel"), "--out", "card.txt"]) == 2
    assert ".csv, .sql or .html" in capsys.readouterr().err
    assert run(["scorecard", str(folder / "model.fewlabel"), "--points-only", "--out", "card.csv"]) == 2
    fit = ["fit", str(folder / "rows.csv"), "--target", "y", "--out", str(folder)]
    assert run([*fit, "--monotone", "age-"]) == 2
    assert run([*fit, "--method", "scorecard", "--monotone", "age"]) == 2
    err = capsys.readouterr().err
    assert "--method scorecard" in err
    assert "neither in + nor in -" in err


def test_special_values_have_rows(folder, tmp_path):
    rows = pd.read_csv(folder / "rows.csv")
    rows.loc[rows.index % 9 == 0, "age"] = -999
    rows.to_csv(tmp_path / "rows.csv", index=False)
    options = ["--target", "y", "--positive", "bad", "--method", "scorecard", "--special", "age=-999", "--quiet"]
    assert run(["fit", str(tmp_path / "rows.csv"), *options, "--time-budget", "1", "--out", str(tmp_path)]) == 0
    written(tmp_path, "card.csv")
    card = pd.read_csv(tmp_path / "card.csv")
    assert "'= -999" in set(card.loc[card["column"] == "age", "interval"])
    assert "= -999" in written(tmp_path, "card.html")
    assert "= -999 THEN" in written(tmp_path, "points.sql", "--points-only")


def test_points_fall_where_they_must(folder, tmp_path):
    options = ["--target", "y", "--positive", "bad", "--method", "scorecard", "--monotone", "age-", "--quiet"]
    assert run(["fit", str(folder / "rows.csv"), *options, "--time-budget", "1", "--out", str(tmp_path)]) == 0
    assert "--monotone age-" in json.loads((tmp_path / "metrics.json").read_text())["command"]
    written(tmp_path, "card.csv")
    card = pd.read_csv(tmp_path / "card.csv")
    points = card.loc[(card["column"] == "age") & (card["interval"] != "missing"), "points"]
    assert (np.diff(points) <= 1e-9).all()
