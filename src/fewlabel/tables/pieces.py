"""A table read piece by piece, each of them in any thread, as fast as Arrow parses it."""

import contextlib
import functools
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fewlabel import files
from fewlabel.files import MISSING
from fewlabel.text import distinct

if TYPE_CHECKING:
    import pyarrow as pa

_BYTES = 2**24  # of a piece of a text file; no row is longer
_BATCH_ROWS = 2**16  # of a piece of a Parquet file

Reader = Callable[[], "pa.Table"]


def read_pieces(
    path: Path,
    numbers: Collection[str],
    texts: Collection[str],
    *,
    encoding: str | None = None,
    decimal: str = ".",
    rows: int = 1,
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
    rows : int, default=1
        All pieces but the last have a multiple of this many rows.

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
    if files.is_text_file(path):
        for table in _whole_blocks(_text_batches(path, names, wanted, encoding), rows):
            yield functools.partial(_with_numbers, table, texts, decimal)
    else:
        yield from _arrow_pieces(path, names, wanted, texts, rows)


def table_columns(path: Path, *, encoding: str | None = None) -> list[str]:
    """Names of the columns, as those of the DataFrame that :func:`fewlabel.tables.read_table` returns."""
    written = files.column_names(path, encoding=encoding)
    if files.is_text_file(path):
        written = [name or f"Unnamed: {k}" for k, name in enumerate(written)]
    return distinct(written)


def _whole_blocks(batches: Iterable["pa.RecordBatch"], rows: int) -> Iterator["pa.Table"]:
    """The same rows in tables of a multiple of `rows` rows, but for the last one."""
    import pyarrow as pa

    rest = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        if rest is not None:
            table = pa.concat_tables([rest, table])
        n_whole = len(table) // rows * rows
        if n_whole:
            yield table.slice(0, n_whole)
        rest = table.slice(n_whole)
    if rest is not None and len(rest):
        yield rest


def _arrow_pieces(
    path: Path, names: list[str], wanted: list[str], texts: Collection[str], rows: int
) -> Iterator[Reader]:
    is_plain = names == files.column_names(path) and len(wanted) > 0
    columns = wanted if is_plain else None
    categories = [name for name in wanted if name in texts] if is_plain else []
    with files.readable_errors(path):
        for table in _whole_blocks(files.arrow_batches(path, _BATCH_ROWS, columns, categories), rows):
            yield functools.partial(_as_table, table, wanted if is_plain else names)


def _as_table(table: "pa.Table", names: list[str]) -> "pa.Table":
    columns = []
    for column in table.columns:
        # Rows of two batches have the categories of both, of which the few rows of the first hold few.
        if hasattr(column.type, "index_type") and column.num_chunks > 1:
            column = column.cast(column.type.value_type).dictionary_encode()
        columns.append(column)
    return type(table).from_arrays(columns, names)


def _text_batches(path: Path, names: list[str], wanted: list[str], encoding: str | None) -> Iterator["pa.RecordBatch"]:
    """The wanted columns of a text file as texts."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    separator = files.separator_of(path, encoding=encoding)
    blocks = csv.ReadOptions(column_names=names, use_threads=False, block_size=_BYTES)
    fields = csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=_skip_if_blank)
    # A number that does not parse would end the file: `_with_numbers` reads them.
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(wanted, pa.string()),
        include_columns=wanted,
        null_values=sorted(MISSING),
        strings_can_be_null=True,
    )
    with files.readable_errors(path), files.open_utf8(path, encoding) as file:
        files.skip_header(file, separator)
        try:
            for batch in csv.open_csv(file, blocks, fields, convert):
                if len(names) == 1 and wanted:
                    # To Arrow, spaces are a row of one column.
                    trimmed = pc.utf8_trim_whitespace(batch.column(0))
                    batch = batch.filter(pc.not_equal(trimmed, "").fill_null(True))
                yield batch
        except pa.ArrowInvalid as error:
            if "Empty CSV file" in str(error):
                return
            # Texts always parse: a row has another length, and this names its line.
            files.check_lengths(path, separator, encoding)
            raise


def _with_numbers(table: "pa.Table", texts: Collection[str], decimal: str) -> "pa.Table":
    """Texts as categories; the other columns as floats if all cells are numbers, otherwise with a decimal point."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {}
    for name, column in zip(table.column_names, table.columns):
        if name in texts:
            column = column.dictionary_encode()
        else:
            column = column if decimal == "." else pc.replace_substring(column, decimal, ".")
            with contextlib.suppress(pa.ArrowInvalid):
                column = column.cast(pa.float64())
        columns[name] = column
    return pa.table(columns)


def _skip_if_blank(row) -> str:
    """What Arrow does about a row of another length: pandas skips lines of nothing but spaces, and so do we."""
    return "error" if row.text.strip(" \r\n") else "skip"
