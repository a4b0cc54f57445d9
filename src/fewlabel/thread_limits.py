"""Limits on the threads of BLAS and OpenMP that several Python threads may hold at the same time.

The number of BLAS threads is one setting of the whole process. If two threads each save it, change it and restore it,
the one that finishes last restores the other's limit. Here the setting is saved when the first limit begins and
restored when the last one ends. OpenMP keeps one setting per thread, so it needs no such care.
"""

import contextlib
import functools
import sys
import threading

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_limits: list = []  # those in force; the smallest one counts
_saved: list = []  # libraries and their number of threads without a limit


def _controller():
    return _find_libraries(len(sys.modules))


@functools.lru_cache(maxsize=1)
def _find_libraries(n_modules):
    """The libraries of the process, for a number of imported modules: the next one may bring a library."""
    return ThreadpoolController()


@contextlib.contextmanager
def blas_threads(n_threads):
    """Limit the threads of BLAS for the duration of a ``with`` block.

    Parameters
    ----------
    n_threads : int
        Number of threads; where limits overlap or are nested, the smallest one applies.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.thread_limits import blas_threads
    >>> with blas_threads(1):
    ...     gram = np.ones((3, 2)) @ np.ones((2, 3))
    """
    with _lock:
        # Only the first limit sees the setting of the process.
        if not _limits:
            libraries = _controller().select(user_api="blas").lib_controllers
            _saved[:] = [(library, library.get_num_threads()) for library in libraries]
        _limits.append(n_threads)
        _apply()
    try:
        yield
    finally:
        with _lock:
            _limits.remove(n_threads)
            _apply()


def _apply():
    for library, n_threads in _saved:
        wanted = min(_limits, default=n_threads)
        if library.get_num_threads() != wanted:
            library.set_num_threads(wanted)


@contextlib.contextmanager
def one_thread():
    """Run BLAS and OpenMP on one thread for the duration of a ``with`` block: sums then have one order.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from fewlabel.thread_limits import one_thread
    >>> with one_thread():
    ...     model = HistGradientBoostingClassifier(max_iter=1).fit([[0.0], [1.0]], [0, 1])
    """
    with blas_threads(1), _controller().limit(limits=1, user_api="openmp"):
        yield
