"""A table read piece by piece, each of them in any thread, as fast as Arrow parses it."""

import functools
import gzip
import io
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from fewlabel import files
from fewlabel.files import MISSING
from fewlabel.kernels.text_rows import end_of_rows
from fewlabel.text import distinct

_BYTES = 2**24  # of a piece of a text file
_MOST_BYTES = 2**28  # of one row
_BATCH_ROWS = 2**16  # of a piece of a Parquet file
_ARROW_BYTES = 2**22  # of a block, that Arrow parses at once
_BOM = b"\xef\xbb\xbf"

Reader = Callable[[], pd.DataFrame]


def read_pieces(
    path: Path,
    rows: int,
    numbers: Collection[str],
    texts: Collection[str],
    *,
    encoding: str | None = None,
    decimal: str = ".",
) -> Iterator[Reader]:
    """Split a table into pieces of whole rows, in order; a piece is parsed when its reader is called.

    A piece in which a number does not parse is read by pandas, like tables in other encodings than UTF-8: its column is
    then text. So what a cell says does not depend on the pieces.

    Parameters
    ----------
    path : Path
        As in :func:`fewlabel.tables.read_table`.
    rows : int
        Rows of a piece that pandas reads.
    numbers, texts : collections of str
        Columns to read as floats, and as categories. Others are not read; names that the table lacks are ignored.
    encoding, decimal : str
        As in :func:`fewlabel.tables.read_table`.

    Yields
    ------
    callable
        A function without arguments that returns a DataFrame.

    Raises
    ------
    TableError
        As :func:`fewlabel.tables.read_table`; also when a reader is called.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fewlabel.tables.pieces import read_pieces
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.csv")
    ...     _ = path.write_text("a,b\\n1,x\\n2,\\n")
    ...     [read().shape for read in read_pieces(path, 100, ["a"], ["b"])]
    [(2, 2)]
    """
    names = table_columns(path, encoding=encoding)
    wanted = [name for name in names if name in numbers or name in texts]
    if not files.is_text_file(path):
        yield from _arrow_pieces(path, names, wanted, texts)
    elif encoding not in (None, "utf-8", "utf-8-sig") or len(names) == 1 or not wanted:
        # pandas skips blank lines, which in a single column look like values to Arrow.
        for chunk in files.read_chunks(path, rows, list(texts), encoding=encoding, decimal=decimal):
            yield functools.partial(_itself, chunk)
    else:
        parser = _Parser(path, names, wanted, frozenset(texts), decimal)
        for k, block in enumerate(_blocks(path, parser.separator)):
            yield functools.partial(parser.parse, block, k == 0)


def _itself(chunk: pd.DataFrame) -> pd.DataFrame:
    return chunk


def table_columns(path: Path, *, encoding: str | None = None) -> list[str]:
    """Names of the columns, as those of the DataFrame that :func:`fewlabel.tables.read_table` returns."""
    written = files.column_names(path, encoding=encoding)
    return distinct(name or f"Unnamed: {k}" for k, name in enumerate(written))


def _arrow_pieces(path: Path, names: list[str], wanted: list[str], texts: Collection[str]) -> Iterator[Reader]:
    is_plain = names == files.column_names(path) and len(wanted) > 0
    columns = wanted if is_plain else None
    categories = [name for name in wanted if name in texts] if is_plain else []
    with files.readable_errors(path):
        for batch in files.arrow_batches(path, _BATCH_ROWS, columns, categories):
            yield functools.partial(files.as_frame, batch)


class _Block(NamedTuple):
    """Rows of a text file, and whether there are quotes in it."""

    rows: memoryview
    is_quoted: bool


def _blocks(path: Path, separator: str) -> Iterator[_Block]:
    """Blocks of whole rows of a text file; the first one starts with the header."""
    with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb", buffering=0) as file:
        rest = memoryview(b"")
        while True:
            # A block is read behind the rest of the last one, into memory of its own; nothing else is copied.
            text = bytearray(len(rest) + _BYTES)
            block = memoryview(text)
            block[: len(rest)] = rest
            n_read = file.readinto(block[len(rest) :])
            if not n_read:
                break
            block = block[: len(rest) + n_read]
            is_quoted = b'"' in text
            end = _end_of_rows(block, separator) if is_quoted else text.rfind(b"\n") + 1
            if not end and len(block) > _MOST_BYTES:
                raise files.TableError(f"{path}: a row is longer than {_MOST_BYTES >> 20} MiB: is a quote not closed?")
            rest = block[end:]
            if end:
                yield _Block(block[:end], is_quoted)
        if len(rest):
            yield _Block(rest, True)


def _end_of_rows(block: memoryview, separator: str) -> int:
    return int(end_of_rows(np.frombuffer(block, dtype=np.uint8), np.uint8(ord(separator))))


class _Parser:
    """Parses blocks of rows of a UTF-8 text file."""

    def __init__(self, path: Path, names: list[str], wanted: list[str], texts: Collection[str], decimal: str) -> None:
        import pyarrow as pa
        from pyarrow import csv

        self.separator = files.separator_of(path)
        self._path, self._names, self._wanted, self._texts, self._decimal = path, names, wanted, texts, decimal
        kinds = {name: pa.dictionary(pa.int32(), pa.string()) if name in texts else pa.float64() for name in wanted}
        self._convert = csv.ConvertOptions(
            column_types=kinds,
            include_columns=wanted,
            null_values=sorted(MISSING),
            strings_can_be_null=True,
            decimal_point=decimal,
        )

    def parse(self, block: _Block, has_header: bool) -> pd.DataFrame:
        """The wanted columns of a block."""
        import pyarrow as pa
        from pyarrow import csv

        rows, is_quoted = block
        rows = rows[len(_BOM) :] if has_header and rows[: len(_BOM)] == _BOM else rows
        form = csv.ReadOptions(
            column_names=self._names,
            skip_rows_after_names=int(has_header),
            use_threads=False,
            # Parts that fit into a cache; but with line breaks in values it takes long to find where a part ends.
            block_size=len(rows) + 1 if is_quoted else _ARROW_BYTES,
        )
        fields = csv.ParseOptions(delimiter=self.separator, newlines_in_values=is_quoted)
        with files.readable_errors(self._path):
            try:
                return csv.read_csv(pa.BufferReader(rows), form, fields, self._convert).to_pandas(split_blocks=True)
            except pa.ArrowInvalid:
                files.check_lengths(self._path, self.separator)
                return self._parse_any(rows, has_header)

    def _parse_any(self, rows: memoryview, has_header: bool) -> pd.DataFrame:
        """The same, whatever the values."""
        try:
            return pd.read_csv(
                io.BytesIO(rows),
                sep=self.separator,
                decimal=self._decimal,
                encoding="utf-8-sig",
                names=self._names,
                header=0 if has_header else None,
                usecols=self._wanted,
                dtype={name: str for name in self._wanted if name in self._texts},
                index_col=False,
                low_memory=False,
            )
        except pd.errors.EmptyDataError:  # blank lines only
            return pd.DataFrame(columns=self._wanted)
