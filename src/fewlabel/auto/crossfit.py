"""Out-of-fold scores of the members: the evidence by which they are chosen.

Scores of different models are made comparable by ranks: the share of reference rows that the same model scores lower.
The reference rows are a sample of the unlabeled ones; rows of other folds have been learned from. With three classes or
more ranks within a class say nothing of other classes, and scores become log-probabilities instead.
"""

import contextlib
import importlib
import time
import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from fewlabel.auto.attempts import attempt
from fewlabel.auto.members import ALL, MULTICLASS, POSITIVE_UNLABELED, TRIED_FIRST, Context
from fewlabel.auto.pretrained import MissingWeights
from fewlabel.auto.views import Views
from fewlabel.calibration import softmax_from_few
from fewlabel.exceptions import LabelError
from fewlabel.folds import copies, join_groups, stratified_folds, usual_splits
from fewlabel.parts import Chain, Formula, Linear, Logits, Ranks, formula_of
from fewlabel.parts.numbers import bounded
from fewlabel.thread_limits import one_thread
from fewlabel.threads import map_in_threads
from fewlabel.warning_filters import caller_level, keep_filters

OUT_OF_TIME = "skipped: time budget"
_REFERENCE = 400  # unlabeled rows in the reference of a fold
_FINAL_REFERENCE = 4000
_LEAST_REFERENCE = 50  # with fewer unlabeled rows, scores of all folds are ranked together
_FOLD_TREES = 60
_FINAL_TREES = 200
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


class MemberEvidence(NamedTuple):
    """Out-of-fold results of one member.

    Attributes
    ----------
    ranks : ndarray of shape (n_tested, n_outputs)
        Rank of each tested row by models that were not fitted to it, the mean over repeats. With three classes or more
        the logarithm of the probability of each class.
    scores : ndarray of shape (n_tested, n_outputs)
        The scores of the first repeat.
    seconds : float
        Mean time of a fit.
    to_logits : Linear or None
        From `Logits` to log-probabilities, with three classes or more.
    """

    ranks: np.ndarray
    scores: np.ndarray
    seconds: float
    to_logits: Linear | None = None


class FittedMember(NamedTuple):
    """One chosen member, fitted to all rows.

    Attributes
    ----------
    formula : Formula
        Rank of each row: the view, the scores, the ranks. With three classes or more, the logits of the classes.
    additive : dict or None
        Of a sum of step functions: `calibration` (slope and intercept of the log-odds in its decision function) and
        `importances` of the columns.
    """

    formula: Formula
    additive: dict | None


class Training:
    """What members are fitted to: the rows, their folds, and what each member sees of the table.

    Parameters
    ----------
    rows : Rows
        Labeled and unlabeled rows. For positive-unlabeled data the classes are 1 and 0: unlabeled rows are then a class
        of their own, and are split into folds too.
    task : {"binary", "multiclass", "positive-unlabeled"}
    members : sequence of Member
        Those that will be fitted.
    seed : int
    prior : PriorEstimate, default=None
        For positive-unlabeled data.
    monotone : ndarray of int, default=None
        Direction of each column, for sums of step functions.

    Attributes
    ----------
    labeled, unlabeled : ndarray of int
        Positions in `rows`.
    y : ndarray of int
        Class of each labeled row.
    tested : ndarray of int
        Positions, among the labeled rows, of those that are scored out of fold: all, but the earliest if there is time.
    tested_rows : Rows
        These rows. Copies of a row are of one group.
    evaluated : ndarray of int
        Positions, among the tested rows, of those that estimates are based on: all, or the audited ones.
    evaluated_rows : Rows
        These rows, with the weights by which they stand for the population of the estimates.
    by_design : bool
        Whether these weights are known rather than estimated.
    is_chosen : bool
        Whether they are estimated, and ranks are comparable with those of unlabeled rows.
    n_copies : int
        Labeled rows that are an exact or near duplicate of another labeled one.
    """

    @contained()
    def __init__(self, rows, task, members, seed, prior=None, monotone=None):
        self.rows = rows
        self.task = task
        self.seed = seed
        self.prior = prior
        self._monotone = monotone
        self.n_classes = int(rows.codes.max()) + 1
        self.n_outputs = self.n_classes if task == MULTICLASS else 1
        self.labeled = rows.labeled
        self.unlabeled = rows.unlabeled
        self.y = rows.codes[self.labeled]
        self.n_copies = 0
        self._folds_by = self._keep_copies_together()
        self.tested = np.unique(np.concatenate([fold.test for fold in self.folds(1)]))
        self.tested_rows = self._folds_by.take(self.tested)
        self.evaluated_rows = self.tested_rows
        self.evaluated = np.arange(len(self.tested))
        self.by_design = False
        self.is_chosen = False
        self._views = Views(rows.X, self.labeled, seed)
        self._views.learn(members)

    @contained()
    def weigh_tested(self, weight, *, by_design=False):
        """Let labeled rows stand for the unlabeled ones in all estimates, but not in the fits.

        Parameters
        ----------
        weight : ndarray of shape (n_labeled,)
            Rows of weight 0 are left out.
        by_design : bool, default=False
            Whether the weights are known, rather than estimated.
        """
        weight = weight[self.tested]
        if self.tested_rows.weight is not None:
            weight = weight * self.tested_rows.weight
        self.evaluated = np.flatnonzero(weight > 0)
        self.evaluated_rows = replace(self.tested_rows, weight=weight).take(self.evaluated)
        self.by_design = by_design
        self.is_chosen = not by_design and self.ranks_unlabeled

    @property
    def ranks_unlabeled(self):
        """Whether ranks of two classes are those among unlabeled rows."""
        return self.n_outputs == 1 and len(self.unlabeled) >= _LEAST_REFERENCE

    def view(self, member):
        """What turns the columns into what a member sees; None if it sees them as they are."""
        return self._views.formula(member)

    def table(self, member):
        """All rows, as a member sees them; raises the error of a view that could not be learned."""
        return self._views.table(member)

    def _keep_copies_together(self):
        """What the labeled rows are split by: the user's groups and time, and groups of copies."""
        rows = self.rows.take(self.labeled)
        # A copy in the training part tells the label of the row that is tested.
        copy_of = copies(self.rows.X, self.labeled)
        if copy_of is None:
            return rows
        n_alone = int((np.bincount(copy_of) == 1).sum())
        self.n_copies = len(copy_of) - n_alone
        together = replace(rows, groups=join_groups(rows.groups, copy_of))
        try:
            list(stratified_folds(together, _N_SPLITS, 1, self.seed))
        except LabelError:
            warnings.warn(
                f"{self.n_copies} labeled rows are copies of each other, among them all rows of a class: copies are on "
                "both sides of the splits, and the scores are too high. Label other rows",
                UserWarning,
                stacklevel=caller_level(),
            )
            return rows
        return together

    @property
    def training_share(self):
        """Share of the labeled rows that a model of a fold learns from, the mean over folds."""
        return float(np.mean([1 - len(fold.left_out) / len(self.y) for fold in self.folds(1)]))

    def uses_unlabeled(self, member):
        """Whether a member learns from unlabeled rows, if there are any; with positives only, every one does."""
        return self.task == POSITIVE_UNLABELED or (member.learns == ALL and len(self.unlabeled) > 0)

    def folds(self, n_repeats):
        """The folds of each repeat; there is one repeat if rows are ordered by time."""
        return stratified_folds(self._folds_by, usual_splits(self.y, _N_SPLITS), n_repeats, self.seed)

    def sample_unlabeled(self, most, fold=None):
        """Positions of at most this many unlabeled rows, without those that a model of a fold cannot know.

        These are rows of the groups that are tested, and rows that are not earlier than the tested ones.
        """
        positions = self.unlabeled
        groups = self.rows.groups
        moments = self.rows.time
        if fold is not None and groups is not None:
            positions = positions[~np.isin(groups[positions], groups[self.labeled[fold.test]])]
        if fold is not None and moments is not None:
            positions = positions[moments[positions] < moments[self.labeled[fold.test]].min()]
        if len(positions) <= most:
            return positions
        return check_random_state(self.seed).permutation(positions)[:most]

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
        learned = np.ones(len(self.labeled), dtype=bool)
        if fold is not None:
            learned[fold.left_out] = False
        positions = self.labeled[learned]
        y = self.y[learned]
        # Other members learn positives against unlabeled rows, as if these were negative.
        if member.fits_unlabeled and self.task == POSITIVE_UNLABELED:
            y = np.where(y == 1, 1, -1)
        elif member.fits_unlabeled:
            hidden = self.sample_unlabeled(member.most_unlabeled, fold)
            positions = np.r_[positions, hidden]
            y = np.r_[y, np.full(len(hidden), -1)]
        table = self.table(member)[positions]
        # Not every booster accepts a column without a value.
        table[:, np.isnan(table).all(axis=0)] = 0.0
        # A prime far apart: seeds of folds are not those of a neighboring `random_state`.
        seed = (self.seed + 7919 * salt) % _MAX_SEED
        prior = None if self.prior is None else self.prior.prior
        context = Context(seed, n_trees, self.task, len(self.labeled), table.shape[1], prior, self._monotone)
        estimator = member.make(context)
        # The ensemble has its own probabilities.
        fit = getattr(estimator, "fit_ranking", estimator.fit)
        if self.rows.weight is not None and has_fit_parameter(estimator, "sample_weight"):
            fit(table, y, sample_weight=self.rows.weight[positions])
        else:
            fit(table, y)
        return estimator

    def scores(self, formula, member, positions):
        """Scores of some rows by a fitted member; finite, and differences of two do not overflow."""
        return bounded(formula(self.table(member)[positions]))


def try_members(training, members, n_repeats, deadline, n_jobs, first=()):
    """Yield each member with its evidence, with the error that it raised, or with the reason why it was skipped.

    Parameters
    ----------
    training : Training
    members : list of Member
    n_repeats : int
    deadline : float
        On the clock of `time.monotonic`. After it no member is started, unless all that were started have failed.
    n_jobs : int or None
    first : tuple of str, default=()
        Members to try before all others, so that no deadline leaves them out.
    """
    for package in sorted({m.package for m in members}):
        # In a thread, others would see modules that are not complete yet.
        attempt(importlib.import_module, package)
    early = [*first, *TRIED_FIRST]
    order = sorted(members, key=lambda m: early.index(m.name) if m.name in early else len(early))
    started = []
    failed = []

    def try_one(member):
        if len(started) > len(failed) and time.monotonic() > deadline:
            return member, OUT_OF_TIME
        started.append(member)
        outcome = attempt(_finite_evidence, training, member, n_repeats)
        if isinstance(outcome, Exception):
            failed.append(member)
        return member, f"skipped: {outcome}" if isinstance(outcome, MissingWeights) else outcome

    return map_in_threads(try_one, order, n_jobs)


def _finite_evidence(training, member, n_repeats):
    evidence = crossfit(training, member, n_repeats)
    if not np.isfinite(evidence.ranks).all():
        raise FloatingPointError("the ranks of its scores are not finite")
    return evidence


def usual_repeats(n_rows):
    """Splits of the labeled rows into folds: with few labels the result of a single one is noisy."""
    return 2 if n_rows <= 60 else 1


@contained()
def crossfit(training, member, n_repeats, share=1.0):
    """Score the labeled rows by models that were not fitted to them.

    Parameters
    ----------
    training : Training
    member : Member
    n_repeats : int
        Number of times that the rows are split into folds.
    share : float, default=1.0
        Of the labels that are not held out, the share to learn from; at least two rows of each class are kept.

    Returns
    -------
    MemberEvidence
    """
    folds = list(training.folds(n_repeats))
    scores, ranks = np.zeros((2, folds[-1].repeat + 1, len(training.labeled), training.n_outputs))
    start = time.perf_counter()
    for number, fold in enumerate(folds):
        fewer = fold._replace(left_out=np.r_[fold.left_out, _dropped(training, fold.left_out, share, number)])
        scores[fold.repeat, fold.test], ranks[fold.repeat, fold.test] = _fold(training, member, fewer, salt=number)
    tested = training.tested
    of_repeats = [_ranked(training, scores[k, tested], ranks[k, tested]) for k in range(len(scores))]
    seconds = (time.perf_counter() - start) / len(folds)
    found, to_logits = _log_probabilities(training, np.mean(of_repeats, axis=0))
    return MemberEvidence(found, scores[0, tested], seconds, to_logits)


@contained()
def refit(training, member, evidence):
    """Fit a member to all rows.

    Parameters
    ----------
    training : Training
    member : Member
    evidence : MemberEvidence

    Returns
    -------
    FittedMember
    """
    estimator = training.fit(member, _FINAL_TREES)
    scorer = formula_of(estimator, training.n_outputs)
    reference = training.sample_unlabeled(_FINAL_REFERENCE)
    scores = evidence.scores[:0]
    if len(reference):
        scores = training.scores(scorer, member, reference)
    # Labeled rows, by models that were not fitted to them.
    if len(reference) < _LEAST_REFERENCE:
        scores = np.vstack([scores, evidence.scores])
    view = training.view(member)
    steps = [scorer, _comparable(scores)]
    if evidence.to_logits is not None:
        steps.append(evidence.to_logits)
    return FittedMember(Chain(steps if view is None else [view, *steps]), _additive(estimator))


def _additive(estimator):
    """What a scorecard needs to know of a sum of step functions beyond them; None of another model."""
    if not getattr(estimator, "shape_functions_", None):
        return None
    return {
        "calibration": estimator.calibration_.tolist(),
        "importances": estimator.feature_importances_.tolist(),
    }


def _fold(training, member, fold, salt):
    """Scores and ranks of the rows that a fold tests."""
    scorer = formula_of(training.fit(member, _FOLD_TREES, fold, salt), training.n_outputs)
    scored = np.r_[training.labeled[fold.test], training.sample_unlabeled(_REFERENCE)]
    scores = training.scores(scorer, member, scored)
    own = scores[: len(fold.test)]
    reference = scores[len(fold.test) :]
    # Of two classes as the final model does: labels that were chosen would put the ranks on another scale than its own.
    if len(reference) < _LEAST_REFERENCE or training.n_outputs > 1:
        reference = scores
    return own, _comparable(reference)(own)


def _comparable(scores):
    """What makes scores of different models comparable, by those of reference rows."""
    return Ranks.among(scores) if scores.shape[1] == 1 else Logits.among(scores)


def _log_probabilities(training, logits):
    """Calibrated on the tested rows; ranks of two classes stay as they are."""
    if training.n_outputs == 1:
        return logits, None
    rows = training.tested_rows
    slope, intercepts = softmax_from_few(logits, rows.codes, rows.weight)
    to_logits = Linear(slope * np.eye(len(intercepts)), intercepts)
    return log_softmax(to_logits(logits), axis=1), to_logits


def _ranked(training, scores, ranks):
    """The ranks within folds; with few unlabeled rows those among the scores of all folds."""
    few = len(training.unlabeled) < _LEAST_REFERENCE
    return _comparable(scores)(scores) if few else ranks


def _dropped(training, left_out, share, salt):
    """Further rows that are not learned from: the same share of each class."""
    others = np.setdiff1d(np.arange(len(training.y)), left_out)
    rng = check_random_state((training.seed + salt) % _MAX_SEED)
    dropped = [np.zeros(0, dtype=int)]
    for code in range(training.n_classes):
        of_class = rng.permutation(others[training.y[others] == code])
        # With one row of a class, some members have nothing to compare it with.
        n_kept = max(2, round(share * len(of_class)))
        dropped.append(of_class[n_kept:])
    return np.concatenate(dropped)
