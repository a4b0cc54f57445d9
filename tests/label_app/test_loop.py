"""The labeling loop without a browser: what is asked, measured and refused."""

import errno
import os

import pytest

from fewlabel.active.answers import merge_answers
from fewlabel.auto import LearningCurve
from fewlabel.label_app import AnswerStore, LabelingLoop
from fewlabel.label_app.loop import EVERY, NotStored
from fewlabel.label_app.progress import Point, forecast
from label_app.tasks import make_task


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.csv"


def answer_rows(loop, n, tab="a"):
    """Answer `n` rows truthfully; returns their keys."""
    keys = []
    for _ in range(n):
        row = loop.next(tab)["row"]
        label = loop.task.classes[(row["number"] - 1) % len(loop.task.classes)]
        loop.answer(tab, row["key"], label, how=row["how"], probability=row["probability"])
        keys.append(row["key"])
        loop.wait()  # so that fits see the same answers on a busy machine
    return keys


def test_a_table_without_labels_is_labeled_to_the_end(path):
    store = AnswerStore(path)
    loop = LabelingLoop(make_task(24, columns="ab"), store)
    first = loop.next("a")
    assert first["row"]["how"] in ("diverse", "random")
    assert first["progress"]["history"] == []
    keys = answer_rows(loop, 24)
    assert sorted(keys) == sorted(loop.task.keys)
    found = loop.next("a")
    assert found["row"] is None
    assert found["progress"]["labeled"] == 24
    assert found["progress"]["counts"] == {"yes": 12, "no": 12}
    store.close()


def test_random_rows_give_the_auc_of_the_whole_table(path):
    store = AnswerStore(path)
    loop = LabelingLoop(make_task(60, labeled=8, columns="ab", random_share=1.0), store)
    answer_rows(loop, 20)
    point = loop.next("a")["progress"]["history"][-1]
    assert point["unbiased"]
    assert 28 - EVERY < point["labels"] <= 28
    assert 0 <= point["low"] <= point["auc"] <= point["high"] <= 1
    assert not loop.next("a")["progress"]["history"][0]["unbiased"]
    assert {entry.how for entry in store.entries} == {"random"}
    first = float(store.entries[0].probability)
    assert 0.5 / 52 <= first < 0.1
    store.close()


def test_an_audit_asks_for_its_rows_and_no_others_also_over_two_sessions(path):
    task = make_task(60, labeled=8, columns="ab", audit=20)
    store = AnswerStore(path)
    first = answer_rows(LabelingLoop(task, store), 9)
    store.close()
    store = AnswerStore(path)
    loop = LabelingLoop(task, store)
    second = answer_rows(loop, 11)
    assert loop.next("a")["row"] is None
    assert loop.next("a")["progress"]["history"][-1]["unbiased"]
    assert {entry.how for entry in store.entries} == {"audit"}
    store.close()
    assert len({*first, *second}) == 20
    merged = merge_answers(task.table["a"].astype(str).where([False] * 60, ""), task.keys, [path])
    assert merged.n_audited == 20
    chances = merged.known_probability()
    # Each answer stands for one over its probability rows: together for about the 52 that were unlabeled.
    assert (1 / chances[merged.random]).sum() == pytest.approx(52, rel=0.35)


def test_the_page_gets_nothing_of_the_model_about_a_row(path):
    store = AnswerStore(path)
    task = make_task(40, labeled=12)
    loop = LabelingLoop(task, store)
    loop.wait()
    rows = [loop.next("a")["row"], *loop.next("a")["ahead"]]
    assert len(rows) == 3
    assert loop.next("a")["progress"]["history"]
    for row in rows:
        assert set(row) == {"key", "number", "why", "how", "probability", "values"}
        assert [value["column"] for value in row["values"]] == ["a", "b", "c"]
        assert {key for value in row["values"] for key in value} == {"column", "value"}
    store.close()


def test_answers_are_counted_by_labeler(path):
    for name, n in (("", 1), ("ann", 2), ("bob", 1), ("ann", 1)):
        store = AnswerStore(path)
        loop = LabelingLoop(make_task(columns="ab", labeler=name), store)
        answer_rows(loop, n)
        loop.wait()
        store.close()
    assert loop.next("a")["progress"]["labelers"] == {"": 1, "ann": 3, "bob": 1}


def test_an_answer_that_cannot_be_written_is_not_acknowledged(path, monkeypatch):
    store = AnswerStore(path)
    loop = LabelingLoop(make_task(columns="ab"), store)
    row = loop.next("a")["row"]

    def write(file, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(NotStored, match="Not saved yet: No space left on device"):
            loop.answer("a", row["key"], "yes")
        assert loop.next("a")["progress"]["answered"] == 0
        assert loop.next("a")["row"]["key"] == row["key"]
    assert loop.answer("a", row["key"], "yes")["progress"]["answered"] == 1
    store.close()


def test_another_session_goes_on_and_its_answers_reach_a_fit(path):
    store = AnswerStore(path)
    task = make_task(columns="ab")
    loop = LabelingLoop(task, store)
    first = answer_rows(loop, 6)
    store.close()
    store = AnswerStore(path)
    loop = LabelingLoop(task, store)
    loop.wait()
    assert loop.next("b")["progress"]["answered"] == 6
    second = answer_rows(loop, 3, tab="b")
    assert not set(first) & set(second)
    assert loop.undo("b")["row"]["key"] == second[-1]
    store.close()
    column = merge_answers(task.table["a"].map(lambda _: None), task.keys, [path]).column
    assert (column != "").sum() == 8


def test_three_classes_and_positives_only(path, tmp_path):
    store = AnswerStore(path)
    loop = LabelingLoop(make_task(30, classes=("a", "b", "c"), columns="xy"), store)
    answer_rows(loop, 15)
    assert loop.next("a")["progress"]["answered"] == 15
    store.close()
    task = make_task(30, columns="xy", positive="yes")
    task.codes[[0, 2, 4]] = 0
    store = AnswerStore(tmp_path / "other.csv")
    loop = LabelingLoop(task, store)
    assert loop.next("a")["row"]["how"] in ("likely positive", "random")
    store.close()


def test_a_model_that_cannot_be_fitted_is_no_reason_to_stop(path):
    store = AnswerStore(path)
    loop = LabelingLoop(make_task(labeled=10, columns="ab", portfolio=["nonsense"]), store)
    answer_rows(loop, 6)
    assert "No new model could be fitted: portfolio: 'nonsense' is not known" in loop.next("a")["progress"]["problem"]
    assert len(store.entries) == 6
    store.close()


def test_a_log_of_another_table_or_with_another_class_is_refused(path):
    store = AnswerStore(path)
    store.append(make_task(columns="ab").keys[0], "perhaps")
    with pytest.raises(ValueError, match="has the label 'perhaps', which is not one of the classes yes, no"):
        LabelingLoop(make_task(columns="ab"), store)
    with pytest.raises(ValueError, match="belongs to another table"):
        LabelingLoop(make_task(columns="a"), store)
    store.close()


@pytest.mark.parametrize(
    ("slope", "error", "now", "text", "stop"),
    [
        (0.5, 0.1, (100, 0.9, 0.85), "+0.01 AUC takes about 24 more labels", ""),
        (0.1, 0.05, (100, 0.95, 0.9), "+0.01 AUC takes about 830 more labels", "more than 3 times the labels so far"),
        (0.1, 0.05, (100, 0.95, 0.6), "+0.01 AUC takes about 830 more labels", ""),  # the AUC may be far lower
        (0.5, 0.005, (100, 0.995, 0.97), "near 1, but 100 labels only show that it is 0.97", "good moment to stop"),
        (0.5, 0.005, (100, 0.998, 0.991), "within 0.01 of 1", "good moment to stop"),
        (0.0, 0.1, (100, 0.9, 0.85), "no forecast is made", ""),
        (0.5, 0.1, (20, 0.9, 0.85), "", ""),
    ],
)
def test_forecasts_and_when_to_stop(slope, error, now, text, stop):
    labels, auc, low = now
    found = forecast(
        LearningCurve([50, 100], [0.6, 0.9], [0.5, 0.8], [0.7, 1.0], slope, error), Point(labels, auc, low, 1.0, True)
    )
    for part, wanted in zip(found, (text, stop)):
        assert wanted in part
        assert bool(wanted) == bool(part)


def test_there_is_no_forecast_without_a_curve():
    assert forecast(None, Point(100, 0.9, 0.8, 0.95, True)) == ("", "")
