"""Threads over ranges of rows.

The kernels are serial and run without the interpreter's lock, so plain Python threads drive them: fits from several
threads at once, and a fork after a fit, are safe, which Numba's own threading layers do not promise.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from joblib import effective_n_jobs

_CELLS_PER_THREAD = 250_000  # a thread is worth waking for about a tenth of a millisecond of work


class RowThreads:
    """A pool of threads, for the time of a ``with`` block.

    Parameters
    ----------
    n_jobs : int or None
        As in scikit-learn: None is 1 (or what a joblib context says), -1 is all cores.
    """

    def __init__(self, n_jobs):
        self.n_threads = effective_n_jobs(n_jobs)
        self._pool = None

    def __enter__(self):
        if self.n_threads > 1:
            self._pool = ThreadPoolExecutor(self.n_threads)
        return self

    def __exit__(self, *exception):
        if self._pool is not None:
            self._pool.shutdown()

    def map(self, work, items):
        """``work`` of each item."""
        return list(map(work, items) if self._pool is None else self._pool.map(work, items))

    def ranges(self, n_rows, n_columns=1):
        """Ranges (start, stop) that cover the rows, one for each thread that is worth waking."""
        n_ranges = max(1, min(self.n_threads, n_columns * n_rows // _CELLS_PER_THREAD))
        edges = [n_rows * t // n_ranges for t in range(n_ranges + 1)]
        return list(pairwise(edges))

    def over_rows(self, work, n_rows, n_columns=1):
        """Call ``work(start, stop)`` on ranges that cover the rows, and add up what it gives."""
        ranges = self.ranges(n_rows, n_columns)
        if len(ranges) == 1:
            return work(0, n_rows)
        first, *others = self.map(lambda ends: work(*ends), ranges)
        for other in others:
            if other is not None:
                first += other
        return first
