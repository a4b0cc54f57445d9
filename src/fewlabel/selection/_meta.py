"""Selectors around another one: labels for the unlabeled rows first, or many draws of the labeled rows."""

import warnings
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.utils import check_random_state

from fewlabel.base import AtLeastTwo, HasMethods, Share, UnitInterval, parametrized, set_random_states
from fewlabel.metrics.shares import wilson
from fewlabel.selection._base import TableSelector, choice_of_path, choice_of_scores
from fewlabel.selection._columns import coordinates
from fewlabel.selection._correlation import CorrelationSubsetSelector
from fewlabel.types import Seed
from fewlabel.warning_filters import keep_filters

_N_TREES = 200
_N_COMPONENTS = 10


@parametrized
class MetaSelector(TableSelector):
    """Base: clones of `selector`, which is `CorrelationSubsetSelector` by default, select columns."""

    _uses_unlabeled = True

    selector: Annotated[Any, HasMethods(["fit", "get_support"]), None] = None
    _: KW_ONLY
    random_state: Seed = None

    def _select_by(self, columns, codes, rng):
        """Fit a clone of the selector to the rows, and give the clone."""
        selector = CorrelationSubsetSelector() if self.selector is None else clone(self.selector)
        set_random_states(selector, rng)
        if "categorical_features" in selector.get_params():
            selector.set_params(categorical_features=columns.nominal)
        with keep_filters():
            # What concerns the whole table is said by this selector.
            warnings.simplefilter("ignore")
            return selector.fit(pd.DataFrame(columns.values), codes)


@parametrized
class PseudoLabelSelector(MetaSelector):
    r"""Select columns on all rows, the unlabeled ones with the classes that a strong model predicts for them.

    With a few labels per class the scores of all columns are mostly chance. A model that combines the columns, and has
    seen the unlabeled rows, is right more often than the labels are many: its predictions are noisier than labels, but
    there are far more of them.

    Parameters
    ----------
    selector : selector, default=None
        The selector that is fitted to all rows. None means :class:`CorrelationSubsetSelector`.
    teacher : classifier, default=None
        Classifier that is fitted to the labeled rows, all columns as numbers, and predicts the others. None means 200
        extremely randomized trees on the columns and 10 principal components of all rows.
    categorical_features : "auto" or array-like, default="auto"
        Nominal columns, as names, positions or a mask. "auto" means the columns of a data frame that hold text,
        categories or booleans.
    random_state : int, RandomState instance or None, default=None
        Seeds teacher and selector.

    Attributes
    ----------
    selector_ : selector
        The fitted selector, of the columns that are not refused.
    pseudo_labels_ : ndarray of shape (n_samples,)
        The class of each row that the selector was given: the known one, or the predicted one.
    support_ : ndarray of shape (n_features,), bool
        The selected columns.
    refused_ : ndarray of shape (n_features,), bool
        Columns that look like identifiers, which are left out with a warning.
    classes_ : ndarray
        The classes of the labeled rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    GraphScoreSelector : Scores of single columns from neighbors and labels.

    References
    ----------
    .. [1] Lee, D.-H. "Pseudo-label: the simple and efficient semi-supervised learning method for deep neural networks."
       ICML Workshop on Challenges in Representation Learning, 2013. Pseudo-labels; their use for selection is ours.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewlabel import PseudoLabelSelector, hide_labels
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> PseudoLabelSelector(random_state=0).fit(X, hide_labels(y, 15, random_state=0)).get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    teacher: Annotated[Any, HasMethods(["fit", "predict"]), None] = None
    _: KW_ONLY

    def _choose(self, columns, y, n_classes):
        rng = check_random_state(self.random_state)
        codes = self._teach(columns, y, rng)
        self.pseudo_labels_ = self.classes_[codes]
        self.selector_ = self._select_by(columns, codes, rng)
        path = self.selector_.get_support(indices=True)
        return choice_of_path(path, np.full(len(path), np.nan), len(columns.nominal))

    def _teach(self, columns, y, rng):
        labeled = y >= 0
        if labeled.all():
            return y
        values, _ = coordinates(columns)
        teacher = self.teacher
        if teacher is None:
            teacher = ExtraTreesClassifier(_N_TREES)
            n_components = min(_N_COMPONENTS, *values.shape)
            # The components show the teacher directions that the unlabeled rows vary in.
            components = PCA(n_components, svd_solver="full").fit_transform(values - values.mean(axis=0))
            values = np.hstack([values, components])
        teacher = clone(teacher)
        set_random_states(teacher, rng)
        codes = y.copy()
        codes[~labeled] = teacher.fit(values[labeled], y[labeled]).predict(values[~labeled])
        return codes


@parametrized
class StabilitySelector(MetaSelector):
    r"""Select the columns that another selector chooses in most draws of half of the labeled rows.

    With a share :math:`\hat p` of the n draws, the interval is that of Wilson. It says how well the draws determine the
    share, not how well the table determines the columns: the draws overlap.

    Parameters
    ----------
    selector : selector, default=None
        The selector that is fitted to each draw, and to all unlabeled rows. None means
        :class:`CorrelationSubsetSelector`.
    n_draws : int, default=50
        Number of draws.
    min_frequency : float, default=0.5
        Columns whose interval lies above this share of the draws are selected.
    confidence : float, default=0.95
        Coverage of the intervals.
    categorical_features : "auto" or array-like, default="auto"
        Nominal columns, as names, positions or a mask. "auto" means the columns of a data frame that hold text,
        categories or booleans.
    random_state : int, RandomState instance or None, default=None
        Draws the rows, and seeds the selector. Rows are drawn by position, so that the order of the rows matters.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Share of the draws in which each column is selected; NaN for refused columns.
    intervals_ : ndarray of shape (n_features, 2)
        Interval of each share.
    path_ : ndarray of shape (n_features,), int
        The columns, from the largest share down.
    scores_path_ : ndarray of shape (n_features,)
        Their shares.
    support_ : ndarray of shape (n_features,), bool
        The selected columns.
    refused_ : ndarray of shape (n_features,), bool
        Columns that look like identifiers, which are left out with a warning.
    classes_ : ndarray
        The classes of the labeled rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    References
    ----------
    .. [1] Meinshausen, N. and Bühlmann, P. "Stability selection." Journal of the Royal Statistical Society B 72, 2010.
    .. [2] Wilson, E. B. "Probable inference, the law of succession, and statistical inference." Journal of the American
       Statistical Association 22, 1927.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewlabel import StabilitySelector
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = StabilitySelector(n_draws=20, random_state=0).fit(X, y)
    >>> model.get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    >>> model.intervals_.shape
    (4, 2)
    """

    _: KW_ONLY
    n_draws: AtLeastTwo = 50
    min_frequency: UnitInterval = 0.5
    confidence: Share = 0.95

    def _choose(self, columns, y, n_classes):
        rng = check_random_state(self.random_state)
        n_selected = np.zeros(len(columns.nominal))
        for _ in range(self.n_draws):
            n_selected += self._select_by(columns, _hide_half(y, rng), rng).get_support()
        shares = n_selected / self.n_draws
        intervals = wilson(shares, self.n_draws, self.confidence)
        self.intervals_ = np.full((self.n_features_in_, 2), np.nan)
        self.intervals_[~self.refused_] = intervals
        choice = choice_of_scores(shares)
        return choice._replace(support=intervals[:, 0] > self.min_frequency)


def _hide_half(y, rng):
    """Hide the labels of half of the labeled rows of each class; of an odd number the smaller half."""
    hidden = y.copy()
    for code in np.unique(y[y >= 0]):
        own = rng.permutation(np.flatnonzero(y == code))
        hidden[own[: len(own) // 2]] = -1
    return hidden
