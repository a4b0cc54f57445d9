"""fit --report-by: figures by group in the report and in metrics.json."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fewlabel
from fewlabel.cli.main import run

QUICK = ["--method", "logistic-regression", "--quiet"]


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age = rng.normal(40, 10, 500).round(1)
    sex = np.where(np.arange(500) < 8, "<i>other</i>", rng.choice(["f", "m"], 500))
    y = np.where(age + rng.normal(0, 8, 500) > 45, "bad", "good")
    table = pd.DataFrame({"age": age, "sex": sex, "noise": rng.normal(size=500)})
    table.assign(y=np.where(np.arange(500) % 2, y, None)).to_csv("rows.csv", index=False)
    return table.assign(y=y)


def test_groups_in_the_report_and_the_metrics(rows):
    fit = ["fit", "rows.csv", "--target", "y", "--positive", "bad", *QUICK]
    assert run([*fit, "--drop", "sex", "--report-by", "sex", "--report-by", "age"]) == 0
    by_sex, by_age = json.loads(Path("metrics.json").read_text())["groups"]
    assert by_sex["column"] == "sex"
    assert [group["group"] for group in by_sex["groups"]] == ["<i>other</i>", "f", "m"]
    other, women, _ = by_sex["groups"]
    assert other["auc"] is None  # 4 labels
    hidden = rows[(rows["sex"] == "f") & (np.arange(500) % 2 == 0)]
    model = fewlabel.load("model.fewlabel")
    assert women["flagged"]["value"] == pytest.approx(np.mean(np.asarray(model.predict(hidden)) == "bad"))
    assert women["auc"]["low"] < women["auc"]["value"] < women["auc"]["high"]
    assert len(by_age["groups"]) == 4
    page = Path("report.html").read_text()
    assert "By group" in page
    assert "not estimable" in page
    assert "<i>other" not in page  # names of groups are escaped
    assert "sex" not in model.encoder.names or "sex" not in model.encoder.kinds


def test_without_the_option_there_is_no_section():
    assert run(["fit", "rows.csv", "--target", "y", "--positive", "bad", *QUICK]) == 0
    assert json.loads(Path("metrics.json").read_text())["groups"] == []
    assert "By group" not in Path("report.html").read_text()


def test_weights_of_chosen_labels_apply(rows):
    chosen = (rows["age"] > 38) | (np.arange(500) % 6 == 1)
    rows.assign(y=rows["y"].where(chosen & (np.arange(500) % 3 > 0))).to_csv("rows.csv", index=False)
    figures = {}
    for drawn in ("random", "by-columns"):
        fit = ["fit", "rows.csv", "--target", "y", "--positive", "bad", "--labels-drawn", drawn, *QUICK]
        assert run([*fit, "--report-by", "sex"]) == 0
        figures[drawn] = json.loads(Path("metrics.json").read_text())["groups"][0]["groups"][1]
    assert figures["random"]["labels"] == figures["by-columns"]["labels"]
    assert figures["random"]["precision"]["value"] != figures["by-columns"]["precision"]["value"]


def test_wrong_use(capsys):
    assert run(["fit", "rows.csv", "--target", "y", "--report-by", "sxe", *QUICK]) == 2
    assert "did you mean 'sex'?" in capsys.readouterr().err


def test_in_python(rows):
    labels = rows.pop("y").where(np.arange(500) % 2 == 1)
    estimator = fewlabel.AutoClassifier(["logistic regression"], random_state=0)
    model = fewlabel.TableClassifier(estimator, positive="bad").fit(rows, labels)
    page = fewlabel.report(model, rows, labels, report_by=["sex"])
    assert page.metrics["groups"][0]["column"] == "sex"
