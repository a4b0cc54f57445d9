"""AutoClassifier: labels -> features -> crossfit -> weights -> refit -> calibration."""

import numbers
from collections.abc import Callable
from time import monotonic
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import logit
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED

from fewlabel import labels
from fewlabel.auto._attempt import attempt, reasons, status_of, warn_failed
from fewlabel.auto._board import ENSEMBLE, AdditiveChoice, additive_choice, as_frame, headline
from fewlabel.auto._crossfit import Evidence, TrainingRows, refit
from fewlabel.auto._effect import UnlabeledEffect, unlabeled_effect
from fewlabel.auto._experience import experience
from fewlabel.auto._fitted import log_odds, normalized
from fewlabel.auto._intervals import interval, prior_is_too_large
from fewlabel.auto._members import ADDITIVE, select_members
from fewlabel.auto._reading import read_task
from fewlabel.auto._trials import OUT_OF_TIME, try_members, usual_repeats
from fewlabel.auto._weights import SCORERS, choose, combine, cross_fitted, expected, find_scorer
from fewlabel.base import Interval, RankingClassifier, StrOptions, check_weights, fit_context
from fewlabel.calibration import calibrate, calibrate_pu, prior_shift
from fewlabel.folds import Sampling
from fewlabel.positive_unlabeled import check_prior_fits
from fewlabel.thread_limits import one_thread
from fewlabel.threads import map_in_threads
from fewlabel.types import MatrixLike, Seed

BLOCK = 4096  # rows that are scored together; matrix products of other sizes may differ in the last bit
_SHARE_OF_CROSSFIT = 0.6  # of the time budget; the rest is for fitting the chosen members to all rows


class AutoClassifier(RankingClassifier):
    r"""Compare a portfolio of methods out of fold, combine the best ones by weighted ranks.

    Which family of models ranks best with few labels varies from table to table, and so does whether unlabeled rows
    help. Every member :math:`m` of a portfolio (linear, kernel, forest, boosting, neighbor and graph methods, with and
    without the unlabeled rows) therefore scores each labeled row by a model that was not fitted to it. Scores become
    ranks :math:`r_m(x) \in (0, 1)` among reference rows, and the ranks are averaged,

    .. math:: s(x) = \sum_m w_m r_m(x), \qquad w_m \ge 0, \quad \sum_m w_m = 1 ,

    with weights :math:`w_m \propto e^{k \hat\theta_m}`. The estimate :math:`\hat\theta_m` of a member's AUC, on the
    scale :math:`2 \arcsin \sqrt{\mathrm{AUC}}`, combines what it achieved on other tables with as many labels, relative
    to the other members, and its out-of-fold score, each by its precision: with ten labels experience decides, with
    hundreds the table itself. Small weights become 0. The chosen members are then fitted to all rows.

    Binary, multi-class (one class against the rest, averaged over classes) and positive-unlabeled labels. If only one
    class is labeled, it is the positive class, and members are compared by the AUC estimated from positives and
    unlabeled rows with the estimated prior (:func:`fewlabel.metrics.pu_auc_score`).

    Parameters
    ----------
    portfolio : "auto", "small" or list of str, default="auto"
        Members to try: all that suit the labels and are installed; a few fast ones; or these, by the names in
        `leaderboard_`.
    scoring : {"roc_auc", "average_precision"} or callable, default="roc_auc"
        Score to maximize; a callable is ``scoring(positive, score)`` with an array of bool, without sample weights.
        Positive-unlabeled data always use the AUC.
    n_repeats : int or "auto", default="auto"
        Number of times that the labeled rows are split into 5 folds; "auto" uses more repeats with fewer labels.
    time_budget : float, default=None
        Seconds for the fit: no member is tried after 60% of them, so that time is left to fit the chosen members to
        all rows. A member that was started is finished. Without a budget the result depends on `random_state` alone.
    prior : float, default=None
        Share of positives among the unlabeled rows. With positive-unlabeled data it is estimated if None. With two
        classes it moves the probabilities, which then average to it over the unlabeled rows; the ranking and `predict`
        stay as they are. Not for three classes or more.
    interpretable : bool, default=False
        Choose one additive member, a sum of step functions, instead of an ensemble: the model can then be written as a
        scorecard. The other members are only compared with it, see `additive_choice_`. Not for three classes or more.
    n_jobs : int, default=None
        Number of members fitted at the same time, in threads; -1 means all cores. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws folds and seeds the members. The order of the rows does not matter: they get one of their own first.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    positive_ : int or None
        Position of the positive class: 1, or 0 in positive-unlabeled data whose only label is "fraud", beside "not
        fraud". None with three classes or more.
    task_ : {"binary", "multiclass", "positive-unlabeled"}
        How `y` was read.
    leaderboard_ : DataFrame
        One row per member and one for the ensemble, the best first: `method`, `family`, `score` (out of fold), `low`
        and `high` (95% interval), `prior` and `posterior` (the AUC to expect by experience alone, and with the score
        known), `fit_seconds`, `uses_unlabeled`, `weight` and `status`. The row of the ensemble is
        cross-fitted: its weights were chosen without the rows they are evaluated on. `status` is "ok", or the reason
        why a member is left out: "failed: ValueError: ...", "skipped: time budget", "not installed: xgboost"; it then
        has no score, and the other rows are as if it were not in the portfolio.
    headline_ : dict
        `score`, `low` and `high` of the ensemble's row: what to expect on new rows.
    ensemble_weights_ : dict
        Weight of each chosen member.
    score_ : float
        Out-of-fold score of the ensemble with these weights.
    additive_choice_ : AdditiveChoice or None
        With `interpretable`, the chosen member beside the best of all; its `text` says what being additive costs.
    unlabeled_effect_ : UnlabeledEffect or None
        What the unlabeled rows are worth: a member that uses them, compared with itself without them on the same folds.
        None for positive-unlabeled data, without unlabeled rows, or if the time budget is spent.
    out_of_fold_ : ndarray of shape (n_tested,) or (n_tested, n_classes)
        Cross-fitted decision function of the labeled rows, in their order; with `time`, of the later ones.
    labeled_rows_ : ndarray of int
        Positions of these rows in `X`. For positive-unlabeled data they include unlabeled rows.
    training_share_ : float
        Share of the labeled rows that the models of `out_of_fold_` were fitted to.
    n_copies_ : int
        Labeled rows that are exact or near duplicates of each other. They are on one side of every split.
    prior_ : float or None
        The prior that was used, for positive-unlabeled data.
    base_rate_ : float or None
        Share of positives that `predict_proba` refers to: `prior` if it is given or estimated, otherwise that of the
        labeled rows. None with three classes or more.
    members_ : dict
        The fitted members by name; ``members_[name].model`` is the estimator. In a model that was loaded from a file,
        forests and boosters of other libraries are :class:`fewlabel.persistence.FrozenTrees` or `FrozenSymmetricTrees`.
    offset_ : float
        Added to the score, so that 0 is the threshold of `predict`.
    calibration_ : ndarray
        Slope and intercept of the log-odds in the decision function.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    A ranking has no threshold. With two classes `predict` uses the one with the best balanced accuracy on the
    out-of-fold scores of the labeled rows, and `predict_proba` a sigmoid fitted to them, which is flatter the fewer
    labels there are. With more classes each has its own sigmoid, and the probabilities are normalized. Probabilities
    refer to the share of positives among the labeled rows. If these were not drawn at random, such as the same number
    of each class, give `prior`.

    Missing values (NaN) are replaced by medians and flagged in extra columns, or left as they are for members that
    accept them. Columns are scaled by the labeled rows for members that use only these; components and graph features
    are learned from all rows.

    While members are fitted, BLAS is limited to one thread. The limit is lifted before `callback` is called, unless
    `n_jobs` has members running at that moment.

    References
    ----------
    .. [1] B. Efron, C. Morris. Stein's Estimation Rule and Its Competitors: An Empirical Bayes Approach. Journal of the
       American Statistical Association 68, 1973. The combination of experience and evidence.
    .. [2] P. Geurts, D. Ernst, L. Wehenkel. Extremely randomized trees. Machine Learning 63, 2006.
    .. [3] M. Belkin, P. Niyogi. Semi-supervised learning on Riemannian manifolds. Machine Learning 56, 2004. Features
       from the graph of all rows.
    .. [4] T. Sakai, G. Niu, M. Sugiyama. Semi-supervised AUC optimization based on positive-unlabeled learning. Machine
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
        "interpretable": ["boolean"],
        "n_jobs": [numbers.Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        portfolio: str | list[str] = "auto",
        *,
        scoring: str | Callable = "roc_auc",
        n_repeats: int | Literal["auto"] = "auto",
        time_budget: float | None = None,
        prior: float | None = None,
        interpretable: bool = False,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.portfolio = portfolio
        self.scoring = scoring
        self.n_repeats = n_repeats
        self.time_budget = time_budget
        self.prior = prior
        self.interpretable = interpretable
        self.n_jobs = n_jobs
        self.random_state = random_state

    __metadata_request__fit = {"callback": UNUSED}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
        *,
        callback: Callable | None = None,
    ) -> Self:
        """Compare the portfolio out of fold, choose weights, and fit the chosen members to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The table; labeled and unlabeled rows. NaN marks a missing value.
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` where it is unknown.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the scores and for the members whose `fit` takes them. A row of weight 0 is left
            out. A row of weight 2 is in one fold, so that it is not the same as a repeated row.
        groups : array-like of shape (n_samples,), default=None
            The patient, customer or device of each row. Rows of one are on one side of every split, so that scores are
            those of new ones.
        time : array-like of shape (n_samples,), default=None
            When each row was recorded: numbers or dates. Members are tested on rows that are later than all that they
            were fitted to, so that scores are those of the future; the earlier half of the labeled rows is not tested.
        callback : callable, default=None
            Progress: ``callback(done, total, name)`` is called after each step, in the thread that called `fit`.
            `total` decreases if members are skipped because the time budget is spent.

        Returns
        -------
        self : object
        """
        start = monotonic()
        labels.require_y(y, self)
        X = np.asarray(self._validate(X, reset=True, ensure_min_samples=2), dtype=np.float64)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        weight = None if sample_weight is None else check_weights(sample_weight, X)
        self.classes_, self.task_, codes, kept, self.prior_ = read_task(X, y, self.prior, seed, weight)
        self.classes_, positions = labels.sorted_classes(self.classes_)
        self.positive_ = positions[1] if len(positions) == 2 else None
        sampling = Sampling.read(codes, groups, time, None if weight is None else weight / weight[kept].mean())
        has_unlabeled = bool((codes[kept] < 0).any())
        members, left_out = select_members(self.portfolio, self.task_, has_unlabeled, additive=self.interpretable)
        report = callback or (lambda done, total, name: None)
        total = len(members) + 2

        rows = TrainingRows(X[kept], codes[kept], self.task_, members, seed, self.prior_, sampling.reorder(kept))
        self.labeled_rows_, self.n_copies_ = kept[rows.labeled[rows.tested]], rows.n_copies
        report(1, total, "features of all rows")
        evidence, done = {}, 1
        for member, found in self._try(rows, members, start):
            if isinstance(found, Evidence):
                evidence[member] = found
            else:
                left_out[member] = found
            if found is OUT_OF_TIME:
                total -= 1
            else:
                done += 1
                report(done, total, f"{member.name} (failed)" if member in left_out else member.name)
        evidence = {m: evidence[m] for m in members if m in evidence}
        out_of_fold = self._choose(rows, evidence, left_out)
        if self.prior_ is not None and self.prior is not None:
            sure = prior_is_too_large(rows.tested_y, out_of_fold, self.prior)
            check_prior_fits(self.prior, X[kept], codes[kept] == 1, sure=sure)
        effect = None
        if self.time_budget is None or monotonic() < start + self.time_budget:
            effect = unlabeled_effect(rows, evidence, self.ensemble_weights_, self._n_repeats(rows), self._scorer)
        self._effect = None if effect is None else list(effect)
        self._calibrate(log_odds(out_of_fold), rows, X[kept[codes[kept] < 0]])
        report(total, total, "the chosen members on all rows")
        return self

    def _try(self, rows, members, start):
        """Yield each member with its evidence, an error, or `OUT_OF_TIME`."""
        deadline = np.inf if self.time_budget is None else start + _SHARE_OF_CROSSFIT * self.time_budget
        first = ADDITIVE if self.interpretable else ()
        return try_members(rows, members, self._n_repeats(rows), deadline, self.n_jobs, first)

    def _n_repeats(self, rows):
        return usual_repeats(len(rows.tested)) if self.n_repeats == "auto" else self.n_repeats

    def _choose(self, rows, evidence, left_out):
        """Weigh the members and fit the chosen ones to all rows; return the ensemble's cross-fitted ranks.

        A member that cannot be fitted to all rows is left out, and the others are weighed again without it.
        """
        fitted = {}
        while any(m.name in ADDITIVE or not self.interpretable for m in evidence):
            out_of_fold = self._weigh(rows, evidence, left_out)
            chosen = [m for m in evidence if m.name in self.ensemble_weights_]
            new = [m for m in chosen if m not in fitted]
            jobs = [(refit, rows, m, evidence[m]) for m in new]
            fitted.update(zip(new, map_in_threads(lambda job: attempt(*job), jobs, self.n_jobs)))
            failed = {m: fitted[m] for m in chosen if isinstance(fitted[m], Exception)}
            if not failed:
                self.members_ = {m.name: fitted[m] for m in chosen}
                warn_failed(left_out)
                return out_of_fold
            left_out.update(failed)
            evidence = {m: one for m, one in evidence.items() if m not in failed}
        cause = next((why for why in left_out.values() if isinstance(why, Exception)), None)
        kind = "additive method" if self.interpretable else "method"
        raise RuntimeError(f"no {kind} could be fitted: {reasons(left_out)}; name others in `portfolio`") from cause

    def _weigh(self, rows, evidence, left_out):
        """Set weights and leaderboard; return the ensemble's cross-fitted ranks."""
        members, ranks = list(evidence), np.array([found.ranks for found in evidence.values()])
        y, seed, sampling, scorer = rows.tested_y, rows.seed, rows.tested_sampling, self._scorer
        uses = np.array([rows.uses_unlabeled(m) for m in members])
        known = experience().of([m.name for m in members], self.task_)
        known = known.best_of(ADDITIVE) if self.interpretable else known
        weights = choose(ranks, y, scorer, known, sampling.weight)
        self.ensemble_weights_ = {m.name: float(w) for m, w in zip(members, weights) if w > 0}
        self.score_ = interval(y, combine(weights, ranks), scorer, self.prior_, seed, sampling)[0]
        share = self.training_share_ = rows.training_share
        found = [interval(y, r, scorer, self.prior_, seed, sampling, share) for r in ranks]
        board = [
            (m.name, m.family, *ends, *aucs, evidence[m].seconds, bool(u), float(w), "ok")
            for m, ends, aucs, u, w in zip(members, found, expected(ranks, y, scorer, known), uses, weights)
        ]
        out_of_fold = cross_fitted(ranks, y, scorer, known, seed, sampling)
        own = interval(y, out_of_fold, scorer, self.prior_, seed, sampling, share)
        seconds = float(sum(found.seconds for found in evidence.values()))
        nothing, mixed = [np.nan] * 6, bool(weights[uses].any())
        board.append(("AutoClassifier", ENSEMBLE, *own, *nothing[:2], seconds, mixed, 1.0, "ok"))
        board.sort(key=lambda row: -row[2])
        board += [(m.name, m.family, *nothing, rows.uses_unlabeled(m), 0.0, status_of(w)) for m, w in left_out.items()]
        self._board = [list(column) for column in zip(*board)]
        return out_of_fold

    @property
    def _scorer(self):
        return find_scorer(self.scoring if self.prior_ is None else "roc_auc")

    def _calibrate(self, scores, rows, unlabeled):
        """Set threshold, out-of-fold decision function and, last, the probabilities."""
        y, weight, self.base_rate_ = rows.tested_y, rows.tested_sampling.weight, self.prior_
        if self.prior_ is not None:
            self.offset_, log_odds = calibrate_pu(scores[:, 0], y == 1, self.prior_, weight)
        elif scores.shape[1] == 1:
            self.offset_, log_odds = calibrate(scores[:, 0], y == 1, weight, shrink=True)
            self.base_rate_ = float(np.average(y == 1, weights=weight))
            if self.prior is not None:
                self.base_rate_ = self.prior
                log_odds[1] = self._prior_intercept(log_odds[0], unlabeled)
        else:
            found = [calibrate(scores[:, k], y == k, weight, shrink=True) for k in range(scores.shape[1])]
            self.offset_, log_odds = (np.array(part) for part in zip(*found))
        order = np.argsort(self.labeled_rows_)
        self.labeled_rows_, decision = self.labeled_rows_[order], (scores + self.offset_)[order]
        self.out_of_fold_ = decision[:, 0] if scores.shape[1] == 1 else normalized(decision, log_odds)
        self.calibration_ = log_odds

    def _prior_intercept(self, slope, unlabeled):
        """Intercept of the log-odds for the stated prior."""
        if len(unlabeled) == 0:
            return logit(self.prior)
        return prior_shift(slope * (self._score(unlabeled) + self.offset_), self.prior)

    def _score(self, X):
        with one_thread():  # sums then have one order
            scores = np.vstack([self._score_block(X[i : i + BLOCK]) for i in range(0, max(len(X), 1), BLOCK)])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _score_block(self, X):
        X = np.ascontiguousarray(X, dtype=np.float64)
        total = 0.0
        for name, weight in self.ensemble_weights_.items():
            total = total + weight * self.members_[name].ranks(X)
        return log_odds(total)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Score of each row; higher means more confident.

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
        return decision if decision.ndim == 1 else np.log(normalized(decision, self.calibration_))

    def classes_at(self, decision: np.ndarray) -> np.ndarray:
        """Class of each row, by its decision function."""
        return super().classes_at(decision) if decision.ndim == 1 else self.classes_[decision.argmax(axis=1)]

    def probabilities_at(self, decision: np.ndarray) -> np.ndarray:
        """Probability of each class, by the decision function."""
        return super().probabilities_at(decision) if decision.ndim == 1 else np.exp(decision)

    @property
    def leaderboard_(self) -> pd.DataFrame:
        return as_frame(self._board)

    @property
    def headline_(self) -> dict[str, float]:
        return headline(self._board)

    @property
    def additive_choice_(self) -> AdditiveChoice | None:
        return additive_choice(self._board) if self.interpretable else None

    @property
    def unlabeled_effect_(self) -> UnlabeledEffect | None:
        return None if self._effect is None else UnlabeledEffect(*self._effect)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags
