"""Base of the multi-view classifiers: validate -> views -> basis of each view -> `_fit`; prediction."""

from dataclasses import KW_ONLY
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from fewlabel.base import Count, LabeledClassifier, NonNegative, Positive, ScoresClasses, Values, parametrized
from fewlabel.calibration import softmax_slope
from fewlabel.multiview._basis import sum_of_views
from fewlabel.multiview._losses import HingeLoss, SquaredLoss
from fewlabel.multiview._spaces import KernelSpace, choose_landmarks
from fewlabel.multiview._system import Penalties
from fewlabel.multiview._variables import VariableClusterer
from fewlabel.multiview._views import find_varying, find_views
from fewlabel.neighbors import median_distance
from fewlabel.random_streams import draw_seed
from fewlabel.types import MatrixLike, Seed

# Largest number of rows times views of a system for which approximation="auto" is exact.
_EXACT = 2_000
_MOST_COMPARED = 1000  # rows between which the median distance is computed
# A smaller standard deviation, relative to the largest value, is rounding error.
_CONSTANT = 1e-12
# What "auto" chooses from, one penalty after the other; the first value is where it starts.
_GRIDS = {
    "gamma_A": (1e-2, 1e-3, 1e-1, 1.0),
    "gamma_B": (0.1, 0.0, 1e-2, 1.0),
    "gamma_W": (0.1, 0.0, 1e-2, 1.0),
}


class UsedRows(NamedTuple):
    """The rows that a fit uses.

    Attributes
    ----------
    space : KernelSpace
        The functions to choose from, over these rows.
    codes : ndarray
        Class of each row, -1 if unlabeled.
    origin : ndarray
        Position of each row in the table.
    """

    space: KernelSpace
    codes: np.ndarray
    origin: np.ndarray


@parametrized
class MultiviewClassifier(ScoresClasses, LabeledClassifier):
    """Base of the multi-view classifiers; a subclass fits the coefficients of the bases."""

    _dtypes = (np.float64,)

    loss: Literal["squared", "hinge"] = "squared"
    _: KW_ONLY
    views: list | tuple | VariableClusterer | None = None
    gamma_A: Positive | Literal["auto"] = 1e-2
    gamma_B: NonNegative | Literal["auto"] = 0.1
    gamma_W: NonNegative | Literal["auto"] = 0.1
    view_weights: Values | Literal["uniform"] = "uniform"
    length_scale: Positive | Literal["median"] = "median"
    n_neighbors: Count = 10
    approximation: Literal["auto", "nystroem"] | None = "auto"
    n_components: Count = 500
    scale: bool = True
    random_state: Seed = None

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
        outputs = self._scores(X)
        return softmax(self.slope_ * outputs - np.log(self.class_weight_), axis=1)

    def _class_scores(self, X):
        outputs = sum_of_views(self._in_views(X), self.length_scales_, self.landmarks_, self.dual_coef_)
        return outputs @ self._readout

    def _in_views(self, X):
        """The scaled rows in each view."""
        scaled = (X - self._shift) / self._divisor
        return [scaled[:, columns] for columns in self.views_]

    def _prepare(self, X, codes, n_systems=1):
        """Set the views and their scales, and return the rows in them.

        Without the penalties that use unlabeled rows, these rows must not affect scales and bases either, so they are
        dropped here. `n_systems` is the number of groups that a fit solves instead of all rows.
        """
        rng = check_random_state(self.random_state)
        seed = draw_seed(rng)
        origin = np.arange(len(X)) if self._uses_unlabeled else np.flatnonzero(codes >= 0)
        X = X[origin]
        codes = codes[origin]
        views, self.clusterer_ = find_views(self.views, X, getattr(self, "feature_names_in_", None), seed)
        varying = find_varying(views, X)
        self.views_ = [views[v] for v in varying]
        self.view_weights_ = self._given_weights(len(views))[varying]
        self._set_scale(X)
        by_view = self._in_views(X)
        self._set_widths(by_view, rng)
        is_exact = self._is_exact(len(X), n_systems)
        shared = None if is_exact else choose_landmarks(codes, self.n_components, rng)
        return UsedRows(KernelSpace(by_view, self.length_scales_, shared), codes, origin)

    @property
    def _uses_unlabeled(self):
        return any(isinstance(gamma, str) or gamma > 0 for gamma in (self.gamma_B, self.gamma_W))

    def _is_exact(self, n_rows, n_systems):
        """Whether every row is a landmark."""
        if self.approximation == "auto":
            return n_rows / n_systems * len(self.views_) <= _EXACT
        return self.approximation is None or self.n_components >= n_rows

    def _given_weights(self, n_views):
        if isinstance(self.view_weights, str):
            return np.full(n_views, 1.0 / n_views)
        weights = np.asarray(self.view_weights, dtype=np.float64)
        is_valid = weights.shape == (n_views,) and np.isfinite(weights).all() and (weights >= 0).all()
        if not is_valid or weights.sum() == 0:
            raise ValueError(
                f"view_weights={weights.tolist()} should be {n_views} non-negative numbers, one per view, not all 0"
            )
        return weights

    def _set_scale(self, X):
        self._shift = np.zeros(X.shape[1])
        self._divisor = np.ones(X.shape[1])
        if self.scale:
            spread = X.std(axis=0)
            is_flat = spread <= _CONSTANT * np.abs(X).max(axis=0)
            self._shift = X.mean(axis=0)
            self._divisor = np.where(is_flat, 1.0, spread)

    def _set_widths(self, by_view, rng):
        """Set the width of each view."""
        # The same rows in every view, so that the order of the views does not matter.
        seed = draw_seed(rng)
        if self.length_scale != "median":
            self.length_scales_ = np.full(len(by_view), float(self.length_scale))
        else:
            widths = [median_distance(X, np.random.RandomState(seed), _MOST_COMPARED) for X in by_view]
            self.length_scales_ = np.array(widths)

    def _choose_penalties(self, score_of):
        """Set `gamma_A_`, `gamma_B_` and `gamma_W_`: "auto" takes the value with the best held-out score."""
        given = {name: getattr(self, name) for name in _GRIDS}
        start = {name: _GRIDS[name][0] if value == "auto" else float(value) for name, value in given.items()}
        best = Penalties(**start, n_neighbors=self.n_neighbors)
        best_score = score_of(best) if "auto" in given.values() else None
        for name, grid in _GRIDS.items():
            for value in grid[1:] if given[name] == "auto" else ():
                tried = best._replace(**{name: value})
                score = score_of(tried)
                if score > best_score:
                    best = tried
                    best_score = score
        self.gamma_A_ = best.gamma_A
        self.gamma_B_ = best.gamma_B
        self.gamma_W_ = best.gamma_W
        return best

    def _make_loss(self, **parameters):
        n_classes = len(self.classes_)
        loss = SquaredLoss(n_classes) if self.loss == "squared" else HingeLoss(n_classes, **parameters)
        self._readout = loss.readout
        return loss

    def _keep(self, space, coefficients, held_out, codes, class_weight):
        """Set the attributes that prediction needs: landmarks, their coefficients, and the slope of the log-odds."""
        self.landmarks_ = space.landmarks
        self.dual_coef_ = coefficients
        self.class_weight_ = class_weight / class_weight.mean()
        self.slope_ = softmax_slope(held_out @ self._readout, codes, self.class_weight_)


def mean_auc(outputs, codes, weight):
    """Return the AUC of two classes; for more, the mean of each class against the rest."""
    if outputs.shape[1] == 2:
        return float(roc_auc_score(codes == 1, outputs[:, 1], sample_weight=weight))
    return float(np.mean([roc_auc_score(codes == k, outputs[:, k], sample_weight=weight) for k in np.unique(codes)]))
