"""A table in pieces says the same as the table that pandas reads in one."""

import csv
import gzip
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabel.exceptions import TableError
from fewlabel.files import read_file
from fewlabel.tables import pieces
from fewlabel.tables.pieces import read_pieces, table_columns

TEXTS, NUMBERS = ["name", "when"], ["a", "b", "not there"]


def make_table(n=200):
    rng = np.random.default_rng(0)
    names = rng.choice(["x", "a, b", 'say "hi"', "two\nlines", "NA", "ü"], n)
    rows = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 9, n), "name": names, "when": "2024-01-31"})
    return rows.assign(c="not read", b=rows["b"].where(rng.random(n) < 0.9))


def joined(path, **form):
    """All pieces together, texts as texts; and their number."""
    found = [read().to_pandas() for read in read_pieces(path, NUMBERS, TEXTS, **form)]
    return pd.concat([f.astype(dict.fromkeys(TEXTS, object)) for f in found], ignore_index=True), len(found)


def assert_same(found, expected):
    for name in ("a", "b"):
        np.testing.assert_allclose(found[name].astype(float), expected[name].astype(float), rtol=1e-13)
    for name in TEXTS:
        assert found[name].where(found[name].notna(), None).tolist() == (
            expected[name].astype(object).where(expected[name].notna(), None).tolist()
        )


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(pieces, "_BYTES", 700)
    monkeypatch.setattr(pieces, "_BATCH_ROWS", 30)


@pytest.mark.parametrize(
    ("name", "form", "options"),
    [
        ("rows.csv", {}, {}),
        ("rows.tsv", {"sep": "\t"}, {}),
        ("rows.csv", {"sep": ";", "decimal": ","}, {"decimal": ","}),
        ("rows.csv", {"encoding": "utf-8-sig"}, {}),
        ("rows.csv", {"lineterminator": "\r\n"}, {}),
        ("rows.csv.gz", {}, {}),
        ("rows.csv", {"encoding": "utf-16"}, {"encoding": "utf-16"}),
    ],
)
def test_text_files(tmp_path, name, form, options):
    make_table().to_csv(tmp_path / name, index=False, **form)
    found, n = joined(tmp_path / name, **options)
    assert n > 5
    assert "c" not in found
    assert_same(found, read_file(tmp_path / name, **options))


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_arrow_files(tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    getattr(make_table(), f"to_{kind}")(path)
    found, n = joined(path)
    assert n > 5 or kind == "feather"
    assert_same(found, make_table())


def test_numbers_that_do_not_parse_are_text_in_their_piece_only(tmp_path):
    rows = make_table().astype({"a": object})
    rows.loc[100, "a"] = "12 EUR"
    rows.to_csv(tmp_path / "rows.csv", index=False)
    found, _ = joined(tmp_path / "rows.csv")
    assert found["a"][100] == "12 EUR"
    assert found["a"].map(type).eq(float).sum() > 100
    numbers = pd.to_numeric(found["a"], errors="coerce")
    np.testing.assert_allclose(numbers, pd.to_numeric(rows["a"], errors="coerce"), rtol=1e-13)


def test_a_row_of_another_length_is_named(tmp_path):
    lines = ["a,b", *["1,2"] * 300, "1,2,3", *["1,2"] * 300]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    with pytest.raises(TableError, match="line 302: 3 fields, but the header has 2"):
        joined_numbers(tmp_path / "rows.csv")


def joined_numbers(path):
    return pd.concat([read().to_pandas() for read in read_pieces(path, ["a", "b"], [])], ignore_index=True)


def test_blank_lines_and_quotes_that_are_not_closed(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "1,2\n\n   \n" * 200)
    assert len(joined_numbers(path)) == 200
    path.write_text('a,b\n1,"2\n' + "1,2\n" * 800)
    with pytest.raises(TableError, match="line 2: a double quote that opens a field is not closed"):
        joined_numbers(path)
    path.write_text("a,b\n\n")
    assert list(read_pieces(path, ["a", "b"], [])) == []


def test_names_are_those_of_the_table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('a,a,,"b c"\n1,2,3,4\n')
    assert table_columns(path) == read_file(path).columns.tolist() == ["a", "a.1", "Unnamed: 2", "b c"]
    with gzip.open(tmp_path / "one.csv.gz", "wt") as file:
        file.write("a\n1\n\n2\n")
    assert joined_numbers(tmp_path / "one.csv.gz")["a"].tolist() == [1, 2]


def test_numbers_with_a_decimal_comma_beside_one_that_does_not_parse(tmp_path):
    """They were missing in the pieces with such a value."""
    (tmp_path / "rows.csv").write_text("a;b\n" + "1,5;2\n" * 300 + "x;2\n")
    found = [read() for read in read_pieces(tmp_path / "rows.csv", ["a", "b"], [], decimal=",")]
    assert {text for piece in found for text in map(str, piece["a"].to_pylist())} == {"1.5", "x"}
    assert {value for piece in found for value in piece["b"].to_pylist()} == {2.0}


def test_a_header_and_texts_longer_than_python_reads(tmp_path, monkeypatch):
    """12,000 genes make a header of more than 128 KiB; so long is a text, too; and a name has a line break."""
    monkeypatch.setattr(pieces, "_BYTES", 2**24)
    names = ["two\nlines", *(f"expression of gene {k:05}" for k in range(12_000))]
    table = pd.DataFrame([["x" * 200_000 + '", ' + "y" * 200_000, *range(12_000)]] * 2, columns=names)
    path = tmp_path / "rows.csv"
    table.to_csv(path, index=False)
    assert table_columns(path) == read_file(path).columns.tolist() == names
    pd.testing.assert_frame_equal(read_file(path), table, check_dtype=False)
    [piece] = [read() for read in read_pieces(path, names[1:], names[:1])]
    assert piece["two\nlines"].to_pylist() == table["two\nlines"].tolist()
    assert piece[names[-1]].to_pylist() == [11_999, 11_999]


cells = st.text(alphabet='ab,"\n;', min_size=1, max_size=6)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=40), st.sampled_from(["\n", "\r\n"]))
def test_quoted_separators_and_line_breaks(rows, end):
    """Pieces begin and end with whole rows, and a quote within a field is a character like any other."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        with open(path, "w", newline="") as file:
            csv.writer(file, lineterminator=end).writerows([("a", "b"), *rows, ('5" pipe', "x")])
        path.write_bytes(path.read_bytes().replace(b'"5"" pipe"', b'5" pipe'))
        found = [row for read in read_pieces(path, [], ["a", "b"]) for row in read().to_pylist()]
    assert [(row["a"], row["b"]) for row in found] == [*rows, ('5" pipe', "x")]
