"""A table read piece by piece, each of them in any thread, as fast as Arrow parses it."""

import functools
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabel import files
from fewlabel.files import MISSING
from fewlabel.text import distinct

if TYPE_CHECKING:
    import pyarrow as pa

_BYTES = 2**24  # of a piece of a text file
_MOST_BYTES = 2**28  # of one row
_BATCH_ROWS = 2**16  # of a piece of a Parquet file
_ARROW_BYTES = 2**22  # of a block, that Arrow parses at once
_BLANK_LINE = re.compile(rb"(?m)^[ \t]*\r?\n")
_QUOTE = ord('"')

Reader = Callable[[], "pa.Table"]


def read_pieces(
    path: Path,
    numbers: Collection[str],
    texts: Collection[str],
    *,
    encoding: str | None = None,
    decimal: str = ".",
) -> Iterator[Reader]:
    """Split a table into pieces of whole rows, in order; a piece is parsed when its reader is called.

    A piece in which a number does not parse has these columns as texts. What a cell says does not depend on the pieces.

    Parameters
    ----------
    path : Path
        As in :func:`fewlabel.tables.read_table`.
    numbers, texts : collections of str
        Columns to read as floats, and as categories. Others are not read; names that the table lacks are ignored.
    encoding, decimal : str
        As in :func:`fewlabel.tables.read_table`.

    Yields
    ------
    callable
        A function without arguments that returns a `pyarrow.Table`.

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
    ...     [read().shape for read in read_pieces(path, ["a"], ["b"])]
    [(2, 2)]
    """
    names = table_columns(path, encoding=encoding)
    wanted = [name for name in names if name in numbers or name in texts]
    if not files.is_text_file(path):
        yield from _arrow_pieces(path, names, wanted, texts)
        return
    separator = files.separator_of(path, encoding=encoding)
    parser = _Parser(path, names, wanted, frozenset(texts), encoding, decimal, separator)
    for block in _blocks(path, encoding, parser.separator):
        yield functools.partial(parser.parse, block)


def table_columns(path: Path, *, encoding: str | None = None) -> list[str]:
    """Names of the columns, as those of the DataFrame that :func:`fewlabel.tables.read_table` returns."""
    written = files.column_names(path, encoding=encoding)
    if files.is_text_file(path):
        written = [name or f"Unnamed: {k}" for k, name in enumerate(written)]
    return distinct(written)


def _arrow_pieces(path: Path, names: list[str], wanted: list[str], texts: Collection[str]) -> Iterator[Reader]:
    is_plain = names == files.column_names(path) and len(wanted) > 0
    columns = wanted if is_plain else None
    categories = [name for name in wanted if name in texts] if is_plain else []
    with files.readable_errors(path):
        for batch in files.arrow_batches(path, _BATCH_ROWS, columns, categories):
            yield functools.partial(_as_table, batch, wanted if is_plain else names)


def _as_table(batch: "pa.RecordBatch", names: list[str]) -> "pa.Table":
    import pyarrow as pa

    return pa.Table.from_batches([batch]).rename_columns(names)


def _blocks(path: Path, encoding: str | None, separator: str) -> Iterator[bytes]:
    """Blocks of whole rows of a text file, without the header."""
    with files.readable_errors(path), files.open_utf8(path, encoding) as file:
        files.read_header(file)
        rest = b""
        # A row that goes on in the next block waits for it.
        while read := file.read(_BYTES):
            block = rest + read
            end = end_of_rows(block, separator) if b'"' in block else block.rfind(b"\n") + 1
            if not end and len(block) > _MOST_BYTES:
                raise files.TableError(f"{path}: a row is longer than {_MOST_BYTES >> 20} MiB: is a quote not closed?")
            rest = block[end:]
            if end:
                yield block[:end]
        if rest:
            yield rest


def end_of_rows(text: bytes, separator: str) -> int:
    """Position after the last line break that ends a row; 0 if no row ends.

    A field is quoted if it starts with a double quote, and a doubled quote in it stands for one.

    Parameters
    ----------
    text : bytes
        Starts with a row.
    separator : str

    Returns
    -------
    int
    """
    characters = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(characters == _QUOTE)
    before = characters[quotes[::2] - 1]
    is_first = quotes[::2] == 0
    may_open = is_first | np.isin(before, [ord(separator), ord("\n"), ord("\r"), _QUOTE])
    if not may_open.all():
        quotes = np.array(files.field_quotes(text, separator.encode()), dtype=np.int64)
    ends = np.flatnonzero(characters == ord("\n"))
    outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return int(outside[-1]) + 1 if len(outside) else 0


class _Parser(NamedTuple):
    """Parses blocks of rows of a text file."""

    path: Path
    names: list[str]
    wanted: list[str]
    texts: Collection[str]
    encoding: str | None
    decimal: str
    separator: str

    def parse(self, rows: bytes) -> "pa.Table":
        """The wanted columns of a block."""
        import pyarrow as pa

        with files.readable_errors(self.path):
            if len(self.names) == 1 and b'"' not in rows:
                rows = _BLANK_LINE.sub(b"", rows)  # to Arrow, spaces are a row of one column
            try:
                return self._read(rows, self.texts)
            except pa.ArrowInvalid:
                # Arrow does not say which column failed, so that all are read as texts first.
                return self._read_texts(rows)

    def _read(self, rows: bytes, texts: Collection[str]) -> "pa.Table":
        import pyarrow as pa
        from pyarrow import csv

        if not rows:
            return pa.table({name: pa.nulls(0, pa.string()) for name in self.wanted})
        is_quoted = b'"' in rows
        category = pa.dictionary(pa.int32(), pa.string())
        form = csv.ReadOptions(
            column_names=self.names,
            use_threads=False,
            # Parts that fit into a cache; but with line breaks in values it takes long to find where a part ends.
            block_size=len(rows) + 1 if is_quoted else _ARROW_BYTES,
        )
        convert = csv.ConvertOptions(
            column_types={name: category if name in texts else pa.float64() for name in self.wanted},
            include_columns=self.wanted,
            null_values=sorted(MISSING),
            strings_can_be_null=True,
            decimal_point=self.decimal,
        )
        fields = csv.ParseOptions(
            delimiter=self.separator, newlines_in_values=is_quoted, invalid_row_handler=_skip_if_blank
        )
        return csv.read_csv(pa.BufferReader(rows), form, fields, convert)

    def _read_texts(self, rows: bytes) -> "pa.Table":
        """The same, if a number does not parse."""
        import pyarrow as pa

        try:
            table = self._read(rows, self.wanted)
        except pa.ArrowInvalid:
            # Texts always parse: a row has another length, and this names its line.
            files.check_lengths(self.path, self.separator, self.encoding)
            raise
        for place, name in enumerate(table.column_names):
            if name not in self.texts:
                table = table.set_column(place, name, self._as_numbers(table[name]))
        return table

    def _as_numbers(self, column: "pa.ChunkedArray") -> "pa.ChunkedArray":
        """Floats if all texts are numbers; otherwise the texts, with a decimal point."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pc.replace_substring(column.cast(pa.string()), self.decimal, ".")
        try:
            return texts.cast(pa.float64())
        except pa.ArrowInvalid:
            return texts


def _skip_if_blank(row) -> str:
    """What Arrow does about a row of another length: pandas skips lines of nothing but spaces, and so do we."""
    return "error" if row.text.strip(" \r\n") else "skip"
