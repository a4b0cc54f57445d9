"""Compilation of kernels, with a cache on disk that may be read-only, damaged or missing."""

import functools
import warnings

import numba
from numba.extending import overload

from fewlabel.foreign.numba import FunctionCache, set_cache

_reported = False


def njit(signatures=None, *, cache, **options):
    """Decorator of kernels: as Numba's, but a cache that cannot be used is a warning, not an error.

    Numba keeps compiled kernels beside the source, in the folder `NUMBA_CACHE_DIR`, or in the user's cache folder. If
    none of them can be written, or their files are damaged, kernels are compiled in memory, once per process.

    Parameters
    ----------
    signatures : list of Numba signatures, default=None
        Compile these at once, and no others; by default a kernel is compiled when it is first called.
    cache : bool
        Whether to keep the compiled kernel on disk.
    **options
        Of `numba.njit`.
    """

    def decorate(function):
        kernel = numba.njit(**options)(function)
        # NUMBA_DISABLE_JIT is set.
        if not hasattr(kernel, "enable_caching"):
            return kernel
        if cache:
            try:
                set_cache(kernel, _Cache(function))
            except (RuntimeError, OSError) as error:
                _report(error)
        if signatures is not None:
            for signature in signatures:
                kernel.compile(signature)
            kernel.disable_compile()
        return kernel

    return decorate


def over_parts(view, merge=None):
    """Decorator of a kernel on one part of the rows: makes it a function of rows in any number of parts.

    Code that is compiled has rows in one part, and calls the kernel. In Python the rows are an object with the
    attribute `view`, which the kernel works on, or one with the methods `ask` and `tell`, which has such parts.

    Parameters
    ----------
    view : str
    merge : callable, default=None
        ``merge(a, b)`` of the results of two parts; None for a kernel without a result.
    """

    def decorate(kernel):
        @functools.wraps(kernel)
        def of_rows(rows, *values):
            part = getattr(rows, view, None)
            if part is not None:
                return kernel(part, *values)
            if merge is None:
                return rows.tell(of_rows, *values)
            return rows.ask(of_rows, *values, merge=merge)

        @overload(of_rows)
        def compiled(rows, *values):
            return lambda rows, *values: kernel(rows, *values)

        return of_rows

    return decorate


def at_once_in_one_part(view):
    """Decorator of a function of rows in any number of parts: on rows in one part it runs compiled, in one call.

    On few rows the work takes less time than the calls of kernels from Python.

    Parameters
    ----------
    view : str
        As in `over_parts`, of whose functions this one is made.
    """

    def decorate(function):
        compiled = njit(cache=True, nogil=True)(function)

        @functools.wraps(function)
        def of_rows(rows, *values):
            part = getattr(rows, view, None)
            return function(rows, *values) if part is None else compiled(part, *values)

        return of_rows

    return decorate


class _Cache(FunctionCache):
    """Numba's cache of one kernel; files that cannot be read are replaced, or else ignored."""

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:
            # The file is unpickled: anything can be wrong with it.
            _report(error)
            self._attempt(self.flush)
            return None

    def save_overload(self, sig, data):
        self._attempt(super().save_overload, sig, data)

    def _attempt(self, write, *args):
        try:
            write(*args)
        except Exception as error:
            _report(error)
            self.disable()


def _report(error):
    """Warn once per process: the reason is the same for all kernels."""
    global _reported
    if not _reported:
        _reported = True
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        warnings.warn(
            f"compiled kernels cannot be kept on disk, so this process compiles them again, which takes seconds "
            f"({reason}): set the environment variable NUMBA_CACHE_DIR to a folder of your own that can be written",
            UserWarning,
            stacklevel=3,
        )
