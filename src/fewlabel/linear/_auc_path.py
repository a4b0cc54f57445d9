"""Exact linear AUC solutions at many penalties, and the choice among them by cross-validation."""

import numbers
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.validation import check_consistent_length

from fewlabel.base import Count, Values, check_weights, parametrized
from fewlabel.kernels.ranks import area
from fewlabel.labels import read_binary
from fewlabel.linear._auc import LinearAUCClassifier, LinearRanker
from fewlabel.linear._exact import linear_algebra_threads, solve_path
from fewlabel.linear._pairs import weight_at
from fewlabel.model_selection import LabeledStratifiedKFold
from fewlabel.random_streams import draw_seed
from fewlabel.threads import map_in_threads
from fewlabel.types import MatrixLike, Seed

DEFAULT_ALPHAS = tuple(np.logspace(0, -6, 13).tolist())  # half-decades


def linear_auc_path(
    X: MatrixLike,
    y: ArrayLike,
    *,
    alphas: ArrayLike = DEFAULT_ALPHAS,
    loss: Literal["hinge", "squared_hinge"] = "hinge",
    tol: float = 1e-3,
    max_iter: int = 300,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> tuple:
    r"""Compute exact linear AUC solutions along a grid of penalties, each warm-started from the previous one.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The class of each row; unlabeled rows are ignored.
    alphas : array-like, default=half-decades from 1 to 1e-6
        The penalties :math:`\lambda`.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of a pair.
    tol : float, default=1e-3
        Relative duality gap of each solution.
    max_iter : int, default=300
        Largest number of iterations per penalty: Newton steps, or ten L-BFGS steps each.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows within each class.
    n_jobs : int, default=None
        Threads of the matrix products.
    random_state : int, RandomState instance or None, default=None
        Draws the subsample of rows that the solver starts from if there are many.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        The penalties from large to small.
    coefs : ndarray of shape (n_features, n_alphas)
        The weights.
    dual_gaps : ndarray of shape (n_alphas,)
        Upper bounds of the distance of each objective to its minimum.

    See Also
    --------
    LinearAUCClassifier : One penalty; defines the objective.
    LinearAUCClassifierCV : The best penalty by cross-validation.

    Examples
    --------
    >>> from fewlabel.linear import linear_auc_path
    >>> alphas, coefs, dual_gaps = linear_auc_path([[0.0], [1.0], [2.0], [4.0]], [0, 1, 0, 1], alphas=[0.1, 10.0])
    >>> alphas
    array([10. ,  0.1])
    >>> coefs.shape
    (1, 2)
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    signs = read_binary(y).signs
    check_consistent_length(X, signs)
    used = signs != 0
    weight = None
    if sample_weight is not None:
        weight = check_weights(sample_weight, X)
        used &= weight > 0
        weight = weight[used]
    alphas = _descending(alphas)
    control = _control(loss, tol, max_iter, random_state)
    with linear_algebra_threads(n_jobs, X):
        solutions = solve_path(X[used], signs[used] > 0, weight, alphas, **control)
    coefs = np.column_stack([one.coef for one in solutions])
    return alphas, coefs, np.array([one.gap for one in solutions])


@parametrized
class LinearAUCClassifierCV(LinearRanker):
    r"""Linear AUC with the penalty chosen by cross-validation.

    Fits `LinearAUCClassifier` with ``solver="exact"`` along a grid of penalties in each fold, chooses the penalty with
    the best mean AUC on the held-out labeled rows, and refits on all of them.

    Parameters
    ----------
    alphas : array-like, default=half-decades from 1 to 1e-6
        The penalties :math:`\lambda` to choose from.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of a pair.
    cv : int or cross-validation splitter, default=5
        An int is the number of stratified folds of the labeled rows, at most the number of rows of the rarer class.
    basis : {"linear", "nystroem"}, default="linear"
        The columns themselves, or the Nystroem features of a Gaussian kernel, which do not depend on the labels and are
        the same in all folds.
    n_components : int, default=200
        Number of rows, labeled or not, that "nystroem" centers Gaussian functions at.
    length_scale : float or "median", default="median"
        Width of the Gaussian functions; "median" means the median distance between rows.
    max_iter : int, default=300
        Largest number of iterations per penalty: Newton steps, or ten L-BFGS steps each.
    tol : float, default=1e-3
        Relative duality gap of each solution.
    n_jobs : int, default=None
        Number of folds fitted in parallel, and threads of the matrix products of the final fit.
    random_state : int, RandomState instance or None, default=None
        Draws the folds, and the subsample of rows that the solver starts from if there are many. The folds are drawn by
        position, so that the order of the rows matters, and a row of weight 2 is not the same as a repeated row.

    Attributes
    ----------
    alpha_ : float
        The chosen penalty; the largest of equally good ones.
    alphas_ : ndarray of shape (n_alphas,)
        The penalties from large to small.
    cv_scores_ : ndarray of shape (n_folds, n_alphas)
        AUC on the held-out rows of each fold.
    classes_, coef_, intercept_, objective_, dual_gap_, n_iter_, offset_, calibration_, n_features_in_,
    feature_names_in_
        As in `LinearAUCClassifier`.

    References
    ----------
    .. [1] Jiang, J.-Y., Tao, Q., Gao, Q.-K. and Chu, D.-J. "Dual coordinate descent method for solving AUC optimization
       problem." Journal of Software (Ruan Jian Xue Bao) 25(10), 2282-2292, 2014 (in Chinese). Objective: equation 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewlabel import LinearAUCClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearAUCClassifierCV(random_state=0).fit(scale(X), y)
    >>> bool(model.cv_scores_.mean(axis=0).max() > 0.99)
    True
    """

    _drops_weightless = False

    alphas: Values = DEFAULT_ALPHAS
    _: KW_ONLY
    cv: Any = 5
    max_iter: Count = 300

    def _fit(self, X, signs, weight):
        self.alphas_ = _descending(self.alphas)
        seed = draw_seed(self.random_state)
        if self.basis != "linear":
            self._set_basis(X if weight is None else X[weight > 0], check_random_state(self.random_state))
            X = self._features(X)
        if weight is not None:
            # Neither the folds nor the rows of a path hold rows of weight 0.
            signs = np.where(weight > 0, signs, 0)

        def path(rows, alphas):
            rows = rows[signs[rows] != 0]
            positive = signs[rows] > 0
            control = _control(self.loss, self.tol, self.max_iter, seed)
            return solve_path(X[rows], positive, weight_at(weight, rows), alphas, **control)

        def score(fold):
            train, test = fold
            positive = signs[test] > 0
            test_weight = weight_at(weight, test)
            held_out = [X[test] @ solution.coef for solution in path(train, self.alphas_)]
            return [area(positive, scores, test_weight) for scores in held_out]

        folds = labeled_folds(self.cv, signs, seed)
        with linear_algebra_threads(1, X):
            self.cv_scores_ = np.array(list(map_in_threads(score, folds, self.n_jobs)))
        best = int(np.argmax(self.cv_scores_.mean(axis=0)))
        self.alpha_ = float(self.alphas_[best])
        with linear_algebra_threads(self.n_jobs, X):
            solutions = path(np.arange(len(signs)), self.alphas_[: best + 1])
        self._keep_closed(solutions[-1])

    def _ranker_like_this(self):
        names = ("loss", "basis", "n_components", "length_scale", "max_iter", "tol", "n_jobs", "random_state")
        model = LinearAUCClassifier(self.alpha_, **{name: getattr(self, name) for name in names})
        model.classes_ = self.classes_
        model.n_features_in_ = self.n_features_in_
        return model


def _control(loss, tol, max_iter, random_state):
    """Options of the exact solver."""
    seed = draw_seed(random_state)
    squared = {"hinge": False, "squared_hinge": True}[loss]
    return {"squared": squared, "tol": tol, "max_iter": max_iter, "rng": np.random.default_rng(seed)}


def labeled_folds(cv, signs, seed):
    """Return training and test rows of each fold: `cv` folds of the labeled rows, or those of a splitter."""
    y = np.where(signs == 0, -1, signs > 0)
    # Splitters only count its rows.
    X = np.zeros((len(y), 1))
    if not isinstance(cv, numbers.Integral):
        splits = cv.split(X, y) if hasattr(cv, "split") else cv
        return [(train, test[signs[test] != 0]) for train, test in splits]
    n_positives = np.count_nonzero(signs > 0)
    n_negatives = np.count_nonzero(signs < 0)
    fewest = min(n_positives, n_negatives)
    if fewest < 2:
        raise ValueError(
            f"y has {fewest} labeled row of its rarer class, but cross-validation needs two: label more rows, or set "
            "alpha to a number"
        )
    splitter = LabeledStratifiedKFold(min(cv, fewest), shuffle=True, random_state=seed)
    return list(splitter.split(X, y))


def _descending(alphas):
    alphas = np.unique(column_or_1d(np.asarray(alphas, dtype=np.float64)))[::-1]
    if len(alphas) == 0 or not np.isfinite(alphas).all() or alphas[-1] <= 0:
        raise ValueError(f"alphas={alphas.tolist()} should hold at least one number, all positive and finite")
    return alphas
