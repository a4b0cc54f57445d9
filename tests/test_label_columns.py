"""Label columns as people write them: each is read right, or stops with both readings."""

import numpy as np
import pandas as pd
import pytest

from fewlabel.exceptions import LabelError
from fewlabel.labels import EMPTY, read_column


def written(*counted):
    """A column of a text file: pairs of a value and its number of rows."""
    return pd.Series([value for value, n in counted for _ in range(n)], name="y", dtype=object)


# Values and rows; then classes with rows, the positive class, and what marks unlabeled rows.
READ = {
    "text and empty": ([("good", 5), ("bad", 3), ("", 9)], {"bad": 3, "good": 5}, "bad", {EMPTY: 9}),
    "blank cells": ([("a", 4), ("b", 5), ("", 1), ("  ", 2)], {"a": 4, "b": 5}, "a", {EMPTY: 3}),
    "whole floats": ([("0.0", 6), ("1.0", 2), ("", 1)], {0: 6, 1: 2}, 1, {EMPTY: 1}),
    "exponents": ([("0e0", 6), ("1e0", 2)], {0: 6, 1: 2}, 1, {}),
    "the same number twice": ([("1", 3), ("1.0", 2), ("0", 7)], {0: 7, 1: 5}, 1, {}),
    "numbers with spaces": ([(" 1", 3), ("1 ", 2), ("0", 7)], {0: 7, 1: 5}, 1, {}),
    "-1 beside two classes": ([("0", 6), ("1", 2), ("-1", 9)], {0: 6, 1: 2}, 1, {"-1": 9}),
    "-1.0 beside two classes": ([("0.0", 6), ("1.0", 2), ("-1.0", 9)], {0: 6, 1: 2}, 1, {"-1": 9}),
    "classes from 1": ([("1", 3), ("2", 8), ("", 4)], {1: 3, 2: 8}, 1, {EMPTY: 4}),
    "three classes": ([("1", 3), ("2", 8), ("3", 4)], {1: 3, 2: 8, 3: 4}, None, {}),
    "ten classes": ([(str(k), 2) for k in range(10)], dict.fromkeys(range(10), 2), None, {}),
    "two": ([("2", 3), ("4", 8)], {2: 3, 4: 8}, 2, {}),  # Wisconsin breast cancer
    "large": ([("9007199254740993", 3), ("9007199254740992", 8)], None, 9007199254740993, {}),
    "True and False": ([("True", 3), ("False", 8)], {False: 8, True: 3}, True, {}),
    "TRUE and FALSE": ([("TRUE", 3), ("FALSE", 8), ("", 1)], {False: 8, True: 3}, True, {EMPTY: 1}),
    "true, True and FALSE": ([("true", 1), ("True", 2), ("FALSE", 8)], {False: 8, True: 3}, True, {}),
    "yes and no": ([("yes", 3), ("no", 8)], {"no": 8, "yes": 3}, "yes", {}),
    "Y and N": ([("Y", 3), ("N", 8)], {"N": 8, "Y": 3}, "Y", {}),
    "accents": ([("refusé", 3), ("payé", 8)], {"payé": 8, "refusé": 3}, "refusé", {}),
    "other scripts": ([("да", 3), ("нет", 8)], {"да": 3, "нет": 8}, "да", {}),
    "with spaces inside": ([("not paid", 3), ("paid", 8)], {"not paid": 3, "paid": 8}, "not paid", {}),
    "always a trailing space": ([("bad ", 3), ("good", 8)], {"bad": 3, "good": 8}, "bad", {}),
    "NA": ([("a", 3), ("b", 8), ("NA", 2)], {"a": 3, "b": 8}, "a", {"NA": 2}),
    "n/a and NaN": ([("0", 3), ("1", 8), ("n/a", 2), ("NaN", 1)], {0: 3, 1: 8}, 1, {"n/a": 2, "NaN": 1}),
    "null and None": ([("0", 3), ("1", 8), ("null", 2), ("None", 1)], {0: 3, 1: 8}, 1, {"null": 2, "None": 1}),
    "one class": ([("fraud", 3), ("", 8)], {"fraud": 3}, "fraud", {EMPTY: 8}),
    "1 and empty": ([("1", 3), ("", 8)], {1: 3}, 1, {EMPTY: 8}),
    "a tie": ([("a", 3), ("b", 3)], {"a": 3, "b": 3}, "b", {}),
    "codes with letters": ([("A1", 3), ("B2", 4)], {"A1": 3, "B2": 4}, "A1", {}),
    "comparisons": ([("<=50K", 8), (">50K", 4)], {"<=50K": 8, ">50K": 4}, ">50K", {}),  # adult
    "plus and minus": ([("+", 3), ("neg", 4)], {"+": 3, "neg": 4}, "+", {}),
    "1 to 9": ([(str(k), 2) for k in range(1, 10)], dict.fromkeys(range(1, 10), 2), None, {}),
    "commas in text": ([("yes, paid", 3), ("no", 4)], {"no": 4, "yes, paid": 3}, "yes, paid", {}),
}

# Values and rows; then what the message says.
STOPS = {
    "-1 and 1": ([("-1", 9), ("1", 3)], "holds only -1 and 1. If -1 is a class: unlabeled=..; if it marks unlabeled "),
    "-1 and 0": ([("-1.0", 9), ("0.0", 3)], "only -1 and 0. .* unlabeled rows: unlabeled=.-1."),
    "-1 and empty": ([("-1", 9), ("1", 3), ("0", 3), ("", 5)], "holds -1 and also empty cells. If -1 is a class"),
    "-1 and NA": ([("-1", 9), ("1", 3), ("0", 3), ("NA", 5)], "holds -1 and also 'NA'"),
    "unknown": (
        [("good", 9), ("bad", 3), ("unknown", 2)],
        "holds 'unknown' .2 rows.. If unknown is a class",
    ),
    "Unknown": ([("0", 9), ("1", 3), ("Unknown", 2)], "unlabeled=.'Unknown'."),
    "?": ([("0", 9), ("1", 3), ("?", 2)], "if it marks unlabeled rows: unlabeled=.'.'."),
    "two of them": ([("0", 9), ("1", 3), ("?", 2), ("tbd", 1)], "if they mark unlabeled rows: unlabeled=.'.', 'tbd'."),
    "none": ([("scratch", 9), ("none", 30)], "holds 'none' .30 rows."),
    "N/a": ([("a", 9), ("b", 3), ("N/a", 2)], "holds 'N/a'"),
    "-": ([("a", 9), ("b", 3), ("-", 1)], "holds '-' .1 row.. "),
    "not labeled": ([("a", 9), ("b", 3), ("Not labelled", 1)], "'Not labelled'"),
    "text and -1": ([("good", 9), ("bad", 3), ("-1", 2)], "holds '-1'"),
    "Yes and yes": ([("Yes", 9), ("yes", 3), ("no", 2)], "'Yes' .9. and 'yes' .3.. .*one class: merge_spellings=True"),
    "trailing space": ([("yes", 9), ("yes ", 3), ("no", 2)], "'yes' .9. and 'yes ' .3."),
    "two spaces": ([("not paid", 9), ("not  paid", 3), ("paid", 2)], "each is a class: merge_spellings=False"),
    "composed accents": ([("pay\u00e9", 9), ("paye\u0301", 3), ("x", 2)], "several spellings"),
    "numbers and text": ([("0", 9), ("1", 3), ("maybe", 2)], "mixes kinds of values: .* If maybe is a class"),
    "numbers and yes": ([("0", 9), ("1", 3), ("yes", 2), ("no", 2)], "mixes kinds of values"),
    "numbers and booleans": ([("0", 9), ("1", 3), ("True", 2)], "mixes kinds of values"),
    "booleans and text": ([("True", 9), ("False", 3), ("perhaps", 2)], "mixes kinds of values"),
    "9 as unknown": (
        [("0", 9), ("1", 3), ("9", 2)],
        "holds 9 .2 rows., a usual code of unknown values",
    ),
    "-99 as unknown": ([("1", 9), ("2", 3), ("-99", 2)], "if it marks unlabeled rows: unlabeled=.-99."),
    "fractions": ([("0.5", 9), ("1", 3)], "not classes"),
    "decimal commas": ([("0,5", 9), ("1,5", 3)], "decimal comma"),
    "infinity": ([("inf", 9), ("1", 3)], "infinity"),
    "dates": ([("2024-01-31", 9), ("2024-02-01", 3)], "holds dates, such as '2024-01-31'"),
    "dates with dots": ([("31.01.2024", 9), ("1.2.2024", 3)], "holds dates"),
    "times": ([("2024-01-31 10:00:00", 9), ("2024-02-01T08:30", 3)], "holds dates"),
    "nothing": ([("", 9)], "no labeled row"),
    "only -1": ([("-1", 9)], "no labeled row"),
}


@pytest.mark.parametrize("name", READ)
def test_read_right(name):
    values, counts, positive, marks = READ[name]
    found = read_column(written(*values), text_file=True)
    if counts is not None:
        assert found.counts == counts
        assert [type(c) for c in found.counts] == [type(c) for c in counts]
        assert found.labels.classes.tolist() == sorted(counts)
    assert found.positive == positive
    assert found.unlabeled == marks
    assert (found.labels.codes == -1).sum() == sum(marks.values())


@pytest.mark.parametrize("name", STOPS)
def test_stops(name):
    values, message = STOPS[name]
    with pytest.raises(LabelError, match=message):
        read_column(written(*values), text_file=True)


@pytest.mark.parametrize("name", READ)
def test_the_order_of_the_rows_does_not_matter(name):
    y = written(*READ[name][0])
    order = np.random.default_rng(0).permutation(len(y))
    one, other = read_column(y, text_file=True), read_column(y.iloc[order], text_file=True)
    assert (one.counts, one.positive, one.unlabeled) == (other.counts, other.positive, other.unlabeled)
    np.testing.assert_array_equal(one.labels.codes[order], other.labels.codes)


@pytest.mark.parametrize(
    ("name", "parameters", "counts", "unlabeled"),
    [
        ("-1 and 1", {"unlabeled": []}, {-1: 9, 1: 3}, 0),
        ("-1 and 1", {"unlabeled": [""]}, {-1: 9, 1: 3}, 0),
        ("-1 and 1", {"unlabeled": [-1]}, {1: 3}, 9),
        ("-1 and 0", {"unlabeled": ["-1"]}, {0: 3}, 9),
        ("-1 and empty", {"unlabeled": []}, {-1: 9, 0: 3, 1: 3}, 5),
        ("-1 and empty", {"unlabeled": ["-1"]}, {0: 3, 1: 3}, 14),
        ("unknown", {"unlabeled": ["unknown"]}, {"bad": 3, "good": 9}, 2),
        ("unknown", {"unlabeled": []}, {"bad": 3, "good": 9, "unknown": 2}, 0),
        ("two of them", {"unlabeled": ["?", "tbd"]}, {0: 9, 1: 3}, 3),
        ("Yes and yes", {"merge_spellings": True}, {"Yes": 12, "no": 2}, 0),
        ("Yes and yes", {"merge_spellings": False}, {"Yes": 9, "no": 2, "yes": 3}, 0),
        ("trailing space", {"merge_spellings": False}, {"no": 2, "yes": 9, "yes ": 3}, 0),
        ("numbers and text", {"unlabeled": ["maybe"]}, {0: 9, 1: 3}, 2),
        ("numbers and text", {"unlabeled": []}, {"0": 9, "1": 3, "maybe": 2}, 0),
        ("9 as unknown", {"unlabeled": [9]}, {0: 9, 1: 3}, 2),
        ("dates", {"unlabeled": []}, {"2024-01-31": 9, "2024-02-01": 3}, 0),
    ],
)
def test_the_way_out_that_the_message_names(name, parameters, counts, unlabeled):
    found = read_column(written(*STOPS[name][0]), text_file=True, **parameters)
    assert found.counts == counts
    assert sum(found.unlabeled.values()) == unlabeled == (found.labels.codes == -1).sum()


def test_a_marker_that_no_row_holds():
    with pytest.raises(LabelError, match=r"no row of column 'y' holds 'Unknown', .* its values are 'good', 'unknown'"):
        read_column(written(("good", 3), ("unknown", 2)), unlabeled=["Unknown"], text_file=True)


class TestPositiveClass:
    def test_reasons(self):
        assert read_column(list("aab")).why == "the rarer class"
        assert read_column(list("aab"), positive="a").why == "given"
        assert read_column(["a", None]).why == "the only labeled class"
        assert read_column(list("abc")).why == "more than two classes"
        assert read_column(list("ab")).why.startswith("the last in sorted order")

    @pytest.mark.parametrize(
        ("classes", "positive"),
        [
            (["negative", "positive"], "positive"),  # an investigated queue, most of which was confirmed
            (["good", "bad"], "bad"),
            ([0, 1], 1),
            ([-1, 1], 1),
            ([False, True], True),
            (["legit", "Fraud"], "Fraud"),
            (["non-churn", "churn"], "churn"),
            (["ok", "overdue"], "overdue"),
            (["N", "Y"], "Y"),
        ],
    )
    def test_a_name_decides_before_the_counts_of_a_selected_sample(self, classes, positive):
        ordinary = next(name for name in classes if name != positive)
        found = read_column([positive, positive, ordinary], unlabeled=[])
        assert (found.positive, found.why) == (positive, "by its name")

    @pytest.mark.parametrize(
        "classes", [[1, 2], ["f", "m"], ["a", "t"], ["bad", "fraud"], ["not paid", "paid"], ["good", "normal"], [0, 5]]
    )
    def test_names_that_do_not_tell(self, classes):
        found = read_column([classes[0], classes[0], classes[1]])
        assert (found.positive, found.why) == (classes[1], "the rarer class")

    def test_one_that_no_row_holds(self):
        with pytest.raises(LabelError, match="no labeled row holds the positive class 'c': the classes are 'a', 'b'"):
            read_column(list("aab"), positive="c")

    @pytest.mark.parametrize("flag", [[0, 1, 1, 1], ["no", "yes", "yes", "yes"], [False, True, True, True]])
    def test_a_flag_of_known_positives(self, flag):
        found = read_column(flag, negatives_unknown=True)
        assert found.positive == flag[1]
        assert found.labels.codes.tolist() == [-1, 0, 0, 0]
        assert found.labels.hidden_classes == (flag[0],)
        assert found.unlabeled == {str(flag[0]): 1}

    def test_negatives_unknown_of_three_classes_needs_the_positive(self):
        with pytest.raises(LabelError, match="name the positive class"):
            read_column(list("abc"), negatives_unknown=True)
        found = read_column(list("abc"), positive="b", negatives_unknown=True)
        assert found.labels.codes.tolist() == [-1, 0, -1]

    @pytest.mark.parametrize(
        "options", [dict(negatives_unknown=True), dict(immature=np.array([True, True, False, True]))]
    )
    def test_answers_are_labels_whatever_the_cells_of_the_table_are(self, options):
        found = read_column([0, 0, 1, 0], answered=np.array([True, False, False, True]), **options)
        assert found.labels.codes.tolist() == [0, -1, 1, 0]
        assert found.counts == {0: 2, 1: 1}
        assert sum(found.unlabeled.values()) == 1

    def test_answers_of_some_of_the_other_classes(self):
        answered = np.array([False, False, False, True])
        found = read_column(list("abcc"), positive="b", negatives_unknown=True, answered=answered)
        assert found.labels.classes.tolist() == ["b", "c"]
        assert found.labels.codes.tolist() == [-1, 0, -1, 1]
        assert found.labels.hidden_classes == ("a",)
        assert found.unlabeled == {"a": 1, "c": 1}


class TestTypedColumns:
    """Columns of Parquet files and of Python, which have types."""

    def test_gaps_make_floats_of_ints(self):
        found = read_column(pd.Series([0.0, 1.0, 0.0, np.nan]))
        assert found.counts == {0: 2, 1: 1}
        assert found.labels.classes.dtype == np.int64

    def test_text_that_looks_like_numbers_stays_text(self):
        assert read_column(["0", "0", "1"]).counts == {"0": 2, "1": 1}

    def test_text_that_pandas_would_not_read_as_missing_stops(self):
        with pytest.raises(LabelError, match="holds 'NA'"):
            read_column(["a", "b", "NA"])

    def test_categories_that_no_row_holds_are_kept(self):
        y = pd.Series(["bad", None], dtype=pd.CategoricalDtype(["good", "bad"]))
        assert read_column(y).labels.hidden_classes == ("good",)

    @pytest.mark.parametrize("y", [[0, "a", 1], [1.5, 2, 3], pd.to_datetime(["2024-01-31", "2024-02-01"])])
    def test_what_labels_cannot_be(self, y):
        with pytest.raises(LabelError):
            read_column(y)

    def test_distinct_values_with_their_numbers_of_rows(self):
        found = read_column(pd.Series([0, 1, None]), repeats=[70, 30, 900])
        assert (found.counts, found.positive, found.unlabeled) == ({0: 70, 1: 30}, 1, {EMPTY: 900})
