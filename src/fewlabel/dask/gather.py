"""All labeled rows of a table of any size, and a random sample of the others, in one pass over its parts."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
from dask import delayed

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
        self.target, self.most, self.weight = target, most, weight
        self.counts: dict[Any, int] = {}
        self._kept: dict[Any, list[tuple[np.ndarray, pa.Table]]] = {}
        self._limits: dict[Any, float] = {None: share}  # keys of this size are not kept any more

    def add(self, rows: pa.Table, rng: np.random.Generator) -> None:
        """Draw from new rows."""
        keys = rng.random(len(rows))
        if self.weight is not None:
            weights = _read_weights(rows[self.weight])
            rows, keys = rows.filter(pa.array(weights > 0)), -np.log1p(-keys[weights > 0]) / weights[weights > 0]
        codes, values = _factorize(rows[self.target])
        limits = np.array([self._limits.get(value, math.inf) for value in values])
        chosen = np.flatnonzero(keys < limits[codes])
        taken = rows.take(pa.array(chosen))
        counts = np.bincount(codes, minlength=len(values))
        for k in np.flatnonzero(counts):
            value = values[k]
            self.counts[value] = self.counts.get(value, 0) + int(counts[k])
            of_value = codes[chosen] == k
            self._keep(value, keys[chosen][of_value], taken.filter(pa.array(of_value)))
        if len(self.counts) > _MOST_LABELS:
            raise TableError(
                f"column {self.target!r} has more than {_MOST_LABELS} different values: name a column of classes"
            )

    def merge(self, other: "Pool") -> "Pool":
        """Add the rows of another pool; returns this one."""
        for value, limit in other._limits.items():
            self._limits[value] = min(self._limits.get(value, math.inf), limit)
        for value, count in other.counts.items():
            self.counts[value] = self.counts.get(value, 0) + count
            for keys, rows in other._kept.get(value, ()):
                below = keys < self._limits.get(value, math.inf)
                self._keep(value, keys[below], rows.filter(pa.array(below)))
        return self

    def _keep(self, value: Any, keys: np.ndarray, rows: pa.Table) -> None:
        kept = self._kept.setdefault(value, [])
        kept.append((keys, rows))
        if sum(len(of_part) for of_part, _ in kept) > 2 * self.most:
            self._kept[value] = [self._smallest(value, self.most)]

    def _smallest(self, value: Any, n: int) -> tuple[np.ndarray, pa.Table]:
        """Keys and rows of a value, those with the `n` smallest keys; the limit moves to the largest of them."""
        limit = self._limits.get(value, math.inf)
        keys = np.concatenate([of_part for of_part, _ in self._kept[value]])
        rows = pa.concat_tables([table for _, table in self._kept[value]], promote_options="permissive")
        order = np.flatnonzero(keys < limit)
        if len(order) > n:
            self._limits[value] = limit = float(np.partition(keys[order], n)[n])
            order = np.flatnonzero(keys < limit)
        return keys[order], rows.take(pa.array(order))

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
        found = [self._smallest(value, self.most) for value in values if value in self._kept]
        if not found:
            return next(iter(self._kept.values()))[0][1][:0]
        limit = min(self._limits.get(value, math.inf) for value in values)  # below it, no row of any value was lost
        keys = np.concatenate([of_value for of_value, _ in found])
        order = np.argsort(keys, kind="stable")
        order = order[keys[order] < limit]
        chosen = order[start:stop]
        rows = pa.concat_tables([table for _, table in found], promote_options="permissive").take(pa.array(chosen))
        if self.weight is None:
            return rows
        # What an exponential key is above that of the last row before is exponential again, of the same rate.
        before = keys[order[start - 1]] if 0 < start <= len(order) else 0.0
        behind = keys[order[stop]] if stop is not None and stop < len(order) else limit
        weights = _read_weights(rows[self.weight])
        weights = weights / -np.expm1(-weights * (behind - before))
        return _with_weights(rows, self.weight, weights)

    def sample(
        self, labeled: list[Any], others: list[Any], start: int, stop: int, most_labeled: int | None = None
    ) -> tuple[pa.Table, pa.Table]:
        """The rows of labels, and some of the other rows, see `rows`.

        With weights, those of either are scaled to the mean weight of the rows they were drawn from: a sample counts as
        much as its number of rows, as without weights.
        """
        found = self.rows(labeled, 0, most_labeled), self.rows(others, start, stop)
        if self.weight is None:
            return found
        n_labeled, n_others = (sum(self.counts[value] for value in values) for values in (labeled, others))
        one, other = (
            _with_weights(part, self.weight, part[self.weight].to_numpy() * (len(part) / max(n, 1)))
            for part, n in zip(found, (n_labeled, n_others - start))
        )
        return one, other


def _factorize(column: pa.ChunkedArray) -> tuple[np.ndarray, list[Any]]:
    """The distinct values of a column, None for missing ones, and the position of each row's value among them.

    Arrow encodes a column of few values, most of them missing, several times as fast as pandas makes objects of it.
    """
    encoded = column.combine_chunks().dictionary_encode()
    values = [None if pd.isna(value) else value for value in encoded.dictionary.to_pandas().tolist()]
    places = {value: k for k, value in enumerate(dict.fromkeys([*values, None]))}
    codes = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    codes = np.array([places[value] for value in [*values, None]])[codes]
    return codes, list(places)


def _with_weights(rows: pa.Table, name: str, weights: np.ndarray) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, pa.array(weights))


def _read_weights(column: pa.ChunkedArray) -> np.ndarray:
    weights = column.to_numpy().astype(np.float64)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("sample_weight must hold numbers from 0 on: replace negative, infinite and missing ones")
    return weights


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
    pools = [
        delayed(_pool_of)(part, read, Pool(target, most, share, weight), (seed, k)) for k, part in enumerate(parts)
    ]
    if not pools:
        raise TableError("the table has no rows")
    while len(pools) > 1:
        pairs = [delayed(_merged)(a, b) for a, b in zip(pools[::2], pools[1::2], strict=False)]
        pools = pairs + pools[2 * len(pairs) :]
    return dask.compute(pools[0])[0]


def _merged(one: Pool, other: Pool) -> Pool:
    """A new pool: a task may be run again, so it leaves its arguments as they are."""
    return Pool(one.target, one.most, weight=one.weight).merge(one).merge(other)


def _pool_of(part: Any, read: Callable, empty: Pool, seed: tuple[int, int]) -> Pool:
    pool = Pool(empty.target, empty.most, weight=empty.weight).merge(empty)
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
    columns = {target: y} if sample_weight is None else {target: y, weight: sample_weight}
    rows = X.to_delayed(optimize_graph=False)
    beside = {name: column.to_delayed(optimize_graph=False) for name, column in columns.items()}
    for what, found in zip(("y", "sample_weight"), beside.values()):
        if len(rows) != len(found):
            raise ValueError(f"X has {len(rows)} partitions and {what} has {len(found)}: repartition one of them")
    parts = [
        delayed(_with_columns)(part, {name: found[k] for name, found in beside.items()}) for k, part in enumerate(rows)
    ]
    weight = None if sample_weight is None else weight
    return gather(parts, _as_batches, target, most=most, weight=weight, seed=seed)


def _with_columns(X: pd.DataFrame, columns: dict[str, pd.Series]) -> pd.DataFrame:
    for what, column in zip(("y", "sample_weight"), columns.values()):
        if len(X) != len(column):
            raise ValueError(f"a partition of X has {len(X)} rows and that of {what} has {len(column)}")
    return X.set_axis(X.columns.map(str), axis=1).assign(**{k: c.to_numpy() for k, c in columns.items()})


def _as_batches(frame: pd.DataFrame) -> list[pa.Table]:
    return [pa.Table.from_pandas(frame, preserve_index=False)]
