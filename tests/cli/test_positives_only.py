"""Tables with positives only: no confident wrong number, and the first line says what nobody can know."""

import json
import re
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


def insured(n=2000, seed=0):
    """Rows of 40% with a property are positive in a fifth of cases, and hardly anything else tells them apart."""
    rng = np.random.default_rng(seed)
    has_property = rng.random(n) < 0.4
    truth = has_property & (rng.random(n) < 0.2)
    X = rng.normal(size=(n, 5))
    X[:, 0] += 4 * has_property
    X[:, 1] += 0.3 * truth
    return X, truth, rng


def of_unlabeled(truth, labeled):
    """The truth about the unlabeled rows, and what `predict` writes about them."""
    assert run(["predict", "out/model.fewlabel", "rows.csv", "--out", "scores.csv"]) == 0
    return truth[~labeled], pd.read_csv("scores.csv")[~labeled]


@pytest.mark.parametrize("make", [marketing, insured])
def test_positives_at_random_leave_the_share_open(make, capsys):
    X, truth, rng = make()
    labeled = truth & (rng.random(len(truth)) < 0.5)
    written(X, labeled)
    assert run(["fit", "rows.csv", "--target", "bought", "--out", "out", *METHODS]) == 0
    said = capsys.readouterr().out
    numbers = json.loads(Path("out/metrics.json").read_text("utf-8"))
    report = Path("out/report.html").read_text("utf-8")
    card = Path("out/model_card.md").read_text("utf-8")
    hidden, scores = of_unlabeled(truth, labeled)
    estimates = numbers["decisions"]["estimates"]
    flagged = scores["score"] > numbers["decisions"]["threshold"]
    n_found = hidden[flagged].sum()
    assert estimates["precision"]["value"] is None
    for name, value in {
        "precision": n_found / flagged.sum(),
        "recall": n_found / hidden.sum(),
        "lift": n_found / flagged.sum() / hidden.mean(),
        "true_positive": n_found / len(hidden),
    }.items():
        assert estimates[name]["low"] <= value <= estimates[name]["high"], name
    low, high = numbers["decisions"]["prior_interval"]
    assert low <= hidden.mean() <= high
    assert low == 0
    assert hidden.mean() <= scores["highest probability of yes"].mean()
    assert (scores["highest probability of yes"] >= scores["probability of yes"]).all()
    head = numbers["headline"]
    assert head["low"] <= roc_auc_score(hidden, scores["score"]) <= head["high"]
    assert '<section id="ranking">' not in report
    bound = f"At most {high:.1%} of the unlabeled rows are yes (95% confidence), if the labeled yes are typical"
    for text in (said, report, card):
        assert bound in text
        assert "if the labeled yes are typical of all yes" in text
        assert "The share of yes among these rows is not known without negatives" in text
        assert "An estimated" not in text
    # Neither a forecast nor the rows to label next take the share that other tables suggest for the true one.
    assert numbers["learning_curve"]["more_labels"] is None
    assert "of which only the largest possible one is known" in numbers["learning_curve"]["text"]
    assert ">highest probability</th>" in report
    everything = pd.read_csv("scores.csv")["highest probability of yes"]
    for row in numbers["next_rows"]:
        assert row["probability"] == pytest.approx(everything[row["row"] - 1], abs=1e-6)
    for text in (said, card):
        assert "1.000" not in text
    assert not re.search(r"to 1\.000", report)
    assert run(["prior", "rows.csv", "--target", "bought"]) == 0
    assert bound in capsys.readouterr().out


def test_with_a_stated_share_figures_have_values(capsys):
    X, truth, rng = insured()
    labeled = truth & (rng.random(len(truth)) < 0.3)
    written(X, labeled)
    _, numbers = fitted(capsys, "--prior", f"{truth[~labeled].mean():.3f}")
    hidden, scores = of_unlabeled(truth, labeled)
    precision = numbers["decisions"]["estimates"]["precision"]
    flagged = scores["score"] > numbers["decisions"]["threshold"]
    assert precision["low"] <= hidden[flagged].mean() <= precision["high"]
    assert precision["low"] < precision["value"] < precision["high"] < 0.6
    assert "highest probability of yes" not in scores
    assert "highest probability" not in Path("out/report.html").read_text("utf-8")
    assert "largest possible one" not in numbers["learning_curve"]["text"]
    everything = pd.read_csv("scores.csv")["probability of yes"]
    for row in numbers["next_rows"]:
        assert row["probability"] == pytest.approx(everything[row["row"] - 1], abs=1e-6)


def test_positives_at_random_make_no_perfect_model(capsys):
    X, truth, rng = marketing()
    labeled = truth & (rng.random(len(truth)) < 0.3)
    written(X, labeled)
    first_line, numbers = fitted(capsys)
    assert first_line.startswith("Label the rows that `fewlabel audit TABLE --target COLUMN --n 50` draws")
    assert "only positives are labeled, so nobody can know" in first_line
    assert "More likely" not in first_line
    head = numbers["headline"]
    assert run(["predict", "out/model.fewlabel", "rows.csv", "--out", "scores.csv"]) == 0
    scores = pd.read_csv("scores.csv")["score"].to_numpy()
    assert head["low"] <= roc_auc_score(truth[~labeled], scores[~labeled]) <= head["high"]
    assert head["score"] < 0.999
    assert head["high"] - head["low"] > 0.1
    capsys.readouterr()
    assert run(["prior", "rows.csv", "--target", "bought", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["prior"] == pytest.approx(numbers["data"]["prior"])
    assert found["low"] <= truth[~labeled].mean() <= found["high"]


def test_easy_positives_leave_no_estimate(capsys):
    X, truth, _ = marketing()
    easy = np.where(truth, X.sum(axis=1), -np.inf)
    written(X, np.argsort(-easy).argsort() < 60)
    first_line, numbers = fitted(capsys)
    assert "More likely those that are easily recognized were labeled, and others are missed" in first_line
    assert numbers["selection"]["easy_positives"]
    assert numbers["selection"]["labeled_positives"] > 0.5
    assert numbers["headline"]["score"] is None
    assert numbers["headline"]["text"].startswith("No estimate: more likely")
    for file in ("report.html", "model_card.md"):
        text = Path("out", file).read_text("utf-8")
        assert "only positives are labeled" in text
        assert "At most" not in text
        assert "these labels cannot tell" in text
    assert run(["prior", "rows.csv", "--target", "bought"]) == 0
    said = capsys.readouterr().out
    assert "More likely" in said
    assert "At most" not in said
    # Who knows that they are a random sample gets the figures.
    first_line, numbers = fitted(capsys, "--labels-drawn", "random")
    assert "More likely" not in first_line
    assert numbers["headline"]["score"] is not None


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
    assert run(["prior", "rows.csv", "--target", "bought", "--labels", "ask.csv", "--positive", "yes"]) == 0
    share = capsys.readouterr().out.strip()
    assert share.startswith("By the 60 rows that were drawn with known probability, ")
    assert numbers["unlabeled"]["text"] == share
    found = numbers["unlabeled"]["audited_share"]
    assert found["low"] <= truth[~labeled].mean() <= found["high"]
    assert run(["predict", "out/model.fewlabel", "rows.csv", "--out", "scores.csv"]) == 0
    scores = pd.read_csv("scores.csv")["score"].to_numpy()
    hidden = ~labeled
    hidden[asked] = False
    assert low <= roc_auc_score(truth[hidden], scores[hidden]) <= high


def test_an_audit_with_a_single_positive_leaves_no_range(capsys):
    """Labels of known positives and audited negatives do not tell odds, and so no range of them either."""
    X, truth, rng = insured(800, seed=2)
    labeled = truth & (rng.random(len(truth)) < 0.5)
    written(X, labeled)
    assert run(["audit", "rows.csv", "--target", "bought", "--n", "20", "--out", "ask.csv"]) == 0
    sheet = pd.read_csv("ask.csv")
    sheet["label"] = np.where(np.arange(20) == 0, "yes", "no")
    sheet.to_csv("ask.csv", index=False)
    capsys.readouterr()
    _, numbers = fitted(capsys, "--labels", "ask.csv", "--positive", "yes")
    assert "1 is positive: too few to estimate from" in numbers["headline"]["text"]
    assert numbers["headline"]["possible"] is None
    assert numbers["decisions"]["sensitivity"] is None


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
