"""Tables read in chunks, files written together, and names of columns and messages."""

import csv
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabel import file_sets
from fewlabel.files import arrow_batches, column_names, long_fields, read_file
from fewlabel.text import did_you_mean, distinct

fields = st.lists(st.text(alphabet='ab,"\n;ü', min_size=1, max_size=6), min_size=2, max_size=4)


@given(fields, st.sampled_from(["utf-8", "utf-16", "latin-1"]))
def test_names_and_rows_with_separators_and_line_breaks(row, encoding):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.tsv")
        with open(path, "w", newline="", encoding=encoding) as file:
            csv.writer(file, delimiter="\t", lineterminator="\n").writerows([row, row])
        assert column_names(path, encoding=encoding) == row
        assert len(read_file(path, encoding=encoding)) == 1


def test_long_fields_are_read_without_a_change_of_the_process(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "x" * 200_000 + ",1\n")
    before = csv.field_size_limit(1000)  # another program's choice
    try:
        assert len(read_file(path)) == 1
        assert csv.field_size_limit() == 1000
        first = long_fields()
        second = long_fields()
        with first:
            second.__enter__()
        assert csv.field_size_limit() > 200_000  # the second reader is at work
        second.__exit__(None, None, None)
        assert csv.field_size_limit() == 1000
    finally:
        csv.field_size_limit(before)


def test_nearest_names():
    assert did_you_mean("Outcom", ["income", "outcome"]) == "outcome"
    assert did_you_mean("zzz", ["income"]) is None


def test_names_are_made_distinct():
    assert distinct(["a", "a", "a.1", "a", "b"]) == ["a", "a.2", "a.1", "a.3", "b"]


def fail_at(monkeypatch, name, call, error):
    """Make a function of `os` fail at one of its calls."""
    original, calls = getattr(os, name), []

    def limited(*args, **kwargs):
        calls.append(args)
        if len(calls) == call:
            raise error
        return original(*args, **kwargs)

    monkeypatch.setattr(os, name, limited)


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", [1, 2])
def test_a_set_of_files_is_replaced_with_its_first_file_last(call, error, old, tmp_path, monkeypatch):
    names = ["a", "b"]
    for name in names if old else ():
        (tmp_path / name).write_text("old " + name)

    def replace():
        with file_sets.atomic_set(*(tmp_path / name for name in names)) as drafts:
            for draft in drafts:
                draft.write_text("new")

    with monkeypatch.context() as patch:
        fail_at(patch, "replace", call, error)
        with pytest.raises(type(error)):
            replace()
    left = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert left.pop("a", None) == ("old a" if old else None)  # the first one is replaced last
    assert left.get("b") == ("new" if call == 2 else "old b" if old else None)
    replace()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(names, "new")


def test_a_set_keeps_permissions_and_links(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o640)
    (tmp_path / "link").symlink_to("a")
    with file_sets.atomic_set(tmp_path / "link", tmp_path / "b") as (a, b):
        a.write_text("new")
        b.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_text() == "new"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
    with pytest.raises(OSError, match="is not a file"), file_sets.atomic_set(tmp_path):
        pass


def test_a_parquet_file_is_read_batch_by_batch(tmp_path):
    """Memory holds a few row groups, not the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = np.random.default_rng(0).normal(size=(2**18, 8))
    pq.write_table(pa.table({f"x{k}": rows[:, k] for k in range(8)}), tmp_path / "rows.parquet", row_group_size=2**14)
    before, most, n = pa.total_allocated_bytes(), 0, 0
    for batch in arrow_batches(tmp_path / "rows.parquet", 2**14):
        n += len(batch)
        most = max(most, pa.total_allocated_bytes() - before)
    assert n == 2**18
    assert most < rows.nbytes / 3
