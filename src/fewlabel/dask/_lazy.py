"""Methods of a fitted model, block by block."""

import dask.array as da
import numpy as np
from dask import delayed


def lazily(method, X, dtype, columns=None):
    """``method(X)``, or a lazy array of it, block by block; `columns` is the width of the result, None for a vector."""
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
