"""Every number that the four example reports and the demo print is one of metrics.json, rounded."""

import importlib.util
import itertools
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from fewlabel import AutoClassifier, TableClassifier
from fewlabel.reporting import metrics, render, summarize
from fewlabel.reporting.demo import breast_cancer
from fewlabel.reporting.render import render_card
from fewlabel.tables import choose_threshold

_SPEC = importlib.util.spec_from_file_location("reports", Path(__file__).parents[2] / "docs" / "reports.py")
REPORTS = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(REPORTS)
NUMBER = re.compile(r"(?<![\w.#-])[+−]?\d[\d,]*(?:\.\d+)?%?")
# Of the text, of the page's own words, and of axes: none of them is an estimate.
WORDS = {"95", "95%", "80%", "90%", "100", "256", "0", "1", "1.0", "0.0", "5", "0.01", "0.05"}
DIGITS = range(5)


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


def numbers_in(value):
    """All numbers of a plain dict; texts are left out, because they are what is tested."""
    if isinstance(value, dict):
        yield from itertools.chain.from_iterable(numbers_in(one) for one in value.values())
    elif isinstance(value, list):
        yield from itertools.chain.from_iterable(numbers_in(one) for one in value)
    elif isinstance(value, (int, float)):
        yield float(value)


def spellings(found):
    """How the numbers of metrics.json may be printed."""
    texts = set()
    n_rows = (found["decisions"] or {"rows": 0})["rows"]
    for number in numbers_in(found):
        for digits in DIGITS:
            texts |= {f"{abs(number):.{digits}f}", f"{abs(number):,.{digits}f}", f"{100 * abs(number):.{digits}f}"}
        # Counts of the confusion matrix are shares of the rows.
        texts |= {f"{n_rows * number:.0f}", f"{abs(number):.4g}", f"{abs(number):.3g}"}
    data = found["data"]
    texts |= {f"{100 * data['unlabeled'] / data['rows']:.0f}", str(len(data["classes"])), str(len(found["next_rows"]))}
    more = found["certainty"]["more_labels"]
    texts.add(f"{round(more, -max(len(str(more)) - 2, 0)):,}")
    more = (found["learning_curve"] or {}).get("more_labels") or 0
    texts.add(f"{round(more, -max(len(str(more)) - 2, 0)):,}")
    return texts


def printed(html):
    """What a reader of the page sees, without figures, code, values of the table and the footer."""
    html = re.sub(r'<td class="values">.*?</td>', " ", html, flags=re.DOTALL)
    html = re.sub(r"<(style|script|svg|pre|code|footer|title)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", html))


def check_numbers(text, found):
    known = spellings(found) | WORDS
    # Names of columns and classes may have numbers.
    text = text.replace(found["versions"]["fewlabel"], " ")
    text = re.sub(r"(measure|signal|digit|pixel)[ _]\d[\d_]*", " ", text.replace(found["title"], " "))
    wrong = []
    for match in NUMBER.finditer(text):
        number = match.group().lstrip("+−").rstrip("%").rstrip(",")
        if number not in known:
            wrong.append(text[max(0, match.start() - 40) : match.end() + 20])
    assert wrong == []


def test_every_printed_number_is_in_the_metrics(summary):
    found = metrics(summary)
    check_numbers(printed(render(summary)), found)
    check_numbers(render_card(summary), found)


def test_a_number_that_is_not_in_the_metrics_is_found(summary):
    with pytest.raises(AssertionError):
        check_numbers("An estimated 73.1234% of them", metrics(summary))


def test_the_sentences_hold_the_estimates(summary):
    found = metrics(summary)
    headline = found["headline"]
    assert f"{headline['score']:.3f} (95% interval {headline['low']:.3f} to {headline['high']:.3f})" in headline["text"]
    gain = found["choice"]["baseline"]
    scores = {row["method"]: row["score"] for row in found["leaderboard"]}
    assert gain["difference"] == pytest.approx(scores["AutoClassifier"] - scores["logistic regression"])
    assert gain["low"] <= gain["difference"] <= gain["high"]
    assert f"{abs(gain['difference']):.3f} AUC" in found["choice"]["text"]
    if found["decisions"] is None:
        correct = found["confusion"]["correct"]
        assert f"{correct['value']:.0%} of rows" in found["confusion"]["text"]
        return
    estimates = found["decisions"]["estimates"]
    for name in ("precision", "recall"):
        one = estimates[name]
        assert f"{one['value']:.0%}" in found["decisions"]["text"]
        assert f"{one['low']:.0%} to {one['high']:.0%}" in found["decisions"]["text"]


def test_text_matrix_chart_and_slider_are_one_computation(summary):
    found = metrics(summary)["decisions"]
    if found is None:
        return
    values = {name: one["value"] for name, one in found["estimates"].items()}
    flagged = found["rows"] * (values["true_positive"] + values["false_positive"])
    assert flagged == pytest.approx(found["flagged"], abs=1e-2)
    point = next(one for one in summary["decision_curve"] if one["threshold"] == found["threshold"])
    for name in ("precision", "recall", "lift"):
        assert point[name] == found["estimates"][name]
    if found["costs"] is not None:
        least = min(one["cost"]["value"] for one in summary["decision_curve"])
        assert values["cost"] == pytest.approx(least, rel=1e-6)
        text = f"Expected cost per row: {values['cost']:.3g}"
        assert text in found["text"]
