"""Labels that somebody chose, on the command line: no wrong number without a warning in the first lines."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from fewlabel import AutoClassifier, TableClassifier
from fewlabel.cli.main import run
from fewlabel.reporting.figures import plain

N_ROWS = 3000


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def population(seed=0, share=0.3):
    """Applicants, and whether each is bad."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(45, 12, N_ROWS).round(),
            "income": rng.lognormal(10, 0.5, N_ROWS).round(),
            "debt": rng.gamma(2.0, 4000.0, N_ROWS).round(),
            "region": rng.choice(["north", "south", "west"], N_ROWS),
        }
    )
    risk = 0.04 * (45 - table["age"]) + 1.2 * np.log(table["debt"] / table["income"] + 0.05)
    risk += 0.8 * (table["region"] == "west") + rng.normal(size=N_ROWS)
    bad = (risk > np.quantile(risk, 1 - share)).to_numpy()
    return table, bad, rng


def rank(values):
    return rankdata(values) / len(values)


def fit(table, bad, labeled, capsys, *more):
    """What `fewlabel fit` prints and writes, and the truth of the unlabeled rows."""
    table["outcome"] = pd.Series(np.where(bad, "bad", "good")).where(labeled)
    table.to_csv("rows.csv", index=False)
    command = ["fit", "rows.csv", "--target", "outcome", "--positive", "bad", "--method", "logistic regression"]
    assert run([*command, "--out", "fit", *more]) == 0
    printed = capsys.readouterr().out
    metrics = json.loads(Path("fit/metrics.json").read_text("utf-8"))
    assert run(["predict", "fit/model.fewlabel", "rows.csv", "--out", "scores.csv"]) == 0
    capsys.readouterr()
    scores = pd.read_csv("scores.csv")["score"].to_numpy()[~labeled]
    hidden = bad[~labeled]
    ranks = rankdata(scores)
    n_bad = hidden.sum()
    auc = (ranks[hidden].sum() - n_bad * (n_bad + 1) / 2) / (n_bad * (~hidden).sum())
    flagged = scores > metrics["decisions"]["threshold"]
    return printed, metrics, auc, hidden[flagged].mean()


def says_no_number(metrics, printed):
    """Neither an AUC nor a precision is claimed, and the way out is named."""
    assert metrics["headline"]["score"] is None
    assert "fewlabel audit" in metrics["headline"]["reason"]
    assert "No estimate" in printed
    possible = metrics["headline"]["possible"]
    assert 0 < possible["low"] < possible["high"] <= 1
    assert (possible["reversing"] < possible["factor"]) == (possible["low"] < 0.5)
    assert "no better than chance" in printed
    assert "An estimated" not in printed
    card = Path("fit/model_card.md").read_text("utf-8")
    # What is said of methods, of more labels and of probabilities could be taken for the unlabeled rows.
    for text in (printed, card, metrics["choice"]["text"]):
        assert "The scores of the methods are for rows like the labeled ones." in text
    assert "\n- probabilities hold for rows like the labeled ones" in card
    assert "so no forecast is made" in metrics["learning_curve"]["text"]
    sensitivity = metrics["decisions"]["sensitivity"]
    assert sensitivity["low"] < sensitivity["high"]
    assert "reverse the decision" in metrics["decisions"]["text"]
    return True


def holds(metrics, auc, precision):
    """The AUC and the precision of the unlabeled rows lie in what is claimed."""
    claimed = metrics["decisions"]["estimates"]["precision"]
    assert metrics["headline"]["low"] <= auc <= metrics["headline"]["high"]
    assert claimed["low"] <= precision <= claimed["high"]
    return True


def test_rows_that_an_old_score_put_on_top(capsys):
    table, bad, rng = population(1)
    old = rank(table["debt"] / table["income"])
    labeled = np.zeros(N_ROWS, dtype=bool)
    labeled[np.argsort(-(old + 0.1 * rng.normal(size=N_ROWS)))[:250]] = True
    printed, metrics, _, _ = fit(table, bad, labeled, capsys)
    assert printed.startswith("Labels were chosen")
    assert says_no_number(metrics, printed)


def test_one_half_of_a_column(capsys):
    table, bad, rng = population(2)
    labeled = (table["income"] > table["income"].median()).to_numpy() & (rng.random(N_ROWS) < 0.2)
    printed, metrics, _, _ = fit(table, bad, labeled, capsys)
    assert "income is higher" in printed
    assert says_no_number(metrics, printed)


def test_accepted_applicants(capsys):
    """By a score of columns in the table, with exceptions: every kind of applicant is among them."""
    table, bad, rng = population(3)
    score = rank(table["income"]) + rank(table["age"]) - rank(table["debt"])
    labeled = rng.random(N_ROWS) < 0.5 / (1 + np.exp(2.0 - 1.5 * score))
    printed, metrics, auc, precision = fit(table, bad, labeled, capsys)
    assert printed.startswith("Labels were chosen")
    assert "count as" in printed
    assert holds(metrics, auc, precision)


def test_mostly_older_people(capsys):
    table, bad, rng = population(4)
    labeled = rng.random(N_ROWS) < np.where(table["age"] > 45, 0.2, 0.02)
    printed, metrics, auc, precision = fit(table, bad, labeled, capsys)
    assert "age is higher" in printed
    assert holds(metrics, auc, precision)


@pytest.fixture
def balanced():
    """As many labels of each class, from a table with 5% bad rows."""
    table, bad, rng = population(6, share=0.05)
    labeled = np.zeros(N_ROWS, dtype=bool)
    for of_class in (bad, ~bad):
        labeled[rng.permutation(np.flatnonzero(of_class))[:50]] = True
    return table, bad, labeled


def test_a_balanced_sample_asks_for_the_share(balanced, capsys):
    table, bad, labeled = balanced
    printed, metrics, auc, precision = fit(table, bad, labeled, capsys)
    assert "Labels seem to be drawn class by class: 50% of the labels" in printed
    assert metrics["selection"]["asks_share"]
    assert "An estimated" not in printed
    assert "State it with --prior" in printed
    assert holds(metrics, auc, precision)
    assert run(["check", "rows.csv", "--target", "outcome"]) == 0
    assert "drawn class by class" in capsys.readouterr().out
    assert "\n- probabilities hold if 50% of the rows are positive" in Path("fit/model_card.md").read_text("utf-8")
    assert run(["predict", "fit/model.fewlabel", "rows.csv", "--out", "scores.csv"]) == 0
    assert "note: probabilities hold if 50% of the rows are positive" in capsys.readouterr().err
    assert run(["monitor", "fit/model.fewlabel", "rows.csv", "--out", "watch"]) == 0
    assert "Only the AUC is expected: labels were drawn class by class" in capsys.readouterr().out
    watched = json.loads(Path("watch/monitor.json").read_text("utf-8"))
    assert watched["expected"].keys() == {"auc"}
    assert "Only the AUC: labels were drawn class by class" in Path("watch/monitor.html").read_text("utf-8")


def test_a_stated_share_moves_precision_cost_and_threshold(balanced, capsys):
    table, bad, labeled = balanced
    share = bad[~labeled].mean()
    costs = ["--cost-miss", "10", "--cost-alarm", "1", "--prior", str(share)]
    printed, metrics, auc, precision = fit(table, bad, labeled, capsys, *costs)
    assert "random sample of each class" in printed
    assert holds(metrics, auc, precision)
    assert metrics["selection"]["doubt"] is None
    assert "a random sample of each class by the columns" in " ".join(metrics["cautions"])
    assert metrics["decisions"]["estimates"]["precision"]["high"] < 0.7
    command = ["fit", "rows.csv", "--target", "outcome", "--positive", "bad", "--method", "logistic regression"]
    assert run([*command, "--prior", str(share), "--at-precision", "0.8", "--out", "other"]) != 0
    assert "cannot promise a precision of 0.8" in capsys.readouterr().err


@pytest.mark.parametrize("drawn", ["auto", "random", "by-columns", "with known probability"])
def test_python_and_the_command_line_agree_on_how_labels_were_drawn(drawn, capsys):
    table, bad, rng = population(7)
    # Known where a row was drawn; a few others were labeled by somebody.
    chance = np.where(rank(table["age"]) > 0.5, 0.12, 0.04)
    labeled = rng.random(N_ROWS) < chance
    chance[rng.random(N_ROWS) < 0.1] = np.nan
    is_known = drawn == "with known probability"
    stated = {} if is_known else {"labels_drawn": drawn}
    options = ["--label-probability", "chance"] if is_known else ["--labels-drawn", drawn]
    _, metrics, *_ = fit(table.assign(chance=chance) if is_known else table.copy(), bad, labeled, capsys, *options)
    auto = AutoClassifier(["logistic regression"], random_state=0, **stated)
    model = TableClassifier(auto, positive="bad", random_state=0)
    y = pd.Series(np.where(bad, "bad", "good")).where(labeled)
    model.fit(pd.read_csv("rows.csv")[list(table.columns)], y, label_probability=chance if is_known else None)
    assert plain(model.selection_.to_dict()) == metrics["selection"]
    assert metrics["selection"]["audited"] == (np.isfinite(chance) & labeled).sum() * is_known
    for name in ("score", "low", "high"):
        assert model.estimator_.headline_[name] == metrics["headline"][name]
