"""The self-labeling loop: rounds in which classifiers label rows, and the guard that chooses a round."""

import math

import numpy as np
from scipy.stats import binom

from fewlabel.threads import map_in_threads

_LEVEL = 0.05


class Run:
    """State of one run. A subclass defines which classifiers are fitted to which rows, and which rows they label.

    Rows are of three kinds. If ``codes >= 0`` the class is known and never changes; `free` rows may be labeled; all
    others are `watched`: no classifier learns from them, and their labels are used by the guard.

    A subclass implements

    - ``turn(iteration)``: run one round, and return the number of labeled rows;
    - ``models()``: return the final classifiers after the rounds so far;
    - ``predict(models, rows)``: return their predicted classes, as positions.

    Attributes
    ----------
    given : ndarray
        Class of each row in training, -1 if it is not used.
    iters : ndarray of shape (n_samples,)
        Round in which the row was labeled; 0 if its class was known, -1 if it has none.
    """

    def __init__(self, learner, codes, free):
        self.learner = learner
        self.codes = codes
        self.free = free
        self.watched = np.flatnonzero((codes < 0) & ~free)
        self.given = codes.copy()
        self.iters = np.where(codes >= 0, 0, -1)

    def label(self, rows, codes, iteration):
        self.given[rows] = codes
        self.iters[rows] = iteration


def self_label(run, watchers, codes, max_iter, n_jobs=None):
    """Run the rounds, and choose one: the last or, with `watchers`, the one that the guard chooses.

    A watcher is a run like `run` that does not see the labels of one fold. It runs the same rounds, and its final
    classifiers predict that fold after each; together the watchers give an out-of-fold accuracy. If so few labeled rows
    are wrong at the start that no round could be accepted, none is run.

    Returns the final classifiers, the rounds in which their rows were labeled, the chosen round, and the history.
    """
    at_start = _right(watchers, codes, n_jobs)
    history = [_entry(run, 0, at_start)]
    if watchers:
        start = (run.models(), run.iters.copy(), 0)
        best = start
        best_right = at_start
        # If all rows became right, and that could be chance, no round can be accepted.
        if not _beats(np.ones_like(at_start), at_start, 1):
            max_iter = 0
    for iteration in range(1, max_iter + 1):
        n_new, *_ = map_in_threads(lambda each: each.turn(iteration), [run, *watchers], n_jobs)  # noqa: B023
        if n_new == 0:
            break
        right = _right(watchers, codes, n_jobs)
        history.append(_entry(run, iteration, right))
        if watchers and np.count_nonzero(right) > np.count_nonzero(best_right):
            best = (run.models(), run.iters.copy(), iteration)
            best_right = right
    if not watchers:
        return run.models(), run.iters, len(history) - 1, history
    accepted = best if _beats(best_right, at_start, len(history) - 1) else start
    return *accepted, history


def deal(codes, rows, n_parts, rng):
    """Assign rows to parts at random, stratified: sizes differ by at most 1, in total and within each class."""
    parts = np.full(len(codes), -1)
    shuffled = rows[rng.permutation(len(rows))]
    # Dealt out class by class, like cards: no part gets two rows more of a class than another.
    shuffled = shuffled[np.argsort(codes[shuffled], kind="stable")]
    parts[shuffled] = np.arange(len(rows)) % n_parts
    return parts


def most_confident(codes, confidence, k, shares=None):
    """Return the positions of the `k` rows with the highest confidence; the first ones among ties.

    With `shares`, ``k * shares[c]`` rows of each predicted class c, rounded, and at least one.
    """
    order = np.argsort(-confidence, kind="stable")
    if shares is None:
        return order[:k]
    quota = np.maximum(np.round(k * shares).astype(int), 1)
    chosen = []
    for c, n_rows in enumerate(quota):
        of_class = order[codes[order] == c]
        chosen.append(of_class[:n_rows])
    return np.sort(np.concatenate(chosen))


def _beats(right, start, n_rounds):
    """Whether significantly more rows are correct than at the start.

    McNemar's exact test, one-sided, at the 5% level for all rounds together: the best of `n_rounds` is tested, and the
    maximum of as many chances would pass a test for one of them too often (Bonferroni's correction).
    """
    gained = np.count_nonzero(right & ~start)
    lost = np.count_nonzero(start & ~right)
    return n_rounds * binom.sf(gained - 1, gained + lost, 0.5) < _LEVEL


def _right(watchers, codes, n_jobs):
    """Whether each labeled row is predicted correctly by the watcher that did not learn from it; None without any."""
    if not watchers:
        return None
    predicted = np.full(len(codes), -1)
    guesses = map_in_threads(lambda each: each.predict(each.models(), each.watched), watchers, n_jobs)
    for watcher, guess in zip(watchers, guesses):
        predicted[watcher.watched] = guess
    return (predicted == codes)[codes >= 0]


def _entry(run, iteration, right):
    """Entry of a round in the history."""
    score = math.nan if right is None else float(np.mean(right))
    return {"iter": iteration, "n_labeled": int(np.count_nonzero(run.iters > 0)), "score": score}
