"""Addresses of tables: a path, - for standard input, or the URL of a database; written as text without the password."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode

from fewlabel.exceptions import TableError

FILE = "file"
STDIN = "stdin"
SQLITE = "sqlite"
DUCKDB = "duckdb"
POSTGRESQL = "postgresql"
DATABASES = (SQLITE, DUCKDB, POSTGRESQL)

_URL = re.compile(r"([a-zA-Z][\w.]*)(?:\+\w+)?://(.*)", re.DOTALL)
_ENGINES = {"sqlite": SQLITE, "sqlite3": SQLITE, "duckdb": DUCKDB, "postgresql": POSTGRESQL, "postgres": POSTGRESQL}
_SUFFIXES = {".sqlite": SQLITE, ".sqlite3": SQLITE, ".db": SQLITE, ".duckdb": DUCKDB, ".ddb": DUCKDB}
_SECRET_PARAMETER = re.compile("pass|secret|token", re.IGNORECASE)
# User, password, host and database without characters that a URL writes in another way.
_PLAIN_LOCATION = re.compile(r"([^/@]*@)?[^/@]*(/[^@]*)?")
_PATTERN = frozenset("*?[")
_HIDDEN = "***"


@dataclass(frozen=True, repr=False)
class Address:
    """Where a table is. As text, in messages and in files it is shown without its password.

    Attributes
    ----------
    engine : str
        "file", "stdin", "sqlite", "duckdb" or "postgresql".
    shown : str
        The address without passwords.
    path : Path or None
        The local file, if it is one. It may be a folder or a pattern.

    Examples
    --------
    >>> from fewlabel.addresses import Address
    >>> address = Address.parse("postgresql://me:secret@host/bank")
    >>> print(address)
    postgresql://me@host/bank
    >>> address.without_secrets("no entry for me:secret")
    'no entry for me:***'
    >>> Address.parse("sqlite:///bank.db").path.name
    'bank.db'
    """

    engine: str
    shown: str
    path: Path | None = None
    secrets: tuple[str, ...] = ()
    url: str = ""

    @classmethod
    def parse(cls, written: "str | os.PathLike[str] | Address") -> "Address":
        """Read an address as a user writes it.

        Raises
        ------
        TableError
            If it is the URL of something that is not read.
        """
        if isinstance(written, Address):
            return written
        text = os.fspath(written)
        if text == "-":
            return cls(STDIN, "-")
        match = _URL.fullmatch(text)
        if match is None:
            path = Path(text)
            return cls(_engine_of(path), text, path)
        scheme, rest = match.groups()
        engine = _ENGINES.get(scheme.lower())
        if engine is None:
            raise TableError(
                f"{scheme}:// is not read: expected a file, or an address that starts with sqlite:///, duckdb:/// or "
                "postgresql://"
            )
        if engine == POSTGRESQL:
            return _parse_server(rest)
        # As in SQLAlchemy: three slashes before a path, four if it is absolute.
        path = Path(unquote(rest.partition("?")[0]).removeprefix("/"))
        if path == Path():
            raise TableError(f"{scheme}:// names no file: expected for instance {engine}:///bank.db")
        return cls(engine, f"{engine}:///{path}", path)

    @property
    def is_database(self) -> bool:
        return self.engine in DATABASES

    def paths(self) -> list[Path]:
        """The local files and folders that are there: one, or those that a pattern matches."""
        if self.path is None or self.path.exists() or _PATTERN.isdisjoint(self.shown):
            return [] if self.path is None else [self.path]
        return sorted(Path(self.path.anchor).glob(str(self.path.relative_to(self.path.anchor))))

    def without_secrets(self, message: str) -> str:
        """A message of a driver, without the passwords of this address."""
        for secret in self.secrets:
            message = message.replace(secret, _HIDDEN)
        return message

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def _engine_of(path: Path) -> str:
    """A file, or a database by its ending; .db may be either of two, and its first bytes tell."""
    engine = _SUFFIXES.get(path.suffix.lower(), FILE)
    if engine == SQLITE and path.is_file():
        with open(path, "rb") as file:
            is_duckdb = file.read(12)[8:] == b"DUCK"
        return DUCKDB if is_duckdb else SQLITE
    return engine


def _parse_server(rest: str) -> Address:
    """Split user and password from the rest; both may hold characters that a URL would write in another way."""
    location, _, parameters = rest.partition("?")
    credentials, at, host = location.rpartition("@")
    if _PLAIN_LOCATION.fullmatch(location) is None:
        # A password with / or ? or @ in it: the last @ stands before the host.
        credentials, at, location = rest.rpartition("@")
        host, _, parameters = location.partition("?")
    user, _, password = credentials.partition(":")
    options = parse_qsl(parameters, keep_blank_values=True)
    shown_options = [(name, value) for name, value in options if not _SECRET_PARAMETER.search(name)]
    plain = [unquote(password), *(value for name, value in options if _SECRET_PARAMETER.search(name))]
    secrets = {password, *plain, *(quote(value, safe="") for value in plain)} - {""}
    user = quote(unquote(user), safe="")
    encoded = f":{quote(unquote(password), safe='')}" if password else ""
    return Address(
        POSTGRESQL,
        f"postgresql://{user}{at}{host}{_as_query(shown_options)}",
        # The longest first: one may be a part of another.
        secrets=tuple(sorted(secrets, key=len, reverse=True)),
        url=f"postgresql://{user}{encoded}{at}{host}{_as_query(options)}",
    )


def _as_query(options: list[tuple[str, str]]) -> str:
    return f"?{urlencode(options, quote_via=quote)}" if options else ""
