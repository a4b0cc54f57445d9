"""The options of fit that choose a threshold, and predict with it."""

import json

import numpy as np
import pandas as pd
import pytest

import fewlabel
from fewlabel.cli.main import run

QUICK = ["--method", "logistic-regression", "--positive", "bad", "--target", "y"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.3, "bad", "good")
    rows = pd.DataFrame({"a": rng.normal(1.5 * (y == "bad")), "b": rng.normal(size=300)})
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    rows.assign(y=np.where(np.arange(300) < 120, y, None)).to_csv(path, index=False)
    return path


def fit(table, out, *options):
    assert run(["fit", str(table), *QUICK, "--out", str(out), "--quiet", *options]) == 0
    return json.loads((out / "metrics.json").read_text())


def test_review_stores_a_cut_above_which_so_many_rows_lie(table, tmp_path, capsys):
    found = fit(table, tmp_path / "model", "--review", "25")
    assert (found["decisions"]["rule"], found["decisions"]["flagged"]) == ("review 25 of 180 rows", 25)
    assert "--review 25" in found["command"]
    band = found["decisions"]["estimates"]["precision"]
    assert 0 < band["low"] < band["value"] <= band["high"] <= 1
    model = fewlabel.load(tmp_path / "model" / "model.fewlabel")
    rows = pd.read_csv(table)
    unlabeled = rows[rows["y"].isna()]
    assert np.sum(model.predict(unlabeled) == "bad") == 25
    unlabeled.to_csv(tmp_path / "new.csv", index=False)
    capsys.readouterr()
    out = tmp_path / "out.csv"
    assert (
        run(["predict", str(tmp_path / "model" / "model.fewlabel"), str(tmp_path / "new.csv"), "--out", str(out)]) == 0
    )
    assert "threshold: 25 of 180 rows have a score above" in capsys.readouterr().err
    scores = pd.read_csv(out)
    assert ((scores["label"] == "bad") == (scores["rank"] <= 25)).all()


def test_costs_precision_and_prior_choose_other_cuts(table, tmp_path):
    costly = fit(table, tmp_path / "a", "--cost-miss", "50", "--cost-alarm", "1")["decisions"]
    cheap = fit(table, tmp_path / "b", "--cost-miss", "1", "--cost-alarm", "1")["decisions"]
    assert costly["flagged"] > cheap["flagged"]
    assert costly["costs"] == {"miss": 50.0, "alarm": 1.0}
    assert costly["estimates"]["cost"]["low"] <= costly["estimates"]["cost"]["value"]
    assert "Expected cost" in (tmp_path / "a" / "report.html").read_text()
    precise = fit(table, tmp_path / "c", "--at-precision", "0.6")["decisions"]
    assert precise["estimates"]["precision"]["value"] >= 0.6
    rare = fit(table, tmp_path / "d", "--prior", "0.05")["decisions"]
    assert (rare["flagged"], rare["rule"]) == (9, "share of positives 0.05")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cost-miss", "5"], "--cost-miss and --cost-alarm go together"),
        (["--review", "5", "--at-precision", "0.5"], "choose different thresholds"),
        (["--review", "5", "--engine", "dask", "--method", "auto"], "--review: it counts rows of the table"),
        (["--at-precision", "0.999"], "--at-precision: these labels cannot promise a precision of 0.999: the best"),
    ],
)
def test_wrong_use(table, tmp_path, capsys, options, message):
    assert run(["fit", str(table), *QUICK, "--out", str(tmp_path), *options]) == 2
    assert message in capsys.readouterr().err


def test_no_cut_with_three_classes(tmp_path, capsys):
    rows = pd.DataFrame({"a": np.arange(60.0) % 7, "y": list("abc") * 20})
    rows.to_csv(tmp_path / "three.csv", index=False)
    options = ["--target", "y", "--method", "logistic-regression", "--quiet", "--out", str(tmp_path / "model")]
    assert run(["fit", str(tmp_path / "three.csv"), *options, "--review", "5"]) == 2
    assert "--review: it is for two classes" in capsys.readouterr().err
