"""All labeled rows of a table of any size, and a random sample of the others, in one pass over its parts."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, NamedTuple

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
from dask import delayed

from fewlabel.checks import check_non_negative
from fewlabel.dask._blocks import merged_in_pairs
from fewlabel.exceptions import TableError

MOST = 100_000  # rows that are kept of each label, and of the rows without one
_MOST_LABELS = 1000
_STREAM = 1  # not the random numbers of the bare seed, of which a generated table may be made


class Pool:
    """For each value of the label column its number of rows, and a random sample of them.

    Every row draws a random key, and the rows with the smallest keys are kept. So pools of parts can be merged, and the
    result does not depend on who read which part when. The keys are uniform; with weights they are exponential of rate
    w, so that the next row to be drawn is each one with a probability proportional to its weight [1]_.

    Parameters
    ----------
    target : str
        Name of the label column.
    most : int
        Rows to keep of each value.
    share : float, default=infinite
        Of rows without a label only this share is kept, for a table without weights that is known to have many of them.
    weight : str, default=None
        Name of the column of weights; rows of weight 0 are left out.

    References
    ----------
    .. [1] E. Cohen, H. Kaplan. Summarizing Data Using Bottom-k Sketches. Principles of Distributed Computing, 2007.
       Keys, and the weights of the rows that were drawn.
    """

    def __init__(self, target: str, most: int = MOST, share: float = math.inf, weight: str | None = None) -> None:
        self.target = target
        self.most = most
        self.weight = weight
        self.counts: Counter[Any] = Counter()
        self._drawn: defaultdict[Any, list[_Drawn]] = defaultdict(list)
        # Rows with a key of this size, or a larger one, are not kept any more.
        self._limits: dict[Any, float] = {None: share}

    def add(self, rows: pa.Table, rng: np.random.Generator) -> None:
        """Draw from new rows."""
        keys = rng.random(len(rows))
        if self.weight is not None:
            weights = check_non_negative("sample_weight", rows[self.weight].to_numpy())
            counts_at_all = weights > 0
            rows = rows.filter(pa.array(counts_at_all))
            # Minus the logarithm of a uniform number is exponential of rate 1.
            keys = -np.log1p(-keys[counts_at_all]) / weights[counts_at_all]
        codes, values = _factorize(rows[self.target])
        limits = np.array([self._limit(value) for value in values])
        chosen = np.flatnonzero(keys < limits[codes])
        # Most rows end here: only the few that are left are sorted by their values.
        candidates = _Drawn(keys[chosen], rows.take(pa.array(chosen)))
        counts = np.bincount(codes, minlength=len(values))
        for code in np.flatnonzero(counts):
            value = values[code]
            self.counts[value] += int(counts[code])
            self._add(value, candidates.where(codes[chosen] == code))
        if len(self.counts) > _MOST_LABELS:
            raise TableError(
                f"column {self.target!r} has more than {_MOST_LABELS} different values: name a column of classes"
            )

    def merge(self, other: "Pool") -> "Pool":
        """Add the rows of another pool; returns this one."""
        for value, limit in other._limits.items():
            self._limits[value] = min(self._limit(value), limit)
        self.counts.update(other.counts)
        for value, parts in other._drawn.items():
            for drawn in parts:
                self._add(value, drawn.where(drawn.keys < self._limit(value)))
        return self

    def _limit(self, value: Any) -> float:
        return self._limits.get(value, math.inf)

    def _add(self, value: Any, drawn: "_Drawn") -> None:
        parts = self._drawn[value]
        parts.append(drawn)
        # Not at every part: to find the smallest keys takes as long for twice as many rows.
        if sum(len(part.keys) for part in parts) > 2 * self.most:
            self._drawn[value] = [self._smallest(value)]

    def _smallest(self, value: Any) -> "_Drawn":
        """The rows of a value with the smallest keys; the limit moves to the first key that is left out."""
        drawn = _Drawn.concatenate(self._drawn[value])
        below = drawn.keys[drawn.keys < self._limit(value)]
        if len(below) > self.most:
            self._limits[value] = float(np.partition(below, self.most)[self.most])
        return drawn.where(drawn.keys < self._limit(value))

    def rows(self, values: Iterable[Any], start: int = 0, stop: int | None = None) -> pa.Table:
        """A sample, without replacement, of all rows with one of these labels, in the order of their keys.

        With weights, the weight of a row that was drawn is divided by its probability to be drawn, given the other
        rows: sums of the sample, by these weights, are unbiased estimates of those of all rows, or of all but the
        `start` first ones.

        Parameters
        ----------
        values : iterable
            Labels; None for missing ones.
        start, stop : int
            Positions in that order: disjoint ranges are independent samples.

        Returns
        -------
        pyarrow.Table
        """
        present = [value for value in values if value in self._drawn]
        if not present:
            some_part = next(iter(self._drawn.values()))[0]
            return some_part.rows[:0]
        drawn = _Drawn.concatenate([self._smallest(value) for value in present])
        # Below the lowest limit, no row of any of the values was lost.
        limit = min(self._limit(value) for value in values)
        order = np.argsort(drawn.keys, kind="stable")
        order = order[drawn.keys[order] < limit]
        rows = drawn.rows.take(pa.array(order[start:stop]))
        if self.weight is None:
            return rows
        keys = drawn.keys[order]
        # What an exponential key is above that of the last row before is exponential again, of the same rate.
        before = keys[start - 1] if 0 < start <= len(keys) else 0.0
        behind = keys[stop] if stop is not None and stop < len(keys) else limit
        weights = check_non_negative("sample_weight", rows[self.weight].to_numpy())
        probability = -np.expm1(-weights * (behind - before))
        return _with_weights(rows, self.weight, weights / probability)

    def sample(
        self, labeled: list[Any], others: list[Any], start: int, stop: int, most_labeled: int | None = None
    ) -> tuple[pa.Table, pa.Table]:
        """The rows of labels, and some of the other rows, see `rows`.

        With weights, those of either are scaled to the mean weight of the rows they were drawn from: a sample counts as
        much as its number of rows, as without weights.
        """
        labeled_rows = self.rows(labeled, 0, most_labeled)
        other_rows = self.rows(others, start, stop)
        if self.weight is None:
            return labeled_rows, other_rows
        n_labeled = sum(self.counts[value] for value in labeled)
        n_others = sum(self.counts[value] for value in others) - start
        return self._scaled(labeled_rows, n_labeled), self._scaled(other_rows, n_others)

    def _scaled(self, rows: pa.Table, n_all: int) -> pa.Table:
        """Rows that were drawn from `n_all`, with weights that sum to less in the proportion of the numbers of rows."""
        assert self.weight is not None
        weights = rows[self.weight].to_numpy() * (len(rows) / max(n_all, 1))
        return _with_weights(rows, self.weight, weights)


class _Drawn(NamedTuple):
    """Rows and their random keys."""

    keys: np.ndarray
    rows: pa.Table

    @classmethod
    def concatenate(cls, parts: "Iterable[_Drawn]") -> "_Drawn":
        keys, tables = zip(*parts)
        return cls(np.concatenate(keys), pa.concat_tables(tables, promote_options="permissive"))

    def where(self, mask: np.ndarray) -> "_Drawn":
        return _Drawn(self.keys[mask], self.rows.filter(pa.array(mask)))


def unused_name(name: str, names: Collection[str]) -> str:
    """The name of a further column, beside these."""
    while name in names:
        name += "_"
    return name


def _factorize(column: pa.ChunkedArray) -> tuple[np.ndarray, list[Any]]:
    """The distinct values of a column, None for missing ones, and the position of each row's value among them.

    Arrow encodes a column of few values, most of them missing, several times as fast as pandas makes objects of it.
    """
    encoded = column.combine_chunks().dictionary_encode()
    dictionary = encoded.dictionary.to_pandas().tolist()
    values = [None if pd.isna(value) else value for value in dictionary]
    # NaN is a value to Arrow, and is missing here, as a null is: both get the place of None.
    values.append(None)
    place_of = {value: place for place, value in enumerate(dict.fromkeys(values))}
    places = np.array([place_of[value] for value in values])
    indices = encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    return places[indices], list(place_of)


def _with_weights(rows: pa.Table, name: str, weights: np.ndarray) -> pa.Table:
    place = rows.column_names.index(name)
    return rows.set_column(place, name, pa.array(weights))


def gather(
    parts: Iterable[Any],
    read: Callable[[Any], Iterable[pa.Table]],
    target: str,
    *,
    most: int = MOST,
    share: float = math.inf,
    weight: str | None = None,
    seed: int = 0,
) -> Pool:
    """The pool of all parts of a table, by Dask's current scheduler.

    Parameters
    ----------
    parts : iterable
        Parts of the table; may be delayed.
    read : callable
        ``read(part)`` gives its rows, batch by batch.
    target : str
    most, share, weight
        As in `Pool`.
    seed : int
        Keys depend on the seed and on the positions of part, batch and row only.

    Returns
    -------
    Pool
    """
    new_pool = partial(Pool, target, most, share, weight)
    pools = [delayed(_pool_of)(part, read, new_pool, (seed, k)) for k, part in enumerate(parts)]
    if not pools:
        raise TableError("the table has no rows")
    return dask.compute(merged_in_pairs(pools, _merged))[0]


def _merged(one: Pool, other: Pool) -> Pool:
    """A new pool: a task may be run again, so it leaves its arguments as they are."""
    return Pool(one.target, one.most, weight=one.weight).merge(one).merge(other)


def _pool_of(part: Any, read: Callable, new_pool: Callable[[], Pool], seed: tuple[int, int]) -> Pool:
    pool = new_pool()
    for k, rows in enumerate(read(part)):
        pool.add(rows, np.random.default_rng([*seed, k, _STREAM]))
    return pool


def gather_frame(
    X: Any,
    y: Any,
    target: str,
    *,
    sample_weight: Any = None,
    weight: str | None = None,
    most: int = MOST,
    seed: int = 0,
) -> Pool:
    """The pool of a Dask DataFrame, its labels, and weights or None: Dask Series with the same partitions.

    `target` and `weight` are what their columns are called in the pool.
    """
    parts = X.to_delayed(optimize_graph=False)
    parts = _with_column(parts, y, target, "y")
    if sample_weight is None:
        weight = None
    else:
        assert weight is not None
        parts = _with_column(parts, sample_weight, weight, "sample_weight")
    return gather(parts, _as_batches, target, most=most, weight=weight, seed=seed)


def _with_column(parts: list[Any], column: Any, name: str, parameter: str) -> list[Any]:
    """Partitions with a further column."""
    columns = column.to_delayed(optimize_graph=False)
    if len(parts) != len(columns):
        raise ValueError(f"X has {len(parts)} partitions and {parameter} has {len(columns)}: repartition one of them")
    return [delayed(_assign)(part, values, name, parameter) for part, values in zip(parts, columns)]


def _assign(X: pd.DataFrame, column: pd.Series, name: str, parameter: str) -> pd.DataFrame:
    if len(X) != len(column):
        raise ValueError(f"a partition of X has {len(X)} rows and that of {parameter} has {len(column)}")
    # An array, as the rows of Dask's partitions belong together by position, not by index.
    named = X.set_axis(X.columns.map(str), axis=1)
    return named.assign(**{name: column.to_numpy()})


def _as_batches(frame: pd.DataFrame) -> list[pa.Table]:
    return [pa.Table.from_pandas(frame, preserve_index=False)]
