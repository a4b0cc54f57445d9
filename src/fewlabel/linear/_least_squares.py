"""Least-squares AUC in closed form: supervised, SAMULT and PNU-AUC."""

import numbers
import warnings

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, cg, eigsh
from scipy.spatial.distance import cdist, pdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fewlabel.base import Interval, RankingClassifier, StrOptions
from fewlabel.kernels.ranks import placements
from fewlabel.linear._auc_path import labelled_folds
from fewlabel.linear._batches import read_batch, set_threshold
from fewlabel.linear._moments import Moments, pair_terms

_ALPHAS = np.logspace(-4, 2, 13)  # times the mean eigenvalue of the quadratic term
_GAMMAS = {"pn": (1.0,), "samult": np.linspace(0, 1, 11), "pnu": np.linspace(-0.9, 0.9, 19)}
_SIGNS = (1, -1, 0)


class LeastSquaresAUCClassifier(RankingClassifier):
    r"""Least-squares AUC, with or without unlabelled rows, in closed form.

    With the pair risk :math:`R_{AB}(w) = \overline{(1 - w^\top(\phi(a) - \phi(b)))^2}` over all pairs of rows of two groups,
    minimises :math:`R(w) + \lambda |w|^2` where

    .. math::

        R = R_{PN} \ (\text{"pn"}), \qquad R = \gamma R_{PN} + (1 - \gamma) (R_{PU} + R_{UN}) \ (\text{"samult"}), \qquad
        R = (1 - |\gamma|) R_{PN} + |\gamma| \tilde R \ (\text{"pnu"}),

    .. math::

        \tilde R = \frac{1}{\theta_N} R_{PU} - \frac{\theta_P}{\theta_N} R_{PP} \ (\gamma \ge 0), \qquad
        \tilde R = \frac{1}{\theta_P} R_{UN} - \frac{\theta_N}{\theta_P} R_{NN} \ (\gamma < 0).

    Each is a quadratic form in the means and covariances of the groups: no pair is enumerated.

    Parameters
    ----------
    risk : {"pn", "samult", "pnu"}, default="pn"
        Labelled rows only (LSAUC); with unlabelled rows and no prior (SAMULT); with unlabelled rows and their prior (PNU-AUC).
    basis : {"linear", "rbf", "nystroem"}, default="linear"
        The columns; Gaussian functions around `n_components` rows, with the penalty on their coefficients; or the same span with
        the penalty on the norm of the function. The last two make the table dense.
    gamma : float, "cv" or "auto", default="auto"
        Weight of the unlabelled rows, in each method's own convention: "samult" in [0, 1], where 1 is labelled rows only; "pnu" in
        [-1, 1], where 0 is labelled rows only and the sign chooses positive-unlabelled or negative-unlabelled pairs. "auto" is
        0.5, for "pnu" with the sign that keeps the risk convex: positive if the prior is at most 1/2.
    alpha : float or "cv", default=0.1
        The penalty :math:`\lambda > 0`.
    prior : float, default=None
        Share of positives among the unlabelled rows, for "pnu". None takes their share among the labelled rows, which is right if
        these were drawn at random.
    n_components : int, default=200
        Number of Gaussian functions, around rows drawn from all rows.
    length_scale : float or "median", default="median"
        Width of the Gaussian functions; "median" is the median distance of rows. Scale the columns first.
    cv : int or cross-validation splitter, default=5
        Folds of the labelled rows for "cv", by the AUC on the held-out rows; one eigen-decomposition for each fold and `gamma`
        gives all penalties.
    random_state : int, RandomState instance or None, default=None
        Draws the rows of the Gaussian functions and the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        ``classes_[1]`` is the positive class.
    coef_ : ndarray of shape (1, n_basis)
        The weights :math:`w`.
    alpha_, gamma_, prior_ : float
        The penalty, weight and prior that were used.
    psd_fixed_ : bool
        Whether the quadratic form of "pnu" was indefinite; its negative part was then removed (sparse rows: lifted to zero).
    components_ : ndarray of shape (n_components, n_features_in_)
        Centres of the Gaussian functions.
    cv_scores_ : ndarray of shape (n_gammas, n_alphas)
        Mean AUC on held-out rows, if `alpha` or `gamma` is "cv".
    offset_ : float
        Added to the score, so that 0 is the threshold of `predict`.
    calibration_ : ndarray of shape (2,)
        Slope and intercept of the log-odds of ``classes_[1]`` in the decision function.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    "pn" ranks as Fisher's discriminant with equally weighted class covariances. The squared "samult" risk is not unbiased: the
    unlabelled rows act as a better covariance estimate and a penalty within the classes. "pnu" leaves the pairs of a row with
    itself out of :math:`R_{PP}`, which makes it unbiased; its quadratic form can then be indefinite, and a plain solve would
    return a saddle point: here its negative eigenvalues are set to zero.

    Sparse rows stay sparse with ``basis="linear"``: the system is solved by conjugate gradients, for one `alpha` and `gamma`.

    The objective has no threshold: `predict` uses the one with the best balanced accuracy on the labelled rows, and
    `predict_proba` a sigmoid fitted to them; after `partial_fit`, those of the last batch with both classes.

    References
    ----------
    .. [1] Boosting-Based Semi-Supervised AUC Optimization: Theory and Algorithm. Chinese Journal of Computers, 2022. Baselines
       LSAUC, SAMULT and PNU-AUC.
    .. [2] Sakai, Niu, Sugiyama. Semi-supervised AUC optimization based on positive-unlabeled learning. Machine Learning 107, 2018.
    .. [3] Xie, Li. Semi-supervised AUC optimization without guessing labels of unlabeled data. AAAI 2018.
    .. [4] Gao, Jin, Zhu, Zhou. One-pass AUC optimization. ICML 2013. Moments.

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
        risk="pn",
        *,
        basis="linear",
        gamma="auto",
        alpha=0.1,
        prior=None,
        n_components=200,
        length_scale="median",
        cv=5,
        random_state=None,
    ):
        self.risk = risk
        self.basis = basis
        self.gamma = gamma
        self.alpha = alpha
        self.prior = prior
        self.n_components = n_components
        self.length_scale = length_scale
        self.cv = cv
        self.random_state = random_state

    def partial_fit(self, X, y, classes=None):
        """Learn from a batch of rows: the moments of all batches together are those of all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dense rows. The first batch sets the centres of the Gaussian functions.
        y : array-like of shape (n_samples,)
            The class of each row; unlabelled rows are marked as in `fit`.
        classes : array-like of shape (2,), default=None
            The two classes; needed on the first call.

        Returns
        -------
        self : object
        """
        self._validate_params()
        if "cv" in (self.alpha, self.gamma):
            raise ValueError("partial_fit keeps no rows to cross-validate on: give alpha and gamma as numbers")
        if sparse.issparse(X):
            raise ValueError("partial_fit keeps covariances of all columns and takes dense rows: use fit for sparse ones")
        X, signs = read_batch(self, X, y, classes)
        if not hasattr(self, "_moments"):
            self._set_basis(X, check_random_state(self.random_state))
        F = self._features(X)
        new = [Moments.of(F[signs == sign]) for sign in _SIGNS]
        old = getattr(self, "_moments", new)
        self._moments = [a.merge(b) for a, b in zip(old, new)] if hasattr(self, "_moments") else new
        self._set_gamma()
        if all(m.count for m in self._moments[:2]):
            self.alpha_, (self.coef_,) = self.alpha, self._solve(self._moments, self.gamma_, [self.alpha])[1][:, None]
        else:
            self.coef_ = np.zeros((1, F.shape[1]))
        labelled = signs != 0
        seen = np.array([self._moments[1].count, self._moments[0].count])
        set_threshold(self, X[labelled], signs[labelled] > 0, seen)
        return self

    def _fit(self, X, signs, weight):
        rng = check_random_state(self.random_state)
        for name in ("_moments", "cv_scores_"):
            vars(self).pop(name, None)
        self._set_basis(X, rng)
        self._counts = [np.count_nonzero(signs == sign) for sign in _SIGNS]
        if sparse.issparse(X) and self.basis == "linear":
            self._set_gamma()
            self._fit_sparse(X, signs, weight)
            return
        F = self._features(X)
        F, rotation = _rotate(F) if F.shape[1] > len(F) else (F, None)
        if "cv" in (self.alpha, self.gamma):
            self._choose(F, signs, weight, rng)
        else:
            self._set_gamma()
            self.alpha_ = self.alpha
        coef = self._solve(_group_moments(F, signs, weight), self.gamma_, [self.alpha_])[1][0]
        self.coef_ = (coef if rotation is None else rotation @ coef)[None]
        if rotation is None:
            self._moments = _group_moments(F, signs, weight)
