import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from robustness import fuzz

N_CASES = 200
CHUNK = 25


@pytest.mark.parametrize("first", range(0, N_CASES, CHUNK))
def test_nothing_crashes_hangs_or_lies(first):
    findings = [told for seed in range(first, first + CHUNK) if (told := fuzz.run_case(seed))]
    assert not findings, "\n".join(findings)


class Planted(ClassifierMixin, BaseEstimator):
    """A classifier with a bug of the given kind."""

    def __init__(self, bug="none"):
        self.bug = bug

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        if self.bug == "crash":
            raise IndexError("index 3 is out of bounds")
        if self.bug == "terse":
            raise ValueError("bad")
        return self

    def predict(self, X):
        return np.full(X.shape[0], 7 if self.bug == "class" else 1)

    def predict_proba(self, X):
        return np.full((X.shape[0], 2), np.nan if self.bug == "nan" else 0.5)


@pytest.mark.parametrize(
    ("bug", "told"),
    [
        ("crash", "IndexError"),
        ("terse", "says too little"),
        ("class", "a class that nobody gave"),
        ("nan", "NaN in predict_proba"),
    ],
)
def test_a_planted_bug_is_caught(bug, told):
    found = [fuzz.run_case(seed, "planted", lambda name, rng: Planted(bug)) for seed in range(20)]
    assert any(told in finding for finding in found if finding)


@pytest.mark.parametrize(("value", "told"), [(np.nan, "NaN from planted"), (None, "KeyError")])
def test_a_planted_bug_of_a_function_is_caught(monkeypatch, value, told):
    monkeypatch.setitem(fuzz.FUNCTIONS, "planted", lambda X, y, rng: {}["nothing"] if value is None else value)
    assert told in fuzz.run_case(0, "planted")


def test_a_hang_is_a_finding(monkeypatch):
    monkeypatch.setattr(fuzz, "SECONDS_A_CASE", 1)

    class Endless(Planted):
        def fit(self, X, y):
            while True:
                pass

    assert "hangs" in fuzz.run_case(0, "planted", lambda name, rng: Endless())


def test_a_sound_estimator_passes():
    assert not any(fuzz.run_case(seed, "planted", lambda name, rng: Planted()) for seed in range(20))
