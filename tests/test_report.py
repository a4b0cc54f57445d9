"""The report: measured honestly, summed up as plain data, and rendered as one safe page."""

import copy
import json
import os
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabel import PNUAUCBoostClassifier, RankBoostClassifier
from fewlabel.metrics import auc_confidence_interval, paired_auc_test
from fewlabel.report import Method, Table, measure, render, summarize, write
from fewlabel.report.charts import Scale, _shown, roc_corner, roc_panel, shape_panels, tick_texts, ticks, whiskers
from fewlabel.report.demo import PAIR, breast_cancer, methods
from fewlabel.report.summarize import signed

HOSTILE = '</title><script>alert("1")</script><img src=x onerror=alert(2)>\'&'


class Recorder(ClassifierMixin, BaseEstimator):
    """Notes what it is given; scores by the first column."""

    seen: list = []

    def fit(self, X, y):
        Recorder.seen.append((X, y))
        self.classes_ = np.unique(pd.Series(y).dropna())
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


def _small_methods():
    return [
        Method(PAIR[0], PNUAUCBoostClassifier(n_estimators=10, random_state=0), True),
        Method(PAIR[1], RankBoostClassifier(n_estimators=10, random_state=0), False),
        Method("Logistic regression", make_pipeline(StandardScaler(), LogisticRegression()), False),
    ]


@pytest.fixture(scope="module")
def table():
    return breast_cancer(labeled=0.1, seed=0)


@pytest.fixture(scope="module")
def found(table):
    return measure(table, _small_methods())


@pytest.fixture(scope="module")
def summary(table, found):
    return summarize(table, found, pair=PAIR, seed=0, command="fewlabel demo")


# The data and what methods are given ------------------------------------------------------------------------


def test_hidden_labels_are_nowhere_in_the_table(table):
    assert table.y_train.isna().mean() == pytest.approx(0.9, abs=0.01)
    assert set(table.y_train.dropna()) == {"benign", "malignant"}
    assert not set(table.X_train.index) & set(table.X_test.index)
    truth = load_breast_cancer(as_frame=True)
    for column in table.X_train:
        assert np.array_equal(table.X_train[column], truth.data.loc[table.X_train.index, column])
    assert table.X_train.shape[1] == truth.data.shape[1]


def test_methods_get_the_rows_they_are_said_to_learn_from(table):
    for unlabelled, expected in ((False, int(table.y_train.notna().sum())), (True, len(table.y_train))):
        Recorder.seen.clear()
        measure(table, [Method("recorder", Recorder(), unlabelled)])
        for X, y in Recorder.seen:
            assert len(X) == len(y) == expected
            assert y.notna().sum() == table.y_train.notna().sum()
            assert set(X.index) <= set(table.X_train.index)
    assert len(Recorder.seen) == 2  # the first fit is the warm-up, outside the clock


def test_the_same_seed_gives_the_same_table_and_another_seed_another():
    pd.testing.assert_series_equal(breast_cancer(0.1, 3).y_train, breast_cancer(0.1, 3).y_train)
    assert not breast_cancer(0.1, 3).X_train.index.equals(breast_cancer(0.1, 4).X_train.index)


def test_the_demo_compares_our_boosters_with_scikit_learn_on_the_labelled_rows():
    chosen = methods(seed=7)
    assert [m.name for m in chosen if m.uses_unlabelled] == ["PNU-AUCBoost", "PNU-AdaBoost"]
    assert len(chosen) == 6
    for method in chosen:
        seeds = [v for k, v in method.estimator.get_params().items() if k.endswith("random_state")]
        assert seeds, method.name
        assert set(seeds) == {7}, method.name
    assert set(PAIR) <= {m.name for m in chosen}


def test_estimators_given_to_measure_stay_unfitted_and_progress_is_told(table):
    chosen = _small_methods()
    told = []
    found = measure(table, chosen, told.append)
    assert told == found
    assert [m.method.name for m in found] == [m.name for m in chosen]
    assert not hasattr(chosen[0].estimator, "classes_")
    assert found[0].model.get_params()["n_estimators"] == 10  # not the short warm-up


def test_numbers_are_those_of_the_metrics(table, found, summary):
    rows = {row["method"]: row for row in summary["leaderboard"]}
    for m in found:
        interval = auc_confidence_interval(table.y_test, m.model.decision_function(table.X_test))
        row = rows[m.method.name]
        assert (row["auc"], row["auc_low"], row["auc_high"]) == (interval.auc, interval.low, interval.high)
        assert row["fit_seconds"] > 0
    test = paired_auc_test(table.y_test, found[0].score, found[1].score)
    assert summary["verdict"]["difference"] == test.difference
    assert summary["verdict"]["pvalue"] == test.pvalue
    aucs = [row["auc"] for row in summary["leaderboard"]]
    assert aucs == sorted(aucs, reverse=True)


@pytest.mark.parametrize(
    ("better", "kind", "words"),
    [(0, "helped", "helped"), (1, "hurt", "did harm"), (None, "none", "no measurable difference")],
)
def test_the_verdict_says_what_the_test_says(better, kind, words, table, found):
    truth = (table.y_test == "malignant").to_numpy() * 1.0
    noise = np.random.default_rng(0).normal(size=len(truth))
    scores = [noise, noise]
    if better is not None:
        scores[better] = truth + 0.1 * noise
    changed = [m._replace(score=score) for m, score in zip(found, scores)]
    verdict = summarize(table, [*changed, found[2]], pair=PAIR, seed=0, command="")["verdict"]
    assert verdict["kind"] == kind
    assert words in verdict["text"]


def test_the_summary_is_plain_json(summary):
    again = json.loads(json.dumps(summary, allow_nan=False))
    assert again == summary
    assert summary["data"]["labelled"] + summary["data"]["unlabelled"] == summary["data"]["train_rows"]
    assert sum(summary["data"]["test_by_class"].values()) == summary["data"]["test_rows"]


def test_gaps_in_the_table_show_as_missing_values():
    table = breast_cancer(labeled=0.2, seed=1)
    gaps = np.random.default_rng(0).random(table.X_train.shape) < 0.2
    table = table._replace(X_train=table.X_train.mask(gaps))
    found = measure(table, _small_methods()[:2])
    summary = summarize(table, found, pair=PAIR, seed=1, command="")
    assert all(f["missing"] is not None for f in summary["shape_functions"])
    assert all(c["rows"][-1]["interval"] == "missing" for c in summary["scorecard"]["columns"])
    assert 'class="missing"' in render(summary)


# The page ---------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Tags, attributes and text of a page, and whether its tags are balanced."""

    void = {"meta", "link", "br", "img", "line", "rect", "circle", "path"}

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


def test_the_page_is_whole_and_needs_nothing_else(summary):
    text = render(summary)
    page = Page(text)
    assert page.open == []
    assert text.lstrip().startswith("<!DOCTYPE html>")
    assert not {"script", "iframe", "object", "embed", "img"} & set(page.tags)
    for tag, name, value in page.attributes:
        if name in ("src", "href"):
            assert value.startswith("data:"), (tag, name, value)
        assert not name.startswith("on"), (tag, name)
    assert not re.search(r"https?://|@import|url\((?!#)", text)
    for svg in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL):
        ElementTree.fromstring(svg)
    said = " ".join(page.text)
    for row in summary["leaderboard"]:
        assert row["method"] in said
        assert f"{row['auc']:.3f}" in said
    assert summary["verdict"]["text"] in said
    assert "prefers-color-scheme: dark" in text


def test_hostile_names_stay_text(summary):
    hostile = copy.deepcopy(summary)
    hostile["title"] = hostile["command"] = hostile["model_file"] = hostile["explained"] = HOSTILE
    hostile["data"].update(source=HOSTILE, target=HOSTILE, positive=HOSTILE, labelled_by_class={HOSTILE: 1})
    hostile["shape_functions"][0]["name"] = hostile["scorecard"]["columns"][0]["name"] = HOSTILE
    hostile["scorecard"]["columns"][0]["rows"][0]["interval"] = HOSTILE
    hostile["leaderboard"][0]["method"] = HOSTILE
    hostile["roc"] = [
        {**c, "method": HOSTILE} if c["method"] == summary["leaderboard"][0]["method"] else c for c in summary["roc"]
    ]
    text = render(hostile)
    page = Page(text)
    assert not {"script", "img"} & set(page.tags)
    assert page.open == []
    assert "".join(page.text).count('alert("1")') >= 8
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_hostile_column_names_from_the_data_on(table):
    names = [HOSTILE, *table.X_train.columns[1:]]
    table = table._replace(X_train=table.X_train.set_axis(names, axis=1), X_test=table.X_test.set_axis(names, axis=1))
    methods = [m._replace(estimator=m.estimator.set_params(max_features=1.0)) for m in _small_methods()[:2]]
    page = Page(render(summarize(table, measure(table, methods), pair=PAIR, seed=0, command="")))
    assert "script" not in page.tags


def test_a_saved_model_is_named_as_python_text(summary):
    page = Page(render({**summary, "model_file": 'a "b".skops'}))
    assert r'fewlabel.load("a \"b\".skops")' in "".join(page.text)


def test_a_model_that_uses_few_columns_is_rendered(table):
    two = list(table.X_train.columns[:2])
    table = Table("t", "s", table.X_train[two], table.y_train, table.X_test[two], table.y_test)
    summary = summarize(table, measure(table, _small_methods()), pair=PAIR, seed=0, command="")
    assert summary["scorecard"]["columns_left_out"] == 0
    assert Page(render(summary)).open == []


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
    path = shape_panels([function])[0]["path"]
    assert re.fullmatch(r"M[\d.]+ [\d.]+(H[\d.]+V[\d.]+){2}H[\d.]+", path)
    assert shape_panels([]) == []
    low, high = _shown(function)
    assert (low, high) == (0.0, 9.0)  # nearly all training values, and all cuts
    assert _shown({**function, "quantiles": [1.2, 1.3]}) == (0.875, 2.125)
    flat = {**function, "edges": [], "values": [0.0], "quantiles": []}
    assert re.fullmatch(r"M[\d.]+ [\d.]+H[\d.]+", shape_panels([flat])[0]["path"])


def test_roc_panels():
    curve = {"false_positive_rate": [0.0, 0.0, 1.0], "true_positive_rate": [0.0, 1.0, 1.0]}
    panel = roc_panel([curve])
    bottom, right = panel["top"] + panel["size"], panel["left"] + panel["size"]
    assert (
        panel["lines"][0]["path"] == f"M{panel['left']} {bottom}L{panel['left']} {panel['top']}L{right} {panel['top']}"
    )
    assert roc_corner([0.99, 0.98, 0.97]) == 0.2
    assert roc_corner([1.0]) == 0.1
    assert roc_corner([0.7, 0.6]) is None


def test_whiskers_stay_inside_their_cell():
    rows = [{"auc": 0.9, "auc_low": 0.4, "auc_high": 1.0}, {"auc": 1.0, "auc_low": 1.0, "auc_high": 1.0}]
    drawn = whiskers(rows)
    for row in drawn["rows"]:
        assert 0 <= row["low"] <= row["auc"] <= row["high"] <= drawn["width"]
    same = [{"auc": 1.0, "auc_low": 1.0, "auc_high": 1.0}]
    assert whiskers(same)["rows"][0]["auc"] <= drawn["width"]


def test_signed():
    assert [signed(v, 1) for v in (1.0, -1.0, 0.0, -0.01)] == ["+1.0", "−1.0", "0.0", "0.0"]
