"""`fewlabel fit` when methods fail, lack time or a package, or columns are empty among the labeled rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fewlabel.auto import members
from fewlabel.cli.main import run

FIT = ["fit", "rows.csv", "--target", "y", "--jobs", "1"]


@pytest.fixture(autouse=True)
def _table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6))
    y = np.where(X[:, 0] + rng.normal(size=100) > 0, "yes", "no").astype(object)
    X[:60, 4:] = np.nan  # empty among the labeled rows
    y[60:] = None
    pd.DataFrame(X, columns=list("abcdef")).assign(y=y).to_csv("rows.csv", index=False)


def test_columns_that_are_empty_among_the_labeled_rows(capsys):
    assert run([*FIT, "--method", "histogram-boosting", "--quiet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left_out"] == []
    assert [row["method"] for row in found["leaderboard"]] == ["histogram boosting", "AutoClassifier"]


def test_the_progress_counts_the_methods_that_were_tried(capsys, monkeypatch):
    names = ("logistic regression", "linear discriminant", "RBF-SVM")
    monkeypatch.setattr(members, "PORTFOLIO", tuple(m for m in members.PORTFOLIO if m.name in names))
    monkeypatch.setattr("fewlabel.auto.classifier._SHARE_OF_CROSSFIT", 0.0)  # the time is over at once
    assert run([*FIT, "--time-budget", "5"]) == 0
    lines = capsys.readouterr().err.splitlines()
    steps = [line for line in lines if line[0].isdigit()]
    assert steps == ["1/5 features of all rows", "2/5 logistic regression", "3/3 the chosen members on all rows"]
    assert "note: left out (skipped: time budget): linear discriminant, RBF-SVM" in lines
    assert "left out (skipped: time budget): linear discriminant" in Path("report.html").read_text()


def test_a_missing_package_is_named(capsys, monkeypatch):
    monkeypatch.setattr(members.importlib.util, "find_spec", lambda name: None)
    assert run([*FIT, "--method", "xgboost"]) == 2
    error = capsys.readouterr().err
    assert "XGBoost needs a package that is not installed; type: pip install xgboost" in error
    assert error.count("\n") == 1


def test_a_method_that_fails_is_a_note(capsys, monkeypatch):
    def fail(context):
        raise ArithmeticError("made to fail")

    by_name = {m.name: m for m in members.PORTFOLIO}
    broken = by_name["linear discriminant"]._replace(make=fail)
    monkeypatch.setattr(members, "PORTFOLIO", (by_name["logistic regression"], broken))
    with pytest.warns(match="linear discriminant"):
        assert run([*FIT]) == 0
    assert "left out (failed: ArithmeticError: made to fail): linear discriminant" in capsys.readouterr().err
    monkeypatch.setattr(members, "PORTFOLIO", (broken,))
    assert run([*FIT]) == 1
    error = capsys.readouterr().err
    assert "no method could be fitted: linear discriminant (failed: ArithmeticError: made to fail)" in error


def test_tiny_probabilities_of_naive_bayes(capsys):
    """The logarithms of the two probabilities differ by thousands; ranks stay finite."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = pd.DataFrame(40 * y[:, None] * (rng.random((80, 30)) < 0.5) + rng.normal(size=(80, 30))).add_prefix("x")
    X.assign(y=np.where(np.arange(80) < 50, np.where(y, "yes", "no"), None)).to_csv("rows.csv", index=False)
    assert run([*FIT, "--method", "naive-bayes", "--quiet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left_out"] == []
    assert 0.9 < found["leaderboard"][0]["score"] <= 1
