"""Rivals by name."""

import numpy as np
import pytest

from benchmarks.harness.experiment import Problem
from benchmarks.quality import rivals


@pytest.fixture
def problem(monkeypatch):
    rng = np.random.default_rng(0)
    y = (np.arange(200) < 80).astype(int)
    rows = rng.permutation(200)
    train, test = rows[:150], rows[150:]
    found = Problem(rng.normal(size=(200, 2)) + y[:, None], y, train, y[train], test)
    monkeypatch.setattr(rivals, "_problem", lambda dataset, repeat: found)
    return found


def test_methods_see_some_positives_and_no_other_label(problem, monkeypatch):
    seen = []

    def scores(method, rows, few, tests, seed, dataset):
        seen.append(few)
        return tests[:, 0]

    monkeypatch.setattr(rivals, "scores_of_positives", scores)
    ((score, _),) = rivals.measure_positives("any", "any", 0)
    assert score > 0.6
    labeled = np.flatnonzero(seen[0] != -1)
    positives = problem.y[problem.train] == 1
    assert (seen[0][labeled] == 1).all()
    assert positives[labeled].all()
    assert len(labeled) == round(rivals.SHARE * positives.sum())


def test_a_package_that_fails_has_an_auc_of_one_half(problem, monkeypatch):
    def scores(*args):
        raise ValueError("no positive in the hold-out set")

    monkeypatch.setattr(rivals, "scores_of_positives", scores)
    assert rivals.measure_positives("any", "any", 0)[0][0] == 0.5


def test_the_page_is_that_of_its_rows():
    assert rivals.PAGE.read_text("utf-8") == rivals.page()
