"""Sets of files that belong together: written completely, then replaced one after the other."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from fewlabel.files import AnyPath, beside, sync_folder


@contextlib.contextmanager
def atomic_set(*paths: AnyPath) -> Iterator[list[Path]]:
    """Replace several files once all of them are written, the first one last.

    If the block fails, the old files stay. If the process is killed while it replaces files, each of them is whole, and
    the first one, which the others name, is still the old one.

    Parameters
    ----------
    *paths : str or path-like
        The files. Their folders must exist.

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
    drafts = [beside(target) for target in targets]
    try:
        yield drafts
        for draft, target in zip(drafts, targets):
            if target.exists():
                shutil.copymode(target, draft)
        # The first one last: until then, whoever reads it finds the old set.
        for draft, target in reversed(list(zip(drafts, targets))):
            os.replace(draft, target)
    finally:
        for draft in drafts:
            draft.unlink(missing_ok=True)
    for folder in {target.parent for target in targets}:
        sync_folder(folder)
