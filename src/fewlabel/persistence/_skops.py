"""Import of skops, without the packages that it would load for nothing."""

import functools
import importlib
import sys
import threading
from importlib.abc import MetaPathFinder

# scikit-learn lists its estimators by importing all of its subpackages. These import torch and dask where installed:
# seconds, and 250 MB.
_WITHOUT_ESTIMATORS = ("sklearn.externals.array_api_compat.torch", "sklearn.externals.array_api_compat.dask")


@functools.cache
def skops_io():
    """The module `skops.io`."""
    finder = _Skip()
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module("skops.io")
    finally:
        sys.meta_path.remove(finder)


@functools.cache
def scikit_learn_estimators():
    """Full names of scikit-learn's public estimators."""
    skops_io()
    trusted = importlib.import_module("skops.io._trusted_types")
    return frozenset(trusted.SKLEARN_ESTIMATOR_TYPE_NAMES)


class _Skip(MetaPathFinder):
    """Refuses those packages to the thread that made it; other threads are not affected."""

    def __init__(self):
        self._thread = threading.get_ident()

    def find_spec(self, name, path=None, target=None):
        if name in _WITHOUT_ESTIMATORS and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)
