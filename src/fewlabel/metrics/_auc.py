"""How well scores rank, measured with few labels: AUC estimates, intervals and tests.

Write :math:`A_{PN}` for the AUC, the probability that a positive scores above a negative (ties count one
half). With :math:`\\theta_P` the share of positives among the unlabeled rows and :math:`\\theta_N = 1 -
\\theta_P`, positives against unlabeled rows and unlabeled rows against negatives know it too:

.. math::
    A_{PU} = \\theta_N A_{PN} + \\theta_P / 2, \\qquad A_{UN} = \\theta_P A_{PN} + \\theta_N / 2 .

Throughout, `prior` is :math:`\\theta_P`, and `y` is read by :mod:`fewlabel.labels`. Only the order of the
scores counts, and infinite scores are allowed.
"""

import math
import numbers
import warnings
from typing import NamedTuple

import numpy as np
from scipy import optimize, special, stats

from fewlabel import labels
from fewlabel.kernels.ranks import placements, variance_of_mean

__all__ = [
    "AUCInterval",
    "PairedAUCTest",
    "auc_confidence_interval",
    "paired_auc_test",
    "pnu_auc_score",
    "pu_auc_score",
]

_METHODS = ("auto", "newcombe", "logit-delong", "wald-delong")
_PAIRS = ("pn", "pu", "un", "auto")

# Below this many rows in the smaller sample DeLong's variance is too noisy for its interval to cover.
_FEW = 30


class AUCInterval(NamedTuple):
    """An AUC with its confidence interval.

    Attributes
    ----------
    auc : float
        The estimate, in [0, 1].
    low, high : float
        The ends of the interval, in [0, 1].
    method : str
        The method that was used: ``"newcombe"``, ``"logit-delong"`` or ``"wald-delong"``.
    pairs : str
        The pairs that were compared: ``"pn"``, ``"pu"`` or ``"un"``.
    """

    auc: float
    low: float
    high: float
    method: str
    pairs: str


class PairedAUCTest(NamedTuple):
    """The difference of two AUCs on the same rows.

    Attributes
    ----------
    difference : float
        ``auc_a - auc_b``.
    low, high : float
        The ends of its confidence interval.
    pvalue : float
        Two-sided p-value of the hypothesis that the AUCs are equal.
    auc_a, auc_b : float
        The two AUCs.
    """

    difference: float
    low: float
    high: float
    pvalue: float
    auc_a: float
    auc_b: float


def auc_confidence_interval(y_true, y_score, *, confidence=0.95, method="auto", pairs="pn", prior=None, prior_sd=0.0):
    """AUC with a confidence interval that holds with few labels.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels; the last class in sorted order is positive, ``-1`` or a missing value marks an unlabeled row.
    y_score : array-like of shape (n_samples,)
        Scores; larger means more likely positive.
    confidence : float, default=0.95
        Nominal coverage.
    method : {"auto", "newcombe", "logit-delong", "wald-delong"}, default="auto"
        How the interval is made, see Notes. ``"auto"`` takes Newcombe's method where the smaller of the two
        samples has fewer than 30 rows or DeLong's variance is zero (as it is when the AUC is 0 or 1), and
        logit-DeLong otherwise.
    pairs : {"pn", "pu", "un", "auto"}, default="pn"
        The samples that are compared: labeled positives (p), labeled negatives (n), unlabeled rows (u).
        ``"pn"`` leaves unlabeled rows out. ``"pu"`` and ``"un"`` estimate the same AUC, converted with
        `prior`; ``"pu"`` also takes positive-unlabeled labels, which are positives and markers, or
        ``{0, 1}`` without markers where 0 means unlabeled.
        ``"auto"`` takes the one with the smallest estimated variance. Unlabeled rows help where the labels
        of one class are scarce: with 500 positives and 5 negatives, ``"pu"`` has an eighth of the standard
        error of ``"pn"``.
    prior : float, default=None
        P(y = positive) among the unlabeled rows; needed by all `pairs` but ``"pn"``.
    prior_sd : float, default=0.0
        Standard error of `prior`, which widens the interval.

    Returns
    -------
    AUCInterval
        Estimate, ends, and the method and pairs that were used. With ``"pu"`` and ``"un"`` the converted
        values can leave [0, 1]; they are clipped, and a warning is given where the whole interval lies
        outside, which happens when `prior` is wrong.

    Notes
    -----
    With placements :math:`\\psi`, DeLong's variance is :math:`V = s^2(\\psi_P)/n_P + s^2(\\psi_N)/n_N`.

    - ``"wald-delong"``: :math:`A \\pm z\\sqrt V`. Covers too rarely with few labels.
    - ``"logit-delong"``: :math:`\\operatorname{logit} A \\pm z \\sqrt V / (A(1-A))`, mapped back.
    - ``"newcombe"``: Newcombe's method 5, the roots :math:`t` of

      .. math::
          (A-t)^2 = \\frac{z^2 t(1-t)}{n_P n_N}
          \\left[1 + N^* \\frac{1-t}{2-t} + N^* \\frac{t}{1+t}\\right],
          \\qquad N^* = \\frac{n_P+n_N}{2} - 1 .

      It needs no variance estimate, so it is sound for one row of a class and for an AUC of 0 or 1.

    DeLong's methods need two rows in each sample, and shrink to a point where :math:`V = 0`.
    The interval of :math:`A_{PU}` is mapped linearly by :math:`A_{PN} = (A_{PU} - \\theta_P/2)/\\theta_N`,
    that of :math:`A_{UN}` by :math:`A_{PN} = (A_{UN} - \\theta_N/2)/\\theta_P`. With :math:`\\tau = z \\cdot`
    ``prior_sd`` :math:`\\cdot\\, |A_{PU} - \\frac12| / \\theta_N^2` (for ``"un"``: :math:`|A_{UN} - \\frac12|
    / \\theta_P^2`), each side :math:`d` of the interval then becomes :math:`\\sqrt{d^2 + \\tau^2}`. The
    positives must not be among the unlabeled rows.

    References
    ----------
    .. [1] DeLong, DeLong and Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
       operating characteristic curves, Biometrics 44(3).
    .. [2] Newcombe (2006), Confidence intervals for an effect size measure based on the Mann-Whitney
       statistic, part 2, Statistics in Medicine 25(4).
    .. [3] Sakai, Niu and Sugiyama (2018), Semi-supervised AUC optimization, Machine Learning 107.
    .. [4] Zou and Donner (2008), Construction of confidence limits about effect measures, Statistics in
       Medicine 27(10).

    Examples
    --------
    >>> from fewlabel.metrics import auc_confidence_interval
    >>> y = [0, 0, 0, 0, 1, 1, 1, -1, -1]
    >>> score = [0.1, 0.3, 0.2, 0.6, 0.5, 0.8, 0.9, 0.4, 0.7]
    >>> interval = auc_confidence_interval(y, score)
    >>> print(f"{interval.auc:.2f} ({interval.low:.2f} to {interval.high:.2f}, {interval.method})")
    0.92 (0.46 to 0.99, newcombe)
    """
    _check_choice("method", method, _METHODS)
    _check_choice("pairs", pairs, _PAIRS)
    z = _normal_quantile(confidence)
    estimate = _read_estimate(y_true, y_score, pairs, prior, prior_sd)
    if method == "auto":
        few = min(len(estimate.psi_high), len(estimate.psi_low)) < _FEW
        method = "newcombe" if few or estimate.delong_variance() == 0 else "logit-delong"
    ends = np.array(_interval(estimate, method, z))
    ends = (ends - estimate.shift) / estimate.scale
    # Each side is widened on its own, as the sum of two independent errors (Zou and Donner 2008).
    low, high = estimate.auc + np.hypot(ends - estimate.auc, z * estimate.prior_error) * [-1, 1]
    if low > 1 or high < 0:
        warnings.warn(
            f"the interval ({low:.3g} to {high:.3g}) lies outside [0, 1], so prior={prior} is wrong: it "
            "should be the share of positives among the unlabeled rows",
            UserWarning,
            stacklevel=2,
        )
    auc, low, high = (float(v) for v in np.clip([estimate.auc, low, high], 0, 1))
    return AUCInterval(auc, low, high, method, estimate.pairs)


def paired_auc_test(y_true, score_a, score_b, *, confidence=0.95):
    """DeLong's test of the difference of two AUCs on the same rows.

    With :math:`\\delta = \\psi^a - \\psi^b` the differences of the placements,

    .. math::
        D = A_a - A_b = \\bar\\delta_P, \\qquad
        V = s^2(\\delta_P)/n_P + s^2(\\delta_N)/n_N, \\qquad z = D/\\sqrt V .

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels; the last class in sorted order is positive. Unlabeled rows are left out. Two labeled rows of
        each class are needed.
    score_a, score_b : array-like of shape (n_samples,)
        The two scores; larger means more likely positive.
    confidence : float, default=0.95
        Nominal coverage of the interval.

    Returns
    -------
    PairedAUCTest
        Difference, its interval, p-value and the two AUCs.

    Notes
    -----
    Scores that order the rows in the same way have difference 0, interval (0, 0) and p-value 1. If
    :math:`\\delta` is the same for all rows but not 0 (one score is perfect and the other constant, for
    instance), :math:`V` is 0 and DeLong's test would always reject. Newcombe's intervals of the two AUCs are
    then combined as if they were independent, which is cautious; the p-value is that of the interval that
    just reaches 0.

    References
    ----------
    .. [1] DeLong, DeLong and Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
       operating characteristic curves, Biometrics 44(3).
    .. [2] Zou and Donner (2008), Construction of confidence limits about effect measures, Statistics in
       Medicine 27(10).

    Examples
    --------
    >>> from fewlabel.metrics import paired_auc_test
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> test = paired_auc_test(y, [1, 2, 3, 5, 4, 6, 7, 8], [3, 5, 1, 6, 4, 2, 7, 8])
    >>> print(f"{test.auc_a:.3f} - {test.auc_b:.3f} = {test.difference:.3f}, p = {test.pvalue:.2f}")
    0.938 - 0.688 = 0.250, p = 0.22
    """
    z = _normal_quantile(confidence)
    signs = labels.read_binary(y_true).signs
    psi_a, psi_b = (
        placements(score[signs > 0], score[signs < 0])
        for score in (
            _read_score(score_a, len(signs), "score_a"),
            _read_score(score_b, len(signs), "score_b"),
        )
    )
    counts = [len(psi) for psi in psi_a]
    if min(counts) < 2:
        raise ValueError(
            f"paired_auc_test needs two labeled rows of each class, got {counts[0]} positive and "
            f"{counts[1]} negative: one row has no variance"
        )
    auc_a, auc_b = float(psi_a[0].mean()), float(psi_b[0].mean())
    difference = float((psi_a[0] - psi_b[0]).mean())
    variance = sum(variance_of_mean(a - b) for a, b in zip(psi_a, psi_b))
    if variance == 0 and abs(difference) > 1e-12:
        low, high, pvalue = _cautious_difference(auc_a, auc_b, *counts, z)
    else:
        error = math.sqrt(variance)
        low, high = difference - z * error, difference + z * error
        pvalue = float(2 * stats.norm.sf(abs(difference) / error)) if variance else 1.0
    return PairedAUCTest(difference, max(low, -1.0), min(high, 1.0), pvalue, auc_a, auc_b)


def pu_auc_score(y_true, y_score, prior):
    """AUC from labeled positives against unlabeled rows.

    .. math::
        A_{PN} = (A_{PU} - \\theta_P / 2) / \\theta_N

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Positive-unlabeled labels: positives and markers (``-1``, ``None``, ``NaN``), or two classes of which
        the last is positive and the other unlabeled.
    y_score : array-like of shape (n_samples,)
        Scores; larger means more likely positive.
    prior : float
        P(y = positive) among the unlabeled rows.

    Returns
    -------
    float
        An unbiased estimate if `prior` is right. It is not clipped and **may leave [0, 1]** by chance, or by
        far when `prior` is too large.

    References
    ----------
    .. [1] Sakai, Niu and Sugiyama (2018), Semi-supervised AUC optimization, Machine Learning 107, section 2.

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
    score = _read_score(y_score, len(positive), "y_score")
    return _estimate("pu", score[positive], score[~positive], _check_prior(prior)).auc


def pnu_auc_score(y_true, y_score, *, prior=None, gamma=None):
    """AUC from labeled positives, labeled negatives and unlabeled rows together.

    With `prior`, the estimate with the smallest estimated variance among :math:`A_{PN}`,
    :math:`(A_{PU} - \\theta_P/2)/\\theta_N` and :math:`(A_{UN} - \\theta_N/2)/\\theta_P`. Without it, the
    combination

    .. math::
        A(\\gamma) = \\gamma A_{PN} + (1-\\gamma)(A_{PU} + A_{UN} - \\tfrac12) ,

    which has mean :math:`A_{PN}` whatever the prior is.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels; the last class in sorted order is positive, ``-1`` or a missing value marks an unlabeled row.
        Without unlabeled rows the score is the plain AUC.
    y_score : array-like of shape (n_samples,)
        Scores; larger means more likely positive.
    prior : float, default=None
        P(y = positive) among the unlabeled rows.
    gamma : float in [0, 1], default=None
        Weight of the labeled pairs, in place of `prior`. None means the weight with the smallest estimated
        variance; that is 1 if a class has a single labeled row, where the variance cannot be estimated.

    Returns
    -------
    float
        The estimate; it is not clipped and **may leave [0, 1]** by chance.

    See Also
    --------
    auc_confidence_interval : With ``pairs="auto"``, the same choice by variance, with its interval.

    Notes
    -----
    The variance of :math:`A(\\gamma)` is the sum of :math:`s^2/n` of the rows' influences:
    :math:`\\gamma\\psi_{PN} + (1-\\gamma)\\psi_{PU}` for positives, :math:`\\gamma\\psi_{PN} +
    (1-\\gamma)\\psi_{UN}` for negatives, :math:`(1-\\gamma)(\\psi_{PU} + \\psi_{UN})` for unlabeled rows. It
    is quadratic in :math:`\\gamma`, so that three evaluations give its minimum.

    References
    ----------
    .. [1] Sakai, Niu and Sugiyama (2018), Semi-supervised AUC optimization, Machine Learning 107.
    .. [2] Xie and Li (2018), Semi-supervised AUC optimization without guessing labels of unlabeled data,
       AAAI.

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
    if gamma is not None and not (_is_number(gamma) and 0 <= gamma <= 1):
        raise ValueError(f"gamma={gamma!r} should be a number in [0, 1]")
    if prior is not None:
        return _read_estimate(y_true, y_score, "auto", prior, 0.0).auc
    signs = labels.read_binary(y_true).signs
    score = _read_score(y_score, len(signs), "y_score")
    p, n, u = score[signs > 0], score[signs < 0], score[signs == 0]
    if not len(u):
        return float(placements(p, n)[0].mean())
    pn, pu, un = placements(p, n), placements(p, u), placements(u, n)
    if gamma is None:
        gamma = _best_gamma(pn, pu, un)
    return float(gamma * pn[0].mean() + (1 - gamma) * (pu[0].mean() + un[0].mean() - 0.5))


class _Estimate(NamedTuple):
    """The AUC of one sample against another, and the line that leads from it to the AUC of P against N."""

    pairs: str
    psi_high: np.ndarray
    psi_low: np.ndarray
    shift: float
    scale: float
    prior_sd: float

    @property
    def observed(self):
        return float(self.psi_high.mean())

    @property
    def auc(self):
        return (self.observed - self.shift) / self.scale

    @property
    def prior_error(self):
        """Standard error of `auc` that `prior_sd` causes; P-U and U-N differ in the sign of the slope."""
        return self.prior_sd * abs(self.observed - 0.5) / self.scale**2

    def delong_variance(self):
        """DeLong's variance of `observed`; 0 where it cannot be estimated."""
        if min(len(self.psi_high), len(self.psi_low)) < 2:
            return 0.0
        return variance_of_mean(self.psi_high) + variance_of_mean(self.psi_low)

    def variance(self):
        """Variance of `auc`, never 0: two perfectly ranked rows are not certain knowledge."""
        variance = self.delong_variance()
        if variance == 0:  # half of Newcombe's 95% interval is two standard errors
            low, high = _newcombe_interval(self.observed, len(self.psi_high), len(self.psi_low), z=2.0)
            variance = ((high - low) / 4) ** 2
        return variance / self.scale**2 + self.prior_error**2


def _estimate(pairs, high, low, prior=None, prior_sd=0.0):
    psi_high, psi_low = placements(high, low)
    if pairs == "pn":
        return _Estimate(pairs, psi_high, psi_low, 0.0, 1.0, 0.0)
    scale = 1 - prior if pairs == "pu" else prior
    return _Estimate(pairs, psi_high, psi_low, (1 - scale) / 2, scale, prior_sd)


def _read_estimate(y_true, y_score, pairs, prior, prior_sd):
    """The estimate from the wanted pairs; for "auto" the one with the smallest variance."""
    if not (_is_number(prior_sd) and 0 <= prior_sd < math.inf):
        raise ValueError(f"prior_sd={prior_sd!r} should be a number >= 0, the standard error of prior")
    if pairs != "pn" and prior is None:
        raise ValueError(
            f"pairs={pairs!r} needs prior, the share of positives among the unlabeled rows; pairs='pn' does without"
        )
    if prior is not None:
        prior = _check_prior(prior)
    samples = _read_samples(y_true, y_score, pu=pairs == "pu")
    if pairs in ("pu", "un") and not len(samples["u"]):
        raise ValueError(f"pairs={pairs!r} needs unlabeled rows, y_true has none: use pairs='pn'")
    if pairs == "auto":
        wanted = ("pn", "pu", "un") if len(samples["u"]) else ("pn",)
    else:
        wanted = (pairs,)
    estimates = [_estimate(w, samples[w[0]], samples[w[1]], prior, prior_sd) for w in wanted]
    return min(estimates, key=_Estimate.variance)


def _read_samples(y_true, y_score, pu):
    """Scores of the positives, negatives and unlabeled rows."""
    read = labels.read(y_true)
    if pu and not (len(read.classes) == 2 and (read.codes < 0).any()):
        # Without labeled negatives beside unlabeled rows, y has its positive-unlabeled meaning.
        signs = labels.read_pu(y_true).positive.astype(np.int8)
    else:
        signs = labels.read_binary(y_true).signs
    score = _read_score(y_score, len(signs), "y_score")
    return {"p": score[signs > 0], "n": score[signs < 0], "u": score[signs == 0]}


def _interval(estimate, method, z):
    """Interval of the observed AUC, before it is converted."""
    auc, n_high, n_low = estimate.observed, len(estimate.psi_high), len(estimate.psi_low)
    if method == "newcombe":
        return _newcombe_interval(auc, n_high, n_low, z)
    if min(n_high, n_low) < 2:
        raise ValueError(
            f"method={method!r} needs two rows in each sample, got {n_high} and {n_low}: use method='newcombe'"
        )
    error = z * math.sqrt(estimate.delong_variance())
    if method == "wald-delong":
        return auc - error, auc + error
    if error == 0:
        return auc, auc
    center, half = special.logit(auc), error / (auc * (1 - auc))
    return special.expit(center - half), special.expit(center + half)


def _newcombe_interval(auc, n_high, n_low, z):
    # The equation does not change when t and the AUC are both reflected about 1/2.
    return _newcombe_low(auc, n_high, n_low, z), 1 - _newcombe_low(1 - auc, n_high, n_low, z)


def _newcombe_low(auc, n_high, n_low, z):
    """The root of Newcombe's equation in [0, auc], the only one: (A-t)^2 / (t(1-t)[...]) falls with t."""
    if auc == 0:
        return 0.0
    size = (n_high + n_low) / 2 - 1

    def slope(t):
        return z**2 * t * (1 + size * (1 - t) / (2 - t) + size * t / (1 + t)) / (n_high * n_low)

    if auc == 1:
        # t = 1 solves the equation but is not the bound: its factor 1 - t is divided out.
        return optimize.brentq(lambda t: (1 - t) - slope(t), 0, 1)
    return optimize.brentq(lambda t: (auc - t) ** 2 - (1 - t) * slope(t), 0, auc)


def _cautious_difference(auc_a, auc_b, n_high, n_low, z):
    """Interval and p-value of a difference of AUCs from their Newcombe intervals, taken as independent."""

    def reach(auc_up, auc_down, z):
        """How far the true ``auc_up - auc_down`` may lie below its estimate."""
        down = auc_up - _newcombe_low(auc_up, n_high, n_low, z)
        up = 1 - _newcombe_low(1 - auc_down, n_high, n_low, z) - auc_down
        return math.hypot(down, up)

    difference = auc_a - auc_b
    larger, smaller = max(auc_a, auc_b), min(auc_a, auc_b)
    z_max = 1.0
    while reach(larger, smaller, z_max) < larger - smaller:
        z_max *= 2
    z_zero = optimize.brentq(lambda v: reach(larger, smaller, v) - (larger - smaller), 0, z_max)
    low, high = difference - reach(auc_a, auc_b, z), difference + reach(auc_b, auc_a, z)
    return low, high, float(2 * stats.norm.sf(z_zero))


def _best_gamma(pn, pu, un):
    """The gamma in [0, 1] that minimizes the variance of the combination."""
    if min(len(pn[0]), len(pn[1]), len(pu[1])) < 2:
        return 1.0

    def variance(gamma):
        rest = 1 - gamma
        return (
            variance_of_mean(gamma * pn[0] + rest * pu[0])
            + variance_of_mean(gamma * pn[1] + rest * un[1])
            + variance_of_mean(rest * (pu[1] + un[0]))
        )

    at_0, at_half, at_1 = variance(0.0), variance(0.5), variance(1.0)
    curvature = 2 * (at_0 - 2 * at_half + at_1)
    if curvature <= 0:  # a sum of squares has none below 0: the line is flat or rounding made it so
        return float(at_1 <= at_0)
    return float(np.clip(0.5 + (at_0 - at_1) / (2 * curvature), 0, 1))


def _read_score(score, n_samples, name):
    """Scores as a 1d numeric array without NaN, one a row of y."""
    values = np.asarray(score)
    if values.dtype.kind not in "biuf":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} should hold numbers, got dtype {values.dtype}") from None
    if values.ndim == 2 and values.shape[1] == 2:
        raise ValueError(f"{name} has two columns: pass that of the positive class, e.g. predict_proba(X)[:, 1]")
    if values.ndim != 1:
        raise ValueError(f"{name} should be a 1d array with one score a row, got shape {values.shape}")
    if len(values) != n_samples:
        raise ValueError(f"y_true has {n_samples} rows and {name} has {len(values)}: they should be the same rows")
    n_missing = int(np.isnan(values).sum())
    if n_missing:
        raise ValueError(
            f"{name} holds NaN in {n_missing} of {n_samples} rows: such rows have no rank. Drop them, or "
            "give them the score that they would be treated with"
        )
    return values


def _check_prior(prior):
    if not (_is_number(prior) and 0 < prior < 1):
        raise ValueError(
            f"prior={prior!r} should be a number between 0 and 1 (both excluded): the share of positives "
            "among the unlabeled rows"
        )
    return float(prior)


def _normal_quantile(confidence):
    if not (_is_number(confidence) and 0 < confidence < 1):
        percent = _is_number(confidence) and confidence > 1
        hint = f"; for {confidence:g}% write {confidence / 100:g}" if percent else ""
        raise ValueError(f"confidence={confidence!r} should be a number between 0 and 1 (both excluded){hint}")
    return float(stats.norm.isf((1 - confidence) / 2))


def _check_choice(name, value, choices):
    if value not in choices:
        raise ValueError(f"{name}={value!r} is not known: use one of {', '.join(map(repr, choices))}")


def _is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
