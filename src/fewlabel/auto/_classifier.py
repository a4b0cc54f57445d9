"""AutoClassifier: the choice between the methods, by out-of-fold evidence."""

import numbers
import time
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from threadpoolctl import threadpool_limits

from fewlabel import labels
from fewlabel.auto._crossfit import Job, quietly
from fewlabel.auto._intervals import compare, interval
from fewlabel.auto._members import PORTFOLIO, TRIED_FIRST, available
from fewlabel.auto._weights import SCORERS, choose, cross_fitted
from fewlabel.base import Interval, RankingClassifier, StrOptions, fit_context
from fewlabel.calibration import calibrate, calibrate_pu
from fewlabel.exceptions import LabelError
from fewlabel.prior import class_prior
from fewlabel.threads import map_in_threads

BLOCK = 4096  # rows that are scored together; matrix products of other sizes may differ in the last bit
_LETTERS = {"binary": "b", "multiclass": "m", "positive-unlabeled": "p"}
_LEAST = 2  # labeled rows of a class: one to learn from, one to check with
_MOST_PU = 5000  # unlabeled rows of positive-unlabeled data: more of them only cost time
_EDGE = 1e-6  # ranks are kept this far from 0 and 1, where their log-odds are infinite
_SHARE_OF_EVIDENCE = 0.6  # of the time budget; the rest is for fitting the chosen members to all rows


class UnlabeledEffect(NamedTuple):
    """What the unlabeled rows are worth: out of fold, the best method that uses them against the best that does not.

    Attributes
    ----------
    difference : float
        Of the scores; positive if the unlabeled rows help.
    low, high : float
        Its 95% interval, on the same rows.
    pvalue : float
    method, supervised : str
        The two methods.
    """

    difference: float
    low: float
    high: float
    pvalue: float
    method: str
    supervised: str


class AutoClassifier(RankingClassifier):
    r"""The best ranking that these labels can give: a small portfolio, judged out of fold, and a weighted few of it.

    Which family of models ranks best with few labels changes from table to table, and so does whether unlabeled rows
    help. Every member :math:`m` of a portfolio (linear, kernel, forest, boosting, neighbor and graph methods, with and
    without the unlabeled rows) therefore scores each labeled row by a model that was not fitted to it. Scores become
    ranks :math:`r_m(x) \in (0, 1)` among reference rows, and the ranks are averaged,

    .. math:: s(x) = \sum_m w_m r_m(x), \qquad w_m \ge 0, \quad \sum_m w_m = 1 ,

    with weights that fall with a member's distance to the best out-of-fold score, as far as that is not chance. Greedy
    picks are added until the ensemble's out-of-fold score on the labeled rows is not worse than that of the best
    single member that uses labeled rows alone. The chosen members are then fitted to all rows.

    Binary, multi-class (one class against the rest, the mean over classes) and positive-unlabeled labels: if one class
    alone is labeled, it is taken for the positive class, and members are judged by the AUC that positives and
    unlabeled rows tell, with the estimated prior (:func:`fewlabel.metrics.pu_auc_score`).

    Parameters
    ----------
    portfolio : "auto", "small" or list of str, default="auto"
        Members to try: all that suit the labels and are installed; a few quick ones; or these, by the names in
        `leaderboard_`.
    scoring : {"roc_auc", "average_precision"} or callable, default="roc_auc"
        What is maximized; a callable is ``scoring(positive, score)`` with an array of bool. Positive-unlabeled data
        always use the AUC.
    n_repeats : int or "auto", default="auto"
        How often the labeled rows are dealt into 5 folds anew; "auto" takes more repeats the fewer labels there are.
    time_budget : float, default=None
        Seconds after which no further member is tried. Without it the result depends on `random_state` alone.
    prior : float, default=None
        P(y = positive) among the unlabeled rows, for positive-unlabeled data. None has it estimated.
    n_jobs : int, default=None
        Members that are fitted at the same time; -1 for all cores. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws folds, and seeds the members.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    task_ : {"binary", "multiclass", "positive-unlabeled"}
        How `y` was read.
    leaderboard_ : DataFrame
        One row for each member that was tried and one for the ensemble, the best first: `method`, `family`, `score`
        (out of fold), `low` and `high` (95% interval), `fit_seconds`, `uses_unlabeled` and `weight`. The ensemble's
        row is cross-fitted: its weights were chosen without the rows they are judged on.
    ensemble_weights_ : dict
        Weight of each chosen member.
    score_ : float
        Out-of-fold score of the ensemble with these weights.
    unlabeled_effect_ : UnlabeledEffect or None
        Difference between the best member that uses unlabeled rows and the best that does not. None for
        positive-unlabeled data, or without unlabeled rows. Each is the best of several, so that small differences
        mean little.
    out_of_fold_ : ndarray of shape (n_labeled,) or (n_labeled, n_classes)
        Cross-fitted decision function of the labeled rows, in their order; for honest curves.
    labeled_rows_ : ndarray of int
        Positions of these rows in `X`. For positive-unlabeled data unlabeled rows are among them.
    prior_ : float or None
        The prior that was used, for positive-unlabeled data.
    members_ : dict
        The fitted members, by name.
    offset_ : float
        Added to the score, so that 0 is the threshold of `predict`.
    calibration_ : ndarray
        Slope and intercept of the log-odds in the decision function.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    The objective has no threshold: with two classes `predict` uses the one with the best balanced accuracy on the
    out-of-fold scores of the labeled rows, and `predict_proba` a sigmoid fitted to them. With more classes each has
    its own sigmoid, and the probabilities are scaled to sum to 1.

    Gaps (NaN) are filled with medians and marked, or left as they are for members that take them. Columns are scaled by
    the labeled rows for members that use these alone; components and graph features are learned from all rows.

    References
    ----------
    .. [1] Caruana, Niculescu-Mizil, Crew, Ksikes. Ensemble selection from libraries of models. ICML, 2004.
    .. [2] Geurts, Ernst, Wehenkel. Extremely randomized trees. Machine Learning 63, 2006.
    .. [3] Belkin, Niyogi. Semi-supervised learning on Riemannian manifolds. Machine Learning 56, 2004. Features from
       the graph of all rows.
    .. [4] Sakai, Niu, Sugiyama. Semi-supervised AUC optimization based on positive-unlabeled learning. Machine
       Learning 107, 2018. The AUC of positives against unlabeled rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import AutoClassifier, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> few = hide_labels(y, labeled=0.1, random_state=0)
    >>> model = AutoClassifier(portfolio="small", random_state=0).fit(X, few)
    >>> bool(model.score_ > 0.95)
    True
    >>> list(model.leaderboard_.columns[:3])
    ['method', 'family', 'score']
    """

    _allow_nan = True
    _parameter_constraints: dict = {
        "portfolio": [StrOptions({"auto", "small"}), list, tuple],
        "scoring": [StrOptions(set(SCORERS)), callable],
        "n_repeats": [Interval(numbers.Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "time_budget": [Interval(numbers.Real, 0, None, closed="neither"), None],
        "prior": [Interval(numbers.Real, 0, 1, closed="neither"), None],
        "n_jobs": [numbers.Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        portfolio="auto",
        *,
        scoring="roc_auc",
        n_repeats="auto",
        time_budget=None,
        prior=None,
        n_jobs=None,
        random_state=None,
    ):
        self.portfolio = portfolio
        self.scoring = scoring
        self.n_repeats = n_repeats
        self.time_budget = time_budget
        self.prior = prior
        self.n_jobs = n_jobs
        self.random_state = random_state

    __metadata_request__fit = {"callback": UNUSED}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, *, callback=None):
        """Try the portfolio, choose, and fit the chosen members to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The table; labeled and unlabeled rows. NaN marks a gap.
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` where it is not known.
        callback : callable, default=None
            Progress: ``callback(done, total, name)`` is called after each step, in the thread that called `fit`.

        Returns
        -------
        self : object
        """
        start = time.monotonic()
        labels.require_y(y, self)
        X = np.asarray(self._validate(X, reset=True, ensure_min_samples=2), dtype=np.float64)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        codes, kept = self._read(X, y, seed)
        members = self._members(codes[kept])
        total, evidence = len(members) + 2, {}
        report = callback or (lambda done, total, name: None)
        with quietly():
            job = Job(X[kept], codes[kept], _LETTERS[self.task_], members, seed, self.prior_)
            report(1, total, "features of all rows")
            for number, (member, found) in enumerate(self._try(job, members, start), 2):
                if found is not None:
                    evidence[member] = found
                report(number, total, member.name)
            evidence = {m: evidence[m] for m in members if m in evidence}
            self.labeled_rows_ = kept[job.labeled]
            self._choose(job, evidence)
            chosen = [m for m in evidence if m.name in self.ensemble_weights_]
            fitted = map_in_threads(lambda m: job.finish(m, evidence[m]), chosen, self.n_jobs)
            self.members_ = {m.name: one for m, one in zip(chosen, fitted)}
        report(total, total, "the chosen members on all rows")
        return self

    def _read(self, X, y, seed):
        """Set what is known of the classes; the code of each row, and the rows that are learned from."""
        found = labels.read(y)
        labels.require_labels(found)
        check_consistent_length(X, found.codes)
        codes, kept = found.codes, np.arange(len(found.codes))
        self.prior_ = None
        if len(found.classes) > 1:
            self.classes_ = found.classes
            self.task_ = "binary" if len(found.classes) == 2 else "multiclass"
        else:
            self.classes_, positive = labels.read_pu(y)  # says what is wrong if no row is unlabeled
            self.task_ = "positive-unlabeled"
            labels.warn_positive_unlabeled(y, found, stacklevel=4)
            codes = positive.astype(np.int64)
            prior = class_prior(X, positive, seed) if self.prior is None else self.prior
            self.prior_ = float(np.clip(prior, 0.001, 0.999))
            hidden = np.flatnonzero(~positive)
            if len(hidden) > _MOST_PU:
                hidden = check_random_state(seed).permutation(hidden)[:_MOST_PU]
            kept = np.sort(np.r_[np.flatnonzero(positive), hidden])
        check_counts(self.classes_, codes)
        return codes, kept

    def _members(self, codes):
        members = available(_LETTERS[self.task_], has_unlabeled=bool((codes < 0).any()))
        if self.portfolio == "auto":
            return members
        if self.portfolio == "small":
            return [m for m in members if m.quick]
        known = {m.name for m in PORTFOLIO}
        unknown = [name for name in self.portfolio if name not in known]
        chosen = [m for m in members if m.name in self.portfolio]
        if unknown or not chosen:
            what = f"{unknown[0]!r} is not known" if unknown else f"none is for {self.task_} labels"
            raise ValueError(f"portfolio: {what}; choose from {', '.join(repr(m.name) for m in members)}")
        return chosen

    def _try(self, job, members, start):
        """Pairs of member and evidence as they come; the evidence is None where the time was over."""
        n_repeats = _repeats(len(job.y)) if self.n_repeats == "auto" else self.n_repeats
        deadline = np.inf if self.time_budget is None else start + _SHARE_OF_EVIDENCE * self.time_budget
        order = sorted(members, key=lambda m: TRIED_FIRST.index(m.name) if m.name in TRIED_FIRST else len(TRIED_FIRST))

        def one(member):
            late = member is not order[0] and time.monotonic() > deadline
            return member, None if late else job.out_of_fold(member, n_repeats)

        return map_in_threads(one, order, self.n_jobs)

    def _choose(self, job, evidence):
        """Weights of the members, the leaderboard, what the unlabeled rows are worth, threshold and probabilities."""
        members, ranks = list(evidence), np.array([found.ranks for found in evidence.values()])
        scorer = self._scorer
        uses = np.array([job.uses_unlabeled(m) for m in members])
        supervised = ~uses if self.prior_ is None else np.ones(len(uses), dtype=bool)
        weights = choose(ranks, job.y, scorer, supervised)
        self.ensemble_weights_ = {m.name: float(w) for m, w in zip(members, weights) if w > 0}

        def judged(of_rows):
            return interval(job.y, of_rows, scorer, self.prior_, job.seed)

        self.score_ = judged(np.tensordot(weights, ranks, axes=1))[0]
        honest = cross_fitted(ranks, job.y, scorer, supervised, job.seed)
        board = [
            (m.name, m.family, *judged(r), evidence[m].seconds, bool(u), float(w))
            for m, r, u, w in zip(members, ranks, uses, weights)
        ]
        self._effect = None
        if uses.any() and not uses.all() and self.prior_ is None:
            scores = np.array([row[2] for row in board])
            best, other = (int(np.flatnonzero(group)[scores[group].argmax()]) for group in (uses, ~uses))
            found = compare(job.y, ranks[best], ranks[other], scorer, job.seed)
            self._effect = [*map(float, found), members[best].name, members[other].name]
        seconds = float(sum(found.seconds for found in evidence.values()))
        board.append(("AutoClassifier", "ensemble", *judged(honest), seconds, bool(weights[uses].any()), 1.0))
        self._board = [list(column) for column in zip(*sorted(board, key=lambda row: -row[2]))]
        self._calibrate(_log_odds(honest), job.y)

    @property
    def _scorer(self):
        return SCORERS.get(self.scoring, self.scoring) if self.prior_ is None else SCORERS["roc_auc"]

    def _calibrate(self, scores, y):
        """Threshold and probabilities from out-of-fold scores."""
        if self.prior_ is not None:
            self.offset_, self.calibration_ = calibrate_pu(scores[:, 0], y == 1, self.prior_)
        elif scores.shape[1] == 1:
            self.offset_, self.calibration_ = calibrate(scores[:, 0], y == 1)
        else:
            found = [calibrate(scores[:, k], y == k) for k in range(scores.shape[1])]
            self.offset_, self.calibration_ = (np.array(part) for part in zip(*found))
        decision = scores + self.offset_
        self.out_of_fold_ = decision[:, 0] if scores.shape[1] == 1 else _normalized(decision, self.calibration_)

    def _score(self, X):
        with threadpool_limits(1):  # sums in one order, on every machine
            scores = np.vstack([self._score_block(X[i : i + BLOCK]) for i in range(0, max(len(X), 1), BLOCK)])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _score_block(self, X):
        X = np.ascontiguousarray(X, dtype=np.float64)
        total = 0.0
        for name, weight in self.ensemble_weights_.items():
            total = total + weight * self.members_[name].ranks(X)
        return _log_odds(total)

    def decision_function(self, X):
        """Score of each row, higher the surer.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes positive where `predict` gives ``classes_[1]``. With more, the logarithm of the probability
            of each class.
        """
        decision = super().decision_function(X)
        return decision if decision.ndim == 1 else np.log(_normalized(decision, self.calibration_))

    def predict(self, X):
        """Class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return super().predict(X)
        return self.classes_[self.decision_function(X).argmax(axis=1)]

    def predict_proba(self, X):
        """Probability of each class, by sigmoids fitted to out-of-fold scores of the labeled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return super().predict_proba(X) if len(self.classes_) == 2 else np.exp(self.decision_function(X))

    @property
    def leaderboard_(self):
        columns = ("method", "family", "score", "low", "high", "fit_seconds", "uses_unlabeled", "weight")
        return pd.DataFrame(dict(zip(columns, self._board)))

    @property
    def unlabeled_effect_(self):
        return None if self._effect is None else UnlabeledEffect(*self._effect)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


def check_counts(classes, codes):
    """Raise `LabelError` if a class has too few labeled rows to learn from and to check with.

    Parameters
    ----------
    classes : ndarray
    codes : ndarray of int
        Position of each row's class, ``-1`` where it is not known.
    """
    counts = np.bincount(codes[codes >= 0])
    present = np.flatnonzero(counts)
    rarest = present[counts[present].argmin()]
    if counts[rarest] < _LEAST:
        raise LabelError(
            f"class {classes[rarest : rarest + 1].tolist()[0]!r} has {counts[rarest]} labeled row(s): at least "
            f"{_LEAST} rows of each class are needed, one to learn from and one to check with. Label more rows of it, "
            "or leave the class out"
        )


def _repeats(n_rows):
    """The fewer labels, the more a single deal of folds is chance."""
    return 3 if n_rows <= 60 else 2 if n_rows <= 120 else 1


def _log_odds(ranks):
    return logit(np.clip(ranks, _EDGE, 1 - _EDGE))


def _normalized(decision, calibration):
    probability = expit(calibration[:, 0] * decision + calibration[:, 1])
    return probability / probability.sum(axis=1, keepdims=True)
