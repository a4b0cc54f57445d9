"""Least-squares AUC in closed form: supervised (LSAUC), SAMULT and PNU-AUC."""

import numbers
import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import svd
from scipy.sparse.linalg import LinearOperator, cg, eigsh
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fewlabel.base import Interval, RankingClassifier, StrOptions
from fewlabel.kernels.ranks import area
from fewlabel.linear._auc_path import labeled_folds
from fewlabel.linear._basis import KernelBasis
from fewlabel.linear._batches import read_batch, set_threshold
from fewlabel.linear.moments import SIGNS, Moments, group_moments, pair_terms, quadratic, solve
from fewlabel.types import MatrixLike, Seed
from fewlabel.warning_filters import caller_level

_ALPHAS = np.logspace(-4, 2, 13)  # multiples of the mean eigenvalue of the quadratic term
_GAMMAS = {"pn": (1.0,), "samult": np.linspace(0, 1, 11), "pnu": np.linspace(-0.9, 0.9, 19)}


class LeastSquaresAUCClassifier(KernelBasis, RankingClassifier):
    r"""Least-squares AUC maximization in closed form, with or without unlabeled rows.

    With the pair risk :math:`R_{AB}(w) = \overline{(1 - w^\top(\phi(a) - \phi(b)))^2}` over all pairs of rows of two
    groups, minimizes :math:`R(w) + \lambda |w|^2` where

    .. math::

        R = R_{PN} \ (\text{"pn"}), \qquad R = \gamma R_{PN} + (1 - \gamma) (R_{PU} + R_{UN}) \ (\text{"samult"}),
        \qquad R = (1 - |\gamma|) R_{PN} + |\gamma| \tilde R \ (\text{"pnu"}),

    .. math::

        \tilde R = \frac{1}{\theta_N} R_{PU} - \frac{\theta_P}{\theta_N} R_{PP} \ (\gamma \ge 0), \qquad
        \tilde R = \frac{1}{\theta_P} R_{UN} - \frac{\theta_N}{\theta_P} R_{NN} \ (\gamma < 0).

    Each is a quadratic form in the means and covariances of the groups: no pair is enumerated.

    Parameters
    ----------
    risk : {"pn", "samult", "pnu"}, default="pn"
        Labeled rows only (LSAUC); with unlabeled rows but no prior (SAMULT [3]_); with unlabeled rows and their prior
        (PNU-AUC [2]_).
    basis : {"linear", "rbf", "nystroem"}, default="linear"
        The columns themselves; Gaussian functions around `n_components` rows, with the penalty on their coefficients;
        or the same span with the penalty on the norm of the function.
    gamma : float, "cv" or "auto", default="auto"
        Weight of the unlabeled rows, with the convention of each paper: "samult" in [0, 1], where 1 means labeled rows
        only; "pnu" in [-1, 1], where 0 means labeled rows only and the sign selects positive-unlabeled (> 0) or
        unlabeled-negative (< 0) pairs. "auto" is 0.5, for "pnu" with the sign that keeps the risk convex: positive if
        the prior is at most 1/2. "cv" chooses it by cross-validation.
    alpha : float or "cv", default=0.1
        The penalty :math:`\lambda > 0`; "cv" chooses it by cross-validation.
    prior : float, default=None
        Share of positives among the unlabeled rows, for "pnu". None uses their share among the labeled rows, which is
        correct if these were drawn at random.
    n_components : int, default=200
        Number of Gaussian functions, centered at randomly drawn rows.
    length_scale : float or "median", default="median"
        Width of the Gaussian functions; "median" means the median distance between rows. Scale the columns first.
    cv : int or cross-validation splitter, default=5
        Folds of the labeled rows for "cv", which maximizes the AUC on the held-out rows. One eigendecomposition per
        fold and `gamma` gives the solutions at all penalties.
    random_state : int, RandomState instance or None, default=None
        Draws the centers of the Gaussian functions and the folds, by position: where they are drawn, the order of the
        rows matters, and a row of weight 2 is not the same as a repeated row.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        ``classes_[1]`` is the positive class.
    coef_ : ndarray of shape (1, n_basis)
        The weights :math:`w`.
    alpha_, gamma_, prior_ : float
        The penalty, weight and prior that were used.
    psd_fixed_ : bool
        Whether the quadratic form of "pnu" was indefinite. Its negative eigenvalues were then set to zero (sparse rows:
        the form was shifted until none was negative).
    components_ : ndarray of shape (n_components, n_features)
        Centers of the Gaussian functions.
    cv_scores_ : ndarray of shape (n_gammas, n_alphas)
        Mean AUC on held-out rows; only if `alpha` or `gamma` is "cv".
    offset_ : float
        Added to the score, so that 0 is the threshold of `predict`.
    calibration_ : ndarray of shape (2,)
        Slope and intercept of the log-odds of ``classes_[1]`` in the decision function.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    "pn" ranks like Fisher's discriminant with equally weighted class covariances. The squared "samult" risk is biased:
    the unlabeled rows improve the covariance estimate and act as a penalty within the classes. "pnu" excludes the pairs
    of a row with itself from :math:`R_{PP}`, which makes it unbiased; its quadratic form can then be indefinite, and
    solving the linear system would return a saddle point. Its negative eigenvalues are therefore set to zero.
    A pair of a row and its copy is not, so that with "pnu" a row of weight 2 is not the same as a repeated row.

    Sparse rows stay sparse with ``basis="linear"``: the system is solved by conjugate gradients, for a single `alpha`
    and `gamma`.

    The objective does not determine a threshold: `predict` uses the one with the best balanced accuracy on the labeled
    rows, and `predict_proba` a sigmoid fitted to them; after `partial_fit`, on the last batch with both classes.

    References
    ----------
    .. [1] Yang, Z., Xu, Q., He, Y., Cao, X. and Huang, Q. "Boosting-based semi-supervised AUC optimization: theory and
       algorithm." Chinese Journal of Computers, 2022, doi:10.11897/SP.J.1016.2022.01598 (in Chinese). Baselines LSAUC,
       SAMULT and PNU-AUC.
    .. [2] Sakai, T., Niu, G. and Sugiyama, M. "Semi-supervised AUC optimization based on positive-unlabeled learning."
       Machine Learning 107(4), 2018.
    .. [3] Xie, Z. and Li, M. "Semi-supervised AUC optimization without guessing labels of unlabeled data." AAAI
       Conference on Artificial Intelligence, 2018.
    .. [4] Gao, W., Jin, R., Zhu, S. and Zhou, Z.-H. "One-pass AUC optimization." International Conference on Machine
       Learning, 2013. Moments instead of pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewlabel import LeastSquaresAUCClassifier, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> few = hide_labels(y, labeled=0.1, random_state=0)
    >>> model = LeastSquaresAUCClassifier("samult", alpha="cv", random_state=0).fit(scale(X), few)
    >>> bool(model.cv_scores_.max() > 0.95)
    True
    """

    _accept_sparse = True
    _drops_weightless = False
    _parameter_constraints: dict = {
        "risk": [StrOptions({"pn", "samult", "pnu"})],
        "basis": [StrOptions({"linear", "rbf", "nystroem"})],
        "gamma": [Interval(numbers.Real, -1, 1, closed="both"), StrOptions({"cv", "auto"})],
        "alpha": [Interval(numbers.Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "prior": [Interval(numbers.Real, 0, 1, closed="neither"), None],
        "n_components": [Interval(numbers.Integral, 1, None, closed="left")],
        "length_scale": [Interval(numbers.Real, 0, None, closed="neither"), StrOptions({"median"})],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        risk: Literal["pn", "samult", "pnu"] = "pn",
        *,
        basis: Literal["linear", "rbf", "nystroem"] = "linear",
        gamma: float | Literal["auto", "cv"] = "auto",
        alpha: float | Literal["cv"] = 0.1,
        prior: float | None = None,
        n_components: int = 200,
        length_scale: float | Literal["median"] = "median",
        cv: Any = 5,
        random_state: Seed = None,
    ) -> None:
        self.risk = risk
        self.basis = basis
        self.gamma = gamma
        self.alpha = alpha
        self.prior = prior
        self.n_components = n_components
        self.length_scale = length_scale
        self.cv = cv
        self.random_state = random_state

    def partial_fit(self, X: MatrixLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Update the model with a batch of rows; after all batches the moments are those of all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dense rows. The first batch sets the centers of the Gaussian functions.
        y : array-like of shape (n_samples,)
            The class of each row; unlabeled rows are marked as in `fit`.
        classes : array-like of shape (2,), default=None
            The two classes; required on the first call.

        Returns
        -------
        self : object
            The updated estimator.
        """
        self._validate_params()
        if "cv" in (self.alpha, self.gamma):
            raise ValueError(
                "partial_fit keeps no rows for cross-validation, so alpha and gamma cannot be 'cv': set them to numbers"
            )
        if sparse.issparse(X):
            raise ValueError("partial_fit stores the covariance of all columns and does not take sparse rows: use fit")
        X, signs = read_batch(self, X, y, classes)
        first = not hasattr(self, "_moments")
        if first:
            self._set_basis(X, check_random_state(self.random_state))
        F = self._features(X)
        new = group_moments(F, signs)
        moments = new if first else [Moments(*a).merge(b) for a, b in zip(self._moments, new)]
        self._moments: list[tuple] = [tuple(m) for m in moments]  # plain tuples, so that a loaded model can be updated
        if all(m.weight for m in moments[:2]):
            self._fit_moments(moments)
        else:  # rows cannot be ranked before both classes have been seen
            self.coef_, self.psd_fixed_ = np.zeros((1, F.shape[1])), False
        labeled = signs != 0
        seen = np.array([moments[1].weight, moments[0].weight])
        set_threshold(self, F[labeled] @ self.coef_[0], signs[labeled] > 0, seen)
        return self

    def _fit(self, X, signs, weight):
        rng = check_random_state(self.random_state)
        vars(self).pop("cv_scores_", None)
        self._set_basis(X if weight is None else X[weight > 0], rng)
        if sparse.issparse(X) and self.basis == "linear":
            self._fit_sparse(X, signs, weight)
            return
        F = self._features(X).astype(np.float64, copy=False)
        rotation = None
        if F.shape[1] > len(F):
            F, rotation = _rotate(F)
        moments = group_moments(F, signs, weight)
        self._settle(moments)
        if "cv" in (self.alpha, self.gamma):
            self._choose(F, signs, weight, moments, rng.randint(np.iinfo(np.int32).max))
        coef, self.psd_fixed_ = solve(self.risk, moments, self.gamma_, self.prior_, [self.alpha_])
        self.coef_ = coef if rotation is None else coef @ rotation.T
        vars(self).pop("_moments", None)
        if rotation is None:
            self._moments: list[tuple] = [tuple(m) for m in moments]

    def _ranker_like_this(self):
        return super()._ranker_like_this().set_params(alpha=self.alpha_, gamma=self.gamma_)

    def _fit_moments(self, moments):
        """Set the coefficients from the moments of positives, negatives and unlabeled rows; no "cv"."""
        self._settle(moments)
        self.coef_, self.psd_fixed_ = solve(self.risk, moments, self.gamma_, self.prior_, [self.alpha_])

    def _settle(self, moments):
        """Set prior_, gamma_ and alpha_; "cv" may change the last two."""
        p, n, _ = moments
        self.prior_ = float(p.weight / (p.weight + n.weight)) if self.prior is None else self.prior
        self.alpha_ = self.alpha
        self.gamma_ = {"pn": 1.0, "samult": 0.5, "pnu": 0.5 if self.prior_ <= 0.5 else -0.5}[self.risk]
        if not isinstance(self.gamma, str) and self.risk != "pn":
            self.gamma_ = float(self.gamma)
        if self.risk == "samult" and self.gamma_ < 0:
            raise ValueError(f"gamma={self.gamma} should lie in [0, 1] with risk='samult'; 1 means labeled rows only")

    def _choose(self, F, signs, weight, moments, seed):
        gammas = _GAMMAS[self.risk] if self.gamma == "cv" else [self.gamma_]
        H, _ = quadratic("pn", moments, 1.0, self.prior_)
        alphas = _ALPHAS * (np.trace(H) / len(H) or 1.0) if self.alpha == "cv" else [self.alpha]
        scores = []
        for train, test in labeled_folds(self.cv, signs, seed):
            of_fold = group_moments(F[train], signs[train], None if weight is None else weight[train])
            of_test = None if weight is None else weight[test]
            coefs = [solve(self.risk, of_fold, gamma, self.prior_, alphas)[0] for gamma in gammas]
            scores.append([[area(signs[test] > 0, f, of_test) for f in (F[test] @ coef.T).T] for coef in coefs])
        self.cv_scores_ = np.mean(scores, axis=0)
        best = np.unravel_index(np.argmax(self.cv_scores_), self.cv_scores_.shape)
        self.gamma_, self.alpha_ = float(gammas[best[0]]), float(alphas[best[1]])

    def _fit_sparse(self, X, signs, weight):
        if "cv" in (self.alpha, self.gamma):
            raise ValueError("alpha and gamma cannot be 'cv' for sparse rows: set them to numbers, or use GridSearchCV")
        weight = np.ones(len(signs)) if weight is None else weight
        groups = [_sparse_moments(X, np.where(signs == sign, weight, 0.0)) for sign in SIGNS]
        self._settle(groups)
        shares, outer, h = pair_terms(self.risk, self.gamma_, self.prior_, *groups)
        of_row = np.select(
            [signs == sign for sign in SIGNS], [c / max(g.weight, 1e-300) for c, g in zip(shares, groups)]
        )
        outer = outer + [(-c, g.mean) for c, g in zip(shares, groups)]
        scale, D = np.array([c for c, _ in outer]), np.array([d for _, d in outer])

        def product(v, ridge=0.0):
            v = v.ravel()
            return X.T @ (of_row * weight * (X @ v)) + D.T @ (scale * (D @ v)) + ridge * v

        shape, ridge = (X.shape[1],) * 2, self.alpha_
        self.psd_fixed_ = False
        if min(shares) < 0:
            least = eigsh(LinearOperator(shape, product, dtype=float), 1, which="SA", return_eigenvectors=False)[0]
            self.psd_fixed_ = bool(least + ridge <= 0)
            ridge += max(-least, 0.0) if self.psd_fixed_ else 0.0
        operator = LinearOperator(shape, lambda v: product(v, ridge), dtype=float)
        w, failed = cg(operator, h, rtol=1e-8, maxiter=10 * shape[0])
        if failed:
            warnings.warn(
                "conjugate gradients did not converge, coef_ is inaccurate: raise alpha",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        self.coef_ = w[None]


def _sparse_moments(X, weight):
    """Moments without the scatter."""
    total = weight.sum()
    return Moments(total, weight @ weight, X.T @ weight / max(total, 1e-300), None)


def _rotate(F):
    """Rows in coordinates of the space they span, and the matrix that maps the coefficients back."""
    left, values, right = svd(F - F.mean(axis=0), full_matrices=False)
    kept = values > 1e-12 * max(values[0], 1e-300)
    return left[:, kept] * values[kept], right[kept].T
