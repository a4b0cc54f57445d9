"""Out-of-fold scores of the members: the evidence by which they are chosen.

Every score is made comparable by its rank, the share of reference rows that the same model puts below it. The reference
rows are the unlabeled ones, and the rows held out with it. Models of different folds, and members of any kind, then
speak of the same thing.
"""

import contextlib
import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from fewlabel.auto._features import ComponentsView, ScaledView, SpectralView
from fewlabel.auto._fitted import FittedMember, Reference, raw_scores
from fewlabel.auto._members import ALL, Context
from fewlabel.auto._trees import freeze

_REFERENCE = 400  # unlabeled rows that ranks are counted among, out of fold
_LEAST_REFERENCE = 50  # with fewer unlabeled rows, scores of all folds are ranked together
_FOLD_TREES, _FINAL_TREES = 60, 200
_N_SPLITS = 5


@contextlib.contextmanager
def quietly():
    """No warnings from members, and one thread for each: they run side by side, and would only wait for each other.

    A member that struggles shows it in its score. Filters of warnings belong to the process, so this is for the thread
    that starts the members, not for theirs.
    """
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Evidence(NamedTuple):
    """What out-of-fold scoring found for one member.

    Attributes
    ----------
    ranks : ndarray of shape (n_rows, n_outputs)
        Rank of each labeled row by models that were not fitted to it, the mean over repeats.
    scores : ndarray of shape (n_rows, n_outputs)
        The scores of one repeat.
    seconds : float
        Mean time of a fit.
    """

    ranks: np.ndarray
    scores: np.ndarray
    seconds: float


class Job:
    """The rows, what members see of them, and the folds.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        All rows; NaN marks a gap.
    codes : ndarray of int
        Class of each row, ``-1`` where it is not known. For positive-unlabeled data 1 and 0: unlabeled rows are then
        a class of their own, and dealt out to the folds.
    task : str
        "b", "m" or "p", see `Member`.
    members : sequence of Member
        Those that will be fitted.
    seed : int
    prior : float, default=None
        For positive-unlabeled members.
    """

    def __init__(self, X, codes, task, members, seed, prior=None):
        self.codes, self.task, self.seed, self.prior = codes, task, seed, prior
        self.n_classes = int(codes.max()) + 1
        self.n_outputs = self.n_classes if task == "m" else 1
        self.labeled, self.unlabeled = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
        self.y = codes[self.labeled]
        self.views = _learn_views(X, self.labeled, {(m.view, m.learns) for m in members}, seed)
        self.tables = {key: X if view is None else view.transform(X) for key, view in self.views.items()}

    @property
    def n_splits(self):
        """Folds: each class has a row in each of them."""
        return int(min(_N_SPLITS, np.bincount(self.y).min()))

    def uses_unlabeled(self, member):
        """Whether a member learns from unlabeled rows, if there are any."""
        return member.learns == ALL and (len(self.unlabeled) > 0 or self.task == "p")

    def out_of_fold(self, member, n_repeats):
        """Score the labeled rows by models that were not fitted to them.

        Parameters
        ----------
        member : Member
        n_repeats : int
            How often the rows are dealt out anew.

        Returns
        -------
        Evidence
        """
        table = self.tables[member.view, member.learns]
        reference = self._sample(self.unlabeled, _REFERENCE)
        shape = (n_repeats, len(self.labeled), self.n_outputs)
        scores, ranks = np.zeros(shape), np.zeros(shape)
        start, n_fits = time.perf_counter(), 0
        for repeat, held_out in self._folds(n_repeats):
            model = self._fit(member, _FOLD_TREES, held_out, salt=n_fits)
            found = raw_scores(model, table[np.r_[self.labeled[held_out], reference]], self.n_outputs)
            scores[repeat, held_out] = found[: len(held_out)]
            ranks[repeat, held_out] = Reference(found).ranks(found[: len(held_out)])
            n_fits += 1
        if len(reference) < _LEAST_REFERENCE:
            ranks = np.array([Reference(one).ranks(one) for one in scores])
        return Evidence(ranks.mean(axis=0), scores[0], (time.perf_counter() - start) / n_fits)

    def with_fewer(self, member, share):
        """Ranks of the labeled rows, out of fold, by models that are fitted to a share of the other labels only.

        Parameters
        ----------
        member : Member
        share : float
            Of the labels that are not held out; at least two rows of each class are kept.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        table = self.tables[member.view, member.learns]
        reference = self._sample(self.unlabeled, _REFERENCE)
        ranks = np.zeros((len(self.labeled), self.n_outputs))
        scores = np.zeros_like(ranks)
        for number, (_, held_out) in enumerate(self._folds(1)):
            left_out = np.r_[held_out, self._dropped(held_out, share, number)]
            model = self._fit(member, _FOLD_TREES, left_out, salt=number)
            found = raw_scores(model, table[np.r_[self.labeled[held_out], reference]], self.n_outputs)
            scores[held_out] = found[: len(held_out)]
            ranks[held_out] = Reference(found).ranks(found[: len(held_out)])
        return ranks if len(reference) >= _LEAST_REFERENCE else Reference(scores).ranks(scores)

    def _dropped(self, held_out, share, salt):
        """Rows that are not held out, and yet not learned from: the same share of each class."""
        others = np.setdiff1d(np.arange(len(self.y)), held_out)
        rng = check_random_state((self.seed + salt) % (2**31 - 1))
        dropped = [np.zeros(0, dtype=int)]
        for code in range(self.n_classes):
            rows = rng.permutation(others[self.y[others] == code])
            dropped.append(rows[max(2, round(share * len(rows))) :])
        return np.concatenate(dropped)

    def finish(self, member, evidence):
        """The member, fitted to all rows.

        Parameters
        ----------
        member : Member
        evidence : Evidence

        Returns
        -------
        FittedMember
        """
        table = self.tables[member.view, member.learns]
        model = freeze(self._fit(member, _FINAL_TREES), table.shape[1])
        rows = self._sample(self.unlabeled, 4000)
        scores = raw_scores(model, table[rows], self.n_outputs) if len(rows) else evidence.scores[:0]
        if len(rows) < _LEAST_REFERENCE:  # labeled rows, by models that were not fitted to them
            scores = np.vstack([scores, evidence.scores])
        return FittedMember(self.views[member.view, member.learns], model, Reference(scores), self.n_outputs)

    def _folds(self, n_repeats):
        """Pairs (repeat, rows held out); the latter as positions among the labeled rows."""
        rng = check_random_state(self.seed)
        n_splits = self.n_splits
        for repeat in range(n_repeats):
            splitter = StratifiedKFold(n_splits, shuffle=True, random_state=rng.randint(2**31 - 1))
            for _, held_out in splitter.split(self.y, self.y):
                yield repeat, held_out

    def _fit(self, member, n_trees, held_out=(), salt=0):
        keep = np.ones(len(self.labeled), dtype=bool)
        keep[np.asarray(held_out, dtype=int)] = False
        rows, y = self.labeled[keep], self.y[keep]
        seed = (self.seed + 7919 * salt) % (2**31 - 1)
        context = Context(seed, n_trees, self.task, len(self.labeled), self.n_classes, self.prior)
        if member.fits_unlabeled and self.task == "p":
            y = np.where(y == 1, 1, -1)
        elif member.fits_unlabeled:
            hidden = self._sample(self.unlabeled, member.most_unlabeled)
            rows, y = np.r_[rows, hidden], np.r_[y, np.full(len(hidden), -1)]
        return member.make(context).fit(self.tables[member.view, member.learns][rows], y)

    def _sample(self, rows, most):
        return rows if len(rows) <= most else check_random_state(self.seed).permutation(rows)[:most]


def _learn_views(X, labeled, wanted, seed):
    """The views of a table, by name and by the rows they are learned from; None stands for the table as it is."""
    views = {}
    for source in sorted({source for _, source in wanted}):
        names = {name for name, other in wanted if other == source}
        if "raw" in names:
            views["raw", source] = None
        if names == {"raw"}:
            continue
        rows = X if source == ALL else X[labeled]
        views["scaled", source] = scaled = ScaledView(rows)
        z = scaled.transform(rows)
        if names & {"components", "spectral"}:
            views["components", source] = ComponentsView(scaled, z)
        if "spectral" in names:
            views["spectral", source] = SpectralView(views["components", source], z, check_random_state(seed))
    return {key: view for key, view in views.items() if key in wanted}
