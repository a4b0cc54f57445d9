"""Least-squares AUC in closed form: supervised (LSAUC), SAMULT and PNU-AUC."""

import numbers
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from fewlabel.base import Interval, Positive, RankingClassifier, Share, check_weights, parametrized
from fewlabel.foreign.scikit_learn import validate_parameters
from fewlabel.kernels.ranks import area
from fewlabel.linear._auc_path import labeled_folds
from fewlabel.linear._basis import KernelBasis
from fewlabel.linear._batches import read_batch, set_threshold
from fewlabel.linear._exact import row_span
from fewlabel.linear._pairs import weight_at
from fewlabel.linear.moments import Moments, group_moments, quadratic, solve
from fewlabel.random_streams import draw_seed
from fewlabel.types import MatrixLike

# Multiples of the mean eigenvalue of the quadratic term.
_ALPHAS = np.logspace(-4, 2, 13)
_GAMMAS = {"pn": (1.0,), "samult": np.linspace(0, 1, 11), "pnu": np.linspace(-0.9, 0.9, 19)}


@parametrized
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
        Whether the quadratic form of "pnu" was indefinite. Its negative eigenvalues were then set to zero.
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

    Sparse rows stay sparse, but their covariances do not: reduce more than 10,000 columns (`TruncatedSVD`), or use
    `LinearAUCClassifier`.

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

    risk: Literal["pn", "samult", "pnu"] = "pn"
    _: KW_ONLY
    gamma: Annotated[float, Interval(numbers.Real, -1, 1, closed="both")] | Literal["auto", "cv"] = "auto"
    alpha: Positive | Literal["cv"] = 0.1
    prior: Share | None = None
    cv: Any = 5

    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Update the model with a batch of rows; after all batches the moments are those of all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The first batch sets the centers of the Gaussian functions.
        y : array-like of shape (n_samples,)
            The class of each row; unlabeled rows are marked as in `fit`.
        classes : array-like of shape (2,), default=None
            The two classes; required on the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, as in `fit`.

        Returns
        -------
        self : object
            The updated estimator.
        """
        validate_parameters(self)
        if "cv" in (self.alpha, self.gamma):
            raise ValueError(
                "partial_fit keeps no rows for cross-validation, so alpha and gamma cannot be 'cv': set them to numbers"
            )
        X, signs = read_batch(self, X, y, classes)
        weight = np.ones(len(signs)) if sample_weight is None else check_weights(sample_weight, X)
        if not hasattr(self, "_moments"):
            self._set_basis(X, check_random_state(self.random_state))
        F = self._features(X)
        moments = group_moments(F, signs, weight)
        if hasattr(self, "_moments"):
            moments = Moments(**vars(self)["_moments"]).merge(moments)
        self._moments = moments._asdict()
        seen = moments.weight[[1, 0]]
        if seen.all():
            self._fit_moments(moments)
        else:
            # Rows cannot be ranked before both classes have been seen.
            self.coef_ = np.zeros((1, F.shape[1]))
            self.psd_fixed_ = False
        labeled = (signs != 0) & (weight > 0)
        scores = F[labeled] @ self.coef_[0]
        set_threshold(self, scores, signs[labeled] > 0, seen, weight[labeled])
        return self

    def _fit(self, X, signs, weight):
        rng = check_random_state(self.random_state)
        self._set_basis(X if weight is None else X[weight > 0], rng)
        F = self._features(X).astype(np.float64, copy=False)
        is_wide = not issparse(F) and F.shape[1] > len(F)
        if is_wide:
            F, expand = row_span(F)
        moments = group_moments(F, signs, weight)
        self._settle(moments)
        if "cv" in (self.alpha, self.gamma):
            self._choose(F, signs, weight, moments, draw_seed(rng))
        self._solve(moments)
        if is_wide:
            self.coef_ = expand(self.coef_[0])[None]
        else:
            self._moments = moments._asdict()

    def _ranker_like_this(self):
        return super()._ranker_like_this().set_params(alpha=self.alpha_, gamma=self.gamma_)

    def _fit_moments(self, moments):
        """Set the coefficients from the moments of positives, negatives and unlabeled rows; no "cv"."""
        self._settle(moments)
        self._solve(moments)

    def _solve(self, moments):
        self.coef_, self.psd_fixed_ = solve(self.risk, moments, self.gamma_, self.prior_, [self.alpha_])

    def _settle(self, moments):
        """Set prior_, gamma_ and alpha_; "cv" may change the last two."""
        n_positives, n_negatives, _ = moments.weight
        share = n_positives / (n_positives + n_negatives)
        self.prior_ = float(share) if self.prior is None else self.prior
        self.alpha_ = self.alpha
        if self.risk == "pn":
            self.gamma_ = 1.0
        elif not isinstance(self.gamma, str):
            self.gamma_ = float(self.gamma)
        else:
            # The sign that keeps the risk of "pnu" convex.
            self.gamma_ = -0.5 if self.risk == "pnu" and self.prior_ > 0.5 else 0.5
        if self.risk == "samult" and self.gamma_ < 0:
            raise ValueError(f"gamma={self.gamma} should lie in [0, 1] with risk='samult'; 1 means labeled rows only")

    def _choose(self, F, signs, weight, moments, seed):
        """Set gamma_ and alpha_ by the mean AUC of held-out rows."""
        gammas = _GAMMAS[self.risk] if self.gamma == "cv" else [self.gamma_]
        alphas = [self.alpha]
        if self.alpha == "cv":
            H, _ = quadratic("pn", moments, 1.0, self.prior_)
            alphas = _ALPHAS * (np.trace(H) / len(H) or 1.0)
        folds = labeled_folds(self.cv, signs, seed)
        scores = np.empty((len(folds), len(gammas), len(alphas)))
        for fold, (train, test) in enumerate(folds):
            train_moments = group_moments(F[train], signs[train], weight_at(weight, train))
            positive = signs[test] > 0
            test_weight = weight_at(weight, test)
            for g, gamma in enumerate(gammas):
                coefs, _ = solve(self.risk, train_moments, gamma, self.prior_, alphas)
                for a, held_out in enumerate(coefs @ F[test].T):
                    scores[fold, g, a] = area(positive, held_out, test_weight)
        self.cv_scores_ = scores.mean(axis=0)
        g, a = np.unravel_index(np.argmax(self.cv_scores_), self.cv_scores_.shape)
        self.gamma_ = float(gammas[g])
        self.alpha_ = float(alphas[a])
