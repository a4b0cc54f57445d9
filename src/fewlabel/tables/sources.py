"""Where tables live: files, folders, standard input, Excel sheets, databases; each becomes one local file."""

import csv
import datetime
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fewlabel import files
from fewlabel.addresses import FILE, STDIN, Address
from fewlabel.exceptions import TableError
from fewlabel.text import short, suggest

if TYPE_CHECKING:
    import pandas as pd

SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
# What a file starts with, and the ending of its name; texts have no such mark.
_FIRST_BYTES = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x1f\x8b": ".csv.gz", b"PK\x03\x04": ".xlsx"}
_EXACT_INTEGERS = 2**53


class TableSource(NamedTuple):
    """A table as a local file, while it is open.

    Attributes
    ----------
    path : Path
        The file to read: the one that was named, or a temporary copy.
    name : str
        A short name, for the title of a page.
    origin : str
        Where the rows come from, without passwords.
    encoding : str or None
        Encoding of the file, if it is a text file.
    decimal : str
        Decimal separator of a text file.
    files : tuple of Path
        The local files that were named.
    query : str or None
        The query that gave the rows.
    """

    path: Path
    name: str
    origin: str
    encoding: str | None = None
    decimal: str = "."
    files: tuple[Path, ...] = ()
    query: str | None = None

    def read(self, verbatim: Sequence[str] = ()) -> "pd.DataFrame":
        """The whole table; as :func:`fewlabel.files.read_file`."""
        return files.read_file(self.path, encoding=self.encoding, decimal=self.decimal, verbatim=verbatim)


class TableForm(NamedTuple):
    """Which rows of an address are read, and how a text file is written: the options of :func:`read_table`."""

    query: str | None = None
    table: str | None = None
    sheet: str | None = None
    encoding: str | None = None
    decimal: str = "."


@contextmanager
def open_table(addresses: Any, **options: Any) -> Iterator[TableSource]:
    """Make a local file of a table, wherever it is; a file is taken as it is, all others are copied.

    Memory stays bounded but for Excel sheets. The copy is removed at the end of the block, and errors name the address.

    Parameters
    ----------
    addresses : str, path-like or Address, or a list of them
        A file; several files, a folder or a pattern such as ``data/*.parquet``, whose rows are read one file after
        another; ``-`` for standard input; a workbook; or a database: ``sqlite:///bank.db``, ``duckdb:///bank.duckdb``,
        ``postgresql://user@host/bank``.
    **options
        `query`, `table`, `sheet`, `encoding` and `decimal`, as in :func:`fewlabel.tables.read_table`.

    Yields
    ------
    TableSource

    Raises
    ------
    TableError
        If there is no such table, or a driver is not installed.
    """
    form = TableForm(**options)
    found = check_source(addresses, **options)
    if len(found) == 1 and _is_plain(found[0]):
        path = Path(found[0].shown)
        yield TableSource(path, path.name, str(path), form.encoding, form.decimal, (path,))
        return
    with tempfile.TemporaryDirectory(prefix="fewlabel-") as folder:
        source = _copy(found, Path(folder), form)
        try:
            yield source
        except TableError as error:
            _name_file(source, form)
            raise TableError(str(error).replace(str(source.path), source.origin)) from error


def check_source(addresses: Any, **options: Any) -> list[Address]:
    """The addresses of a table, folders and patterns replaced by their files; nothing is read yet.

    Raises
    ------
    TableError
        If a file is not there, a driver is missing, or an option does not go with the address.
    """
    form = TableForm(**options)
    if isinstance(addresses, (str, Path, Address)):
        addresses = [addresses]
    found = [file for address in addresses for file in _expanded(Address.parse(address))]
    first = found[0]
    if len(found) > 1 and not all(map(_is_plain, found)):
        raise TableError(f"{first} and {found[1]}: only text and Parquet files can be read as one table; name one")
    if form.query is not None and form.table is not None:
        raise TableError("--table and --query name different rows: give one of them")
    if (form.query is not None or form.table is not None) and not first.is_database:
        option = "--table" if form.query is None else "--query"
        raise TableError(f"{option} is for databases, and {first} is none; an address starts with postgresql://")
    if form.sheet is not None and not (first.engine == STDIN or _is_sheet(first.path)):
        raise TableError(f"--sheet is for workbooks ({', '.join(SHEETS)}), and {first} is none")
    for address in found:
        if address.path is not None and not address.path.exists():
            raise TableError(f"there is no file {address.path}: check its name")
    if first.is_database:
        from fewlabel.tables.databases import require_driver

        require_driver(first)
    elif _is_sheet(first.path):
        _require_calamine(first)
    return found


def local_files(addresses: Sequence[Address]) -> list[Path]:
    """The files of a table that is in files, for what reads many of them at once.

    Raises
    ------
    TableError
        If it is somewhere else.
    """
    found = check_source(addresses)
    for address in found:
        if not _is_plain(address):
            raise TableError(f"{address}: --engine dask reads text and Parquet files; leave it out")
    return [Path(address.shown) for address in found]


def read_table(
    address: Any,
    *,
    query: str | None = None,
    table: str | None = None,
    sheet: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
) -> "pd.DataFrame":
    """Read a whole table, from a file or from any other place that the commands read.

    Parameters
    ----------
    address : str, path-like, or a list of them
        A .csv, .tsv (also .gz), .parquet, .feather or .arrow file, several files, a folder or a pattern, a workbook
        such as .xlsx, or a database: ``sqlite:///bank.db``, ``duckdb:///bank.duckdb``, ``postgresql://user@host/bank``.
    query, table : str, default=None
        The rows of a database: those of a query, or of a table or view.
    sheet : str, default=None
        The sheet of a workbook, by default the first.
    encoding, decimal : str
        Encoding of a text file, such as "latin-1", by default UTF-8; its decimal separator.

    Returns
    -------
    DataFrame
        Of columns with the same name, the second is called ``name.1``, and so on.

    Raises
    ------
    TableError
        If the table is not there, empty, damaged or of an unknown format; the message says what to do.

    Examples
    --------
    >>> import os, sqlite3, tempfile
    >>> from contextlib import closing
    >>> from fewlabel.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "bank.db")
    ...     with closing(sqlite3.connect(path)) as bank:
    ...         _ = bank.execute("CREATE TABLE loans AS SELECT 1 AS a, 'x' AS b UNION SELECT 2, NULL")
    ...         bank.commit()
    ...     read_table(f"sqlite:///{path}", table="loans").shape
    (2, 2)
    """
    with open_table(address, query=query, table=table, sheet=sheet, encoding=encoding, decimal=decimal) as source:
        return source.read()


def _expanded(address: Address) -> list[Address]:
    """The files of a folder or of a pattern."""
    if address.engine != FILE:
        return [address]
    found = [Address.parse(file) for path in address.paths() for file in files.files_of(path)]
    if not found:
        raise TableError(f"no file matches {address}: check the pattern")
    return found


def _is_plain(address: Address) -> bool:
    """Whether it is a file that is read as it is."""
    return address.engine == FILE and not _is_sheet(address.path)


def _is_sheet(path: Path | None) -> bool:
    return path is not None and path.suffix.lower() in SHEETS


def _require_calamine(address) -> None:
    if find_spec("python_calamine") is None:
        raise TableError(f"{address} needs python-calamine: run `pip install 'fewlabel[excel]'`")


def _copy(found: list[Address], folder: Path, form: TableForm) -> TableSource:
    first = found[0]
    if first.is_database:
        return _copy_query(first, folder, form)
    if first.engine == STDIN:
        path = _copy_stdin(folder)
        if not _is_sheet(path):
            return TableSource(path, "standard input", "standard input", form.encoding, form.decimal)
        return _copy_sheet(path, folder, form.sheet, "standard input")
    paths = [Path(address.shown) for address in found]
    if len(paths) == 1:
        return _copy_sheet(paths[0], folder, form.sheet, str(paths[0]))._replace(files=(paths[0],))
    return _join_files(paths, folder, form)


def _copy_query(address: Address, folder: Path, form: TableForm) -> TableSource:
    import pyarrow as pa

    from fewlabel.tables.databases import open_query, query_of

    statement = query_of(address, form.table, form.query)
    path = folder / "rows.arrow"
    options = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)
    with open_query(address, statement) as reader, pa.ipc.new_file(path, reader.schema, options=options) as writer:
        for batch in reader:
            writer.write_batch(batch)
    if form.query is not None:
        return TableSource(path, "query", f"{address}, the query", query=statement)
    name = form.table or address.shown.rpartition("/")[2]
    which = f"table {form.table}" if form.table else "its only table"
    return TableSource(path, name, f"{address}, {which}", query=statement)


def _copy_stdin(folder: Path) -> Path:
    """Standard input as a file, whose name ends as its first bytes tell."""
    stream = sys.stdin.buffer
    start = stream.read(8)
    suffix = next((suffix for mark, suffix in _FIRST_BYTES.items() if start.startswith(mark)), ".csv")
    if suffix == ".xlsx":
        _require_calamine("a workbook")
    path = folder / f"rows{suffix}"
    with open(path, "wb") as file:
        file.write(start)
        shutil.copyfileobj(stream, file)
    return path


def _copy_sheet(path: Path, folder: Path, sheet: str | None, origin: str) -> TableSource:
    """A sheet as the text file that a spreadsheet would save, with all digits and with dates as 2024-12-31."""
    from python_calamine import CalamineWorkbook

    with files.readable_errors(path):
        workbook = CalamineWorkbook.from_path(str(path))
    names = workbook.sheet_names
    if sheet is not None and sheet not in names:
        hint = suggest(sheet, names, f"it has {', '.join(map(short, names[:8]))}")
        raise TableError(f"{origin} has no sheet {short(sheet)!r}; {hint}")
    name = sheet or names[0]
    copy = folder / "sheet.csv"
    with files.readable_errors(path), open(copy, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in workbook.get_sheet_by_name(name).to_python():
            cells = [_cell_text(value) for value in row]
            # Rows that only have a format.
            if any(cells):
                writer.writerow(cells)
    return TableSource(copy, path.name, f"{origin}, sheet {short(name)}")


def _cell_text(value) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_INTEGERS:
        return str(int(value))
    if isinstance(value, datetime.timedelta):
        return repr(value.total_seconds())
    return str(value)


def _join_files(paths: list[Path], folder: Path, form: TableForm) -> TableSource:
    """Files of the same columns, one after another."""
    first = paths[0]
    name = f"{first.name} and {len(paths) - 1} more"
    is_text = files.is_text_file(first)
    columns = files.column_names(first, encoding=form.encoding)
    for path in paths[1:]:
        if files.is_text_file(path) != is_text:
            raise TableError(f"of {first} and {path}, one is a text file: name files of one format")
        others = files.column_names(path, encoding=form.encoding)
        if others != columns if is_text else set(others) != set(columns):
            differ = [short(name) for name in {*columns} ^ {*others}] or ["in another order"]
            raise TableError(f"{path} has other columns than {first}: {', '.join(sorted(differ)[:5])}")
    if is_text:
        joined = _join_texts(paths, folder, form.encoding)
        return TableSource(joined, name, name, None, form.decimal, tuple(paths))
    return TableSource(_join_arrow(paths, folder), name, name, files=tuple(paths))


def _join_texts(paths: list[Path], folder: Path, encoding: str | None) -> Path:
    separator = files.separator_of(paths[0], encoding=encoding)
    joined = folder / ("rows.tsv" if separator == "\t" else "rows.csv")
    with open(joined, "wb") as target:
        for path in paths:
            if files.separator_of(path, encoding=encoding) != separator:
                raise TableError(f"{path} has another separator than {paths[0]}: write both alike")
            with files.readable_errors(path), files.open_utf8(path, encoding) as file:
                if path is not paths[0]:
                    files.skip_header(file, separator)
                shutil.copyfileobj(file, target)
                # The last row may not end; a blank line is none.
                target.write(b"\n")
    return joined


def _join_arrow(paths: list[Path], folder: Path) -> Path:
    import pyarrow as pa

    schemas = [files.arrow_schema(path) for path in paths]
    joined = folder / "rows.arrow"
    try:
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowInvalid as error:
        raise TableError(f"{paths[0]} and others have columns of different types: {error}") from error
    schema = pa.schema([pa.field(field.name, _decoded(field.type)) for field in schema])
    with pa.ipc.new_file(joined, schema) as writer:
        for path in paths:
            for batch in files.arrow_batches(path, 2**16, schema.names):
                writer.write_table(pa.Table.from_batches([batch]).select(schema.names).cast(schema))
    return joined


def _decoded(kind) -> Any:
    # Each file has categories of its own, and an Arrow file holds one list of them.
    return kind.value_type if hasattr(kind, "index_type") else kind


def _name_file(source: TableSource, form: TableForm) -> None:
    """Of several text files, raise the error of the one with a row of another length."""
    if len(source.files) > 1 and files.is_text_file(source.path):
        separator = files.separator_of(source.path)
        for path in source.files:
            files.check_lengths(path, separator, form.encoding)
