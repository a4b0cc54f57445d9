"""Boosters of symmetric trees on Dask collections."""

from functools import partial

import numpy as np

from fewlabel import boosting
from fewlabel.base import fit_context
from fewlabel.boosting.pairs import MOST_PAIRS, pairs_of
from fewlabel.boosting.trees import n_codes
from fewlabel.dask._estimators import DaskModel, beside_tasks, merge_summaries, set_prior, summarize
from fewlabel.dask._samples import merge_samples, sample
from fewlabel.dask._sketch import bin_sketches
from fewlabel.dask._tree_rows import (
    SpreadTreeRows,
    code_groups,
    code_rows,
    make_rows,
    merge_groups,
    score_sketches,
    weigh,
)
from fewlabel.exceptions import LabelError
from fewlabel.threads import RowThreads

_MOST_CELLS = 2**25  # codes that the client takes; it boosts that few rows itself, without messages
_CHOOSING = 20_000  # rows of each group by which the number of rounds is chosen if there are more


class _DaskTreeBooster(DaskModel):
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
        with beside_tasks():
            blocks, read = self._begin(X, y, client, sample_weight)
            self._compare_with_last_fit()
            self._fit_blocks(blocks, read, callback)
        return self

    def _fit_blocks(self, blocks, read, callback):
        previous = self._previous_rounds()
        (sizes, totals), columns, _ = blocks.fold(summarize, merge_summaries, read, True, False)
        binning = bin_sketches(columns, self.max_bins, int(sizes.sum()), blocks.weighted)
        if not sizes[0]:
            raise LabelError("no row is labeled positive")
        used = np.array([True, self._uses_unlabeled(), True])
        with RowThreads(self.n_jobs) as threads:
            rows, totals = self._code(blocks, read, binning, sizes * used, totals * used, previous, threads)
            choose_by = None
            if self.n_estimators == "auto" and isinstance(rows, SpreadTreeRows):
                found = blocks.fold(sample, partial(merge_samples, most=_CHOOSING), read, _CHOOSING)
                groups = _sampled_groups(found, binning, used)
                choose_by = make_rows(groups, n_codes(binning), weigh(groups), threads), weigh(groups)

            def note(t, n_rounds):
                if callback is not None:
                    callback(t + 1, n_rounds, f"round {t + 1}")

            self._boost(binning, rows, totals, previous, choose_by, note)
            sketches = score_sketches(rows, totals)
        self._set_threshold_from(sketches, blocks, read, sizes[0] + sizes[2])

    def _code(self, blocks, read, binning, sizes, totals, previous, threads):
        """The rows, in this process if they are few, and the total weight of each group."""
        coding = read, binning, sizes > 0, previous[:2]
        if sizes.sum() * binning.n_features <= _MOST_CELLS or self._needs_one_part(sizes):
            groups = blocks.fold(code_groups, merge_groups, *coding)
            totals = weigh(groups)
            return make_rows(groups, n_codes(binning), totals, threads), totals
        return SpreadTreeRows(blocks.keep(code_rows, *coding, n_codes(binning), totals), sizes), totals

    def _needs_one_part(self, sizes):
        """Whether the loss cannot be summed over parts."""
        return False


def _sampled_groups(found, binning, used):
    """As `code_groups`, of rows that `sample` found."""
    X, signs, weight, _ = found
    return code_groups(X, signs, lambda X, signs: (X, signs, weight), binning, used, ([], []))


class TreeAUCBoostClassifier(_DaskTreeBooster, boosting.TreeAUCBoostClassifier):
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

    def _fit_blocks(self, blocks, read, callback):
        if self._boosts_stumps():
            raise ValueError(
                "these parameters ask for plain stumps with the exponential loss: use "
                "fewlabel.dask.PNUAUCBoostClassifier, which gives this model"
            )
        super()._fit_blocks(blocks, read, callback)

    def _needs_one_part(self, sizes):
        gamma = self.gamma if sizes[1] else 1.0
        return self.loss == "logistic" and pairs_of(gamma, sizes)[1] <= MOST_PAIRS


class TreePUBoostClassifier(_DaskTreeBooster, boosting.TreePUBoostClassifier):
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

    def _fit_blocks(self, blocks, read, callback):
        set_prior(self, blocks, read)
        super()._fit_blocks(blocks, read, callback)
