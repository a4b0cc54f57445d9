"""The boosters and least-squares AUC on Dask arrays and DataFrames: rows stay on the workers, sums travel.

The boosting loop is that of one machine. Its rows are another kind: every block is coded once and kept, with its
weights, on a worker; a round sends the last stump and the coefficients to all blocks and adds up their histograms, so
what travels does not depend on the number of rows.
"""

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from fewlabel import boosting, linear
from fewlabel.boosting._booster import _AlarmStop
from fewlabel.boosting._loop import boost
from fewlabel.boosting._rows import Binning, WeightedRows
from fewlabel.boosting._threads import RowThreads
from fewlabel.exceptions import LabelError
from fewlabel.kernels import bins, stumps
from fewlabel.kernels.stumps import N_CODES
from fewlabel.linear._moments import Moments

__all__ = [
    "LeastSquaresAUCClassifier",
    "PNUAUCBoostClassifier",
    "PUAdaBoostClassifier",
    "RankBoostClassifier",
]

_POINTS = 8192  # of the summary of a column of a block: exact with fewer distinct values
_EXPANDED = 1_000_000  # entries of a merged column when its cuts are chosen
_SIGNS = (1, 0, -1)  # positives, unlabelled rows, negatives: the groups of the boosters


class _Blocks:
    """Blocks of rows and labels, on the workers of a client or in this process."""

    def __init__(self, X, y, client):
        import dask

        rows, labels = _delayed_blocks(X, y)
        self.client = client
        if client is None:
            self.blocks = list(zip(dask.compute(*rows), dask.compute(*labels)))
        else:
            self.blocks = list(zip(client.compute(rows), client.compute(labels)))

    def map(self, work, *args):
        """What a function gives for each block."""
        if self.client is None:
            return [work(X, y, *args) for X, y in self.blocks]
        return self.client.gather([self.client.submit(work, X, y, *args, pure=False) for X, y in self.blocks])

    def keep(self, cls, *args):
        """An object made of each block, where the block is; gives a function that calls a method of all of them."""
        if self.client is None:
            made = [cls(X, y, *args) for X, y in self.blocks]
            return lambda method, *values: [getattr(part, method)(*values) for part in made]
        made = [self.client.submit(cls, X, y, *args, actor=True, pure=False) for X, y in self.blocks]
        actors = self.client.gather(made)

        def call(method, *values):
            try:
                return [future.result() for future in [getattr(actor, method)(*values) for actor in actors]]
            except Exception as error:
                raise RuntimeError(
                    f"a worker was lost or failed while fitting ({type(error).__name__}: {error}): its rows are "
                    "gone, so the fit cannot go on; run it again"
                ) from error

        call.actors = actors  # they live as long as somebody holds them
        return call


def _delayed_blocks(X, y):
    """Blocks of rows, whole in their columns, and the labels of each."""
    if hasattr(X, "rechunk"):
        X = X.rechunk({1: -1})
        if hasattr(y, "rechunk") and not any(np.isnan(n) for n in (*X.chunks[0], *y.chunks[0])):
            if sum(X.chunks[0]) != sum(y.chunks[0]):
                raise ValueError(f"X has {sum(X.chunks[0])} rows and y has {sum(y.chunks[0])}")
            y = y.rechunk({0: X.chunks[0]})
    for name, value in (("X", X), ("y", y)):
        if not hasattr(value, "to_delayed"):
            raise TypeError(
                f"{name} must be a Dask array or DataFrame, got {type(value).__name__}: without Dask use fewlabel's own"
            )
    rows, labels = (np.ravel(np.asarray(v.to_delayed(), dtype=object)).tolist() for v in (X, y))
    if len(rows) != len(labels):
        raise ValueError(f"X has {len(rows)} partitions and y has {len(labels)}: give both the same")
    return rows, labels


def _head(X, y):
    return (X.iloc[:2] if hasattr(X, "iloc") else np.asarray(X[:2])) if len(X) else None


def _distinct(X, y):
    if len(X) != len(y):
        raise ValueError(f"a partition of X has {len(X)} rows and that of y has {len(y)}")
    return pd.unique(pd.Series(np.asarray(y)))


def _signs(y, known):
    """Sign of each row by its label; a label that is missing is unlabelled."""
    return pd.Series(np.asarray(y)).map(known).fillna(0).to_numpy(dtype=np.int8)


def _read_signs(model, blocks):
    """Sets `classes_`; gives the sign of each label that occurs."""
    values = pd.unique(pd.concat([pd.Series(values) for values in blocks.map(_distinct)], ignore_index=True))
    model.classes_, signs = model._read_labels(values)
    return {value: sign for value, sign in zip(values.tolist(), signs.tolist()) if not pd.isna(value)}


def _validate_head(model, blocks):
    heads = [head for head in blocks.map(_head) if head is not None]
    if not heads:
        raise ValueError("there is no row: every partition is empty")
    head = heads[0] if len(heads[0]) > 1 else heads[0].iloc[[0, 0]] if hasattr(heads[0], "iloc") else heads[0][[0, 0]]
    model._validate(head, reset=True)


def _floats(X):
    """The rows of a block as floats; float32 stays what it is."""
    X = np.asarray(X)
    return np.ascontiguousarray(X, dtype=X.dtype if X.dtype == np.float32 else np.float64)


def _summaries(X, y, known, uses_unlabelled):
    """Number of rows of each group, and of each column its values with their counts, condensed if there are many."""
    signs = _signs(y, known)
    X = _floats(X)
    if np.isinf(X).any():
        raise ValueError("X holds infinite values: only NaN may stand for what is missing")
    used = X if uses_unlabelled else X[signs != 0]
    columns = []
    for column in used.T:
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        columns.append((*_condense(values, counts), len(column) - counts.sum()))
    return [np.count_nonzero(signs == sign) for sign in _SIGNS], columns


def _condense(values, counts):
    """At most `_POINTS` of sorted values, each standing for about as many rows."""
    if len(values) <= _POINTS:
        return values, counts
    ends = np.cumsum(counts)
    kept = np.unique(
        np.searchsorted(ends, np.linspace(0, ends[-1], _POINTS + 1)[1:], side="left").clip(max=len(ends) - 1)
    )
    return values[kept], np.diff(ends[kept], prepend=0)


class _MergedBinning(Binning):
    """Cuts of every column, from the summaries of blocks; those of all rows if no summary was condensed."""

    def __init__(self, summaries, n_features, max_bins):
        self.cuts = np.full((n_features, N_CODES), np.inf)
        self.below = np.zeros((n_features, max_bins - 1), dtype=np.int64)
        self.n_cuts, self.n_present = (np.zeros(n_features, dtype=np.int64) for _ in range(2))
        self.lowest, self.highest = np.zeros(n_features), np.zeros(n_features)
        self.has_missing = np.zeros(n_features, dtype=bool)
        for e in range(n_features):
            parts = [columns[e] for columns in summaries]
            values, place = np.unique(np.concatenate([p[0] for p in parts]), return_inverse=True)
            counts = np.bincount(place, np.concatenate([p[1] for p in parts]), len(values)).astype(np.int64)
            self.n_present[e] = counts.sum()
            self.has_missing[e] = any(p[2] for p in parts)
            if len(values):
                self.lowest[e], self.highest[e] = values[0], values[-1]
                self._cut(e, values, counts, max_bins)

    def _cut(self, e, values, counts, max_bins):
        shrink = max(1.0, counts.sum() / _EXPANDED)
        column = np.repeat(values, np.ceil(counts / shrink).astype(np.int64))
        if len(values) <= max_bins:
            column = values
        self.n_cuts[e], _ = bins.find_cuts(column, max_bins, self.cuts[e], self.below[e])
        cuts = self.cuts[e, : self.n_cuts[e]]
        self.below[e, : len(cuts)] = np.cumsum(counts)[np.searchsorted(values, cuts, side="right") - 1]


class _Part:
    """The coded rows of a block and their weights."""

    def __init__(self, X, y, known, binning, group_sizes, uses):
        signs = _signs(y, known)
        groups = [np.flatnonzero(signs == sign) if n else np.empty(0, np.int64) for sign, n in zip(_SIGNS, group_sizes)]
        self.bounds = np.cumsum([0, *map(len, groups)])
        with RowThreads(1) as threads:
            self.codes = binning.encode(_floats(X), np.concatenate(groups), threads)
        self._uses, self._sizes = uses, group_sizes
        self.up, self.down = (np.zeros(self.bounds[3]) for _ in range(2))

    def largest(self, table):
        """Largest -f and f of each group."""
        self.scores = np.zeros(self.bounds[3])
        stumps.add_scores(self.codes, table, np.flatnonzero(table.any(axis=1)), self.scores, 0, len(self.scores))
        return np.array([[self._of(g, sign).max(initial=-np.inf) for g in range(3)] for sign in (-1, 1)])

    def weigh(self, largest):
        """Set the weights, and give their sums."""
        sums = np.zeros((2, 3))
        for kind, (sign, weights) in enumerate(((-1, self.up), (1, self.down))):
            for g in range(3):
                if self._uses[kind, g]:
                    found = np.exp(self._of(g, sign) - largest[kind, g]) / self._sizes[g]
                    weights[self.bounds[g] : self.bounds[g + 1]] = found
                    sums[kind, g] = found.sum()
        return sums

    def _of(self, g, sign):
        return sign * self.scores[self.bounds[g] : self.bounds[g + 1]]

    def run(self, kernel, args, n_groups):
        """A kernel over the rows of the first groups; "up", "down" and "bounds" stand for what is kept here."""
        args = [getattr(self, value) if isinstance(value, str) else value for value in args]
        return getattr(stumps, kernel)(self.codes, *args, 0, int(self.bounds[n_groups]))

    def summary(self, table):
        """Scores of the labelled rows, and those of the unlabelled ones condensed: values, counts, signs."""
        self.largest(table)
        found = []
        for g, sign in enumerate(_SIGNS):
            values, counts = np.unique(self._of(g, 1), return_counts=True)
            values, counts = _condense(values, counts) if sign == 0 else (values, counts)
            found.append((values, counts, np.full(len(values), sign)))
        return [np.concatenate(part) for part in zip(*found)]


class _SpreadRows(WeightedRows):
    """`WeightedRows` whose rows are elsewhere."""

    def __init__(self, call, binning, group_sizes, uses):
        self._call = call
        bounds = np.cumsum([0, *group_sizes])
        self.up, self.down = "up", "down"  # each part has its own
        self.start_scores = None
        shape = np.empty((len(binning.n_cuts), 0))
        super().__init__(binning, shape, bounds, None, None, None, uses)
        self.n_rows = int(bounds[3])

    def _compute_weights(self):
        largest = np.max(self._call("largest", self.table), axis=0)
        sums = np.sum(self._call("weigh", largest), axis=0)
        self.log_mass = np.where(self._uses, largest + np.log(np.where(self._uses, sums, 1.0)), 0.0)
        self._sums = np.where(self._uses, sums, 1.0)
        self._pending = 0, np.ones(N_CODES), np.ones(N_CODES)
        self._since_computed = 0.0

    def _run(self, kernel, *args, n_columns=1, n_groups=3):
        args = ["bounds" if value is self.bounds else value for value in args]  # those of the part
        return np.sum(self._call("run", kernel.__name__, args, n_groups), axis=0)


class _DaskModel:
    """Fit on Dask collections, predict lazily on them; the fitted attributes are those of the ordinary model."""

    @property
    def model_(self):
        """The ordinary in-memory model."""
        check_is_fitted(self)
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
        self._validate_params()
        blocks = _Blocks(X, y, _current_client() if client is None else client)
        _validate_head(self, blocks)
        self._fit_blocks(blocks, _read_signs(self, blocks))
        return self


def _current_client():
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def _lazily(method, X, dtype, columns=None):
    if hasattr(X, "map_blocks"):
        X = X.rechunk({1: -1})
        if columns is None:
            return X.map_blocks(method, dtype=dtype, drop_axis=1)
        return X.map_blocks(method, dtype=dtype, chunks=(X.chunks[0], (columns,)))
    if hasattr(X, "to_delayed"):
        import dask.array as da
        from dask import delayed as lazy

        shape = (np.nan,) if columns is None else (np.nan, columns)
        parts = [da.from_delayed(lazy(method)(part), shape, dtype) for part in X.to_delayed()]
        return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)
    return method(X)


class _DaskBooster(_DaskModel):
    def _fit_blocks(self, blocks, known):
        if self.early_stopping is True:
            raise ValueError("early_stopping=True holds out rows in memory: with Dask use 'alarm' or False")
        if self.warm_start:
            raise ValueError("warm_start=True is not offered with Dask: fit anew with more rounds")
        self._previous_rounds()  # draws the seed
        found = blocks.map(_summaries, known, self._uses_unlabelled())
        sizes = np.sum([counts for counts, _ in found], axis=0)
        if not self._uses_unlabelled():
            sizes[1] = 0
        if not sizes[0]:
            raise LabelError("no row is labelled positive")
        rule = self._make_rule(bool(sizes[1]))
        binning = _MergedBinning([columns for _, columns in found], self.n_features_in_, self.max_bins)
        uses = rule.uses & (sizes > 0)
        call = blocks.keep(_Part, known, binning, sizes, uses)
        rows = _SpreadRows(call, binning, sizes, rule.uses)
        stopper = _AlarmStop(rows, rule) if self.early_stopping == "alarm" and sizes[1] else None
        self.stumps_, self.train_loss_ = boost(
            rows,
            rule,
            rounds=range(self.n_estimators),
            draw_columns=self._draw_columns,
            learning_rate=self.learning_rate,
            after_round=self._after_round(stopper),
        )
        if stopper is not None:
            self.stumps_, self.train_loss_ = self.stumps_[: stopper.kept], self.train_loss_[: stopper.kept]
        scores, weight, signs = (np.concatenate(part) for part in zip(*call("summary", rows.table)))
        self._make_classifier(scores, signs, weight.astype(float))


class PNUAUCBoostClassifier(_DaskBooster, boosting.PNUAUCBoostClassifier):
    """PNU-AUCBoost on Dask collections; parameters and attributes as in `fewlabel.PNUAUCBoostClassifier`."""

    _ordinary = boosting.PNUAUCBoostClassifier


class RankBoostClassifier(_DaskBooster, boosting.RankBoostClassifier):
    """RankBoost on Dask collections; parameters and attributes as in `fewlabel.RankBoostClassifier`."""

    _ordinary = boosting.RankBoostClassifier


class PUAdaBoostClassifier(_DaskBooster, boosting.PUAdaBoostClassifier):
    """Ada-PU on Dask collections; as `fewlabel.PUAdaBoostClassifier`, but `prior` must be given."""

    _ordinary = boosting.PUAdaBoostClassifier

    def _fit_blocks(self, blocks, known):
        if self.prior is None:
            raise ValueError("give the prior: estimate_class_prior on a sample of the rows finds one")
        self.prior_ = self.prior
        super()._fit_blocks(blocks, known)


def _block_moments(X, y, known):
    X, signs = np.asarray(X, dtype=np.float64), _signs(y, known)
    return [Moments.of(X[signs == sign]) for sign in linear._least_squares._SIGNS]


def _labelled_rows(X, y, known):
    signs = _signs(y, known)
    return np.asarray(X, dtype=np.float64)[signs != 0], signs[signs != 0]


class LeastSquaresAUCClassifier(_DaskModel, linear.LeastSquaresAUCClassifier):
    """Least-squares AUC on Dask collections; as `fewlabel.LeastSquaresAUCClassifier` with ``basis="linear"``.

    The moments of blocks add up exactly. Labelled rows are collected once, for the threshold.
    """

    _ordinary = linear.LeastSquaresAUCClassifier

    def _fit_blocks(self, blocks, known):
        if self.basis != "linear" or "cv" in (self.alpha, self.gamma):
            raise ValueError("with Dask give basis='linear', and numbers for alpha and gamma")
        moments = None
        for found in blocks.map(_block_moments, known):
            moments = found if moments is None else [a.merge(b) for a, b in zip(moments, found)]
        self._settle(moments)
        self.coef_, self.psd_fixed_ = linear._least_squares._solve(
            self.risk, moments, self.gamma_, self.prior_, [self.alpha_]
        )
        parts = blocks.map(_labelled_rows, known)
        X, signs = (np.concatenate(part) for part in zip(*parts))
        self._make_classifier(self._score(X), signs, None)
