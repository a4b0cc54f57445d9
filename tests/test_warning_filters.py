"""Warning filters survive threads that replace them at the same time; warnings point to the user's line."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

import fewlabel
from fewlabel.warning_filters import keep_filters


def test_the_last_of_two_overlapping_blocks_restores_the_filters():
    before, entered, leave = list(warnings.filters), threading.Event(), threading.Event()

    def first():
        with keep_filters():
            warnings.simplefilter("error")
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    assert entered.wait(10)
    with keep_filters():
        leave.set()
        thread.join(10)
        assert warnings.filters != before  # the second block is still open
    assert warnings.filters == before


def test_an_error_restores_the_filters():
    before = list(warnings.filters)

    def fail():
        with keep_filters():
            warnings.simplefilter("error")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert warnings.filters == before


def test_forests_of_scikit_learn_in_threads_leave_the_filters():
    before = list(warnings.filters)

    def fit(_):
        with keep_filters():
            ExtraTreesClassifier(40).fit([[0.0], [1.0]] * 20, [0, 1] * 20)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(fit, range(8)))
    assert warnings.filters == before


def test_warnings_point_to_the_line_that_calls_fit():
    X, y = np.zeros((20, 2)), np.arange(20) % 2
    for model in (fewlabel.PNUAUCBoostClassifier(2), fewlabel.TreeAUCBoostClassifier(2)):
        with pytest.warns(UserWarning, match="every row gets the same score") as caught:
            model.fit(X, y)
        assert caught[0].filename == __file__
