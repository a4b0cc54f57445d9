"""Confidence intervals of the AUC."""

import math
import warnings
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fewlabel.checks import check_choice
from fewlabel.metrics._estimates import read_estimate, weighted_estimate
from fewlabel.metrics._inputs import normal_quantile
from fewlabel.metrics._newcombe import newcombe_interval
from fewlabel.metrics._score import score_interval

Method = Literal["score", "newcombe", "logit-delong", "wald-delong"]
Pairs = Literal["pn", "pu", "un", "auto"]


class AUCInterval(NamedTuple):
    """An AUC with its confidence interval.

    Attributes
    ----------
    auc : float
        The estimate, in [0, 1].
    low, high : float
        The ends of the interval, in [0, 1].
    method : str
        The method that was used: ``"score"``, ``"newcombe"``, ``"logit-delong"`` or ``"wald-delong"``.
    pairs : str
        The pairs that were compared: ``"pn"``, ``"pu"`` or ``"un"``.
    """

    auc: float
    low: float
    high: float
    method: str
    pairs: str


def auc_confidence_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    confidence: float = 0.95,
    method: Method = "score",
    pairs: Pairs = "pn",
    prior: float | None = None,
    prior_sd: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> AUCInterval:
    """Compute the AUC with a confidence interval that stays valid with few labels.

    Only the order of the scores matters; infinite scores are allowed.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels; the last class in sorted order is positive, ``-1`` or a missing value marks an unlabeled row.
    y_score : array-like of shape (n_samples,)
        Scores; larger means more likely positive.
    confidence : float, default=0.95
        Nominal coverage.
    method : {"score", "newcombe", "logit-delong", "wald-delong"}, default="score"
        How to compute the interval, see Notes. The others have too low a coverage for some distributions of the scores.
    pairs : {"pn", "pu", "un", "auto"}, default="pn"
        The samples to compare: labeled positives (p), labeled negatives (n), unlabeled rows (u). ``"pn"`` ignores
        unlabeled rows. ``"pu"`` and ``"un"`` estimate the same AUC, converted with `prior`; ``"pu"`` also accepts
        positive-unlabeled labels: positives and markers, or ``{0, 1}`` without markers, where 0 means unlabeled.
        ``"auto"`` uses the pairs with the smallest estimated variance. Unlabeled rows help if one class has few
        labels: with 500 positives and 5 negatives, the standard error of ``"pu"`` is an eighth of that of ``"pn"``.
    prior : float, default=None
        P(y = positive) among the unlabeled rows; required by all `pairs` but ``"pn"``.
    prior_sd : float, default=0.0
        Standard error of `prior`, which widens the interval.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights, such as those of :func:`fewlabel.active.draw_weights` for rows that were not drawn uniformly; with
        ``method="score"`` and ``pairs="pn"``. The sizes in the formulas are then Kish's effective sizes,
        :math:`(\\sum w)^2 / \\sum w^2` per class.

    Returns
    -------
    AUCInterval
        Estimate, ends, and the method and pairs that were used. With ``"pu"`` and ``"un"`` the converted values can
        leave [0, 1]; they are clipped.

    Warns
    -----
    UserWarning
        If the whole interval lies outside [0, 1] before clipping, which happens when `prior` is wrong.

    See Also
    --------
    paired_auc_test : Test the difference of two AUCs on the same rows.

    Notes
    -----
    With placements :math:`\\psi`, DeLong's variance [1]_ is :math:`V = s^2(\\psi_P)/n_P + s^2(\\psi_N)/n_N`.

    - ``"score"``: Wilson's interval with an effective sample size. Its lower end is the root :math:`t < A` of

      .. math::
          (A-t)^2 = q^2 t(1-t) \\left[\\frac{\\kappa_P}{n_P} + \\frac{\\kappa_N}{n_N}\\right], \\qquad
          \\kappa_G = \\frac{0.35 + d_G^3\\, \\hat\\kappa_G}{0.5 + d_G^3}, \\quad
          \\hat\\kappa_G = \\frac{s^2(\\psi_G)}{A(1-A)}, \\quad d_G = n_G (1 - A),

      and the upper end is that of the negated scores. :math:`\\hat\\kappa_G` relates the variance of the placements to
      the largest possible one. It is known only as far as there are placements well below 1, of which
      :math:`d_G` is the number; without them the interval assumes 0.7, so that a sample that happens to miss the hard
      rows does not yield a short interval. :math:`q` is a quantile of Student's t. In simulations 95% intervals
      cover at least 92% for every distribution and number of rows tried.
    - ``"wald-delong"``: :math:`A \\pm z\\sqrt V`. Its coverage is too low with few labels.
    - ``"logit-delong"``: :math:`\\operatorname{logit} A \\pm z \\sqrt V / (A(1-A))`, mapped back. Its coverage falls
      below 20% where a sample often lacks the rows that make the AUC differ from 1.
    - ``"newcombe"``: Newcombe's method 5 [2]_, the roots :math:`t` of

      .. math::
          (A-t)^2 = \\frac{z^2 t(1-t)}{n_P n_N}
          \\left[1 + N^* \\frac{1-t}{2-t} + N^* \\frac{t}{1+t}\\right],
          \\qquad N^* = \\frac{n_P+n_N}{2} - 1 .

      It needs no variance estimate. Its coverage falls to 77% where one sample is much larger than the other and the
      smaller one varies more.

    DeLong's methods need two rows in each sample, and the interval shrinks to a point if :math:`V = 0`.
    The interval of :math:`A_{PU}` is mapped linearly by :math:`A_{PN} = (A_{PU} - \\theta_P/2)/\\theta_N`, that of
    :math:`A_{UN}` by :math:`A_{PN} = (A_{UN} - \\theta_N/2)/\\theta_P`, where :math:`\\theta_P` is `prior` and
    :math:`\\theta_N = 1 - \\theta_P` [3]_. With :math:`\\tau = z \\cdot` ``prior_sd`` :math:`\\cdot\\, |A_{PU} -
    \\frac12| / \\theta_N^2` (for ``"un"``: :math:`|A_{UN} - \\frac12| / \\theta_P^2`), each side :math:`d` of the
    interval then becomes :math:`\\sqrt{d^2 + \\tau^2}` [4]_. The labeled positives must not be among the unlabeled
    rows.

    References
    ----------
    .. [1] DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. "Comparing the areas under two or more correlated
       receiver operating characteristic curves: a nonparametric approach." Biometrics 44(3), 1988.
    .. [2] Newcombe, R. G. "Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Part
       2: asymptotic methods and evaluation." Statistics in Medicine 25(4), 2006.
    .. [3] Sakai, T., Niu, G. and Sugiyama, M. "Semi-supervised AUC optimization based on positive-unlabeled learning."
       Machine Learning 107(4), 2018.
    .. [4] Zou, G. Y. and Donner, A. "Construction of confidence limits about effect measures: a general approach."
       Statistics in Medicine 27(10), 2008.

    Examples
    --------
    >>> from fewlabel.metrics import auc_confidence_interval
    >>> y = [0, 0, 0, 0, 1, 1, 1, -1, -1]
    >>> score = [0.1, 0.3, 0.2, 0.6, 0.5, 0.8, 0.9, 0.4, 0.7]
    >>> interval = auc_confidence_interval(y, score)
    >>> print(f"{interval.auc:.2f} ({interval.low:.2f} to {interval.high:.2f}, {interval.method})")
    0.92 (0.30 to 0.99, score)
    """
    check_choice("method", method, get_args(Method))
    check_choice("pairs", pairs, get_args(Pairs))
    z = normal_quantile(confidence)
    if sample_weight is None:
        estimate = read_estimate(y_true, y_score, pairs, prior, prior_sd)
    elif method == "score" and pairs == "pn":
        estimate = weighted_estimate(y_true, y_score, sample_weight)
    else:
        raise ValueError(f"sample_weight needs method='score' and pairs='pn', got {method!r} and {pairs!r}")
    observed_ends = score_interval(estimate, confidence) if method == "score" else _z_interval(estimate, method, z)
    ends = (np.array(observed_ends) - estimate.shift) / estimate.scale
    # Each side is widened separately, as the sum of two independent errors (Zou and Donner 2008).
    reach = np.hypot(ends - estimate.auc, z * estimate.prior_error)
    low, high = estimate.auc + reach * [-1, 1]
    if low > 1 or high < 0:
        warnings.warn(
            f"the interval ({low:.3g} to {high:.3g}) lies outside [0, 1], so prior={prior} is wrong: it "
            "should be the share of positives among the unlabeled rows",
            UserWarning,
            stacklevel=2,
        )
    auc, low, high = np.clip([estimate.auc, low, high], 0, 1).tolist()
    return AUCInterval(auc, low, high, method, estimate.pairs)


def _z_interval(estimate, method, z):
    """Interval of the observed AUC by a method that is based on a normal quantile."""
    auc = estimate.observed
    if method == "newcombe":
        return newcombe_interval(auc, *estimate.sizes, z)
    n_high, n_low = estimate.sizes
    if min(n_high, n_low) < 2:
        raise ValueError(
            f"method={method!r} needs two rows in each sample, got {n_high} and {n_low}: use method='score'"
        )
    error = z * math.sqrt(estimate.delong_variance())
    if error == 0 or method == "wald-delong":
        return auc - error, auc + error
    center = special.logit(auc)
    half = error / (auc * (1 - auc))
    return special.expit(center - half), special.expit(center + half)
