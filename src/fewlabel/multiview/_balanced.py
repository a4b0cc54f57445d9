"""BSSEL: an ensemble of multi-view models on balanced groups of rows, which are drawn again in each round."""

import numbers
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from fewlabel.base import HasMethods, Interval, StrOptions, fit_context, set_random_states
from fewlabel.exceptions import LabelError
from fewlabel.labels import read
from fewlabel.multiview._groups import count_parts, deal
from fewlabel.multiview._model import COUNT, NON_NEGATIVE, MultiviewClassifier, mean_auc
from fewlabel.multiview._quasi_bagging import QuasiBaggingClassifier
from fewlabel.threads import map_in_threads
from fewlabel.types import MatrixLike, Seed

_LARGEST_SEED = np.iinfo(np.int32).max


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
    kernel : {"rbf", "linear", "poly"} or list of them, default="rbf"
        Kernel of all views, or of each; see `MultiviewKernelClassifier`.
    gamma_A : float or "auto", default=1e-2
        Penalty on the norm of the functions. "auto" chooses it from 0.001 to 1 by the score of the first round.
    gamma_B : float or "auto", default=0.1
        Penalty on disagreement between views; "auto" chooses it from 0 to 1.
    gamma_W : float or "auto", default=0.1
        Penalty on roughness within views; "auto" chooses it from 0 to 1. With all three at "auto" the first round is
        fitted ten times, one penalty after the other.
    view_weights : "uniform" or array-like of shape (n_views,), default="uniform"
        Weights of the views in the output.
    output_matrix : array-like of shape (n_classes, n_classes), default=None
        The matrix R of the kernel; see `MultiviewKernelClassifier`.
    length_scale : float, "median" or list of them, default="median"
        Width of "rbf", of all views or of each; "median" means the median distance between rows in each view.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant term of "poly".
    laplacian : {"knn", "kernel"}, default="knn"
        Graph over the rows of a group in a view.
    n_neighbors : int, default=10
        Number of neighbors in the "knn" graph.
    approximation : {"auto", "nystroem"} or None, default="auto"
        None is exact: each group has kernel functions at all its rows. "nystroem" uses kernel functions at
        `n_components` rows, shared by all groups. "auto" is exact up to 16,000 rows times views in a group on average.
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
    verbose : int, default=0
        If positive, print one line per round.
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
    contain it, a row of the minority by models fitted without its label, in five folds. If `X_val` and `y_val` are
    passed to `fit`, the AUC is computed on them.

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

    _parameter_constraints: dict = {
        **MultiviewClassifier._parameter_constraints,
        "n_groups": [COUNT, StrOptions({"balanced"})],
        "initial": [HasMethods(["fit", "predict_proba"]), HasMethods(["fit", "decision_function"]), None],
        "prior": [Interval(numbers.Real, 0, 1, closed="neither"), None],
        "view_weights": [StrOptions({"uniform"}), "array-like"],
        "max_iter": [COUNT],
        "tol": [NON_NEGATIVE],
        "n_jobs": [numbers.Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        loss: Literal["squared", "hinge"] = "squared",
        *,
        views: Any = None,
        n_groups: int | Literal["balanced"] = "balanced",
        initial: Any = None,
        prior: float | None = None,
        kernel: Any = "rbf",
        gamma_A: float | Literal["auto"] = 1e-2,
        gamma_B: float | Literal["auto"] = 0.1,
        gamma_W: float | Literal["auto"] = 0.1,
        view_weights: ArrayLike | Literal["uniform"] = "uniform",
        output_matrix: ArrayLike | None = None,
        length_scale: Any = "median",
        degree: int = 3,
        coef0: float = 1.0,
        laplacian: Literal["knn", "kernel"] = "knn",
        n_neighbors: int = 10,
        approximation: Literal["auto", "nystroem"] | None = "auto",
        n_components: int = 500,
        scale: bool = True,
        max_iter: int = 50,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.loss = loss
        self.views = views
        self.n_groups = n_groups
        self.initial = initial
        self.prior = prior
        self.kernel = kernel
        self.gamma_A = gamma_A
        self.gamma_B = gamma_B
        self.gamma_W = gamma_W
        self.view_weights = view_weights
        self.output_matrix = output_matrix
        self.length_scale = length_scale
        self.degree = degree
        self.coef0 = coef0
        self.laplacian = laplacian
        self.n_neighbors = n_neighbors
        self.approximation = approximation
        self.n_components = n_components
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: MatrixLike | None = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
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
        X_val : array-like of shape (n_validation_samples, n_features), default=None
            Rows for the AUC of the stopping rule, instead of the labeled rows.
        y_val : array-like of shape (n_validation_samples,), default=None
            Their classes.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: pass both or neither")
        X, codes, weight = self._read_rows(X, y, sample_weight)
        self._fit(X, codes, weight, None if X_val is None else self._read_validation(X_val, y_val))
        return self

    def _fit(self, X, codes, weight, validation):
        counts = np.bincount(codes[codes >= 0])
        self.n_groups_, parts = count_parts(counts, self.n_groups)
        shares = self._shares(counts)
        rows = self._prepare(X, codes, self.n_groups_)
        guess = np.full(len(X), -1)
        free = codes < 0
        if free.any():
            guess[free] = label_by_share(self._first_scores(X, codes, weight), shares)
        of_rows = np.ones(len(rows.codes)) if weight is None else weight[rows.origin]
        run = _Run(self, rows, parts, of_rows, validation)
        penalties = self._choose_penalties(lambda p: run.round(guess[rows.origin], 1, p).score)
        repeat = bool(free.any() and (penalties.gamma_B or penalties.gamma_W))
        self.history_ = []
        for iteration in range(1, (self.max_iter if repeat else 1) + 1):
            found = run.round(guess[rows.origin], iteration, penalties)
            self._keep(rows.space, found.coefficients, found.held_out, codes[codes >= 0], 1.0 / parts)
            n_changed = 0
            if free.any():
                outputs = found.outputs[run.free] @ self._readout if self._uses_unlabeled else self._decide(X[free])
                new = label_by_share(outputs, shares)
                n_changed = int((new != guess[free]).sum())
                guess[free] = new
            self.history_.append({"iter": iteration, "score": found.score, "n_changed": n_changed})
            self._report(self.history_[-1])
            if n_changed == 0 or (iteration > 1 and abs(found.score - self.history_[-2]["score"]) < self.tol):
                break
            rows.space.forget_graphs()
        self.n_iter_ = iteration
        self.transduction_ = self.classes_[np.where(free, guess, codes)]

    def _shares(self, counts):
        if self.prior is None:
            return counts / counts.sum()
        if len(counts) != 2:
            raise ValueError(f"prior={self.prior} requires two classes, but y holds {len(counts)}: set prior=None")
        return np.array([1.0 - self.prior, self.prior])

    def _read_validation(self, X_val, y_val):
        labels = read(y_val)
        known = labels.codes >= 0
        unknown = [c for c in labels.classes.tolist() if c not in self.classes_.tolist()]
        if unknown or len(labels.classes) < 2:
            raise LabelError(
                f"y_val holds the classes {labels.classes.tolist()}, but should hold two or more of the classes of y, "
                f"{self.classes_.tolist()}, and no others"
            )
        codes = np.searchsorted(self.classes_, labels.classes)[labels.codes]
        return self._validate(X_val, reset=False)[known], codes[known]

    def _first_scores(self, X, codes, weight):
        """Scores of all classes for the unlabeled rows, by a classifier fitted to the labeled rows."""
        model = QuasiBaggingClassifier(n_jobs=self.n_jobs) if self.initial is None else clone(self.initial)
        rng = check_random_state(self.random_state)
        set_random_states(model, np.random.RandomState(rng.randint(_LARGEST_SEED)))
        known = codes >= 0
        takes_weights = weight is not None and has_fit_parameter(model, "sample_weight")
        model.fit(X[known], self.classes_[codes[known]], **({"sample_weight": weight[known]} if takes_weights else {}))
        if hasattr(model, "predict_proba"):
            return model.predict_proba(X[~known])
        scores = model.decision_function(X[~known])
        return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores

    def _report(self, entry):
        if self.verbose:
            print(
                f"[{type(self).__name__}] round {entry['iter']}: AUC {entry['score']:.4f}, "
                f"{entry['n_changed']} labels changed",
                flush=True,
            )


class _Round(NamedTuple):
    """What a round finds: the mean coefficients of the groups, the outputs of all rows, held-out ones, their AUC."""

    coefficients: list
    outputs: np.ndarray
    held_out: np.ndarray
    score: float


class _Run:
    """The rounds: draw groups, fit them, and score labeled rows by models that were not fitted to them."""

    def __init__(self, model, rows, parts, weight, validation):
        self.model, self.rows, self.parts, self.validation = model, rows, parts, validation
        self.labeled = np.flatnonzero(rows.codes >= 0)
        self.free = np.flatnonzero(rows.codes < 0)
        self.codes, self.weight = rows.codes[self.labeled], weight[self.labeled]
        self.loss = model._make_loss()
        self.seed = check_random_state(model.random_state).randint(_LARGEST_SEED)

    def round(self, guess, iteration, penalties):
        """Fit the groups of a round."""
        model, space = self.model, self.rows.space
        rng = np.random.RandomState([self.seed, iteration])
        # Labeled rows first, so that their groups do not depend on the unlabeled rows.
        known = deal(self.codes, self.parts, model.n_groups_, rng)
        free = deal(guess[self.free], self.parts, model.n_groups_, rng)
        groups = [(own, self.free[others]) for own, others in zip(known, free)]
        fits = list(map_in_threads(lambda group: self._fit_group(*group, penalties), groups, model.n_jobs))
        coefficients = [np.hstack(of_view) for of_view in zip(*(found for found, _ in fits))]
        outputs = space.outputs(coefficients, model.view_weights_)
        by_group = outputs.reshape(len(outputs), len(fits), -1)
        held_out = self._held_out(known, [held for _, held in fits], by_group[self.labeled])
        mean = [of_view.reshape(len(of_view), len(fits), -1).mean(axis=1) for of_view in coefficients]
        if self.validation is None:
            score = mean_auc(held_out @ model._readout, self.codes, self.weight)
        else:
            model._keep(space, mean, held_out, self.codes, 1.0 / self.parts)
            X, codes = self.validation
            score = mean_auc(model._decide(X), codes)
        return _Round(mean, by_group.mean(axis=1), held_out, score)

    def _fit_group(self, own, others, penalties):
        group = np.concatenate([self.labeled[own], others])
        weight = self.weight[own] / self.weight[own].sum()
        found, held_out = self.model._learn(
            self.rows.space, group, np.arange(len(own)), self.codes[own], weight, self.loss, penalties
        )
        return self.rows.space.place(found, group), held_out

    def _held_out(self, known, of_folds, by_group):
        """Outputs of each labeled row: of the groups without it or, if it is in all groups, with its label held out."""
        outside, inside = np.zeros((2, len(self.codes), by_group.shape[2]))
        n_outside, n_inside = np.zeros((2, len(self.codes), 1))
        for g, (own, held_out) in enumerate(zip(known, of_folds)):
            out = np.ones(len(self.codes), dtype=bool)
            out[own] = False
            outside[out] += by_group[out, g]
            n_outside[out] += 1
            inside[own] += held_out
            n_inside[own] += 1
        return np.where(n_outside > 0, outside / np.maximum(n_outside, 1), inside / np.maximum(n_inside, 1))


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
    codes = np.full(len(scores), -1)
    order = np.argsort(shares, kind="stable")
    for rank, k in enumerate(order[:-1]):
        left = np.flatnonzero(codes < 0)
        lead = scores[left, k] - scores[left][:, order[rank + 1 :]].max(axis=1)
        n_taken = min(int(round(shares[k] * len(scores))), len(left))
        codes[left[np.argsort(-lead, kind="stable")[:n_taken]]] = k
    codes[codes < 0] = order[-1]
    return codes
