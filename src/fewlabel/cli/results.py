"""The result of `fewlabel predict`: scored chunks wait until all rows are ranked, then they are written."""

import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fewlabel.arrow import as_numpy, from_numpy, from_texts
from fewlabel.cli.paths import TEXT_SEPARATORS
from fewlabel.files import atomic_write
from fewlabel.text import without_formula

_CAREFUL = r'^[\s=@+\-]|["\n\r]'  # texts that may be a formula or need quotes; fixed one by one


class Results:
    """Scored chunks that wait in a temporary file until the rank of every row is known.

    Memory grows by 8 bytes per row, for the scores.

    Parameters
    ----------
    threshold : float or None
        Rows with a higher score are counted in `n_flagged`.
    """

    def __init__(self, threshold: float | None) -> None:
        self.n_rows = 0
        self.n_flagged = 0
        self._threshold = threshold
        self._scores = [np.empty(0)]

    def __enter__(self) -> "Results":
        self._file = tempfile.TemporaryFile()
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, chunk: pa.Table) -> None:
        """Keep a chunk until all are there."""
        pickle.dump(chunk, self._file)
        self.n_rows += len(chunk)
        if "score" in chunk.column_names:
            scores = as_numpy(chunk["score"].combine_chunks())
            self._scores.append(scores)
            if self._threshold is not None:
                self.n_flagged += int((scores > self._threshold).sum())

    def ranked(self) -> Iterator[Callable[[], pa.Table]]:
        """Readers of the chunks; with two classes each row has its rank, and equal scores have the same rank."""
        self._file.seek(0)
        ascending = np.concatenate(self._scores)
        # Only the sorted copy is needed from here on.
        self._scores = []
        ascending.sort()
        n_left = self.n_rows
        while n_left:
            chunk = pickle.load(self._file)  # written above
            n_left -= len(chunk)
            yield partial(_with_ranks, chunk, ascending)


def _with_ranks(chunk: pa.Table, ascending: np.ndarray) -> pa.Table:
    if not len(ascending):
        return chunk
    scores = as_numpy(chunk["score"].combine_chunks())
    # Neighbors in `ascending` are looked up one after another: no cache misses.
    order = np.argsort(scores)
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[order] = len(ascending) - np.searchsorted(ascending, scores[order], side="right") + 1
    return chunk.add_column(chunk.column_names.index("score"), "rank", from_numpy(ranks))


def plain_texts(table: pa.Table) -> pa.Table:
    """Categories and columns without any value as texts."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) or pa.types.is_null(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.string()))
    return table


@contextmanager
def result_writer(out: Path | None) -> Iterator[tuple[Callable[[pa.Table], Any], Callable[[Any], None]]]:
    """Two functions, one that renders a chunk, in any thread, and one that writes what was rendered, in order.

    The file appears under its name once it is complete.
    """
    if out is None:
        yield partial(as_text, separator=","), _text_writer(lambda text: sys.stdout.write(text.decode()))
        return
    with atomic_write(out) as file:
        separator = TEXT_SEPARATORS.get(out.suffix.lower())
        if separator is not None:
            yield partial(as_text, separator=separator), _text_writer(file.write)
        else:
            with _parquet_writer(file) as write_table:
                yield plain_texts, write_table


def _text_writer(write: Callable[[bytes], Any]) -> Callable[[tuple[bytes, bytes]], None]:
    """Write header and rows of the first chunk, and the rows of the others."""
    is_first = True

    def write_chunk(text: tuple[bytes, bytes]) -> None:
        nonlocal is_first
        header, rows = text
        if is_first:
            write(header)
        write(rows)
        is_first = False

    return write_chunk


@contextmanager
def _parquet_writer(file) -> Iterator[Callable[[pa.Table], None]]:
    import pyarrow.parquet as pq

    writer = None

    def write(chunk: pa.Table) -> None:
        nonlocal writer
        if writer is None:
            writer = pq.ParquetWriter(file, chunk.schema)
        writer.write_table(chunk.cast(writer.schema))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def as_text(chunk: pa.Table, separator: str) -> tuple[bytes, bytes]:
    """Header and rows as text, with all digits, so that numbers are read back exactly; no text runs as a formula.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from fewlabel.cli.results import as_text
    >>> as_text(pa.table({"a": [0.5, None], "b": ["=1+1", "x, y"]}), ",")[1].decode().splitlines()
    ["0.5,'=1+1", ',"x, y"']
    """
    header = separator.join(_quoted(without_formula(name), separator) for name in chunk.column_names) + "\n"
    cells = [_cells(chunk.column(k).combine_chunks(), separator) for k in range(chunk.num_columns)]
    between, end, nothing = from_texts([separator, "\n", ""])
    lines = pc.binary_join_element_wise(pc.binary_join_element_wise(*cells, between), end, nothing)
    # The texts of an array lie one after another in memory: together they are the rows of the file.
    _, offsets, text = lines.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return header.encode(), text.to_pybytes()[ends[0] : ends[-1]]


def _cells(column: pa.Array, separator: str) -> pa.Array:
    """Values as text, "" where one is missing; long offsets, so that no chunk is too large."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        values = _cells(column.dictionary, separator).take(column.indices)
    elif pa.types.is_floating(kind):
        values = pc.if_else(pc.is_nan(column), pa.nulls(1, kind)[0], column).cast(pa.large_string())
    elif pa.types.is_integer(kind):
        values = column.cast(pa.large_string())
    else:
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            column = _written(column)
        values = _safe(column.cast(pa.large_string()), separator)
    return pc.fill_null(values, from_texts([""])[0])


def _written(column: pa.Array) -> pa.Array:
    """Dates and others, as Python writes them."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        # Python has no nanoseconds.
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    return from_texts([None if value is None else str(value) for value in column.to_pylist()])


def _safe(texts: pa.Array, separator: str) -> pa.Array:
    """Texts that a spreadsheet does not run, quoted where needed."""
    careful = pc.or_(pc.match_substring_regex(texts, _CAREFUL), pc.match_substring(texts, separator))
    if not pc.any(careful).as_py():
        return texts
    fixed = [_quoted(without_formula(text), separator) for text in texts.filter(careful).to_pylist()]
    # A gap is no text to fix.
    is_careful = pc.and_kleene(careful, pc.is_valid(careful))
    return pc.replace_with_mask(texts, is_careful, from_texts(fixed).cast(texts.type))


def _quoted(text: str, separator: str) -> str:
    if not any(character in text for character in f'"\n\r{separator}'):
        return text
    return '"' + text.replace('"', '""') + '"'
