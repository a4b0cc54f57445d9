"""Thread limits that overlap between Python threads leave the process as it was."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fewlabel import LinearAUCClassifier, estimate_class_prior, make_pu
from fewlabel.thread_limits import blas_threads, one_thread


@pytest.fixture(autouse=True)
def two_threads():
    """A limit that is left behind shows even where the machine has a single core."""
    with threadpool_limits(2):
        yield


def counts(api="blas"):
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == api}


def test_the_last_of_two_overlapping_limits_restores_the_number_of_threads():
    inside, leave = threading.Event(), threading.Event()

    def first():
        with blas_threads(1):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(10)
    with blas_threads(1):  # begins while the first is in force, and ends after it
        leave.set()
        thread.join(10)
        assert counts() == {1}
    assert counts() == {2}


def test_the_smallest_of_nested_limits_applies():
    with blas_threads(3):
        assert counts() == {3}
        with blas_threads(1):
            assert counts() == {1}
            with blas_threads(2):
                assert counts() == {1}
        assert counts() == {3}
    assert counts() == {2}


def test_an_error_restores_the_number_of_threads():
    def fail():
        with one_thread():
            assert counts() == {1}
            assert counts("openmp") <= {1}
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert counts() == {2}
    assert counts("openmp") <= {2}


def test_a_library_that_is_loaded_later_has_the_limit_too():
    program = """
import sys
from fewlabel.thread_limits import one_thread
with one_thread():
    pass
import sklearn.ensemble  # brings OpenMP
from threadpoolctl import threadpool_info, threadpool_limits
threadpool_limits(2)
with one_thread():
    found = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp"}
sys.exit(found not in ({1}, set()))
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=120).returncode == 0


@pytest.mark.filterwarnings("ignore::fewlabel.exceptions.PriorWarning")
def test_concurrent_priors_and_fits_leave_the_number_of_threads():
    X, y = make_pu(300, labeled=0.4, random_state=0)

    def work(k):
        if k % 2:
            return estimate_class_prior(X, y, "bbe", random_state=0).prior
        return LinearAUCClassifier().fit(X, np.where(y == 1, 1, 0)).objective_

    alone = [work(0), work(1)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, range(8)))
    assert together == alone * 4
    assert counts() == {2}
