"""Out-of-fold scores of a classifier of labeled against unlabeled rows."""

import math

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from fewlabel.prior._rows import has_missing
from fewlabel.thread_limits import one_thread

_N_TREES_ROWS = 200  # boosted trees need at least this many rows
_N_BINS = 255


def out_of_fold_scores(P, U, p_weight, u_weight, rng):
    """Return probabilities of being labeled, with balanced groups, by the better of two models.

    Parameters
    ----------
    P, U : {ndarray, sparse matrix}
        Labeled positives and unlabeled rows.
    p_weight, u_weight : ndarray
        Weights of the rows, all above 0.
    rng : RandomState

    Returns
    -------
    tuple of ndarray, or None
        Scores of the positives and of the unlabeled rows; None if a group has a single row.
    """
    n_p = P.shape[0]
    n_u = U.shape[0]
    n_folds = min(5, n_p, n_u)
    # With one row of a group there is none left to learn from.
    if n_folds < 2:
        return None
    X = sp.vstack([P, U], format="csr") if sp.issparse(P) else np.vstack([P, U])
    s = np.repeat([1.0, 0.0], [n_p, n_u])
    weight = np.concatenate([p_weight / p_weight.sum(), u_weight / u_weight.sum()])
    # Both models get the same folds, so that their losses can be compared row by row.
    seed = rng.randint(np.iinfo(np.int32).max)
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, s))
    best = None
    best_losses = None
    for model, rows in _models(X, seed):
        p, losses = _cross_fit(model, rows, s, weight, folds, best_losses)
        if best is None or losses.sum() < best_losses.sum():
            best = p
            best_losses = losses
    return best[:n_p], best[n_p:]


def _cross_fit(model, X, s, weight, folds, rival):
    """Out-of-fold probabilities and the weighted losses of the rows.

    If it is worse than the losses of a `rival` on the folds so far by two standard errors, the other folds are left
    out, and the losses are infinite.
    """
    p = np.empty(len(s))
    losses = np.full(len(s), np.inf)
    tested = np.empty(0, dtype=np.intp)
    weight_name = f"{model.steps[-1][0]}__sample_weight"
    # The fits are small, and sums must not depend on the number of threads.
    with one_thread():
        for train, test in folds:
            balanced = _balanced(weight[train], s[train])
            model.fit(X[train], s[train], **{weight_name: balanced})
            probability = model.predict_proba(X[test])[:, 1]
            p[test] = np.clip(probability, 1e-6, 1 - 1e-6)
            likelihood = np.where(s[test] > 0, p[test], 1 - p[test])
            losses[test] = -weight[test] * np.log(likelihood)
            tested = np.append(tested, test)
            if rival is not None:
                worse = losses[tested] - rival[tested]
                if worse.mean() > 2 * worse.std() / math.sqrt(len(worse)):
                    break
    return p, losses


def _balanced(weight, s):
    """Weights with the same total for both groups, 1 on average."""
    labeled = s > 0
    totals = np.where(labeled, weight[labeled].sum(), weight[~labeled].sum())
    return weight / totals * len(s) / 2


def _models(X, seed):
    """Pairs of a model and the rows in the form that it takes."""
    steps = [MaxAbsScaler() if sp.issparse(X) else StandardScaler()]
    if has_missing(X):
        steps.insert(0, SimpleImputer(strategy="median", keep_empty_features=True))
    yield make_pipeline(*steps, LogisticRegression(max_iter=300)), X
    if not sp.issparse(X) and len(X) >= _N_TREES_ROWS:
        booster = HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=8, min_samples_leaf=10, early_stopping=False, random_state=seed
        )
        yield make_pipeline(booster), np.column_stack([_coded(column) for column in X.T])


def _coded(column):
    """A column with at most as many values as the booster has bins: it finds weighted quantiles slowly."""
    known = column[~np.isnan(column)]
    if len(np.unique(known)) <= _N_BINS:
        return column
    edges = np.quantile(known, np.arange(1, _N_BINS) / _N_BINS)
    return np.where(np.isnan(column), np.nan, np.searchsorted(edges, column))
