"""Methods of a fitted model, block by block."""

from functools import partial

import dask.array as da
import numpy as np
from dask import delayed


def lazily(method, X, dtype, columns=None):
    """``method(X)``, or a lazy array of it, block by block; `columns` is the width of the result, None for a vector."""
    if hasattr(X, "to_delayed"):
        method = partial(_of_block, method, np.empty(0 if columns is None else (0, columns), dtype))
    if hasattr(X, "map_blocks"):
        X = X.rechunk({1: -1})
        if columns is None:
            return X.map_blocks(method, drop_axis=1, meta=np.empty(0, dtype))
        return X.map_blocks(method, chunks=(X.chunks[0], (columns,)), meta=np.empty((0, 0), dtype))
    if hasattr(X, "to_delayed"):
        shape = (np.nan,) if columns is None else (np.nan, columns)
        parts = [da.from_delayed(delayed(method)(part), shape, dtype) for part in X.to_delayed()]
        return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)
    return method(X)


def _of_block(method, empty, X):
    """``method(X)``; an estimator refuses a block without rows, but Dask collections may have one."""
    return method(X) if X.shape[0] else empty
