"""The log of answers: nothing lost, nothing twice, one writer, no file of somebody else touched."""

import errno
import os

import pytest

from fewlabel.active.answers import COLUMNS, SKIP, UNDO, read_answers
from fewlabel.exceptions import TableError
from fewlabel.label_app import AnswerStore

HEADER = ",".join(COLUMNS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.csv"


def abandon(store):
    """End a store as a process that is killed does: the system closes its files, and nothing else happens."""
    for name in ("_file", "_recovery_file"):
        if name in vars(store):
            os.close(vars(store)[name])


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
    assert {row: entry.label for row, entry in store.latest.items()} == {"c": "no", "b": "no"}
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


def test_a_file_without_lines_is_begun(path):
    for part in ("", HEADER):
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
        ("name,age\nann,31\nbob,4", "is not a log of `fewlabel label`"),  # no line break at the end
        ("all that I know", "is not a log of `fewlabel label`"),
        ("row,la", "is not a log of `fewlabel label`"),
        ("row,label\nr1,yes\n", "is not a log of `fewlabel label`"),
        (f"{HEADER}\nr1,yes\nr2,yes,answer,,,,,\n", "line 2: expected 8 fields"),
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


def rows_of(path):
    """Rows with an answer, as `fewlabel fit --labels` reads them."""
    return read_answers(path)["row"].tolist()


def move_a_copy_here(path, content):
    """As most editors save."""
    other = path.with_name("draft")
    other.write_bytes(content)
    os.replace(other, path)


def write_in_place(path, content):
    path.write_bytes(content)


@pytest.mark.parametrize("save", [move_a_copy_here, write_in_place])
def test_answers_reach_the_file_that_the_name_points_to(path, save):
    store = AnswerStore(path)
    store.append("r0", "yes")
    opened_in_an_editor = path.read_bytes()
    store.append("r1", "no")
    save(path, opened_in_an_editor.replace(b"yes", b"perhaps"))
    store.append("r2", "yes")
    assert rows_of(path) == ["r0", "r1", "r2"]
    assert read_answers(path)["label"].tolist() == ["perhaps", "no", "yes"]  # what was edited stays
    assert "changed by another program" in store.problem
    path.unlink()
    store.append("r3", "yes")
    assert rows_of(path) == ["r0", "r1", "r2", "r3"]
    assert "deleted" in store.problem
    path.unlink()
    store.close()
    assert rows_of(path) == ["r0", "r1", "r2", "r3"]
    assert os.listdir(path.parent) == [path.name]


def test_answers_outlive_a_file_that_was_deleted_and_a_process_that_was_killed(path):
    store = AnswerStore(path)
    store.append("r0", "yes")
    store.append("r1", "yes")
    path.unlink()
    abandon(store)
    store = AnswerStore(path)
    assert [entry.row for entry in store.entries] == ["r0", "r1"]
    assert rows_of(path) == ["r0", "r1"]
    assert "2 answers" in store.problem
    store.close()


def test_a_correction_is_not_undone_by_an_older_answer_that_comes_back(path):
    store = AnswerStore(path)
    store.append("r0", "yes")
    store.append("r0", "yes", action=UNDO)
    store.append("r0", "no")
    header, first, *others = path.read_bytes().splitlines(keepends=True)
    move_a_copy_here(path, b"".join([header, *others]))
    store.append("r1", "no")
    assert read_answers(path)[["row", "label"]].to_numpy().tolist() == [["r0", "no"], ["r1", "no"]]
    assert first in path.read_bytes()
    store.close()


def test_another_file_under_the_name_is_left_alone_and_answers_are_kept_beside_it(path):
    store = AnswerStore(path)
    store.append("r0", "yes")
    move_a_copy_here(path, b"a,b\n1,2")
    store.append("r1", "no")
    assert path.read_bytes() == b"a,b\n1,2"
    assert str(store.recovery) in store.problem
    assert rows_of(store.recovery) == ["r0", "r1"]
    store.close()
    with pytest.raises(TableError, match="is not a log of `fewlabel label`"):
        AnswerStore(path)
    assert path.read_bytes() == b"a,b\n1,2"
    path.unlink()
    AnswerStore(path).close()
    assert rows_of(path) == ["r0", "r1"]


class FullDisk:
    """Lets the system write `n_bytes` more."""

    def __init__(self, monkeypatch, n_bytes):
        self.n_bytes, self._write = n_bytes, os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, file, data):
        if self.n_bytes <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        n_written = self._write(file, data[: self.n_bytes])
        self.n_bytes -= n_written
        return n_written


@pytest.mark.parametrize("n_bytes", [0, 1, 30, 90, 200])
def test_a_disk_that_is_full_for_a_moment_leaves_no_half_line(path, monkeypatch, n_bytes):
    store = AnswerStore(path)
    store.append("r0", "yes")
    acknowledged = ["r0"]
    with monkeypatch.context() as patch:
        FullDisk(patch, n_bytes)
        try:
            store.append("r1", "no")
            acknowledged.append("r1")
        except OSError as error:
            assert error.errno == errno.ENOSPC  # noqa: PT017
    store.append("r2", "no")
    acknowledged.append("r2")
    assert rows_of(path) == acknowledged
    store.close()
    store = AnswerStore(path)
    assert [entry.row for entry in store.entries] == acknowledged
    store.close()


def test_a_recovery_file_that_was_deleted_or_changed_is_written_again(path):
    store = AnswerStore(path)
    store.append("r0", "yes")
    store.recovery.unlink()
    store.append("r1", "yes")
    store.recovery.write_bytes(b"r9,half a")
    store.append("r2", "yes")
    with pytest.raises(TableError, match="in use by another"):
        AnswerStore(path)
    path.unlink()
    abandon(store)
    store = AnswerStore(path)
    assert [entry.row for entry in store.entries] == ["r0", "r1", "r2"]
    store.close()


def test_a_spreadsheet_runs_no_label_and_no_note(path):
    texts = ["=1+1", "@sum", "+x", "-x", "'=1+1", "''=1", "-2.5", "'quoted'", "a=b"]
    written = [*("'" + text for text in texts[:6]), *texts[6:]]
    store = AnswerStore(path)
    for k, text in enumerate(texts):
        store.append(f"r{k}", text, note=text)
    store.close()
    cells = [line.split(",") for line in path.read_text().splitlines()[1:]]
    assert [fields[1] for fields in cells] == written
    assert [fields[6] for fields in cells] == written
    assert read_answers(path)["label"].tolist() == texts
    store = AnswerStore(path)
    assert [entry.label for entry in store.entries] == texts
    assert [entry.note for entry in store.entries] == texts
    store.close()


def test_every_entry_is_one_line(path):
    store = AnswerStore(path)
    store.append("r0", "yes", how="random\nr1,no,answer", note="a\x00b\u2028c")
    store.append("r1", "no")
    store.close()
    assert rows_of(path) == ["r0", "r1"]
    store = AnswerStore(path)
    assert store.entries[0].note == "a b c"
    store.close()


def test_a_log_without_the_column_of_labelers_is_continued(path):
    content = fill(path).decode()
    path.write_text("".join(line.rpartition(",")[0] + "\n" for line in content.splitlines()))
    store = AnswerStore(path)
    store.append("new", "no", labeler="ann")
    assert [entry.labeler for entry in store.entries] == ["", "", "", "ann"]
    store.close()
    assert path.read_text().splitlines()[0] == HEADER
    assert rows_of(path) == ["r0", "r1", "r2", "new"]
