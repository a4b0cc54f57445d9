"""BSSEL: an ensemble of multi-view models on balanced groups of rows, which are drawn again in each round."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from fewlabel.base import (
    Count,
    HasMethods,
    NonNegative,
    Share,
    fit_context,
    parametrized,
    set_random_states,
)
from fewlabel.multiview._basis import sum_of_views
from fewlabel.multiview._groups import count_parts, deal
from fewlabel.multiview._model import (
    MultiviewClassifier,
    mean_auc,
)
from fewlabel.multiview._quasi_bagging import QuasiBaggingClassifier
from fewlabel.multiview._system import LabeledRows
from fewlabel.random_streams import draw_seed
from fewlabel.threads import map_in_threads
from fewlabel.types import MatrixLike


@parametrized
class BalancedMultiviewClassifier(MultiviewClassifier):
    r"""Ensemble of multi-view models on balanced groups, for imbalanced data with unlabeled rows (BSSEL).

    1. A supervised classifier assigns initial labels to the unlabeled rows.
    2. The majority rows, labeled or currently assigned to the majority, are split into G parts. Group g consists of
       part g and all rows of the minority, labeled or assigned.
    3. The objective of `MultiviewKernelClassifier` is minimized on each group, with the labels of its labeled rows
       only; the output is the mean :math:`h(x) = \frac1G \sum_g h_g(x)`.
    4. Unlabeled rows get the labels predicted by :math:`h`, and steps 2 to 4 are repeated until the AUC converges.

    The assigned labels only determine the group of an unlabeled row.

    The groups share their views and scales, so the mean of the models is one model with kernel functions at all rows,
    and prediction costs as much as for one `MultiviewKernelClassifier` of these rows.

    On imbalanced data it is more accurate than a single `MultiviewKernelClassifier` with default settings. A single
    model with ``class_weight="balanced"`` is about as accurate at the cost of one fit: try it first.

    Parameters
    ----------
    loss : {"squared", "hinge"}, default="squared"
        BSSEL-LS or BSSEL-SVM.
    views : list of lists, VariableClusterer or None, default=None
        The columns of each view; see `MultiviewKernelClassifier`.
    n_groups : int or "balanced", default="balanced"
        Number of groups; "balanced" means the size of the largest class divided by that of the rarest, rounded.
    initial : estimator, default=None
        Classifier for the initial labels, fitted to the labeled rows. None means `QuasiBaggingClassifier`.
    prior : float, default=None
        Share of ``classes_[1]`` among the unlabeled rows, for two classes: this share of the rows, with the highest
        scores, is assigned to it. None means the shares of the classes among the labeled rows.
    gamma_A : float or "auto", default=1e-2
        Penalty on the norm of the functions. "auto" chooses it from 0.001 to 1 by the score of the first round.
    gamma_B : float or "auto", default=0.1
        Penalty on disagreement between views; "auto" chooses it from 0 to 1.
    gamma_W : float or "auto", default=0.1
        Penalty on roughness within views; "auto" chooses it from 0 to 1. With all three at "auto" the first round is
        fitted ten times, one penalty after the other.
    view_weights : "uniform" or array-like of shape (n_views,), default="uniform"
        Weights of the views in the output.
    length_scale : float, or "median", default="median"
        Width of the Gaussian kernel; "median" means the median distance between rows in each view.
    n_neighbors : int, default=10
        Number of neighbors of a row in the graph of a view over the rows of a group.
    approximation : {"auto", "nystroem"} or None, default="auto"
        None is exact: each group has kernel functions at all its rows. "nystroem" uses kernel functions at
        `n_components` rows, shared by all groups. "auto" is exact up to 2,000 rows times views in a group on average.
    n_components : int, default=500
        Number of rows that "nystroem" draws, up to half of them labeled, evenly by class.
    scale : bool, default=True
        Whether to scale all columns to mean 0 and standard deviation 1 over the rows that are used.
    max_iter : int, default=50
        Largest number of rounds.
    tol : float, default=1e-3
        Stop if the AUC changes by less than this between two rounds, or if no label changes.
    n_jobs : int, default=None
        Number of threads that fit groups; -1 means all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws rows for "nystroem" and for the median distance, draws the groups, and seeds `initial`.
        Rows are drawn by position, so that the order of the rows matters.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Number of rounds.
    history_ : list of dict
        For each round: `iter`; `score`, the AUC that stops the rounds; `n_changed`, unlabeled rows whose label
        changed.
    transduction_ : ndarray of shape (n_samples,)
        Class of each training row: the known one, or the one assigned in the last round.
    n_groups_ : int
        Number of groups.
    views_, view_weights_, clusterer_, length_scales_, landmarks_, dual_coef_, gamma_A_, gamma_B_, gamma_W_ :
        As in `MultiviewKernelClassifier`; `dual_coef_` is the mean over the groups.
    slope_ : float
        Slope of the log-odds in the outputs.
    class_weight_ : ndarray of shape (n_classes,)
        How often rows of each class were used, relative to the mean; the probabilities are corrected for it.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    MultiviewKernelClassifier : One model on all rows.
    QuasiBaggingClassifier : The same groups with any base classifier, without unlabeled rows.

    Notes
    -----
    [1]_ does not specify the rows on which the AUC of the stopping rule is computed. Here these are the
    labeled rows, each scored by models that were not fitted to it: a row of the majority by the groups that do not
    contain it, a row of the minority by models fitted without its label, in five folds.

    With the threshold 0, models on balanced groups would assign far too many unlabeled rows to the minority, so rows
    are assigned in fixed shares.

    Each round draws new groups, with a separate seed. Labels converge within a few rounds. As they only determine the
    groups, rounds after the first hardly change the ranking: ``max_iter=2`` is usually enough.

    With :math:`\gamma_B = \gamma_W = 0` or without unlabeled rows, a single round is run.

    References
    ----------
    .. [1] Cui, W., Chen, W. and Cheng, H. "A multi-view based semi-supervised classifier with co-regularization for
       imbalanced data." Journal of University of Science and Technology of China 50(5), 596-604, 2020 (in Chinese),
       algorithm 1.1.

    Examples
    --------
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.metrics import roc_auc_score
    >>> from fewlabel import BalancedMultiviewClassifier, VariableClusterer, make_multiview_credit
    >>> X, y, y_true = make_multiview_credit(1500, labeled=210, return_true=True, random_state=0)
    >>> X = SimpleImputer().fit_transform(X)
    >>> model = BalancedMultiviewClassifier(views=VariableClusterer(4), max_iter=3, random_state=0).fit(X, y)
    >>> len(model.views_), model.n_groups_
    (4, 20)
    >>> bool(roc_auc_score(y_true[y == -1], model.decision_function(X[y == -1])) > 0.7)
    True
    """

    _: KW_ONLY
    n_groups: Count | Literal["balanced"] = "balanced"
    initial: Annotated[Any, HasMethods(["fit", "predict_proba"]), HasMethods(["fit", "decision_function"]), None] = None
    prior: Share | None = None
    max_iter: Count = 50
    tol: NonNegative = 1e-3
    n_jobs: int | None = None

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Labeled and unlabeled rows.
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` for unlabeled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labeled rows in the loss and in the score; `initial` gets them if it takes weights. A weight
            of 2 is not the same as a repeated row, which also counts twice in the penalties and the groups. Rows of
            weight 0, labeled or not, are ignored and have no entry in `transduction_`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, codes, weight = self._read_rows(X, y, sample_weight)
        self._fit(X, codes, np.ones(len(X)) if weight is None else weight)
        return self

    def _fit(self, X, codes, weight):
        is_free = codes < 0
        counts = np.bincount(codes[~is_free])
        self.n_groups_, parts = count_parts(counts, self.n_groups)
        shares = self._shares(counts)
        rows = self._prepare(X, codes, self.n_groups_)
        guess = np.full(len(X), -1)
        if is_free.any():
            guess[is_free] = label_by_share(self._first_scores(X, codes, weight), shares)
        rounds = _Rounds(self, rows, parts, weight[rows.origin])
        penalties = self._choose_penalties(lambda tried: rounds.run(guess[rows.origin], 1, tried).score)
        # Without a penalty on unlabeled rows, the labels that they are given change nothing.
        repeat = is_free.any() and (penalties.gamma_B > 0 or penalties.gamma_W > 0)
        self.history_ = []
        last_score = np.inf
        for iteration in range(1, self.max_iter + 1 if repeat else 2):
            result = rounds.run(guess[rows.origin], iteration, penalties)
            self._keep(rows.space, result.coefficients, result.held_out, rounds.codes, 1.0 / parts)
            outputs = result.outputs[rounds.free] @ self._readout
            # Without their penalties the fit does not use these rows.
            if len(outputs) < np.count_nonzero(is_free):
                outputs = self._class_scores(X[is_free])
            labels = label_by_share(outputs, shares)
            n_changed = int((labels != guess[is_free]).sum())
            guess[is_free] = labels
            self.history_.append({"iter": iteration, "score": result.score, "n_changed": n_changed})
            if n_changed == 0 or abs(result.score - last_score) < self.tol:
                break
            last_score = result.score
        self.n_iter_ = iteration
        self.transduction_ = self.classes_[np.where(is_free, guess, codes)]

    def _shares(self, counts):
        if self.prior is None:
            return counts / counts.sum()
        if len(counts) != 2:
            raise ValueError(f"prior={self.prior} requires two classes, but y holds {len(counts)}: set prior=None")
        return np.array([1.0 - self.prior, self.prior])

    def _first_scores(self, X, codes, weight):
        """Scores of all classes for the unlabeled rows, by a classifier fitted to the labeled rows."""
        model = QuasiBaggingClassifier(n_jobs=self.n_jobs) if self.initial is None else clone(self.initial)
        rng = check_random_state(self.random_state)
        set_random_states(model, np.random.RandomState(draw_seed(rng)))
        is_known = codes >= 0
        options = {}
        if (weight != 1.0).any() and has_fit_parameter(model, "sample_weight"):
            options["sample_weight"] = weight[is_known]
        model.fit(X[is_known], self.classes_[codes[is_known]], **options)
        if hasattr(model, "predict_proba"):
            return model.predict_proba(X[~is_known])
        scores = model.decision_function(X[~is_known])
        return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


class _RoundResult(NamedTuple):
    """What a round finds: the mean coefficients of the groups, the outputs of all rows, held-out ones, their AUC."""

    coefficients: list
    outputs: np.ndarray
    held_out: np.ndarray
    score: float


class _Rounds:
    """The rounds: draw groups, fit them, and score labeled rows by models that were not fitted to them."""

    def __init__(self, model, rows, parts, weight):
        self.model = model
        self.space = rows.space
        self.parts = parts
        self.labeled = np.flatnonzero(rows.codes >= 0)
        self.free = np.flatnonzero(rows.codes < 0)
        self.codes = rows.codes[self.labeled]
        self.weight = weight[self.labeled]
        self.loss = model._make_loss()
        self.seed = draw_seed(model.random_state)

    def run(self, guess, iteration, penalties):
        """Fit the groups of a round."""
        model = self.model
        rng = np.random.RandomState([self.seed, iteration])
        # Labeled rows first, so that their groups do not depend on the unlabeled rows.
        labeled_groups = deal(self.codes, self.parts, model.n_groups_, rng)
        free_groups = deal(guess[self.free], self.parts, model.n_groups_, rng)

        def fit_group(g):
            return self._fit_group(labeled_groups[g], self.free[free_groups[g]], penalties)

        n_groups = model.n_groups_
        fits = list(map_in_threads(fit_group, range(n_groups), model.n_jobs))
        by_view = zip(*(coefficients for coefficients, _ in fits))
        # One product gives the outputs of all groups.
        side_by_side = [np.hstack(of_groups) for of_groups in by_view]
        space = self.space
        outputs = sum_of_views(space.views, space.widths, space.landmarks, side_by_side)
        outputs = outputs.reshape(len(outputs), n_groups, -1)
        inside = [held_out for _, held_out in fits]
        held_out = self._held_out(labeled_groups, inside, outputs[self.labeled])
        mean = [of_view.reshape(len(of_view), n_groups, -1).mean(axis=1) for of_view in side_by_side]
        score = mean_auc(held_out @ model._readout, self.codes, self.weight)
        return _RoundResult(mean, outputs.mean(axis=1), held_out, score)

    def _fit_group(self, own, others, penalties):
        group = np.concatenate([self.labeled[own], others])
        weight = self.weight[own] / self.weight[own].sum()
        labeled = LabeledRows(np.arange(len(own)), self.codes[own], weight)
        return self.space.learn(group, labeled, self.loss, penalties, self.model.view_weights_)

    def _held_out(self, groups, inside, outputs):
        """Outputs of each labeled row: of the groups without it or, if it is in all groups, with its label held out."""
        n_rows, n_groups, n_outputs = outputs.shape
        total_outside = np.zeros((n_rows, n_outputs))
        total_inside = np.zeros((n_rows, n_outputs))
        n_inside = np.zeros((n_rows, 1))
        for g, own in enumerate(groups):
            is_outside = np.ones(n_rows, dtype=bool)
            is_outside[own] = False
            total_outside[is_outside] += outputs[is_outside, g]
            total_inside[own] += inside[g]
            n_inside[own] += 1
        n_outside = n_groups - n_inside
        mean_outside = total_outside / np.maximum(n_outside, 1)
        mean_inside = total_inside / np.maximum(n_inside, 1)
        return np.where(n_outside > 0, mean_outside, mean_inside)


def label_by_share(scores, shares):
    """Assign classes in given shares: each class, the rarest first, gets the rows where it leads by most.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Score of each class.
    shares : ndarray of shape (n_classes,)
        Shares of the classes, which sum to 1.

    Returns
    -------
    ndarray of shape (n_rows,)
        Class codes.
    """
    by_share = np.argsort(shares, kind="stable")
    codes = np.full(len(scores), by_share[-1])
    left = np.arange(len(scores))
    for rank, code in enumerate(by_share[:-1]):
        rivals = scores[left][:, by_share[rank + 1 :]].max(axis=1)
        by_lead = np.argsort(rivals - scores[left, code], kind="stable")
        n_taken = min(int(round(shares[code] * len(scores))), len(left))
        codes[left[by_lead[:n_taken]]] = code
        left = np.sort(left[by_lead[n_taken:]])
    return codes
