"""AUC scores that use unlabeled rows."""

import numpy as np
from numpy.typing import ArrayLike

from fewlabel import labels
from fewlabel.checks import check_share, is_number
from fewlabel.kernels.ranks import placements, variance_of_mean
from fewlabel.metrics._estimates import estimate, read_estimate
from fewlabel.metrics._inputs import PRIOR_MEANING, read_score


def pu_auc_score(y_true: ArrayLike, y_score: ArrayLike, prior: float) -> float:
    """Compute the AUC from labeled positives and unlabeled rows.

    .. math::
        A_{PN} = (A_{PU} - \\theta_P / 2) / \\theta_N

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Positive-unlabeled labels: positives and markers (``-1``, ``None``, ``NaN``), or two classes of which the last
        is positive and the other unlabeled.
    y_score : array-like of shape (n_samples,)
        Scores; larger means more likely positive.
    prior : float
        P(y = positive) among the unlabeled rows, :math:`\\theta_P`; :math:`\\theta_N = 1 - \\theta_P`.

    Returns
    -------
    float
        An unbiased estimate if `prior` is correct. It is not clipped and **may leave [0, 1]**: slightly by chance, or
        by far if `prior` is too large.

    See Also
    --------
    auc_confidence_interval : With ``pairs="pu"``, the same estimate with an interval.
    fewlabel.model_selection.make_pu_scorer : The same as a scikit-learn scorer.

    References
    ----------
    .. [1] Sakai, T., Niu, G. and Sugiyama, M. "Semi-supervised AUC optimization based on positive-unlabeled learning."
       Machine Learning 107(4), 2018.

    Examples
    --------
    >>> from fewlabel.metrics import pu_auc_score
    >>> pu_auc_score([1, 1, -1, -1, -1, -1], [5, 3, 4, 1, 2, 0], prior=0.25)
    1.0

    As a scorer in cross-validation:

    >>> from sklearn.metrics import make_scorer
    >>> scorer = make_scorer(pu_auc_score, prior=0.25, response_method="decision_function")
    """
    positive = labels.read_pu(y_true).positive
    score = read_score(y_score, len(positive), "y_score")
    prior = check_share("prior", prior, PRIOR_MEANING)
    return estimate("pu", score[positive], score[~positive], prior).auc


def pnu_auc_score(
    y_true: ArrayLike, y_score: ArrayLike, *, prior: float | None = None, gamma: float | None = None
) -> float:
    """Compute the AUC from labeled positives, labeled negatives and unlabeled rows together.

    With `prior`, the estimate with the smallest estimated variance among :math:`A_{PN}`,
    :math:`(A_{PU} - \\theta_P/2)/\\theta_N` and :math:`(A_{UN} - \\theta_N/2)/\\theta_P`. Without it, the combination

    .. math::
        A(\\gamma) = \\gamma A_{PN} + (1-\\gamma)(A_{PU} + A_{UN} - \\tfrac12) ,

    whose mean is :math:`A_{PN}` whatever the prior is.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels; the last class in sorted order is positive, ``-1`` or a missing value marks an unlabeled row.
        Without unlabeled rows the score is the ordinary AUC.
    y_score : array-like of shape (n_samples,)
        Scores; larger means more likely positive.
    prior : float, default=None
        P(y = positive) among the unlabeled rows.
    gamma : float in [0, 1], default=None
        Weight of the labeled pairs, used instead of `prior`. None means the weight with the smallest estimated
        variance; that is 1 if a class has a single labeled row, because its variance cannot be estimated.

    Returns
    -------
    float
        The estimate; it is not clipped and **may leave [0, 1]** by chance.

    See Also
    --------
    auc_confidence_interval : With ``pairs="auto"``, the same choice by variance, with an interval.

    Notes
    -----
    The variance of :math:`A(\\gamma)` is the sum of :math:`s^2/n` of the influences of the rows:
    :math:`\\gamma\\psi_{PN} + (1-\\gamma)\\psi_{PU}` for positives, :math:`\\gamma\\psi_{PN} + (1-\\gamma)\\psi_{UN}`
    for negatives, :math:`(1-\\gamma)(\\psi_{PU} + \\psi_{UN})` for unlabeled rows. It is quadratic in :math:`\\gamma`,
    so three evaluations determine its minimum.

    References
    ----------
    .. [1] Sakai, T., Niu, G. and Sugiyama, M. "Semi-supervised AUC optimization based on positive-unlabeled learning."
       Machine Learning 107(4), 2018.
    .. [2] Xie, Z. and Li, M. "Semi-supervised AUC optimization without guessing labels of unlabeled data." AAAI
       Conference on Artificial Intelligence, 2018.

    Examples
    --------
    >>> from fewlabel.metrics import pnu_auc_score
    >>> y = [0, 0, 1, 1, -1, -1, -1, -1]
    >>> score = [1, 5, 4, 8, 2, 3, 6, 7]
    >>> pnu_auc_score(y, score, gamma=1)
    0.75
    >>> pnu_auc_score(y, score, gamma=0.5)
    0.875
    """
    if prior is not None and gamma is not None:
        raise ValueError("pass either prior or gamma: the combination weighted by gamma needs no prior")
    if gamma is not None and not (is_number(gamma) and 0 <= gamma <= 1):
        raise ValueError(f"gamma={gamma!r} should be a number in [0, 1]")
    if prior is not None:
        return read_estimate(y_true, y_score, "auto", prior, 0.0).auc
    signs = labels.read_binary(y_true).signs
    score = read_score(y_score, len(signs), "y_score")
    positives = score[signs > 0]
    negatives = score[signs < 0]
    unlabeled = score[signs == 0]
    pn = placements(positives, negatives)
    if not len(unlabeled):
        return float(pn[0].mean())
    pu = placements(positives, unlabeled)
    un = placements(unlabeled, negatives)
    if gamma is None:
        gamma = _best_gamma(pn, pu, un)
    without_labeled_pairs = pu[0].mean() + un[0].mean() - 0.5
    return float(gamma * pn[0].mean() + (1 - gamma) * without_labeled_pairs)


def _best_gamma(pn, pu, un):
    """The gamma in [0, 1] that minimizes the variance of the combination."""
    p_against_n, n_against_p = pn
    p_against_u, u_against_p = pu
    u_against_n, n_against_u = un
    # A variance cannot be estimated from one row.
    if min(len(p_against_n), len(n_against_p), len(u_against_p)) < 2:
        return 1.0

    def variance(gamma):
        of_p = variance_of_mean(gamma * p_against_n + (1 - gamma) * p_against_u)
        of_n = variance_of_mean(gamma * n_against_p + (1 - gamma) * n_against_u)
        of_u = variance_of_mean((1 - gamma) * (u_against_p + u_against_n))
        return of_p + of_n + of_u

    # The variance is quadratic in gamma: three values determine its minimum.
    at_0 = variance(0.0)
    at_1 = variance(1.0)
    curvature = 2 * (at_0 - 2 * variance(0.5) + at_1)
    # A sum of squares is never concave: the function is flat, up to rounding.
    if curvature <= 0:
        return float(at_1 <= at_0)
    return float(np.clip(0.5 + (at_0 - at_1) / (2 * curvature), 0, 1))
