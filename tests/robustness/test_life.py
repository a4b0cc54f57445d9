"""Fits from several threads, after a fork, and fits that are interrupted."""

import gc
import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import fewlabel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4000, 6))
TRUE = (X[:, 0] + X[:, 1] + RNG.normal(size=4000) > 0).astype(int)
Y = np.where(RNG.random(4000) < 0.2, TRUE, -1)
ONLY_POSITIVES = np.where(Y == 1, 1, -1)

MODELS = {
    "PNU-AUCBoost": (fewlabel.PNUAUCBoostClassifier(20, n_jobs=2, random_state=0), Y),
    "Ada-PU": (fewlabel.PUAdaBoostClassifier(20, prior=0.5, n_jobs=2, random_state=0), ONLY_POSITIVES),
    "linear AUC": (fewlabel.LinearAUCClassifier(n_jobs=2, random_state=0), Y),
    "paths": (fewlabel.PathNeighborsClassifier(), Y),
}


@pytest.mark.parametrize("name", MODELS)
def test_fits_from_several_threads_are_those_of_one(name):
    model, y = MODELS[name]
    alone = clone(model).fit(X, y).decision_function(X)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: clone(model).fit(X, y).decision_function(X), range(4)))
    for scores in together:
        np.testing.assert_array_equal(scores, alone)


def _fit_in_child(name, results):
    model, y = MODELS[name]
    results.put(clone(model).fit(X, y).decision_function(X))


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="no safe fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("name", ["PNU-AUCBoost", "Ada-PU"])
def test_a_fork_after_a_fit_fits_the_same(name):
    model, y = MODELS[name]
    alone = clone(model).fit(X, y).decision_function(X)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_fit_in_child, args=(name, results))
    child.start()
    np.testing.assert_array_equal(results.get(timeout=60), alone)
    child.join(10)
    assert child.exitcode == 0


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarm signal on this system")
def test_an_interrupted_fit_leaves_a_model_that_can_be_fitted():
    model = fewlabel.PNUAUCBoostClassifier(1_000_000, n_jobs=2, random_state=0)
    # Python loses an interrupt in a callback: of LLVM, so kernels are compiled first, or of garbage, here that of other
    # tests. So another one follows.
    expected = clone(MODELS["PNU-AUCBoost"][0]).fit(X, Y).decision_function(X)
    gc.collect()

    def interrupt(_, frame):
        in_coverage = Path(frame.f_code.co_filename).parent.name == "coverage"  # it would keep its lock: see `untraced`
        signal.setitimer(signal.ITIMER_REAL, 0.01 if in_coverage else 10.0)
        if not in_coverage:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert threading.active_count() < 20  # the pool of the fit is gone
    model.set_params(n_estimators=20).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), expected)
