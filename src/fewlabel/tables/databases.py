"""Tables of SQLite, DuckDB and PostgreSQL: read as Arrow batches, written in one transaction."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from fewlabel.addresses import DUCKDB, POSTGRESQL, SQLITE, Address
from fewlabel.exceptions import TableError
from fewlabel.text import listed, short, suggest

IF_EXISTS = ("fail", "replace", "append")
_BATCH_ROWS = 2**16
_LISTED = 8
_DRIVERS = {DUCKDB: ("duckdb", "duckdb"), POSTGRESQL: ("adbc_driver_postgresql", "adbc-driver-postgresql")}
_LIST_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
)
# What SQLite stores in a column: values of a narrower type can be written as those of a wider one, to the right.
_STORED_TYPES = (pa.null(), pa.int64(), pa.float64(), pa.binary(), pa.string())
_WIDEST_TYPE = (
    "max(CASE typeof({}) WHEN 'integer' THEN 1 WHEN 'real' THEN 2 WHEN 'blob' THEN 3 WHEN 'text' THEN 4 ELSE 0 END)"
)


def require_driver(address: Address) -> None:
    """Raise TableError if the driver of a database is not installed; it is not imported."""
    # Python has SQLite.
    if address.engine not in _DRIVERS:
        return
    module, package = _DRIVERS[address.engine]
    if find_spec(module) is None:
        raise TableError(f"{address} needs {package}: run `pip install 'fewlabel[{address.engine}]'`")


def query_of(address: Address, table: str | None, query: str | None) -> str:
    """The query that reads a table; without a name, the only table of the database.

    Raises
    ------
    TableError
        If there is no such table, or no telling which one is meant.
    """
    if query is not None:
        return query
    with _connected(address) as database:
        names: list[str] = database.tables()
    if table is None and len(names) == 1:
        table = names[0]
    # A table of another schema may be hidden from the list, but not from the query.
    if table is not None and (table in names or "." in table):
        return f"SELECT * FROM {quoted(table)}"
    has = f"it has {listed(map(short, names), _LISTED)}" if names else "it has none"
    if table is None:
        raise TableError(f"{address}: name a table with --table, or rows with --query; {has}")
    raise TableError(f"{address} has no table {short(table)!r}; {suggest(table, names, has)}")


@contextmanager
def open_query(address: Address, query: str) -> Iterator[pa.RecordBatchReader]:
    """The rows of a query, in batches, with columns of types that every reader of Arrow files knows.

    Nothing can be written: a query that tries to is an error.
    """
    with _connected(address) as database:
        reader = database.read(query)
        schema = _plain_schema(reader.schema)
        yield pa.RecordBatchReader.from_batches(schema, (_plain_batch(batch, schema) for batch in reader))


@contextmanager
def table_writer(address: Address, table: str, if_exists: str) -> Iterator[Callable[[pa.Table], None]]:
    """A function that appends rows to a table; they are there once the block ends, all of them or none.

    Parameters
    ----------
    address : Address
    table : str
    if_exists : str
        What to do about a table of that name: "fail", "replace" (it is dropped) or "append".
    """
    with _connected(address, write=True) as database:
        is_there = check_new(database, address, table, if_exists)
        if is_there and if_exists == "replace":
            database.execute(f"DROP TABLE {quoted(table)}")
            is_there = False

        def write(chunk: pa.Table) -> None:
            nonlocal is_there
            database.insert(table, chunk.cast(_plain_schema(chunk.schema)), create=not is_there)
            is_there = True

        yield write
        database.commit()


def check_target(address: Address, table: str, if_exists: str) -> None:
    """Raise TableError if a table cannot be written: before a long run rather than after it."""
    # A file that is not there yet is made when the rows are written.
    if address.path is not None and not address.path.exists():
        return
    with _connected(address) as database:
        check_new(database, address, table, if_exists)


def check_new(database: "_Database", address: Address, table: str, if_exists: str) -> bool:
    """Whether there is such a table; an error if there must not be."""
    name = table.removeprefix(f"{database.schema()}.")
    exists = name in database.tables()
    if exists and if_exists == "fail":
        raise TableError(
            f"{address} has a table {short(table)!r}: name another one, or choose --if-exists replace or append"
        )
    return exists


def quoted(table: str) -> str:
    """A table's name in SQL, with its schema if there is one.

    Examples
    --------
    >>> from fewlabel.tables.databases import quoted
    >>> print(quoted("risk.scores"))
    "risk"."scores"
    """
    return ".".join(_quoted_name(part) for part in table.split("."))


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class _Database:
    """A connection; what was not committed when it is closed is undone.

    A subclass has `read`, the batches of a query, and `insert`, which appends rows to a table or makes it.
    """

    _connection: Any

    def schema(self) -> str:
        """The schema of tables that are named without one."""
        return "main"

    def tables(self) -> list[str]:
        """Names of tables and views, with their schema if it is another one."""
        found = self.execute(_LIST_TABLES).fetchall()
        schema = self.schema()
        return [name if of == schema else f"{of}.{name}" for of, name in found]

    def execute(self, statement: str) -> Any:
        return self._connection.execute(statement)

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        self._connection.close()


@contextmanager
def _connected(address: Address, write: bool = False) -> Iterator[Any]:
    """A connection, whose errors are one line without passwords."""
    require_driver(address)
    engines = {SQLITE: _SQLite, DUCKDB: _DuckDB, POSTGRESQL: _PostgreSQL}
    try:
        with closing(engines[address.engine](address, write)) as database:
            yield database
    except Exception as error:
        # Errors of a disk have a number; Arrow's, which pass on those of a driver, have none.
        is_ours = isinstance(error, (TableError, MemoryError)) or getattr(error, "errno", None) is not None
        if is_ours:
            raise
        reason = " ".join(address.without_secrets(str(error)).split())[:300]
        # The driver's own error may hold the password: it is not kept as the cause.
        raise TableError(f"{address}: {reason}") from None


class _SQLite(_Database):
    """SQLite by Python's own module: it has types per value, and ADBC's driver takes them from the first rows."""

    def __init__(self, address: Address, write: bool) -> None:
        assert address.path is not None
        mode = "rwc" if write else "ro"
        self._connection = sqlite3.connect(
            f"{address.path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None
        )
        # One view of the data for all statements.
        self.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def tables(self) -> list[str]:
        found = self.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
        return [name for (name,) in found if not name.startswith("sqlite_")]

    def read(self, query: str) -> pa.RecordBatchReader:
        # A view has the declared types of the columns of a query.
        self.execute(f"CREATE TEMP VIEW fewlabel_rows AS {query.strip().rstrip(';')}")
        columns = [(name, kind) for _, name, kind, *_ in self.execute("PRAGMA table_info(fewlabel_rows)")]
        types = self._types(columns)
        schema = pa.schema([pa.field(name, kind) for (name, _), kind in zip(columns, types)])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _types(self, columns: Sequence[tuple[str, str]]) -> list[pa.DataType]:
        """Type of each column by the values that it holds; 1 and 0 in a column declared as boolean are booleans."""
        widest = [_WIDEST_TYPE.format(_quoted_name(name)) for name, _ in columns]
        found = self.execute(f"SELECT {', '.join(widest)} FROM fewlabel_rows").fetchone()
        types = []
        for (_, declared), place in zip(columns, found):
            # A table without rows has no widest type.
            kind = _STORED_TYPES[place or 0]
            is_boolean = kind == pa.int64() and "BOOL" in declared.upper()
            types.append(pa.bool_() if is_boolean else kind)
        return types

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        cursor = self.execute("SELECT * FROM fewlabel_rows")
        while rows := cursor.fetchmany(_BATCH_ROWS):
            columns = [_sqlite_column(values, kind) for values, kind in zip(zip(*rows), schema.types)]
            yield pa.record_batch(columns, schema=schema)

    def insert(self, table: str, rows: pa.Table, create: bool) -> None:
        if create:
            columns = [f"{_quoted_name(field.name)} {_sqlite_type(field.type)}" for field in rows.schema]
            self.execute(f"CREATE TABLE {quoted(table)} ({', '.join(columns)})")
        names = ", ".join(map(_quoted_name, rows.column_names))
        places = ", ".join("?" * rows.num_columns)
        values = []
        for column in rows.columns:
            cells = column.to_pylist()
            if _sqlite_type(column.type) == "TEXT":
                cells = [None if cell is None else str(cell) for cell in cells]
            values.append(cells)
        self._connection.executemany(f"INSERT INTO {quoted(table)} ({names}) VALUES ({places})", zip(*values))


def _sqlite_column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if kind == pa.bool_():
        values = [None if value is None else value != 0 for value in values]
    elif kind in (pa.string(), pa.binary()):
        # Arrow writes the texts of a binary column as bytes.
        values = [None if value is None else _sqlite_text(value) for value in values]
    return pa.array(values, kind)


def _sqlite_text(value) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _sqlite_type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "BOOLEAN"
    if pa.types.is_integer(kind):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(kind) else "TEXT"


class _DuckDB(_Database):
    def __init__(self, address: Address, write: bool) -> None:
        import duckdb

        self._connection = duckdb.connect(str(address.path), read_only=not write)
        self._connection.begin()

    def read(self, query: str) -> pa.RecordBatchReader:
        relation = self._connection.sql(query)
        # A statement that returns no rows, such as SET.
        if relation is None:
            raise TableError("--query is no query: expected SELECT ... FROM ...")
        return relation.to_arrow_reader(_BATCH_ROWS)

    def insert(self, table: str, rows: pa.Table, create: bool) -> None:
        self._connection.register("fewlabel_rows", rows)
        if create:
            self.execute(f"CREATE TABLE {quoted(table)} AS SELECT * FROM fewlabel_rows")
        else:
            self.execute(f"INSERT INTO {quoted(table)} BY NAME SELECT * FROM fewlabel_rows")
        self._connection.unregister("fewlabel_rows")


class _PostgreSQL(_Database):
    def __init__(self, address: Address, write: bool) -> None:
        from adbc_driver_postgresql import dbapi

        self._connection = dbapi.connect(address.url)
        self._cursor = self._connection.cursor()
        if not write:
            self.execute("SET TRANSACTION READ ONLY")
            # A scan starts with the first row, rather than where another user's scan is.
            self.execute("SET LOCAL synchronize_seqscans TO off")

    def schema(self) -> str:
        return self.execute("SELECT current_schema()").fetchone()[0]

    def read(self, query: str) -> pa.RecordBatchReader:
        return self.execute(query.strip().rstrip(";")).fetch_record_batch()

    def execute(self, statement: str) -> Any:
        self._cursor.execute(statement)
        return self._cursor

    def insert(self, table: str, rows: pa.Table, create: bool) -> None:
        schema, _, name = table.rpartition(".")
        mode = "create" if create else "append"
        self._cursor.adbc_ingest(name, rows, mode=mode, db_schema_name=schema or None)

    def close(self) -> None:
        self._cursor.close()
        super().close()


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, _plain_type(field.type)) for field in schema])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The type as which a column is kept: exact numbers as floats, extension types as texts."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_decimal(kind):
        return pa.float64()
    if not isinstance(kind, pa.BaseExtensionType):
        return kind
    type_name = getattr(kind, "type_name", "")
    if type_name == "numeric":
        return pa.float64()
    # PostgreSQL sends the values of its enumerations, whose types have no name here, as bytes of their texts.
    is_text = type_name.startswith("unnamed") or kind.extension_name in ("arrow.uuid", "arrow.json")
    return pa.string() if is_text else kind.storage_type


def _plain_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [_plain_column(column, kind) for column, kind in zip(batch.columns, schema.types)]
    return pa.record_batch(columns, schema=schema)


def _plain_column(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    if getattr(column.type, "extension_name", "") == "arrow.uuid":
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], kind)
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    # By their digits: decimal numbers become the nearest float, as those of a text file do.
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())
    return column.cast(kind)
