"""Symmetric trees boosted on positives and unlabeled rows."""

from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from fewlabel.base import NonNegative, UnitInterval, parametrized
from fewlabel.boosting._pu_ada import PUBooster
from fewlabel.boosting.booster import Bins, RandomTrees


class PURisk:
    r"""The risk of Ada-PU, :math:`\pi\overline{e^{-H}}_P + \overline{e^{H}}_U - \lambda\pi\overline{e^{H}}_P`.

    Parameters
    ----------
    prior, correction, stop_risk : float
        :math:`\pi`, :math:`\lambda`, and the share of its first value at which the risk of the negatives ends the fit.
    rows : Rows or SpreadRows
        Positives and unlabeled rows.
    """

    def __init__(self, prior, correction, stop_risk, rows):
        self._rows = rows
        self._prior = prior
        self._copies_weight = correction * prior
        self._least_negative_risk = stop_risk * (1 - prior * correction)
        # Of two groups the smaller one limits what is known: the harmonic mean of their sizes.
        n_positive, n_unlabeled, _ = rows.totals
        self._size = 2 * n_positive * n_unlabeled / (n_positive + n_unlabeled)
        self._known = None  # what `value` needed: `set_derivatives` needs the same before the next round

    def set_derivatives(self):
        r"""Set the negative gradient and a bound on the second derivative of each row; False at the end of the fit.

        The second derivative of the term :math:`-\lambda\pi e^{H}` is negative. Its absolute value is taken instead, so
        that a bounded step still decreases the risk: no leaf value exceeds 1.
        """
        _, as_negatives, copies = self._known or self._sums()
        self._known = None
        # The copies have negative weight, so that the risk of the negatives can fall to zero: the rest is noise.
        if as_negatives - copies <= self._least_negative_risk:
            return False
        self._rows.tell(_set_slopes, self._prior, self._copies_weight, self._size)
        return True

    def value(self):
        """The risk."""
        self._known = self._sums()
        as_positives, as_negatives, copies = self._known
        return as_positives + as_negatives - copies

    def _sums(self):
        return self._rows.sums(_terms, self._prior, self._copies_weight)


def _terms(rows, prior, copies_weight):
    """Terms of the risk: of the positives, of the unlabeled rows, and of the positives among these."""
    positives, unlabeled, _ = rows.groups
    weights = rows.weights[positives]
    as_positives = prior * weights * np.exp(-rows.scores[positives])
    as_negatives = rows.weights[unlabeled] * np.exp(rows.scores[unlabeled])
    copies = copies_weight * weights * np.exp(rows.scores[positives])
    return [as_positives, as_negatives, copies]


def _set_slopes(rows, prior, copies_weight, size):
    as_positives, as_negatives, copies = _terms(rows, prior, copies_weight)
    derivatives = rows.derivatives
    derivatives[:] = 0.0
    derivatives[:, rows.groups[0]] = as_positives + copies
    derivatives[0, rows.groups[1]] = -as_negatives
    derivatives[1, rows.groups[1]] = as_negatives
    derivatives *= size


@parametrized
class TreePUBoostClassifier(RandomTrees, PUBooster):
    r"""Symmetric trees boosted on positives and unlabeled rows.

    The tree form of `PUAdaBoostClassifier`: minimizes the same exponential risk of positives :math:`P` and unlabeled
    rows :math:`U` of known prior :math:`\pi`,

    .. math::

        R(H) = \pi\, \overline{e^{-H}}_P + \overline{e^{H}}_U - \lambda\pi\, \overline{e^{H}}_P ,

    by second-order gradient boosting. The trees are those of `TreeAUCBoostClassifier`. It is a class of its own rather
    than `max_depth` of `PUAdaBoostClassifier`: a depth would replace the exact steps of Ada-PU, and `init`,
    `normalization`, `non_negative`, `max_step` and `n_thresholds` would mean nothing.

    Parameters
    ----------
    n_estimators : int, default=600
        Maximum number of rounds; `stop_risk` can end the fit earlier.
    prior : float, default=None
        P(y = positive) among the unlabeled rows, :math:`\pi`. None: estimated by `estimate_class_prior`.
    correction : float, default=0.7
        Weight of the negative copies, :math:`\lambda` in [0, 1]. 1: the unbiased risk. 0: positives against unlabeled
        rows, with the prior in the weights.
    stop_risk : float, default=0.1
        Stop when the estimated risk of the negatives, :math:`\overline{e^{H}}_U - \lambda\pi\overline{e^{H}}_P`, has
        fallen to this fraction of its first value :math:`1 - \lambda\pi`. 0 stops only where it vanishes.
    threshold : {"prior", "zero"}, default="prior"
        "prior": predict as many of the unlabeled training rows positive as the prior says. "zero": the sign of
        :math:`H`.
    max_depth : int, default=6
        Number of levels of each tree, 1 to 8.
    learning_rate : float, default=0.02
        Factor by which each tree is multiplied, in (0, 1].
    l2_regularization : float, default=0.5
        Penalty on the squares of the leaf values, in rows. A row of weight 2 counts as two rows, so that the scale of
        the weights matters: larger weights mean a smaller penalty.
    splitter : {"mixed", "random", "best"}, default="random"
        Cuts that a tree tries at each level: one random cut per column ("random"), all of them ("best"), or the one and
        the other in turn, tree by tree ("mixed").
    split_noise : float, default=0.0
        Standard deviation of the noise on the scores of splits in the first round, in units of the norm of the
        gradient; it fades linearly to zero over `n_estimators` rounds ("auto": 2,000). Only for trees that try all
        thresholds.
    bootstrap : bool, default=True
        Multiply the weight of each row by an exponential variate, drawn for each tree (Bayesian bootstrap).
    max_bins : int, default=64
        Maximum number of bins per column, 2 to 255, from the quantiles of all rows.
    max_features : int, float or "sqrt", default="sqrt"
        Columns drawn at random for each level, as a number (int), a fraction (float), or the square root.
    n_jobs : int, default=None
        Threads; -1 for all cores. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws columns, thresholds, noise and bootstrap weights, and the folds for the estimate of the prior.
    warm_start : bool, default=False
        Continue from the last fit, up to `n_estimators` rounds in total, with its prior.
    verbose : int, default=0
        Print the risk after each round.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes, sorted.
    positive_ : int
        Position of the positive class.
    prior_ : float
        The prior that was used.
    splits_, leaf_values_, train_loss_, n_iter_, feature_importances_, shape_functions_
        As in `TreeAUCBoostClassifier`.
    offset_ : float
        Added to the score, so that 0 is the threshold of `predict`.
    calibration_ : ndarray of shape (2,)
        Slope and intercept of the log-odds of the positive class in its score.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    PUAdaBoostClassifier : The same risk with stumps, which is an additive model.
    fewlabel.prior.estimate_class_prior : The prior, with an interval.

    Notes
    -----
    The risk is not bounded below, because the copies of the positives have negative weight. Leaf values use the sum of
    the absolute second derivatives, so that none exceeds 1 before shrinkage, and `stop_risk` ends the fit where the
    estimated risk of the negatives has become noise.

    References
    ----------
    .. [1] Y. Zhao, M. Zhang, C. Zhang, T. Chen, N. Ye, M. Xu. A Boosting Algorithm for Positive-Unlabeled Learning.
       arXiv preprint, 2022.
    .. [2] J. H. Friedman. Greedy Function Approximation: A Gradient Boosting Machine. The Annals of Statistics 29,
       2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import TreePUBoostClassifier, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y_pu = hide_labels(y, labeled=100, mechanism="positives-only", random_state=0)
    >>> model = TreePUBoostClassifier(prior=0.55, random_state=0).fit(X, y_pu)
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    _: KW_ONLY
    correction: UnitInterval = 0.7
    splitter: Literal["mixed", "random", "best"] = "random"
    split_noise: NonNegative = 0.0
    max_bins: Bins = 64

    _bins_all_rows = True

    def _boosts_stumps(self):
        return False

    def _objective(self, rows):
        return PURisk(self.prior_, self.correction, self.stop_risk, rows)
