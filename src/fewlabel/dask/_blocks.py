"""Blocks of rows and labels, on the workers of a client or in threads of this process."""

from functools import reduce

import numpy as np

from fewlabel.boosting._threads import RowThreads


class Blocks:
    """The blocks of a Dask collection and its labels, computed once and kept where they are.

    Parameters
    ----------
    X, y : Dask collections
    client : distributed.Client or None
        None: threads of this process.
    """

    def __init__(self, X, y, client):
        import dask

        rows, labels = _delayed_blocks(X, y)
        self._client = client
        if client is None:
            self._threads = RowThreads(-1).__enter__()
            self._blocks = list(zip(*(dask.compute(*part, scheduler="threads") for part in (rows, labels))))
        else:
            self._blocks = list(zip(client.compute(rows), client.compute(labels)))

    def map(self, work, *args):
        """What a function gives for each block."""
        if self._client is None:
            return self._threads.map(lambda block: work(*block, *args), self._blocks)
        return self._client.gather(self._submit(work, args))

    def fold(self, work, merge, *args):
        """What a function gives for all blocks: that of each, merged in pairs, on the workers."""
        if self._client is None:
            return reduce(merge, self.map(work, *args))
        found = self._submit(work, args)
        while len(found) > 1:
            pairs = [
                self._client.submit(merge, a, b, pure=False) for a, b in zip(found[::2], found[1::2], strict=False)
            ]
            found = pairs + found[2 * len(pairs) :]
        return found[0].result()

    def keep(self, cls, *args):
        """An object made of each block, where the block is.

        Returns
        -------
        callable
            ``call(method, *values, merge=None)`` gives what the method of each object gives, in a list, or merged.
        """
        if self._client is None:
            return Parts(self._blocks, cls, *args, threads=self._threads).call
        places = self._client.who_has([X for X, _ in self._blocks])
        by_worker = {}
        for X, y in self._blocks:
            by_worker.setdefault(places[X.key][0], []).append((X, y))
        made = [
            self._client.submit(Parts, blocks, cls, *args, workers=[worker], actor=True, pure=False)
            for worker, blocks in by_worker.items()
        ]
        actors = self._client.gather(made)

        def call(method, *values, merge=None):
            try:
                answers = [actor.call(method, *values, merge=merge) for actor in actors]
                found = [answer.result() for answer in answers]
            except Exception as error:
                raise RuntimeError(
                    f"a worker was lost or failed while fitting ({type(error).__name__}: {error}): its rows are "
                    "gone, so the fit cannot go on. Run it again; with checkpoint= it goes on from the last one"
                ) from error
            return [part for parts in found for part in parts] if merge is None else reduce(merge, found)

        call.made = made  # the actors live as long as somebody holds these
        return call

    def _submit(self, work, args):
        return [self._client.submit(work, X, y, *args, pure=False) for X, y in self._blocks]


class Parts:
    """Objects made of the blocks of one worker, worked on by its threads."""

    def __init__(self, blocks, cls, *args, threads=None):
        if threads is None:
            from distributed import get_worker

            threads = RowThreads(get_worker().state.nthreads).__enter__()
        self._threads = threads
        self._parts = threads.map(lambda block: cls(*block, *args), blocks)

    def call(self, method, *values, merge=None):
        """What a method gives for each object; or all of it merged."""
        found = self._threads.map(lambda part: getattr(part, method)(*values), self._parts)
        return found if merge is None else reduce(merge, found)


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
