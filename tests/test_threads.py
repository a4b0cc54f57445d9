"""Threads that keep the order of their items and stop when the caller does."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import fewlabel
from fewlabel.threads import RowThreads, map_ahead, map_in_threads

INTERRUPTED = """
import threading, time
from fewlabel.threads import map_in_threads

started = threading.Barrier(3)

def work(item):
    started.wait()
    time.sleep(0.5)
    print(f"item {item} is done\\n", end="", flush=True)  # one write: print writes the newline separately

def interrupted():
    yield from (1, 2)
    started.wait()
    raise KeyboardInterrupt

list(map_in_threads(work, interrupted(), n_jobs=2))
"""


@pytest.mark.parametrize("n_jobs", [None, 1, 3])
def test_results_come_in_the_order_of_the_items(n_jobs):
    assert list(map_in_threads(lambda item: item**2, range(50), n_jobs)) == [item**2 for item in range(50)]


def test_nothing_is_started_after_the_caller_stopped():
    stopped, started, threads = threading.Event(), [], set()

    def work(item):
        started.append(item)
        threads.add(threading.current_thread())
        if item:
            stopped.wait()
        return item

    results = map_in_threads(work, range(100), n_jobs=2)
    assert next(results) == 0
    results.close()  # returns although items are running
    stopped.set()
    for thread in threads:
        thread.join()
    assert len(started) <= 3


def test_an_error_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(map_in_threads(lambda item: 1 / item, [1, 0, 2], n_jobs=2))


def test_the_interpreter_waits_for_running_items_when_it_is_interrupted():
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert "KeyboardInterrupt" in ended.stderr
    assert sorted(ended.stdout.splitlines()) == ["item 1 is done", "item 2 is done"]


def test_no_threads_of_joblib():
    """They are daemons: Ctrl-C can abort the process."""
    sources = Path(fewlabel.__file__).parent.rglob("*.py")
    pattern = re.compile('prefer="threads"|require="sharedmem"')
    assert [path.name for path in sources if pattern.search(path.read_text("utf-8"))] == []


def test_a_stream_is_drawn_shortly_before_it_is_worked_on():
    drawn = []
    found = map_ahead(lambda k: k * k, (drawn.append(k) or k for k in range(100)), n_jobs=2)
    assert [next(found) for _ in range(5)] == [0, 1, 4, 9, 16]
    assert len(drawn) <= 5 + 3
    assert list(found) == [k * k for k in range(5, 100)]
    with pytest.raises(ZeroDivisionError):
        list(map_ahead(lambda k: 1 / k, [1, 0, 1, 1, 1], n_jobs=2))


@pytest.mark.parametrize(("n_rows", "n_columns", "n_ranges"), [(60_000, 12, 1), (60_000, 40, 1), (600_000, 12, 2)])
def test_few_rows_are_not_split_between_threads(n_rows, n_columns, n_ranges):
    """The processor time of a round at 60,000 x 12 grew by two thirds when its rows were split."""
    assert RowThreads(2).n_ranges(n_rows, n_columns) == n_ranges
    assert RowThreads(1).n_ranges(n_rows, n_columns) == 1
