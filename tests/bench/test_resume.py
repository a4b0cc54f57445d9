"""Runs in a CSV file that are not made again."""

import pandas as pd
import pytest

from benchmarks.harness.resume import run_missing


@pytest.fixture
def calls():
    return []


@pytest.fixture
def measure(calls):
    def measure(table, draw):
        calls.append((table, draw))
        return [["a", draw / 3], ["b", 0.0]] if table != "small" else []

    return measure


KEYS = [("iris", 0), ("small", 0), ("iris", 1)]


def test_runs_of_the_file_are_not_made_again(tmp_path, measure, calls):
    path = tmp_path / "runs.csv"
    first = run_missing(path, ["table", "draw"], ["method", "score"], KEYS, measure)
    assert list(first.columns) == ["table", "draw", "method", "score"]
    assert first["score"].tolist() == [0, 0, 0.333333, 0]
    again = run_missing(path, ["table", "draw"], ["method", "score"], [*KEYS, ("wine", 2)], measure)
    assert calls[3:] == [("small", 0), ("wine", 2)]  # a run without rows left no trace
    pd.testing.assert_frame_equal(again.iloc[:4], first)


def test_what_was_done_before_an_error_is_kept(tmp_path, calls):
    def measure(table, draw):
        if draw:
            raise KeyboardInterrupt
        return [{"score": 1.0}]

    with pytest.raises(KeyboardInterrupt):
        run_missing(tmp_path / "runs.csv", ["table", "draw"], ["score"], KEYS, measure)
    assert len(pd.read_csv(tmp_path / "runs.csv")) == 2
