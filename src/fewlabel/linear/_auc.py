"""Linear AUC maximization with hinge losses, by an exact solver or by stochastic and online ones."""

import numbers
import time
import warnings
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import Count, Interval, NonNegative, Positive, RankingClassifier, parametrized
from fewlabel.foreign.scikit_learn import validate_parameters
from fewlabel.kernels.ranks import area
from fewlabel.linear._basis import KernelBasis
from fewlabel.linear._batches import read_batch, set_threshold
from fewlabel.linear._exact import Solution, is_wide, linear_algebra_threads, row_span, solve_path
from fewlabel.linear._pairs import PairRisk, weight_at
from fewlabel.linear._steps import Stream, certificate, sdcd
from fewlabel.random_streams import draw_seed
from fewlabel.types import MatrixLike
from fewlabel.warning_filters import caller_level

_ONLINE = ("msgd", "oam-inf", "oam-seq", "oam-gra")
_MAX_ITER = {"exact": 300, "sdcd": 5, "sdcd-perm": 5}  # 1 for the others
_MSGD_BUFFER = 1000  # rows per class; with 100 the steps fit these rows rather than the stream
_OAM_BUFFER = 100  # that of Zhao et al. (2011)
_EXPECTED_PAIRS = 1_000_000  # of a stream: a thousand rows of each class


@parametrized
class LinearRanker(KernelBasis, RankingClassifier):
    """A score that is linear in the columns, or in the features of a kernel."""

    _accept_sparse = True

    _: KW_ONLY
    loss: Literal["hinge", "squared_hinge"] = "hinge"
    basis: Literal["linear", "nystroem"] = "linear"
    tol: NonNegative = 1e-3
    n_jobs: int | None = None

    @property
    def intercept_(self) -> Any:
        """The threshold, as in scikit-learn's linear models."""
        check_is_fitted(self)
        return np.array([self.offset_])

    def _keep(self, solution):
        """Set the attributes that a solver finds."""
        self.coef_ = solution.coef[None].copy()
        self.objective_ = float(solution.objective)
        self.dual_gap_ = float(solution.gap)
        self.n_iter_ = solution.n_iter

    def _keep_closed(self, solution):
        """As `_keep`, with a warning if the duality gap is larger than requested."""
        self._keep(solution)
        if solution.gap > self.tol * solution.objective:
            warnings.warn(
                f"the relative duality gap is {solution.gap / solution.objective:.2g} after {solution.n_iter} "
                f"iterations, above tol={self.tol:g}: raise max_iter or tol, scale the columns, or raise alpha",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )


@parametrized
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

        - "exact": Newton's method or L-BFGS on sorted scores; memory and time per step are linear in the rows, up to a
          logarithm.
        - "sdcd", "sdcd-perm": dual coordinate ascent over pairs drawn at random, or in a new random order in each pass
          (AUC-SDCD, AUC-SDCDperm). They store one dual variable per pair: at most 50 million pairs.
        - "msgd": modified stochastic gradient descent over random pairs (AUC-MSGD), without dual variables.
        - "oam-inf", "oam-seq", "oam-gra": online AUC maximization. Each row is paired with all earlier rows of the
          other class ("oam-inf"), or with a buffer of them, in sequential or in one joint step. `fit` shuffles the
          rows, `partial_fit` keeps their order.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of a pair. "oam-gra" supports the hinge only.
    max_iter : int, default=None
        Largest number of iterations of "exact" (a Newton step, or ten of L-BFGS), or of passes of the others over all
        pairs ("msgd": over 20 pairs per row if there are more than 50 million pairs; OAM: over the rows). None means
        300 for "exact", 5 for "sdcd" and "sdcd-perm", 1 for the online solvers.
    tol : float, default=1e-3
        Relative duality gap at which "exact", "sdcd" and "sdcd-perm" stop.
    basis : {"linear", "nystroem"}, default="linear"
        The columns themselves, or the Nystroem features of a Gaussian kernel: the objective is then that of functions
        of the kernel's space, with the penalty on their norm.
    n_components : int, default=200
        Number of randomly drawn rows, labeled or not, that "nystroem" centers Gaussian functions at.
    length_scale : float or "median", default="median"
        Width of the Gaussian functions; "median" means the median distance between rows.
    average : bool, default=False
        "sdcd" and "sdcd-perm" only: whether `coef_` is the mean of the second half of the iterates, as in Lemma 1 of
        [1]_, instead of the last one.
    init : {"zero", "msgd"}, default="zero"
        "sdcd" and "sdcd-perm" only: dual variables to start from; "msgd" takes those of a pass of AUC-MSGD over all
        pairs, whose distance from the optimum Lemma 2 of [1]_ bounds.
    buffer_size : int, default=None
        Rows per class that "msgd" (in `partial_fit`), "oam-seq" and "oam-gra" keep, by reservoir sampling. None means
        1,000 for "msgd" and 100, as in [2]_, for OAM.
    expected_pairs : float, default=None
        Number of pairs k of the whole stream, in OAM's constant :math:`C = 1 / (\lambda k)`. None means the pairs of
        the rows in `fit`, and a million in `partial_fit`, where they are not known.
    record_history : bool, default=False
        Whether to set `history_`. Costs a sort of the scores in each iteration.
    n_jobs : int, default=None
        Threads of the matrix products; -1 means all cores.
    random_state : int, RandomState instance or None, default=None
        Draws pairs, their order, the buffers, and the subsample of rows that "exact" starts from if there are many.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        ``classes_[1]`` is the positive class.
    coef_ : ndarray of shape (1, n_features)
        The weights :math:`w`; with "nystroem", those of its features.
    components_, length_scale_ : ndarray, float
        With "nystroem": the rows that the Gaussian functions are centered at, and their width.
    intercept_ : ndarray of shape (1,)
        The threshold; not part of the objective, which does not depend on it.
    objective_ : float
        :math:`P(w)`; after `fit` only.
    dual_gap_ : float
        Upper bound of the distance of `objective_` to its minimum. For OAM it comes from its own dual variables; for
        "msgd" it is valid but loose.
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
    rows, and `predict_proba` a sigmoid fitted to them. After `partial_fit` both are computed from the buffered rows.

    An online model keeps the state of its stream: a saved and loaded model goes on with `partial_fit` as if it had not
    been saved. The file thus holds the buffered rows; those of "oam-inf" are all rows.

    Differences from [1]_: no constant column is appended, because it is a zero column of :math:`x_i - x_j`; the dual
    variable of two equal rows is 1, because the gap would not close if it were skipped; pairs are drawn with 64-bit
    numbers, because a 15-bit generator never draws most pairs and reproduces the poor SDCD and MSGD results of the
    paper; and ties count one half in the AUC. OAM uses :math:`C = 1 / (\lambda n_+ n_-)` with the counts of the rows
    of `fit`, so that "oam-inf" is one ordered pass of "sdcd". The bounds of lemmas 1 and 2 assume
    :math:`|x_i - x_j| \le 1`; otherwise :math:`\lambda` in them is divided by the largest squared length.

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

    alpha: Positive = 1e-3
    _: KW_ONLY
    solver: Literal["exact", "sdcd", "sdcd-perm", "msgd", "oam-inf", "oam-seq", "oam-gra"] = "exact"
    max_iter: Count | None = None
    average: bool = False
    init: Literal["zero", "msgd"] = "zero"
    buffer_size: Count | None = None
    expected_pairs: Annotated[float, Interval(numbers.Real, 1, None, closed="left")] | None = None
    record_history: bool = False

    def _rank(self, X, y, sample_weight):
        X, *rest = super()._rank(X, y, sample_weight)
        # The models that calibrate the probabilities are fitted in the same coordinates.
        return vars(self).pop("_coordinates", X), *rest

    @available_if(lambda self: self.solver in _ONLINE)
    def partial_fit(self, X: MatrixLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Update the model with a batch of rows; online solvers only.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, in the order in which the OAM solvers process them; "msgd" draws pairs of these and of the buffered
            rows. With ``basis="nystroem"`` the first batch sets the basis.
        y : array-like of shape (n_samples,)
            The class of each row; unlabeled rows are ignored.
        classes : array-like of shape (2,), default=None
            The two classes; required on the first call.

        Returns
        -------
        self : object
            The updated estimator.
        """
        validate_parameters(self)
        self._check_options()
        first = not hasattr(self, "classes_")
        X, signs = read_batch(self, X, y, classes)
        if first and self.basis == "nystroem":
            if X.shape[0] < self.n_components:
                raise ValueError(
                    f"the first batch has {X.shape[0]} rows, but the basis needs n_components={self.n_components}: "
                    "pass more rows first, or lower n_components"
                )
            self._set_basis(X, check_random_state(self.random_state))
        labeled = signs != 0
        F = self._features(X[labeled])
        positive = signs[labeled] > 0
        stream = self._open_stream(self.expected_pairs or _EXPECTED_PAIRS, F.shape[1])
        stream.feed(F, positive, stream.next_generator())
        self._stream = stream.state()
        self.coef_ = stream.coef[None].copy()
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        available, is_positive = stream.at_hand(F, positive)
        set_threshold(self, available @ self.coef_[0], is_positive, stream.seen)
        return self

    def _fit(self, X, signs, weight):
        self._check_options()
        if weight is not None and self.solver != "exact":
            raise ValueError(f"solver={self.solver!r} does not support sample_weight: use solver='exact'")
        self._set_basis(X, check_random_state(self.random_state))
        labeled = signs != 0
        # Not a copy of all rows for nothing.
        if not labeled.all():
            X = X[labeled]
            weight = weight_at(weight, labeled)
        F = self._features(X)
        is_rotated = self.solver == "exact" and is_wide(F)
        if is_rotated:
            F, expand = row_span(F)
            if self.basis == "linear" and labeled.all():
                self._coordinates = F
        positive = signs[labeled] > 0
        history: dict[str, list] = {"objective": [], "gap": [], "auc": [], "seconds": []}
        after = _recorder(history, F, positive) if self.record_history else None
        with linear_algebra_threads(self.n_jobs, F):
            self._minimize(F, positive, weight, after)
        if is_rotated:
            self.coef_ = expand(self.coef_[0])[None]
        if after is not None:
            self.history_ = {name: np.array(values) for name, values in history.items()}

    def _minimize(self, F, positive, weight, after):
        max_iter = self.max_iter or _MAX_ITER.get(self.solver, 1)
        if self.solver in _ONLINE:
            self._run_stream(F, positive, max_iter, after)
            return
        control = {
            "squared": self.loss == "squared_hinge",
            "tol": self.tol,
            "max_iter": max_iter,
            "rng": np.random.default_rng(draw_seed(self.random_state)),
            "after": after,
        }
        if self.solver == "exact":
            solution = solve_path(F, positive, weight, [self.alpha], **control)[0]
        else:
            permuted = self.solver == "sdcd-perm"
            options = {"permuted": permuted, "average": self.average, "init": self.init}
            solution = sdcd(F, positive, self.alpha, **options, **control)
        self._keep_closed(solution)

    def _check_options(self):
        if self.solver not in ("sdcd", "sdcd-perm") and (self.average or self.init != "zero"):
            raise ValueError(
                f"average and init are options of solver='sdcd' and 'sdcd-perm', but solver={self.solver!r}: leave "
                "them at False and 'zero'"
            )
        if self.solver == "oam-gra" and self.loss == "squared_hinge":
            raise ValueError(
                "solver='oam-gra' does not support loss='squared_hinge', on which its steps diverge: use loss='hinge' "
                "or solver='oam-seq'"
            )

    def _check_loaded(self):
        """Raise a ValueError if the state of a stream is damaged."""
        if hasattr(self, "_stream"):
            self._open_stream(1, self.coef_.shape[1])

    def _open_stream(self, n_pairs, n_features):
        """The stream of the last call, or a new one."""
        if hasattr(self, "_stream"):
            return Stream.resume(self._stream, n_features)
        # A fit that does not continue another has dropped its coefficients.
        if hasattr(self, "coef_"):
            raise ValueError("this model was saved without the state of its stream: fit a new model")
        squared = self.loss == "squared_hinge"
        buffer_size = self.buffer_size or (_MSGD_BUFFER if self.solver == "msgd" else _OAM_BUFFER)
        seed = draw_seed(self.random_state)
        return Stream(self.solver, self.alpha, squared, buffer_size, n_features, n_pairs, seed)

    def _run_stream(self, F, positive, max_iter, after):
        n_positives = np.count_nonzero(positive)
        n_pairs = n_positives * (len(positive) - n_positives)
        stream = self._open_stream(self.expected_pairs or n_pairs, F.shape[1])
        risk = PairRisk(positive, None, stream.squared)
        rng = stream.next_generator()
        for n_done in range(1, max_iter + 1):
            if n_done > 1:
                stream.forget_rows()
            order = rng.permutation(len(positive))
            stream.feed(F[order], positive[order], rng, keep=n_done == max_iter)
            # The dual variables of "msgd" are not known.
            own = None if self.solver == "msgd" else stream.dual_point(n_pairs)
            objective, gap = certificate(F, risk, stream.coef, self.alpha, own)
            if after is not None:
                after(stream.coef, objective, gap)
        self._stream = stream.state()
        self._keep(Solution(stream.coef, objective, gap, max_iter))


def _recorder(history, F, positive):
    """Return a function that appends to `history` after each iteration."""
    begin = time.perf_counter()

    def record(coef, objective, gap):
        history["objective"].append(objective)
        history["gap"].append(gap)
        history["auc"].append(area(positive, F @ coef))
        history["seconds"].append(time.perf_counter() - begin)

    return record
