"""The estimators: the boosting loop is that of one machine, its rows are elsewhere."""

import contextlib

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from fewlabel import boosting, linear
from fewlabel.boosting._booster import _AlarmStop
from fewlabel.dask._blocks import Blocks
from fewlabel.dask._checkpoint import Checkpoint
from fewlabel.dask._rows import SCORE_POINTS, SIGNS, Part, SpreadRows
from fewlabel.dask._sketch import SketchedBinning, merge_sketches, sketch
from fewlabel.exceptions import LabelError
from fewlabel.linear.moments import Moments


def _look(X, y):
    """The first rows, and the distinct labels."""
    if X.shape[0] != len(y):
        raise ValueError(f"a partition of X has {X.shape[0]} rows and that of y has {len(y)}")
    return X.iloc[:2] if hasattr(X, "iloc") else X[:2], _distinct(np.asarray(y))


def _look_at_both(one, other):
    return one[0] if one[0].shape[0] else other[0], _distinct(pd.concat([one[1], other[1]], ignore_index=True))


def _distinct(labels):
    return pd.Series(pd.unique(pd.Series(labels)))


class _Reader:
    """Rows of a block as floats, and the sign of each by its label; a label that is missing is unlabeled."""

    def __init__(self, known):
        self._known = known

    def signs(self, y):
        return pd.Series(np.asarray(y)).map(self._known).fillna(0).to_numpy(dtype=np.int8)

    def __call__(self, X, y):
        X = X if issparse(X) else np.asarray(X)
        kind = X.dtype if X.dtype == np.float32 else np.float64
        return (X.tocsr().astype(kind) if issparse(X) else np.ascontiguousarray(X, dtype=kind)), self.signs(y)


class _DaskModel:
    """Fit on Dask collections, predict lazily on them; the fitted attributes are those of the ordinary model."""

    @property
    def model_(self):
        """The ordinary in-memory model."""
        check_is_fitted(self)
        return self._as_ordinary()

    def _as_ordinary(self):
        ordinary = self._ordinary(**self.get_params())
        vars(ordinary).update({k: v for k, v in vars(self).items() if k not in ordinary.get_params()})
        return ordinary

    def decision_function(self, X):
        """As the in-memory model's; lazy if `X` is a Dask collection."""
        return _lazily(self.model_.decision_function, X, float)

    def predict(self, X):
        """As the in-memory model's; lazy if `X` is a Dask collection."""
        return _lazily(self.model_.predict, X, self.classes_.dtype)

    def predict_proba(self, X):
        """As the in-memory model's; lazy if `X` is a Dask collection."""
        return _lazily(self.model_.predict_proba, X, float, columns=2)

    def fit(self, X, y, *, client=None):
        """Fit on a Dask array or DataFrame.

        Parameters
        ----------
        X : dask array or DataFrame of shape (n_samples, n_features)
        y : dask array or Series of shape (n_samples,)
            As in the in-memory model; in partitions like those of `X`.
        client : distributed.Client, default=None
            Where to work; None: the current client if there is one, else threads of this process.

        Returns
        -------
        self : object
        """
        blocks, read = self._begin(X, y, client)
        self._fit_blocks(blocks, read)
        return self

    def _begin(self, X, y, client):
        """Check what can be checked on few rows, and read the classes: the blocks, and what reads one."""
        self._validate_params()
        vars(self).pop("calibration_", None)  # as in memory: an interrupted fit leaves no model
        blocks = Blocks(X, y, _current_client() if client is None else client)
        head, values = blocks.fold(_look, _look_at_both)
        if not head.shape[0]:
            raise ValueError("there is no row: every partition is empty")
        twice = [0, head.shape[0] - 1]
        self._validate(head.iloc[twice] if hasattr(head, "iloc") else head[twice], reset=True)
        values = values.to_numpy()
        self.classes_, signs = self._read_labels(values)
        known = {value: sign for value, sign in zip(values.tolist(), signs.tolist()) if not pd.isna(value)}
        return blocks, _Reader(known)

    def _set_threshold_from(self, sketches):
        """`_make_classifier` from a summary of the scores of each group."""
        scores, counts = (np.concatenate(part) for part in zip(*sketches))
        self._make_classifier(scores, np.repeat(SIGNS, [len(v) for v, _ in sketches]), counts.astype(float))


def _current_client():
    with contextlib.suppress(ImportError, ValueError):
        from distributed import get_client

        return get_client()
    return None


def _lazily(method, X, dtype, columns=None):
    if hasattr(X, "map_blocks"):
        X = X.rechunk({1: -1})
        if columns is None:
            return X.map_blocks(method, drop_axis=1, meta=np.empty(0, dtype))
        return X.map_blocks(method, chunks=(X.chunks[0], (columns,)), meta=np.empty((0, 0), dtype))
    if hasattr(X, "to_delayed"):
        import dask.array as da
        from dask import delayed as lazy

        shape = (np.nan,) if columns is None else (np.nan, columns)
        parts = [da.from_delayed(lazy(method)(part), shape, dtype) for part in X.to_delayed()]
        return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)
    return method(X)


def _summarize(X, y, read, uses_unlabeled):
    """Number of rows of each group, and of each column its sketch with the number of missing values."""
    X, signs = read(X, y)
    if np.isinf(X).any():
        raise ValueError("X holds infinite values: only NaN may stand for what is missing")
    used = X if uses_unlabeled else X[signs != 0]
    sketches = [sketch(column) for column in used.T]
    columns = [(values, counts, len(used) - counts.sum()) for values, counts in sketches]
    return np.array([np.count_nonzero(signs == sign) for sign in SIGNS]), columns


def _merge_summaries(one, other):
    columns = [(*merge_sketches(a[:2], b[:2]), a[2] + b[2]) for a, b in zip(one[1], other[1])]
    return one[0] + other[0], columns


def _merge_scores(one, other):
    return [merge_sketches(a, b, SCORE_POINTS) for a, b in zip(one, other)]


class _DaskBooster(_DaskModel):
    def fit(self, X, y, *, client=None, checkpoint=None, checkpoint_every=50, callback=None):
        """Fit on a Dask array or DataFrame.

        Parameters
        ----------
        X : dask array or DataFrame of shape (n_samples, n_features)
        y : dask array or Series of shape (n_samples,)
            As in the in-memory model; in partitions like those of `X`.
        client : distributed.Client, default=None
            Where to work; None: the current client if there is one, else threads of this process.
        checkpoint : str or path-like, default=None
            File for the rounds so far. If it is there, the fit goes on from it: it must be of the same rows and
            parameters (`n_estimators` may differ), and its seed counts. It is removed when the fit is done.
        checkpoint_every : int, default=50
            Rounds between two writes of the checkpoint.
        callback : callable, default=None
            ``callback(done, total)`` is called after each round.

        Returns
        -------
        self : object
        """
        if checkpoint_every < 1:
            raise ValueError(f"checkpoint_every={checkpoint_every} must be at least 1")
        if self.early_stopping is True:
            raise ValueError("early_stopping=True holds out rows in memory: with Dask use 'alarm' or False")
        blocks, read = self._begin(X, y, client)
        self._fit_blocks(blocks, read, checkpoint, checkpoint_every, callback)
        return self

    def _fit_blocks(self, blocks, read, checkpoint, checkpoint_every, callback):
        previous, losses = self._previous_rounds()
        sizes, columns = blocks.fold(_summarize, _merge_summaries, read, self._uses_unlabeled())
        if not self._uses_unlabeled():
            sizes[1] = 0
        if not sizes[0]:
            raise LabelError("no row is labeled positive")
        binning = SketchedBinning(columns, self.max_bins)
        saved = None
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, checkpoint_every, self, binning, sizes)
            previous, losses, self._seed = saved.start(previous, losses, self._seed)
        rule = self._make_rule(bool(sizes[1]))
        self.stumps_ = previous
        start = self._as_ordinary() if len(previous) else None
        call = blocks.keep(Part, read, binning, sizes, rule.uses & (sizes > 0), start)
        rows = SpreadRows(call, binning, sizes, rule.uses)
        stopper = _AlarmStop(rows, rule) if self.early_stopping == "alarm" and sizes[1] else None

        def note(t, stump, objective):
            if saved is not None:
                saved.add(stump, objective, self._seed)
            if callback is not None:
                callback(t + 1, self.n_estimators)

        self._boost(rows, rule, previous, losses, stopper, note)
        self._set_threshold_from(call("score_sketches", rows.table, merge=_merge_scores))
        if saved is not None:
            saved.remove()


class PNUAUCBoostClassifier(_DaskBooster, boosting.PNUAUCBoostClassifier):
    """PNU-AUCBoost on Dask collections; parameters and attributes as in `fewlabel.PNUAUCBoostClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import hide_labels
    >>> from fewlabel.dask import PNUAUCBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> few = hide_labels(y, labeled=0.1, random_state=0)
    >>> model = PNUAUCBoostClassifier(50, random_state=0)
    >>> model = model.fit(da.from_array(X, chunks=(200, -1)), da.from_array(few, chunks=200))
    >>> type(model.model_).__module__
    'fewlabel.boosting._pnu_auc'
    """

    _ordinary = boosting.PNUAUCBoostClassifier


class RankBoostClassifier(_DaskBooster, boosting.RankBoostClassifier):
    """RankBoost on Dask collections; parameters and attributes as in `fewlabel.RankBoostClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel.dask import RankBoostClassifier
    >>> X, y = (da.from_array(part, chunks=200) for part in load_breast_cancer(return_X_y=True))
    >>> lazy = RankBoostClassifier(50, random_state=0).fit(X, y).predict(X)
    >>> bool((lazy == y).mean().compute() > 0.95)
    True
    """

    _ordinary = boosting.RankBoostClassifier


class PUAdaBoostClassifier(_DaskBooster, boosting.PUAdaBoostClassifier):
    """Ada-PU on Dask collections; as `fewlabel.PUAdaBoostClassifier`, but `prior` must be given.

    Examples
    --------
    >>> import dask.array as da
    >>> from fewlabel import make_pu
    >>> from fewlabel.dask import PUAdaBoostClassifier
    >>> X, y, true = make_pu(2000, prior=0.3, return_true=True, random_state=0)
    >>> model = PUAdaBoostClassifier(100, prior=0.3, random_state=0)
    >>> model = model.fit(da.from_array(X, chunks=(500, -1)), da.from_array(y, chunks=500))
    >>> bool((model.predict(X) == true).mean() > 0.8)
    True
    """

    _ordinary = boosting.PUAdaBoostClassifier

    def _fit_blocks(self, blocks, read, *options):
        if self.prior is None:
            raise ValueError("give the prior: estimate_class_prior on a sample of the rows finds one")
        self.prior_ = self.prior
        super()._fit_blocks(blocks, read, *options)


def _block_moments(X, y, read):
    X, signs = read(X, y)
    return [Moments.of(X[signs == sign].astype(np.float64)) for sign in linear._least_squares._SIGNS]


def _merge_moments(one, other):
    return [a.merge(b) for a, b in zip(one, other)]


def _labeled_scores(X, y, read, model):
    """Summary of the scores of each group; unlabeled rows are not looked at."""
    X, signs = read(X, y)
    scores = np.zeros(len(signs))
    scores[signs != 0] = model._score(X[signs != 0])
    return [sketch(scores[(signs == sign) & (signs != 0)], SCORE_POINTS) for sign in SIGNS]


class LeastSquaresAUCClassifier(_DaskModel, linear.LeastSquaresAUCClassifier):
    """Least-squares AUC on Dask collections; as `fewlabel.LeastSquaresAUCClassifier` with ``basis="linear"``.

    The moments of blocks add up exactly; blocks may be SciPy sparse matrices, with up to some thousands of columns.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewlabel.dask import LeastSquaresAUCClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rows, labels = da.from_array(scale(X), chunks=(200, -1)), da.from_array(y, chunks=200)
    >>> bool((LeastSquaresAUCClassifier().fit(rows, labels).predict(rows) == labels).mean().compute() > 0.95)
    True
    """

    _ordinary = linear.LeastSquaresAUCClassifier

    def _fit_blocks(self, blocks, read):
        if self.basis != "linear" or "cv" in (self.alpha, self.gamma):
            raise ValueError("with Dask give basis='linear', and numbers for alpha and gamma")
        moments = blocks.fold(_block_moments, _merge_moments, read)
        self._settle(moments)
        self.coef_, self.psd_fixed_ = linear._least_squares._solve(
            self.risk, moments, self.gamma_, self.prior_, [self.alpha_]
        )
        self._set_threshold_from(blocks.fold(_labeled_scores, _merge_scores, read, self._as_ordinary()))
