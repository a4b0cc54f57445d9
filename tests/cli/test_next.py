"""``fewlabel next`` and ``fewlabel fit --labels``: a loop by spreadsheet."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.datasets import load_breast_cancer

from fewlabel.cli.main import run
from fewlabel.cli.paths import keep_answers
from fewlabel.exceptions import TableError

QUICK = ["--method", "logistic-regression"]


@pytest.fixture(autouse=True)
def truth(tmp_path, monkeypatch):
    """rows.csv: 200 tumors, of which 20 are labeled; returns all labels."""
    monkeypatch.chdir(tmp_path)
    data = load_breast_cancer(as_frame=True)
    table = data.data.iloc[:200, :5].round(4)
    names = np.where(data.target[:200] == 1, "benign", "malignant").astype(object)
    table["note"] = ["=1+1" if k % 2 else "text" for k in range(200)]
    table["y"] = np.where(np.arange(200) < 20, names, "")
    table.to_csv("rows.csv", index=False)
    return names


def answer(path, truth, **changed):
    """Fill in the column `label`, as somebody would in a spreadsheet."""
    sheet = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = sheet["row"].str.extract(r"r(\d+)-")[0].astype(int).to_numpy() - 1
    sheet["label"] = truth[rows]
    for position, label in changed.items():
        sheet.loc[int(position[1:]), "label"] = label
    sheet.to_csv(path, index=False)
    return rows


def test_two_rounds_by_spreadsheet(truth, capsys):
    assert run(["next", "rows.csv", "--target", "y", "--n", "30", "--out", "ask.csv"]) == 0
    said = capsys.readouterr().err
    assert "30 rows (3 random, 27 uncertain): ask.csv" in said
    assert "fewlabel fit rows.csv --target y --labels ask.csv" in said
    sheet = pd.read_csv("ask.csv", keep_default_na=False)
    assert list(sheet.columns[:5]) == ["row", "label", "how", "probability", "mean radius"]
    assert (sheet["label"] == "").all()
    assert set(sheet["note"]) <= {"'=1+1", "text"}
    first = answer("ask.csv", truth)
    assert len(set(first)) == 30
    assert first.min() >= 20

    assert run(["next", "rows.csv", "--target", "y", "--labels", "ask.csv", "--n", "10", "--out", "more.tsv"]) == 0
    second = pd.read_csv("more.tsv", sep="\t")["row"].str.extract(r"r(\d+)-")[0].astype(int) - 1
    assert not set(second) & set(first)
    capsys.readouterr()

    assert run(["fit", "rows.csv", "--target", "y", "--labels", "ask.csv", "--labels", "more.tsv", *QUICK]) == 0
    said = capsys.readouterr()
    assert "30 rows have labels from ask.csv, more.tsv" in said.err
    assert "unlabeled: 150 rows" in said.err
    assert "50 labeled and 150 unlabeled rows" in said.out


def test_random_answers_give_the_auc_of_the_whole_table(truth, capsys):
    assert run(["next", "rows.csv", "--target", "y", "--n", "40", "--random-share", "0.5", "--quiet"]) == 0
    rows = answer("ask.csv", truth)
    assert run(["fit", "rows.csv", "--target", "y", "--labels", "ask.csv", *QUICK]) == 0
    said = " ".join(capsys.readouterr().err.split())
    found = re.search(r"AUC (0\.\d+) \(0\.\d+ to [01]\.\d+\) for all rows of the table, by the 20 answers", said)
    assert float(found[1]) > 0.8
    assert len(rows) == 40


def test_contradicting_answers_are_reported(truth, capsys):
    assert run(["next", "rows.csv", "--target", "y", "--n", "4", "--out", "a.csv", "--quiet"]) == 0
    sheet = pd.read_csv("a.csv", dtype=str)
    sheet.to_csv("b.csv", index=False)
    answer("a.csv", truth, _0="benign")
    answer("b.csv", truth, _0="malignant")
    assert run(["check", "rows.csv", "--target", "y", "--labels", "a.csv", "--labels", "b.csv", "--json"]) == 0
    said = capsys.readouterr().out
    assert "1 row(s) have contradicting labels" in said
    assert "3 rows have labels from a.csv, b.csv" in said


def test_a_table_without_labels_and_without_the_column(truth, capsys):
    pd.read_csv("rows.csv").drop(columns="y").to_csv("bare.csv", index=False)
    assert run(["next", "bare.csv", "--target", "y", "--n", "20", "--random-share", "0", "--out", "ask.csv"]) == 0
    assert "20 rows (20 diverse): ask.csv" in capsys.readouterr().err
    answer("ask.csv", truth)
    assert run(["check", "bare.csv", "--target", "y", "--labels", "ask.csv", "--json"]) == 0
    assert '"benign"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "Y"], "there is no column 'Y'; did you mean 'y'?"),
        (["--target", "y", "--out", "rows.csv"], "rows.csv is read by this command"),
        (["--target", "y", "--out", "ask.xlsx"], "written as .csv or .tsv"),
    ],
)
def test_wrong_use(arguments, message, capsys):
    assert run(["next", "rows.csv", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_answers_are_not_overwritten(truth, capsys):
    assert run(["next", "rows.csv", "--target", "y", "--n", "4", "--quiet"]) == 0
    assert run(["next", "rows.csv", "--target", "y", "--n", "5", "--quiet"]) == 0  # nobody has answered yet
    answer("ask.csv", truth)
    before = Path("ask.csv").read_text()
    assert run(["next", "rows.csv", "--target", "y"]) == 2
    assert "ask.csv has 5 answers, which would be lost: rename it" in " ".join(capsys.readouterr().err.split())
    assert Path("ask.csv").read_text() == before


def test_the_rows_to_label_that_a_fit_writes_can_be_answered(truth, capsys):
    table = pd.read_csv("rows.csv")
    table.assign(y=np.where(np.arange(200) % 5 == 0, truth, "")).to_csv("rows.csv", index=False)
    fit = ["fit", "rows.csv", "--target", "y", "--quiet", *QUICK]
    assert run([*fit, "--out", "first"]) == 0
    rows = answer("first/label_next.csv", truth)
    assert len(rows) == 20
    assert run([*fit, "--out", "first"]) == 2
    assert "label_next.csv has 20 answers" in " ".join(capsys.readouterr().err.split())
    assert run([*fit, "--out", "second", "--labels", "first/label_next.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["labeled"] == 60


def test_a_sheet_is_known_whatever_the_case_of_its_header(truth, capsys):
    assert run(["next", "rows.csv", "--target", "y", "--n", "4", "--quiet"]) == 0
    answer("ask.csv", truth)
    content = Path("ask.csv").read_text().replace("row,label,", "Row, LABEL ,")
    Path("ask.csv").write_text(content)
    assert run(["next", "rows.csv", "--target", "y", "--quiet"]) == 2
    assert "ask.csv has 4 answers" in " ".join(capsys.readouterr().err.split())
    assert Path("ask.csv").read_text() == content
    assert run(["check", "rows.csv", "--target", "y", "--labels", "ask.csv", "--json"]) == 0
    assert "4 rows have labels from ask.csv" in capsys.readouterr().out


def test_no_command_writes_over_a_file_that_it_reads_or_does_not_know(truth, capsys):
    table = pd.read_csv("rows.csv")
    table.assign(y=np.where(np.arange(200) % 5 == 0, truth, "")).to_csv("rows.csv", index=False)
    Path("label_next.csv").write_bytes(Path("rows.csv").read_bytes())
    before = Path("label_next.csv").read_bytes()
    fit = ["fit", "--target", "y", "--quiet", *QUICK]
    assert run([*fit, "label_next.csv"]) == 2
    assert "label_next.csv is read by this command" in " ".join(capsys.readouterr().err.split())
    assert run([*fit, "rows.csv"]) == 2
    assert "label_next.csv is not a sheet of rows to label" in " ".join(capsys.readouterr().err.split())
    assert run(["next", "rows.csv", "--target", "y", "--out", "label_next.csv"]) == 2
    Path("rows.tsv").hardlink_to("label_next.csv")
    assert run(["next", "label_next.csv", "--target", "y", "--out", "rows.tsv"]) == 2
    assert Path("label_next.csv").read_bytes() == before


def test_nothing_left_to_ask(truth, capsys):
    table = pd.read_csv("rows.csv")
    table.assign(y=truth).to_csv("full.csv", index=False)
    assert run(["next", "full.csv", "--target", "y"]) == 1
    assert "column 'y' labels every row of full.csv" in capsys.readouterr().err


def test_a_sheet_without_rows_may_be_replaced_and_a_damaged_one_may_not(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text("row,label\n", encoding="utf-8")
    keep_answers(path)
    path.write_text("row,label\n1-a,yes\n", encoding="utf-8")
    with pytest.raises(typer.BadParameter, match="1 answers, which would be lost"):
        keep_answers(path)
    path.write_bytes(b"row,label\n1-a,\xff\xfe\x00\n")
    with pytest.raises((TableError, typer.BadParameter)):
        keep_answers(path)


def test_after_an_audit_the_headline_is_about_the_unlabeled_rows(truth, capsys):
    assert run(["audit", "rows.csv", "--target", "y", "--n", "40", "--out", "ask.csv"]) == 0
    assert "40 rows, drawn with known probability: ask.csv" in capsys.readouterr().err
    sheet = pd.read_csv("ask.csv", keep_default_na=False)
    assert (sheet["label"] == "").all()
    assert set(sheet["how"]) == {"audit"}
    answer("ask.csv", truth)
    assert run(["audit", "rows.csv", "--target", "y", "--labels", "ask.csv", "--n", "10", "--out", "more.csv"]) == 0
    answer("more.csv", truth)
    capsys.readouterr()
    fit = ["fit", "rows.csv", "--target", "y", "--labels", "ask.csv", "--labels", "more.csv", *QUICK]
    assert run([*fit, "--out", "model"]) == 0
    assert "Expected on the unlabeled rows, by 50 audited rows: AUC" in capsys.readouterr().out
    metrics = json.loads(Path("model/metrics.json").read_text())
    assert metrics["headline"]["audited"] == metrics["selection"]["audited"] == 50
    assert "by 50 audited rows" in Path("model/report.html").read_text()
    assert "by 50 audited rows" in Path("model/model_card.md").read_text()


def test_one_of_two_label_probabilities_is_asked_for(truth, capsys):
    table = pd.read_csv("rows.csv", dtype=str, keep_default_na=False)
    table.assign(chance=0.3).to_csv("rows.csv", index=False)
    assert run(["audit", "rows.csv", "--target", "y", "--drop", "chance", "--n", "40", "--out", "ask.csv"]) == 0
    answer("ask.csv", truth)
    fit = ["fit", "rows.csv", "--target", "y", "--labels", "ask.csv", "--out", "model", *QUICK]
    by_column = ["--label-probability", "chance"]
    capsys.readouterr()
    assert run([*fit, *by_column]) == 2
    error = capsys.readouterr().err
    assert "40 answers to an audit" in error
    assert "leave out --label-probability" in error
    assert "labels:" not in error  # nothing was read for minutes before
    assert not Path("model").exists()

    # Either way out of the message works.
    assert run([*fit, "--drop", "chance"]) == 0
    assert json.loads(Path("model/metrics.json").read_text())["headline"]["audited"] == 40
    sheet = pd.read_csv("ask.csv", dtype=str, keep_default_na=False)
    sheet.assign(probability="").to_csv("ask.csv", index=False)
    assert run([*fit, *by_column]) == 0
    assert json.loads(Path("model/metrics.json").read_text())["headline"]["audited"] == 60


def test_people_who_contradict_each_other_and_labels_that_are_asked_again(truth, capsys):
    table = pd.read_csv("rows.csv", dtype=str, keep_default_na=False)
    wrong = [3, 7]
    for row in wrong:
        table.loc[row, "y"] = "benign" if truth[row] == "malignant" else "malignant"
    table.to_csv("rows.csv", index=False)
    assert run(["next", "rows.csv", "--target", "y", "--again", "--n", "6", "--out", "again.csv"]) == 0
    rows = answer("again.csv", truth)
    assert set(rows) < set(range(20))
    assert set(rows) & set(wrong)
    assert run(["next", "rows.csv", "--target", "y", "--n", "30", "--out", "ada.csv"]) == 0
    answer("ada.csv", truth)
    sheet = pd.read_csv("ada.csv", dtype=str, keep_default_na=False)
    sheet.assign(labeler="Ada").to_csv("ada.csv", index=False)
    others = sheet["label"].map({"benign": "malignant", "malignant": "benign"})
    sheet.assign(labeler="Bob", label=sheet["label"].where(sheet.index % 4 > 0, others)).to_csv("bob.csv", index=False)
    answers = ["--labels", "ada.csv", "--labels", "bob.csv"]
    capsys.readouterr()
    assert run(["fit", "rows.csv", "--target", "y", *answers, *QUICK, "--out", "model"]) == 0
    said = capsys.readouterr().err
    assert "2 people answered, 30 rows more than once: 73% of these pairs of answers agree" in said
    assert "8 rows have contradicting answers" in said
    metrics = json.loads(Path("model/metrics.json").read_text())
    assert metrics["data"]["labeled"] == 50
    assert any("2 people answered" in note for note in metrics["notes"])
    assert run(["check", "rows.csv", "--target", "y", "--labels", "again.csv", "--json"]) == 0
    assert "contradicting" not in capsys.readouterr().out
