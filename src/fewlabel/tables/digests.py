"""Digests of a table: of what its cells say, whichever file or database it was read from."""

import hashlib
from typing import Any, NamedTuple

import numpy as np

from fewlabel.parts.cells import DATE, TEXT, Cells, columns_of
from fewlabel.tables.kinds import read_column

_BLOCK = 2**16  # rows


class TableDigest(NamedTuple):
    """SHA-256 of a table.

    Attributes
    ----------
    content : str
        Of its columns and rows, in any order.
    order : str
        Of the same rows in their order.
    """

    content: str
    order: str


def digest_table(table: Any, *, dayfirst: bool | None = None) -> TableDigest:
    """Digests of a table, equal for tables that hold the same numbers, dates, booleans and texts.

    Parameters
    ----------
    table : DataFrame
    dayfirst : bool, default=None
        As in :func:`fewlabel.tables.read_columns`.

    Returns
    -------
    TableDigest

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabel.tables import digest_table
    >>> typed = pd.DataFrame({"a": [1, 2], "b": pd.to_datetime(["2024-01-31", "2024-02-01"])})
    >>> texts = pd.DataFrame({"b": ["2024-02-01", "2024-01-31"], "a": ["2", "1"]})
    >>> digest_table(typed).content == digest_table(texts).content
    True
    """
    head = hashlib.sha256()
    numbers = []
    for name, column in sorted(columns_of(table).items()):
        cells, _ = read_column(column, name, dayfirst)
        numbers.append(_as_integers(cells))
        head.update(f"{cells.kind} {len(name)} {name}\n".encode("utf-8", "replace"))
    rows: list[bytes] = []
    for start in range(0, len(table), _BLOCK):
        block = np.column_stack([column[start : start + _BLOCK] for column in numbers])
        rows += [hashlib.sha256(row).digest() for row in block]
    in_order = head.copy()
    in_order.update(b"".join(rows))
    head.update(b"".join(sorted(rows)))
    return TableDigest(head.hexdigest(), in_order.hexdigest())


def _as_integers(cells: Cells) -> np.ndarray:
    """A 64-bit integer for each cell, equal for equal values."""
    if cells.kind == TEXT:
        texts = [hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8] for text in cells.values]
        # The last one is for gaps, whose code is -1.
        values = np.frombuffer(b"".join([*texts, bytes(8)]), dtype="<u8")
        return values[cells.codes].astype(np.uint64)
    values = cells.rows()
    if cells.kind == DATE:
        return values.astype("datetime64[us]").view(np.uint64)
    # -0.0 equals 0.0, and NaN has many patterns.
    values = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    values[np.isnan(values)] = np.nan
    return values.view(np.uint64)
