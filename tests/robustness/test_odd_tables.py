"""A short form of `python tests/robustness tables`, and the faults that its long form found."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fewlabel
from fewlabel.cli.main import run
from fewlabel.files import TableError, read_file
from fewlabel.tables.pieces import table_columns
from robustness import odd_tables

CHUNK = 4


@pytest.mark.parametrize("first", range(0, 24, CHUNK))
def test_every_command_works_or_names_the_place(first):
    found = list(odd_tables.findings(CHUNK, first))
    assert not found, "\n".join(found)


def test_errors_that_name_no_place_are_found(monkeypatch):
    monkeypatch.setattr(odd_tables, "app", lambda *_, **__: read_file("rows.txt"))
    assert "names no place" in odd_tables.run_command(["check"], ["age"])
    monkeypatch.setattr(odd_tables, "app", lambda *_, **__: {}["age"])
    assert "KeyError" in odd_tables.run_command(["check"], ["age"])


def test_numbers_too_large_for_singles_are_gaps():
    X = pd.DataFrame({"a": [1.0, 1e308, -np.inf, 2.0], "b": ["1.5", "1e300", "inf", "2"]})
    features = fewlabel.TableEncoder().fit_transform(X)
    np.testing.assert_array_equal(features, [[1, 1.5], [np.nan, np.nan], [np.nan, np.nan], [2, 2]])


def test_a_moment_of_a_time_zone_beyond_year_9999_is_a_gap(tmp_path):
    seconds = pa.array([0, 2**39, None], pa.timestamp("s", tz="Europe/Paris"))
    pq.write_table(pa.table({"when": seconds}), tmp_path / "rows.parquet")
    assert read_file(tmp_path / "rows.parquet")["when"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("text", "line"), [("a,b\n1,x\ry\n", 2), ("a,b\n1,x\n2,\xff\n", 3), ('a,b\n1,"x"\ry\n', 2), ('a,b\n1,"x\n', 2)]
)
def test_a_row_that_readers_split_differently_is_named(tmp_path, text, line):
    (tmp_path / "rows.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(TableError, match=f"line {line}"):
        read_file(tmp_path / "rows.csv")


def test_errors_about_labels_name_their_column(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": range(9), "outcome": ["bad", "bad", None] * 2 + ["rare", None, None]}).to_csv("rows.csv")
    assert run(["fit", "rows.csv", "--target", "outcome", "--quiet"]) == 1
    assert "column 'outcome': class 'rare' has 1 labeled row(s)" in capsys.readouterr().err


def test_a_parquet_column_without_a_name_has_the_same_name_in_predict(tmp_path):
    pq.write_table(pa.table({"": [1, 2], "a": [3, 4]}), tmp_path / "rows.parquet")
    assert table_columns(tmp_path / "rows.parquet") == list(read_file(tmp_path / "rows.parquet").columns)
