"""Agreement between people who labeled the same rows: by hand, against scikit-learn, and by the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from fewlabel.active.answers import Votes, row_keys
from fewlabel.cli.main import run
from fewlabel.reporting import describe_labelers

NAMES = ["no", "yes"]


def described(answers, combined):
    answers = np.asarray(answers)
    votes = Votes(np.arange(len(answers)) * 2, [f"p{k}" for k in range(answers.shape[1])], NAMES, answers)
    return describe_labelers(votes, answers, np.asarray(combined), NAMES)


def test_three_people_by_hand():
    found = described([[1, 1, -1], [0, 1, -1], [1, 1, 1], [0, 0, -1], [-1, 0, 1]], [1, 0, 1, 0, -1])
    assert [person["answers"] for person in found["labelers"]] == [4, 5, 2]
    # The last row has no combined label.
    assert [person["agrees"]["value"] for person in found["labelers"]] == [1, 3 / 4, 1]
    assert [pair["rows"] for pair in found["pairs"]] == [4, 1, 2]
    assert found["pairs"][0]["agrees"]["value"] == 3 / 4
    assert found["pairs"][0]["kappa"] == pytest.approx(0.5)
    assert found["pairs"][1]["kappa"] is None  # one answer, the same: chance would do as well
    assert found["n_conflicts"] == 2
    assert found["conflicts"][0] == {"row": 3, "answers": {"p0": "no", "p1": "yes"}, "label": "no"}
    assert found["conflicts"][1]["label"] is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=30))
def test_kappa_is_that_of_scikit_learn(pairs):
    [found] = described(pairs, [1] * len(pairs))["pairs"]
    if found["kappa"] is None:
        assert len({answer for pair in pairs for answer in pair}) == 1
    else:
        assert found["kappa"] == pytest.approx(cohen_kappa_score(*zip(*pairs)))
    assert found["agrees"]["low"] <= np.mean([a == b for a, b in pairs]) <= found["agrees"]["high"]


def test_the_report_and_the_metrics_have_the_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.normal(size=200).round(3), "size": rng.normal(size=200).round(3)})
    rows.assign(ill="").to_csv("rows.csv", index=False)
    keys = np.array(row_keys(pd.read_csv("rows.csv").drop(columns="ill")))
    truth = np.where(rows["age"] > 0, "yes", "no")
    wrong = np.where(np.arange(200) % 8 == 0, np.where(truth == "yes", "no", "yes"), truth)
    for name, answers in (("Ada", truth), ("<b>Bo", wrong)):
        sheet = pd.DataFrame({"row": keys, "label": answers, "labeler": name})
        sheet[:80].to_csv(f"{len(name)}.csv", index=False)
    command = ["fit", "rows.csv", "--target", "ill", "--labels", "3.csv", "--labels", "5.csv", "--positive", "yes"]
    assert run([*command, "--method", "naive-bayes", "--quiet"]) == 0
    found = json.loads(Path("metrics.json").read_text())["labelers"]
    assert {person["name"]: person["answers"] for person in found["labelers"]} == {"<b>Bo": 80, "Ada": 80}
    [pair] = found["pairs"]
    assert pair["agrees"]["value"] == 70 / 80
    assert found["n_conflicts"] == 10
    page = Path("report.html").read_text()
    assert 'id="labelers"' in page
    assert "<b>Bo" not in page
    assert run(["fit", "rows.csv", "--target", "ill", "--labels", "3.csv", "--method", "naive-bayes", "--quiet"]) == 0
    assert json.loads(Path("metrics.json").read_text())["labelers"] is None
    assert 'id="labelers"' not in Path("report.html").read_text()
