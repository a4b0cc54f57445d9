"""Run the cells of a suite: in processes, each to a file of its own, so that nothing finished is ever lost."""

import contextlib
import json
import os
import platform
import re
import resource
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import pandas as pd
from threadpoolctl import threadpool_limits

from fewlabel.bench.suite import Cell, Suite
from fewlabel.datasets import list_datasets
from fewlabel.files import atomic_write

_PACKAGES = (
    "fewlabel",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "pandas",
    "xgboost",
    "xgboost-cpu",
    "lightgbm",
    "torch",
)
_warm: set[tuple[str, str]] = set()  # methods that this process has compiled


class CellTimeout(Exception):
    """A cell took longer than its limit."""


class Step(NamedTuple):
    """A cell that is done: how many are, of how many, and which it was."""

    done: int
    total: int
    name: str


def plan(
    suite: Suite,
    *,
    datasets: list[str] | None = None,
    methods: list[str] | None = None,
    repeats: int | None = None,
    data_home: str | None = None,
    download: bool = False,
) -> tuple[list[Cell], dict[str, str]]:
    """The cells of a run, and what is left out of it.

    Parameters
    ----------
    suite : Suite
    datasets, methods : list of str, default=None
        A part of the suite's; None: all.
    repeats : int, default=None
        None: as many as the paper has.
    data_home : str, default=None
        Folder of the datasets; None: ``FEWLABEL_DATA``.
    download : bool, default=False
        Whether to look on OpenML for datasets that are not on this machine.

    Returns
    -------
    cells : list of Cell
    left_out : dict
        Datasets and methods that are not to be had here, and why.
    """
    datasets = _choose("dataset", datasets, suite.datasets)
    methods = _choose("method", methods, suite.methods)
    left_out = {f"method {m}": why for m in methods if (why := suite.why_not(m))}
    left_out |= {f"dataset {d}": why for d in datasets if (why := _missing(d, data_home, download))}
    cells = suite.cells(
        [d for d in datasets if f"dataset {d}" not in left_out],
        [m for m in methods if f"method {m}" not in left_out],
        repeats or suite.repeats,
    )
    return list(cells), left_out


def run_cells(
    suite: Suite,
    cells: list[Cell],
    folder: Path,
    *,
    jobs: int = 1,
    time_limit: float | None = None,
    data_home: str | None = None,
    retry_failed: bool = False,
) -> Iterator[Step]:
    """Run the cells that are not there yet, and tell of each when it is done.

    Every cell is written to ``folder/cells``, atomically; a run that was killed goes on where it stopped. A cell that
    fails is recorded with its error, and the run goes on.

    Parameters
    ----------
    suite : Suite
    cells : list of Cell
        From `plan`.
    folder : Path
    jobs : int, default=1
        Processes.
    time_limit : float, default=None
        Seconds for a cell. Looked at whenever Python code runs, so one long call into compiled code ends late.
    data_home : str, default=None
        Folder of the datasets; None: ``FEWLABEL_DATA``.
    retry_failed : bool, default=False
        Whether to run cells again that failed before.

    Yields
    ------
    Step
    """
    home = folder / "cells"
    home.mkdir(parents=True, exist_ok=True)
    todo = []
    for cell in cells:
        path = home / file_name(cell)
        if not path.exists() or (retry_failed and json.loads(path.read_text("utf-8")).get("error")):
            todo.append((cell, path))
    work = joblib.Parallel(n_jobs=min(jobs, max(len(todo), 1)), return_as="generator_unordered", batch_size=1)
    tasks = (joblib.delayed(_run_cell)(suite, cell, path, time_limit, data_home) for cell, path in todo)
    for done, name in enumerate(work(tasks), start=len(cells) - len(todo) + 1):
        yield Step(done, len(cells), name)


def file_name(cell: Cell) -> str:
    """File of a cell: readable, and safe on every file system."""
    return "__".join(re.sub(r"[^\w.+-]+", "-", str(part)).strip("-") or "all" for part in cell) + ".json"


def _choose(what: str, wanted: list[str] | None, known: Any) -> list[str]:
    unknown = set(wanted or ()) - set(known)
    if unknown:
        raise ValueError(f"no {what} of this suite is named {sorted(unknown)[0]!r}: there are {', '.join(known)}")
    return list(known) if wanted is None else [name for name in known if name in wanted]


def _missing(dataset: str, data_home: str | None, download: bool) -> str | None:
    known = list_datasets(data_home)
    if dataset not in known.index:  # made by the suite itself
        return None
    where = known.loc[dataset, "where"]
    if where == "OpenML" and not download:
        return "not on this machine (--download looks on OpenML, FEWLABEL_DATA names a folder with the file)"
    return None if where else "not on this machine (FEWLABEL_DATA names a folder with the file)"


def _run_cell(suite: Suite, cell: Cell, path: Path, time_limit: float | None, data_home: str | None) -> str:
    record: dict[str, Any] = {"suite": suite.name, **cell._asdict(), "seed": cell.repeat}
    with _data_home(data_home), warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        try:
            with _limit(time_limit):
                problem = suite.problem(cell.dataset, cell.setting, cell.repeat)
                if (suite.name, cell.method) not in _warm:
                    with contextlib.suppress(Exception):  # too few rows for some; the cell itself will tell
                        suite.warm_up(problem, cell.method)
                    _warm.add((suite.name, cell.method))
                reset = _reset_peak()
                start = time.perf_counter()
                outcome = suite.outcome(problem, cell.method, cell.repeat)
                record["seconds"] = time.perf_counter() - start
                record["peak_mb"] = _peak_mb() if reset else None
                record |= suite.measure(problem, outcome)
        except Exception as error:
            record["error"] = f"{type(error).__name__}: {error}"
            record["traceback"] = traceback.format_exc(limit=-4)
    record["versions"] = versions()
    with atomic_write(path) as file:
        file.write(json.dumps(record, indent=1).encode())
    return f"{cell.dataset} {cell.setting} {cell.method} {cell.repeat}"


@contextlib.contextmanager
def _limit(seconds: float | None) -> Iterator[None]:
    if not seconds or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(_signal: int, _frame: Any) -> None:
        raise CellTimeout(f"longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _data_home(folder: str | None) -> Iterator[None]:
    before = os.environ.get("FEWLABEL_DATA")
    if folder:
        os.environ["FEWLABEL_DATA"] = str(folder)
    try:
        yield
    finally:
        if folder:
            os.environ.pop("FEWLABEL_DATA") if before is None else os.environ.update(FEWLABEL_DATA=before)


def _reset_peak() -> bool:
    """Let the kernel forget this process's peak memory; possible on Linux only."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def read_cells(folder: Path) -> pd.DataFrame:
    """All finished cells of a run, one row each; a file that is no cell is an error that names it."""
    records = []
    for path in sorted((folder / "cells").glob("*.json")):
        try:
            records.append(json.loads(path.read_text("utf-8")))
        except ValueError as error:
            raise ValueError(f"{path} is damaged: delete it, and the run makes it again") from error
    return pd.DataFrame(records)
