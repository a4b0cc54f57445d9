"""uPU and nnPU: linear classifiers from positives and unlabeled rows."""

import math
import warnings
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from fewlabel.base import Count, NonNegative, RankingClassifier, parametrized
from fewlabel.positive_unlabeled import PositiveUnlabeled
from fewlabel.types import Seed
from fewlabel.warning_filters import caller_level

_CLOSE = 1e-9  # two weights of the risk of the negatives
# A risk of the negatives counts as zero within this share of all risk.
_LEVEL = 1e-6


def _logistic(z):
    return np.logaddexp(0.0, -z), -expit(-z)


def _squared(z):
    return 0.25 * (1.0 - z) ** 2, -0.5 * (1.0 - z)


def _sigmoid(z):
    loss = expit(-z)
    return loss, -loss * (1.0 - loss)


LOSSES = {"logistic": _logistic, "squared": _squared, "sigmoid": _sigmoid}  # each gives the loss and its slope


class LinearPURisk:
    r"""The two parts of the PU risk of a linear model, and their gradients.

    :math:`R^+ = \pi\overline{\ell(g)}_P` and :math:`R^- = \overline{\ell(-g)}_U - \pi\overline{\ell(-g)}_P`.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Used as ``(X - shift) / scale`` without making it.
    positive : ndarray of bool
    weight : ndarray of shape (n_samples,)
        Weights of the rows; normalized in each group.
    """

    def __init__(self, X, positive, weight, prior, loss, shift, scale):
        self._P = X[positive]
        self._U = X[~positive]
        # Sums that do not depend on the order of the rows.
        self._weight_p = prior * weight[positive] / math.fsum(weight[positive])
        self._weight_u = weight[~positive] / math.fsum(weight[~positive])
        self._loss = LOSSES[loss]
        self._shift = shift
        self._scale = scale

    def __call__(self, parameters):
        """R+ and R-, and their gradients in (w, b), of shape (2, n_features + 1)."""
        w = parameters[:-1] / self._scale
        b = parameters[-1] - self._shift @ w
        p = self._P @ w + b
        u = self._U @ w + b
        p_as_positive, slope_as_positive = self._loss(p)
        p_as_negative, slope_as_negative = self._loss(-p)
        u_as_negative, slope_u = self._loss(-u)
        positives = self._weight_p @ p_as_positive
        negatives = self._weight_u @ u_as_negative - self._weight_p @ p_as_negative
        gradient_positives = self._pull(self._P, self._weight_p * slope_as_positive)
        gradient_negatives = self._pull(self._P, self._weight_p * slope_as_negative)
        gradient_negatives -= self._pull(self._U, self._weight_u * slope_u)
        return np.array([positives, negatives]), np.array([gradient_positives, gradient_negatives])

    def _pull(self, rows, slopes):
        """Gradient in (w, b) of a sum of functions of the scores of rows."""
        total = slopes.sum()
        return np.append((slopes @ rows - total * self._shift) / self._scale, total)


@parametrized
class LinearPUClassifier(PositiveUnlabeled, RankingClassifier):
    r"""Linear classifier from positives and unlabeled rows (uPU, nnPU).

    Minimizes, for :math:`g(x) = w^\top x + b` with the columns scaled to unit variance,

    .. math::

        \pi\, \overline{\ell(g)}_P + \Big[ \overline{\ell(-g)}_U - \pi\, \overline{\ell(-g)}_P \Big]
        + \frac{\lambda}{2} |w|^2 .

    The bracket stands for the risk of the negatives, which cannot be below zero; ``risk="nnpu"`` replaces it by
    :math:`\max(0, \cdot)`. Assumes that the labeled positives are drawn like the positives among the unlabeled rows.

    Parameters
    ----------
    risk : {"nnpu", "upu"}, default="nnpu"
        Non-negative or unbiased.
    loss : {"logistic", "squared", "sigmoid"}, default="logistic"
        :math:`\ell`. With "logistic" and "squared" (:math:`(1-z)^2/4`) the unbiased risk is convex; "sigmoid", of
        nnPU's authors, is not, but is bounded, so that outliers pull less.
    prior : float, default=None
        P(y = positive) among the unlabeled rows, :math:`\pi`. None: estimated by `estimate_class_prior`.
    alpha : float, default=0.001
        Weight :math:`\lambda` of the penalty.
    threshold : {"prior", "zero"}, default="prior"
        "prior": call as many of the unlabeled training rows positive as the prior says. "zero": the sign of :math:`g`.
    max_iter : int, default=500
        Most iterations of a run of L-BFGS. If nnPU differs from uPU it has some twenty runs, each from the end of the
        one before.
    tol : float, default=1e-6
        L-BFGS stops when no part of the gradient is larger.
    random_state : int, RandomState instance or None, default=None
        Draws the folds for the estimate of the prior.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes, sorted. Where `y` has no name for the other one it is 0 (1 if the positives are
        0), False, "not " and the name of the positives, or the other category of a categorical `y`.
    positive_ : int
        Position of the positive class.
    prior_ : float
        The prior that was used.
    coef_ : ndarray of shape (1, n_features)
        For the columns as they are given.
    intercept_ : ndarray of shape (1,)
    corrected_ : bool
        Whether the risk of the negatives fell below zero, so that nnPU differs from uPU.
    objective_ : float
        The risk with its penalty.
    n_iter_ : int
        Iterations of all runs of L-BFGS.
    offset_ : float
        Added to the score, so that 0 is the threshold of `predict`.
    calibration_ : ndarray of shape (2,)
        Slope and intercept of the log-odds of the positive class in its score.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    PUAdaBoostClassifier : The unbiased exponential risk with stumps.

    Notes
    -----
    Where the minimizer of the unbiased risk has a non-negative risk of the negatives, it minimizes the non-negative
    risk too, and nothing more is done. Otherwise the minimum has a risk of the negatives of zero: with :math:`R^+` for
    the first term and :math:`R^-` for the bracket, the non-negative risk is :math:`\max_{0 \le t \le 1} R^+ + t R^-`.
    For the logistic and the squared loss it is convex, as the maximum of two convex functions, and its minimizer is
    that of :math:`R^+ + t R^-` for the t at which :math:`R^- = 0`, found by bisection. The authors of nnPU take
    stochastic steps instead, which do not end at the minimum: 500 steps of Adam left up to twice the least risk. The
    sigmoid loss is not convex, and the result is the best one on the way.

    Warns
    -----
    ConvergenceWarning
        If a run of L-BFGS ends at `max_iter`.

    References
    ----------
    .. [1] du Plessis, Niu, Sugiyama. Convex Formulation for Learning from Positive and Unlabeled Data. ICML, 2015.
    .. [2] Kiryo, Niu, du Plessis, Sugiyama. Positive-Unlabeled Learning with Non-Negative Risk Estimator. NIPS, 2017.
       Risk: equation 6; Algorithm 1 with :math:`\beta = 0, \gamma = 1`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import LinearPUClassifier, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y_pu = hide_labels(y, labeled=100, mechanism="positives-only", random_state=0)
    >>> model = LinearPUClassifier(prior=0.55).fit(X, y_pu)
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    _accept_sparse = True

    risk: Literal["nnpu", "upu"] = "nnpu"
    _: KW_ONLY
    loss: Literal["logistic", "squared", "sigmoid"] = "logistic"
    alpha: NonNegative = 0.001
    max_iter: Count = 500
    tol: NonNegative = 1e-6
    random_state: Seed = None

    def _fit(self, X, signs, weight):
        self.prior_ = self._find_prior(X, signs, weight)
        X = X.astype(np.float64, copy=False)
        weight = np.ones(len(signs)) if weight is None else weight
        scaler = StandardScaler(with_mean=not issparse(X)).fit(X, sample_weight=weight)
        risk = LinearPURisk(X, signs > 0, weight, self.prior_, self.loss, scaler.mean_, scaler.scale_)
        self.n_iter_ = 0
        parameters, converged = self._minimize(risk, np.zeros(X.shape[1] + 1), 1.0)
        (_, negatives), _ = risk(parameters)
        self.corrected_ = bool(negatives < 0)
        if self.risk == "nnpu" and self.corrected_:
            parameters, converged = self._minimize_non_negative(risk, X.shape[1])
        if not converged:
            warnings.warn(
                f"not converged after {self.max_iter} iterations, so the risk is above its minimum: raise max_iter or "
                "alpha",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        self.objective_ = self._objective(risk, parameters)
        self.coef_ = (parameters[:-1] / scaler.scale_)[None, :]
        self.intercept_ = parameters[-1:] - self.coef_ @ scaler.mean_

    def _minimize(self, risk, start, t):
        """The minimizer of R+ + t R- and the penalty, by L-BFGS, and whether it was found."""

        def objective(parameters):
            values, gradients = risk(parameters)
            # The intercept is not penalized.
            w = np.append(parameters[:-1], 0.0)
            parts = np.array([1.0, t])
            return parts @ values + 0.5 * self.alpha * (w @ w), parts @ gradients + self.alpha * w

        # The change of the risk stops nothing: its parts cancel, and the gradient alone tells of the minimum.
        options = {"maxiter": self.max_iter, "gtol": self.tol, "ftol": 1e-15, "maxfun": 20 * self.max_iter}
        result = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
        self.n_iter_ += max(1, int(result.nit))
        return result.x, result.nit < self.max_iter

    def _minimize_non_negative(self, risk, n_features):
        """The minimizer of the non-negative risk, that of R+ + t R- at which R- is zero, and whether it was found."""
        # R- is above zero at t = 0, where all rows are called positive, and below it at t = 1.
        low = 0.0
        high = 1.0
        parameters = np.zeros(n_features + 1)
        least = math.inf
        while high - low > _CLOSE:
            t = 0.5 * (low + high)
            parameters, converged = self._minimize(risk, parameters, t)
            value = self._objective(risk, parameters)
            if value < least:
                least = value
                best = parameters, converged
            (positives, negatives), _ = risk(parameters)
            if abs(negatives) <= _LEVEL * positives:
                break
            if negatives > 0:
                low = t
            else:
                high = t
        return best

    def _objective(self, risk, parameters):
        (positives, negatives), _ = risk(parameters)
        if self.risk == "nnpu":
            negatives = max(negatives, 0.0)
        w = parameters[:-1]
        return float(positives + negatives + 0.5 * self.alpha * (w @ w))

    def _score(self, X):
        return np.asarray(X @ self.coef_[0] + self.intercept_[0]).ravel()
