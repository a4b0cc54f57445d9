"""`fewlabel fit` promises only what holds on the rows to come: groups, time, copies, leaks."""

import json

import numpy as np
import pandas as pd
import pytest

from fewlabel.auto import _crossfit
from fewlabel.cli.main import run


@pytest.fixture(autouse=True)
def _small_forests(monkeypatch):
    monkeypatch.setattr(_crossfit, "_FOLD_TREES", 20)
    monkeypatch.setattr(_crossfit, "_FINAL_TREES", 20)


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
    assert "Invalid value for --keep: 'a' is not the column of --groups or --time" in capsys.readouterr().err
