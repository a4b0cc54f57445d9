"""The figures in the text of multiview.md are those of the stored results."""

import tomllib
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
SETS = ("generator", "default-credit-card", "give-me-some-credit", "creditcard-fraud")
SUPERVISED = ["LDA", "naive Bayes", "logistic regression", "SVM", "random forest", "histogram boosting"]


@pytest.fixture(scope="module")
def text():
    return " ".join((ROOT / "docs" / "methods" / "multiview.md").read_text("utf-8").split())


@pytest.fixture(scope="module")
def frame():
    return pd.read_parquet(ROOT / "benchmarks" / "papers" / "bssel" / "results.parquet")


@pytest.fixture(scope="module")
def means(frame):
    """Mean AUC by experiment, dataset, setting and method."""
    return frame.groupby(["experiment", "dataset", "setting", "method"])["score"].mean()


def short(value):
    return f"{value:.3f}".replace("0.", ".")


def gain(means, experiment, dataset, method):
    """AUC with 15 unlabeled rows per labeled row less that without."""
    first, last = (means[experiment, dataset, f"u/l = {ratio}", method] for ratio in (0, 15))
    return last - first


def test_gains_from_unlabeled_rows(text, means):
    of = {d: gain(means, "Simulation", d, "BSSEL-LS") for d in SETS}
    assert (
        f"BSSEL gains {short(of['generator'])} on the generator, {short(of['give-me-some-credit'])} on "
        f"give-me-some-credit, {short(of['creditcard-fraud'])} on creditcard-fraud, and loses "
        f"{short(-of['default-credit-card'])} on default-credit-card"
    ) in text
    paper = tomllib.loads((ROOT / "benchmarks/papers/bssel/published.toml").read_text("utf-8"))["table1"]["both"]
    assert f"where the paper reports {paper[-1] - paper[0]:.2f}".replace("0.", ".") in text


def test_as_printed(text, means, frame):
    name, both = "Simulation, as printed", "BSSEL-LS, both"
    of = {d: f"{gain(means, name, d, both):+.3f}".replace("0.", ".") for d in SETS}
    assert (
        f"the gain is {of['generator']} on the generator, {of['default-credit-card']} on default-credit-card, "
        f"{of['give-me-some-credit']} on give-me-some-credit and {of['creditcard-fraud']} on creditcard-fraud"
    ) in text
    draws = frame[frame["experiment"] == name].groupby(["dataset", "setting", "method"]).size()
    assert (draws == draws.max()).all()
    assert f"over {draws.max()} draws" in text
    ignored = {d: means[name, d, "u/l = 15", "BSSEL-LS, none"] - means[name, d, "u/l = 15", both] for d in SETS}
    assert "it is better than that on three of the four tables" in text
    assert sum(apart > 0 for apart in ignored.values()) == 3
    assert f"by {short(ignored['default-credit-card'])} on default-credit-card" in text


def test_balancing(text, means, frame):
    gaps = {}
    for name in ("Simulation", "Simulation, as printed"):
        of = means[name, "generator", "u/l = 15"]
        gaps[name] = of["BSSEL-LS"] - of["MVL-LS"]
    assert f"plain MVL ranks {short(gaps['Simulation'])} worse on the generator" in text
    here = frame[(frame["experiment"] == "Simulation, as printed") & (frame["dataset"] == "generator")]
    assert f"(as printed, {here['repeat'].nunique()} draws) it is {short(gaps['Simulation, as printed'])}" in text
    assert gaps["Simulation, as printed"] < gaps["Simulation"] / 2
    for dataset in SETS:
        of = means["Simulation", dataset, "u/l = 15"]
        assert abs(of["MVL-LS, balanced weights"] - of["BSSEL-LS"]) < 0.01


def test_other_models_and_standards(text, means):
    best = {d: means["Simulation", d, "u/l = 0"][[*SUPERVISED, "quasi-bagging"]] for d in SETS}
    of = {d: means["Simulation", d, "u/l = 15"] for d in SETS}
    assert best["generator"].max() < of["generator"]["BSSEL-LS"]
    assert all(best[d].max() > of[d]["BSSEL-LS"] for d in SETS[1:])
    assert [best[d].idxmax() for d in SETS[1:]] == ["random forest", "LDA", "histogram boosting"]
    assert "a random forest, linear discriminant analysis, or histogram boosting" in text
    assert all(abs(of[d]["silver standard"] - of[d]["BSSEL-LS"]) < 0.002 for d in SETS)
    above = [of[d]["gold standard"] - of[d]["BSSEL-LS"] for d in SETS]
    assert f"The gold standard is {min(above):.2f} to {max(above):.2f} above".replace("0.", ".") in text
