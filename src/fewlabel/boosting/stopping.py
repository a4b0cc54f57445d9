"""When to stop boosting, and how many rounds to run."""

from collections import deque

import numpy as np

from fewlabel.kernels.ranks import area

_EVERY = 10  # rounds between two looks at the AUC
_SMOOTHED = 5  # looks that are averaged
_PATIENCE = 200  # rounds without a better average


class ValidationStop:
    """Stop when the AUC on held-out labeled rows has not grown for `patience` rounds; keep up to the best round.

    Called with `growing.Rounds` and the position of each of them; `kept` is the number of rounds to keep.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows), uint8
        Codes of the held-out rows; the last one, ``n_codes - 1``, is that of missing values.
    n_codes : int
    scores : ndarray of shape (n_rows,)
        Their scores before the first round.
    signs : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
    patience : int
    """

    def __init__(self, codes, n_codes, scores, signs, weight, patience):
        self._codes = codes
        self._missing = n_codes - 1
        self._scores = scores
        self._positive = signs > 0
        self._weight = weight
        self._patience = patience
        # A warm start has to be better than what it starts from; a new fit has at least one round.
        self._best = self._auc() if np.ptp(scores) > 0 else -np.inf
        self._rounds = 0
        self.kept = 0

    def __call__(self, rounds, k):
        leaf = np.zeros(len(self._scores), dtype=np.int64)
        for column, cut, missing_up in rounds.splits[k]:
            code = self._codes[column]
            goes_up = np.where(code == self._missing, missing_up, code > cut)
            leaf = 2 * leaf + goes_up
        self._scores = self._scores + rounds.values[k][leaf]
        self._rounds += 1
        auc = self._auc()
        if auc > self._best:  # of equally good rounds the first one is kept
            self._best = auc
            self.kept = self._rounds
        return self._rounds - self.kept >= self._patience

    def _auc(self):
        return area(self._positive, self._scores, self._weight)


class AlarmStop:
    """Stop, and drop the round, when R_PU + R_UN - R_PN < 1: it ranks labeled and unlabeled rows of one class apart.

    The expectation over new rows is at least 1.
    """

    def __init__(self):
        self.kept = 0

    def __call__(self, rounds, k):
        (up_p, up_u, _), (_, down_u, down_n) = rounds.log_mass[k]
        pn, pu, un = np.exp(np.minimum((up_p + down_n, up_p + down_u, up_u + down_n), 700.0))
        overfits = pu + un - pn < 1.0
        self.kept += not overfits
        return overfits


def deal_out(variates, weight, n_folds):
    """Fold of each row: rows are dealt out in the order of random variates, so that their own order does not matter."""
    folds = np.empty(len(variates), dtype=np.int64)
    folds[np.lexsort((weight, variates))] = np.arange(len(variates)) % n_folds
    return folds


def best_round(rounds, scores, held_out, positive, weight, threads):
    """Number of rounds with the best out-of-fold AUC, smoothed over the rounds.

    The folds advance together, one round at a time, so that the search ends when more rounds no longer help.

    Parameters
    ----------
    rounds : list of iterators
        One for each fold.
    scores : list of ndarray of shape (n_rows,)
        Of each fold; a round changes them.
    held_out : list of ndarray
        The rows on which each fold is judged.
    positive : ndarray of shape (n_rows,), bool
    weight : ndarray of shape (n_rows,)
    threads : RowThreads

    Returns
    -------
    n_rounds : int
    scores : list of ndarray of shape (n_rows,), or None
        Scores of each fold after them; None if no look at the AUC came then.
    """
    # The best average ends at a look; its middle, the number of rounds to choose, is two looks before.
    n_back = _SMOOTHED // 2
    recent = deque(maxlen=n_back + 1)
    best_scores = None
    aucs = []
    best = -np.inf
    best_t = 0
    t = 0
    while None not in threads.map(lambda of_fold: next(of_fold, None), rounds):
        t += 1
        if t % _EVERY:
            continue
        of_folds = [area(positive[rows], of_fold[rows], weight[rows]) for of_fold, rows in zip(scores, held_out)]
        aucs.append(np.mean(of_folds))
        recent.append([of_fold.copy() for of_fold in scores])
        smoothed = np.mean(aucs[-_SMOOTHED:])
        if smoothed > best:
            best = smoothed
            best_t = t
            best_scores = recent[0] if len(recent) > n_back else None
        elif t - best_t >= _PATIENCE:
            break
    return max(1, best_t - _EVERY * n_back), best_scores
