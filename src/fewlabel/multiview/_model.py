"""Base of the multi-view classifiers: validate -> views -> basis of each view -> `_fit`; prediction."""

import numbers
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import Interval, LabeledClassifier, StrOptions
from fewlabel.calibration import softmax_slope
from fewlabel.multiview._basis import ViewKernel, median_distance
from fewlabel.multiview._losses import OutputMatrix, make_loss
from fewlabel.multiview._spaces import LandmarkSpace, RowSpace, choose_landmarks
from fewlabel.multiview._system import Penalties
from fewlabel.multiview._variables import VariableClusterer
from fewlabel.multiview._views import find_varying, find_views
from fewlabel.types import MatrixLike

_LARGEST_SEED = np.iinfo(np.int32).max
_EXACT = 16_000  # largest number of rows times views of a system for which approximation="auto" is exact
_BATCH = 10_000  # rows per batch in prediction

NON_NEGATIVE = Interval(numbers.Real, 0, None, closed="left")
POSITIVE = Interval(numbers.Real, 0, None, closed="neither")
COUNT = Interval(numbers.Integral, 1, None, closed="left")
AUTO = StrOptions({"auto"})
_KERNELS = ("rbf", "linear", "poly")
# What "auto" chooses from, one penalty after the other; the first value is where it starts.
_GRIDS = {
    "gamma_A": (1e-2, 1e-3, 1e-1, 1.0),
    "gamma_B": (0.1, 0.0, 1e-2, 1.0),
    "gamma_W": (0.1, 0.0, 1e-2, 1.0),
}


class Rows(NamedTuple):
    """The rows that a fit uses.

    Attributes
    ----------
    space : RowSpace or LandmarkSpace
        The functions to choose from, over these rows.
    codes : ndarray
        Class of each row, -1 if unlabeled.
    origin : ndarray
        Position of each row in the table.
    """

    space: Any
    codes: np.ndarray
    origin: np.ndarray


class MultiviewClassifier(LabeledClassifier):
    """Base of the multi-view classifiers; a subclass fits the coefficients of the bases."""

    _dtypes = (np.float64,)
    _parameter_constraints: dict = {
        "loss": [StrOptions({"squared", "hinge"})],
        "views": [list, tuple, VariableClusterer, None],
        "kernel": [StrOptions(set(_KERNELS)), list, tuple],
        "gamma_A": [POSITIVE, AUTO],
        "gamma_B": [NON_NEGATIVE, AUTO],
        "gamma_W": [NON_NEGATIVE, AUTO],
        "output_matrix": ["array-like", None],
        "view_weights": [StrOptions({"uniform", "learned"}), "array-like"],
        "length_scale": [StrOptions({"median"}), POSITIVE, "array-like"],
        "degree": [COUNT],
        "coef0": [NON_NEGATIVE],
        "laplacian": [StrOptions({"knn", "kernel"})],
        "n_neighbors": [COUNT],
        "approximation": [StrOptions({"auto", "nystroem"}), None],
        "n_components": [COUNT],
        "scale": ["boolean"],
        "random_state": ["random_state"],
    }

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Compute the output of each class; with two classes, positive if `predict` returns ``classes_[1]``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The outputs.
        """
        outputs = self._outputs(X)
        return 2 * outputs[:, 1] if len(self.classes_) == 2 else outputs

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class with the largest output.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes.
        """
        best = self._outputs(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Compute the probability of each class: a softmax of the outputs, calibrated on held-out labeled rows.

        The probabilities are corrected for the class weights of the fit: with balanced classes, a row at the threshold
        of `predict` has the share of its class among the labeled rows as its probability, not 1/2.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities.
        """
        outputs = self._outputs(X)
        return softmax(self.slope_ * outputs - np.log(self.class_weight_), axis=1)

    def _outputs(self, X):
        """Output of each class, of shape (n_rows, n_classes)."""
        check_is_fitted(self)
        return self._decide(self._validate(X, reset=False))

    def _decide(self, X):
        outputs = np.empty((len(X), len(self.classes_)))
        for part in gen_batches(len(X), _BATCH):
            scaled = (X[part] - self._shift) / self._divisor
            total = 0.0
            for v, columns in enumerate(self.views_):
                total = total + self._kernel(v)(scaled[:, columns], self.landmarks_[v]) @ self.dual_coef_[v]
            outputs[part] = total @ self._readout
        return outputs

    def _prepare(self, X, codes, n_systems=1):
        """Set the views and their scales, and return the rows in them.

        Without the penalties that use unlabeled rows, these rows must not affect scales and bases either, so they are
        dropped here. `n_systems` is the number of groups that a fit solves instead of all rows.
        """
        rng = check_random_state(self.random_state)
        seed = rng.randint(_LARGEST_SEED)
        origin = np.arange(len(X)) if self._uses_unlabeled else np.flatnonzero(codes >= 0)
        X, codes = X[origin], codes[origin]
        views, self.clusterer_ = find_views(self.views, X, getattr(self, "feature_names_in_", None), seed)
        kept = find_varying(views, X)
        self.views_, self.view_weights_ = [views[v] for v in kept], self._given_weights(len(views))[kept]
        self._set_scale(X)
        X = (X - self._shift) / self._divisor
        by_view = [X[:, columns] for columns in self.views_]
        self._set_kernels(by_view, kept, len(views), rng)
        kernels = [self._kernel(v) for v in range(len(by_view))]
        if self._is_exact(len(X) / n_systems * len(by_view), len(X)):
            return Rows(RowSpace(by_view, kernels, n_systems), codes, origin)
        return Rows(LandmarkSpace(by_view, kernels, choose_landmarks(codes, self.n_components, rng)), codes, origin)

    @property
    def _uses_unlabeled(self):
        return any(isinstance(gamma, str) or gamma > 0 for gamma in (self.gamma_B, self.gamma_W))

    def _is_exact(self, size, n_rows):
        """Whether every row is a landmark; `size` is the rows of a system times the views."""
        return {"auto": size <= _EXACT, None: True, "nystroem": self.n_components >= n_rows}[self.approximation]

    def _given_weights(self, m):
        if isinstance(self.view_weights, str):
            return np.full(m, 1.0 / m)
        weights = np.asarray(self.view_weights, dtype=np.float64)
        if weights.shape != (m,) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
            raise ValueError(
                f"view_weights={weights.tolist()} should be {m} non-negative numbers, one per view, not all 0"
            )
        return weights

    def _set_scale(self, X):
        spread = X.std(axis=0)
        flat = spread <= 1e-12 * np.abs(X).max(axis=0)  # constant up to rounding
        self._shift = X.mean(axis=0) if self.scale else np.zeros(X.shape[1])
        self._divisor = np.where(flat, 1.0, spread) if self.scale else np.ones(X.shape[1])

    def _set_kernels(self, by_view, kept, n_views, rng):
        """Set kernel and width of each view that varies; both may be given for each of the views."""
        self._kernels = [_per_view("kernel", self.kernel, n_views)[v] for v in kept]
        unknown = [name for name in self._kernels if name not in _KERNELS]
        if unknown:
            raise ValueError(f"kernel holds {unknown[0]!r}: each view takes one of {', '.join(map(repr, _KERNELS))}")
        widths = [_per_view("length_scale", self.length_scale, n_views)[v] for v in kept]
        seed = rng.randint(_LARGEST_SEED)  # the same rows in every view, so that the order of the views does not matter
        self.length_scales_ = np.ones(len(by_view))
        for v, (rows, kernel, width) in enumerate(zip(by_view, self._kernels, widths)):
            if width != "median":
                self.length_scales_[v] = _width(width)
            elif kernel == "rbf":
                self.length_scales_[v] = median_distance(rows, np.random.RandomState(seed))

    def _kernel(self, v):
        return ViewKernel(self._kernels[v], self.length_scales_[v], self.degree, self.coef0)

    def _choose_penalties(self, score_of):
        """Set `gamma_A_`, `gamma_B_` and `gamma_W_`: "auto" takes the value with the best held-out score."""
        current = {}
        for name, grid in _GRIDS.items():
            given = getattr(self, name)
            current[name] = grid[0] if isinstance(given, str) else float(given)
        best = None
        for name, grid in _GRIDS.items():
            if isinstance(getattr(self, name), str):
                best = score_of(self._penalties(**current)) if best is None else best
                for value in grid[1:]:
                    score = score_of(self._penalties(**{**current, name: value}))
                    if score > best:
                        best, current = score, {**current, name: value}
        self.gamma_A_, self.gamma_B_, self.gamma_W_ = current.values()
        return self._penalties(**current)

    def _penalties(self, gamma_A, gamma_B, gamma_W):
        return Penalties(gamma_A, gamma_B, gamma_W, self.laplacian, self.n_neighbors)

    def _learn(self, space, group, labeled, codes, weight, loss, penalties):
        """Coefficients of the views, and held-out outputs, of the rows of a group (all rows if None)."""
        if self.output_matrix is None:
            system = space.system(group, penalties)
            return system.learn(labeled, codes, weight, loss, self.view_weights_, held_out=True)
        return OutputMatrix(self.output_matrix, len(self.classes_), self.loss).learn(
            lambda gamma_A: space.system(group, penalties.with_norm(gamma_A)),
            penalties.gamma_A,
            (labeled, codes, weight),
            self.view_weights_,
        )

    def _make_loss(self, **parameters):
        loss = make_loss(self.loss, len(self.classes_), **parameters)
        self._readout = loss.readout
        if self.output_matrix is not None:
            self._readout = OutputMatrix(self.output_matrix, len(self.classes_), self.loss).readout
        return loss

    def _keep(self, space, found, held_out, codes, class_weight):
        """Set the attributes that prediction needs: landmarks, their coefficients, and the slope of the log-odds."""
        self.landmarks_ = space.landmarks
        self.dual_coef_ = [c * of_view for c, of_view in zip(self.view_weights_, space.coefficients(found))]
        self.class_weight_ = class_weight / class_weight.mean()
        self.slope_ = softmax_slope(held_out @ self._readout, codes, self.class_weight_)


def mean_auc(outputs, codes, weight=None):
    """Return the AUC of two classes; for more, the mean of each class against the rest."""
    if outputs.shape[1] == 2:
        return float(roc_auc_score(codes == 1, outputs[:, 1], sample_weight=weight))
    return float(np.mean([roc_auc_score(codes == k, outputs[:, k], sample_weight=weight) for k in np.unique(codes)]))


def _per_view(name, given, n_views):
    """One value per view: that given for all views, or those of a list."""
    if isinstance(given, str) or np.ndim(given) == 0:
        return [given] * n_views
    if len(given) != n_views:
        raise ValueError(f"{name} holds {len(given)} values, but there are {n_views} views: pass one per view")
    return list(given)


def _width(value):
    if isinstance(value, str) or not np.isfinite(value) or value <= 0:
        raise ValueError(f"length_scale holds {value!r}: each view takes a positive number or 'median'")
    return float(value)
