"""Passes over blocks of rows and labels, on the workers of a client or in threads of this process."""

import asyncio
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import dask
import numpy as np
from dask import delayed
from joblib import effective_n_jobs

from fewlabel.boosting.rows import Parts

_PATIENCE = 5.0  # seconds in which a worker must answer, or messages go by the scheduler


class Blocks:
    """The blocks of a Dask collection and its labels.

    A block that is not kept on the cluster (by ``persist``) is made again for each pass over the rows, so that memory
    holds the results of the passes, never all blocks.

    Parameters
    ----------
    X, y : Dask collections
    client : distributed.Client or None
        If None, the threads of this process do the work.
    weight : Dask collection, default=None
        Weights of the rows. With them the second argument of every pass is a tuple, labels and weights of a block.
    """

    def __init__(self, X, y, client, weight=None):
        self._blocks = _delayed_blocks(X, y, "y")
        self.weighted = weight is not None
        if self.weighted:
            weights = _delayed_blocks(X, weight, "sample_weight")
            self._blocks = [(rows, delayed(_pair)(labels, w)) for (rows, labels), (_, w) in zip(self._blocks, weights)]
        self._client = client

    def fold(self, work, merge, *args):
        """Results of ``work(X, y, *args)`` for all blocks, merged in pairs by ``merge(a, b)`` where the blocks are."""
        merged = merged_in_pairs(self._tasks(work, args), merge)
        if self._client is None:
            return dask.compute(merged, scheduler="threads")[0]
        return self._client.compute(merged).result()

    def keep(self, make, *args):
        """Objects ``make(X, y, *args)`` of all blocks, kept where they are made.

        Returns
        -------
        Parts or RemoteParts
        """
        tasks = self._tasks(make, args)
        if self._client is None:
            return _WorkerParts(dask.compute(*tasks, scheduler="threads"), effective_n_jobs(-1))
        from distributed import wait

        made = self._client.compute(tasks)
        wait(made)
        places = self._client.who_has(made)
        by_worker = {}
        for part in made:
            addresses = places[part.key]
            if not addresses:
                # Raises the error of the task.
                part.result()
            by_worker.setdefault(addresses[0], []).append(part)
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        actors = []
        for address, parts in by_worker.items():
            n_threads = workers[address]["nthreads"]
            actor = self._client.submit(_WorkerParts, parts, n_threads, workers=[address], actor=True, pure=False)
            actors.append(actor)
        return RemoteParts(self._client, actors, list(by_worker))

    def _tasks(self, work, args):
        # Once in the graph, not per task.
        shared = [delayed(value, traverse=False, pure=False) for value in args]
        return [delayed(work, pure=False)(X, y, *shared) for X, y in self._blocks]


def merged_in_pairs(results, merge):
    """One delayed result of all: ``merge(a, b)`` of two at a time, so that no worker holds more than two of them."""
    while len(results) > 1:
        pairs = [delayed(merge, pure=False)(a, b) for a, b in zip(results[::2], results[1::2], strict=False)]
        # The last one of an odd number waits for the next round.
        results = pairs + results[2 * len(pairs) :]
    return results[0]


class _WorkerParts(Parts):
    """Parts of the rows that a worker has: an actor."""

    def __init__(self, parts, n_threads):
        super().__init__(parts, ThreadPoolExecutor(n_threads).map)

    def answer(self, message):
        """`call` with pickled arguments and a pickled result.

        Dask would pickle the arguments one by one, again for each worker, and search them for what it knows of: a
        round of boosting has so little to do that this took most of its time.
        """
        work, values, merge = pickle.loads(message)
        return pickle.dumps(self.call(work, *values, merge=merge))


class RemoteParts:
    """`Parts` on the workers of a cluster. If the client can reach them, it talks to them without the scheduler.

    Parameters
    ----------
    client : distributed.Client
    parts : list of futures
        Actors, one per worker that has parts. They live as long as these futures.
    addresses : list of str
        Of their workers.
    """

    def __init__(self, client, parts, addresses):
        self._client = client
        self._futures = parts
        self._actors = client.gather(parts)
        self._direct = client.sync(_reaches, client, addresses)

    def call(self, work, *values, merge):
        """As `Parts.call`, with the parts of all workers."""
        message = pickle.dumps((work, values, merge))
        was_direct = self._client.direct_to_workers
        self._client.direct_to_workers = self._direct
        try:
            # All are asked before the first answer is awaited.
            asked = [actor.answer(message) for actor in self._actors]
            return reduce(merge, [pickle.loads(answer.result()) for answer in asked])
        except Exception as error:
            raise RuntimeError(
                f"a worker was lost or failed while fitting ({type(error).__name__}: {error}): its rows are gone, so "
                "the fit cannot continue. Run it again"
            ) from error
        finally:
            self._client.direct_to_workers = was_direct


async def _reaches(client, addresses):
    """Whether the client can connect to these workers."""
    answers = [client.rpc(address).identity() for address in addresses]
    try:
        await asyncio.wait_for(asyncio.gather(*answers), _PATIENCE)
    except (OSError, TimeoutError):
        return False
    return True


def _pair(labels, weight):
    return labels, weight


def _delayed_blocks(X, y, name_of_y):
    """Pairs of a block of rows, with all columns, and its labels or weights."""
    if hasattr(X, "rechunk"):
        X = X.rechunk({1: -1})
        # The sizes are NaN in arrays that were made of DataFrames, whose partitions have to match as they are.
        if hasattr(y, "rechunk") and not np.isnan([X.shape[0], y.shape[0]]).any():
            if X.shape[0] != y.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows and {name_of_y} has {y.shape[0]}")
            y = y.rechunk({0: X.chunks[0]})
    for name, value in (("X", X), (name_of_y, y)):
        if not hasattr(value, "to_delayed"):
            raise TypeError(
                f"{name} is a {type(value).__name__} and must be a Dask array or DataFrame: for data in memory use the "
                "estimator of the same name in fewlabel"
            )
    # Not optimized: the optimizer joins partitions of Parquet files, more of them for y, a single column, than for X.
    rows = _delayed_parts(X)
    labels = _delayed_parts(y)
    if len(rows) != len(labels):
        raise ValueError(f"X has {len(rows)} partitions and {name_of_y} has {len(labels)}: repartition one of them")
    return list(zip(rows, labels))


def _delayed_parts(collection):
    parts = np.asarray(collection.to_delayed(optimize_graph=False), dtype=object)
    return np.ravel(parts).tolist()
