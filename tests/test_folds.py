"""Folds by groups, time and copies of rows."""

from dataclasses import replace

import numpy as np
import pytest

from fewlabel.exceptions import LabelError
from fewlabel.folds import copies, forward_folds, grouped_folds, join_groups, stratified_folds
from fewlabel.rows import Rows


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_whole_and_classes_are_spread(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 40, 160)
    y = (rng.random(40) < 0.3).astype(int)[groups]
    tests = grouped_folds(y, groups, 5, seed)
    assert sorted(np.concatenate(tests)) == list(range(160))
    assert sum(len(np.unique(groups[test])) for test in tests) == len(np.unique(groups))
    share = [y[test].mean() for test in tests]
    assert max(share) - min(share) < 0.2
    assert max(map(len, tests)) < 2 * min(map(len, tests))


def test_a_class_of_one_group_cannot_be_validated():
    with pytest.raises(LabelError, match="all 3 labeled rows of a class are of one group"):
        grouped_folds(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 3, 3, 3]), 5, 0)


def test_a_group_with_the_only_row_of_a_class_is_not_tested():
    y = np.array([0, 0, 0, 1, 1, 1, 2, 0])
    groups = np.array([1, 2, 3, 4, 5, 5, 6, 6])
    tests = grouped_folds(y, groups, 5, None)
    assert sorted(np.concatenate(tests).tolist()) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(LabelError, match="of one group"):
        grouped_folds(np.array([0, 0, 1]), np.array([7, 7, 7]), 5, 0)


def test_groups_and_time_together():
    y, time = np.tile([0, 1], 20), np.arange(40)
    groups = np.arange(40) // 2 % 10
    for left_out, test in forward_folds(y, time, groups):
        train = np.setdiff1d(np.arange(40), left_out)
        assert time[train].max() < time[test].min()
        assert not set(groups[train]) & set(groups[test])
    with pytest.raises(LabelError, match="earlier and of another group"):
        forward_folds(y, time, np.zeros(40, int))


def test_rows_of_the_same_moment_are_on_one_side():
    y, time = np.tile([0, 1], 20), np.repeat(np.arange(4), 10)
    for left_out, test in forward_folds(y, time):
        assert not set(time[np.setdiff1d(np.arange(40), left_out)]) & set(time[test])


def test_copies_exact_near_and_with_gaps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[50], X[51], X[52] = X[0], X[1] + 1e-5, X[2] + 0.5
    X[3, 2] = X[53, 2] = np.nan
    X[53, [0, 1, 3]] = X[3, [0, 1, 3]]
    X[54], X[54, 1] = X[4], np.nan  # not the same: one has a value there
    found = copies(X, np.arange(100))
    assert found[50] == found[0]
    assert found[51] == found[1]
    assert found[53] == found[3]
    assert len(np.unique(found)) == 97
    assert copies(X, np.arange(50)) is None


def test_rows_that_agree_by_chance_are_no_copies():
    X = np.random.default_rng(0).integers(0, 3, (300, 4)).astype(float)
    assert len(np.unique(X, axis=0)) < 90
    assert copies(X, np.arange(300)) is None
    assert copies(np.zeros((10, 2)), np.arange(10)) is None
    X = np.random.default_rng(0).normal(size=(5000, 2))  # many rows in two columns come near each other
    assert copies(X, np.arange(5000)) is None


def test_joined_groups():
    assert join_groups(None, np.array([1, 0])).tolist() == [1, 0]
    assert join_groups(np.array([0, 1, 1, 2]), np.array([0, 0, 1, 2])).tolist() == [0, 0, 0, 1]


def test_groups_and_times_of_some_rows():
    codes = np.array([0, -1, 1])
    read = Rows.read(None, codes, groups=["b", None, "b"], time=["2024-02-01", None, "2024-01-01"])
    assert read.groups.tolist() == [0, 1, 0]
    assert read.time.tolist() == [2, np.inf, 1]
    assert read.take(np.array([2])).time.tolist() == [1]
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Rows.read(None, codes, groups=[1, 2])


def test_repeats_differ_unless_ordered_by_time():
    rows = Rows.read(None, np.tile([0, 1], 15))
    first, second = ([f.test.tolist() for f in stratified_folds(rows, 3, 2, 0) if f.repeat == r] for r in (0, 1))
    assert first != second
    ordered = replace(rows, time=np.arange(30.0))
    assert {f.repeat for f in stratified_folds(ordered, 3, 3, 0)} == {0}


def test_a_rare_class_beside_two_others_does_not_lower_the_number_of_folds_of_groups():
    y = np.repeat([0, 1, 2], [20, 20, 2])
    tests = grouped_folds(y, np.arange(42), 5, 0)
    assert len(tests) == 5
    assert sorted(np.concatenate(tests).tolist()) == list(range(42))
    # With two classes each test set has both.
    assert len(grouped_folds(y[20:], np.arange(22), 5, 0)) == 2
