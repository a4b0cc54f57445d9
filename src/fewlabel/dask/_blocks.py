"""Passes over blocks of rows and labels, on the workers of a client or in threads of this process."""

from functools import reduce

import dask
import numpy as np
from dask import delayed

from fewlabel.threads import RowThreads


class Blocks:
    """The blocks of a Dask collection and its labels.

    A block that is not kept on the cluster (by ``persist``) is made anew for each pass over the rows, so that memory
    holds what the passes give, never all blocks.

    Parameters
    ----------
    X, y : Dask collections
    client : distributed.Client or None
        None: threads of this process.
    """

    def __init__(self, X, y, client):
        self._blocks = _delayed_blocks(X, y)
        self._client = client

    def fold(self, work, merge, *args):
        """What ``work(X, y, *args)`` gives for all blocks: that of each, merged in pairs, where the blocks are."""
        found = self._tasks(work, args)
        while len(found) > 1:
            pairs = [delayed(merge, pure=False)(a, b) for a, b in zip(found[::2], found[1::2], strict=False)]
            found = pairs + found[2 * len(pairs) :]
        if self._client is None:
            return dask.compute(found[0], scheduler="threads")[0]
        return self._client.compute(found[0]).result()

    def keep(self, cls, *args):
        """An object ``cls(X, y, *args)`` of each block, kept where it is made.

        Returns
        -------
        callable
            ``call(method, *values, merge=None)`` gives what the method of each object gives, in a list, or merged.
        """
        tasks = self._tasks(cls, args)
        if self._client is None:
            return Parts(dask.compute(*tasks, scheduler="threads"), -1).call
        from distributed import wait

        made = self._client.compute(tasks)
        wait(made)
        places, by_worker = self._client.who_has(made), {}
        for part in made:
            if not places[part.key]:
                part.result()  # raises what went wrong
            by_worker.setdefault(places[part.key][0], []).append(part)
        threads = {
            worker: told["nthreads"] for worker, told in self._client.scheduler_info(n_workers=-1)["workers"].items()
        }
        kept = [
            self._client.submit(Parts, parts, threads[worker], workers=[worker], actor=True, pure=False)
            for worker, parts in by_worker.items()
        ]
        actors = self._client.gather(kept)

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

        call.kept = kept  # the actors live as long as somebody holds these
        return call

    def _tasks(self, work, args):
        shared = [delayed(value, traverse=False, pure=False) for value in args]  # once in the graph, not with each task
        return [delayed(work, pure=False)(X, y, *shared) for X, y in self._blocks]


class Parts:
    """The objects of one worker, worked on by its threads."""

    def __init__(self, parts, n_threads):
        self._parts = parts
        self._threads = RowThreads(n_threads).__enter__()

    def call(self, method, *values, merge=None):
        """What a method gives for each object; or all of it merged."""
        found = self._threads.map(lambda part: getattr(part, method)(*values), self._parts)
        return found if merge is None else reduce(merge, found)


def _delayed_blocks(X, y):
    """Passes over blocks of rows, whole in their columns, and the labels of each."""
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
    # Not optimized: the optimizer joins partitions of Parquet files, more of them for y, a single column, than for X.
    rows, labels = (np.ravel(np.asarray(v.to_delayed(optimize_graph=False), dtype=object)).tolist() for v in (X, y))
    if len(rows) != len(labels):
        raise ValueError(f"X has {len(rows)} partitions and y has {len(labels)}: give both the same")
    return list(zip(rows, labels))
