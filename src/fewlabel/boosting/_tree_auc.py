"""Symmetric trees boosted on pairs of rows."""

from dataclasses import KW_ONLY
from typing import Literal

from fewlabel.base import NonNegative, parametrized
from fewlabel.boosting._pnu_auc import pair_rule
from fewlabel.boosting.booster import Bins, LabeledBooster, RandomTrees
from fewlabel.boosting.pairs import PairLoss


@parametrized
class TreeAUCBoostClassifier(RandomTrees, LabeledBooster):
    r"""AUC by boosting symmetric trees on pairs of rows.

    Minimizes the mean loss of the pairs of positives, negatives and unlabeled rows,

    .. math::

        J(f) = \frac{n}{2} \Big[ \gamma\, \overline{\ell(f(p) - f(n))} + \frac{1-\gamma}{2} \Big(
        \overline{\ell(f(p) - f(u))} + \overline{\ell(f(u) - f(n))} \Big) \Big],
        \qquad \ell(z) = \log(1 + e^{-z}) \ \text{or} \ e^{-z},

    with :math:`n` the number of labeled rows, by second-order gradient boosting. It is the objective of
    `PNUAUCBoostClassifier` with trees instead of stumps, so that columns can interact.

    All leaves of a level share one split (symmetric or oblivious trees). With the sums :math:`G` of the negative
    gradients and :math:`H` of the diagonal second derivatives of the rows in a leaf, a split maximizes
    :math:`\sqrt{\sum G^2 / (H + \lambda)}` over the leaves that it makes, and the value of a leaf is
    :math:`G / (H + \lambda)`. A level looks at :math:`\sqrt{d}` random columns. Every second tree tries one random cut
    of each, the others all of them, with noise on their scores, and every tree reweights the rows at random: with few
    labels, the average of many such trees ranks better than greedy ones.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of trees. "auto": 1,000 with fewer than 1,000 labeled rows, where an out-of-fold AUC is too noisy to
        choose by; otherwise the number, up to 2,000, with the best AUC in 3 folds of the labeled rows. The models that
        calibrate the probabilities have as many.
    loss : {"logistic", "exponential"}, default="logistic"
        Loss of a pair, :math:`\ell`.
    gamma : float, default=1.0
        Weight of the labeled pairs, in [0, 1]. 1: unlabeled rows only set the bins. Without unlabeled rows `gamma` has
        no effect.
    max_depth : int, default=6
        Number of levels of each tree, 1 to 8.
    learning_rate : float, default=0.02
        Factor by which each tree is multiplied, in (0, 1].
    l2_regularization : float, default=5.0
        Penalty :math:`\lambda` on the squares of the leaf values, in labeled rows times the second derivative of the
        loss (1/4 for a logistic pair at 0). A row of weight 2 counts as two rows, so that the scale of the weights
        matters: larger weights mean a smaller penalty. Small values suit labels without noise.
    splitter : {"mixed", "random", "best"}, default="mixed"
        Cuts that a tree tries at each level: one random cut per column ("random"), all of them ("best"), or the one and
        the other in turn, tree by tree ("mixed").
    split_noise : float, default=0.5
        Standard deviation of the noise on the scores of splits in the first round, in units of the norm of the
        gradient; it fades linearly to zero over `n_estimators` rounds ("auto": 2,000). Only for trees that try all
        thresholds.
    bootstrap : bool, default=True
        Multiply the weight of each row by an exponential variate, drawn for each tree (Bayesian bootstrap). Rows with
        the same label and the same bins get the same variate.
    max_bins : int, default=32
        Maximum number of bins per column, 2 to 255, from the quantiles of all rows, labeled or not.
    max_features : int, float or "sqrt", default="sqrt"
        Columns drawn at random for each level, as a number (int), a fraction (float), or the square root.
    monotone : dict or array-like of shape (n_features,), default=None
        With ``max_depth=1``: 1 for a column along which the score must not fall, -1 where it must not rise, 0 where it
        may do either; a dict names columns, or gives their positions. Missing values have no direction.
    early_stopping : bool, default=False
        Hold out `validation_fraction` of the labeled rows and keep the round with the best AUC on them. A row of weight
        2 is held out as a whole, unlike a repeated row.
    validation_fraction : float, default=0.1
        Fraction of the labeled rows to hold out.
    n_iter_no_change : int, default=10
        Stop after this many rounds without a better validation AUC.
    n_jobs : int, default=None
        Threads; -1 for all cores. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws columns, thresholds, noise and bootstrap weights.
    warm_start : bool, default=False
        Continue from the last fit, up to `n_estimators` trees in total.
    verbose : int, default=0
        Print the loss after each round.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        ``classes_[1]`` is the positive class.
    splits_ : ndarray of shape (n_iter, max_depth)
        The splits: fields `column`, `threshold`, `missing_up` (missing values go up, as values above the threshold do)
        and `gain` (increase of :math:`\sum G^2 / (H + \lambda)`).
    leaf_values_ : ndarray of shape (n_iter, 2**max_depth)
        What each leaf adds to the score. The ups and downs of a row, the first level first, are the binary digits of
        its leaf.
    train_loss_ : ndarray of shape (n_iter,)
        Loss of an average pair after each round, :math:`2 J / n`.
    n_iter_ : int
        Number of trees.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in the gains.
    shape_functions_ : list of ShapeFunction
        The model as one step function per column, if `max_depth` is 1.
    offset_ : float
        Added to the score, so that 0 is the threshold of `predict`.
    calibration_ : ndarray of shape (2,)
        Slope and intercept of the log-odds of ``classes_[1]`` in the decision function.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    PNUAUCBoostClassifier : The exponential loss with stumps, an additive model.
    TreePUBoostClassifier : The same trees from positives and unlabeled rows.

    Notes
    -----
    No pair is stored. The exponential loss separates into sums over rows. The logistic sums are exact up to 20,000
    pairs; beyond that, scores are placed on a grid of spacing 1/16 and the sums are interpolated by cubic polynomials,
    to 1e-6 of the total weight of the partners, in time :math:`O(n)`.

    With ``max_depth=1``, ``loss="exponential"``, ``splitter="best"`` and no penalty, noise or bootstrap, the model is
    that of `PNUAUCBoostClassifier` with the same `gamma`, `learning_rate`, `max_bins`, `max_features` and
    `random_state`, bit for bit: stumps with exact steps.

    Missing values of a column go to the side with the better score. If the column had none in training, they go to the
    side with more rows. The model depends neither on the number of threads nor on the order of the rows.

    References
    ----------
    .. [1] L. Prokhorenkova, G. Gusev, A. Vorobev, A. V. Dorogush, A. Gulin. CatBoost: Unbiased Boosting with
       Categorical Features. Advances in Neural Information Processing Systems 31, 2018. Symmetric trees.
    .. [2] P. Geurts, D. Ernst, L. Wehenkel. Extremely Randomized Trees. Machine Learning 63, 2006. Random
       thresholds.
    .. [3] J. H. Friedman. Greedy Function Approximation: A Gradient Boosting Machine. The Annals of Statistics 29,
       2001.
    .. [4] D. B. Rubin. The Bayesian Bootstrap. The Annals of Statistics 9, 1981.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> from fewlabel import TreeAUCBoostClassifier, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y_few = hide_labels(y, labeled=0.1, random_state=0)
    >>> model = TreeAUCBoostClassifier(random_state=0).fit(X, y_few)
    >>> bool(roc_auc_score(y, model.decision_function(X)) > 0.95)
    True
    """

    _: KW_ONLY
    l2_regularization: NonNegative = 5.0
    loss: Literal["logistic", "exponential"] = "logistic"
    max_bins: Bins = 32
    early_stopping: bool = False

    def _boosts_stumps(self):
        """Whether nothing but the loss of stumps is asked for, for which `PNUAUCBoostClassifier` has exact steps."""
        return (
            self.max_depth == 1
            and self.loss == "exponential"
            and self.splitter == "best"
            and not (self.split_noise or self.bootstrap or self.l2_regularization)
        )

    @property
    def _bins_all_rows(self):
        return not self._boosts_stumps()

    def _objective(self, rows):
        gamma = self.gamma if rows.sizes[1] else 1.0
        return pair_rule(gamma, 0.0, "exact") if self._boosts_stumps() else PairLoss(self.loss, gamma, rows)
