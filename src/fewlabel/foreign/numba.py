"""Names that Numba keeps to itself."""

from numba.core.caching import FunctionCache

__all__ = ["FunctionCache", "set_cache"]


def set_cache(kernel, cache):
    """Let a kernel keep its compiled code in a `FunctionCache`."""
    kernel._cache = cache
