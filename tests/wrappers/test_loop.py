"""The loop and its guard, with runs whose predictions are written down beforehand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabel import CoTrainingClassifier, CrossTrainingClassifier, TriTrainingClassifier
from fewlabel.wrappers._loop import Run, _beats, self_label

N_LABELED, N_FREE = 20, 30
CODES = np.r_[np.zeros(N_LABELED, int), np.full(N_FREE, -1)]


class Scripted(Run):
    """Labels one row a round; as a watcher it predicts as many rows of its fold rightly as the script says."""

    def __init__(self, codes, n_rounds, right=()):
        super().__init__(None, codes, CODES < 0)
        self._n_rounds, self._right, self._round = n_rounds, right, 0

    def turn(self, iteration):
        if iteration > self._n_rounds:
            return 0
        self._round = iteration
        self.label(np.array([N_LABELED + iteration - 1]), 0, iteration)
        return 1

    def models(self):
        return f"models of round {self._round}"

    def predict(self, models, rows):
        assert models == self.models()
        return np.where(np.arange(len(rows)) < self._right[self._round], 0, 1)


def guarded(rights, max_iter=30):
    """The loop with one watcher for each half of the labeled rows; `rights` are right predictions of both halves."""
    n_rounds = len(rights) - 1
    halves = np.arange(N_LABELED) < N_LABELED // 2
    hidden = [np.r_[np.where(half, -1, 0), CODES[N_LABELED:]] for half in (halves, ~halves)]
    scripts = [[min(r, 10) for r in rights], [max(r - 10, 0) for r in rights]]
    watchers = [Scripted(codes, n_rounds, script) for codes, script in zip(hidden, scripts)]
    return self_label(Scripted(CODES, n_rounds), watchers, CODES, max_iter)


def test_the_best_round_is_kept():
    models, iters, best, history = guarded([10, 13, 19, 19, 15])
    assert (models, best) == ("models of round 2", 2)
    assert [entry["score"] for entry in history] == [0.5, 0.65, 0.95, 0.95, 0.75]
    assert [entry["n_labeled"] for entry in history] == [0, 1, 2, 3, 4]
    assert iters[N_LABELED : N_LABELED + 4].tolist() == [1, 2, -1, -1]


def test_a_gain_that_may_be_chance_is_not_taken():
    # The rows that are right only grow here: four more have the chance 1/16 = .06 under no change, five 1/32 = .03.
    models, iters, best, history = guarded([12, 13, 16])
    assert (models, best) == ("models of round 0", 0)
    assert (iters[N_LABELED:] == -1).all()
    assert len(history) == 3
    assert guarded([12, 17])[2] == 1


def test_the_best_of_many_rounds_has_to_be_better():
    assert guarded([12, 17])[2] == 1
    assert guarded([12, 17, 12])[2] == 0  # 2 / 32 = .06
    assert guarded([12, 18, 12])[2] == 1  # 2 / 64 = .03


def test_chance_alone_is_taken_in_at_most_one_of_twenty_runs():
    rng = np.random.default_rng(0)
    taken = 0
    for _ in range(400):
        start = rng.random(60) < 0.7
        rounds = [np.where(rng.random(60) < 0.2, rng.random(60) < 0.7, start) for _ in range(10)]
        taken += _beats(max(rounds, key=np.count_nonzero), start, 10)
    assert taken <= 400 * 0.05 + 2 * np.sqrt(400 * 0.05)


def test_rows_lost_count_against_rows_gained():
    start, right = np.zeros(20, bool), np.zeros(20, bool)
    start[:4], right[4:13] = True, True  # 9 gained, 4 lost: .13
    assert not _beats(right, start, 1)
    right[:4] = True  # 9 gained, none lost
    assert _beats(right, start, 1)
    assert not _beats(start, start, 1)


def test_without_watchers_the_last_round_is_kept():
    models, iters, best, history = self_label(Scripted(CODES, 5), [], CODES, 30)
    assert (models, best) == ("models of round 5", 5)
    assert all(math.isnan(entry["score"]) for entry in history)
    assert np.count_nonzero(iters > 0) == 5
    assert self_label(Scripted(CODES, 5), [], CODES, 3)[2] == 3


@settings(max_examples=100)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.integers(1, 10))
def test_the_guard_never_ends_below_the_start(rights, max_iter):
    models, iters, best, history = guarded(rights, max_iter)
    if N_LABELED - rights[0] < 5:  # even if all rows became right, chance could not be ruled out: no round is run
        rights = rights[:1]
    scores = [entry["score"] for entry in history]
    assert scores == [r / N_LABELED for r in rights[: max_iter + 1]]
    assert models == f"models of round {best}"
    assert np.count_nonzero(iters > 0) == best
    assert scores[best] >= scores[0]
    gained = max(rights[: max_iter + 1]) - rights[0]  # in this script rows that are right stay right as others join
    assert best == (int(np.argmax(scores)) if gained > 0 and (len(scores) - 1) * 0.5**gained < 0.05 else 0)


@pytest.mark.parametrize("wrapper", [CrossTrainingClassifier, CoTrainingClassifier, TriTrainingClassifier])
def test_watchers_share_out_the_labeled_rows_and_never_learn_from_their_own(wrapper, monkeypatch):
    seen = {}

    def keep(run, watchers, codes, *options):
        seen.update(watchers=watchers, codes=codes)
        return self_label(run, watchers, codes, *options)

    monkeypatch.setattr("fewlabel.wrappers._self_labeling.self_label", keep)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.where(np.arange(80) < 30, (X[:, 0] > 0).astype(int), -1)
    wrapper(random_state=0).fit(X, y)
    watched = np.concatenate([watcher.watched for watcher in seen["watchers"]])
    assert sorted(watched) == np.flatnonzero(seen["codes"] >= 0).tolist()
    for watcher in seen["watchers"]:
        given = np.atleast_2d(watcher.given)
        assert (given[:, watcher.watched] == -1).all()
