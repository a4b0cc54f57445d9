"""Labels that arrive late: none of them counts before its time."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabel.exceptions import TableError
from fewlabel.labels import read_column
from fewlabel.tables import immature


def test_the_newest_row_is_the_present():
    dates = pd.to_datetime(["2024-01-01", "2024-01-31", "2024-02-01", "2024-03-31", None])
    np.testing.assert_array_equal(immature(dates, "60d"), [False, False, True, True, True])
    np.testing.assert_array_equal(immature(dates, "8w"), [False, False, False, True, True])
    np.testing.assert_array_equal(immature([10.0, 4.0, np.nan], "6"), [True, False, True])


@pytest.mark.parametrize(("times", "after"), [([1.0, 2.0], "90d"), (["2024-01-01"], "90"), (["2024-01-01"], "soon")])
def test_units_have_to_fit(times, after):
    with pytest.raises(TableError, match="is not a"):
        immature(times, after)
    with pytest.raises(TableError, match="name a column of numbers or dates"):
        immature(["a b c", "d e f"], "90d")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.sampled_from(["no", "yes", ""])), min_size=1), st.integers(0, 60))
def test_no_label_counts_before_its_time(rows, after):
    days = np.array([day for day, _ in rows])
    labels = np.array([label for _, label in rows], dtype=object)
    dates = pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")
    young = immature(dates, f"{after}d")
    is_mature = (days.max() - days) >= after
    expected = is_mature & (labels != "")
    if not expected.any():
        return
    found = read_column(labels, immature=young)
    np.testing.assert_array_equal(found.labels.codes >= 0, expected)
    read_back = found.labels.classes[found.labels.codes[expected]]
    np.testing.assert_array_equal(read_back, labels[expected])
    assert sum(found.counts.values()) == expected.sum()
    assert found.unlabeled.get("not mature yet", 0) == (~is_mature & (labels != "")).sum()
