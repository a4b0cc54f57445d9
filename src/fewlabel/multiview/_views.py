"""Which columns are in which view."""

import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone

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
    if len(views) == 0:
        raise ValueError("views is an empty list: give a list of columns for each view, or None to find them")
    return [_positions(view, v, X.shape[1], names) for v, view in enumerate(views)], None


def _positions(view, v, n_columns, names):
    """One view as ascending positions of columns."""
    if isinstance(view, str) or np.ndim(view) != 1 or len(view) == 0:
        raise ValueError(f"view {v} is {view!r}: expected a list of one column or more, by name or position")
    chosen = np.asarray(view)
    if chosen.dtype == bool:
        if len(chosen) != n_columns or not chosen.any():
            raise ValueError(
                f"view {v} is a mask of {len(chosen)} columns of which {chosen.sum()} are chosen, X has {n_columns}"
            )
        return np.flatnonzero(chosen)
    if chosen.dtype.kind in "iu":
        if chosen.min() < 0 or chosen.max() >= n_columns:
            raise ValueError(f"view {v} holds {chosen.tolist()}: columns of X are numbered from 0 to {n_columns - 1}")
        return np.unique(chosen)
    if names is None:
        raise ValueError(f"view {v} holds names of columns, but X has none: pass a data frame, or give positions")
    known = {name: j for j, name in enumerate(names)}
    unknown = [name for name in chosen.tolist() if name not in known]
    if unknown:
        raise ValueError(
            f"view {v} holds columns that X does not have: {unknown}. X has {', '.join(map(str, names[:20]))}"
        )
    return np.unique([known[name] for name in chosen.tolist()])


def drop_constant(views, view_weights, X):
    """Leave out views in which all rows are equal; they can tell nothing."""
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
