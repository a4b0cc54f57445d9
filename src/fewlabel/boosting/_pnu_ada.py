"""PNUAB: AdaBoost with the unlabeled rows in both classes."""

from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from fewlabel.base import Count, UnitInterval, parametrized
from fewlabel.boosting.booster import LabeledBooster
from fewlabel.kernels.symmetric_trees import StepRule


def ada_rule(gamma, scheme, has_unlabeled):
    """AdaBoost on positives, negatives and two copies of the unlabeled rows, without copying them."""
    labeled = gamma / 2
    rest = (1 - gamma) / 2
    if not has_unlabeled:
        weights = [[0.5, 0, 0], [0, 0, 0.5]]
    elif scheme == "labeled":
        weights = [[labeled, rest, 0], [0, rest, labeled]]
    else:
        weights = [[rest, labeled, 0], [0, rest, labeled]]
    with np.errstate(divide="ignore"):  # log 0 = -inf: no such rows
        log_weights = np.log(weights)
    return StepRule(is_pairs=False, log_weights=log_weights)


@parametrized
class PNUAdaBoostClassifier(LabeledBooster):
    r"""AdaBoost with unlabeled rows counted as positives and as negatives (PNUAB).

    Minimizes a weighted exponential loss over sums :math:`F = \sum_t \alpha_t h_t` of stumps :math:`h_t \in \{-1, 1\}`,

    .. math::

        w_P\, \overline{e^{-F}}_P + w_{U+}\, \overline{e^{-F}}_U + w_N\, \overline{e^{F}}_N + w_{U-}\,
        \overline{e^{F}}_U .

    It is the baseline of the PNU-AUCBoost paper: semi-supervised boosting that does not optimize AUC.

    Parameters
    ----------
    n_estimators : int, default=150
        Number of rounds.
    gamma : float, default=0.95
        A weight in [0, 1]; its meaning depends on `scheme`.
    scheme : {"labeled", "pu-un"}, default="labeled"
        "labeled": :math:`w_P = w_N = \gamma/2`, :math:`w_{U\pm} = (1-\gamma)/2`; 1 is AdaBoost with balanced classes
        on the labeled rows. "pu-un": as printed in the paper, :math:`w_P = w_{U-} = (1-\gamma)/2`,
        :math:`w_N = w_{U+} = \gamma/2`: from positives against unlabeled rows (0) to unlabeled rows against
        negatives (1).
    learning_rate : float, default=0.1
        Factor by which each step is multiplied, in (0, 1].
    max_bins : int, default=255
        Maximum number of bins per column, 2 to 255. A column with no more distinct values is searched exactly.
    max_features : int, float or "sqrt", default=0.3
        Columns drawn at random for each round, as a number (int), a fraction (float), or the square root.
    early_stopping : bool, default=False
        Hold out `validation_fraction` of the labeled rows and keep the round with the best AUC on them. A row of weight
        2 is held out as a whole, unlike a repeated row.
    validation_fraction : float, default=0.1
        Fraction of the labeled rows to hold out.
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
    classes_, splits_, leaf_values_, n_iter_, train_loss_, shape_functions_, feature_importances_, offset_, calibration_
        As in `PNUAUCBoostClassifier`.

    Notes
    -----
    `predict` uses the threshold with the best balanced accuracy on the labeled rows, `predict_proba` a sigmoid
    fitted to them.

    References
    ----------
    .. [1] Z. Yang, Q. Xu, Y. He, X. Cao, Q. Huang. Boosting-Based Semi-Supervised AUC Optimization: Theory and
       Algorithm. Chinese Journal of Computers, 2022. Section 5.2. The printed weights are the "pu-un"
       scheme; the paper's notation suggests "labeled".

    Examples
    --------
    >>> from fewlabel import PNUAdaBoostClassifier
    >>> X = [[0.0], [1.0], [2.0], [3.0], [1.5]]
    >>> PNUAdaBoostClassifier(random_state=0).fit(X, ["a", "a", "b", "b", None]).predict([[0.5], [2.5]])
    array(['a', 'b'], dtype=object)
    """

    max_depth = 1  # stumps

    n_estimators: Count = 150
    _: KW_ONLY
    gamma: UnitInterval = 0.95
    scheme: Literal["labeled", "pu-un"] = "labeled"
    early_stopping: bool = False

    def _uses_unlabeled(self):
        return super()._uses_unlabeled() or self.scheme == "pu-un"

    def _objective(self, rows):
        return ada_rule(self.gamma, self.scheme, bool(rows.sizes[1]))
