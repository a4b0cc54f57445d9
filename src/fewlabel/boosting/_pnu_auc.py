"""PNU-AUCBoost: semi-supervised AUC by boosting."""

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np

from fewlabel.base import Count, parametrized
from fewlabel.boosting.booster import Depth, LabeledBooster, LessThanOne
from fewlabel.boosting.pairs import PairLoss
from fewlabel.kernels.symmetric_trees import StepRule


def pair_rule(gamma, rho, step):
    r"""Pairs (positive, negative), (positive, unlabeled) and (unlabeled, negative) under the exponential loss.

    With the masses :math:`B = \overline{e^{-f}}_P,\ A = \overline{e^{f}}_N,\ V_\pm = \overline{e^{\pm f}}_U` the
    objective is :math:`R = \gamma AB + \frac{1-\gamma}{2}(B V_+ + A V_-)`: the pairs are never enumerated.
    """
    with_unlabeled = (1 - gamma) / 2
    with np.errstate(divide="ignore"):  # log 0 = -inf: no such pairs
        log_pairs = np.log(np.array([gamma, with_unlabeled, with_unlabeled]))
    return StepRule(is_pairs=True, log_pairs=log_pairs, is_exact=step == "exact", rho=float(rho), low_factor=0.0)


@parametrized
class PNUAUCBoostClassifier(LabeledBooster):
    r"""Semi-supervised AUC by boosting stumps (PNU-AUCBoost).

    Minimizes the exponential risk of the pairs of positives, negatives and unlabeled rows,

    .. math::

        R_\rho(f) = e^{\rho \sum_t \alpha_t} \Big[ \gamma\, \overline{e^{-(f(p) - f(n))}}
        + \frac{1-\gamma}{2} \Big( \overline{e^{-(f(p) - f(u))}} + \overline{e^{-(f(u) - f(n))}} \Big) \Big],
        \qquad f = \sum_t \alpha_t h_t,

    over sums of stumps :math:`h_t \in \{0, 1\}` of one column each. No pair is enumerated: a round costs one addition
    per row and column.

    The unlabeled terms pull every unlabeled row toward a common center. This is data-dependent shrinkage, not a cluster
    assumption: do not expect unlabeled rows alone to improve the ranking much. `early_stopping="alarm"` stops when they
    begin to mislead.

    Parameters
    ----------
    n_estimators : int, default=150
        Number of rounds. More rounds can overfit when `gamma` < 1.
    gamma : float, default=1.0
        Weight of the labeled pairs, in [0, 1]. 1 is RankBoost: unlabeled rows are not used at all. It is the default
        because no smaller value ranked better on average over 32 tables; to use the unlabeled rows set it below 1, and
        compare. Without unlabeled rows `gamma` has no effect.
    rho : float, default=0.0
        Margin, in [0, 1): the minimum edge of a stump, and the weight of the sum of steps in the objective.
    step : {"exact", "bound"}, default="exact"
        Length of a step: the minimizer of the objective along the stump, or of the paper's upper bound on it.
    max_depth : int, default=1
        Number of levels of each tree, 1 to 8. 1: stumps, an additive model. Deeper trees minimize the same objective,
        with ``rho=0``, by second-order steps, as `TreeAUCBoostClassifier` does without its random trees.
    learning_rate : float, default=0.1
        Factor by which each step is multiplied, in (0, 1].
    max_bins : int, default=255
        Maximum number of bins per column, 2 to 255. A column with no more distinct values is searched exactly.
    max_features : int, float or "sqrt", default=0.3
        Columns drawn at random for each round, or level, as a number (int), a fraction (float), or the square root.
    early_stopping : bool or "alarm", default=False
        True holds out `validation_fraction` of the labeled rows and keeps the round with the best AUC on them. A row of
        weight 2 is held out as a whole, unlike a repeated row.
        "alarm" holds out nothing and stops when :math:`R_{PU} + R_{UN} - R_{PN}` falls below 1. Its expectation over
        new rows is at least 1, so labeled rows are then ranked apart from unlabeled rows of their own class. With few
        labels it can stop well before the ranking is best.
    validation_fraction : float, default=0.1
        Fraction of the labeled rows to hold out if `early_stopping` is True.
    n_iter_no_change : int, default=10
        Stop after this many rounds without a better validation AUC.
    monotone : dict or array-like of shape (n_features,), default=None
        1 for a column along which the score of the positive class must not fall, -1 where it must not rise: by name or
        position, such as ``{"income": -1}``, or one number per column. Holds exactly: stumps in the wrong direction are
        not searched. Missing values are free. For stumps only.
    n_jobs : int, default=None
        Threads; -1 for all cores. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the columns and the held-out rows.
    warm_start : bool, default=False
        Continue from the last fit, up to `n_estimators` rounds in total.
    verbose : int, default=0
        Print the objective after each round.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        ``classes_[1]`` is the positive class.
    splits_ : ndarray of shape (n_iter, max_depth)
        The splits: fields `column`, `threshold`, `missing_up` and `gain`. A row goes up where its value is above the
        threshold or, if `missing_up`, missing. The gain of a stump is the decrease of the log-objective.
    leaf_values_ : ndarray of shape (n_iter, 2**max_depth)
        Added to the score; the ups and downs of a row, the first level first, are the bits of its leaf.
    n_iter_ : int
        Number of rounds.
    train_loss_ : ndarray of shape (n_iter,)
        The objective after each round.
    shape_functions_ : list of ShapeFunction
        The model as one step function per column, if `max_depth` is 1.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in the gains of all splits.
    offset_ : float
        Added to the score, so that 0 is the threshold of `predict`.
    calibration_ : ndarray of shape (2,)
        Slope and intercept of the log-odds of ``classes_[1]`` in the decision function.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    The objective has no threshold: `predict` uses the one with the best balanced accuracy on the labeled rows, and
    `predict_proba` a sigmoid fitted to them. Both use the rows the model was fitted to, so probabilities are optimistic
    when labels are few.

    We differ from the paper where it is in error or can be improved: both polarities of a stump are searched and an
    edge must exceed `rho` (the printed criterion accepts uninformative stumps), the edge has no factor 1/2 (its
    equation 33), and the defaults are the exact step, shrinkage and random columns; the results pages compare both
    forms, tuned and untuned. `PNUAUCBoostClassifier.paper()` is the paper's algorithm, as published.

    Missing values of a column go to the side that lowers the objective most. If the column had none in training, they
    go to the side with more rows.

    References
    ----------
    .. [1] Z. Yang, Q. Xu, Y. He, X. Cao, Q. Huang. Boosting-Based Semi-Supervised AUC Optimization: Theory and
       Algorithm. Chinese Journal of Computers, 2022. Objective: equation 17; step: 34; edge: 35 to 38.
    .. [2] Y. Freund, R. Iyer, R. E. Schapire, Y. Singer. An Efficient Boosting Algorithm for Combining Preferences.
       Journal of Machine Learning Research 4, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import PNUAUCBoostClassifier, hide_labels
    >>> from sklearn.metrics import roc_auc_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y_few = hide_labels(y, labeled=0.1, random_state=0)
    >>> model = PNUAUCBoostClassifier(random_state=0).fit(X, y_few)
    >>> bool(roc_auc_score(y, model.decision_function(X)) > 0.95)
    True
    """

    n_estimators: Count = 150
    _: KW_ONLY
    rho: LessThanOne = 0.0
    step: Literal["exact", "bound"] = "exact"
    max_depth: Depth = 1

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """The paper's algorithm, as published: the bound step at full length, and all columns in every round.

        Parameters
        ----------
        **parameters
            Further parameters, or other values; the paper tunes `gamma`, `rho` and `n_estimators` on validation rows.

        Returns
        -------
        PNUAUCBoostClassifier
        """
        published = {
            "n_estimators": 75,
            "gamma": 0.95,
            "rho": 0.02,
            "step": "bound",
            "learning_rate": 1.0,
            "max_features": 1.0,
        }
        return cls(**{**published, **parameters})

    def _objective(self, rows):
        gamma = self.gamma if rows.sizes[1] else 1.0
        return pair_rule(gamma, self.rho, self.step) if self._boosts_stumps() else PairLoss(self.loss, gamma, rows)
