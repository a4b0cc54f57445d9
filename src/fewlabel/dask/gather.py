"""All labeled rows of a table of any size, and a random sample of the others, in one pass over its parts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
from dask import delayed

from fewlabel.dask._blocks import merged_in_pairs
from fewlabel.exceptions import TableError

MOST = 100_000  # rows that are kept of each label, and of the rows without one
_MOST_LABELS = 1000
_STREAM = 1  # not the random numbers of the bare seed, of which a generated table may be made


class Pool:
    """For each value of the label column its number of rows, and a random sample of them.

    Every row draws a random key, and the rows with the smallest keys are kept. So pools of parts can be merged, and the
    result does not depend on who read which part when.

    Parameters
    ----------
    target : str
        Name of the label column.
    most : int
        Rows to keep of each value.
    """

    def __init__(self, target: str, most: int = MOST) -> None:
        self.target = target
        self.most = most
        self.counts: Counter[Any] = Counter()
        self._drawn: defaultdict[Any, list[_Drawn]] = defaultdict(list)
        # Rows of a value with a key of this size, or a larger one, are not kept any more; keys are below 1.
        self._limits: dict[Any, float] = {}

    def add(self, rows: pa.Table, rng: np.random.Generator) -> None:
        """Draw from new rows."""
        keys = rng.random(len(rows))
        codes, values = _factorize(rows[self.target])
        limits = np.array([self._limit(value) for value in values])
        chosen = np.flatnonzero(keys < limits[codes])
        # Most rows end here: only the few that are left are sorted by their values.
        candidates = _Drawn(keys[chosen], rows.take(pa.array(chosen)))
        code_of_candidate = codes[chosen]
        counts = np.bincount(codes, minlength=len(values))
        for code in np.flatnonzero(counts):
            value = values[code]
            self.counts[value] += int(counts[code])
            of_value = candidates.where(code_of_candidate == code)
            self._add(value, of_value)
        if len(self.counts) > _MOST_LABELS:
            raise TableError(
                f"column {self.target!r} has more than {_MOST_LABELS} different values: name a column of classes"
            )

    def merge(self, other: "Pool") -> "Pool":
        """Add the rows of another pool; returns this one."""
        self.counts.update(other.counts)
        for value, parts in other._drawn.items():
            self._limits[value] = min(self._limit(value), other._limit(value))
            for drawn in parts:
                self._add(value, drawn)
        return self

    def _limit(self, value: Any) -> float:
        return self._limits.get(value, 1.0)

    def _add(self, value: Any, drawn: "_Drawn") -> None:
        parts = self._drawn[value]
        parts.append(drawn)
        n_drawn = sum(len(part.keys) for part in parts)
        # Not at every part: to find the smallest keys takes as long for twice as many rows.
        if n_drawn > 2 * self.most:
            self._drawn[value] = [self._smallest(value)]

    def _smallest(self, value: Any) -> "_Drawn":
        """The rows of a value with the smallest keys; the limit moves to the first key that is left out."""
        drawn = _Drawn.concatenate(self._drawn[value])
        # Parts that were merged may have been drawn below other limits.
        below = drawn.keys[drawn.keys < self._limit(value)]
        if len(below) > self.most:
            smallest = np.partition(below, self.most)
            self._limits[value] = float(smallest[self.most])
        return drawn.where(drawn.keys < self._limit(value))

    def count(self, values: Iterable[Any]) -> int:
        """Number of rows of the table with one of these labels."""
        return sum(self.counts[value] for value in values)

    def rows(self, values: Iterable[Any], start: int = 0, stop: int | None = None) -> pa.Table:
        """A sample, without replacement, of all rows with one of these labels, in the order of their keys.

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
        limit = min(self._limit(value) for value in present)
        order = np.argsort(drawn.keys, kind="stable")
        is_complete = drawn.keys[order] < limit
        taken = order[is_complete][start:stop]
        return drawn.rows.take(pa.array(taken))


class _Drawn(NamedTuple):
    """Rows and their random keys."""

    keys: np.ndarray
    rows: pa.Table

    @classmethod
    def concatenate(cls, parts: "Iterable[_Drawn]") -> "_Drawn":
        keys, tables = zip(*parts)
        rows = pa.concat_tables(tables, promote_options="permissive")
        return cls(np.concatenate(keys), rows)

    def where(self, mask: np.ndarray) -> "_Drawn":
        rows = self.rows.filter(pa.array(mask))
        return _Drawn(self.keys[mask], rows)


def _factorize(column: pa.ChunkedArray) -> tuple[np.ndarray, list[Any]]:
    """The distinct values of a column, None for missing ones, and the position of each row's value among them.

    Arrow encodes a column of few values, most of them missing, several times as fast as pandas makes objects of it.
    """
    encoded = column.combine_chunks().dictionary_encode()
    dictionary = encoded.dictionary.to_pandas().tolist()
    values = [None if pd.isna(value) else value for value in dictionary]
    # NaN is a value to Arrow, and is missing here, as a null is: both get the place of None.
    values.append(None)
    distinct = list(dict.fromkeys(values))
    place_of = {value: place for place, value in enumerate(distinct)}
    places = np.array([place_of[value] for value in values])
    indices = encoded.indices.fill_null(len(values) - 1)
    return places[indices.to_numpy(zero_copy_only=False)], distinct


def gather(
    parts: Iterable[Any],
    read: Callable[[Any], Iterable[pa.Table]],
    target: str,
    *,
    most: int = MOST,
    seed: int = 0,
) -> Pool:
    """The pool of all parts of a table, by Dask's current scheduler.

    Parameters
    ----------
    parts : iterable
        Parts of the table; may be delayed.
    read : callable
        ``read(part)`` gives its rows, batch by batch.
    target, most
        As in `Pool`.
    seed : int
        Keys depend on the seed and on the positions of part, batch and row only.

    Returns
    -------
    Pool
    """
    pools = [delayed(_pool_of)(part, read, target, most, (seed, k)) for k, part in enumerate(parts)]
    if not pools:
        raise TableError("the table has no rows")
    [pool] = dask.compute(merged_in_pairs(pools, _merged))
    return pool


def _merged(one: Pool, other: Pool) -> Pool:
    """A new pool: a task may be run again, so it leaves its arguments as they are."""
    return Pool(one.target, one.most).merge(one).merge(other)


def _pool_of(part: Any, read: Callable, target: str, most: int, seed: tuple[int, int]) -> Pool:
    pool = Pool(target, most)
    for k, rows in enumerate(read(part)):
        pool.add(rows, np.random.default_rng([*seed, k, _STREAM]))
    return pool


def gather_frame(X: Any, columns: dict[str, Any], target: str, *, most: int = MOST, seed: int = 0) -> Pool:
    """The pool of a Dask DataFrame and of further columns, by their names in the pool: Series with the same partitions.

    `target` is the name of the one with the labels.
    """
    parts = X.to_delayed(optimize_graph=False)
    for name, column in columns.items():
        pieces = column.to_delayed(optimize_graph=False)
        n_parts = len(parts)
        n_pieces = len(pieces)
        if n_parts != n_pieces:
            raise ValueError(f"X has {n_parts} partitions and {name} has {n_pieces}: repartition one of them")
        parts = [delayed(_assign)(part, piece, name) for part, piece in zip(parts, pieces)]
    return gather(parts, _as_batches, target, most=most, seed=seed)


def _assign(X: pd.DataFrame, column: pd.Series, name: str) -> pd.DataFrame:
    n_rows = len(X)
    if n_rows != len(column):
        raise ValueError(f"a partition of X has {n_rows} rows and that of {name} has {len(column)}")
    # An array, as the rows of Dask's partitions belong together by position, not by index.
    named = X.set_axis(X.columns.map(str), axis=1)
    return named.assign(**{name: column.to_numpy()})


def _as_batches(frame: pd.DataFrame) -> list[pa.Table]:
    return [pa.Table.from_pandas(frame, preserve_index=False)]
