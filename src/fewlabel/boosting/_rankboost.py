"""RankBoost on the labeled rows."""

from typing import Literal

from fewlabel.boosting._pnu_auc import PNUAUCBoostClassifier, PNUAUCRule
from fewlabel.boosting.booster import StumpBooster
from fewlabel.types import Seed


class RankBoostClassifier(StumpBooster):
    r"""RankBoost on the labeled rows: `PNUAUCBoostClassifier` with ``gamma=1`` and ``rho=0``.

    Minimizes :math:`\overline{e^{-(f(p) - f(n))}}` over all pairs of a positive and a negative. Unlabeled rows are not
    used, so this is the baseline for what they add.

    Parameters
    ----------
    n_estimators : int, default=150
        Number of rounds.
    step : {"exact", "bound"}, default="exact"
        Length of a step: the minimizer of the objective along the stump, or of an upper bound of it (RankBoost's third
        method).
    learning_rate : float, default=0.1
        Factor by which each step is multiplied, in (0, 1].
    max_bins : int, default=255
        Maximum number of bins per column, 2 to 255. A column with no more distinct values is searched exactly.
    max_features : int or float, default=0.3
        Columns drawn at random for each round, as a number (int) or a fraction (float).
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
        Draws the columns and the held-out rows.
    warm_start : bool, default=False
        Continue from the last fit, up to `n_estimators` rounds in total.
    verbose : int, default=0
        Print the objective after each round.

    Attributes
    ----------
    classes_, stumps_, n_iter_, train_loss_, shape_functions_, feature_importances_, offset_, calibration_
        As in `PNUAUCBoostClassifier`.

    Notes
    -----
    `predict` uses the threshold with the best balanced accuracy on the labeled rows, `predict_proba` a sigmoid
    fitted to them.

    References
    ----------
    .. [1] Y. Freund, R. Iyer, R. E. Schapire, Y. Singer. An Efficient Boosting Algorithm for Combining Preferences.
       Journal of Machine Learning Research 4, 2003.

    Examples
    --------
    >>> from fewlabel import RankBoostClassifier
    >>> X = [[0.0], [1.0], [2.0], [3.0], [1.5]]
    >>> RankBoostClassifier(random_state=0).fit(X, [0, 0, 1, 1, -1]).predict([[0.5], [2.5]])
    array([0, 1])
    """

    _parameter_constraints: dict = {
        **StumpBooster._parameter_constraints,
        "step": PNUAUCBoostClassifier._parameter_constraints["step"],
    }

    def __init__(
        self,
        n_estimators: int = 150,
        *,
        step: Literal["exact", "bound"] = "exact",
        learning_rate: float = 0.1,
        max_bins: int = 255,
        max_features: float = 0.3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        n_jobs: int | None = None,
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.step = step
        self.learning_rate = learning_rate
        self.max_bins = max_bins
        self.max_features = max_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def _uses_unlabeled(self):
        return False

    def _make_rule(self, has_unlabeled):
        return PNUAUCRule(gamma=1.0, rho=0.0, step=self.step)
