"""Kernels compile and run whatever the state of the cache on disk."""

import importlib.util
import os
import warnings

import numpy as np
import pytest
from numba.core import caching

from fewlabel import jit

_SOURCE = """
from numba.types import float64
from fewlabel.jit import njit

@njit(cache=True)
def double(x):
    return 2.0 * x

@njit([float64(float64)], cache=True, nogil=True)
def triple(x):
    return 3.0 * x
"""


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """A function that imports a file with two kernels, as a new process would, and returns its warnings."""
    (tmp_path / "kernels.py").write_text(_SOURCE)

    def run():
        monkeypatch.setattr(jit, "_reported", False)
        spec = importlib.util.spec_from_file_location("kernels", tmp_path / "kernels.py")
        module = importlib.util.module_from_spec(spec)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            spec.loader.exec_module(module)
            assert module.double(4.0) == 8.0
            assert module.triple(4.0) == 12.0
        hits = [sum(kernel.stats.cache_hits.values()) for kernel in (module.double, module.triple)]
        return [str(warning.message) for warning in caught], hits

    return run


def cached(tmp_path, suffix):
    return [path for path in (tmp_path / "__pycache__").iterdir() if path.suffix == suffix]


def test_kernels_are_kept(kernels):
    assert kernels() == ([], [0, 0])
    assert kernels() == ([], [1, 1])


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("content", [b"", b"damaged", np.random.default_rng(0).bytes(3000)])
def test_damaged_files_are_replaced(content, suffix, kernels, tmp_path):
    kernels()
    assert len(cached(tmp_path, suffix)) == 2
    for path in cached(tmp_path, suffix):
        path.write_bytes(content)
    (message,), hits = kernels()
    assert "NUMBA_CACHE_DIR" in message
    assert hits == [0, 0]
    assert kernels() == ([], [1, 1])


def test_without_a_folder_for_the_cache(kernels, monkeypatch):
    """A read-only installation and no home."""
    monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", _failing(OSError(30, "Read-only file system")))
    (message,), hits = kernels()
    assert "NUMBA_CACHE_DIR" in message
    assert hits == [0, 0]


@pytest.mark.parametrize("name", ["_open_for_write", "_load_index"])
def test_a_cache_of_another_user_or_a_full_disk(name, kernels, monkeypatch):
    kernels()
    monkeypatch.setattr(caching.IndexDataCacheFile, "_load_index", _failing(PermissionError(13, "Permission denied")))
    monkeypatch.setattr(caching.IndexDataCacheFile, name, _failing(OSError(28, "No space left on device")))
    (message,), hits = kernels()
    assert "NUMBA_CACHE_DIR" in message
    assert hits == [0, 0]


def test_signatures_are_the_only_ones(tmp_path):
    from numba.types import float64

    @jit.njit([float64(float64)], cache=False)
    def only(x):
        return x

    with pytest.raises(TypeError, match="No matching definition"):
        only("text")
    assert not os.path.exists(tmp_path / "__pycache__")


def _failing(error):
    def fail(*args, **kwargs):
        raise error

    return fail
