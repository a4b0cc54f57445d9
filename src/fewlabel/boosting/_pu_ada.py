"""Ada-PU: AdaBoost from positives and unlabeled rows."""

import math
from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np

from fewlabel.base import Count, Positive, UnitInterval, parametrized
from fewlabel.boosting.booster import Booster, Columns, Directions, LessThanOne
from fewlabel.kernels.symmetric_trees import StepRule
from fewlabel.positive_unlabeled import PositiveUnlabeled


def pu_rule(prior, *, start, correction, separate, non_negative, max_step, stop_risk):
    r"""Positives as positives, positives as negatives of negative weight, and unlabeled rows as negatives.

    With :math:`D_P^+ = \pi\overline{e^{-H}}_P,\ D_P^- = -\lambda\pi\overline{e^{H}}_P,\ D_U = \overline{e^{H}}_U` the
    risk is :math:`Z = D_P^+ + D_P^- + D_U`, and a stump with error :math:`E` has the target :math:`Z - 2E`: the sum of
    :math:`y h` with the signed weights, an ordinary edge.
    """
    with np.errstate(divide="ignore"):  # log 0 = -inf: no such rows
        log_weights = np.log([[prior, 0.0, 0.0], [correction * prior, 1.0, 0.0]])
    signs = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]])
    if not separate:  # a constant in every score is a factor of the masses
        log_weights += [[-start], [start]]
    negative_risk = (1 - prior * correction) * math.exp(start)
    return StepRule(
        is_pairs=False,
        log_weights=log_weights,
        signs=signs,
        uses=np.array([[True, False, False], [True, True, False]]),
        keeps_sizes=separate,
        least_wrong=0.0,  # a guarded stump has a positive error
        max_step=math.inf if max_step is None else float(max_step),
        is_guarded=True,
        non_negative=non_negative,
        # Weight sets that are kept apart minimize no risk, so that no risk can end the fit.
        least_negative_risk=-math.inf if separate else stop_risk * negative_risk,
    )


@parametrized
class PUBooster(PositiveUnlabeled, Booster):
    """Base of the boosters of positives and unlabeled rows."""

    n_estimators: Count = 600
    _: KW_ONLY
    stop_risk: LessThanOne = 0.1

    def _fit(self, X, signs, weight):
        if not (self.warm_start and hasattr(self, "splits_")):
            self.prior_ = self._find_prior(X, signs, weight)
        super()._fit(X, signs, weight)

    def _uses_unlabeled(self):
        return True


@parametrized
class PUAdaBoostClassifier(PUBooster):
    r"""AdaBoost from positives and unlabeled rows (Ada-PU).

    Minimizes the exponential risk of positives :math:`P` and unlabeled rows :math:`U` of known prior
    :math:`\pi`,

    .. math::

        R(H) = \pi\, \overline{e^{-H}}_P + \overline{e^{H}}_U - \lambda\pi\, \overline{e^{H}}_P ,
        \qquad H = \sum_t \alpha_t h_t ,

    over sums of stumps :math:`h_t \in \{-1, 1\}`. The last two terms estimate the risk of the negatives, none of which
    is labeled: unlabeled rows count as negatives, and the positives among them are canceled by copies of the labeled
    positives with *negative* weight. The risk is therefore not bounded below, and long runs overfit by driving it down;
    `non_negative`, `max_step`, the small learning rate and `stop_risk` prevent this.

    Assumes that the labeled positives are a random sample of the positives among the unlabeled rows, and a prior that
    is about right; too small is safer than too large.

    Parameters
    ----------
    n_estimators : int, default=600
        Maximum number of rounds; `stop_risk` often ends the fit earlier.
    prior : float, default=None
        P(y = positive) among the unlabeled rows, :math:`\pi`. None: estimated by `estimate_class_prior`.
    init : {"prior", "zero"}, default="prior"
        Score of every row before the first round: the constant of lowest risk,
        :math:`\frac{1}{2}\log\frac{\pi}{1 - \lambda\pi}`, or 0, as in the paper. From 0, if positives are rare, the
        first rounds mostly learn that they are, and `stop_risk` counts this.
    correction : float, default=0.3
        Weight of the negative copies, :math:`\lambda` in [0, 1]. 1: the paper's unbiased risk. 0: AdaBoost of the
        positives against the unlabeled rows, with the prior in the weights. A value below 1 makes the risk biased,
        which only moves the threshold, but far less noisy.
    normalization : {"joint", "separate"}, default="joint"
        "joint": the three weight sets (positives, their negative copies, unlabeled rows) keep their sizes in the risk,
        which a round then lowers. "separate": each is scaled back to its first size after every round, a literal
        reading of the paper's section 3.2. No risk is minimized then, and `train_loss_` is :math:`e^{-\sum_t\alpha_t}`.
    learning_rate : float, default=0.1
        Factor by which each step is multiplied, in (0, 1]. At 1 the fit collapses if `correction` is 1.
    splitter : {"best", "random"}, default="best"
        "best": search all thresholds of a column; "random": `n_thresholds` random ones in each round, as in the paper.
        They are drawn evenly over the range of the column, so that its scale matters: its logarithm has others.
    n_thresholds : int, default=10
        Thresholds drawn per column and round if `splitter` is "random".
    max_bins : int, default=255
        Maximum number of bins per column, 2 to 255. A column with no more distinct values is searched exactly.
    max_features : int, float or "sqrt", default=0.1
        Columns drawn at random for each round, as a number (int), a fraction (float), or the square root. With few of
        them the noise of the copies averages out over the columns.
    non_negative : bool, default=True
        Skip stumps whose estimated error on the negatives is below zero.
    max_step : float, default=0.5
        Longest step before `learning_rate`; None for no limit.
    stop_risk : float, default=0.1
        Stop when the estimated risk of the negatives, :math:`\overline{e^{H}}_U - \lambda\pi\overline{e^{H}}_P`, has
        come down to this fraction of its first value. 0 stops only where it vanishes. Not used if `normalization` is
        "separate".
    threshold : {"prior", "zero"}, default="prior"
        "prior": the fraction of unlabeled training rows predicted positive equals the prior. "zero": the sign of
        :math:`H`, as in the paper; it tends to predict everything positive.
    monotone : dict or array-like of shape (n_features,), default=None
        1 for a column along which the score of the positive class must not fall, -1 where it must not rise: by name or
        position, such as ``{"income": -1}``, or one number per column. Holds exactly: stumps in the wrong direction are
        not searched. Missing values are free. For stumps only.
    n_jobs : int, default=None
        Threads; -1 for all cores. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the thresholds, the columns, and the folds used to estimate the prior.
    warm_start : bool, default=False
        Continue from the last fit, up to `n_estimators` rounds in total, with its prior.
    verbose : int, default=0
        Print the risk after each round.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes, sorted. Where `y` has no name for the other one it is 0 (1 if the positives are
        0), False, "not " and the name of the positives, or the other category of a categorical `y`.
    positive_ : int
        Position of the positive class.
    prior_ : float
        The prior that was used.
    splits_, leaf_values_, n_iter_, train_loss_, shape_functions_, feature_importances_
        As in `PNUAUCBoostClassifier`; `train_loss_` is :math:`R(H)` after each round.
    offset_ : float
        Added to the score, so that 0 is the threshold of `predict`.
    calibration_ : ndarray of shape (2,)
        Slope and intercept of the log-odds of the positive class in its score.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    fewlabel.prior.estimate_class_prior : The prior, with an interval and the estimate of every method.
    LinearPUClassifier : The same risk with a linear model.

    Notes
    -----
    `predict_proba` has its 1/2 at the threshold of `predict`; its slope minimizes the logistic PU risk of the training
    rows, so probabilities are optimistic when positives are few.

    We differ from the paper where it is in error: errors are divided by the current risk (missing in equations 8 and
    9), the negative copies and the unlabeled rows weigh :math:`e^{H}` (equation 12 prints :math:`e^{-H}`), both
    polarities are searched, the target is maximized, and the learning rate is part of the weights. The defaults differ
    from the paper in three ways: all thresholds of some columns are searched, which is better on skewed columns; the
    negative copies weigh less, which is far better; and scores start at the constant of lowest risk.
    `PUAdaBoostClassifier.paper()` is the paper's algorithm, as published. Its Theorem 4.2 does not hold, because a
    negative weight reverses :math:`e^{z} \ge 1[z \ge 0]`, and its Theorem 4.3 cannot hold, because every positive
    occurs with both labels.

    What holds, with :math:`\varepsilon_t` the error of round t divided by the risk: the risk is
    :math:`\prod_t [(1-\varepsilon_t)e^{-\beta\alpha_t} + \varepsilon_t e^{\beta\alpha_t}]`, positive and falling.

    References
    ----------
    .. [1] Y. Zhao, M. Zhang, C. Zhang, T. Chen, N. Ye, M. Xu. A Boosting Algorithm for Positive-Unlabeled Learning.
       arXiv preprint, 2022. Weights: equation 7; error: 8; step: 9; target: 11; Algorithms 1 and 2.
    .. [2] M. C. du Plessis, G. Niu, M. Sugiyama. Analysis of Learning from Positive and Unlabeled Data. Advances in
       Neural Information Processing Systems 27, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import PUAdaBoostClassifier, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y_pu = hide_labels(y, labeled=100, mechanism="positives-only", random_state=0)
    >>> model = PUAdaBoostClassifier(prior=0.55, random_state=0).fit(X, y_pu)
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    max_depth = 1  # stumps

    _: KW_ONLY
    init: Literal["prior", "zero"] = "prior"
    correction: UnitInterval = 0.3
    normalization: Literal["joint", "separate"] = "joint"
    splitter: Literal["best", "random"] = "best"
    n_thresholds: Count = 10
    max_features: Columns = 0.1
    non_negative: bool = True
    max_step: Positive | None = 0.5
    monotone: Directions = None

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """The paper's algorithm, as published: random splits of all columns, no cap, no stop, threshold at zero.

        Parameters
        ----------
        **parameters
            Further parameters, or other values; the paper tunes `learning_rate`.

        Returns
        -------
        PUAdaBoostClassifier
        """
        published = {
            "n_estimators": 100,
            "init": "zero",
            "correction": 1.0,
            "learning_rate": 0.1,
            "splitter": "random",
            "max_features": 1.0,
            "max_step": None,
            "stop_risk": 0.0,
            "threshold": "zero",
        }
        return cls(**{**published, **parameters})

    def _start_score(self):
        """The constant part of every score; `offset_` includes it."""
        return 0.5 * math.log(self.prior_ / (1 - self.correction * self.prior_)) if self.init == "prior" else 0.0

    def _make_classifier(self, scores, signs, weight):
        super()._make_classifier(scores + self._start_score(), signs, weight)
        self.offset_ += self._start_score()

    def _objective(self, rows):
        return pu_rule(
            self.prior_,
            start=self._start_score(),
            correction=self.correction,
            separate=self.normalization == "separate",
            non_negative=self.non_negative,
            max_step=self.max_step,
            stop_risk=self.stop_risk,
        )
