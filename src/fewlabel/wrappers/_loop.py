"""The one self-labelling loop: rounds in which classifiers label rows for each other, and the guard that ends them."""

import math

import numpy as np


class Run:
    """The state of one run. A subclass is a rule: who is fitted to which rows, and which rows they label.

    Rows are of three kinds. Where ``codes >= 0`` the class is known and never changes; rows that are `free` may be
    labelled; all others are looked at by nobody, except that the classifiers predict them for the guard.

    A subclass gives

    - ``turn(iteration)``: one round; the number of rows that were labelled;
    - ``judge()``: the predictions of a round, without its labels;
    - ``finish(state)``: the classifiers of the final model.

    Attributes
    ----------
    given : ndarray
        Class of each row in training, -1 if it takes no part.
    iters : ndarray of shape (n_samples,)
        Round in which the row was labelled; 0 if its class was known, -1 if it has none.
    guess : ndarray of shape (n_samples,)
        Class predicted for rows whose own label was not in the training set of the predictor, by the
        classifiers that were
        fitted last.
    """

    def __init__(self, learner, codes, free):
        self.learner = learner
        self.codes = codes
        self.free = free
        self.given = codes.copy()
        self.iters = np.where(codes >= 0, 0, -1)
        self.guess = np.full(len(codes), -1)

    def state(self):
        """What `finish` needs to go back to the present round."""
        return {"given": self.given.copy(), "iters": self.iters.copy()}

    def label(self, rows, codes, iteration):
        self.given[rows] = codes
        self.iters[rows] = iteration


def self_label(run, watchers, codes, max_rounds, guarded):
    """Run the rounds, and choose the one to keep.

    `watchers` are the runs whose guesses make up the out-of-fold score; they advance with `run`. The score of
    a round is
    found one turn later, when the classifiers have been fitted to its labels.

    Returns the state that is kept, its round, and the history.
    """
    history = [{"iter": 0, "n_labeled": 0, "score": math.nan}]
    start = kept = run.state()
    best = 0
    others = [watcher for watcher in watchers if watcher is not run]
    if guarded:
        history[0]["score"] = _judge(watchers, codes)
    last = 0
    while last < max_rounds:
        before = run.state() if guarded else None
        n_new = run.turn(last + 1)
        for watcher in others:
            watcher.turn(last + 1)
        if guarded and last > 0:
            history[last]["score"] = _score(watchers, codes)
            if history[last]["score"] > history[best]["score"]:
                best, kept = last, before
        if n_new == 0:
            break
        last += 1
        history.append({"iter": last, "n_labeled": int(np.count_nonzero(run.iters > 0)), "score": math.nan})
    if not guarded:
        return run.state(), last, history
    if last > 0 and math.isnan(history[last]["score"]):
        history[last]["score"] = _judge(watchers, codes)
        if history[last]["score"] > history[best]["score"]:
            best, kept = last, run.state()
    if _beats(history[best]["score"], history[0]["score"], np.count_nonzero(codes >= 0)):
        return kept, best, history
    return start, 0, history


def deal(codes, rows, n_parts, rng):
    """Part of each row, dealt out class by class in random order: sizes differ by at most 1, in all and in
    each class."""
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


def _beats(score, start, n_labeled):
    """Whether a score is above that of the start by more than half the standard error of a share among the rows."""
    return score > start + 0.5 * math.sqrt(start * (1 - start) / n_labeled)


def _judge(watchers, codes):
    for watcher in watchers:
        watcher.judge()
    return _score(watchers, codes)


def _score(watchers, codes):
    guess = np.max(
        [watcher.guess for watcher in watchers], axis=0
    )  # a row is guessed by one watcher; the others hold -1
    known = codes >= 0
    return float(np.mean(guess[known] == codes[known]))
