"""Checks of the files and columns that a command names, made before any work."""

import contextlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from fewlabel.addresses import Address
from fewlabel.cli.wrong_use import WrongUse
from fewlabel.file_sets import atomic_set
from fewlabel.files import has_rows, sha256, write_text
from fewlabel.text import listed, short, suggest

TEXT_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def writable_file(path: Path | None) -> Path | None:
    """Check that a file can be written."""
    if path is None:
        return None
    if path.is_dir():
        raise WrongUse(f"{path} is a folder: name a file in it")
    _require_writable(path if path.exists() else path.parent, path.parent)
    return path


def writable_folder(path: Path) -> Path:
    """Check that files can be written to a folder, which may not exist yet."""
    if path.exists() and not path.is_dir():
        raise WrongUse(f"{path} is a file: name a folder")
    # Only the last folder of the path is made: the one above has to be there.
    nearest = path if path.exists() else path.absolute().parent
    _require_writable(nearest, nearest)
    return path


def file_ending_in(*suffixes: str) -> Callable[[Path | None], Path | None]:
    """A callback of Typer: the name of the file ends in one of these, and the file can be written."""

    def check(path: Path | None) -> Path | None:
        if path is not None:
            require_suffix(path, *suffixes)
        return writable_file(path)

    return check


def require_suffix(path: Path, *suffixes: str, option: str | None = None) -> None:
    """Wrong use if the name of a file does not end in one of these; a callback of Typer names the option itself."""
    if path.suffix.lower() not in suffixes:
        *first, last = suffixes
        message = f"{path}: choose a name that ends in {', '.join(first)} or {last}"
        raise WrongUse(message, option)


def _require_writable(path: Path, folder: Path) -> None:
    if not folder.is_dir():
        raise WrongUse(f"there is no folder {folder}: make it first, or name another")
    if not os.access(path, os.W_OK):
        raise WrongUse(f"{path} cannot be written: choose another place")


def keep_inputs(written: Iterable[Path], read: Iterable[Path | Address]) -> None:
    """Wrong use if a command would write over a file that it reads, under this name or another."""
    sources: list[Path] = []
    for place in read:
        for path in place.paths() if isinstance(place, Address) else [place]:
            sources += path.iterdir() if path.is_dir() else [path]
    for target in filter(Path.exists, written):
        for source in sources:
            if source.exists() and target.samefile(source):
                raise WrongUse(
                    f"{target} is read by this command, and would be written over: name another place",
                    "--out",
                )


def keep_answers(path: Path) -> None:
    """Wrong use if a file that is about to be written is no answer sheet, or has answers: somebody's work."""
    from fewlabel.active.answers import LABEL, ROW, answer_columns, read_answers

    if not path.exists() or path.stat().st_size == 0:
        return
    if not {ROW, LABEL} <= answer_columns(path).keys():
        raise WrongUse(
            f"{path} is not a sheet of rows to label, with the columns {ROW} and {LABEL}, and would be lost: rename "
            "it, or name another place",
            "--out",
        )
    # The sheet has no rows if every row of the table had a label.
    n_answers = len(read_answers(path)) if has_rows(path) else 0
    if n_answers:
        raise WrongUse(
            f"{path} has {n_answers} answers, which would be lost: rename it, and pass it with --labels",
            "--out",
        )


def check_columns(columns: list[str], target: str, drop: Iterable[str] | None) -> None:
    """Wrong use if --target or --drop names a column that is not there."""
    require_column(target, columns, "--target")
    for name in drop or ():
        require_column(name, columns, "--drop")


def require_column(name: str, columns: list[str], option: str) -> None:
    """Wrong use if a column is not there; the message suggests the nearest name."""
    if name in columns:
        return
    hint = suggest(name, columns, f"the columns are {listed(repr(short(column)) for column in columns)}")
    raise WrongUse(f"there is no column {short(name)!r}; {hint}", option)


def write_json(value: Any, path: Path) -> None:
    """Write results to a file, atomically."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


@contextlib.contextmanager
def new_set(folder: Path, *names: str) -> Iterator[list[Path]]:
    """Drafts of the files of a folder, which replace them, the first one last; a new folder stays only if they do."""
    is_new = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        with atomic_set(*(folder / name for name in names)) as drafts:
            yield drafts
    except BaseException:
        if is_new:
            # It is not empty if some of the files are in place already: then it stays.
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def warn_of_another_set(model: Path) -> None:
    """Warn if the metrics beside a model are of another one, as after a `fit` that was killed while it wrote."""
    metrics_file = model.with_name("metrics.json")
    try:
        named = json.loads(metrics_file.read_text("utf-8")).get("model_sha256")
    except (OSError, ValueError, AttributeError):  # no metrics, or not those of a fit
        return
    if named is not None and named != sha256(model):
        warnings.warn(
            f"{metrics_file} is of another model than {model}: was `fewlabel fit` interrupted? Fit again",
            stacklevel=2,
        )
