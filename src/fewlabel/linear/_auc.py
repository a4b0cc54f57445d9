"""Linear AUC maximization with hinge losses, by an exact solver or by stochastic and online ones."""

import numbers
import time
import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import Interval, RankingClassifier, StrOptions
from fewlabel.kernels.ranks import placements
from fewlabel.linear._batches import read_batch, set_threshold
from fewlabel.linear._exact import Solution, linear_algebra_threads, solve
from fewlabel.linear._pairs import PairRisk
from fewlabel.linear._steps import Stream, certificate, sdcd
from fewlabel.types import MatrixLike, Seed
from fewlabel.warning_filters import caller_level

_ONLINE = ("msgd", "oam-inf", "oam-seq", "oam-gra")
_MAX_ITER = {"exact": 300, "sdcd": 5, "sdcd-perm": 5}  # 1 for the others


class LinearRanker(RankingClassifier):
    """A score that is linear in the columns."""

    _accept_sparse = True

    def _score(self, X):
        return X @ self.coef_[0]

    @property
    def intercept_(self) -> Any:
        """The threshold, as in scikit-learn's linear models."""
        check_is_fitted(self)
        return np.array([self.offset_])


class LinearAUCClassifier(LinearRanker):
    r"""Linear classifier that maximizes the area under the ROC curve.

    Minimizes, over all pairs of a positive i and a negative j,

    .. math::

        P(w) = \frac{\lambda}{2} |w|^2 + \frac{1}{n_+ n_-} \sum_{ij} \ell\big(w^\top (x_i - x_j)\big), \qquad
        \ell(m) = \max(0, 1 - m) \ \text{ or } \ \max(0, 1 - m)^2.

    The default solver handles all pairs in O(n log n) and stops when the duality gap guarantees that `P` is within
    ``tol * P`` of its minimum; use it unless you want to compare solvers. The others are the dual coordinate methods
    of [1]_ and the online methods of [2]_. Unlabeled rows are ignored.

    Parameters
    ----------
    alpha : float, default=1e-3
        The penalty :math:`\lambda > 0`. Scale the columns first (`StandardScaler`): the penalty depends on their scale.
    solver : {"exact", "sdcd", "sdcd-perm", "msgd", "oam-inf", "oam-seq", "oam-gra"}, default="exact"
        The optimization algorithm.

        - "exact": Newton's method on sorted scores; memory and time per step are linear in the rows, up to a logarithm.
        - "sdcd", "sdcd-perm": dual coordinate ascent over pairs drawn at random, or in a new random order in each pass
          (AUC-SDCD, AUC-SDCDperm). They store one dual variable per pair: at most 50 million pairs.
        - "msgd": modified stochastic gradient descent over random pairs (AUC-MSGD), without dual variables.
        - "oam-inf", "oam-seq", "oam-gra": online AUC maximization. Each row is paired with all earlier rows of the
          other class ("oam-inf"), or with a buffer of them, in sequential or in one joint step. `fit` shuffles the
          rows, `partial_fit` keeps their order.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of a pair. "oam-gra" supports the hinge only.
    max_iter : int, default=None
        Largest number of Newton steps of "exact", or of passes of the others over all pairs ("msgd": over 20 pairs per
        row if there are more than 50 million pairs; OAM: over the rows). None means 300 for "exact", 5 for "sdcd" and
        "sdcd-perm", 1 for the online solvers.
    tol : float, default=1e-3
        Relative duality gap at which "exact", "sdcd" and "sdcd-perm" stop.
    buffer_size : int, default=100
        Rows per class that "oam-seq" and "oam-gra" keep, by reservoir sampling.
    record_history : bool, default=False
        Whether to set `history_`; `verbose` sets it too. Costs a sort of the scores in each iteration.
    n_jobs : int, default=None
        Threads of the matrix products; -1 means all cores.
    random_state : int, RandomState instance or None, default=None
        Draws pairs, their order, the buffers, and the subsample of rows that "exact" starts from if there are many.
    warm_start : bool, default=False
        "exact" starts from the last `coef_`, an online solver continues with the new rows, the others start again.
    verbose : int, default=0
        If positive, print objective, gap and AUC after each iteration or pass.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        ``classes_[1]`` is the positive class.
    coef_ : ndarray of shape (1, n_features)
        The weights :math:`w`.
    intercept_ : ndarray of shape (1,)
        The threshold; not part of the objective, which does not depend on it.
    objective_ : float
        :math:`P(w)`; after `fit` only.
    dual_gap_ : float
        Upper bound of the distance of `objective_` to its minimum. For "msgd" and OAM it is valid but loose.
    n_iter_ : int
        Number of iterations or passes.
    history_ : dict of ndarray
        "objective", "gap", "auc" (of the training rows) and "seconds" after each iteration or pass.
    offset_ : float
        Added to the score, so that 0 is the threshold of `predict`.
    calibration_ : ndarray of shape (2,)
        Slope and intercept of the log-odds of ``classes_[1]`` in the decision function.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    The objective does not determine a threshold: `predict` uses the one with the best balanced accuracy on the labeled
    rows, and `predict_proba` a sigmoid fitted to them. After `partial_fit` both are computed from the buffered rows, or
    from the batch if there is no buffer.

    Differences from [1]_: no constant column is appended, because it is a zero column of :math:`x_i - x_j`; the dual
    variable of two equal rows is 1, because the gap would not close if it were skipped; pairs are drawn with 64-bit
    numbers, because a 15-bit generator never draws most pairs and reproduces the poor SDCD and MSGD results of the
    paper; and ties count one half in the AUC. OAM uses :math:`C = 1 / (\lambda n_+ n_-)` with the counts of the rows
    of `fit`, or of the first batch, so that "oam-inf" is one ordered pass of "sdcd".

    Only "exact" supports `sample_weight`; the weights are relative within each class.

    References
    ----------
    .. [1] Jiang, J.-Y., Tao, Q., Gao, Q.-K. and Chu, D.-J. "Dual coordinate descent method for solving AUC optimization
       problem." Journal of Software (Ruan Jian Xue Bao) 25(10), 2282-2292, 2014 (in Chinese). Objective: equation 3;
       dual: equation 4; steps: algorithms 1 to 3; OAM: equation 8.
    .. [2] Zhao, P., Hoi, S. C. H., Jin, R. and Yang, T. "Online AUC maximization." International Conference on Machine
       Learning, 2011.
    .. [3] Joachims, T. "Training linear SVMs in linear time." ACM SIGKDD International Conference on Knowledge
       Discovery and Data Mining, 2006. Sums over pairs by sorting.
    .. [4] Lee, C.-P. and Lin, C.-J. "Large-scale linear RankSVM." Neural Computation 26(4), 2014. Newton's method with
       sums by sorting.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewlabel import LinearAUCClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearAUCClassifier().fit(scale(X), y)
    >>> bool(model.dual_gap_ <= 1e-3 * model.objective_)
    True
    >>> print(f"{model.objective_:.3f}")
    0.007
    """

    _parameter_constraints: dict = {
        "alpha": [Interval(numbers.Real, 0, None, closed="neither")],
        "solver": [StrOptions({"exact", "sdcd", "sdcd-perm", *_ONLINE})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "max_iter": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "tol": [Interval(numbers.Real, 0, None, closed="left")],
        "buffer_size": [Interval(numbers.Integral, 1, None, closed="left")],
        "record_history": ["boolean"],
        "n_jobs": [numbers.Integral, None],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        solver: Literal["exact", "sdcd", "sdcd-perm", "msgd", "oam-inf", "oam-seq", "oam-gra"] = "exact",
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        max_iter: int | None = None,
        tol: float = 1e-3,
        buffer_size: int = 100,
        record_history: bool = False,
        n_jobs: int | None = None,
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.solver = solver
        self.loss = loss
        self.max_iter = max_iter
        self.tol = tol
        self.buffer_size = buffer_size
        self.record_history = record_history
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    @available_if(lambda self: self.solver in _ONLINE)
    def partial_fit(self, X: MatrixLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Update the model with a batch of rows; online solvers only.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, in the order in which the OAM solvers process them. "msgd" pairs rows of the same batch only.
        y : array-like of shape (n_samples,)
            The class of each row; unlabeled rows are ignored.
        classes : array-like of shape (2,), default=None
            The two classes; required on the first call.

        Returns
        -------
        self : object
            The updated estimator.
        """
        self._validate_params()
        self._check_loss()
        X, signs = read_batch(self, X, y, classes)
        X, positive = X[signs != 0], signs[signs != 0] > 0
        if not hasattr(self, "_stream"):
            if hasattr(self, "coef_"):
                raise ValueError("this model has no training state, which a saved file does not hold: fit a new model")
            self._start_stream()
        self._stream.feed(X, positive, self._rng)
        self.coef_ = self._stream.coef[None].copy()
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        rows, is_positive = self._stream.at_hand(X, positive)
        set_threshold(self, rows, is_positive, self._stream.seen)
        return self

    def __getstate__(self):
        """State without the training state of an online solver: a loaded model predicts, but cannot be updated."""
        return {name: value for name, value in super().__getstate__().items() if name not in ("_stream", "_rng")}

    def _fit(self, X, signs, weight):
        labeled = signs != 0
        if not labeled.all():
            X, weight = X[labeled], None if weight is None else weight[labeled]
        positive = signs[labeled] > 0
        self._check_loss()
        if weight is not None and self.solver != "exact":
            raise ValueError(f"solver={self.solver!r} does not support sample_weight: use solver='exact'")
        history = _History(self, X, positive)
        after = history.add if self.record_history or self.verbose else None
        with linear_algebra_threads(self.n_jobs, X):
            found = self._minimize(X, positive, weight, after)
        if self.solver not in _ONLINE:
            warn_if_open(found, self.tol)
        self.coef_ = found.coef[None].copy()
        self.objective_, self.dual_gap_, self.n_iter_ = float(found.objective), float(found.gap), found.n_iter
        if after is not None:
            self.history_ = history.as_arrays()

    def _minimize(self, X, positive, weight, after):
        squared = self.loss == "squared_hinge"
        max_iter = self.max_iter or _MAX_ITER.get(self.solver, 1)
        if self.solver in _ONLINE:
            return self._run_stream(X, positive, squared, max_iter, after)
        rng = _generator(self.random_state)
        control = dict(squared=squared, tol=self.tol, max_iter=max_iter, rng=rng, after=after)
        if self.solver == "exact":
            start = self.coef_[0] if self.warm_start and hasattr(self, "coef_") else None
            return solve(X, positive, weight, self.alpha, start=start, **control)
        return sdcd(X, positive, self.alpha, permuted=self.solver == "sdcd-perm", **control)

    def _check_loss(self):
        if self.solver == "oam-gra" and self.loss == "squared_hinge":
            raise ValueError(
                "solver='oam-gra' does not support loss='squared_hinge', on which its steps diverge: use loss='hinge' "
                "or solver='oam-seq'"
            )

    def _start_stream(self):
        self._rng = _generator(self.random_state)
        squared = self.loss == "squared_hinge"
        self._stream = Stream(self.solver, self.alpha, squared, self.buffer_size, self.n_features_in_)

    def _run_stream(self, X, positive, squared, max_iter, after):
        if not (self.warm_start and hasattr(self, "_stream")):
            self._start_stream()
        risk = PairRisk(positive, None, squared)
        for done in range(max_iter):
            if done:
                self._stream.forget_rows()
            order = self._rng.permutation(len(positive))
            self._stream.feed(X[order], positive[order], self._rng)
            objective, gap = certificate(X, risk, self._stream.coef, self.alpha)
            if after is not None:
                after(self._stream.coef, objective, gap)
        return Solution(self._stream.coef, objective, gap, max_iter)


class _History:
    """Objective, gap and training AUC by iteration, printed if verbose."""

    def __init__(self, model, X, positive):
        self._model, self._X, self._positive = model, X, positive
        self._rows, self._begin = [], time.perf_counter()

    def add(self, coef, objective, gap):
        scores = self._X @ coef
        auc = placements(scores[self._positive], scores[~self._positive])[0].mean()
        self._rows.append((objective, gap, auc, time.perf_counter() - self._begin))
        if self._model.verbose:
            print(f"{self._model.solver} {len(self._rows)}: objective {objective:.6g}, gap {gap:.3g}, AUC {auc:.6f}")

    def as_arrays(self):
        return dict(zip(("objective", "gap", "auc", "seconds"), np.array(self._rows).T.copy()))


def warn_if_open(found, tol):
    """Warn if the duality gap is larger than requested."""
    if found.gap > tol * found.objective:
        warnings.warn(
            f"the relative duality gap is {found.gap / found.objective:.2g} after {found.n_iter} iterations, above "
            f"tol={tol:g}: raise max_iter or tol, scale the columns, or raise alpha",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )


def _generator(random_state):
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
