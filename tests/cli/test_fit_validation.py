"""`fewlabel fit` promises only what holds on the rows to come: groups, time, copies, leaks."""

import json

import numpy as np
import pandas as pd
import pytest

from fewlabel.auto import crossfit
from fewlabel.cli.main import run


@pytest.fixture(autouse=True)
def _small_forests(monkeypatch):
    monkeypatch.setattr(crossfit, "_FOLD_TREES", 20)
    monkeypatch.setattr(crossfit, "_FINAL_TREES", 20)


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Four rows per patient; the label is that of the patient."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(40), 4)
    traits = rng.normal(size=(40, 4))
    ill = (traits[:, 0] + 2 * rng.normal(size=40) > 0)[patient]
    table = pd.DataFrame(traits[patient] + 0.05 * rng.normal(size=(160, 4)), columns=list("abcd"))
    table["patient"] = [f"p{k}" for k in patient]
    table["day"] = pd.date_range("2024-01-01", periods=160).strftime("%d/%m/%Y")
    table["ill"] = np.where(ill, "yes", "no")
    table.loc[::5, "ill"] = None
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    table.to_csv(path, index=False)
    return path


def fit(path, out, *options, method="extra trees"):
    """Run the command; the metrics that it wrote."""
    assert run(["fit", str(path), "--target", "ill", "--positive", "yes", "-m", method, "-o", str(out), *options]) == 0
    return json.loads((out / "metrics.json").read_text())


def test_four_rows_of_a_patient(visits, tmp_path, capsys):
    """Without groups the score is near 1; new patients have another."""
    promised = fit(visits, tmp_path / "a")
    assert promised["leaderboard"][0]["score"] > 0.9
    assert "column 'patient' repeats, 4.0 rows per value" in capsys.readouterr().err
    grouped = fit(visits, tmp_path / "b", "--groups", "patient")
    assert grouped["leaderboard"][0]["high"] < 0.9
    assert "--groups patient" in grouped["command"]
    assert grouped["data"]["columns"] == promised["data"]["columns"] - 1  # the patient is not a feature


def test_a_distribution_free_interval_is_named_wherever_it_is_shown(visits, tmp_path, capsys):
    options = ("--groups", "patient", "--interval", "distribution-free")
    found = fit(visits, tmp_path, *options, method="naive bayes")["headline"]
    assert found["interval"] == "distribution-free"
    named = f"(distribution-free 95% interval {found['low']:.3f} to {found['high']:.3f})"
    assert named in found["text"]
    assert named in capsys.readouterr().out
    assert named in (tmp_path / "model_card.md").read_text()
    page = (tmp_path / "report.html").read_text()
    assert named in page
    assert ", distribution-free 95% interval from" in page
    command = ["fit", str(visits), "--target", "ill", "--scoring", "average_precision"]
    assert run([*command, "--interval", "distribution-free"]) == 2
    assert "--interval: only the AUC has a distribution-free one: leave out --scoring" in capsys.readouterr().err


def test_later_rows(visits, tmp_path, capsys):
    found = fit(visits, tmp_path / "a", "--time", "day", "--keep", "day", method="naive bayes")
    assert found["data"]["columns"] == 6
    assert found["command"].count("day") == 2
    assert run(["fit", str(visits), "-t", "ill", "--time", "patient"]) == 1
    assert "time: column 'patient' holds text, such as 'p0': name a column of numbers" in capsys.readouterr().err
    assert run(["fit", str(visits), "-t", "ill", "--groups", "patients"]) == 2
    assert (
        "Invalid value for --groups: there is no column 'patients'; did you mean 'patient'?" in capsys.readouterr().err
    )
    assert run(["fit", str(visits), "-t", "ill", "--time", "day", "--keep", "a"]) == 2
    assert "Invalid value for --keep: 'a' is not the column of --groups, --time or --weights" in capsys.readouterr().err


def test_a_column_that_is_filled_for_labeled_frauds_only(tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    fraud = table["a"] + rng.normal(size=200) > 1
    table["ill"] = np.where(fraud & (np.arange(200) % 2 == 0), "yes", None)
    table["refund"] = np.where(table["ill"].notna(), rng.random(200), np.nan)
    table.to_csv(tmp_path / "rows.csv", index=False)
    found = fit(tmp_path / "rows.csv", tmp_path / "out", "--prior", "0.15", method="logistic regression")
    shown = capsys.readouterr()
    assert "column 'refund' is filled for labeled rows only: if it is filled in after the label is known" in shown.err
    assert found["data"]["leaks"] == ["refund"]
    headline = found["headline"]
    assert headline["with_leaks"]["score"] > 0.99
    assert headline["score"] < 0.95
    assert "without 'refund', which is suspected to be known only after the label" in shown.out
    assert headline["text"] in shown.out
    assert "without &#39;refund&#39;" in (tmp_path / "out" / "report.html").read_text()


def test_a_column_that_agrees_with_99_percent_of_the_labels(tmp_path, capsys):
    rng = np.random.default_rng(0)
    ill = rng.integers(0, 2, 200)
    table = pd.DataFrame(ill[:, None] + 1.5 * rng.normal(size=(200, 3)), columns=list("abc"))
    table["verdict"] = np.where(np.arange(200) % 100 == 7, 1 - ill, ill)
    table["ill"] = np.where(ill, "yes", "no")
    table.to_csv(tmp_path / "rows.csv", index=False)
    found = fit(tmp_path / "rows.csv", tmp_path / "out", method="naive bayes")
    assert "note: column 'verdict' alone nearly separates the classes (AUC 0.989)" in capsys.readouterr().err
    assert found["headline"]["with_leaks"]["score"] > 0.98 > 0.9 > found["headline"]["high"]
    # Each sentence says which columns it counts.
    assert found["good_for"].startswith("Without the suspected columns: ")
    assert found["decisions"]["text"].endswith("These figures, like the model, are with the suspected columns.")


def test_repeated_and_contradicting_rows_are_named(tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    table["ill"] = np.where(np.arange(40) % 2, "yes", "no")
    table = pd.concat([table, table[:10], table[:4].assign(ill="yes")])
    table.to_csv(tmp_path / "rows.csv", index=False)
    fit(tmp_path / "rows.csv", tmp_path / "out", method="naive bayes")
    shown = capsys.readouterr().err
    assert "note: 14 rows repeat an earlier one\n" in shown
    assert "note: 6 labeled rows have the values of a row of another class: are some labels wrong?\n" in shown
    assert "note: 24 labeled rows are exact or near duplicates of others: they are on one side of every split" in shown


def test_fifteen_labels_prove_nothing_about_more(tmp_path):
    """All 15 labels are ranked right; that is no reason to say that more labels add nothing."""
    rng = np.random.default_rng(0)
    ill = np.arange(100) % 2
    table = pd.DataFrame(ill[:, None] + 0.9 * rng.normal(size=(100, 12)), columns=list("abcdefghijkl"))
    table["ill"] = np.where(np.arange(100) < 15, np.where(ill, "yes", "no"), None)
    table.to_csv(tmp_path / "rows.csv", index=False)
    found = fit(tmp_path / "rows.csv", tmp_path / "out", method="path neighbors")
    headline = found["headline"]
    curve = found["learning_curve"]
    assert headline["score"] > 0.9
    assert headline["low"] < 0.9
    assert "no forecast is made" in curve["text"]
    assert curve["more_labels"] is None


def test_a_prior_that_does_not_fit_is_one_note(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    table["ill"] = np.where((table["a"] > 1.2) & (np.arange(200) % 2 == 0), "yes", None)
    table.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.warns(UserWarning, match="more than the data can support") as warned:
        fit(tmp_path / "rows.csv", tmp_path / "out", "--prior", "0.6", "--drop", "b", method="nnpu")
    assert [str(w.message)[:9] for w in warned] == ["prior=0.6"]
