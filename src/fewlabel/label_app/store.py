"""The answers on disk: an append-only log, each line flushed to the disk before it is acknowledged."""

import csv
import io
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from fewlabel.active.answers import ANSWER, COLUMNS, UNDO
from fewlabel.exceptions import TableError

_HEADER = ",".join(COLUMNS)
_N_ATTEMPTS, _PAUSE = 10, 0.1


class Entry(NamedTuple):
    """One line of the log.

    Attributes
    ----------
    row : str
        Key of the row.
    label : str
        The answer, "" for a row that was skipped.
    action : {"answer", "skip", "undo"}
    time : str
        UTC, ISO 8601.
    how : str
        How the row was chosen.
    probability : str
        The probability with which it was drawn.
    note : str
    """

    row: str
    label: str
    action: str
    time: str
    how: str
    probability: str
    note: str


class AnswerStore:
    """An append-only file of answers, for one process at a time.

    Parameters
    ----------
    path : Path
        Created if it does not exist. A last line that was cut off by a crash, and so was never acknowledged, is
        removed.

    Attributes
    ----------
    entries : list of Entry
        All lines, the oldest first.

    Raises
    ------
    TableError
        If the file is not such a log, or another process has it open.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        try:
            _lock(self._file, self.path)
            self.entries = self._recover()
        except BaseException:
            os.close(self._file)
            raise

    def append(
        self, row: str, label: str, *, action: str = ANSWER, how: str = "", probability: float = 1.0, note: str = ""
    ) -> Entry:
        """Write one line; it is on the disk when this returns."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry = Entry(row, label, action, now, how, repr(float(probability)), " ".join(note.split()))
        self._write(_line(entry))
        self.entries.append(entry)
        return entry

    def latest(self) -> dict[str, Entry]:
        """The last line about each row that was not undone, in the order in which these lines were written."""
        found: dict[str, Entry] = {}
        for entry in self.entries:
            found.pop(entry.row, None)
            if entry.action != UNDO:
                found[entry.row] = entry
        return found

    def close(self) -> None:
        """Close the file, which another process may then open."""
        os.close(self._file)

    def _recover(self) -> list[Entry]:
        """Read the log; remove a last line that is not complete."""
        content = _read_all(self._file)
        *whole, last = content.split(b"\n")
        if last.strip() and _fields(last) is not None:  # an editor removed the line break
            whole, last = [*whole, last], b""
            self._write("\n")
        elif last:
            os.ftruncate(self._file, len(content) - len(last))
            os.lseek(self._file, 0, os.SEEK_END)
        if not any(line.strip() for line in whole):
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            self._write(_HEADER + "\n")
            return []
        found = [_fields(line) for line in whole if line.strip()]
        if found[0] != list(COLUMNS):
            raise TableError(
                f"{self.path} is not a log of `fewlabel label`, whose first line is {_HEADER}: name another file with "
                "--out, and pass this one with --labels"
            )
        bad = [number for number, fields in enumerate(found, start=1) if fields is None]
        if bad:
            raise TableError(f"{self.path}, line {bad[0]}: expected {len(COLUMNS)} fields; correct or remove the line")
        return [Entry(*fields) for fields in found[1:] if fields is not None]

    def _write(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)


def _line(entry: Entry) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(entry)
    return buffer.getvalue()


def _fields(line: bytes) -> list[str] | None:
    """The fields of a line, None if it does not have all of them."""
    try:
        [fields] = csv.reader([line.decode("utf-8-sig").rstrip("\r")], strict=True)
    except (csv.Error, UnicodeDecodeError, ValueError):
        return None
    return fields if len(fields) == len(COLUMNS) else None


def _read_all(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _lock(file: int, path: Path) -> None:
    """Keep other processes from writing to the file; the system releases the lock when this one ends."""
    for _ in range(_N_ATTEMPTS):  # a process that was killed may take a moment to end
        try:
            _try_lock(file)
            return
        except OSError:
            time.sleep(_PAUSE)
    raise TableError(f"{path} is in use by another `fewlabel label`: open its page, or end it first")


def _try_lock(file: int) -> None:
    if os.name == "nt":
        import msvcrt

        os.lseek(file, 0x7FFFFFFF, os.SEEK_SET)  # beyond the end: readers are not affected
        getattr(msvcrt, "locking")(file, getattr(msvcrt, "LK_NBLCK"), 1)  # noqa: B009
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
