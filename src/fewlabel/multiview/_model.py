"""Base of the multi-view classifiers: validate -> views -> basis of each view -> `_fit`; prediction."""

import numbers
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import Interval, LabeledClassifier, StrOptions
from fewlabel.calibration import softmax_slope
from fewlabel.multiview._basis import ViewBasis, ViewKernel, median_distance
from fewlabel.multiview._losses import make_loss
from fewlabel.multiview._system import Penalties
from fewlabel.multiview._variables import VariableClusterer
from fewlabel.multiview._views import drop_constant, find_views
from fewlabel.types import MatrixLike

_LARGEST_SEED = np.iinfo(np.int32).max
_EXACT = 16_000  # largest number of rows times views for which approximation="auto" uses every row as a landmark
_BATCH = 10_000  # rows per batch in prediction

NON_NEGATIVE = Interval(numbers.Real, 0, None, closed="left")
POSITIVE = Interval(numbers.Real, 0, None, closed="neither")
COUNT = Interval(numbers.Integral, 1, None, closed="left")


class Rows(NamedTuple):
    """The rows that a fit uses, in all views.

    Attributes
    ----------
    views : list of ndarray of shape (n_rows, n_columns_of_view)
        Scaled columns.
    features : ndarray of shape (n_rows, n_coordinates)
        Coordinates in the bases of all views, concatenated.
    codes : ndarray
        Class of each row, -1 if unlabeled.
    origin : ndarray
        Position of each row in the table.
    """

    views: list
    features: np.ndarray
    codes: np.ndarray
    origin: np.ndarray


class MultiviewClassifier(LabeledClassifier):
    """Base of the multi-view classifiers; a subclass fits the coefficients of the bases."""

    _dtypes = (np.float64,)
    _parameter_constraints: dict = {
        "loss": [StrOptions({"squared", "hinge"})],
        "views": [list, tuple, VariableClusterer, None],
        "kernel": [StrOptions({"rbf", "linear", "poly"})],
        "gamma_A": [POSITIVE],
        "gamma_B": [NON_NEGATIVE],
        "gamma_W": [NON_NEGATIVE],
        "view_weights": [StrOptions({"uniform", "learned"}), "array-like"],
        "length_scale": [StrOptions({"median"}), POSITIVE],
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

    def _prepare(self, X, codes):
        """Set the views, their scales and bases, and return the rows in them.

        Without the penalties that use unlabeled rows, these rows must not affect scales and bases either, so they are
        dropped here.
        """
        rng = check_random_state(self.random_state)
        seed = rng.randint(_LARGEST_SEED)
        origin = np.arange(len(X)) if self.gamma_B or self.gamma_W else np.flatnonzero(codes >= 0)
        X, codes = X[origin], codes[origin]
        views, self.clusterer_ = find_views(self.views, X, getattr(self, "feature_names_in_", None), seed)
        self.views_, self.view_weights_ = drop_constant(views, self._given_weights(len(views)), X)
        self._set_scale(X)
        X = (X - self._shift) / self._divisor
        by_view = [X[:, columns] for columns in self.views_]
        self.length_scales_ = self._find_length_scales(by_view, rng)
        chosen = self._choose_landmarks(len(X), rng)
        self._bases = [ViewBasis(rows[chosen], self._kernel(v)) for v, rows in enumerate(by_view)]
        return Rows(by_view, self._coordinates(by_view), codes, origin)

    def _coordinates(self, by_view):
        """Coordinates of the rows in all views, concatenated; in batches, as they are the largest array in memory."""
        ends = np.cumsum([0, *(basis.size for basis in self._bases)])
        features = np.empty((len(by_view[0]), ends[-1]))
        for v, (basis, rows) in enumerate(zip(self._bases, by_view)):
            for part in gen_batches(len(rows), _BATCH):
                features[part, ends[v] : ends[v + 1]] = basis.coordinates(rows[part])
        return features

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

    def _find_length_scales(self, by_view, rng):
        if self.kernel != "rbf" or self.length_scale != "median":
            return np.full(len(by_view), 1.0 if isinstance(self.length_scale, str) else self.length_scale)
        seed = rng.randint(_LARGEST_SEED)  # the same rows in every view, so that the order of the views does not matter
        return np.array([median_distance(rows, np.random.RandomState(seed)) for rows in by_view])

    def _choose_landmarks(self, n_rows, rng):
        exact = n_rows * len(self.views_) <= _EXACT if self.approximation == "auto" else self.approximation is None
        if exact or self.n_components >= n_rows:
            return np.arange(n_rows)
        return np.sort(rng.choice(n_rows, self.n_components, replace=False))

    def _kernel(self, v):
        return ViewKernel(self.kernel, self.length_scales_[v], self.degree, self.coef0)

    def _penalties(self):
        return Penalties(self.gamma_A, self.gamma_B, self.gamma_W, self.laplacian, self.n_neighbors)

    def _make_loss(self, **parameters):
        loss = make_loss(self.loss, len(self.classes_), **parameters)
        self._readout = loss.readout
        return loss

    def _keep(self, theta, held_out, codes, class_weight):
        """Set the attributes that prediction needs: landmarks, their coefficients, and the slope of the log-odds."""
        ends = np.cumsum([basis.size for basis in self._bases])[:-1]
        parts = np.split(theta, ends)
        self.landmarks_ = [basis.landmarks for basis in self._bases]
        self.dual_coef_ = [
            c * basis.coefficients(part) for c, basis, part in zip(self.view_weights_, self._bases, parts)
        ]
        self.class_weight_ = class_weight / class_weight.mean()
        self.slope_ = softmax_slope(held_out @ self._readout, codes, self.class_weight_)
