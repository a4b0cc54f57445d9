"""Python threads for work that runs without the interpreter's lock.

The kernels are serial and release the lock, so plain Python threads can run them in parallel. This makes fits from
several threads at once, and a fork after a fit, safe, which Numba's own threading layers do not guarantee.
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from joblib import effective_n_jobs

# A round of boosting reads some of its cells only: 3 million of them take a quarter of a millisecond. On fewer, a
# second thread, which also moves the rounds from a kernel to Python, doubles the processor time.
_CELLS_PER_THREAD = 1_500_000


def map_in_threads(work, items, n_jobs=None):
    """Yield ``work(item)`` of each item, in the order of the items.

    If the caller stops early, because of an error or of Ctrl-C, no further item is started and the caller does not
    wait for those that are running. The interpreter does, when it exits. Joblib's threads are daemons instead: the
    interpreter ends them inside compiled code, and C++ code then aborts the process.

    Parameters
    ----------
    work : callable
    items : iterable
    n_jobs : int, default=None
        Number of threads, as in scikit-learn: None means 1 unless a joblib context says otherwise, -1 all cores.

    Examples
    --------
    >>> from fewlabel.threads import map_in_threads
    >>> list(map_in_threads(abs, [-3, 2], n_jobs=2))
    [3, 2]
    """
    n_threads = effective_n_jobs(n_jobs)
    if n_threads == 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(n_threads)
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def map_ahead(work, items, n_jobs=None):
    """As `map_in_threads`, but items are drawn only shortly before they are worked on: for streams of any length.

    Examples
    --------
    >>> from itertools import count, islice
    >>> from fewlabel.threads import map_ahead
    >>> list(islice(map_ahead(abs, count(-2), n_jobs=2), 4))
    [2, 1, 0, 1]
    """
    n_threads = effective_n_jobs(n_jobs)
    if n_threads == 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(n_threads)
    waiting = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            # One more than threads, so that none has to wait for the caller.
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class RowThreads:
    """Threads that work on ranges of rows, for the duration of a ``with`` block.

    Parameters
    ----------
    n_jobs : int or None
        As in `map_in_threads`.
    """

    def __init__(self, n_jobs):
        self.n_threads = effective_n_jobs(n_jobs)
        self._pool = None

    def __enter__(self):
        if self.n_threads > 1:
            self._pool = ThreadPoolExecutor(self.n_threads - 1)
        return self

    def __exit__(self, *exception):
        if self._pool is not None:
            self._pool.shutdown()

    def map(self, work, items):
        """List of ``work(item)`` for each item.

        The caller's thread works too: to wake one thread less saves as much time as a small part of the rows takes.
        """
        items = list(items)
        if self._pool is None or len(items) == 1:
            return [work(item) for item in items]
        results = [None] * len(items)
        positions = iter(range(len(items)))  # each goes to the thread that asks first

        def run():
            for k in positions:
                results[k] = work(items[k])

        others = [self._pool.submit(run) for _ in range(min(self.n_threads, len(items)) - 1)]
        run()
        for other in others:
            other.result()
        return results

    def n_ranges(self, n_rows, n_columns=1):
        """Number of ranges that `over_rows` works on: one for each thread that has enough work."""
        if self.n_threads == 1:
            return 1
        n_cells = n_columns * n_rows
        return max(1, min(self.n_threads, n_cells // _CELLS_PER_THREAD))

    def over_rows(self, work, n_rows, n_columns=1):
        """Call ``work(start, stop)`` on ranges that cover the rows, and return the sum of the results."""
        n_ranges = self.n_ranges(n_rows, n_columns)
        if n_ranges == 1:
            return work(0, n_rows)
        edges = [n_rows * t // n_ranges for t in range(n_ranges + 1)]
        total, *others = self.map(lambda ends: work(*ends), pairwise(edges))
        for other in others:
            if other is not None:
                total += other
        return total
