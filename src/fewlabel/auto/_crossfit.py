"""Out-of-fold scores of the members: the evidence by which they are chosen.

Scores of different models are made comparable by ranks: the share of reference rows that the same model scores lower.
The reference rows of a fold are the rows held out and a sample of the unlabeled ones.
"""

import contextlib
import copy
import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from fewlabel.auto._features import learn_views
from fewlabel.auto._fitted import FittedMember, RankReference, raw_scores
from fewlabel.auto._members import ALL, LABELED, MULTICLASS, POSITIVE_UNLABELED, Context
from fewlabel.exceptions import LabelError
from fewlabel.folds import INDEPENDENT, copies, join_groups, stratified_folds
from fewlabel.positive_unlabeled import prior_checked
from fewlabel.thread_limits import one_thread
from fewlabel.warning_filters import caller_level, keep_filters

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
    a member's score. Warnings are neither muted nor recorded, because both would change filters of the whole process;
    `AutoClassifier` warns of a prior once, its members do not.
    """
    with one_thread(), keep_filters(), prior_checked(), np.errstate(all="ignore"):
        yield


class Evidence(NamedTuple):
    """Out-of-fold results of one member.

    Attributes
    ----------
    ranks : ndarray of shape (n_tested, n_outputs)
        Rank of each tested row by models that were not fitted to it, the mean over repeats.
    scores : ndarray of shape (n_tested, n_outputs)
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
    sampling : Sampling, default=INDEPENDENT
        Groups, time and weights of all rows.

    Attributes
    ----------
    labeled, unlabeled : ndarray of int
        Positions in `X`.
    y : ndarray of int
        Class of each labeled row.
    tested : ndarray of int
        Positions, among the labeled rows, of those that are scored out of fold: all, but the earliest if there is time.
    n_copies : int
        Labeled rows that are an exact or near duplicate of another labeled one.
    """

    @contained()
    def __init__(self, X, codes, task, members, seed, prior=None, sampling=INDEPENDENT):
        self.codes, self.task, self.seed, self.prior = codes, task, seed, prior
        self.n_classes = int(codes.max()) + 1
        self.n_outputs = self.n_classes if task == MULTICLASS else 1
        self.labeled, self.unlabeled = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
        self.y = codes[self.labeled]
        self.sampling, self.n_copies, self._X, self._hide_unlabeled = sampling, 0, X, False
        self._folds_by = self._keep_copies_together(X)
        self.tested = np.unique(np.concatenate([fold.test for fold in self.folds(1)]))
        self.views, self._tables = learn_views(X, self.labeled, {(m.view, m.learns) for m in members}, seed)

    def without_unlabeled(self, member):
        """The same rows and folds for a member that learns nothing from unlabeled rows; these only order its scores."""
        rows = copy.copy(self)
        rows._hide_unlabeled = True
        rows.views, rows._tables = learn_views(self._X, self.labeled, {(member.view, LABELED)}, self.seed)
        return rows

    def _keep_copies_together(self, X):
        """What the labeled rows are split by: the user's groups and time, and groups of copies."""
        sampling = self.sampling.take(self.labeled)
        found = copies(X, self.labeled)
        if found is None:
            return sampling
        self.n_copies = len(found) - int((np.bincount(found) == 1).sum())
        together = sampling._replace(groups=join_groups(sampling.groups, found))
        try:
            list(stratified_folds(self.y, _N_SPLITS, together, 1, self.seed))
        except LabelError:
            warnings.warn(
                f"{self.n_copies} labeled rows are copies of each other, among them all rows of a class: copies are on "
                "both sides of the splits, and the scores are too high. Label other rows",
                UserWarning,
                stacklevel=caller_level(),
            )
            return sampling
        return together

    @property
    def tested_y(self):
        """Class of each tested row."""
        return self.y[self.tested]

    @property
    def tested_sampling(self):
        """Groups, time and weights of the tested rows; copies of a row are of one group."""
        return self._folds_by.take(self.tested)

    @property
    def training_share(self):
        """Share of the labeled rows that a model of a fold learns from, the mean over folds."""
        return float(np.mean([1 - len(fold.left_out) / len(self.y) for fold in self.folds(1)]))

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
        """The folds of each repeat; there is one repeat if rows are ordered by time."""
        n_splits = int(min(_N_SPLITS, np.bincount(self.y).min()))  # each class has at least one row in each fold
        return stratified_folds(self.y, n_splits, self._folds_by, n_repeats, self.seed)

    def sample_unlabeled(self, most, fold=None):
        """Positions of at most this many unlabeled rows, without those that a model of a fold cannot know.

        These are rows of the groups that are tested, and rows that are not earlier than the tested ones.
        """
        rows, groups, time = self.unlabeled, self.sampling.groups, self.sampling.time
        if fold is not None and groups is not None:
            rows = rows[~np.isin(groups[rows], groups[self.labeled[fold.test]])]
        if fold is not None and time is not None:
            rows = rows[time[rows] < time[self.labeled[fold.test]].min()]
        return rows if len(rows) <= most else check_random_state(self.seed).permutation(rows)[:most]

    def fit(self, member, n_trees, fold=None, salt=0):
        """Fit a member to all rows but those that a fold leaves out.

        Parameters
        ----------
        member : Member
        n_trees : int
            Size of forests.
        fold : Fold, default=None
        salt : int, default=0
            Varies the seed from fold to fold.

        Returns
        -------
        estimator
        """
        keep = np.ones(len(self.labeled), dtype=bool)
        if fold is not None:
            keep[fold.left_out] = False
        rows, y = self.labeled[keep], self.y[keep]
        seed = (self.seed + 7919 * salt) % _MAX_SEED
        context = Context(seed, n_trees, self.task, len(self.labeled), self.table(member).shape[1], self.prior)
        if member.fits_unlabeled and self.task == POSITIVE_UNLABELED:
            y = np.where(y == 1, 1, -1)
        elif member.fits_unlabeled and not self._hide_unlabeled:
            hidden = self.sample_unlabeled(member.most_unlabeled, fold)
            rows, y = np.r_[rows, hidden], np.r_[y, np.full(len(hidden), -1)]
        table = self.table(member)[rows]
        table[:, np.isnan(table).all(axis=0)] = 0.0  # not every booster accepts a column without a value
        estimator = member.make(context)
        fit = getattr(estimator, "fit_ranking", estimator.fit)  # the ensemble has its own probabilities
        if self.sampling.weight is not None and has_fit_parameter(estimator, "sample_weight"):
            return fit(table, y, sample_weight=self.sampling.weight[rows])
        return fit(table, y)


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
    folds = list(rows.folds(n_repeats))
    scores, ranks = np.zeros((2, folds[-1].repeat + 1, len(rows.labeled), rows.n_outputs))
    start = time.perf_counter()
    for number, fold in enumerate(folds):
        scores[fold.repeat, fold.test], ranks[fold.repeat, fold.test] = _fold(rows, member, fold, salt=number)
    scores, ranks = scores[:, rows.tested], ranks[:, rows.tested]
    ranks = np.array([_ranked(rows, *of_repeat) for of_repeat in zip(scores, ranks)])
    return Evidence(ranks.mean(axis=0), scores[0], (time.perf_counter() - start) / len(folds))


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
    ndarray of shape (n_tested, n_outputs)
    """
    scores, ranks = np.zeros((2, len(rows.labeled), rows.n_outputs))
    for number, fold in enumerate(rows.folds(1)):
        fewer = fold._replace(left_out=np.r_[fold.left_out, _dropped(rows, fold.left_out, share, number)])
        scores[fold.test], ranks[fold.test] = _fold(rows, member, fewer, salt=number)
    return _ranked(rows, scores[rows.tested], ranks[rows.tested])


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


def _fold(rows, member, fold, salt):
    """Scores and ranks of the rows that a fold tests."""
    model = rows.fit(member, _FOLD_TREES, fold, salt)
    scored = np.r_[rows.labeled[fold.test], rows.sample_unlabeled(_REFERENCE)]
    scores = raw_scores(model, rows.table(member)[scored], rows.n_outputs)
    own = scores[: len(fold.test)]
    return own, RankReference(scores).ranks(own)


def _ranked(rows, scores, ranks):
    """The ranks within folds; with few unlabeled rows those among the scores of all folds."""
    few = len(rows.unlabeled) < _LEAST_REFERENCE
    return RankReference(scores).ranks(scores) if few else ranks


def _dropped(rows, left_out, share, salt):
    """Further rows that are not learned from: the same share of each class."""
    others = np.setdiff1d(np.arange(len(rows.y)), left_out)
    rng = check_random_state((rows.seed + salt) % _MAX_SEED)
    dropped = [np.zeros(0, dtype=int)]
    for code in range(rows.n_classes):
        of_class = rng.permutation(others[rows.y[others] == code])
        dropped.append(of_class[max(2, round(share * len(of_class))) :])
    return np.concatenate(dropped)
