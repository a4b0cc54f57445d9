"""The log of answers: nothing lost, nothing twice, one writer."""

import pytest

from fewlabel.active.answers import COLUMNS, SKIP, UNDO, read_answers
from fewlabel.exceptions import TableError
from fewlabel.label_app import AnswerStore

HEADER = ",".join(COLUMNS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.csv"


def fill(path, n=3):
    store = AnswerStore(path)
    for k in range(n):
        store.append(f"r{k}", "yes", how="random", probability=0.25, note='a "note", with\nlines')
    store.close()
    return path.read_bytes()


def test_lines_are_read_again_as_they_were_written(path):
    fill(path)
    store = AnswerStore(path)
    assert [entry.row for entry in store.entries] == ["r0", "r1", "r2"]
    assert store.entries[0][1:3] == ("yes", "answer")
    assert store.entries[0].note == 'a "note", with lines'
    assert float(store.entries[0].probability) == 0.25
    found = read_answers(path)  # as `fewlabel fit --labels` does
    assert found["row"].tolist() == ["r0", "r1", "r2"]
    assert found["probability"].tolist() == [0.25] * 3
    store.close()


def test_the_last_line_about_a_row_counts(path):
    store = AnswerStore(path)
    store.append("a", "yes")
    store.append("b", "", action=SKIP)
    store.append("a", "yes", action=UNDO)
    store.append("c", "no")
    store.append("b", "no")
    assert {row: entry.label for row, entry in store.latest().items()} == {"c": "no", "b": "no"}
    store.close()
    assert read_answers(path)[["row", "label"]].to_numpy().tolist() == [["c", "no"], ["b", "no"]]


def test_a_line_that_a_crash_cut_off_is_removed_wherever_it_was_cut(path):
    content = fill(path)
    start = content.rindex(b"r2,")
    for end in range(start, len(content) - 1):
        path.write_bytes(content[:end])
        store = AnswerStore(path)
        complete = len(store.entries) == 3
        assert complete or [entry.row for entry in store.entries] == ["r0", "r1"]
        store.append("new", "no")
        store.close()
        assert read_answers(path)["row"].tolist() == ["r0", "r1", *(["r2"] if complete else []), "new"]


def test_the_header_that_a_crash_cut_off_is_written_again(path):
    for part in ("", "row,la", HEADER):
        path.write_text(part)
        store = AnswerStore(path)
        store.append("a", "yes")
        store.close()
        assert read_answers(path)["row"].tolist() == ["a"]


def test_a_line_break_that_an_editor_removed_costs_no_answer(path):
    content = fill(path)
    path.write_bytes(content.rstrip(b"\n").replace(b"\n", b"\r\n"))
    store = AnswerStore(path)
    store.append("new", "no")
    store.close()
    assert read_answers(path)["row"].tolist() == ["r0", "r1", "r2", "new"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("row,label\nr1,yes\n", "is not a log of `fewlabel label`"),
        (f"{HEADER}\nr1,yes\nr2,yes,answer,,,,\n", "line 2: expected 7 fields"),
    ],
)
def test_other_files_are_left_alone(path, content, message):
    path.write_text(content)
    with pytest.raises(TableError, match=message):
        AnswerStore(path)
    assert path.read_text() == content


def test_a_second_writer_is_refused(path):
    store = AnswerStore(path)
    with pytest.raises(TableError, match="in use by another `fewlabel label`"):
        AnswerStore(path)
    store.close()
    AnswerStore(path).close()
