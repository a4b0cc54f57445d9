"""Kinds of columns, conversion to a kind, and columns that are dropped."""

import numpy as np
import pandas as pd
import pytest

from fewlabel.exceptions import TableError
from fewlabel.parts.cells import convert, read_cells
from fewlabel.tables import kinds, read_columns
from fewlabel.tables.kinds import why_dropped


def kind_and_notation(column, dayfirst=None):
    return kinds.kind_and_notation(read_cells(column), dayfirst, column.name)


def kind_of(column):
    return kind_and_notation(column)[0]


def as_kind(column, kind, notation=""):
    return convert(read_cells(column), kind, notation).rows()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "number"),
        ([1.5, None], "number"),
        (["1", " 2.5 ", None], "number"),
        ([None, None], "number"),
        ([True, False], "boolean"),
        ([True, None], "boolean"),
        (["yes", "No", None], "boolean"),
        (["2024-01-31", "2024-02-01"], "date"),
        (["31.12.2024 10:00", "1.2.2025 11:30"], "date"),
        (pd.to_datetime(["2024-01-31"]), "date"),
        (["a", "b"], "text"),
        (["1", "b"], "text"),
        (["2024-01-31", "soon"], "text"),
        (pd.Categorical(["x", "y"]), "text"),
        (["may", "june"], "text"),
    ],
)
def test_kinds(values, kind):
    assert kind_of(pd.Series(values)) == kind


def test_values_that_do_not_fit_become_missing():
    found = as_kind(pd.Series(["1", "x", None, "inf", "2.5"]), "number")
    np.testing.assert_array_equal(found, [1, np.nan, np.nan, np.nan, 2.5])
    np.testing.assert_array_equal(as_kind(pd.Series([1, 0, None]), "boolean"), [1, 0, np.nan])
    np.testing.assert_array_equal(as_kind(pd.Series(["Yes", "n", "?"]), "boolean"), [1, 0, np.nan])
    assert np.isnat(as_kind(pd.Series(["2024-01-31", "x"]), "date")).tolist() == [False, True]
    assert as_kind(pd.Series([1, None], dtype="object"), "text").tolist() == ["1", None]


IDENTIFIER = "looks like an identifier"


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("a", [np.nan] * 30, "empty"),
        ("a", [3] * 30, "constant"),
        ("a", [3] * 29 + [np.nan], None),  # whether it is missing may be informative
        ("a", range(30), IDENTIFIER),
        ("a", range(30, 0, -1), IDENTIFIER),
        ("customer_id", np.random.default_rng(0).permutation(30) * 17, IDENTIFIER),
        ("amount", np.random.default_rng(0).permutation(30) * 17, None),
        ("a", np.arange(30) / 7, None),
        ("a", [f"row-{k}" for k in range(30)], IDENTIFIER),
        ("a", [f"a long remark number {k}" for k in range(30)], None),
        ("a", ["x", "y"] * 15, None),
    ],
)
def test_dropped_columns(name, values, reason):
    column = pd.Series(values)
    assert why_dropped(name, convert(read_cells(column), kind_of(column))) == reason


def test_a_table_is_read_column_by_column():
    table = pd.DataFrame({"paid": ["yes", "no"] * 2, 5: [1, 2, 2, 3], "same": 7, "none": None}, index=[3, 1, 2, 0])
    found = read_columns(table)
    assert found.kinds == {"paid": "boolean", "5": "number"}
    assert found.dropped == {"same": "constant", "none": "empty"}
    assert found.table["paid"].tolist() == [1.0, 0.0, 1.0, 0.0]
    with pytest.raises(TableError, match="no column is left to learn from"):
        read_columns(table[["same", "none"]])
    with pytest.raises(TableError, match="several columns named 'a'"):
        read_columns(pd.DataFrame([[1, 2]], columns=["a", "a"]))


# Notations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "notation", "numbers"),
    [
        (["1,5", "-2,75", None], "1.234,5", [1.5, -2.75, np.nan]),
        (["1,234", "999"], "1,234.5", [1234, 999]),
        (["0,123", "1,234"], "1.234,5", [0.123, 1.234]),
        (["$5", "-$1,234.50"], "1,234.5", [5, -1234.5]),
        (["$5", "$12.5"], "1234.5", [5, 12.5]),
        (["5 \N{EURO SIGN}", "1\N{NARROW NO-BREAK SPACE}234,5 \N{EURO SIGN}"], "1 234,5", [5, 1234.5]),
        (["1'000", "2"], "1'234.5", [1000, 2]),
    ],
)
def test_numbers_in_other_notations(texts, notation, numbers):
    column = pd.Series(texts)
    kind, found = kind_and_notation(column)
    assert kind == "number"
    assert (found or "1234.5") == notation
    np.testing.assert_array_equal(as_kind(column, kind, found), numbers)


def test_texts_that_stand_for_a_gap_leave_a_column_what_it_is():
    for texts, kind in ((["1.5", "?", "N/A", "2"], "number"), (["yes", "no", "..."], "boolean"), (["a", "?"], "text")):
        assert kind_of(pd.Series(texts)) == kind
    cells = convert(read_cells(pd.Series(["1.5", "?", "N/A", "x"])), "number")
    np.testing.assert_array_equal(cells.rows(), [1.5, np.nan, np.nan, np.nan])
    assert cells.codes.tolist() == [0, -1, -1, 3]  # "x" was written, and is no number


def test_a_number_in_another_notation_than_the_column_is_missing():
    np.testing.assert_array_equal(as_kind(pd.Series(["1.5", "1,5", "1.234"]), "number", "1.234,5"), [np.nan, 1.5, 1234])
    np.testing.assert_array_equal(as_kind(pd.Series(["$3", "True", "1"]), "number"), [3, 1, 1])


@pytest.mark.parametrize(
    ("texts", "notation", "first"),
    [
        (["03/04/2024", "31/12/2024"], "31/12/2024", "2024-04-03"),
        (["03/04/2024", "12/31/2024"], "12/31/2024", "2024-03-04"),
        (["3.4.99 10:00", "31.12.98 11:30"], "31/12/24", "1999-04-03 10:00"),
        (["3 Apr 2024 10:00", "1 May 2024 11:00"], "31 Dec 2024", "2024-04-03 10:00"),
        (["2024-04-03T10:00:00Z", "2024-12-31"], "", "2024-04-03 10:00"),
        (["2024-04", "2024-05"], "", "2024-04-01"),
        (["31 Dec 2024", "01 May 2023", "..."], "31 Dec 2024", "2024-12-31"),
        (["31DEC2024", "01MAY2023"], "31 Dec 2024", "2024-12-31"),
        (["Dec 2024", "March 2023"], "31 Dec 2024", "2024-12-01"),
        (["10:30", "11:45 pm", "?"], "23:59", "1900-01-01 10:30"),
        (["2024-04-03", "N/A", ""], "", "2024-04-03"),
    ],
)
def test_one_format_per_date_column(texts, notation, first):
    column = pd.Series(texts)
    assert kind_and_notation(column) == ("date", notation)
    assert as_kind(column, "date", notation)[0] == pd.Timestamp(first)


def test_dates_that_can_be_read_in_two_ways():
    column = pd.Series(["03/04/2024", "05/06/2024", None], name="since")
    with pytest.raises(TableError, match=r"column 'since' has dates such as 03/04/2024, .*--day-first"):
        kind_and_notation(column)
    for dayfirst, month in ((True, 4), (False, 3)):
        kind, notation = kind_and_notation(column, dayfirst)
        assert as_kind(column, kind, notation)[0] == np.datetime64(f"2024-{month:02}-{7 - month:02}")
    # New rows keep the order of the fit; the year first cannot be misread.
    new = as_kind(pd.Series(["12/31/2024", "01/02/2024", "2024-02-01"]), "date", "31/12/2024")
    np.testing.assert_array_equal(new, np.array(["NaT", "2024-02-01", "2024-02-01"], dtype="datetime64[us]"))
    assert kind_and_notation(pd.Series(["13/01/2024", "01/13/2024"]))[0] == "text"  # no single order


def test_booleans_of_the_fit_in_other_words():
    values = pd.Series(["1", "0", "true", "No", "1.0", "2", None], dtype=object)
    np.testing.assert_array_equal(as_kind(values, "boolean"), [1, 0, 1, 0, 1, np.nan, np.nan])
    np.testing.assert_array_equal(as_kind(pd.Series([1, 0, 2]), "boolean"), [1, 0, np.nan])
    assert kind_of(values[:4]) == "boolean"
    assert kind_of(pd.Series(["1", "0"])) == "number"


# Against pandas ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "notation"),
    [
        (["2024-04-03", "2024/4/3", "2024.04.03 9:05", "2024-04-03T10:00", "2024-04", "2024-04-03 10"], ""),
        (
            ["2024-04-03T10:11:12.5Z", "2024-04-03 10:11:12+02:00", "2024-04-03 10:11-0330", "2024-04-03 10:11:12 UTC"],
            "",
        ),
        (["2024-04-03 1:05 PM", "2024-04-03 12:00 am", "2024-04-03 12:30:15 pm", "2024-02-30", "2024-13-01"], ""),
        (["3 Apr 2024 10:00", "Apr 3, 2024 10:00:05", "April 3 2024 9:00 PM", "3-Apr-2024 10:00"], "31 Dec 2024"),
        (["Wed, 3 Apr 2024 10:00:05 GMT", "Wed Apr  3 10:00:05 2024", "Wednesday, April 3, 2024 10:00"], "31 Dec 2024"),
    ],
)
def test_dates_are_read_as_pandas_reads_them(texts, notation):
    expected = pd.to_datetime(pd.Series(texts), errors="coerce", utc=True, format="mixed").dt.tz_localize(None)
    np.testing.assert_array_equal(as_kind(pd.Series(texts), "date", notation), expected.to_numpy().astype("M8[us]"))


@pytest.mark.parametrize(
    "texts", [["1e3", " 2 ", "-.5", "+7", "1.", "0x10", "1_000", "inf", "nan", "", "1 2", "1e400"]]
)
def test_numbers_are_read_as_pandas_reads_them(texts):
    expected = pd.to_numeric(pd.Series(texts), errors="coerce").replace([np.inf, -np.inf], np.nan)
    np.testing.assert_array_equal(as_kind(pd.Series(texts), "number"), expected)


# Values that stopped a fit ----------------------------------------------------------------------------------


def test_dates_outside_of_pandas_nanoseconds():
    """9999-12-31 is what databases write for "never", and 0024 is a typo of 2024."""
    texts = ["2024-01-31", "9999-12-31", "0024-05-01", None]
    assert kind_of(pd.Series(texts)) == "date"
    expected = np.array(["2024-01-31", "9999-12-31", "0024-05-01", "NaT"], dtype="datetime64[us]")
    np.testing.assert_array_equal(as_kind(pd.Series(texts), "date"), expected)
    np.testing.assert_array_equal(as_kind(expected.astype("datetime64[s]"), "date"), expected)
    beyond = np.array(["2024-01-31", "20000-01-01", "-0044-03-15"], dtype="datetime64[s]")
    assert np.isnat(as_kind(beyond, "date")).tolist() == [False, True, True]  # years 1 to 9999


@pytest.mark.parametrize("digits", ["\uff11\uff12", "\u0661\u0662"], ids=["full-width", "Arabic"])
def test_digits_of_other_scripts(digits):
    assert kind_of(pd.Series(["1", digits])) == "number"
    np.testing.assert_array_equal(as_kind(pd.Series([digits, f"{digits},5"]), "number", "1.234,5"), [12, 12.5])
    assert kind_of(pd.Series(["2024-01-31", f"{digits}/{digits}/2024"])) == "text"


@pytest.mark.parametrize(
    ("value", "what"), [([1, 2], "lists"), (np.ones(2), "lists"), ({"a": 1}, "records"), (b"x", "bytes")]
)
def test_nested_values_are_left_out_with_a_reason(value, what):
    column = pd.Series([None, *[value] * 3], dtype=object)
    found = read_columns(pd.DataFrame({"tags": column, "age": [1, 2, 2, 3]}))
    assert found.dropped == {"tags": f"holds {what}"}
