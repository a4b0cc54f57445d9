"""The report: summed up as plain data, and rendered as one safe page."""

import copy
import json
import os
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import precision_recall_curve, roc_auc_score

from fewlabel import AutoClassifier, TableClassifier, hide_labels
from fewlabel.decisions import Evidence
from fewlabel.labels import read_positive
from fewlabel.reporting import curves, decisions, metrics, render, rows_to_label, summarize, write
from fewlabel.reporting.charts import (
    Scale,
    _shown,
    learning_panel,
    roc_panel,
    shape_panels,
    tick_texts,
    ticks,
    whiskers,
)
from fewlabel.reporting.demo import breast_cancer
from fewlabel.reporting.figures import plain, signed
from fewlabel.reporting.render import _position_of_threshold
from fewlabel.reporting.sentences import good_for
from fewlabel.rows import Rows
from fewlabel.tables import Decision

HOSTILE = '</title><script>alert("1")</script><img src=x onerror=alert(2)>\'&'
QUICK = dict(n_repeats=1, random_state=0)


def fitted(X, y, portfolio=("logistic regression", "naive Bayes", "path neighbors"), **parameters):
    return TableClassifier(AutoClassifier(list(portfolio), **QUICK, **parameters), random_state=0).fit(X, y)


def encoded(model, X, y):
    return Rows.read(model.encoder_.transform(X), read_positive(y, model.positive))


def summed_up(model, X, y, **more):
    return summarize(model, X, encoded(model, X, y), title="A table", command="fewlabel fit", **more)


@pytest.fixture(scope="module")
def table():
    return breast_cancer(labeled=0.1, seed=0)


@pytest.fixture(scope="module")
def model(table):
    return fitted(table.X_train, table.y_train)


@pytest.fixture(scope="module")
def summary(table, model):
    return summed_up(model, table.X_train, table.y_train, test=(table.X_test, table.y_test))


@pytest.fixture(scope="module")
def additive(table):
    X = table.X_train.copy()
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    model = fitted(X, table.y_train, ["RankBoost"])
    return summed_up(model, X, table.y_train)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    few = hide_labels(y.map({0: "a", 1: "b", 2: "c"}), labeled=0.3, random_state=0)
    return summed_up(fitted(X, few, ["logistic regression", "naive Bayes"]), X, few)


@pytest.fixture(scope="module")
def positives_only():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    few = hide_labels(y.map({0: "no", 1: "yes"}), labeled=60, mechanism="positives-only", random_state=0)
    return summed_up(fitted(X, few, ["logistic regression", "nnPU"], prior=0.55), X, few)


# The data ---------------------------------------------------------------------------------------------------


def test_hidden_labels_are_nowhere_in_the_table(table):
    assert table.y_train.isna().mean() == pytest.approx(0.9, abs=0.01)
    assert set(table.y_train.dropna()) == {"benign", "malignant"}
    assert table.X_train.shape[1] == load_breast_cancer().data.shape[1]
    assert len(table.X_train) + len(table.X_test) == 569


def test_the_same_seed_gives_the_same_table_and_another_seed_another():
    pd.testing.assert_series_equal(breast_cancer(0.1, 3).y_train, breast_cancer(0.1, 3).y_train)
    assert not breast_cancer(0.1, 3).X_train.equals(breast_cancer(0.1, 4).X_train)


def test_numbers_are_those_of_the_model(model, summary, table):
    board = model.estimator_.leaderboard_.query("status == 'ok'")
    assert [row["method"] for row in summary["leaderboard"]] == list(board["method"])
    assert [row["score"] for row in summary["leaderboard"]] == list(board["score"])
    data = summary["data"]
    assert data["labeled"] + data["unlabeled"] == data["rows"] == len(table.X_train)
    assert sum(data["labeled_by_class"].values()) == data["labeled"]
    assert 0.9 < summary["test"]["auc"] <= 1


def test_the_report_is_about_the_positive_class(table):
    X, y = table.X_train, table.y_train
    model = TableClassifier(AutoClassifier(["logistic regression"], **QUICK), positive="benign", random_state=0)
    summary = summed_up(model.fit(X, y), X, y, test=(table.X_test, table.y_test))
    assert model.classes_.tolist() == ["benign", "malignant"]
    data = summary["data"]
    assert data["positive"] == "benign"
    assert data["labeled_by_class"] == y.value_counts().loc[["malignant", "benign"]].to_dict()
    assert summary["roc"][0]["name"] == "benign"
    assert [group["name"] for group in summary["scores"]] == ["labeled benign", "labeled malignant", "unlabeled"]
    assert summary["test"]["auc"] > 0.9
    assert summary["test"]["accuracy"] > 0.8
    likely = max(summary["next_rows"], key=lambda row: row["probability"])
    row = X.iloc[[likely["row"] - 1]]
    assert likely["probability"] == pytest.approx(model.predict_proba(row)[0, model.positive_])
    assert likely["label"] == model.classes_[model.predict_proba(row)[0].argmax()]


@pytest.mark.parametrize("kind", ["summary", "additive", "iris", "positives_only"])
def test_summaries_are_plain_json_and_render(kind, request):
    summary = request.getfixturevalue(kind)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    page = Page(render(summary))
    assert page.open == []
    json.dumps(metrics(summary), allow_nan=False)


@pytest.mark.parametrize("kind", ["summary", "additive", "positives_only"])
def test_figures_of_the_threshold_agree_with_each_other(kind, request):
    """Text, matrix, chart and slider are one computation: the counts of the matrix sum to what the text says."""
    summary = request.getfixturevalue(kind)
    found = summary["decisions"]
    values = {name: one["value"] for name, one in found["estimates"].items()}
    n_rows = found["rows"]
    assert n_rows * (values["true_positive"] + values["false_positive"]) == pytest.approx(found["flagged"], abs=1e-2)
    assert n_rows * values["share"] == pytest.approx(found["flagged"], abs=1e-2)
    assert values["precision"] * found["flagged"] == pytest.approx(n_rows * values["true_positive"], rel=1e-3, abs=1e-2)
    assert values["true_positive"] + values["false_negative"] == pytest.approx(found["prior"]["value"], abs=1e-4)
    point = summary["decision_curve"][_position_of_threshold(summary)]
    assert point["threshold"] == found["threshold"]
    assert point["precision"] == found["estimates"]["precision"]
    assert f"{found['flagged']} of {n_rows} rows" in found["text"]


def test_without_a_forecast_none_is_drawn(summary, iris, additive):
    for one in (summary, iris, additive):
        curve = one["learning_curve"]
        assert bool(curve["ahead_labels"]) == (curve["more_labels"] is not None) == ("takes about" in curve["text"])


def test_additive_winners_show_their_shape_others_their_importance(additive, summary):
    assert additive["explained"] == "RankBoost"
    assert additive["importances"] == []
    names = {f["name"] for f in additive["shape_functions"]}
    assert names <= set(load_breast_cancer().feature_names)
    assert {c["name"] for c in additive["scorecard"]["columns"]} <= set(load_breast_cancer().feature_names)
    assert any(f["missing"] is not None for f in additive["shape_functions"])
    assert summary["explained"] is None
    assert len(summary["importances"]) == 12
    assert summary["importances"][0]["importance"] > 0


def test_many_classes_and_positives_only_say_so(iris, positives_only):
    assert {curve["name"] for curve in iris["roc"]} == {"a", "b", "c"}
    assert iris["task"] == "multiclass"
    assert "averaged over 3 classes" in iris["good_for"]
    assert "averaged over 2 tested classes" in good_for({**iris, "confusion": {"untested": 1}})
    assert positives_only["calibration"] == []
    assert "yes" in positives_only["unlabeled"]["text"]
    assert 0 < positives_only["data"]["prior"] < 1


# Curves and advice ------------------------------------------------------------------------------------------


def curves_of(evidence, also=0.0):
    decision = Decision(also, "", len(evidence.population), evidence.n_above(also), {}, None, evidence)
    return curves.of_decisions(plain(decisions.curve(decision)), evidence.prior.value)


def area(curve):
    return np.trapezoid(curve["y"], curve["x"])


@pytest.mark.parametrize("positives_only", [False, True])
def test_the_area_under_the_roc_curve_is_the_auc_of_the_decisions(positives_only):
    rng = np.random.default_rng(0)
    truth = rng.random(8000) < 0.3
    score = rng.normal(size=len(truth)) + 1.5 * truth
    labeled = truth & (rng.random(len(truth)) < 0.3) if positives_only else rng.random(len(truth)) < 0.1
    known = dict(prior=truth[~labeled].mean(), positives_only=True) if positives_only else {}
    shown = np.ones(len(truth), dtype=bool) if positives_only else labeled
    evidence = Evidence((labeled if positives_only else truth)[shown], score[shown], score[~labeled], **known)
    roc, precision_recall = curves_of(evidence)
    assert area(roc) == pytest.approx(evidence.auc().value, abs=0.005)
    assert area(roc) == pytest.approx(roc_auc_score(truth[~labeled], score[~labeled]), abs=0.02)
    precision, recall, _ = precision_recall_curve(truth[~labeled], score[~labeled])
    expected = np.interp(precision_recall["x"], recall[::-1], precision[::-1])
    assert np.abs(expected - precision_recall["y"])[3:].mean() < 0.05
    assert (roc["x"][0], roc["y"][0], roc["x"][-1], roc["y"][-1]) == pytest.approx((0, 0, 1, 1), abs=1e-4)
    assert precision_recall["y"][-1] == pytest.approx(precision_recall["chance"], abs=1e-4)
    for curve in (roc, precision_recall):
        assert all(
            low <= y + 1e-9 and y <= high + 1e-9 for low, y, high in zip(curve["low"], curve["y"], curve["high"])
        )


def test_curves_and_calibration_count_labels_as_the_headline_does():
    """Labels of easy rows only: weights move the curve to that of the unlabeled rows."""
    rng = np.random.default_rng(0)
    truth = rng.random(20_000) < 0.4
    score = rng.normal(size=len(truth)) + 1.5 * truth
    chance = np.where(np.abs(score - 0.75) > 0.8, 0.2, 0.02)
    labeled = rng.random(len(truth)) < chance
    weight = (1 - chance[labeled]) / chance[labeled]
    weighted = Evidence(truth[labeled], score[labeled], score[~labeled], sample_weight=weight)
    roc, _ = curves_of(weighted)
    assert area(roc) == pytest.approx(roc_auc_score(truth[~labeled], score[~labeled]), abs=0.02)
    assert roc_auc_score(truth[labeled], score[labeled]) > area(roc) + 0.03
    probability = 1 / (1 + np.exp(-score))
    plain = curves.calibration(truth[labeled], probability[labeled])
    double = curves.calibration(truth[labeled], probability[labeled], np.where(truth[labeled], 2.0, 1.0))
    expected = [2 * one["share"] / (1 + one["share"]) for one in plain]
    assert [one["share"] for one in double] == pytest.approx(expected)


def test_the_curves_of_a_class_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    is_class = rng.random(60) < 0.3
    score = np.round(rng.normal(size=60) + is_class, 1)
    roc, precision_recall = curves.of_class(is_class, score)
    assert area(roc) == pytest.approx(roc_auc_score(is_class, score), abs=1e-4)
    assert precision_recall["y"][0] == pytest.approx(is_class.mean(), abs=1e-4)


def test_calibration_bins_hold_all_rows():
    rng = np.random.default_rng(0)
    probability = rng.random(500)
    bins = curves.calibration(rng.random(500) < probability, probability)
    assert sum(b["rows"] for b in bins) == 500
    assert all(b["low"] <= b["share"] <= b["high"] for b in bins)
    assert sum(b["low"] <= b["probability"] <= b["high"] for b in bins) >= len(bins) - 1
    assert sum(curves.histogram(probability)) == pytest.approx(1)


def test_rows_to_label_next_are_unlabeled_distinct_and_explained(summary, table):
    rows = summary["next_rows"]
    assert len(rows) == 20
    positions = [row["row"] - 1 for row in rows]
    assert len(set(positions)) == 20
    assert table.y_train.iloc[positions].isna().all()
    assert all(row["why"] for row in rows)


def test_no_unlabeled_row_no_advice(table, model):
    assert len(rows_to_label(model, encoded(model, table.X_test, table.y_test)).rows) == 0


# The page ---------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Tags, attributes and text of a page, and whether its tags are balanced."""

    void = {"meta", "link", "br", "img", "input", "line", "rect", "path"}

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self.open = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *a) for a in attrs]
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *a) for a in attrs]

    def handle_endtag(self, tag):
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("kind", ["summary", "additive", "iris", "positives_only"])
def test_the_page_is_whole_and_needs_nothing_else(kind, request):
    summary = request.getfixturevalue(kind)
    text = render(summary)
    page = Page(text)
    assert page.open == []
    assert text.lstrip().startswith("<!DOCTYPE html>")
    assert not {"iframe", "object", "embed", "img"} & set(page.tags)
    assert page.tags.count("script") == (2 if summary["decisions"] else 1)  # with the data of the slider
    for tag, name, value in page.attributes:
        if name in ("src", "href"):
            assert value.startswith("data:"), (tag, name, value)
        assert not name.startswith("on"), (tag, name)
    assert not re.search(r"https?://|@import|url\((?!#)", text)
    assert "nan" not in re.sub(r"[a-z]*nan[a-z]+|[a-z]+nan", "", text.lower())
    for svg in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL):
        ElementTree.fromstring(svg)
    said = " ".join(page.text)
    for row in summary["leaderboard"]:
        assert row["method"] in said
        assert f"{row['score']:.3f}" in said
    assert summary["unlabeled"]["text"] in said
    assert summary["learning_curve"]["text"] in said
    assert "prefers-color-scheme: dark" in text
    charts = {value for tag, name, value in page.attributes if tag == "title" and name == "id"}
    assert {"roc", "precision-recall", "learning-curve", "scores"} <= charts


def test_hostile_names_stay_text(summary, additive):
    for summary_ in (summary, additive):
        hostile = copy.deepcopy(summary_)
        hostile["title"] = hostile["command"] = hostile["model_file"] = HOSTILE
        hostile["notes"] = [HOSTILE]
        hostile["data"].update(source=HOSTILE, target=HOSTILE, positive=HOSTILE, labeled_by_class={HOSTILE: 1})
        hostile["data"]["gaps"] = [{"column": HOSTILE, "share": 0.5}]
        for row in hostile["importances"]:
            row["column"] = HOSTILE
        for row in hostile["next_rows"]:
            row["why"], row["values"] = HOSTILE, [{"column": HOSTILE, "value": HOSTILE}]
        for function in hostile["shape_functions"]:
            function["name"] = HOSTILE
        hostile["leaderboard"][0]["method"] = hostile["scores"][0]["name"] = HOSTILE
        page = Page(render(hostile))
        assert "img" not in page.tags
        assert page.tags.count("script") == 2
        assert page.open == []
        assert "".join(page.text).count('alert("1")') >= 8
        assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_hostile_columns_from_the_data_on():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    names = [HOSTILE, "a" * 10_000, "😀\N{RIGHT-TO-LEFT OVERRIDE}אבג", "x\n\t{{ 7 * 7 }}"]
    X = pd.DataFrame(rng.normal(size=(80, 4)) + y[:, None], columns=names)
    X["text"] = HOSTILE
    X.loc[::2, "text"] = names[2]
    few = pd.Series(np.where(rng.random(80) < 0.5, np.array([HOSTILE, "😀"], dtype=object)[y], None), name=names[1])
    text = render(summed_up(fitted(X, few, ["logistic regression"]), X, few))
    page = Page(text)
    assert page.tags.count("script") == 2
    assert "49" not in "".join(page.text).split("x\n")[-1][:10]
    assert (
        max(
            len(part)
            for part in page.text
            if not any(own in part for own in ("--paper", "use strict", '{"cost"', '{"lift"'))
        )
        < 1000
    )  # no name is shown at a length that breaks the page


def test_a_saved_model_is_named_as_python_text(summary):
    page = Page(render({**summary, "model_file": 'a "b".fewlabel'}))
    assert r'fewlabel.load("a \"b\".fewlabel")' in "".join(page.text)


def test_a_page_is_written_whole_or_not_at_all(summary, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    write(summary, path)
    whole = path.read_bytes()
    assert whole.decode() == render(summary)

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write({**summary, "title": "other"}, path)
    assert path.read_bytes() == whole
    assert os.listdir(tmp_path) == ["report.html"]


# Geometry ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.7, 1.0), (-3.2, 11), (1e-9, 3e-9), (1234, 1250), (-1e6, 1e6)])
def test_ticks_are_round_within_the_range_and_distinct(low, high):
    found = ticks(low, high)
    assert 2 <= len(found) <= 8
    assert all(low - 1e-9 * abs(low) <= t <= high + 1e-9 * abs(high) for t in found)
    assert len(set(tick_texts(found))) == len(found)


def test_scale():
    assert [Scale(0, 10, 100, 200)(v) for v in (0, 5, 10)] == [100, 150, 200]


def test_step_paths_jump_at_the_edges():
    function = {"name": "x", "importance": 1.0, "edges": [1.0, 2.0], "values": [0.0, 4.0, 2.0], "missing": None}
    function["quantiles"] = [0.0, 1.5, 9.0]
    [panel] = shape_panels([function])
    points = [tuple(map(float, point.split())) for point in panel.marks[-1]["path"][1:].split("L")]
    # Between two edges the height is the same, and at an edge the place is.
    assert [(panel.x(x), panel.y(y)) for x, y in [(0, 0), (1, 0), (1, 4), (2, 4), (2, 2), (9, 2)]] == points
    assert shape_panels([]) == []
    low, high = _shown(function)
    assert (low, high) == (0.0, 9.0)  # nearly all training values, and all cuts
    assert _shown({**function, "quantiles": [1.2, 1.3]}) == (0.875, 2.125)
    flat = {**function, "edges": [], "values": [0.0], "quantiles": []}
    assert re.fullmatch(r"M[\d.]+ [\d.]+L[\d.]+ [\d.]+", shape_panels([flat])[0].marks[-1]["path"])


def test_curves_end_in_the_corners_of_their_panel():
    curve = {"x": [0.0, 0.0, 1.0], "y": [0.0, 1.0, 1.0], "low": [0, 0, 1.0], "high": [0, 1.0, 1.0]}
    panel = roc_panel([curve])
    bottom, right = panel.top + panel.plot_height, panel.left + panel.plot_width
    line = panel.marks[-1]["path"]
    assert line == f"M{panel.left} {bottom}L{panel.left} {panel.top}L{right} {panel.top}"
    assert [mark["kind"] for mark in roc_panel([curve, curve]).marks] == [
        *("chance", "band", "band", "curve c0", "curve c1")
    ]


def test_a_learning_curve_without_a_future():
    curve = {"labels": [5, 9], "scores": [1.0, 1.0], "low": [0.8, 0.9], "high": [1.0, 1.0]}
    panel = learning_panel(
        {**curve, "here": 12, "ahead_labels": [], "ahead_scores": [], "score_name": "AUC", "positives_only": False}
    )
    assert [tick["text"] for tick in panel.x_ticks] == ["5", "9", "12"]


def test_whiskers_stay_inside_their_cell():
    rows = [{"score": 0.9, "low": 0.4, "high": 1.0}, {"score": 1.0, "low": 1.0, "high": 1.0}]
    drawn = whiskers(rows)
    for row in drawn["rows"]:
        assert 0 <= row["low"] <= row["score"] <= row["high"] <= drawn["width"]
    same = [{"score": 1.0, "low": 1.0, "high": 1.0}]
    assert whiskers(same)["rows"][0]["score"] <= drawn["width"]


def test_signed():
    assert [signed(v, 1) for v in (1.0, -1.0, 0.0, -0.01)] == ["+1.0", "−1.0", "0.0", "0.0"]
