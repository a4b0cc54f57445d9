"""Run the cells of a suite in processes of their own, each to its own file: a run that is stopped loses nothing."""

import contextlib
import re
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.harness.cells import file_name, identity, why_not_done, write_cell
from benchmarks.harness.experiment import Cell, Experiment, Suite
from benchmarks.harness.provenance import commit, versions
from benchmarks.harness.workers import TaskError, run_tasks
from fewlabel.datasets import list_datasets

_warm: set[tuple[str, str, str]] = set()  # methods that this process has compiled


def plan(
    suite: Suite,
    *,
    experiments: list[str] | None = None,
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
    experiments, datasets, methods : list of str, default=None
        A part of the suite's; None: all.
    repeats : int, default=None
        None: as many as each experiment has.
    data_home : str, default=None
        Folder of the datasets; None: ``FEWLABEL_DATA``.
    download : bool, default=False
        Whether to look on OpenML for datasets that are not on this machine.

    Returns
    -------
    cells : list of Cell
    left_out : dict
        Datasets and methods that are not available here, and why.
    """
    known = {experiment.name: experiment for experiment in suite.experiments}
    chosen = [known[name] for name in _choose("experiment", experiments, known)]
    all_datasets = _choose("dataset", datasets, dict.fromkeys(d for e in chosen for d in e.datasets))
    all_methods = _choose("method", methods, dict.fromkeys(m for e in chosen for m in e.methods))
    left_out = _left_out(chosen, all_datasets, all_methods, list_datasets(data_home)["where"], download)
    at_hand, can_run = _there("dataset", all_datasets, left_out), _there("method", all_methods, left_out)
    cells: list[Cell] = []
    for experiment in chosen:
        those, these = _in(at_hand, experiment.datasets), _in(can_run, experiment.methods)
        cells += experiment.cells(those, these, repeats or experiment.repeats)
    return sorted(cells, key=lambda cell: cell.repeat), left_out  # a run that is stopped has whole repeats


def _left_out(
    experiments: list[Experiment], datasets: list[str], methods: list[str], where: Any, download: bool
) -> dict[str, str]:
    """Datasets and methods that are not available here, and why."""
    found = {f"method {m}": why for m in methods for e in experiments if (why := e.why_not(m))}
    return found | {f"dataset {d}": why for d in datasets if (why := _missing(d, where, download))}


def to_run(
    suite: Suite, cells: list[Cell], folder: Path, *, retry_failed: bool = False
) -> tuple[list[Cell], Counter[str]]:
    """The cells that a folder does not have, and how many of its files do not count as theirs, by reason.

    A file counts if it has a result, and the settings, the data and the code of the cell.
    """
    todo, refused = [], Counter[str]()
    for cell in cells:
        path = folder / "cells" / file_name(cell)
        wanted = identity(suite.name, suite[cell.experiment], cell)
        why = why_not_done(path, wanted, retry_failed=retry_failed)
        if why is not None:
            todo.append(cell)
        if why:
            refused[why] += 1
    return todo, refused


def run_cells(
    suite: Suite,
    cells: list[Cell],
    folder: Path,
    *,
    jobs: int = 1,
    time_limit: float | None = None,
    data_home: str | None = None,
    retry_failed: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> Counter[str]:
    """Run the cells that are not there yet.

    Every cell is written to ``folder/cells``, atomically; a run that was killed continues where it stopped. A cell
    that fails is recorded with its error, and the run continues. Cells run in processes of their own, which use one
    thread and print no warnings; the caller's process is left as it is.

    Parameters
    ----------
    suite : Suite
    cells : list of Cell
        From `plan`.
    folder : Path
    jobs : int, default=1
        Processes.
    time_limit : float, default=None
        Seconds for a cell.
    data_home : str, default=None
        Folder of the datasets; None: ``FEWLABEL_DATA``.
    retry_failed : bool, default=False
        Whether to run cells again that failed before.
    progress : callable, default=None
        Called with (done, total, name) after each cell.

    Returns
    -------
    Counter
        How many stored cells were run again because they are of other code or data, have other settings, no result, or
        (if `retry_failed`) an error; by reason.
    """
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    todo, refused = to_run(suite, cells, folder, retry_failed=retry_failed)
    tasks = [(suite.name, suite[c.experiment], c, folder / "cells" / file_name(c), data_home) for c in todo]
    done = len(cells) - len(todo)
    for number, result in run_tasks(run_cell, tasks, jobs=jobs, time_limit=time_limit):
        cell = todo[number]
        if isinstance(result, TaskError):
            record = {**identity(suite.name, suite[cell.experiment], cell), "error": str(result)}
            write_cell(folder / "cells" / file_name(cell), {**record, **_circumstances()})
        done += 1
        if progress is not None:
            progress(done, len(cells), " ".join(part for part in map(str, cell[1:]) if part))
    return refused


def run_cell(suite: str, experiment: Experiment, cell: Cell, path: Path, data_home: str | None) -> None:
    """Run a cell and write its file. It changes settings of its process: `run_cells` gives it one of its own."""
    warnings.simplefilter("ignore")
    threadpool_limits(1)
    setting = experiment.setting(cell.setting)
    record: dict[str, Any] = {**identity(suite, experiment, cell), "seed": cell.repeat}
    try:
        problem = experiment.problem(cell.dataset, setting, cell.repeat, data_home)
        if (suite, experiment.name, cell.method) not in _warm:
            with contextlib.suppress(Exception):  # too few rows for some; the cell itself will show it
                experiment.warm_up(problem, setting, cell.method)
            _warm.add((suite, experiment.name, cell.method))
        reset = _reset_peak()
        start = time.perf_counter()
        outcome = experiment.outcome(problem, setting, cell.method, cell.repeat)
        record["seconds"] = time.perf_counter() - start
        record["peak_mb"] = _peak_mb() if reset else None
        record |= experiment.measure(problem, setting, outcome)
    except Exception as error:
        record["error"] = f"{type(error).__name__}: {error}"
        record["traceback"] = traceback.format_exc(limit=-4)
    write_cell(path, {**record, **_circumstances()})


def _circumstances() -> dict[str, Any]:
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    return {"date": date, "commit": commit(), "fewlabel": versions()["fewlabel"], "versions": versions()}


def _there(what: str, names: list[str], left_out: dict[str, str]) -> set[str]:
    return {name for name in names if f"{what} {name}" not in left_out}


def _in(wanted: set[str], names: Sequence[str]) -> list[str]:
    return [name for name in names if name in wanted]


def _choose(what: str, wanted: list[str] | None, known: Any) -> list[str]:
    unknown = set(wanted or ()) - set(known)
    if unknown:
        raise ValueError(f"no {what} of this suite is named {sorted(unknown)[0]!r}: there are {', '.join(known)}")
    return list(known) if wanted is None else [name for name in known if name in wanted]


def _missing(dataset: str, where: Any, download: bool) -> str | None:
    if dataset not in where.index:  # made by the experiment itself
        return None
    if where[dataset] == "OpenML" and not download:
        return "not on this machine (--download looks on OpenML, --data-home names a folder with the file)"
    return None if where[dataset] else "not on this machine (--data-home names a folder with the file)"


def _reset_peak() -> bool:
    """Reset this process's peak memory, which is possible on Linux only."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _peak_mb() -> float | None:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else None
