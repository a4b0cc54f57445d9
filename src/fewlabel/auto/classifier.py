"""AutoClassifier: rows -> views -> crossfit -> weights -> refit -> estimates -> parts."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from time import monotonic
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from fewlabel import labels
from fewlabel.auto.attempts import attempt, reasons, warn_failed
from fewlabel.auto.crossfit import (
    OUT_OF_TIME,
    FittedMember,
    MemberEvidence,
    Training,
    refit,
    try_members,
    usual_repeats,
)
from fewlabel.auto.experience import Experience, package_experience
from fewlabel.auto.intervals import DISTRIBUTION_FREE, interval, kind_of_interval, prior_is_too_large
from fewlabel.auto.leaderboard import AdditiveChoice, additive_choice, baseline, headline, leaderboard
from fewlabel.auto.members import ADDITIVE, select_members, unfit_members
from fewlabel.auto.task import read_task
from fewlabel.auto.weights import SCORERS, Weighing, find_scorer, weigh
from fewlabel.base import (
    Count,
    Positive,
    Share,
    StrOptions,
    ValidatesByTags,
    check_weights,
    constraints_of,
    fit_context,
)
from fewlabel.boosting import read_directions
from fewlabel.calibration import calibrate_pu, prior_shift, sigmoid_from_few
from fewlabel.columns import choose_columns
from fewlabel.decisions import FACTOR, auc_range, reversing_odds
from fewlabel.parts import (
    Baseline,
    Chain,
    Classes,
    Evidence,
    FittedModel,
    Formula,
    LogOdds,
    Sigmoids,
    Softmax,
    WeightedSum,
)
from fewlabel.population import Selection, describe_selection
from fewlabel.positive_unlabeled import check_prior_fits
from fewlabel.thread_limits import one_thread
from fewlabel.threads import map_in_threads
from fewlabel.types import MatrixLike, Seed
from fewlabel.warning_filters import caller_level

_LEAST_AUDITED = 2  # rows of each class that were drawn with known probability
_SHARE_OF_CROSSFIT = 0.6  # of the time budget; the rest is for fitting the chosen members to all rows
_MOST_KEPT = 2000  # rows of each kind that are kept to compare new rows with


class ChosenMembers(NamedTuple):
    """The members that were chosen, fitted to all rows.

    Attributes
    ----------
    members : dict
        The fitted members by name.
    weights : dict
        Their weights.
    weighing : Weighing
        Of all members with evidence.
    leaderboard : list of dict
    baseline : dict or None
        What they gain over a plain method.
    unlabeled : ndarray or None
        Ranks of unlabeled rows by the ensemble.
    """

    members: dict[str, FittedMember]
    weights: dict[str, float]
    weighing: Weighing
    leaderboard: list[dict[str, Any]]
    baseline: dict[str, Any] | None
    unlabeled: np.ndarray | None


def _told(name):
    """An attribute that the fitted model tells in its `about`."""
    return property(lambda self: self.model_.about[name])


class AutoClassifier(ValidatesByTags, ClassifierMixin, BaseEstimator):
    r"""Compare a portfolio of methods out of fold, combine the best ones by weighted ranks.

    Which family of models ranks best with few labels varies from table to table, and so does whether unlabeled rows
    help. Every member :math:`m` of a portfolio (linear, kernel, forest, boosting, neighbor and graph methods, with and
    without the unlabeled rows) therefore scores each labeled row by a model that was not fitted to it. Scores become
    ranks :math:`r_m(x) \in (0, 1)` among reference rows, and the ranks are averaged,

    .. math:: s(x) = \sum_m w_m r_m(x), \qquad w_m \ge 0, \quad \sum_m w_m = 1 ,

    with weights :math:`w_m \propto e^{k \hat\theta_m}`. The estimate :math:`\hat\theta_m` of a member's AUC, on the
    scale :math:`2 \arcsin \sqrt{\mathrm{AUC}}`, combines what it achieved on other tables with as many labels, relative
    to the other members, and its out-of-fold score, each by its precision: with ten labels experience decides, with
    hundreds the table itself. These weights are averaged with those by the out-of-fold scores alone, and small ones
    become 0. The chosen members are then fitted to all rows.

    With three classes or more the members' scores become calibrated log-probabilities, and the model is their
    logarithmic opinion pool :math:`p(k \mid x) \propto \prod_m p_m(k \mid x)^{w_m}`, with weights by the log-loss out
    of fold and on other tables of many classes; scores are the mean of one class against the rest. If only one
    class is labeled, it is the positive class, and members are compared by the AUC of positives against unlabeled rows.
    The AUC against negatives, which depends on the share of positives among the unlabeled rows, is then uncertain
    however many rows there are, and its interval says so. All of it assumes that labeled positives are a random sample
    of the positives, which these data cannot show.

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
    monotone : dict or array-like of shape (n_features,), default=None
        With `interpretable`: 1 for a column along which the score of the positive class must not fall, -1 where it must
        not rise, by name or position, such as ``{"income": -1}``. The other members are compared without it.
    labels_drawn : {"auto", "random", "by-columns"}, default="auto"
        How the labeled rows were chosen: at random, or by their columns, such as accepted applicants. "auto" tests
        whether they differ from the unlabeled rows by more than chance. Where they were chosen, `headline_`, intervals,
        threshold and probabilities are for the unlabeled rows: labeled rows are weighted to stand for them. Members are
        fitted without these weights. With positives only, "random" says that they are a random sample of all positives:
        there are then estimates also where more than half of all positives would be labeled.
    labeled_because : list of str or of int, default=None
        With positives only: columns that decided which positives were labeled, such as a region with more inspections.
        The probability of being labeled is estimated as a function of these (SAR-EM, see
        :func:`fewlabel.prior.labeling_probability`), and labeled positives are weighted to stand for the others, in
        fits and in estimates.
    interval : {"experience", "distribution-free"}, default="experience"
        What scores and their 95% intervals are based on. "experience" counts what such models achieved on other tables
        beside the labels: with few labels it is about 30% shorter, and promises too much on hard tables. Scores that
        other tables say nothing about, those of a callable `scoring` among them, are bootstrapped.
        "distribution-free" counts the labels alone, and assumes nothing about the table; scores are then those out of
        fold. For the AUC; not with positives only. With more than two classes it is about three times as long.
    experience : Experience, default=None
        What the members achieved on other tables; None means the experience that comes with the package.
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
        known; the log-loss with three classes or more), `fit_seconds`, `uses_unlabeled`, `weight` and `status`. The row
        of the ensemble is cross-fitted: its weights were chosen without the rows they are evaluated on. `status` is
        "ok", or the reason why a member is left out: "failed: ValueError: ...", "skipped: time budget", "not installed:
        xgboost"; it then has no score, and the other rows are as if it were not in the portfolio.
    selection_ : Selection
        How labeled and unlabeled rows differ, see :func:`fewlabel.population.describe_selection`.
    headline_ : dict
        `score`, `low` and `high` of the ensemble's row: what to expect of the rows of `population`, with an `interval`
        of this kind: that of the parameter, or "bootstrap" for scores that are neither an AUC nor the average precision
        of two classes. If the labels cannot tell, these are NaN, `reason` says why, and `possible` has the `low` and
        `high` AUC if the odds of each unlabeled row are up to `factor` times lower or higher than the labels say; with
        odds `reversing` times lower or higher, the AUC may be 0.5 (None if it is no higher with the odds that the
        labels say).
    baseline_ : dict or None
        What the ensemble gains over a plain method, logistic regression if it was tried: its `method`, the `difference`
        of their scores, and `low` and `high`, the ends of its 95% interval.
    ensemble_weights_ : dict
        Weight of each chosen member.
    score_ : float
        Out-of-fold score of the ensemble with these weights.
    additive_choice_ : AdditiveChoice or None
        With `interpretable`, the chosen member beside the best of all; its `text` says what being additive costs.
    out_of_fold_ : ndarray of shape (n_tested,) or (n_tested, n_classes)
        Cross-fitted decision function of the labeled rows, in their order; with `time`, of the later ones.
    labeled_rows_ : ndarray of int
        Positions of these rows in `X`. For positive-unlabeled data they include unlabeled rows.
    training_share_ : float
        Share of the labeled rows that the models of `out_of_fold_` were fitted to.
    n_copies_ : int
        Labeled rows that are exact or near duplicates of each other. They are on one side of every split.
    prior_ : float or None
        The prior that was used, for positive-unlabeled data: the given one, or that of
        :func:`fewlabel.estimate_class_prior`.
    prior_interval_ : list of float or None
        Its 90% interval, without width if it was given. The data determine its upper end only.
    base_rate_ : float or None
        Share of positives that `predict_proba` refers to: `prior` if it is given or estimated, otherwise that of the
        labeled rows. None with three classes or more.
    model_ : FittedModel
        The fitted model as data: formulas of numbers and arrays. All predictions are its own.
    members_ : dict
        The formulas of the chosen members by name: what each sees of the table, its scores, and their ranks.
    offset_ : float
        Added to the score, so that 0 is the threshold of `predict`. With two classes only.
    calibration_ : ndarray of shape (2,)
        Slope and intercept of the log-odds in the decision function. With two classes only.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    With two classes `predict` gives the positive class where its probability is above its share among the labels, which
    is the threshold of the best expected balanced accuracy: with as many labels of each class it is one half, and the
    class is the one with the higher probability. `predict_proba` is a sigmoid fitted to the out-of-fold scores of the
    labeled rows, with a prior of its slope that comes from other tables: it is flatter the fewer labels there are, and
    never flat. Of more classes `predict` gives the most likely one. A class with one label is learned from, and never
    tested. Probabilities refer to the shares among the labeled rows. If these were not
    drawn at random, such as the same number of each of two classes, give `prior`.

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

    def __init__(
        self,
        portfolio: str | list[str] = "auto",
        *,
        scoring: str | Callable = "roc_auc",
        n_repeats: Count | Literal["auto"] = "auto",
        time_budget: Positive | None = None,
        prior: Share | None = None,
        interpretable: bool = False,
        monotone: Mapping | Sequence | None = None,
        labels_drawn: Literal["auto", "random", "by-columns"] = "auto",
        labeled_because: Sequence | None = None,
        interval: Literal["experience", "distribution-free"] = "experience",
        experience: Experience | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.portfolio = portfolio
        self.scoring = scoring
        self.n_repeats = n_repeats
        self.time_budget = time_budget
        self.prior = prior
        self.interpretable = interpretable
        self.monotone = monotone
        self.labels_drawn = labels_drawn
        self.labeled_because = labeled_because
        self.interval = interval
        self.experience = experience
        self.n_jobs = n_jobs
        self.random_state = random_state

    _parameter_constraints: dict = constraints_of(
        __init__,
        portfolio=[StrOptions({"auto", "small"}), list, tuple],
        scoring=[StrOptions(set(SCORERS)), callable],
        monotone=[Mapping, "array-like", None],
        labeled_because=["array-like", None],
    )
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
        label_probability: ArrayLike | None = None,
        callback: Callable | None = None,
    ) -> Self:
        """Compare the portfolio out of fold, choose weights, and fit the chosen members to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The table; labeled and unlabeled rows. NaN marks a missing value. The order of the rows does not matter.
            That of the columns does, a little: forests and boosters draw columns by their positions.
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
        label_probability : array-like of shape (n_samples,), default=None
            The probability with which each row was chosen to be labeled, if it is known. It takes the place of the
            estimated one. NaN for labeled rows for which it is not known: members learn from them, and estimates are
            based on the others, such as the rows of an audit (:class:`fewlabel.active.AuditQuery`).
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
        # A number gives the estimate that `estimate_class_prior` gives with it.
        prior_seed = self.random_state if isinstance(self.random_state, Integral) else seed
        task = read_task(
            X,
            y,
            groups=groups,
            time=time,
            weight=weight,
            prior=self.prior,
            seed=seed,
            prior_seed=prior_seed,
            because=self._because(),
        )
        rows = task.rows
        if self.scoring != "roc_auc" and self.interval == DISTRIBUTION_FREE:
            raise ValueError("only the AUC has a distribution-free interval: leave out scoring, or leave out interval")
        if task.prior is not None and self.interval == DISTRIBUTION_FREE:
            raise ValueError(
                "the interval cannot be distribution-free if only positives are labeled: the AUC depends on the share "
                "of positives among the unlabeled rows. Leave out interval, or label some negatives"
            )
        scorer = find_scorer(self.scoring if task.prior is None else "roc_auc")
        has_unlabeled = len(rows.unlabeled) > 0
        members, left_out = select_members(self.portfolio, task.name, has_unlabeled, additive=self.interpretable)
        left_out |= unfit_members(members, np.bincount(rows.codes[rows.labeled]), rows.X.shape[1])
        members = [member for member in members if member not in left_out]
        progress = _Progress(callback, len(members) + 2)

        training = Training(rows, task.name, members, seed, task.prior, self.directions())
        progress.step("features of all rows")
        selection = self._selection(task, label_probability)
        if selection.weight is not None and selection.can_tell:
            training.weigh_tested(selection.weight, by_design=selection.audited > 0)
        evidence = self._try(training, members, left_out, start, progress)
        choice = self._choose(training, evidence, left_out, scorer)
        # Once, by the ensemble: members are fitted without checking the prior.
        if task.prior is not None and self.prior is not None:
            too_large = prior_is_too_large(training.tested_rows, choice.weighing.out_of_fold, self.prior)
            check_prior_fits(self.prior, rows.X, rows.codes == 1, sure=too_large)
        self.classes_, places = labels.sorted_classes(rows.classes)
        # The labels name the positive class last; in sorted order it may be the first, as "fraud" before "not fraud".
        self.positive_ = places[1] if len(places) == 2 else None
        self.model_ = self._model(task, training, choice, scorer, selection)
        self.selection_ = selection
        if selection.weight is not None:
            # Rows were compared in an order of their values.
            in_table = np.argsort(task.positions[rows.labeled])
            self.selection_ = replace(selection, weight=selection.weight[in_table])
        progress.finish("the chosen members on all rows")
        return self

    def directions(self) -> np.ndarray | None:
        """Direction of each column by `monotone`, for members that are sums of step functions; None if all are free."""
        if self.monotone is None:
            return None
        if not self.interpretable:
            raise ValueError("monotone is for one additive method: set interpretable=True, or leave monotone out")
        return read_directions(self.monotone, self.n_features_in_, getattr(self, "feature_names_in_", None))

    def _because(self):
        """Positions of the columns of `labeled_because`."""
        if self.labeled_because is None:
            return None
        names = getattr(self, "feature_names_in_", None)
        return choose_columns(self.labeled_because, self.n_features_in_, names, parameter="labeled_because")

    def _selection(self, task, label_probability):
        """How the labeled rows were chosen; positives alone cannot tell that."""
        rows = task.rows
        if task.prior is not None:
            n_labeled = int((rows.codes == 1).sum())
            n_others = task.prior.prior * task.n_unlabeled
            is_random = self.labels_drawn == "random"
            return Selection.of_positives(n_labeled, n_others, trusted=is_random, stated_share=self.prior)
        names = getattr(self, "feature_names_in_", [f"x{k}" for k in range(rows.X.shape[1])])
        selection = self._compared(rows, names)
        if label_probability is None or len(rows.unlabeled) == 0:
            return selection
        known = np.asarray(label_probability, dtype=float)[task.positions][rows.labeled]
        counts = np.bincount(rows.codes[rows.labeled][np.isfinite(known)], minlength=len(rows.classes))
        if counts.sum() > 0 and counts.min() < _LEAST_AUDITED:
            # By their role: the classes of a table have numbers here.
            rarest = "of the rarest class"
            if len(counts) == 2:
                rarest = "positive" if counts.argmin() == 1 else "negative"
            lacks = (
                f"of the {counts.sum()} rows that were drawn with known probability, {counts.min()} "
                f"{'is' if counts.min() == 1 else 'are'} {rarest}: too few to estimate from"
            )
            warnings.warn(f"{lacks}. Label more rows of an audit", UserWarning, stacklevel=caller_level())
            # The other labels are those that the audit was to check.
            return replace(selection, audit_lacks=lacks) if selection.chosen else selection
        return selection.by_design(known)

    def _compared(self, rows, names):
        """Labeled beside unlabeled rows."""
        stated = {"drawn": self.labels_drawn}
        positive = None
        if len(rows.classes) == 2:
            positive = rows.codes == 1
            stated["share"] = self.prior
        if rows.groups is None:
            return describe_selection(rows.X, rows.codes >= 0, names, positive=positive, **stated)
        # Rows of one group are no independent evidence: one row stands for each group.
        _, first, group = np.unique(rows.groups, return_index=True, return_inverse=True)
        is_labeled = rows.codes[first] >= 0
        positive = None if positive is None else positive[first]
        selection = describe_selection(rows.X[first], is_labeled, names, positive=positive, **stated)
        if selection.weight is None:
            return selection
        of_group = np.ones(len(first))
        of_group[is_labeled] = selection.weight
        return replace(selection, weight=of_group[group][rows.codes >= 0])

    def _n_repeats(self, training):
        return usual_repeats(len(training.tested)) if self.n_repeats == "auto" else self.n_repeats

    def _try(self, training, members, left_out, start, progress):
        """Evidence of each member, in the order of the portfolio; the reasons of the others go to `left_out`."""
        deadline = np.inf if self.time_budget is None else start + _SHARE_OF_CROSSFIT * self.time_budget
        first = ADDITIVE if self.interpretable else ()
        evidence = {}
        outcomes = try_members(training, members, self._n_repeats(training), deadline, self.n_jobs, first)
        for member, outcome in outcomes:
            if isinstance(outcome, MemberEvidence):
                evidence[member] = outcome
                progress.step(member.name)
                continue
            left_out[member] = outcome
            if outcome is OUT_OF_TIME:
                progress.drop()
            else:
                progress.step(f"{member.name} (failed)")
        # Members are tried in another order: sums over them must not depend on it.
        return {m: evidence[m] for m in members if m in evidence}

    def _choose(self, training, evidence, left_out, scorer):
        """Weigh the members and fit the chosen ones to all rows.

        A member that cannot be fitted to all rows is left out, and the others are weighed again without it.
        """
        among = ADDITIVE if self.interpretable else None
        candidates = dict(evidence)
        fitted = {}
        while any(among is None or m.name in among for m in candidates):
            names = [m.name for m in candidates]
            experience = (self.experience or package_experience()).of(names, training.task)
            ranks = np.array([results.ranks for results in candidates.values()])
            weighing = weigh(training.tested_rows, ranks, scorer, experience, training.seed, among)
            weights = {m: float(weight) for m, weight in zip(candidates, weighing.weights) if weight > 0}
            # Those of an earlier round are kept: only weights change when another member is left out.
            new = [m for m in weights if m not in fitted]
            outcomes = map_in_threads(lambda m: attempt(refit, training, m, evidence[m]), new, self.n_jobs)
            fitted.update(zip(new, outcomes))
            failed = [m for m in weights if isinstance(fitted[m], Exception)]
            if not failed:
                chosen = {m.name: fitted[m] for m in weights}
                unlabeled = _unlabeled_ranks(training, chosen.values(), weights.values())
                records = leaderboard(
                    training, candidates, left_out, weighing, scorer, experience, unlabeled, kind=self.interval
                )
                warn_failed(left_out)
                by_name = {m.name: weight for m, weight in weights.items()}
                gain = baseline(training, candidates, weighing, records, scorer)
                return ChosenMembers(chosen, by_name, weighing, records, gain, unlabeled)
            for member in failed:
                left_out[member] = fitted[member]
                del candidates[member]
        cause = next((why for why in left_out.values() if isinstance(why, Exception)), None)
        kind = "additive method" if self.interpretable else "method"
        raise RuntimeError(f"no {kind} could be fitted: {reasons(left_out)}; name others in `portfolio`") from cause

    def _model(self, task, training, choice, scorer, selection):
        """The fitted model as parts: the formula of the scores, the threshold, the probabilities, and the estimates."""
        rows = training.evaluated_rows
        prior = None if task.prior is None else task.prior.prior
        weights = np.array(list(choice.weights.values()))
        total = WeightedSum(weights, [member.formula for member in choice.members.values()])
        scores = choice.weighing.out_of_fold
        evaluated = training.evaluated
        steps = [total]
        if training.n_outputs == 1:
            to_log_odds = LogOdds(1)
            steps.append(to_log_odds)
            scores = to_log_odds(scores)
            link = _sigmoid(scores[evaluated, 0], rows, prior)
        else:
            link = Softmax(1.0, training.n_outputs)
        base_rate = prior
        if base_rate is None and training.n_outputs == 1:
            base_rate = float(np.average(rows.codes == 1, weights=rows.weight))
        positions = task.positions[training.labeled[training.tested]]
        # Rows were learned from in an order of their values; users know them by their place in the table.
        order = np.argsort(positions)
        decision = link.decisions(scores)
        out_of_fold = (decision if training.n_outputs == 1 else link.probabilities(decision))[order]
        ranks = choice.weighing.ranks[evaluated]
        score = interval(rows, ranks, scorer, task.prior, training.seed, kind=self.interval)[0]
        weight = None
        if rows.weight is not None:
            weight = np.zeros(len(positions))
            weight[evaluated] = rows.weight
            weight = weight[order]
        about = {
            "task": task.name,
            "scoring": str(self.scoring),
            "leaderboard": choice.leaderboard,
            "baseline": choice.baseline,
            "split_by": [name for name in ("groups", "time") if getattr(task.rows, name) is not None],
            "headline": headline(
                choice.leaderboard,
                selection,
                has_unlabeled=prior is not None or len(training.unlabeled) > 0,
                kind=kind_of_interval(scorer, training.n_outputs, self.interval),
                possible=_possible(rows, choice, scorer, selection),
            ),
            "selection": selection.to_dict(),
            "weights": choice.weights,
            "score": score,
            "training_share": training.training_share,
            "n_copies": training.n_copies,
            "base_rate": base_rate,
            "additive": None,
            "prior_interval": None if prior is None else [task.prior.low, task.prior.high],
        }
        if len(choice.members) == 1:
            [only] = choice.members.values()
            about["additive"] = only.additive
        names = getattr(self, "feature_names_in_", None)
        model = FittedModel(
            Chain(steps),
            link,
            Classes.of(self.classes_),
            self.positive_,
            names=None if names is None else list(names),
            evidence=Evidence(out_of_fold, positions[order], weight),
            prior=prior,
            about=about,
        )
        if training.n_outputs == 1:
            kept = _baseline(model, training, decision[evaluated, 0], choice.unlabeled)
            model = replace(model, evidence=replace(model.evidence, baseline=kept))
        # With positives only, the prior is part of the threshold and of the probabilities already.
        if self.prior is None or task.prior is not None:
            return model
        return _at_prior(model, training, self.prior)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Score of each row; higher means more confident.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes positive where `predict` gives ``classes_[1]``. With more, one score per class, whose
            softmax are the probabilities.
        """
        X = self._checked(X)
        return self.model_.decision_function(X)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Class of each row: with two classes at the threshold of the best expected balanced accuracy, see Notes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._checked(X)
        return self.model_.predict(X)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probability of each class, by a sigmoid fitted to out-of-fold scores of the labeled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        X = self._checked(X)
        return self.model_.predict_proba(X)

    def positive_proba(self, X: MatrixLike) -> np.ndarray:
        """Probability of the positive class, ``classes_[positive_]``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._checked(X)
        return self.model_.positive_proba(X)

    def rank(self, X: MatrixLike) -> np.ndarray:
        """Positions of the rows, the most likely of the positive class first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int of shape (n_samples,)
        """
        X = self._checked(X)
        return self.model_.rank(X)

    def classes_at(self, decision: np.ndarray) -> np.ndarray:
        """Class of each row, by its decision function: what `predict` returns, if scores are known."""
        return self.model_.classes_at(decision)

    def probabilities_at(self, decision: np.ndarray) -> np.ndarray:
        """Probability of each class, by the decision function: what `predict_proba` returns, if scores are known."""
        return self.model_.probabilities_at(decision)

    def _checked(self, X):
        check_is_fitted(self, "model_")
        return self._validate(X, reset=False)

    task_ = _told("task")
    base_rate_ = _told("base_rate")
    baseline_ = _told("baseline")
    ensemble_weights_ = _told("weights")
    score_ = _told("score")
    training_share_ = _told("training_share")
    prior_interval_ = _told("prior_interval")
    n_copies_ = _told("n_copies")

    @property
    def prior_(self) -> float | None:
        return self.model_.prior

    @property
    def leaderboard_(self) -> pd.DataFrame:
        return self.model_.leaderboard_

    @property
    def headline_(self) -> dict[str, float]:
        return self.model_.headline_

    @property
    def additive_choice_(self) -> AdditiveChoice | None:
        return additive_choice(self.model_.about["leaderboard"]) if self.interpretable else None

    @property
    def out_of_fold_(self) -> np.ndarray:
        out_of_fold = self.model_.evidence.out_of_fold
        return out_of_fold[:, 0] if out_of_fold.shape[1] == 1 else out_of_fold

    @property
    def labeled_rows_(self) -> np.ndarray:
        return self.model_.evidence.labeled_rows

    @property
    def members_(self) -> dict[str, Formula]:
        total = self.model_.score.steps[0]
        return dict(zip(self.ensemble_weights_, total.terms))

    @property
    def offset_(self) -> float:
        return float(self.model_.link.offset[0])

    @property
    def calibration_(self) -> np.ndarray:
        link = self.model_.link
        return np.array([link.slope[0], link.intercept[0]])


def _unlabeled_ranks(training, members, weights):
    """Ranks of unlabeled rows by the ensemble; None if those of labeled rows are of another kind."""
    if not training.ranks_unlabeled:
        return None
    total = WeightedSum(np.array(list(weights)), [member.formula for member in members])
    # Sums have one order, as in predictions.
    with one_thread():
        return total(training.rows.X[_evenly(training.unlabeled)])[:, 0]


def _possible(rows, choice, scorer, selection):
    """The AUC over a stated sensitivity, if the labels cannot tell it."""
    if selection.can_tell or choice.unlabeled is None or scorer is not SCORERS["roc_auc"]:
        return None
    # The labels of positives only, or of an audit with too few of a class, do not tell the odds of any row.
    if selection.labeled_positives is not None or selection.audit_lacks is not None:
        return None
    known = (rows.codes == 1, choice.weighing.out_of_fold[:, 0], choice.unlabeled)
    low, high = auc_range(*known)
    return {"factor": FACTOR, "low": low, "high": high, "reversing": reversing_odds(*known)}


def _baseline(model, training, held_out, unlabeled):
    """Rows of the fit that new rows are compared with, not more than needed; ranks of unlabeled rows may be known."""
    rows = training.evaluated_rows
    kept = _evenly(np.arange(len(rows)))
    if unlabeled is None:
        population = training.unlabeled if len(training.unlabeled) else training.labeled
        scores = model.scores_towards(training.rows.X[_evenly(population)])
    else:
        scores = model.link.decisions(LogOdds(1)(unlabeled[:, None]))[:, 0]
    weight = None if rows.weight is None else rows.weight[kept]
    return Baseline(held_out[kept], rows.codes[kept] == 1, rows.X[kept].astype(np.float32), scores, weight)


def _evenly(rows):
    """Not more rows than are kept, whatever their order in the table: here they are in an order of their values."""
    places = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_KEPT)).round().astype(int)
    return rows[places]


def _sigmoid(scores, rows, prior):
    """Threshold and sigmoid of two classes, by out-of-fold scores."""
    is_positive = rows.codes == 1
    if prior is not None:
        offset, (slope, intercept) = calibrate_pu(scores, is_positive, prior, rows.weight)
    else:
        slope, at_zero = sigmoid_from_few(scores, is_positive, rows.weight)
        # The decision function is 0 where both classes explain a row equally well: at the log-odds of the labels.
        intercept = logit(np.average(is_positive, weights=rows.weight))
        offset = (at_zero - intercept) / slope
    return Sigmoids(np.array([offset]), np.array([slope]), np.array([intercept]))


def _at_prior(model, training, prior):
    """The model whose probabilities average to the prior over the unlabeled rows."""
    link = model.link
    base_rate = model.about["base_rate"]
    if len(training.unlabeled) == 0:
        intercept = link.intercept + logit(prior) - logit(base_rate)
    else:
        decision = model.decision_of(training.rows.X[training.unlabeled])
        intercept = np.array([prior_shift(link.slope[0] * decision, prior)])
    about = {**model.about, "base_rate": prior}
    return replace(model, link=replace(link, intercept=intercept), about=about)


class _Progress:
    """Tells the caller which step is done, of how many."""

    def __init__(self, callback, total):
        self._callback = callback or (lambda done, total, name: None)
        self._total = total
        self._done = 0

    def step(self, name):
        self._done += 1
        self._callback(self._done, self._total, name)

    def drop(self):
        """One step fewer: a member is skipped because the time budget is spent."""
        self._total -= 1

    def finish(self, name):
        self._callback(self._total, self._total, name)
