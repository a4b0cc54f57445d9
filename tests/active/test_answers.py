"""Answers in files of their own: which row they are about, and what they add up to."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabel.active.answers import merge_answers, row_keys
from fewlabel.exceptions import TableError

TABLE = pd.DataFrame({"a": [1, 2, 2, 4], "b": ["x", "y", "y", None]})
KEYS = row_keys(TABLE)


def write(path, *lines, header="row,label"):
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def merged(column, *paths):
    return merge_answers(pd.Series(column, name="y"), KEYS, list(paths))


def test_keys_are_distinct_and_do_not_depend_on_types():
    assert len(set(KEYS)) == 4
    assert [key.split("-")[0] for key in KEYS] == ["r1", "r2", "r3", "r4"]
    assert KEYS[1].split("-")[1] == KEYS[2].split("-")[1]  # the same values
    other = TABLE.astype({"a": float}).astype({"b": "category"})
    assert row_keys(other) == KEYS
    assert row_keys(TABLE.assign(a=[1, 2, 2, 5]))[:3] == KEYS[:3]


def test_answers_fill_the_column(tmp_path):
    one = write(tmp_path / "one.csv", f"{KEYS[1]}, yes ", f"{KEYS[3]},")
    two = write(tmp_path / "two.csv", f"{KEYS[2]},no")
    found = merged(["no", None, None, None], one, two)
    assert found.column.tolist() == ["no", "yes", "no", ""]
    assert found.column.name == "y"
    assert found.order.tolist() == [-1, 0, 1, -1]
    assert found.notes == [f"2 rows have labels from {one}, {two}"]


def test_numbers_stay_whole_and_booleans_stay_booleans(tmp_path):
    file = write(tmp_path / "a.csv", f"{KEYS[1]},0")
    assert merged([1.0, np.nan, np.nan, 0.0], file).column.tolist() == ["1", "0", "", "0"]
    assert merged(pd.array([True, None, None, False], dtype="boolean"), file).column.tolist()[0] == "True"


def test_contradicting_answers_are_reported_and_count_as_unlabeled(tmp_path):
    one = write(tmp_path / "one.csv", f"{KEYS[1]},yes", f"{KEYS[0]},no", f"{KEYS[3]},yes")
    two = write(tmp_path / "two.csv", f"{KEYS[1]},no", f"{KEYS[3]},yes")
    found = merged(["yes", None, None, None], one, two)
    assert found.column.tolist() == ["", "", "", "yes"]
    note = found.notes[-1]
    assert note.startswith("2 row(s) have contradicting labels and count as unlabeled")
    assert f"row 2 ('yes' in {one}, 'no' in {two})" in note
    assert f"row 1 ('yes' in the table, 'no' in {one})" in note


def test_in_a_log_the_last_line_about_a_row_counts(tmp_path):
    file = write(
        tmp_path / "labels.csv",
        f"{KEYS[0]},yes,answer",
        f"{KEYS[1]},no,answer",
        f"{KEYS[0]},no,answer",
        f"{KEYS[1]},no,undo",
        f"{KEYS[2]},,skip",
        header="row,label,action",
    )
    assert merged([None] * 4, file).column.tolist() == ["no", "", "", ""]


def test_columns_of_the_table_do_not_make_a_log_of_a_sheet(tmp_path):
    file = write(tmp_path / "ask.csv", f"{KEYS[0]},yes,skip,9", f"{KEYS[1]},no,sell,1", header="row,Label,Action,time")
    found = merged([None] * 4, file)
    assert found.column.tolist() == ["yes", "no", "", ""]
    assert found.order.tolist() == [0, 1, -1, -1]


def test_answers_that_were_saved_beside_a_log_are_not_forgotten(tmp_path):
    file = write(tmp_path / "labels.csv", f"{KEYS[0]},yes")
    write(tmp_path / "labels.recovery.csv", f"{KEYS[0]},yes")
    assert len(merged([None] * 4, file).notes) == 1
    write(tmp_path / "labels.recovery.csv", f"{KEYS[0]},yes", f"{KEYS[1]},no")
    assert "labels.recovery.csv has 1 answers" in merged([None] * 4, file).notes[1]


def test_draws_come_with_their_probability_in_the_order_of_their_time(tmp_path):
    file = write(
        tmp_path / "labels.csv",
        f"{KEYS[3]},no,answer,2026-01-02T00:00:00,random,0.25",
        f"{KEYS[0]},yes,answer,2026-01-01T00:00:00,uncertain,1",
        header="row,label,action,time,how,probability",
    )
    found = merged([None] * 4, file)
    assert found.order.tolist() == [0, -1, -1, 1]
    assert found.random.tolist() == [False, False, False, True]
    assert found.probability[3] == 0.25


_LINES = st.tuples(st.integers(0, 3), st.sampled_from(["yes", "no"]), st.sampled_from(["answer", "skip", "undo"]))


@given(lines=st.lists(_LINES, min_size=1, max_size=8), n_arrived=st.integers(0, 8))
def test_lines_of_a_log_after_a_date_have_no_influence(tmp_path_factory, lines, n_arrived):
    """Neither a later answer nor an undo changes what was known then."""
    folder = tmp_path_factory.mktemp("logs")
    header = "row,label,action,time"
    written = [f"{KEYS[row]},{label},{action},2026-01-{k + 1:02}" for k, (row, label, action) in enumerate(lines)]
    n_arrived = min(n_arrived, len(written))
    whole = write(folder / "whole.csv", *written, header=header)
    until = np.datetime64("2026-01-01") + n_arrived - 1
    found = merge_answers(pd.Series([None] * 4), KEYS, [whole], until)
    expected = [""] * 4
    for row, label, action in lines[:n_arrived]:
        expected[row] = label if action == "answer" else ""
    assert found.column.tolist() == expected


def test_rows_are_found_again_in_a_table_that_grew_and_was_sorted(tmp_path):
    file = write(tmp_path / "a.csv", f"{KEYS[0]},yes", f"{KEYS[3]},no")
    table = pd.concat([pd.DataFrame({"a": [9.5], "b": ["new"]}), TABLE[::-1]], ignore_index=True)
    found = merge_answers(pd.Series([None] * 5), row_keys(table), [file])
    assert found.column.tolist() == ["", "no", "", "", "yes"]


@pytest.mark.parametrize(
    ("header", "line", "message"),
    [
        ("row,label", "r1-000000000000,yes", "1 answer.* about rows that the table does not have, such as 'r1-0000"),
        ("row,label", "17,yes", "such as '17'"),
        ("id,label", "1,yes", "has no column 'row'"),
        ("row,y", "1,yes", "has no column 'label'"),
    ],
)
def test_files_of_another_table_are_refused(tmp_path, header, line, message):
    with pytest.raises(TableError, match=message):
        merged([None] * 4, write(tmp_path / "a.csv", line, header=header))
