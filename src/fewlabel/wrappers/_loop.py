"""The one self-labeling loop: rounds in which classifiers label rows for each other, and the guard that ends them."""

import math

import numpy as np


class Run:
    """The state of one run. A subclass is a rule: who is fitted to which rows, and which rows they label.

    Rows are of three kinds. Where ``codes >= 0`` the class is known and never changes; rows that are `free` may be
    labeled; all others are `watched`: no classifier learns from them, and their labels are kept for the guard.

    A subclass gives

    - ``turn(iteration)``: one round; the number of rows that were labeled;
    - ``models()``: the final classifiers, as they would be after the rounds so far;
    - ``predict(models, rows)``: their classes of the rows, as positions.

    Attributes
    ----------
    given : ndarray
        Class of each row in training, -1 if it takes no part.
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


def self_label(run, watchers, codes, max_rounds):
    """Run the rounds, and choose the one to keep: the last, or with `watchers` the one that the guard chooses.

    A watcher is a run like `run` that never sees the labels of one fold. It goes through the same rounds, and its
    final classifiers predict that fold after each: together the watchers give an out-of-fold accuracy.

    Returns the final classifiers, the rounds in which their rows were labeled, the round kept, and the history.
    """
    at_start = best_right = _right(watchers, codes)
    history = [_entry(run, 0, at_start)]
    start = kept = (run.models(), run.iters.copy(), 0) if watchers else None
    for iteration in range(1, max_rounds + 1):
        n_new = run.turn(iteration)
        if n_new == 0:
            break
        for watcher in watchers:
            watcher.turn(iteration)
        right = _right(watchers, codes)
        history.append(_entry(run, iteration, right))
        if watchers and np.count_nonzero(right) > np.count_nonzero(best_right):
            kept, best_right = (run.models(), run.iters.copy(), iteration), right
    if not watchers:
        return run.models(), run.iters, len(history) - 1, history
    return *(kept if _beats(best_right, at_start) else start), history


def deal(codes, rows, n_parts, rng):
    """Part of each row, assigned class by class in random order: sizes differ by at most 1, also within a class."""
    parts = np.full(len(codes), -1)
    shuffled = rows[rng.permutation(len(rows))]
    shuffled = shuffled[np.argsort(codes[shuffled], kind="stable")]
    parts[shuffled] = np.arange(len(rows)) % n_parts
    return parts


def most_confident(codes, confidence, k, shares=None, threshold=None):
    """Positions of the `k` rows with the highest confidence, ties to the lower position.

    With `shares`, those of each predicted class c: ``k * shares[c]`` of them, rounded, and one at least.
    """
    order = np.argsort(-confidence, kind="stable")
    if threshold is not None:
        order = order[confidence[order] >= threshold]
    if shares is None:
        return order[:k]
    quota = np.maximum(np.round(k * shares).astype(int), 1)
    return np.sort(np.concatenate([order[codes[order] == c][: quota[c]] for c in range(len(shares))]))


def _beats(right, start):
    """Whether more rows are right than at the start, beyond chance: McNemar's test, one-sided, at the level of 5%."""
    gained, lost = np.count_nonzero(right & ~start), np.count_nonzero(start & ~right)
    return gained - lost > 1.64 * math.sqrt(gained + lost)


def _right(watchers, codes):
    """Whether each labeled row is predicted correctly by the watcher that did not learn from it; None without any."""
    if not watchers:
        return None
    guess = np.full(len(codes), -1)
    for watcher in watchers:
        guess[watcher.watched] = watcher.predict(watcher.models(), watcher.watched)
    return (guess == codes)[codes >= 0]


def _entry(run, iteration, right):
    """A round in the history."""
    score = math.nan if right is None else float(np.mean(right))
    return {"iter": iteration, "n_labeled": int(np.count_nonzero(run.iters > 0)), "score": score}
