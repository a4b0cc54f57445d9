"""Files: tables read from CSV, TSV, Parquet, Arrow and Feather; atomic writes."""

import codecs
import contextlib
import csv
import datetime
import gzip
import hashlib
import io
import itertools
import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fewlabel.exceptions import TableError
from fewlabel.text import distinct

if TYPE_CHECKING:
    import pandas as pd

_TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET, _ARROW = (".parquet", ".pq"), (".feather", ".arrow", ".ipc")
_SEPARATORS = ",;\t|"
_UTF8 = "utf-8-sig"  # with or without the byte order mark that spreadsheets write
_END = "\0fewlabel\0"  # follows the last line of a text file: inside of a row, a quote is open
_DAYS = (datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 31))
# What pandas reads as a missing value in a text file.
MISSING = frozenset(
    "#N/A,#N/A N/A,#NA,-1.#IND,-1.#QNAN,-NaN,-nan,1.#IND,1.#QNAN,<NA>,N/A,NA,NULL,NaN,None,n/a,nan,null".split(",")  # noqa: SIM905
) | {""}
AnyPath = str | os.PathLike[str]
_LONGEST_FIELD = 2**30
_limit_lock = threading.Lock()
_limits_before: list[int] = []  # one per reader; the first is the limit of the process


def read_file(
    path: AnyPath, *, encoding: str | None = None, decimal: str = ".", verbatim: Sequence[str] = ()
) -> "pd.DataFrame":
    """Read the table in one text, Parquet, Feather or Arrow file; all else as :func:`fewlabel.tables.read_table`.

    Columns in `verbatim` of a text file are texts exactly as they are written: an empty cell is "", "NA" stays "NA".
    """
    import pandas as pd

    path = Path(path)
    kind = _kind(path)
    if kind in _TEXT:
        with readable_errors(path):
            separator = separator_of(path, encoding=encoding)
            check_lengths(path, separator, encoding)
            options: dict[str, Any] = {"sep": separator, "decimal": decimal, "encoding": encoding or _UTF8}
            # A column is of one type in all its rows, and the first one is never an index.
            options |= {"index_col": False, "low_memory": False}
            if verbatim:
                # pandas has a switch for all columns, and a list of missing values for each: the switch is off.
                names = pd.read_csv(path, nrows=0, **options).columns
                missing = {name: list(MISSING) for name in names if name not in verbatim}
                options |= {"keep_default_na": False, "na_values": missing, "dtype": dict.fromkeys(verbatim, str)}
            table = pd.read_csv(path, **options)
    else:
        with readable_errors(path):
            table = as_frame(_arrow_table(path))
    if len(table) == 0 or table.shape[1] == 0:
        raise TableError(f"{path} has no rows: expected a line of column names and rows below it")
    table.columns = table.columns.map(str)
    return table


def column_names(path: AnyPath, *, encoding: str | None = None) -> list[str]:
    """Return the column names as they stand in the file, duplicates included; `encoding` as in :func:`read_file`."""
    path = Path(path)
    with readable_errors(path):
        if is_text_file(path):
            return _written_names(path, separator_of(path, encoding=encoding), encoding)
        return list(arrow_schema(path).names)


def has_rows(path: AnyPath) -> bool:
    """Whether a text file has a row below its column names."""
    path = Path(path)
    with readable_errors(path):
        return sum(1 for _ in _text_rows(path, separator_of(path))) > 1


def files_of(path: AnyPath) -> list[Path]:
    """The text and Parquet files of a folder, by name; of a file, the file itself.

    Raises
    ------
    TableError
        If a folder has no such file.
    """
    path = Path(path)
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix.lower() in (*_PARQUET, *_TEXT, ".gz"))
    if not found:
        raise TableError(f"{path} has no .parquet, .csv or .tsv file: name another folder, or the files")
    return found


def separator_of(path: AnyPath, *, encoding: str | None = None) -> str:
    """Return the separator of a text file; `encoding` as in :func:`read_file`."""
    path = Path(path)
    kind = _kind(path)
    if kind != ".csv":
        return _TEXT[kind]
    # Spreadsheets of many countries write .csv files with semicolons.
    with readable_errors(path):
        return max(_SEPARATORS, key=lambda one: (len(_written_names(path, one, encoding)), one == ","))


def is_text_file(path: AnyPath) -> bool:
    """Whether a table is stored as text, without types."""
    return _kind(Path(path)) in _TEXT


def _kind(path: Path) -> str:
    kind = path.suffix.lower()
    is_compressed = kind == ".gz"
    if is_compressed:
        kind = Path(path.stem).suffix.lower()
    # Arrow reads the other formats at random, which gzip does not allow.
    if kind in _TEXT or (kind in (*_PARQUET, *_ARROW) and not is_compressed):
        return kind
    raise TableError(f"{path}: tables are read from .csv, .tsv (also .gz), .parquet, .feather and .arrow files")


@contextlib.contextmanager
def readable_errors(path: AnyPath) -> Iterator[None]:
    """Turn the exceptions of the readers into one line that says what is wrong with the file."""
    try:
        yield
    except gzip.BadGzipFile as error:
        raise TableError(f"{path} is not a gzip file: rename it without .gz, or compress it") from error
    # These say what is wrong as they are; all that follow are the readers' own.
    except (TableError, OSError, MemoryError):
        raise
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path}{_damaged_line(path)} is not {error.encoding.upper()} text: name its encoding, for instance "
            "--encoding latin-1 (encoding='latin-1' in Python), or save it as UTF-8"
        ) from error
    except ImportError as error:
        raise TableError(f"{path}: reading it needs pyarrow: run `pip install pyarrow`") from error
    except Exception as error:
        if type(error).__name__ == "EmptyDataError":  # pandas'
            raise TableError(f"{path} is empty: expected a line of column names and rows below it") from error
        if isinstance(error, LookupError) and "encoding" in str(error):
            raise TableError(f"{error}: expected a name such as utf-8, latin-1, cp1252 or utf-16") from error
        reason = " ".join(str(error).split())[:200]
        raise TableError(f"{path} cannot be read as a table: {reason}") from error


def _damaged_line(path):
    """The first line that is not UTF-8, for a message."""
    with open_utf8(path, None) as file:
        for number, line in enumerate(file, start=1):
            if line != line.decode("utf-8", "ignore").encode():
                return f", line {number},"
    return ""


@contextlib.contextmanager
def open_utf8(path: Path, encoding: str | None) -> Iterator[Any]:
    """Open a text file for reading its lines as UTF-8, without a byte order mark, whatever its encoding."""
    with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb") as file:
        if encoding is not None and codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig"):
            yield io.BufferedReader(_Recoded(file, encoding))
            return
        if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            file.seek(0)
        yield file


class _Recoded(io.RawIOBase):
    """A text file of another encoding, read as UTF-8."""

    def __init__(self, file, encoding):
        # Of \r\n both characters are kept.
        self._text = io.TextIOWrapper(file, encoding=encoding, newline="\n")

    def readable(self):
        return True

    def readinto(self, buffer):
        # A character has up to four bytes.
        content = self._text.read(len(buffer) // 4).encode()
        buffer[: len(content)] = content
        return len(content)


@contextlib.contextmanager
def long_fields() -> Iterator[None]:
    """Let `csv` read fields of up to 1 GiB: by default it refuses those of more than 128 KiB.

    The limit is one of the whole process, so the last reader of all threads restores it.
    """
    with _limit_lock:
        _limits_before.append(csv.field_size_limit(_LONGEST_FIELD))
    try:
        yield
    finally:
        with _limit_lock:
            csv.field_size_limit(_limits_before.pop())


def skip_header(file: IO[bytes], separator: str) -> None:
    """Read the first row of a text file, with the line breaks in quoted names."""
    with long_fields():
        next(csv.reader(map(bytes.decode, file), delimiter=separator))


def _written_names(path: Path, separator: str, encoding: str | None) -> list[str]:
    for line, names in _text_rows(path, separator, encoding):
        if line == 1:
            return names
        break
    raise TableError(f"{path} is empty: expected a line of column names and rows below it")


def _text_rows(path: Path, separator: str, encoding: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Rows of a text file, without blank lines, and the line in which each of them starts."""
    line = 1
    with long_fields(), open_utf8(path, encoding) as file:
        lines = itertools.chain(map(bytes.decode, file), [_END])
        rows = csv.reader(lines, delimiter=separator)
        try:
            for row in rows:
                is_blank = len(row) < 2 and not "".join(row).strip()
                if row == [_END]:
                    return
                if row and row[-1].endswith(_END):
                    raise TableError(f"{path}, line {line}: a double quote that opens a field is not closed")
                if not is_blank:
                    yield line, row
                line = rows.line_num + 1
        except csv.Error as error:
            raise TableError(
                f"{path}, line {line}: a carriage return inside of the row, which some programs take for its end: put "
                "the field in double quotes, or save the file with line feeds"
            ) from error


def check_lengths(path: Path, separator: str, encoding: str | None = None) -> None:
    """Refuse a row with more or fewer fields than the header: pandas would shift or fill it without a word."""
    rows = _text_rows(path, separator, encoding)
    _, names = next(rows, (1, []))
    for line, row in rows:
        extra = len(row) - len(names)
        if extra:
            hint = "a separator at the end of each row?" if extra == 1 else "a damaged or unquoted row?"
            raise TableError(
                f"{path}, line {line}: {len(row)} fields, but the header has {len(names)} ({hint}): give each row one "
                "field per column, and put fields that hold a separator in double quotes"
            )


def arrow_schema(path: Path) -> Any:
    """Names and types of the columns of a Parquet, Feather or Arrow file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if _kind(path) in _PARQUET:
        return pq.read_schema(path)
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).schema


def _arrow_table(path):
    import pyarrow.feather
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).read() if _kind(path) in _PARQUET else pyarrow.feather.read_table(path)


def arrow_batches(path: Path, rows: int, columns: Sequence[str] | None = None, categories: Sequence[str] = ()) -> Any:
    """Iterate over the batches of a Parquet, Feather or Arrow file.

    Parameters
    ----------
    path : Path
    rows : int
        Most rows of a batch of a Parquet file; the batches of the other files are as they were written.
    columns : sequence of str, default=None
        The columns to read; by default all of them.
    categories : sequence of str, default=()
        Columns of a Parquet file whose texts to read as categories.

    Yields
    ------
    pyarrow.RecordBatch
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if _kind(path) in _PARQUET:
        # With pre_buffer, Arrow reads the whole file before the first batch.
        with pq.ParquetFile(path, read_dictionary=list(categories), pre_buffer=False) as file:
            yield from file.iter_batches(batch_size=rows, columns=columns)
        return
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        for i in range(reader.num_record_batches):
            batch = reader.get_batch(i)
            yield batch if columns is None else batch.select(columns)


def as_frame(table: Any) -> "pd.DataFrame":
    """An Arrow table or batch as a DataFrame; of columns with the same name, the second is called ``name.1``."""
    frame = _dated(table).to_pandas()
    frame.columns = distinct(frame.columns.map(str))
    return frame


def _dated(table):
    """The table with gaps for moments of a time zone outside the years 1 to 9999, which pandas cannot write."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            moments = table.column(place)
            # A day from either end, as the clock of the zone is up to a day away.
            first, last = (pa.scalar(day, pa.timestamp("s")).cast(field.type) for day in _DAYS)
            known = pc.and_(pc.greater_equal(moments, first), pc.less(moments, last))
            table = table.set_column(place, field, pc.if_else(known, moments, None))
    return table


def sha256(path: AnyPath) -> str:
    """Digest of a file, as `sha256sum` prints it."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: AnyPath, text: str) -> None:
    """Write a text file as UTF-8, atomically."""
    with atomic_write(path) as file:
        file.write(text.encode())


@contextlib.contextmanager
def atomic_write(path: AnyPath) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name once it is complete, or not at all.

    The bytes go to a temporary file in the same folder, are flushed to the disk, and the file is renamed. If the
    block fails, the temporary file is removed and an older file of that name is untouched.

    Parameters
    ----------
    path : str or path-like
        The file's name. Its folder must exist.

    Yields
    ------
    binary file

    Examples
    --------
    >>> import os, tempfile
    >>> from fewlabel.files import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(os.path.join(folder, "note.txt")) as file:
    ...         _ = file.write(b"whole")
    ...     os.listdir(folder)
    ['note.txt']
    """
    if os.path.exists(path) and not os.path.isfile(path):
        # A folder raises the usual error; a device or a pipe cannot be replaced: write to it directly.
        with open(path, "wb") as file:
            yield file
        return
    # Follow a symbolic link, so that the link itself stays.
    target = Path(os.path.realpath(path))
    temporary = beside(target)
    try:
        with open(temporary, "xb") as file:
            if target.exists():
                os.chmod(temporary, target.stat().st_mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def beside(target):
    """A name for a temporary file in the folder of another, which it can replace."""
    return target.with_name(f".fewlabel-{secrets.token_hex(8)}.tmp")


def sync_folder(folder):
    """Flush the new name to the disk, too, on systems that can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
