"""Which columns are in which view."""

import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone

from fewlabel.columns import choose_views
from fewlabel.multiview._variables import VariableClusterer


def find_views(views, X, names, seed):
    """Positions of the columns of each view, and the clusterer that found them, or None.

    Parameters
    ----------
    views : None, VariableClusterer or list
    X : ndarray of shape (n_rows, n_features)
    names : ndarray of str or None
        Names of the columns.
    seed : int
        Of a clusterer without a seed of its own.
    """
    if views is None or isinstance(views, VariableClusterer):
        clusterer = VariableClusterer() if views is None else clone(views)
        if clusterer.random_state is None:
            clusterer.set_params(random_state=seed)
        clusterer.fit(X if names is None else pd.DataFrame(X, columns=names))
        return [np.flatnonzero(clusterer.labels_ == g) for g in range(clusterer.n_clusters_)], clusterer
    return choose_views(views, X.shape[1], names), None


def drop_constant(views, view_weights, X):
    """Leave out views in which all rows are equal."""
    varies = np.ptp(X, axis=0) > 0
    kept = [bool(varies[view].any()) for view in views]
    if not any(kept):
        raise ValueError("every column of X is constant: there is nothing to learn from")
    if not all(kept):
        dropped = [v for v, keep in enumerate(kept) if not keep]
        warnings.warn(
            f"view(s) {dropped} hold constant columns only and are left out: drop them from views",
            UserWarning,
            stacklevel=5,
        )
    return [view for view, keep in zip(views, kept) if keep], view_weights[np.array(kept)]
