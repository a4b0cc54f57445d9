"""Sets of files that belong together: replaced as one, also if the process is killed while it replaces them."""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from fewlabel.files import AnyPath, beside, sync_folder

_JOURNAL = ".fewlabel-set.json"
_TEMPORARY = re.compile(r"\.fewlabel-[0-9a-f]{16}\.tmp")


class _Change(NamedTuple):
    """One file of a set: the new one, its place, a second name of the old one, and whether there was an old one."""

    draft: Path
    target: Path
    backup: Path
    is_new: bool


@contextlib.contextmanager
def atomic_set(*paths: AnyPath) -> Iterator[list[Path]]:
    """Replace several files together: those of the old set stay until all of the new one are written.

    If the block, or replacing a file, fails or is interrupted, the old files are in their places. If the process is
    killed (or the machine stops) between the first and the last file, a journal beside them says so, and `restore_set`
    puts the old files back.

    Parameters
    ----------
    *paths : str or path-like
        The files. Their folders must exist. The journal needs all of them to be in one folder.

    Yields
    ------
    list of Path
        Where to write the new files, in the order of `paths`.

    Examples
    --------
    >>> import os, tempfile
    >>> from pathlib import Path
    >>> from fewlabel.file_sets import atomic_set
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_set(Path(folder, "a.txt"), Path(folder, "b.txt")) as (first, second):
    ...         _ = first.write_text("1"), second.write_text("2")
    ...         before = len([name for name in os.listdir(folder) if not name.startswith(".")])
    ...     before, sorted(os.listdir(folder))
    (0, ['a.txt', 'b.txt'])
    """
    targets = [Path(os.path.realpath(path)) for path in paths]  # a symbolic link itself stays
    for target in targets:
        if target.exists() and not target.is_file():
            raise OSError(f"{target} is not a file: a folder or a device cannot be replaced")
        restore_set(target.parent)
    changes = [_Change(beside(target), target, beside(target), not target.exists()) for target in targets]
    try:
        yield [change.draft for change in changes]
        _replace_all(changes)
    finally:
        for change in changes:
            change.draft.unlink(missing_ok=True)
            change.backup.unlink(missing_ok=True)
    for folder in {target.parent for target in targets}:
        sync_folder(folder)


def restore_set(folder: AnyPath) -> None:
    """Put the old files back if a process was killed while it replaced a set of files in this folder.

    Parameters
    ----------
    folder : str or path-like
        Nothing happens if no set was left half replaced, another process is replacing one, or the folder cannot be
        written.
    """
    path = Path(folder, _JOURNAL)
    if not path.exists():
        return
    with contextlib.suppress(OSError, ValueError, TypeError), open(path, "rb") as journal:
        _lock(journal)  # an error if its process is still at work
        for draft, target, backup, is_new in json.load(journal):
            # Names within this folder only: the journal may have come with files of somebody else.
            if _TEMPORARY.fullmatch(draft) and _TEMPORARY.fullmatch(backup) and os.path.basename(target) == target:
                _put_back(_Change(path.with_name(draft), path.with_name(target), path.with_name(backup), is_new))
        path.unlink()


def _replace_all(changes):
    for change in changes:
        if not change.is_new:
            shutil.copymode(change.target, change.draft)
            try:
                os.link(change.target, change.backup)  # needs no space
            except OSError:
                shutil.copy2(change.target, change.backup)
    with _journal(changes) as remove_journal:
        try:
            for change in changes:
                os.replace(change.draft, change.target)
        except BaseException:
            for change in changes:
                _put_back(change)
            remove_journal()
            raise
        remove_journal()


def _put_back(change):
    """Undo a change, whether it was made or not, or was undone before."""
    if change.is_new:
        if not change.draft.exists():
            change.target.unlink(missing_ok=True)
    elif change.backup.exists():
        os.replace(change.backup, change.target)
    change.draft.unlink(missing_ok=True)
    change.backup.unlink(missing_ok=True)  # os.replace leaves both names if they are one file


@contextlib.contextmanager
def _journal(changes):
    """Write a file that says how to put the old files back, and give what removes it: then the set is replaced."""
    path = changes[0].target.with_name(_JOURNAL)
    if any(change.target.parent != path.parent for change in changes):
        yield lambda: None
        return
    draft = beside(path)
    try:
        with open(draft, "xb") as file:
            _lock(file)
            names = [[*(part.name for part in change[:3]), change.is_new] for change in changes]
            file.write(json.dumps(names).encode())
            file.flush()
            os.fsync(file.fileno())
            os.replace(draft, path)
            sync_folder(path.parent)
            yield path.unlink
    finally:
        draft.unlink(missing_ok=True)


def _lock(file: IO[bytes]) -> None:
    """Lock a file until it is closed or the process ends; an OSError if another process has locked it."""
    try:
        import fcntl
    except ImportError:  # Windows does not replace a file that another process has open
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
