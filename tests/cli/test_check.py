"""``fewlabel check``: what a person sees of a table before a fit, and what `fewlabel fit` says of it, too."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from fewlabel.cli.main import run

QUICK = ["--method", "logistic-regression"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(y=None, **columns):
    """rows.csv: 569 tumors with three measurements; a third of the diagnoses are known."""
    data = load_breast_cancer(as_frame=True)
    diagnosis = np.where(data.target == 1, "benign", "malignant")
    table = data.data.iloc[:, :3].round(4).assign(**columns)
    table["y"] = np.where(np.arange(569) % 3 == 0, diagnosis, None) if y is None else y
    table.to_csv("rows.csv", index=False)
    return table


def test_a_table(capsys):
    table = write(
        id=np.arange(569), patient=[f"P{k // 4}" for k in range(569)], amount=[f"{k % 91},5" for k in range(569)]
    )
    assert run(["check", "rows.csv", "--target", "y"]) == 0
    captured = capsys.readouterr()
    lines = [" ".join(line.split()) for line in captured.out.splitlines()]
    assert lines[0] == "rows.csv: 569 rows, 6 columns"
    assert "mean radius number 456 " in [line + " " for line in lines]
    assert "id 569 dropped: looks like an identifier" in lines
    assert "patient text 143 repeats like a group" in lines
    benign, malignant = table["y"].value_counts()
    assert (
        f"labels: 'benign' ({benign} rows), 'malignant' ({malignant} rows); unlabeled: 379 rows (empty cell); "
        "positive: 'malignant', by its name"
    ) in lines
    assert "amount number 91 written as 1.234,5" in lines
    assert captured.err == ""


def test_dates_with_two_readings(capsys):
    write(day=[f"{k % 12 + 1:02}/{k % 11 + 1:02}/2024" for k in range(569)])
    assert run(["check", "rows.csv", "--target", "y"]) != 0
    assert "--day-first" in capsys.readouterr().err
    assert run(["check", "rows.csv", "--target", "y", "--day-first"]) == 0
    assert "written as 31/12/2024" in capsys.readouterr().out


def test_json(capsys):
    write()
    assert run(["check", "rows.csv", "--target", "y", "--positive", "benign", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 569
    assert sum(found["classes"].values()) == 190
    assert (found["positive"], found["why"]) == ("benign", "given")
    assert found["unlabeled"] == {"empty cell": 379}
    assert [column["kind"] for column in found["columns"]] == ["number"] * 3
    assert found["notes"] == []


def test_the_gate_stops_check_too(capsys):
    write(y=np.where(np.arange(569) % 3 == 0, 1, -1))
    assert run(["check", "rows.csv", "--target", "y"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "column 'y' holds only -1 and 1. If -1 is a class: --unlabeled ''; if it marks" in captured.err
    assert captured.err.count("\n") == 1
    assert run(["check", "rows.csv", "--target", "y", "--unlabeled=-1"]) == 0
    assert "labels: 1 (190 rows); unlabeled: 379 rows (-1)" in capsys.readouterr().out


def test_a_column_that_is_filled_for_labeled_frauds_only(capsys):
    """Positive-unlabeled data: nothing but the labels can tell this leak, which gave an AUC of 1.000."""
    known = np.arange(569) % 3 == 0
    write(y=np.where(known, "fraud", None), investigator=np.where(known, "Smith", None))
    note = "note: column 'investigator' is filled for labeled rows only: if it is filled in after the label is known"
    assert run(["check", "rows.csv", "--target", "y"]) == 0
    assert note in capsys.readouterr().out
    assert run(["fit", "rows.csv", "--target", "y", *QUICK]) == 0
    assert note in capsys.readouterr().err
    assert run(["fit", "rows.csv", "--target", "y", "--drop", "investigator", *QUICK]) == 0
    assert note not in capsys.readouterr().err


def test_fit_names_suspected_groups(capsys):
    write(patient=np.arange(569) // 4)
    assert run(["fit", "rows.csv", "--target", "y", *QUICK]) == 0
    assert "note: column 'patient' repeats, 4.0 rows per value" in capsys.readouterr().err


def test_a_name_that_controls_the_terminal(capsys):
    write(**{"\x1b[31mred": np.arange(569) % 7})
    assert run(["check", "rows.csv", "--target", "y"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_notes_on_the_file(capsys):
    table = write()
    pd.concat([table, table[["mean radius"]]], axis=1).to_csv("rows.csv", index=False)
    assert run(["check", "rows.csv", "--target", "y", "--json"]) == 0
    assert "columns with the same name are numbered: 'mean radius'" in json.loads(capsys.readouterr().out)["notes"]


def test_labels_that_were_chosen_are_said_in_the_first_lines(capsys):
    rng = np.random.default_rng(0)
    age = rng.normal(50, 10, 600)
    bad = rng.random(600) < 0.3 + 0.2 * (age > 50)
    labeled = age + rng.normal(0, 5, 600) > 60  # only older people were looked at
    table = pd.DataFrame({"age": age, "other": rng.normal(size=600)})
    table["outcome"] = np.where(labeled, np.where(bad, "bad", "good"), None)
    table.to_csv("rows.csv", index=False)
    assert run(["check", "rows.csv", "--target", "outcome"]) == 0
    said = capsys.readouterr().out
    assert "Labels were chosen" in said
    assert "age is higher" in said
