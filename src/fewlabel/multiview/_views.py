"""Assignment of columns to views."""

import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone

from fewlabel.columns import choose_views
from fewlabel.multiview._variables import VariableClusterer
from fewlabel.warning_filters import caller_level


def find_views(views, X, names, seed):
    """Return the positions of the columns of each view, and the clusterer that found them, or None.

    Parameters
    ----------
    views : None, VariableClusterer or list
        The parameter of the classifiers.
    X : ndarray of shape (n_rows, n_features)
        The rows.
    names : ndarray of str or None
        Names of the columns.
    seed : int
        Seed of a clusterer without its own.
    """
    if views is None or isinstance(views, VariableClusterer):
        clusterer = VariableClusterer() if views is None else clone(views)
        if clusterer.random_state is None:
            clusterer.set_params(random_state=seed)
        clusterer.fit(X if names is None else pd.DataFrame(X, columns=names))
        return [np.flatnonzero(clusterer.labels_ == g) for g in range(clusterer.n_clusters_)], clusterer
    return choose_views(views, X.shape[1], names), None


def find_varying(views, X):
    """Return the positions of the views in which not all rows are equal."""
    varies = np.ptp(X, axis=0) > 0
    varying = [v for v, columns in enumerate(views) if varies[columns].any()]
    if not varying:
        raise ValueError("every column of X is constant, so there is nothing to learn: check the table")
    dropped = sorted(set(range(len(views))) - set(varying))
    if dropped:
        warnings.warn(
            f"view(s) {dropped} hold constant columns only and are ignored: remove them from views",
            UserWarning,
            stacklevel=caller_level(),
        )
    return varying
