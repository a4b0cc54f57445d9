"""NumPy arrays and texts to Arrow and back by their memory: the conversions of pyarrow import pandas if it is there."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}  # whose names in NumPy are others


def as_numpy(array: "pa.Array") -> np.ndarray:
    """Values of an array of numbers, dates or durations; NaN or NaT where a value is missing.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from fewlabel.arrow import as_numpy
    >>> as_numpy(pa.array([1.5, None]))
    array([1.5, nan])
    """
    stored, dtype = _dtypes(array.type)
    validity, data = array.buffers()
    rows = slice(array.offset, array.offset + len(array))
    values = np.empty(0, dtype=stored) if data is None else np.frombuffer(data, dtype=stored)[rows]
    values = values.astype(dtype, copy=False)
    if array.null_count == 0:
        return values
    is_there = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")[rows].astype(bool)
    if values.dtype.kind in "mM":
        return np.where(is_there, values, np.array("NaT", dtype=values.dtype))
    return np.where(is_there, values, np.nan)


def _dtypes(kind):
    """How the values of an Arrow type are stored, and what they are to NumPy."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return "int64", f"datetime64[{kind.unit}]"
    if pa.types.is_duration(kind):
        return "int64", f"timedelta64[{kind.unit}]"
    if pa.types.is_date32(kind):
        return "int32", "datetime64[D]"
    if pa.types.is_date64(kind):
        return "int64", "datetime64[ms]"
    # `to_pandas_dtype` imports pandas in some versions of pyarrow.
    name = str(kind)
    dtype = _FLOATS.get(name, name)
    return dtype, dtype


def from_numpy(values: np.ndarray) -> "pa.Array":
    """An array of numbers, without gaps: NaN stays NaN."""
    import pyarrow as pa

    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def from_texts(texts: Sequence[str | None]) -> "pa.Array":
    """An array of texts, with gaps where one is None.

    Examples
    --------
    >>> from fewlabel.arrow import from_texts
    >>> from_texts(["a", None, "bc"]).to_pylist()
    ['a', None, 'bc']
    """
    import pyarrow as pa

    encoded = [b"" if text is None else text.encode("utf-8", "replace") for text in texts]
    ends = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=ends[1:])
    is_there = np.array([text is not None for text in texts], dtype=bool)
    validity = pa.py_buffer(np.packbits(is_there, bitorder="little"))
    buffers = [validity, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers)
