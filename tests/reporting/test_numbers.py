"""Every number that the four example reports and the demo print is one of metrics.json, rounded."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.quality.agreement import contradictions, misdrawn, printed, unknown_numbers
from fewlabel import AutoClassifier, TableClassifier
from fewlabel.reporting import end_text, metrics, render, summarize
from fewlabel.reporting.demo import breast_cancer
from fewlabel.reporting.render import render_card
from fewlabel.tables import choose_threshold

_SPEC = importlib.util.spec_from_file_location("reports", Path(__file__).parents[2] / "docs" / "reports.py")
REPORTS = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(REPORTS)


def demo():
    table = breast_cancer(labeled=0.1, seed=0)
    return "Demo", table.X_train, table.y_train, {}, {}


@pytest.fixture(scope="module", params=[*REPORTS.REPORTS, "demo"])
def summary(request):
    """Two members each: what is printed is tested, not what is learned."""
    title, X, y, options, threshold = REPORTS.REPORTS.get(request.param, demo)()
    if len(X) > 1500:
        # All labels, and some of the other rows.
        rows = np.flatnonzero(y.notna() | (np.arange(len(y)) < 1200))
        X = X.iloc[rows].reset_index(drop=True)
        y = y.iloc[rows].reset_index(drop=True)
    other = "extra trees" if request.param == "fraud" else "naive Bayes"
    auto = AutoClassifier(["logistic regression", other], n_repeats=1, random_state=0)
    model = TableClassifier(auto, random_state=0, **options)
    rows = model.encode(X, y)
    model.fit_encoded(rows)
    decision = None if threshold is None else choose_threshold(model, rows, **(threshold or {}))
    return summarize(model, X, rows, title=title, command="fewlabel", decision=decision)


def unknown(text, found):
    # Names of columns and classes have numbers.
    return unknown_numbers(re.sub(r"(measure|signal|digit|pixel)[ _]\d[\d_]*", " ", text), found)


def test_every_printed_number_is_in_the_metrics(summary):
    found = metrics(summary)
    assert unknown(printed(render(summary)), found) == []
    assert unknown(render_card(summary), found) == []


def test_a_number_that_is_not_in_the_metrics_is_found(summary):
    assert len(unknown("An estimated 73.1234% of them", metrics(summary))) == 1


def test_the_sentences_hold_the_estimates(summary):
    found = metrics(summary)
    headline = found["headline"]
    high = end_text(headline["high"], headline["positives_only"])
    assert f"{headline['score']:.3f} (95% interval {headline['low']:.3f} to {high})" in headline["text"]
    gain = found["choice"]["baseline"]
    scores = {row["method"]: row["score"] for row in found["leaderboard"]}
    assert gain["difference"] == pytest.approx(scores["AutoClassifier"] - scores["logistic regression"])
    assert gain["low"] <= gain["difference"] <= gain["high"]
    assert f"{abs(gain['difference']):.3f} AUC" in found["choice"]["text"]
    if found["decisions"] is None:
        confusion = found["confusion"]
        assert f"{confusion['correct']['value']:.0%} of rows" in confusion["text"]
        balanced = confusion["balanced"]
        said = f"{balanced['value']:.0%} ({balanced['low']:.0%} to {balanced['high']:.0%})"
        assert f"(balanced accuracy) is about {said}" in confusion["text"]
        return
    estimates = found["decisions"]["estimates"]
    for name in ("precision", "recall"):
        one = estimates[name]
        if one["value"] is not None:
            assert f"{one['value']:.0%}" in found["decisions"]["text"]
        assert f"{one['low']:.0%} to {one['high']:.0%}" in found["decisions"]["text"]


def test_text_matrix_chart_and_slider_are_one_computation(summary):
    assert contradictions(metrics(summary), render(summary)) == []
    decisions = summary["decisions"]
    if decisions is not None and decisions["costs"] is not None:
        cost = decisions["estimates"]["cost"]
        said = f"{cost['low']:.3g} to" if cost["value"] is None else f"{cost['value']:.3g}"
        assert f"Expected cost per row: {said}" in decisions["text"]


def test_charts_show_the_numbers(summary):
    assert misdrawn(metrics(summary), render(summary)) == []


def test_a_chart_that_shows_other_numbers_is_found(summary):
    found = metrics(summary)
    page = render(summary)
    if found["decisions"] is None:
        learned = {**found["learning_curve"], "scores": [score - 0.1 for score in found["learning_curve"]["scores"]]}
        assert misdrawn({**found, "learning_curve": learned}, page) == ["learning curve does not go through its points"]
        return
    gain = page.index('id="decision-1"')
    first = re.compile(r'(?<=<path class="curve c0" d="M)[\d.]+').search(page, gain)
    moved = f"{page[: first.start()]}{float(first[0]) + 20:g}{page[first.end() :]}"
    assert misdrawn(found, moved) == ["recall by share does not go through its points"]
    fewer = {**found["data"], "labeled": round(0.8 * found["data"]["labeled"])}
    assert "you are at" in misdrawn({**found, "data": fewer}, page)[0]
    if found["decisions"]["auc"] is None:
        return
    other = {**found["decisions"], "auc": {"value": 0.4, "low": 0.3, "high": 0.5}}
    assert len(misdrawn({**found, "decisions": other}, page)) == 2  # the area, and the caption
