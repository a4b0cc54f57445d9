"""Tables with positives only: no confident wrong number, and the first line says what nobody can know."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from fewlabel.cli.main import run

METHODS = ["--method", "logistic regression", "--jobs", "1"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def marketing(n=1500, seed=0):
    """10% buyers, whom five columns tell apart from the others with an AUC of about .88."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.1
    X = rng.normal(size=(n, 5)) + 0.75 * truth[:, None]
    return X, truth, rng


def written(X, labeled):
    table = pd.DataFrame(X, columns=list("abcde"))
    table["bought"] = np.where(labeled, "yes", None)
    table.to_csv("rows.csv", index=False)


def fitted(capsys, *options):
    assert run(["fit", "rows.csv", "--target", "bought", "--out", "out", *METHODS, *options]) == 0
    first_line = capsys.readouterr().out.splitlines()[0]
    return first_line, json.loads(Path("out/metrics.json").read_text("utf-8"))


def test_positives_at_random_make_no_perfect_model(capsys):
    X, truth, rng = marketing()
    labeled = truth & (rng.random(len(truth)) < 0.3)
    written(X, labeled)
    first_line, numbers = fitted(capsys)
    assert first_line.startswith("Only positives are labeled, so nobody can know")
    assert "`fewlabel audit TABLE --target COLUMN --n 50`" in first_line
    assert "More likely" not in first_line
    head = numbers["headline"]
    assert run(["predict", "out/model.fewlabel", "rows.csv", "--out", "scores.csv"]) == 0
    scores = pd.read_csv("scores.csv")["score"].to_numpy()
    assert head["low"] <= roc_auc_score(truth[~labeled], scores[~labeled]) <= head["high"]
    assert head["score"] < 0.999
    assert head["high"] - head["low"] > 0.1
    # At the threshold of the model, for the unlabeled rows.
    flagged = scores[~labeled] > numbers["decisions"]["threshold"]
    precision = numbers["decisions"]["estimates"]["precision"]
    assert precision["low"] <= truth[~labeled][flagged].mean() <= precision["high"]
    capsys.readouterr()
    assert run(["prior", "rows.csv", "--target", "bought", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["prior"] == pytest.approx(numbers["data"]["prior"])
    assert found["low"] <= truth[~labeled].mean() <= found["high"]


def test_easy_positives_are_suspected(capsys):
    X, truth, _ = marketing()
    easy = np.where(truth, X.sum(axis=1), -np.inf)
    written(X, np.argsort(-easy).argsort() < 60)
    first_line, numbers = fitted(capsys)
    assert "More likely those that are easily recognized were labeled, and others are missed" in first_line
    assert numbers["selection"]["labeled_positives"] > 0.6
    assert "Only positives are labeled" in Path("out/report.html").read_text("utf-8")


def test_an_audit_tells_what_easy_positives_do_not(capsys):
    X, truth, _ = marketing(1000, seed=7)
    easy = np.where(truth, X.sum(axis=1), -np.inf)
    labeled = np.argsort(-easy).argsort() < 40
    written(X, labeled)
    assert run(["audit", "rows.csv", "--target", "bought", "--n", "60", "--out", "ask.csv"]) == 0
    sheet = pd.read_csv("ask.csv")
    asked = sheet["row"].str.extract(r"r(\d+)-")[0].astype(int).to_numpy() - 1
    sheet["label"] = np.where(truth[asked], "yes", "no")
    sheet.to_csv("ask.csv", index=False)
    capsys.readouterr()
    _, numbers = fitted(capsys, "--labels", "ask.csv", "--positive", "yes")
    assert numbers["task"] == "binary"
    assert numbers["selection"]["audited"] == 60
    low, high = numbers["headline"]["low"], numbers["headline"]["high"]
    assert run(["predict", "out/model.fewlabel", "rows.csv", "--out", "scores.csv"]) == 0
    scores = pd.read_csv("scores.csv")["score"].to_numpy()
    hidden = ~labeled
    hidden[asked] = False
    assert low <= roc_auc_score(truth[hidden], scores[hidden]) <= high


def answer(truth, yes, no):
    """Fill in the sheet, and return the number of positive answers."""
    sheet = pd.read_csv("ask.csv")
    asked = sheet["row"].str.extract(r"r(\d+)-")[0].astype(int).to_numpy() - 1
    sheet["label"] = np.where(truth[asked], yes, no)
    sheet.to_csv("ask.csv", index=False)
    return int(truth[asked].sum())


def test_negative_answers_are_labels_where_negatives_of_the_table_are_unknown(capsys):
    X, truth, rng = marketing(800)
    labeled = truth & (rng.random(len(truth)) < 0.5)
    table = pd.DataFrame(X, columns=list("abcde")).assign(bought=labeled.astype(int))
    table.to_csv("rows.csv", index=False)
    command = ["rows.csv", "--target", "bought", "--negatives-unknown"]
    assert run(["audit", *command, "--n", "60"]) == 0
    assert "--negatives-unknown --labels ask.csv" in capsys.readouterr().err
    n_found = answer(truth, "1", "0")
    assert n_found > 0
    counts = (
        f"labels: 0 ({60 - n_found} rows), 1 ({labeled.sum() + n_found} rows); unlabeled: {740 - labeled.sum()} rows"
    )
    command += ["--labels", "ask.csv"]
    for asks in ("audit", "next"):
        assert run([asks, *command, "--n", "5", "--out", "more.csv"]) == 0
        assert counts in capsys.readouterr().err
    assert run(["prior", *command, "--method", "en"]) == 0
    assert counts in capsys.readouterr().err
    assert run(["check", *command]) == 0
    assert counts in capsys.readouterr().out
    _, numbers = fitted(capsys, "--negatives-unknown", "--labels", "ask.csv")
    assert numbers["task"] == "binary"
    assert numbers["selection"]["audited"] == 60


@pytest.mark.parametrize(
    ("mark", "options"),
    [
        ("?", ["--unlabeled", "?"]),
        ("N/A", []),
        ("no", ["--negatives-unknown"]),
        ("no", ["--label-time", "day", "--mature-after", "10"]),
        ("yes", ["--label-time", "day", "--mature-after", "10"]),
    ],
)
def test_no_answer_contradicts_a_mark_of_unlabeled_rows(mark, options, capsys):
    X, truth, _ = marketing(100)
    truth = truth | (X[:, 0] > 0.5)
    # Labels arrive within 10 days, and today is day 20.
    old = np.arange(100) < 30
    cells = np.where(old, np.where(truth, "yes", "no"), mark)
    table = pd.DataFrame(X, columns=list("abcde")).assign(day=np.where(old, 0, 20), bought=cells)
    table.to_csv("rows.csv", index=False)
    command = ["rows.csv", "--target", "bought", *options]
    assert run(["audit", *command, "--n", "20"]) == 0
    n_found = answer(truth, "yes", "no")
    assert run(["check", *command, "--labels", "ask.csv"]) == 0
    said = capsys.readouterr().out
    assert "20 rows have labels from ask.csv" in said
    assert "contradicting" not in said
    n_no = 20 - n_found
    if "--negatives-unknown" not in options:
        n_no += int((~truth[old]).sum())
    assert f"labels: 'no' ({n_no} rows), 'yes' ({truth[old].sum() + n_found} rows); unlabeled" in said


def test_a_sheet_that_nobody_filled_in(capsys):
    X, truth, _ = marketing(100)
    written(X, np.zeros_like(truth))
    command = ["rows.csv", "--target", "bought", "--n", "5"]
    assert run(["audit", *command]) == 0
    assert run(["audit", *command, "--labels", "ask.csv", "--out", "more.csv"]) == 0
    assert "no row is labeled" in capsys.readouterr().err


def test_an_answer_contradicts_a_known_positive(capsys):
    X, truth, _ = marketing(100)
    written(X, truth)
    assert run(["audit", "rows.csv", "--target", "bought", "--n", "20"]) == 0
    table = pd.read_csv("rows.csv")
    asked = pd.read_csv("ask.csv")["row"].str.extract(r"r(\d+)-")[0].astype(int).to_numpy() - 1
    table.loc[asked[0], "bought"] = "yes"
    table.to_csv("rows.csv", index=False)
    answer(truth, "yes", "no")
    assert run(["check", "rows.csv", "--target", "bought", "--negatives-unknown", "--labels", "ask.csv"]) == 0
    said = capsys.readouterr().out
    assert "1 row(s) have contradicting labels" in said
    assert "'no' (19 rows)" in said


def test_a_named_column_is_an_option(capsys):
    X, truth, rng = marketing(600)
    labeled = truth & (rng.random(len(truth)) < np.where(X[:, 4] > 1, 0.9, 0.2))
    written(X, labeled)
    fitted(capsys, "--labeled-because", "e")
    assert run(["fit", "rows.csv", "--target", "bought", "--out", "out", *METHODS, "--labeled-because", "z"]) != 0
    assert "the table has no column 'z'" in capsys.readouterr().err
