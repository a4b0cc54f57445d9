"""Out-of-fold scores of the members: the evidence by which they are chosen.

Scores of different models are made comparable by ranks: the share of reference rows that the same model scores lower.
The reference rows of a fold are the rows held out and a sample of the unlabeled ones.
"""

import contextlib
import time
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from fewlabel.auto._features import learn_views
from fewlabel.auto._fitted import FittedMember, RankReference, raw_scores
from fewlabel.auto._members import ALL, MULTICLASS, POSITIVE_UNLABELED, Context
from fewlabel.thread_limits import one_thread
from fewlabel.warning_filters import keep_filters

_REFERENCE = 400  # unlabeled rows in the reference of a fold
_FINAL_REFERENCE = 4000
_LEAST_REFERENCE = 50  # with fewer unlabeled rows, scores of all folds are ranked together
_FOLD_TREES, _FINAL_TREES = 60, 200
_N_SPLITS = 5
_MAX_SEED = 2**31 - 1


@contextlib.contextmanager
def contained():
    """Run the work of a member so that the process is left as it was.

    Members use one BLAS and OpenMP thread each: they run side by side, and sums then have one order. Overflows show in
    a member's score. Warnings are neither muted nor recorded, because both would change filters of the whole process.
    """
    with one_thread(), keep_filters(), np.errstate(all="ignore"):
        yield


class Evidence(NamedTuple):
    """Out-of-fold results of one member.

    Attributes
    ----------
    ranks : ndarray of shape (n_labeled, n_outputs)
        Rank of each labeled row by models that were not fitted to it, the mean over repeats.
    scores : ndarray of shape (n_labeled, n_outputs)
        The scores of the first repeat.
    seconds : float
        Mean time of a fit.
    """

    ranks: np.ndarray
    scores: np.ndarray
    seconds: float


class TrainingRows:
    """The rows of a fit: labels, what each member sees of the table, and folds.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        All rows; NaN marks a missing value.
    codes : ndarray of int
        Class of each row, ``-1`` where it is unknown. For positive-unlabeled data 1 and 0: unlabeled rows are then a
        class of their own, and are split into folds too.
    task : {"binary", "multiclass", "positive-unlabeled"}
    members : sequence of Member
        Those that will be fitted.
    seed : int
    prior : float, default=None
        For positive-unlabeled members.
    """

    @contained()
    def __init__(self, X, codes, task, members, seed, prior=None):
        self.codes, self.task, self.seed, self.prior = codes, task, seed, prior
        self.n_classes = int(codes.max()) + 1
        self.n_outputs = self.n_classes if task == MULTICLASS else 1
        self.labeled, self.unlabeled = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
        self.y = codes[self.labeled]
        self.views, self._tables = learn_views(X, self.labeled, {(m.view, m.learns) for m in members}, seed)

    @property
    def n_splits(self):
        """Number of folds: each class has at least one row in each of them."""
        return int(min(_N_SPLITS, np.bincount(self.y).min()))

    def uses_unlabeled(self, member):
        """Whether a member learns from unlabeled rows, if there are any."""
        return member.learns == ALL and (len(self.unlabeled) > 0 or self.task == POSITIVE_UNLABELED)

    def table(self, member):
        """All rows, as a member sees them; the error that its view raised if it could not be learned."""
        table = self._tables[member.view, member.learns]
        if isinstance(table, Exception):
            raise table
        return table

    def folds(self, n_repeats):
        """Pairs (repeat, rows held out); the rows as positions among the labeled ones."""
        rng = check_random_state(self.seed)
        for repeat in range(n_repeats):
            splitter = StratifiedKFold(self.n_splits, shuffle=True, random_state=rng.randint(_MAX_SEED))
            for _, held_out in splitter.split(self.y, self.y):
                yield repeat, held_out

    def sample_unlabeled(self, most):
        """Positions of at most this many unlabeled rows."""
        rows = self.unlabeled
        return rows if len(rows) <= most else check_random_state(self.seed).permutation(rows)[:most]

    def fit(self, member, n_trees, left_out=(), salt=0):
        """Fit a member to all rows but some of the labeled ones.

        Parameters
        ----------
        member : Member
        n_trees : int
            Size of forests.
        left_out : array-like of int, default=()
            Positions among the labeled rows.
        salt : int, default=0
            Varies the seed from fold to fold.

        Returns
        -------
        estimator
        """
        keep = np.ones(len(self.labeled), dtype=bool)
        keep[np.asarray(left_out, dtype=int)] = False
        rows, y = self.labeled[keep], self.y[keep]
        seed = (self.seed + 7919 * salt) % _MAX_SEED
        context = Context(seed, n_trees, self.task, len(self.labeled), self.table(member).shape[1], self.prior)
        if member.fits_unlabeled and self.task == POSITIVE_UNLABELED:
            y = np.where(y == 1, 1, -1)
        elif member.fits_unlabeled:
            hidden = self.sample_unlabeled(member.most_unlabeled)
            rows, y = np.r_[rows, hidden], np.r_[y, np.full(len(hidden), -1)]
        table = self.table(member)[rows]
        table[:, np.isnan(table).all(axis=0)] = 0.0  # not every booster accepts a column without a value
        return member.make(context).fit(table, y)


@contained()
def crossfit(rows, member, n_repeats):
    """Score the labeled rows by models that were not fitted to them.

    Parameters
    ----------
    rows : TrainingRows
    member : Member
    n_repeats : int
        Number of times that the rows are split into folds.

    Returns
    -------
    Evidence
    """
    shape = (n_repeats, len(rows.labeled), rows.n_outputs)
    scores, ranks = np.zeros(shape), np.zeros(shape)
    start, n_fits = time.perf_counter(), 0
    for repeat, held_out in rows.folds(n_repeats):
        scores[repeat, held_out], ranks[repeat, held_out] = _fold(rows, member, held_out, held_out, salt=n_fits)
        n_fits += 1
    ranks = np.array([_ranked(rows, *of_repeat) for of_repeat in zip(scores, ranks)])
    return Evidence(ranks.mean(axis=0), scores[0], (time.perf_counter() - start) / n_fits)


@contained()
def crossfit_with_fewer(rows, member, share):
    """Rank the labeled rows by models that were fitted to a share of the other labels only.

    Parameters
    ----------
    rows : TrainingRows
    member : Member
    share : float
        Of the labels that are not held out; at least two rows of each class are kept.

    Returns
    -------
    ndarray of shape (n_labeled, n_outputs)
    """
    scores, ranks = np.zeros((2, len(rows.labeled), rows.n_outputs))
    for number, (_, held_out) in enumerate(rows.folds(1)):
        left_out = np.r_[held_out, _dropped(rows, held_out, share, number)]
        scores[held_out], ranks[held_out] = _fold(rows, member, held_out, left_out, salt=number)
    return _ranked(rows, scores, ranks)


@contained()
def refit(rows, member, evidence):
    """Fit a member to all rows.

    Parameters
    ----------
    rows : TrainingRows
    member : Member
    evidence : Evidence

    Returns
    -------
    FittedMember
    """
    model = rows.fit(member, _FINAL_TREES)
    reference = rows.sample_unlabeled(_FINAL_REFERENCE)
    scores = evidence.scores[:0]
    if len(reference):
        scores = raw_scores(model, rows.table(member)[reference], rows.n_outputs)
    if len(reference) < _LEAST_REFERENCE:  # labeled rows, by models that were not fitted to them
        scores = np.vstack([scores, evidence.scores])
    return FittedMember(rows.views[member.view, member.learns], model, RankReference(scores), rows.n_outputs)


def _fold(rows, member, held_out, left_out, salt):
    """Scores and ranks of the rows held out, by a model that was not fitted to `left_out`."""
    model = rows.fit(member, _FOLD_TREES, left_out, salt)
    scored = np.r_[rows.labeled[held_out], rows.sample_unlabeled(_REFERENCE)]
    scores = raw_scores(model, rows.table(member)[scored], rows.n_outputs)
    own = scores[: len(held_out)]
    return own, RankReference(scores).ranks(own)


def _ranked(rows, scores, ranks):
    """The ranks within folds; with few unlabeled rows those among the scores of all folds."""
    few = len(rows.unlabeled) < _LEAST_REFERENCE
    return RankReference(scores).ranks(scores) if few else ranks


def _dropped(rows, held_out, share, salt):
    """Rows that are neither held out nor learned from: the same share of each class."""
    others = np.setdiff1d(np.arange(len(rows.y)), held_out)
    rng = check_random_state((rows.seed + salt) % _MAX_SEED)
    dropped = [np.zeros(0, dtype=int)]
    for code in range(rows.n_classes):
        of_class = rng.permutation(others[rows.y[others] == code])
        dropped.append(of_class[max(2, round(share * len(of_class))) :])
    return np.concatenate(dropped)
