"""``fewlabel fit --engine dask``: Parquet files in pieces give the model of the whole table."""

import json

import numpy as np
import pandas as pd
import pytest

import fewlabel
from fewlabel import TableClassifier
from fewlabel.cli.main import run

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'fewlabel[dask]'")


@pytest.fixture(scope="module")
def scheduler():
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Three files of unequal size, the last without a label."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 900
    city = rng.choice(["Paris", "Oslo", "Graz"], n)
    table = pd.DataFrame(
        {
            "id": np.arange(n),
            "age": np.round(rng.normal(40, 10, n)),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "city": city,
        }
    )
    bad = table["age"] / 10 + 2 * (city == "Oslo") + rng.normal(size=n) > 4.5
    table["outcome"] = np.where(rng.random(n) < 0.4, np.where(bad, "bad", "good"), None)
    table.loc[700:, "outcome"] = None
    for k, part in enumerate((table[:100], table[100:700], table[700:])):
        part.to_parquet(f"part{k}.parquet")
    return table


def fit(*options, scheduler):
    return run(["fit", *options, "--target", "outcome", "--engine", "dask", "--scheduler", scheduler, "--out", "here"])


def test_the_model_is_that_of_the_whole_table(rows, scheduler, capsys):
    files = [f"part{k}.parquet" for k in range(3)]
    assert fit(*files, "--positive", "bad", scheduler=scheduler) == 0
    told = capsys.readouterr()
    assert "dashboard: " in told.err
    assert "labeled rows that were held out" in told.out
    model = fewlabel.load("here/model.skops")
    whole = TableClassifier(fewlabel.PNUAUCBoostClassifier(random_state=0), positive="bad", random_state=0)
    whole.fit(rows.drop(columns="outcome"), rows["outcome"])
    assert model.encoder_.columns_ == whole.encoder_.columns_ == {"age": "number", "income": "number", "city": "text"}
    np.testing.assert_allclose(model.decision_function(rows), whole.decision_function(rows), atol=1e-9)
    np.testing.assert_array_equal(model.predict(rows), whole.predict(rows))
    with open("here/metrics.json") as file:
        found = json.load(file)
    assert found["rows"] == 900
    assert found["labeled_by_class"] == rows["outcome"].value_counts()[["good", "bad"]].to_dict()
    assert found["held_out"]["low"] < found["held_out"]["auc"] < found["held_out"]["high"]
    assert run(["predict", "here/model.skops", "part2.parquet", "--out", "scores.csv"]) == 0
    assert len(pd.read_csv("scores.csv")) == 200


def test_one_labeled_class_is_learned_by_ada_pu(rows, scheduler):
    rows.loc[rows["outcome"] != "bad", "outcome"] = None
    rows.to_parquet("positives.parquet")
    assert fit("positives.parquet", "--json", scheduler=scheduler) == 0
    with open("here/metrics.json") as file:
        found = json.load(file)
    assert found["method"] == "ada-pu"
    assert 0.05 < found["prior"] < 0.95
    assert fewlabel.load("here/model.skops").classes_.tolist() == ["bad", "not bad"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["part0.parquet", "--engine", "spark"], "is not memory or dask"),
        (["part0.parquet", "part1.parquet"], "--engine dask"),
        (["rows.csv", "--engine", "dask"], "Parquet only"),
        (["part0.parquet", "--engine", "dask", "--method", "extra-trees"], "is not auto, pnu-aucboost"),
        (["part0.parquet", "--engine", "dask", "--drop", "agee", "--jobs", "1"], "did you mean 'age'?"),
    ],
)
def test_wrong_use_is_one_line(rows, capsys, options, told):
    rows.to_csv("rows.csv")
    assert run(["fit", *options, "--target", "outcome"]) == 2
    assert told in capsys.readouterr().err


def test_labels_pass_the_same_gate(rows, scheduler, capsys):
    command = ["fit", "part.parquet", "--target", "outcome", "--engine", "dask", "--scheduler", scheduler]
    rows["outcome"] = np.where(rows["outcome"] == "bad", 1, -1)
    rows.to_parquet("part.parquet")
    assert run(command) == 2
    err = capsys.readouterr().err
    assert "column 'outcome' holds only -1 and 1. If -1 is a class: --unlabeled ''; if it marks unlabeled rows" in err
    assert run([*command, "--unlabeled", ""]) == 0
    n = int((rows["outcome"] == 1).sum())
    assert f"labels: -1 ({900 - n} rows), 1 ({n} rows); positive: 1, the rarer class" in capsys.readouterr().err
    assert fewlabel.load("model.skops").classes_.tolist() == [-1, 1]
