"""Label columns on the command line: read right, or one line with both readings and the options that choose."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import fewlabel
from fewlabel.cli.main import run

QUICK = ["--method", "logistic-regression"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(negative="0", positive="1", empty=None, **columns):
    """rows.csv: 569 tumors, of which 212 are positive; the label of every third row is `empty` unless it is None."""
    data = load_breast_cancer(as_frame=True)
    table = data.data.iloc[:, :5].round(4).assign(**columns)
    table["y"] = np.where(data.target == 1, negative, positive).astype(object)
    if empty is not None:
        table.loc[::3, "y"] = empty
    table.to_csv("rows.csv", index=False)
    return table


def message(capsys, code=2):
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert os.listdir() == ["rows.csv"]
    return captured.err


STOPS = [
    (
        dict(negative="-1"),
        "column 'y' holds only -1 and 1. If -1 is a class: --unlabeled ''; if it marks unlabeled rows: --unlabeled=-1",
    ),
    (dict(negative="-1", empty=""), "column 'y' holds -1 and also empty cells. If -1 is a class: --unlabeled ''"),
    (
        dict(negative="good", positive="bad", empty="unknown"),
        "'unknown' (190 rows). If unknown is a class: --unlabeled ''; if it marks unlabeled rows: --unlabeled=unknown",
    ),
    (dict(empty="?"), "if it marks unlabeled rows: --unlabeled='?'"),
    (dict(negative="good", positive="bad", empty="N/a"), "if it marks unlabeled rows: --unlabeled=N/a"),
    (
        dict(negative="no", positive="yes", empty="Yes"),
        "several spellings: 'Yes' (190) and 'yes' (",  # the number of rows follows
    ),
    (dict(negative="no", positive="yes", empty="yes "), "one class: --merge-spellings; if each is a class: --keep-"),
    (dict(empty="perhaps"), "mixes kinds of values"),
    (dict(negative="2024-01-31", positive="2024-02-01"), "holds dates"),
]


@pytest.mark.parametrize("command", ["fit", "prior", "select"])
@pytest.mark.parametrize(("labels", "expected"), STOPS)
def test_two_readings_stop_every_command(command, labels, expected, capsys):
    write(**labels)
    assert run([command, "rows.csv", "--target", "y"]) == 2
    assert expected in message(capsys)


@pytest.mark.parametrize(
    ("labels", "options", "expected"),
    [
        (dict(negative="-1"), ["--unlabeled", ""], "labels: -1 (357 rows), 1 (212 rows); positive: 1, by its name"),
        (
            dict(negative="-1"),
            ["--unlabeled=-1"],
            "unlabeled: 357 rows (-1); positive: 1, the only labeled class",
        ),
        (dict(negative="-1", empty=""), ["--unlabeled", "-1"], "rows (empty cell, -1); positive: 1"),
        (dict(empty="?"), ["--unlabeled", "?"], "unlabeled: 190 rows (?); positive: 1, by its name"),
        (dict(negative="no", positive="yes", empty="Yes"), ["--merge-spellings"], "spellings are read as 2 class(es)"),
        (
            dict(negative="good", positive="bad", empty=""),
            [],
            "190 rows (empty cell); positive: 'bad', by its name",
        ),
        (dict(negative="good", positive="bad"), ["-p", "good"], "positive: 'good', given"),
        (dict(empty="n/a"), [], "note: 'n/a' (190 rows) is read as unlabeled; if it is a class: --unlabeled ''"),
        (dict(empty="-1"), [], "note: -1 is read as unlabeled; if it is a class: --unlabeled ''"),
        (dict(), ["--negatives-unknown"], "labels: 1 (212 rows); unlabeled: 357 rows (0); positive: 1, the value of a"),
    ],
)
def test_fit_says_how_the_labels_were_read(labels, options, expected, capsys):
    write(**labels)
    assert run(["fit", "rows.csv", "--target", "y", *options, *QUICK]) == 0
    assert expected in capsys.readouterr().err


def test_minus_one_can_be_a_class(capsys):
    table = write(negative="-1")
    assert run(["fit", "rows.csv", "--target", "y", "--unlabeled", "", "--out", "m", "-q", *QUICK]) == 0
    model = fewlabel.load("m/model.fewlabel")
    assert model.classes_.tolist() == [-1, 1]
    assert np.mean(model.predict(table).astype(str) == table["y"]) > 0.85
    assert "--unlabeled '' --method" in open("m/metrics.json").read()  # noqa: SIM115


def test_a_flag_is_read_as_positive_unlabeled_with_a_given_prior(capsys):
    write()
    options = ["--negatives-unknown", "--prior", "0.1"]
    assert run(["fit", "rows.csv", "--target", "y", *options, "-q", *QUICK]) == 0
    model = fewlabel.load("model.fewlabel")
    assert model.classes_.tolist() == [0, 1]
    assert model.prior == 0.1


def test_latin_1_is_read_with_its_name(capsys):
    table = write(negative="pay\u00e9", positive="refus\u00e9")
    table.to_csv("rows.csv", index=False, encoding="latin-1")
    assert run(["fit", "rows.csv", "--target", "y"]) == 1
    assert "is not UTF-8 text: name its encoding, for instance --encoding latin-1" in message(capsys, 1)
    assert run(["fit", "rows.csv", "--target", "y", "--encoding", "latin1x"]) == 1
    assert "unknown encoding: latin1x" in message(capsys, 1)
    assert run(["fit", "rows.csv", "--target", "y", "--encoding", "latin-1", *QUICK]) == 0
    assert "positive: 'refus\u00e9', the rarer class" in capsys.readouterr().err


def test_decimal_commas(capsys):
    table = write()
    table.to_csv("rows.csv", index=False, sep=";", decimal=",")
    assert run(["fit", "rows.csv", "--target", "y", "--decimal", ",", "-q", *QUICK]) == 0
    assert set(fewlabel.load("model.fewlabel").encoder.kinds.values()) == {"number"}
    table.to_csv("rows.csv", index=False, decimal=",")  # numbers in quotes
    assert run(["fit", "rows.csv", "--target", "y", "--decimal", ",", "-q", *QUICK]) == 0
    assert set(fewlabel.load("model.fewlabel").encoder.kinds.values()) == {"number"}
    assert run(["fit", "rows.csv", "--target", "y", "--decimal", "comma"]) == 2
    assert "'comma' is not one character" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_fails_before_any_work(capsys, monkeypatch):
    write()
    for out, expected in (("rows.csv", "is a file"), ("rows.csv/m", "there is no folder"), ("a/b", "there is no fold")):
        assert run(["fit", "rows.csv", "--target", "y", "--out", out]) == 2
        assert expected in message(capsys)
    os.makedirs("taken/model.fewlabel")
    assert run(["fit", "rows.csv", "--target", "y", "--out", "taken"]) == 2
    assert "model.fewlabel is a folder" in capsys.readouterr().err
    os.mkdir("locked")
    # Root may write anywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK or not str(path).endswith("locked"))
    for out in ("locked", "locked/new"):
        assert run(["fit", "rows.csv", "--target", "y", "--out", out]) == 2
        assert "locked cannot be written: choose another place" in capsys.readouterr().err


def test_parquet_files_pass_the_same_gate(capsys):
    table = write()
    table.assign(y=np.where(table["y"] == "1", 1, -1)).to_parquet("rows.parquet")
    os.remove("rows.csv")
    assert run(["fit", "rows.parquet", "--target", "y"]) == 2
    assert "holds only -1 and 1" in capsys.readouterr().err
    table.assign(y=pd.Series(np.where(table["y"] == "1", 1.0, 0.0)).where(table.index % 2 == 0)).to_parquet("r.parquet")
    assert run(["fit", "r.parquet", "--target", "y", "-q", *QUICK]) == 0
    assert fewlabel.load("model.fewlabel").classes_.tolist() == [0, 1]


def test_labels_that_have_not_had_time_to_arrive_are_unlabeled(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    days = np.arange(300) // 3
    y = np.where((x > 0.5) & (days < 80), "default", "paid")  # of new loans, none has defaulted yet
    issued = pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")
    pd.DataFrame({"x": x, "issued": issued, "y": y}).to_csv("loans.csv", index=False)
    late = ["--label-time", "issued", "--mature-after", "20d"]
    fit = ["fit", "loans.csv", "--target", "y", *late, "--method", "logistic-regression", "--out", "model"]
    assert run(fit) == 0
    said = capsys.readouterr()
    assert "labels that have not had time to arrive count as unlabeled: 60 'paid'" in said.err
    assert "240 labeled and 60 unlabeled rows" in said.out
    metrics = json.loads(Path("model/metrics.json").read_text())
    assert metrics["data"]["columns"] == 1
    assert run(["fit", "loans.csv", "--target", "y", *late[:2]]) == 2
    assert "go together" in capsys.readouterr().err
    assert run(["check", "loans.csv", "--target", "y", "--label-time", "issued", "--mature-after", "soon"]) == 2
    assert "'soon' is not a duration such as 90d" in capsys.readouterr().err
