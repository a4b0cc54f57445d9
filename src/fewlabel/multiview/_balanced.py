"""BSSEL: balanced groups of labeled and unlabeled rows, a multi-view model of each, and new groups in each round."""

import numbers
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from fewlabel.base import HasMethods, Interval, StrOptions, fit_context, set_random_states
from fewlabel.exceptions import LabelError
from fewlabel.labels import read
from fewlabel.multiview._groups import count_parts, deal
from fewlabel.multiview._model import COUNT, NON_NEGATIVE, MultiviewClassifier
from fewlabel.multiview._quasi_bagging import QuasiBaggingClassifier
from fewlabel.multiview._system import System
from fewlabel.types import MatrixLike, Seed

_LARGEST_SEED = np.iinfo(np.int32).max


class BalancedMultiviewClassifier(MultiviewClassifier):
    r"""Ensemble of multi-view models of balanced groups, for imbalanced tables with unlabeled rows (BSSEL).

    1. A supervised classifier gives the unlabeled rows their first labels.
    2. The majority is split into G groups, and so are the unlabeled rows that are labeled as majority for now. Group
       g is its part of both, with the whole minority, labeled and so labeled.
    3. Each group fits the objective of `MultiviewKernelClassifier`, with the labels of its labeled rows only; the
       output is the mean :math:`h(x) = \frac1G \sum_g h_g(x)`.
    4. Unlabeled rows take the labels that :math:`h` gives them, and 2 to 4 are repeated until the AUC settles.

    Labels given to unlabeled rows decide in which group a row is, and nothing else.

    The groups share their views, scales and bases, so that the mean of the models is one model: predicting costs what
    one of them costs.

    It helps over one plain `MultiviewKernelClassifier` on imbalanced tables, as the minority is not outnumbered in
    balanced groups. One such model with ``class_weight="balanced"`` does about as well, for the price of one fit:
    try it first.

    Parameters
    ----------
    loss : {"squared", "hinge"}, default="squared"
        BSSEL-LS or BSSEL-SVM.
    views : list of lists, VariableClusterer or None, default=None
        The columns of each view; see `MultiviewKernelClassifier`.
    n_groups : int or "balanced", default="balanced"
        Number of groups; "balanced" is the size of the largest class over that of the rarest, rounded.
    initial : estimator, default=None
        Classifier that gives the first labels, fitted to the labeled rows. None: `QuasiBaggingClassifier`.
    prior : float, default=None
        Share of ``classes_[1]`` among the unlabeled rows, for two classes: that many rows with the highest scores are
        labeled so. None takes the shares of the classes among the labeled rows.
    kernel : {"rbf", "linear", "poly"}, default="rbf"
    gamma_A : float, default=1e-2
        Penalty of the norm.
    gamma_B : float, default=0.1
        Penalty of disagreement between views.
    gamma_W : float, default=0.1
        Penalty of roughness within views.
    view_weights : "uniform" or array-like of shape (n_views,), default="uniform"
        Weights of the views in the output.
    length_scale : float or "median", default="median"
        Width of "rbf"; "median" is the median distance between rows, in each view.
    degree : int, default=3
        Of "poly".
    coef0 : float, default=1.0
        Of "poly".
    laplacian : {"knn", "kernel"}, default="knn"
        Graph of the rows of a group in a view.
    n_neighbors : int, default=10
        Neighbors in the "knn" graph.
    approximation : "nystroem" or None, default="nystroem"
        Functions of `n_components` rows, which all groups share; None: of all rows, which is exact and slow.
    n_components : int, default=100
        Rows that "nystroem" draws.
    scale : bool, default=True
        Bring all columns to mean 0 and standard deviation 1 over the rows that are used.
    max_iter : int, default=50
        Most rounds.
    tol : float, default=1e-3
        Stop when the AUC changes by less than this between two rounds, or when no label changes.
    n_jobs : int, default=None
        Threads that fit groups; -1 for all cores. The result does not depend on it.
    verbose : int, default=0
        If positive, print a line per round.
    random_state : int, RandomState instance or None, default=None
        Draws rows for "nystroem" and for the median distance, draws the groups, and seeds `initial`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Rounds.
    history_ : list of dict
        For each round: `iter`; `score`, the AUC that stops the rounds; `n_changed`, unlabeled rows whose label
        changed.
    transduction_ : ndarray of shape (n_samples,)
        Class of each row of the fit: the known one, or the one that an unlabeled row got in the last round.
    n_groups_ : int
    views_, view_weights_, clusterer_, length_scales_, landmarks_, dual_coef_ :
        As in `MultiviewKernelClassifier`; `dual_coef_` is the mean over the groups.
    slope_ : float
        Slope of the probabilities in the outputs.
    class_weight_ : ndarray of shape (n_classes,)
        How much more often a row of each class was seen than the mean; the probabilities are corrected for it.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    MultiviewKernelClassifier : One model of all rows.
    QuasiBaggingClassifier : The same groups, any base classifier, no unlabeled rows.

    Notes
    -----
    The paper does not say on which rows it takes the AUC that stops the rounds. Here it never is a label that was
    hidden, and never a row that the scoring model has learned from: each row of the majority is scored by the groups
    that it is not in, each row of the minority by models of its groups that were not shown its label, in
    five folds. With `X_val` and `y_val` in `fit`, the AUC is theirs.

    Labels at the threshold 0 of models of balanced groups would make far too many unlabeled rows minority, so the
    number of rows of each class is kept to its share.

    Each round draws new groups, from a seed of its own. Labels settle within a few rounds. As they decide in
    which group a row is and nothing else, rounds after the first hardly change the ranking: ``max_iter=2`` is enough.

    With :math:`\gamma_B = \gamma_W = 0` or without unlabeled rows there is nothing to repeat, and one round is run.

    References
    ----------
    .. [1] Cui, Chen, Cheng. A multi-view based semi-supervised classifier with co-regularization for imbalanced data.
       Journal of University of Science and Technology of China 50(5), 2020, algorithm 1.1.

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
        "approximation": [StrOptions({"nystroem"}), None],
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
        kernel: Literal["rbf", "linear", "poly"] = "rbf",
        gamma_A: float = 1e-2,
        gamma_B: float = 0.1,
        gamma_W: float = 0.1,
        view_weights: ArrayLike | Literal["uniform"] = "uniform",
        length_scale: float | Literal["median"] = "median",
        degree: int = 3,
        coef0: float = 1.0,
        laplacian: Literal["knn", "kernel"] = "knn",
        n_neighbors: int = 10,
        approximation: Literal["nystroem"] | None = "nystroem",
        n_components: int = 100,
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
        self, X: MatrixLike, y: ArrayLike, *, X_val: MatrixLike | None = None, y_val: ArrayLike | None = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The table; labeled and unlabeled rows.
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` where it is not known.
        X_val : array-like of shape (n_validation_samples, n_features), default=None
            Rows whose AUC stops the rounds, in place of the labeled rows.
        y_val : array-like of shape (n_validation_samples,), default=None
            Their classes.

        Returns
        -------
        self : object
        """
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: pass both or neither")
        X, codes, _ = self._read_rows(X, y)
        self._fit(X, codes, None if X_val is None else self._read_validation(X_val, y_val))
        return self

    def _fit(self, X, codes, validation):
        counts = np.bincount(codes[codes >= 0])
        self.n_groups_, parts = count_parts(counts, self.n_groups)
        shares = self._shares(counts)
        rows = self._prepare(X, codes)
        run = _Run(self, rows, parts, validation)
        guess = np.full(len(X), -1)
        free = codes < 0
        repeat = bool(free.any() and (self.gamma_B or self.gamma_W))
        if free.any():
            guess[free] = label_by_share(self._first_scores(X, codes), shares)
        self.history_ = []
        for iteration in range(1, (self.max_iter if repeat else 1) + 1):
            theta, held_out, score = run.round(guess[rows.origin], iteration)
            self._keep(theta, held_out, codes[codes >= 0], 1.0 / parts)
            n_changed = 0
            if free.any():
                new = label_by_share(run.outputs(theta) if repeat else self._decide(X[free]), shares)
                n_changed = int((new != guess[free]).sum())
                guess[free] = new
            self.history_.append({"iter": iteration, "score": score, "n_changed": n_changed})
            self._report(self.history_[-1])
            if n_changed == 0 or (iteration > 1 and abs(score - self.history_[-2]["score"]) < self.tol):
                break
        del self._bases
        self.n_iter_ = iteration
        self.transduction_ = self.classes_[np.where(free, guess, codes)]

    def _shares(self, counts):
        if self.prior is None:
            return counts / counts.sum()
        if len(counts) != 2:
            raise ValueError(
                f"prior={self.prior} is the share of one of two classes, y holds {len(counts)}: leave it None"
            )
        return np.array([1.0 - self.prior, self.prior])

    def _read_validation(self, X_val, y_val):
        labels = read(y_val)
        known = labels.codes >= 0
        unknown = [c for c in labels.classes.tolist() if c not in self.classes_.tolist()]
        if unknown or len(labels.classes) < 2:
            raise LabelError(
                f"y_val holds the classes {labels.classes.tolist()}: an AUC needs two or more of those of y, "
                f"{self.classes_.tolist()}"
            )
        codes = np.searchsorted(self.classes_, labels.classes)[labels.codes]
        return self._validate(X_val, reset=False)[known], codes[known]

    def _first_scores(self, X, codes):
        """Scores of all classes for the unlabeled rows, by a classifier of the labeled rows."""
        model = QuasiBaggingClassifier(n_jobs=self.n_jobs) if self.initial is None else clone(self.initial)
        rng = check_random_state(self.random_state)
        set_random_states(model, np.random.RandomState(rng.randint(_LARGEST_SEED)))
        known = codes >= 0
        model.fit(X[known], self.classes_[codes[known]])
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


class _Run:
    """The rounds: draws groups, fits them, and scores labeled rows by what did not learn from them."""

    def __init__(self, model, rows, parts, validation):
        self.model, self.rows, self.parts, self.validation = model, rows, parts, validation
        self.labeled = np.flatnonzero(rows.codes >= 0)
        self.free = np.flatnonzero(rows.codes < 0)
        self.codes = rows.codes[self.labeled]
        self.sizes = [basis.size for basis in model._bases]
        self.spread = np.repeat(model.view_weights_, self.sizes)
        self.seed = check_random_state(model.random_state).randint(_LARGEST_SEED)

    def round(self, guess, iteration):
        """Mean coefficients of the groups, held-out outputs of the labeled rows, and their AUC."""
        model = self.model
        rng = np.random.RandomState([self.seed, iteration])
        # Labeled rows first, so that how they fall does not depend on unlabeled ones.
        known = deal(self.codes, self.parts, model.n_groups_, rng)
        free = deal(guess[self.free], self.parts, model.n_groups_, rng)
        fits = Parallel(n_jobs=model.n_jobs, prefer="threads")(
            delayed(self._fit_group)(own, self.free[others]) for own, others in zip(known, free)
        )
        held_out = self._held_out(known, fits)
        theta = sum(theta for theta, _ in fits) / len(fits)
        if self.validation is None:
            return theta, held_out, mean_auc(held_out @ model._readout, self.codes)
        model._keep(theta, held_out, self.codes, 1.0 / self.parts)
        X, codes = self.validation
        return theta, held_out, mean_auc(model._decide(X), codes)

    def outputs(self, theta):
        """Output of each class for the unlabeled rows."""
        return (self.rows.features[self.free] * self.spread) @ theta @ self.model._readout

    def _fit_group(self, own, others):
        model, rows = self.model, self.rows
        group = np.concatenate([self.labeled[own], others])
        system = System(rows.features[group], self.sizes, [view[group] for view in rows.views], model._penalties())
        weight = np.full(len(own), 1.0 / len(own))
        return system.learn(
            np.arange(len(own)), self.codes[own], weight, model._make_loss(), model.view_weights_, held_out=True
        )

    def _held_out(self, known, fits):
        """Outputs of each labeled row: of the groups it is not in, or if it is in all, with its label held out."""
        Psi = self.rows.features[self.labeled] * self.spread
        outside, inside = np.zeros((2, len(self.codes), fits[0][0].shape[1]))
        n_outside, n_inside = np.zeros((2, len(self.codes), 1))
        for own, (theta, held_out) in zip(known, fits):
            out = np.ones(len(self.codes), dtype=bool)
            out[own] = False
            outside[out] += Psi[out] @ theta
            n_outside[out] += 1
            inside[own] += held_out
            n_inside[own] += 1
        return np.where(n_outside > 0, outside / np.maximum(n_outside, 1), inside / np.maximum(n_inside, 1))


def label_by_share(scores, shares):
    """Classes in given shares: from the rarest class up, the rows in which it leads the others by most.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
    shares : ndarray of shape (n_classes,)
        They sum to 1.

    Returns
    -------
    ndarray of shape (n_rows,)
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


def mean_auc(outputs, codes):
    """AUC of two classes; of more, the mean of each against the rest."""
    present = np.unique(codes)
    if outputs.shape[1] == 2:
        return float(roc_auc_score(codes == 1, outputs[:, 1]))
    return float(np.mean([roc_auc_score(codes == k, outputs[:, k]) for k in present]))
