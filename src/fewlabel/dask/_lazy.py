"""Methods of a fitted model, block by block."""

from functools import partial

import dask.array as da
import numpy as np
from dask import delayed


def lazily(method, X, dtype, columns=None):
    """``method(X)``, or a lazy array of it, block by block; `columns` is the width of the result, None for a vector."""
    if not hasattr(X, "to_delayed"):
        return method(X)
    width = () if columns is None else (columns,)
    method = partial(_of_block, method, np.empty((0, *width), dtype))
    # Of a DataFrame, Dask does not know how many rows a partition has.
    if not hasattr(X, "map_blocks"):
        parts = [da.from_delayed(delayed(method)(part), (np.nan, *width), dtype) for part in X.to_delayed()]
        return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)
    # A row belongs to one block.
    X = X.rechunk({1: -1})
    if columns is None:
        return X.map_blocks(method, drop_axis=1, meta=np.empty(0, dtype))
    return X.map_blocks(method, chunks=(X.chunks[0], width), meta=np.empty((0, 0), dtype))


def _of_block(method, empty, X):
    """``method(X)``; an estimator refuses a block without rows, but Dask collections may have one."""
    return method(X) if X.shape[0] else empty
