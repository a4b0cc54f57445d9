"""fewlabel.monitor: what to expect on new rows, which labels count, and the history."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import fewlabel
from fewlabel import AutoClassifier, TableClassifier
from fewlabel.decisions import Costs, Evidence
from fewlabel.exceptions import LabelError
from fewlabel.monitor import Monitor, append_history, monitor_rows, read_history
from fewlabel.tables import Drift


def make_rows(n, seed, shift=0.0):
    """Two numbers and a category; the second number is noise, and `shift` moves the first."""
    rng = np.random.default_rng(seed)
    age = rng.normal(40 + 10 * shift, 10, n)
    noise = rng.normal(size=n)
    city = rng.choice(["Oslo", "Graz"], n)
    bad = rng.random(n) < 1 / (1 + np.exp(-(age - 45) / 5))
    return pd.DataFrame({"age": age, "noise": noise, "city": city}), np.where(bad, "bad", "good")


@pytest.fixture(scope="module")
def model():
    X, y = make_rows(1200, 2)
    y = pd.Series(np.where(np.arange(1200) < 300, y, None), dtype=object)
    estimator = AutoClassifier(["logistic regression"], random_state=0)
    return TableClassifier(estimator, positive="bad", random_state=0).fit(X, y)


# What to expect ---------------------------------------------------------------------------------------------


def test_rows_like_those_of_the_fit_are_expected_to_be_ranked_as_well(model):
    X, y = make_rows(2000, 1)
    found = monitor_rows(model, X, costs=Costs(10, 1))
    assert found.expected["auc"].value == pytest.approx(model.estimator_.headline_["score"], abs=0.01)
    assert not found.shift.chosen
    assert found.alarms() == []
    flagged = np.asarray(model.predict(X)) == "bad"
    assert found.n_flagged == flagged.sum()
    assert found.expected["share"].value == flagged.mean()
    for name, truth in [
        ("auc", roc_auc_score(y == "bad", model.positive_proba(X))),
        ("precision", np.mean(y[flagged] == "bad")),
    ]:
        assert found.expected[name].low < truth < found.expected[name].high
    missed = np.mean(~flagged & (y == "bad"))
    alarms = np.mean(flagged & (y != "bad"))
    assert found.expected["cost"].low < 10 * missed + alarms < found.expected["cost"].high


def test_a_shift_moves_the_auc_towards_the_truth(model):
    X, y = make_rows(4000, 2, shift=1.5)
    near = X["age"].between(48, 56)  # rows that are hard to tell apart
    X, y = X[near], y[near]
    found = monitor_rows(model, X)
    truth = roc_auc_score(y == "bad", model.positive_proba(X))
    at_fit = found.at_fit.value
    assert truth < at_fit - 0.1
    assert abs(found.expected["auc"].value - truth) < abs(at_fit - truth) / 2
    assert found.shift.chosen
    assert "age is higher" in found.differences
    reasons = found.alarms()
    assert any("the AUC to expect" in reason for reason in reasons)
    assert any(reason.startswith("age: the values are distributed differently") for reason in reasons)
    assert any(reason.startswith("score: ") for reason in reasons)


def test_nothing_is_expected_of_rows_that_resemble_no_labeled_row(model):
    X, _ = make_rows(500, 3, shift=9.0)
    found = monitor_rows(model, X)
    assert found.expected == {}
    assert "resemble no labeled row" in found.reason
    assert found.alarms()[0].startswith("no estimate")


def test_positives_only_and_many_classes_have_drift_but_no_estimate(model):
    X, y = make_rows(400, 0)
    y_positive = pd.Series(np.where((y == "bad") & (np.arange(400) < 200), "bad", None), dtype=object)
    few = TableClassifier(AutoClassifier(["logistic regression"], random_state=0)).fit(X, y_positive)
    found = monitor_rows(few, X)
    assert found.expected == {}
    assert "positives only" in found.reason
    three = np.where(X["age"] > 50, "old", y)
    many = TableClassifier(AutoClassifier(["naive Bayes"], random_state=0)).fit(X, three)
    late = np.where(np.arange(400) < 300, three, None)
    found = monitor_rows(many, X, late)
    assert found.expected == {}
    assert "more than two classes" in found.reason
    assert found.score_drift is None
    assert found.to_dict()["drift"]["rows"] == 400
    assert found.measured.keys() == {"accuracy"}
    assert found.measured["accuracy"].value == np.mean(many.predict(X[:300]) == three[:300])
    assert found.measured["accuracy"].low < found.measured["accuracy"].value < found.measured["accuracy"].high
    assert monitor_rows(many, X).measured == {}


def test_late_positives_alone_tell_how_many_of_them_are_flagged(model):
    X, y = make_rows(500, 12)
    late = np.where((y == "bad") & (np.arange(500) % 3 == 0), "bad", None)
    found = monitor_rows(model, X, late)
    flagged = np.asarray(model.predict(X)) == "bad"
    known = late == "bad"
    assert found.measured.keys() == {"share", "recall", "lift"}
    assert found.measured["recall"].value == flagged[known].mean()
    assert found.measured["lift"].value == pytest.approx(flagged[known].mean() / flagged.mean())
    assert found.measured["recall"].low < np.mean(flagged[y == "bad"]) < found.measured["recall"].high


def test_rows_in_pieces_are_the_same_rows(model, monkeypatch):
    X, y = make_rows(600, 13, shift=0.3)
    late = np.where(np.arange(600) % 2, y, None)
    whole = monitor_rows(model, X, late)
    encoder = model.model_.encoder
    watch = Monitor(model)
    drift = Drift(encoder.profile)
    for start in (0, 1, 250):
        stop = {0: 1, 1: 250, 250: 600}[start]
        cells = encoder.read(X[start:stop])
        drift.add(cells)
        watch.add(encoder.encode(cells), late[start:stop])
    pieces = watch.result(drift).to_dict()
    assert pieces["measured"] == whole.to_dict()["measured"]
    assert pieces["expected"] == whole.to_dict()["expected"]
    assert pieces["drift"]["columns"].keys() == whole.to_dict()["drift"]["columns"].keys()
    # Beyond so many rows, a sample of the columns is kept; every row is scored.
    monkeypatch.setattr("fewlabel.monitor._MOST_KEPT", 200)
    drawn = monitor_rows(model, X, late)
    assert drawn.n_flagged == whole.n_flagged
    assert drawn.n_labels == whole.n_labels
    assert drawn.measured["auc"].value == pytest.approx(whole.measured["auc"].value, abs=0.05)


def test_estimates_are_the_same_after_a_file_and_in_another_order(model, tmp_path):
    X, _ = make_rows(300, 4, shift=0.4)
    found = monitor_rows(model, X).to_dict()
    fewlabel.save(model, tmp_path / "model.fewlabel")
    loaded = fewlabel.load(tmp_path / "model.fewlabel")
    assert monitor_rows(loaded, X).to_dict() == found
    turned = monitor_rows(loaded, X[::-1]).expected["auc"]
    assert turned.value == pytest.approx(found["expected"]["auc"]["value"], abs=1e-9)


def test_evidence_auc_counts_each_pair_by_its_probability():
    rng = np.random.default_rng(0)
    positive = rng.random(200) < 0.4
    scores = rng.normal(positive).round(1)  # with ties
    evidence = Evidence(positive, scores)
    probability = np.diff(evidence._positives[:, 0])
    above = scores[np.argsort(-scores, kind="stable")]
    wins = (above[:, None] > above) + 0.5 * (above[:, None] == above)
    pairs = probability[:, None] * (1 - probability)
    naive = (wins * pairs).sum() / (probability.sum() * (1 - probability).sum())
    found = evidence.auc()
    assert found.value == pytest.approx(naive)
    assert found.low < roc_auc_score(positive, scores) < found.high


# Late labels ------------------------------------------------------------------------------------------------


def test_late_labels_are_measured_beside(model):
    X, y = make_rows(900, 5)
    late = np.where(np.arange(900) < 400, y, None)
    found = monitor_rows(model, X, late)
    truth = roc_auc_score(y[:400] == "bad", model.positive_proba(X[:400]))
    assert found.n_labels == 400
    assert found.measured["auc"].value == pytest.approx(truth, abs=0.02)
    without = monitor_rows(model, X)
    assert without.measured == {}
    assert found.expected == without.expected  # labels do not change what was expected


def test_a_measured_fall_is_a_reason_to_look_closer(model):
    X, y = make_rows(600, 6)
    turned = np.where(y == "bad", "good", "bad")
    reasons = monitor_rows(model, X, turned).alarms()
    assert any("the measured AUC" in reason for reason in reasons)


def test_labels_that_are_no_class_are_refused(model):
    X, _ = make_rows(20, 7)
    with pytest.raises(LabelError, match="'ugly' is neither 'bad' nor 'good'"):
        monitor_rows(model, X, ["ugly", *["bad"] * 19])
    with pytest.raises(ValueError, match="3 labels and X 20 rows"):
        monitor_rows(model, X, ["bad"] * 3)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_label_that_has_not_arrived_has_no_influence(seed, model):
    """Whatever the true labels of the other rows are, in `y` or in a label column of the table itself."""
    rng = np.random.default_rng(seed)
    X, y = make_rows(120, 8)
    arrived = rng.random(120) < 0.5
    others = np.where(rng.random(120) < 0.5, "bad", "good")
    truth = np.where(arrived, y, others)
    late = np.where(arrived, truth, None)
    found = monitor_rows(model, X.assign(label=truth), late).to_dict()
    assert found == monitor_rows(model, X, np.where(arrived, y, None)).to_dict()


# Stability --------------------------------------------------------------------------------------------------


def test_stability_by_month(model):
    X, _ = make_rows(400, 9)
    later, _ = make_rows(400, 10, shift=2.0)
    rows = pd.concat([X, later], ignore_index=True)
    time = pd.Series(["2024-01-15"] * 400 + ["2024-02-15"] * 399 + [None], name="when")
    months = monitor_rows(model, rows, time=time).to_dict()["drift"]["months"]
    assert [(month["month"], month["rows"]) for month in months] == [("2024-01", 400), ("2024-02", 399), ("no date", 1)]
    assert months[0]["stability"]["age"] < 0.1 < 0.25 < months[1]["stability"]["age"]
    assert months[2]["stability"]["age"] is None  # one row
    with pytest.raises(ValueError, match="months need dates"):
        monitor_rows(model, X, time=np.arange(400))


# History ----------------------------------------------------------------------------------------------------


def test_history_keeps_all_lines_and_shows_the_last_of_each_batch(model, tmp_path):
    X, y = make_rows(200, 11)
    path = tmp_path / "history.jsonl"
    assert read_history(path) == []
    first = monitor_rows(model, X).to_dict()
    append_history(path, "march", first)
    append_history(path, "april", first)
    append_history(path, "march", monitor_rows(model, X, y).to_dict(), model_sha256="abc")
    assert len(path.read_text().splitlines()) == 3
    march, april = read_history(path)
    assert (march["batch"], march["labels"], march["model_sha256"]) == ("march", 200, "abc")
    assert april["labels"] == 0
    assert april["stability"].keys() == {"age", "noise", "city"}


def test_a_line_that_was_cut_short_is_left_out(tmp_path, model):
    X, _ = make_rows(200, 11)
    path = tmp_path / "history.jsonl"
    summary = monitor_rows(model, X).to_dict()
    append_history(path, "march", summary)
    path.write_bytes(path.read_bytes() + b'{"batch": "apr')
    append_history(path, "may", summary)
    with pytest.warns(UserWarning, match=r"1 line\(s\) cannot be read"):
        assert [line["batch"] for line in read_history(path)] == ["march", "may"]
    assert json.loads(path.read_text().splitlines()[-1])["batch"] == "may"


def test_other_models_are_refused():
    X, y = make_rows(100, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = AutoClassifier(["naive Bayes"], random_state=0).fit(X[["age", "noise"]], y)
    with pytest.raises(TypeError, match="expected a TableClassifier"):
        monitor_rows(numbers, X)
