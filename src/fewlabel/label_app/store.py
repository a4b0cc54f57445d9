"""The answers on disk: a log, and a second copy beside it for the time that the page is open.

An answer is acknowledged once it is in the copy, flushed to the disk. It is then written to the log, which other
programs may delete, replace or edit meanwhile; the log is brought up to date at the next chance, and by the next start
after a crash. The copy is removed when the page is closed and the log has every answer.
"""

import contextlib
import csv
import io
import os
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from fewlabel.active.answers import ANSWER, COLUMNS, UNDO, guarded, one_line, recovery_file, unguarded
from fewlabel.exceptions import TableError
from fewlabel.files import atomic_write, long_fields

_HEADER = ",".join(COLUMNS)
# Before there were labelers.
_EARLIER_COLUMNS = COLUMNS[:-1]
# Stamp of a file that has to be read again: equal to no other.
_UNKNOWN = ()
_N_ATTEMPTS = 10
_PAUSE = 0.1


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
    labeler : str
        Who answered, "" if nobody was named.
    """

    row: str
    label: str
    action: str
    time: str
    how: str
    probability: str
    note: str
    labeler: str = ""

    @property
    def chance(self) -> float:
        """The probability as a number; 1 if somebody has edited the line."""
        try:
            return float(self.probability)
        except ValueError:
            return 1.0


class AnswerStore:
    """A log of answers, for one process at a time.

    Parameters
    ----------
    path : Path
        Created if it does not exist. Answers in the recovery file of a process that was killed are added to it. A last
        line that was cut off by a crash, and so was never acknowledged, is removed.

    Attributes
    ----------
    entries : list of Entry
        All acknowledged lines, the oldest first.
    latest : dict
        The last of them about each row, by row, unless it was undone; in the order in which they were written.
    recovery : Path
        The second copy, beside the log.
    problem : str
        What happened to the log since the last answer that reached it undisturbed, "" if nothing did.

    Raises
    ------
    TableError
        If the file is not such a log, or another process has it open. Nothing is then written to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.recovery = recovery_file(self.path)
        self.entries: list[Entry] = []
        self.latest: dict[str, Entry] = {}
        self.problem = ""
        # The log when it was last seen; None before it was.
        self._stamp: tuple[int, ...] | None = None
        self._n_in_log = 0
        self._recovery_size = 0
        self._recovery_file = _open_locked(self.recovery, self.path)
        try:
            self._start()
        except BaseException:
            if os.fstat(self._recovery_file).st_size == 0:
                self.recovery.unlink()
            os.close(self._recovery_file)
            raise

    def append(
        self,
        row: str,
        label: str,
        *,
        action: str = ANSWER,
        how: str = "",
        probability: float = 1.0,
        note: str = "",
        labeler: str = "",
    ) -> Entry:
        """Write one line; it is on the disk when this returns, in the log or, if `problem` says so, beside it.

        Raises
        ------
        OSError
            If it can be written nowhere. No part of it is then left.
        """
        texts = (one_line(how), repr(float(probability)), one_line(note), one_line(labeler))
        entry = Entry(row, label, action, self._next_time(), *texts)
        self._append_to_recovery(entry)
        self._add(entry)
        self.problem = ""
        self.check()
        return entry

    def check(self) -> None:
        """Bring the log up to date if another program changed it or it could not be written before."""
        try:
            self._update_log()
        except (OSError, TableError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.problem = (
                f"{self.path} cannot be written: {reason}. All {len(self.entries)} lines so far are kept in "
                f"{self.recovery}, and are added to it as soon as possible."
            )

    def close(self) -> None:
        """Release the log, which another process may then open; the copy goes if the log has every answer."""
        self.check()
        is_complete = self._n_in_log == len(self.entries) and _stamp(self.path) == self._stamp
        # Before the lock is released: another process might take the file, and lose it.
        if is_complete and os.name != "nt":
            self.recovery.unlink(missing_ok=True)
        os.close(self._recovery_file)
        # The system gives the number to the next file that is opened.
        self._recovery_file = -1
        if is_complete:
            with contextlib.suppress(OSError):
                self.recovery.unlink(missing_ok=True)

    def _start(self) -> None:
        copied = _read_copy(self._recovery_file)
        logged = _read_log(self.path, copied).entries
        for entry in _merge(copied, logged):
            self._add(entry)
        self._update_log()
        n_restored = len(self.entries) - len(logged)
        if n_restored:
            self.problem = f"{n_restored} answers that {self.path} did not have were restored from {self.recovery}."
        # Not earlier: a process that is killed in the next two lines has lost the copy.
        os.ftruncate(self._recovery_file, 0)
        self._rewrite_recovery()

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.latest.pop(entry.row, None)
        if entry.action != UNDO:
            self.latest[entry.row] = entry

    def _next_time(self) -> str:
        """The time, later than that of all lines: with the row and the action it identifies a line."""
        now = datetime.now(UTC)
        # There may be no line, or somebody may have edited it.
        with contextlib.suppress(IndexError, ValueError, TypeError):
            last = datetime.fromisoformat(self.entries[-1].time)
            now = max(now, last + timedelta(milliseconds=1))
        return now.isoformat(timespec="milliseconds")

    def _append_to_recovery(self, entry: Entry) -> None:
        if not _is_named(self._recovery_file, self.recovery):
            new_file = _open_locked(self.recovery, self.path)
            os.close(self._recovery_file)
            self._recovery_file = new_file
            self._rewrite_recovery()
        elif os.fstat(self._recovery_file).st_size != self._recovery_size:
            # Somebody wrote to it.
            self._rewrite_recovery()
        self._recovery_size = _append(self._recovery_file, _lines([entry]))

    def _rewrite_recovery(self) -> None:
        """Write all lines, after whatever the file holds: reading it skips repeated and broken lines."""
        start = "" if os.fstat(self._recovery_file).st_size == 0 else "\n"
        self._recovery_size = _append(self._recovery_file, f"{start}{_HEADER}\n".encode() + _lines(self.entries))

    def _update_log(self) -> None:
        for _ in range(_N_ATTEMPTS):
            if _stamp(self.path) != self._stamp or self._stamp is None:
                self._repair_log()
            elif self._n_in_log < len(self.entries):
                self._append_to_log()
            else:
                return
        raise TableError("other programs keep changing it")

    def _append_to_log(self) -> None:
        file = os.open(self.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        try:
            size = _append(file, _lines(self.entries[self._n_in_log :]))
            written = os.fstat(file)
            # The name may point to another file by now, and somebody else may have written to this one.
            is_ours = _is_named(file, self.path) and written.st_size == size
            self._stamp = _stamp_of(written) if is_ours else _UNKNOWN
            self._n_in_log = len(self.entries)
        finally:
            os.close(file)

    def _repair_log(self) -> None:
        """Write the lines that the log lacks to their places; what others wrote into it stays."""
        is_start = self._stamp is None
        # Also if this fails and the old file comes back: it may lack lines.
        self._stamp = _UNKNOWN
        stamp = _stamp(self.path)
        log = _read_log(self.path, self.entries)
        wanted = _merge(self.entries, log.entries)
        if wanted != log.entries or not log.is_whole:
            with atomic_write(self.path) as file:
                if stamp is None:
                    os.chmod(file.name, 0o600)
                file.write(f"{_HEADER}\n".encode() + _lines(wanted))
                file.flush()
                written = _stamp_of(os.fstat(file.fileno()))
            if not is_start:
                happened = "deleted" if stamp is None else "changed by another program"
                self.problem = (
                    f"{self.path} was {happened} while the page was open. It has been written again, with the "
                    f"{len(wanted) - len(log.entries)} lines that it lacked."
                )
            stamp = written
        self._stamp = stamp
        self._n_in_log = len(self.entries)


class _Log(NamedTuple):
    """The lines of a log, and whether more can be appended: no line is cut off, and no column is missing."""

    entries: list[Entry]
    is_whole: bool


def _read_log(path: Path, ours: Iterable[Entry]) -> _Log:
    """Read a log that others may have written to; `ours` are the lines that are known to belong to it."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = b""
    if not content:
        return _Log([], False)
    *lines, last = content.split(b"\n")
    header = tuple(_fields(lines[0] if lines else last) or ())
    if header not in (COLUMNS, _EARLIER_COLUMNS):
        raise TableError(
            f"{path} is not a log of `fewlabel label`, whose first line is {_HEADER}: name another file with --out, "
            "and pass this one with --labels"
        )
    entries = []
    for number, line in enumerate(lines[1:], start=2):
        entry = _entry(line, len(header))
        if entry is not None:
            entries.append(entry)
        elif line.strip():
            raise TableError(f"{path}, line {number}: expected {len(header)} fields; correct or remove the line")
    # A last line without a line break: cut off by a crash, even if all fields are there, or saved so by an editor.
    entry = _entry(last, len(header))
    if lines and entry is not None and _identity(entry) not in map(_identity, ours):
        entries.append(entry)
    return _Log(entries, last == b"" and header == COLUMNS)


def _read_copy(file: int) -> list[Entry]:
    """The lines of a recovery file, each once."""
    os.lseek(file, 0, os.SEEK_SET)
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    found = {}
    for line in b"".join(parts).split(b"\n"):
        entry = _entry(line, len(COLUMNS))
        if entry is not None and tuple(entry) != COLUMNS:
            found[_identity(entry)] = entry
    return list(found.values())


def _merge(ours: Sequence[Entry], theirs: Sequence[Entry]) -> list[Entry]:
    """Their lines, with those that only we have behind their predecessors: the last line about a row counts."""
    place = {_identity(entry): k for k, entry in enumerate(theirs)}
    merged: list[Entry] = []
    n_taken = 0
    for entry in ours:
        position = place.get(_identity(entry))
        if position is None:
            merged.append(entry)
        elif position >= n_taken:
            merged += theirs[n_taken : position + 1]
            n_taken = position + 1
    return merged + list(theirs[n_taken:])


def _identity(entry: Entry) -> tuple[str, str, str]:
    return entry.row, entry.action, entry.time


def _lines(entries: Iterable[Entry]) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for entry in entries:
        writer.writerow([guarded(text) for text in entry])
    return buffer.getvalue().encode()


def _entry(line: bytes, n_fields: int) -> Entry | None:
    """The entry of a line, None if the line does not have all of its fields."""
    fields = _fields(line)
    if fields is None or len(fields) != n_fields:
        return None
    return Entry(*(unguarded(text) for text in fields))


def _fields(line: bytes) -> list[str] | None:
    try:
        with long_fields():
            [fields] = csv.reader([line.decode("utf-8-sig").rstrip("\r")], strict=True)
    except (csv.Error, UnicodeDecodeError, ValueError):
        return None
    return fields


def _stamp(path: Path) -> tuple[int, ...] | None:
    """What changes if a file is replaced or written to; None if there is none."""
    try:
        return _stamp_of(os.stat(path))
    except FileNotFoundError:
        return None


def _stamp_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _is_named(file: int, path: Path) -> bool:
    """Whether the name still points to the open file."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _append(file: int, data: bytes) -> int:
    """Write to the end of a file and flush it to the disk, all or nothing; returns the new size."""
    size = os.lseek(file, 0, os.SEEK_END)
    try:
        rest = data
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    except BaseException:
        os.ftruncate(file, size)
        raise
    return size + len(data)


def _open_locked(path: Path, log: Path) -> int:
    """Open a file that no other process has open; the system releases it when this one ends."""
    # A process that was killed may take a moment to end.
    for _ in range(_N_ATTEMPTS):
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        with contextlib.suppress(OSError):
            _lock(file)
            # Else the other process removed it while this one waited.
            if _is_named(file, path):
                return file
        os.close(file)
        time.sleep(_PAUSE)
    raise TableError(f"{log} is in use by another `fewlabel label`: open its page, or end it first")


def _lock(file: int) -> None:
    if os.name == "nt":
        import msvcrt

        # A byte beyond the end: readers are not affected.
        os.lseek(file, 0x7FFFFFFF, os.SEEK_SET)
        getattr(msvcrt, "locking")(file, getattr(msvcrt, "LK_NBLCK"), 1)  # noqa: B009
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
