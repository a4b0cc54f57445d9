"""The estimators: the boosting loop and the solver are those in memory, the rows are on the workers."""

import contextlib
from functools import partial

import numpy as np
import pandas as pd
from scipy.sparse import issparse, vstack
from sklearn.utils.validation import check_is_fitted

from fewlabel import boosting, linear
from fewlabel.base import MOST_OUT_OF_FOLD, fit_context
from fewlabel.boosting.pairs import needs_one_part
from fewlabel.boosting.rows import SpreadRows, group_totals
from fewlabel.checks import check_non_negative
from fewlabel.dask._blocks import Blocks
from fewlabel.dask._lazy import lazily
from fewlabel.dask._rows import (
    SCORE_POINTS,
    SIGNS,
    code_groups,
    code_rows,
    make_rows,
    merge_groups,
    merge_scores,
    score_sketches,
)
from fewlabel.dask._samples import merge_samples, sample
from fewlabel.dask._sketch import bin_sketches, merge_sketches, sketch, sketch_columns
from fewlabel.exceptions import LabelError
from fewlabel.linear.moments import group_moments
from fewlabel.positive_unlabeled import PositiveUnlabeled

_MOST_CELLS = 2**25  # codes that the client takes; it boosts that few rows itself, without messages
_CHOOSING = 20_000  # rows of each group by which the number of rounds is chosen if there are more


def _labels_and_weight(y):
    """Labels of a block, and its weights or None."""
    labels, weight = y if isinstance(y, tuple) else (y, None)
    return np.asarray(labels), None if weight is None else np.asarray(weight, dtype=np.float64)


def _look(X, y):
    """The first rows, and the distinct labels of rows that count."""
    y, weight = _labels_and_weight(y)
    if X.shape[0] != len(y):
        raise ValueError(f"a partition of X has {X.shape[0]} rows and that of y has {len(y)}")
    if weight is not None:
        if len(weight) != len(y):
            raise ValueError(f"a partition of y has {len(y)} rows and that of sample_weight has {len(weight)}")
        check_non_negative("sample_weight", weight)
        y = y[weight > 0]
    head = X.iloc[:2] if hasattr(X, "iloc") else X[:2]
    return head, _distinct(y)


def _look_at_both(one, other):
    head = one[0] if one[0].shape[0] else other[0]
    return head, _distinct(pd.concat([one[1], other[1]], ignore_index=True))


def _distinct(labels):
    return pd.Series(pd.unique(pd.Series(labels)))


def _read(known, X, y):
    """Rows of a block as floats, the sign of each by its label, and their weights or None.

    Rows with a missing label are unlabeled; rows of weight 0 are left out.
    """
    X = X if issparse(X) else np.asarray(X)
    kind = X.dtype if X.dtype == np.float32 else np.float64
    X = X.tocsr().astype(kind) if issparse(X) else np.ascontiguousarray(X, dtype=kind)
    y, weight = _labels_and_weight(y)
    signs = pd.Series(y).map(known).fillna(0).to_numpy(dtype=np.int8)
    if weight is None or weight.all():
        return X, signs, weight
    counts = weight > 0
    return X[counts], signs[counts], weight[counts]


class DaskModel:
    """Fit on Dask collections, predict lazily on them; the fitted attributes are those of the in-memory model.

    The threshold comes from the rows of the fit. Probabilities are calibrated out of fold, as in memory, if a model
    learns from labeled rows only; otherwise on the rows of the fit, as those of `fit_ranking`.
    """

    @property
    def model_(self):
        """The model as an in-memory estimator."""
        check_is_fitted(self)
        model = self._in_memory(**self.get_params())
        vars(model).update({k: v for k, v in vars(self).items() if k not in model.get_params()})
        return model

    def decision_function(self, X):
        """As in the in-memory model; lazy if `X` is a Dask collection."""
        return lazily(self.model_.decision_function, X, float)

    def predict(self, X):
        """As in the in-memory model; lazy if `X` is a Dask collection."""
        return lazily(self.model_.predict, X, self.classes_.dtype)

    def predict_proba(self, X):
        """As in the in-memory model; lazy if `X` is a Dask collection."""
        return lazily(self.model_.predict_proba, X, float, columns=2)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, *, client=None):
        """Fit on a Dask array or DataFrame.

        Parameters
        ----------
        X : dask array or DataFrame of shape (n_samples, n_features)
        y : dask array or Series of shape (n_samples,)
            As in the in-memory model, with the partitions of `X`.
        client : distributed.Client, default=None
            The cluster to use. By default the current client, or the threads of this process if there is none.

        Returns
        -------
        self : object
        """
        with beside_tasks():
            blocks, read = self._begin(X, y, client)
            self._fit_blocks(blocks, read)
        return self

    def _begin(self, X, y, client, sample_weight=None):
        """Check what can be checked on few rows, and read the classes; return the blocks, and a reader of blocks."""
        blocks = Blocks(X, y, _current_client() if client is None else client, sample_weight)
        head, values = blocks.fold(_look, _look_at_both)
        if not head.shape[0]:
            raise ValueError("X has no rows: every partition is empty")
        # Two rows, as some checks refuse a single one.
        twice = [0, head.shape[0] - 1]
        self._validate(head.iloc[twice] if hasattr(head, "iloc") else head[twice], reset=True)
        values = values.to_numpy()
        self.classes_, signs = self._read_labels(values)
        known = {value: sign for value, sign in zip(values.tolist(), signs.tolist()) if not pd.isna(value)}
        return blocks, partial(_read, known)

    def _set_threshold_from(self, sketches, blocks, read, n_labeled):
        """Threshold and calibration from a sketch of the scores of each group; out of fold, from the labeled rows."""
        scores, counts = (np.concatenate(part) for part in zip(*sketches))
        signs = np.repeat(SIGNS, [len(v) for v, _ in sketches])
        self._make_classifier(scores, signs, counts.astype(float))
        if not self._uses_unlabeled() and n_labeled <= MOST_OUT_OF_FOLD:
            self._calibrate_out_of_fold(*blocks.fold(_read_labeled, _stack_rows, read))


def _labeled(X, signs, weight):
    """The labeled rows."""
    labeled = signs != 0
    return X[labeled], signs[labeled], None if weight is None else weight[labeled]


def _read_labeled(X, y, read):
    return _labeled(*read(X, y))


def _stack_rows(one, other):
    stack = vstack if issparse(one[0]) else np.concatenate
    weight = None if one[2] is None else np.concatenate([one[2], other[2]])
    return stack([one[0], other[0]]), np.concatenate([one[1], other[1]]), weight


def _current_client():
    with contextlib.suppress(ImportError, ValueError):
        from distributed import get_client

        return get_client()
    return None


@contextlib.contextmanager
def beside_tasks():
    """Within a task of a worker, give its place to others: the fit waits for tasks that may need it."""
    try:
        from distributed import get_worker, rejoin, secede

        get_worker()
    except (ImportError, ValueError):  # not within a task
        yield
        return
    secede()
    try:
        yield
    finally:
        rejoin()


def summarize(X, y, read, uses_unlabeled):
    """Of each group the number of rows and their weight; for each column its sketch and number of missing values."""
    X, signs, weight = read(X, y)
    if np.isinf(X).any():
        raise ValueError("X holds infinite values: replace them by numbers, or by NaN if they are missing")
    if not uses_unlabeled:
        X, signs, weight = _labeled(X, signs, weight)
    sizes = np.array([np.count_nonzero(signs == sign) for sign in SIGNS])
    totals = sizes if weight is None else np.array([weight[signs == sign].sum() for sign in SIGNS])
    return sizes, totals, sketch_columns(X, weight)


def merge_summaries(one, other):
    columns = [(*merge_sketches(a[:2], b[:2]), a[2] + b[2]) for a, b in zip(one[2], other[2])]
    return one[0] + other[0], one[1] + other[1], columns


class _DaskBooster(DaskModel):
    """A booster whose rows are in blocks.

    Rows that are boosted are gathered if their codes take at most 32 MiB, and the trees are grown in this process;
    otherwise on the workers. The trees are the same.
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, client=None, callback=None):
        """Fit on a Dask array or DataFrame.

        Parameters
        ----------
        X, y, client
            As in `LeastSquaresAUCClassifier.fit`.
        sample_weight : dask array or Series of shape (n_samples,), default=None
            Weights of the rows, with the partitions of `X`.
        callback : callable, default=None
            Progress: ``callback(done, total, name)`` is called after each round.

        Returns
        -------
        self : object
        """
        if getattr(self, "early_stopping", False) is True:
            raise ValueError(
                "early_stopping=True is for rows in memory: set early_stopping=False, and n_estimators to the n_iter_ "
                "of a fit on a sample of the rows"
            )
        with beside_tasks():
            blocks, read = self._begin(X, y, client, sample_weight)
            if isinstance(self, PositiveUnlabeled):
                self._set_prior(blocks, read)
            self._fit_blocks(blocks, read, callback)
        return self

    def _set_prior(self, blocks, read):
        """Set `prior_`: the given one, or an estimate from a sample of the rows."""
        if self.warm_start and hasattr(self, self._continued):
            return
        if self.prior is not None:
            self.prior_ = float(self.prior)
            return
        X, signs, weight, _ = blocks.fold(sample, merge_samples, read)
        if not (signs > 0).any():
            raise LabelError("no row is labeled positive")
        self.prior_ = self._find_prior(X, signs, weight)

    def _fit_blocks(self, blocks, read, callback):
        self._compare_with_last_fit()
        previous = self._previous_rounds()
        bins_unlabeled = self._bins_all_rows or self._uses_unlabeled()
        sizes, totals, columns = blocks.fold(summarize, merge_summaries, read, bins_unlabeled)
        if not sizes[0]:
            raise LabelError("no row is labeled positive")
        binning = bin_sketches(columns, self.max_bins, int(sizes.sum()), blocks.weighted)
        # Bins may come from all rows, but only groups that are used are boosted.
        used = np.array([True, self._uses_unlabeled(), True])
        sizes = sizes * used
        coding = read, binning, sizes > 0, previous
        choose_by = None
        if sizes.sum() * binning.n_features <= _MOST_CELLS or needs_one_part(self.loss, sizes):
            rows = choose_by = _in_one_part(blocks.fold(code_groups, merge_groups, *coding), binning)
        else:
            totals = totals * used
            rows = SpreadRows(blocks.keep(code_rows, *coding, totals), sizes, totals)
            if self.n_estimators == "auto":
                X, signs, weight, _ = blocks.fold(sample, partial(merge_samples, most=_CHOOSING), read, _CHOOSING)
                groups = code_groups(X, (signs, weight), lambda X, y: (X, *y), binning, used, previous.take(0))
                choose_by = _in_one_part(groups, binning)
        note = None if callback is None else lambda done, n_rounds: callback(done, n_rounds, f"round {done}")
        self._boost(binning, rows, previous, self._alarm(rows), choose_by=choose_by, note=note)
        sketches = rows.ask(score_sketches, self._new_stumps(binning, previous), merge=merge_scores)
        self._set_threshold_from(sketches, blocks, read, sizes[0] + sizes[2])

    def _new_stumps(self, binning, previous):
        """Sum of the new stumps by column and code; nothing for trees, which have been added to the scores."""
        n_known = len(previous.splits) if self._boosts_stumps() else len(self.splits_)
        return binning.table(self.splits_[n_known:], self.leaf_values_[n_known:])


def _in_one_part(groups, binning):
    """Rows of groups from all blocks."""
    totals = [group_totals(weight, (0, len(scores)))[0] for _, scores, weight in groups]
    return make_rows(groups, binning.n_codes, totals)


class PNUAUCBoostClassifier(_DaskBooster, boosting.PNUAUCBoostClassifier):
    """PNU-AUCBoost on Dask collections; parameters and attributes as in `fewlabel.PNUAUCBoostClassifier`.

    Probabilities are calibrated out of fold with up to 2,000 labeled rows and ``gamma=1``; otherwise on the rows of
    the fit, where they are too extreme if labels are few.

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

    _in_memory = boosting.PNUAUCBoostClassifier


class TreeAUCBoostClassifier(_DaskBooster, boosting.TreeAUCBoostClassifier):
    """Symmetric trees on pairs of rows of Dask collections; as `fewlabel.TreeAUCBoostClassifier`.

    All rows set the bins. Rows that are boosted, which with ``gamma=1`` are the labeled ones, are gathered if their
    codes take at most 32 MiB, and the trees are grown in this process; otherwise on the workers, with five messages to
    each worker per tree and one per level. The trees are the same: those of one machine with the same bins.

    ``n_estimators="auto"`` chooses the number of rounds on the rows that are boosted, in this process; if these are not
    gathered, on at most 20,000 positives, negatives and unlabeled rows, chosen by a hash of their values.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import hide_labels
    >>> from fewlabel.dask import TreeAUCBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> few = hide_labels(y, labeled=0.1, random_state=0)
    >>> model = TreeAUCBoostClassifier(200, random_state=0)
    >>> model = model.fit(da.from_array(X, chunks=(200, -1)), da.from_array(few, chunks=200))
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    _in_memory = boosting.TreeAUCBoostClassifier


class PUAdaBoostClassifier(_DaskBooster, boosting.PUAdaBoostClassifier):
    """Ada-PU on Dask collections; parameters and attributes as in `fewlabel.PUAdaBoostClassifier`.

    Without a `prior`, it is estimated from at most 10,000 positives and 10,000 unlabeled rows, chosen by a hash of
    their values. A given one is not checked against the rows.

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

    _in_memory = boosting.PUAdaBoostClassifier


class TreePUBoostClassifier(_DaskBooster, boosting.TreePUBoostClassifier):
    """Symmetric trees from positives and unlabeled rows of Dask collections; as `fewlabel.TreePUBoostClassifier`.

    Without a `prior`, it is estimated as in `fewlabel.dask.PUAdaBoostClassifier`. A given one is not checked against
    the rows. Rows are boosted where `fewlabel.dask.TreeAUCBoostClassifier` boosts them.

    Examples
    --------
    >>> import dask.array as da
    >>> from fewlabel import make_pu
    >>> from fewlabel.dask import TreePUBoostClassifier
    >>> X, y, true = make_pu(2000, prior=0.3, return_true=True, random_state=0)
    >>> model = TreePUBoostClassifier(100, prior=0.3, random_state=0)
    >>> model = model.fit(da.from_array(X, chunks=(500, -1)), da.from_array(y, chunks=500))
    >>> bool((model.predict(X) == true).mean() > 0.8)
    True
    """

    _in_memory = boosting.TreePUBoostClassifier


def _block_moments(X, y, read):
    X, signs, _ = read(X, y)
    return group_moments(X.astype(np.float64), signs)


def _merge_moments(one, other):
    return one.merge(other)


def _labeled_scores(X, y, read, coef):
    """Sketch of the scores of each group; unlabeled rows are not scored."""
    X, signs, _ = _read_labeled(X, y, read)
    return [sketch(X[signs == sign] @ coef, SCORE_POINTS) for sign in SIGNS]


class LeastSquaresAUCClassifier(DaskModel, linear.LeastSquaresAUCClassifier):
    """Least-squares AUC on Dask collections; as `fewlabel.LeastSquaresAUCClassifier` with ``basis="linear"``.

    Probabilities are calibrated out of fold with up to 2,000 labeled rows and ``risk="pn"``; otherwise on the rows of
    the fit, where they are too extreme if labels are few.

    The moments of the blocks add up exactly. Blocks may be SciPy sparse matrices, with up to a few thousand columns.

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

    _in_memory = linear.LeastSquaresAUCClassifier

    def _fit_blocks(self, blocks, read):
        if self.basis != "linear" or "cv" in (self.alpha, self.gamma):
            raise ValueError("with Dask, basis must be 'linear', and alpha and gamma must not be 'cv'")
        self._fit_moments(blocks.fold(_block_moments, _merge_moments, read))
        sketches = blocks.fold(_labeled_scores, merge_scores, read, self.coef_[0])
        self._set_threshold_from(sketches, blocks, read, sum(counts.sum() for _, counts in sketches))

    def _uses_unlabeled(self):
        return self.risk != "pn"
