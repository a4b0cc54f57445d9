"""fewlabel.report(model, X, y), the model card, the rows to label next."""

import numpy as np
import pandas as pd
import pytest

import fewlabel
from fewlabel import AutoClassifier, TableClassifier
from fewlabel.active import BatchQuery
from fewlabel.metrics.shares import wilson
from fewlabel.reporting.curves import confusion
from fewlabel.reporting.figures import plain
from fewlabel.reporting.render import render
from fewlabel.reporting.sentences import good_for


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"=a": rng.normal(size=150), "b": rng.normal(size=150), "useless": rng.normal(size=150)})
    y = pd.Series(np.where(X["=a"] + 0.5 * X["b"] > 0, "<b>bad", "good"), name="y", dtype=object)
    return X, y.where(np.arange(150) < 60, None)


@pytest.fixture(scope="module")
def model(rows):
    auto = AutoClassifier(["naive Bayes", "RankBoost"], n_repeats=1, random_state=0)
    return TableClassifier(auto, positive="<b>bad").fit(*rows)


@pytest.fixture(scope="module")
def page(model, rows):
    return fewlabel.report(model, *rows, title="A table")


def test_one_call_gives_a_page_a_file_and_a_view(page, tmp_path):
    assert "A table" in page.html()
    page.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == page.html()
    view = page._repr_html_()
    assert view.startswith("<iframe")
    assert "<script" not in view
    assert page.metrics["next_rows"]


def test_commands_in_sentences_are_code_and_names_stay_text(page):
    summary = {**page.summary, "cautions": ["label `fewlabel audit <b>`", "a ` alone"]}
    text = render(summary)
    assert "label <code>fewlabel audit &lt;b&gt;</code>" in text
    assert "a ` alone" in text


def test_other_models_are_refused(rows):
    with pytest.raises(TypeError, match="expected a fitted TableClassifier around an AutoClassifier"):
        fewlabel.report(AutoClassifier(), *rows)


def test_the_answer_comes_first(page):
    text = page.html()
    order = [
        text.index(part)
        for part in ("Expected on the unlabeled rows", 'id="decisions"', 'id="leaderboard"', 'id="next"')
    ]
    assert order == sorted(order)
    assert page.summary["good_for"].split(".")[0] in text.replace("&lt;", "<").replace("&gt;", ">")


def test_a_model_card_has_the_figures_and_no_markup_of_the_table(page, tmp_path):
    page.summary["cautions"].append("column '<b>bad' is left out")
    page.save_card(tmp_path / "card.md")
    text = (tmp_path / "card.md").read_text()
    assert page.summary["headline"]["text"] in text
    assert "naive Bayes" in text
    assert "<b>bad" not in text
    assert "&amp;" not in text


def test_rows_to_label_are_those_of_the_batch_query_and_show_the_columns_that_matter(page, model, rows):
    X, y = rows
    probability = model.predict_proba(X)
    found = BatchQuery(positive="<b>bad", random_state=0).query(X, y, 20, probability=probability)
    assert [row["row"] for row in page.metrics["next_rows"]] == (found.rows + 1).tolist()
    assert [row["how"] for row in page.metrics["next_rows"]] == found.how
    assert page.metrics["next_rows"][0]["values"][0]["column"] == "=a"


def test_rows_to_label_from_positives_only_look_like_them(rows):
    X, y = rows
    auto = AutoClassifier(["nnPU"], n_repeats=1, prior=0.3, random_state=0)
    y = y.where(y == "<b>bad", None)
    page = fewlabel.report(TableClassifier(auto, positive="<b>bad").fit(X, y), X, y)
    assert {row["how"] for row in page.metrics["next_rows"]} == {"random", "likely positive"}


@pytest.mark.parametrize(
    ("score", "low", "said"),
    [(0.6, 0.5, "random order"), (0.8, 0.7, "most likely rows first"), (0.99, 0.95, "by a threshold")],
)
def test_what_it_is_good_for_follows_the_lower_end(page, score, low, said):
    summary = {**page.summary, "headline": {"score": score, "low": low, "high": 1.0, "with_leaks": None}}
    assert said in good_for(summary)
    summary["headline"]["with_leaks"] = {"score": 0.99}
    assert good_for(summary).startswith("Without the suspected columns: Of two rows")


def test_confusion_counts_predictions_by_class():
    found = plain(confusion(np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 0, 0]), ["a", "b", "c"]))
    assert found["counts"] == [[1, 1, 0], [0, 1, 0], [2, 0, 0]]
    assert found["correct"]["value"] == pytest.approx(2.5 / 6, abs=1e-6)
    assert found["correct"]["low"] < 2 / 5 < found["correct"]["high"]
    # One row more of each class, with the mean recall.
    usual = found["balanced"]["value"]
    expected = [(1 + usual) / 3, (1 + usual) / 2, usual / 3]
    assert [one["value"] for one in found["recall"]] == pytest.approx(expected, abs=1e-5)
    assert found["recall"][1]["low"] < 0.5  # one row proves little
    assert found["pairs"][0] == {"true": "c", "predicted": "a", "rows": 2}
    assert confusion(np.array([0, 1]), np.array([0, 1]), ["a", "b"]) is None


def test_balanced_accuracy_is_the_mean_recall_of_the_classes():
    # Recalls 1/2, 3/4 and 0 of 2, 4 and 6 rows.
    codes = np.repeat([0, 1, 2], [2, 4, 6])
    predicted = np.array([0, 1, 1, 1, 1, 2, *[0] * 6])
    found = confusion(codes, predicted, ["a", "b", "c"])["balanced"]
    n_effective = 9 / (1 / 2 + 1 / 4 + 1 / 6)
    mean = (1 / 2 + 3 / 4 + 0) / 3
    low, high = wilson([mean], n_effective)[0].tolist()
    assert found == pytest.approx(((n_effective * mean + 0.5) / (n_effective + 1), low, high))
    # Of a class that is not tested, none or all may be found.
    more = confusion(codes, predicted, ["a", "b", "c", "d"])
    assert more["balanced"] == pytest.approx((0.75 * found.value, 0.75 * low, 0.75 * high + 0.25))
    assert "with nothing found of 1 class that could not be tested." in more["text"]
    assert more["recall"][3] is None
    # With as many rows of each class it is the share of right predictions.
    even = confusion(np.repeat([0, 1, 2], 10), np.r_[np.repeat([0, 1], 15)], ["a", "b", "c"])
    assert even["balanced"] == pytest.approx(even["correct"])
