"""Passes over blocks of rows and labels, on the workers of a client or in threads of this process."""

import asyncio
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import dask
import numpy as np
from dask import delayed
from joblib import effective_n_jobs

_FAN_OUT = 4  # workers that the client, or a worker, talks to
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
            return Parts(dask.compute(*tasks, scheduler="threads"), effective_n_jobs(-1))
        from distributed import wait

        made = self._client.compute(tasks)
        wait(made)
        places = self._client.who_has(made)
        by_worker = {}
        for part in made:
            addresses = places[part.key]
            if not addresses:
                part.result()  # raises the error of the task
            by_worker.setdefault(addresses[0], []).append(part)
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        actors = []
        for address, parts in by_worker.items():
            n_threads = workers[address]["nthreads"]
            actor = self._client.submit(Parts, parts, n_threads, workers=[address], actor=True, pure=False)
            actors.append(actor)
        return RemoteParts(self._client, actors, list(by_worker))

    def _tasks(self, work, args):
        shared = [delayed(value, traverse=False, pure=False) for value in args]  # once in the graph, not per task
        return [delayed(work, pure=False)(X, y, *shared) for X, y in self._blocks]


def merged_in_pairs(results, merge):
    """One delayed result of all: ``merge(a, b)`` of two at a time, so that no worker holds more than two of them."""
    while len(results) > 1:
        pairs = [delayed(merge, pure=False)(a, b) for a, b in zip(results[::2], results[1::2], strict=False)]
        results = pairs + results[2 * len(pairs) :]  # the last one of an odd number waits for the next round
    return results[0]


class Parts:
    """Objects of one process, worked on by its threads.

    Parameters
    ----------
    parts : list
    n_threads : int
    """

    def __init__(self, parts, n_threads):
        self._parts = parts
        self._others = []
        self._map = map if n_threads == 1 else ThreadPoolExecutor(n_threads).map

    def adopt(self, others):
        """Answer for other workers, too: `others` are actors with their parts."""
        self._others = others

    def call(self, work, *values, merge=None):
        """List of ``work(part, *values)`` of each object; or, with `merge`, all of them merged in pairs."""
        if not self._others:
            return self._own(work, values, merge, [])
        return self._answer(pickle.dumps((work, values, merge)))

    def answer(self, message):
        """`call` with pickled arguments, for those of other processes, and a pickled result.

        Dask would pickle the arguments one by one, again for each worker, and search them for what it knows of: a
        round of boosting has so little to do that this took most of its time.
        """
        return pickle.dumps(self._answer(message))

    def _answer(self, message):
        # The others are asked before the own parts are worked on, so that all work at the same time.
        asked = [other.answer(message) for other in self._others]
        return self._own(*pickle.loads(message), asked)

    def _own(self, work, values, merge, asked):
        own = list(self._map(lambda part: work(part, *values), self._parts))
        answers = [pickle.loads(answer.result()) for answer in asked]
        return _join(own, answers, merge)


class RemoteParts:
    """`Parts` on the workers of a cluster.

    The client talks to a few workers, each of these to a few others, and so on: a question reaches all of them, and the
    answers are merged on the way back, in a time that grows with the logarithm of their number. If the client can
    reach the workers, it talks to them without a detour by the scheduler.

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
        self._futures = parts  # actors live as long as their futures
        self._actors = _plant(client.gather(parts))
        self._direct = client.sync(_reaches, client, addresses[:_FAN_OUT])

    def call(self, work, *values, merge=None):
        """As `Parts.call`, with the parts of all workers."""
        message = pickle.dumps((work, values, merge))
        was_direct = self._client.direct_to_workers
        self._client.direct_to_workers = self._direct
        try:
            # All are asked before the first answer is awaited.
            asked = [actor.answer(message) for actor in self._actors]
            answers = [pickle.loads(answer.result()) for answer in asked]
            return _join([], answers, merge)
        except Exception as error:
            raise RuntimeError(
                f"a worker was lost or failed while fitting ({type(error).__name__}: {error}): its rows are gone, so "
                "the fit cannot continue. Run it again; with checkpoint= it continues from the last checkpoint"
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


def _plant(actors):
    """The actors to ask, at most `_FAN_OUT`; each of them asks the others of its branch."""
    for k, first in enumerate(actors[:_FAN_OUT]):
        others = actors[k + _FAN_OUT :: _FAN_OUT]
        if others:
            first.adopt(_plant(others)).result()
    return actors[:_FAN_OUT]


def _join(results, answers, merge):
    """The results of single parts and the answers for several of them as one answer."""
    if merge is not None:
        return reduce(merge, results + answers)
    joined = list(results)
    for results_of_others in answers:
        joined += results_of_others
    return joined


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
