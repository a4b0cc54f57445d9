"""Finished cells: what a record holds, whether it is the cell that was asked for, and how a folder of them is read."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.harness.experiment import Cell, Experiment, Suite
from benchmarks.harness.provenance import code_hash, data_hash
from fewlabel.files import atomic_write


def identity(suite: str, experiment: Experiment, cell: Cell) -> dict[str, Any]:
    """What makes a record this cell: its key, the parameters of its setting, its data and the code behind it."""
    parameters = experiment.parameters(experiment.setting(cell.setting), cell.method)
    key = {"suite": suite, **cell._asdict(), "parameters": parameters}
    return key | {"data": data_hash(cell.dataset), "code": code_hash(type(experiment).__module__)}


def write_cell(path: Path, record: dict[str, Any]) -> None:
    """Write a record, whole or not at all."""
    with atomic_write(path) as file:
        file.write(json.dumps(record, indent=1).encode())


def why_not_done(path: Path, wanted: dict[str, Any], *, retry_failed: bool = False) -> str | None:
    """Why the file of a cell does not count as that cell; "" if there is no file, None if it counts."""
    try:
        record = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return ""
    except ValueError:
        return "damaged"
    return why_foreign(record, wanted) or ("failed before" if retry_failed and record.get("error") else None)


def why_foreign(record: Any, wanted: dict[str, Any]) -> str | None:
    """Why a record is not the wanted cell, or None."""
    if not isinstance(record, dict) or not any(record.get(key) is not None for key in ("score", "grid", "error")):
        return "without a result"
    for what in ("code", "data"):
        if record.get(what) != wanted[what]:
            return f"of other {what}"
    if any(record.get(key) != value for key, value in wanted.items()):
        return "with other settings"
    return None


def read_cells(suite: Suite, folder: Path) -> tuple[pd.DataFrame, Counter[str]]:
    """Finished cells of a run, one row each, and how many files are not counted, by reason.

    A file that cannot be read is an error that names it.
    """
    records, foreign = [], Counter[str]()
    known = {experiment.name: experiment for experiment in suite.experiments}
    for path in sorted((folder / "cells").glob("*.json")):
        try:
            record = json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is damaged: delete it, and a run with --resume makes it again") from error
        why = _why_not_of(suite.name, known, record, path.name)
        if why is None:
            records.append(record)
        else:
            foreign[why] += 1
    return pd.DataFrame(records), foreign


def _why_not_of(suite: str, known: dict[str, Experiment], record: Any, name: str) -> str | None:
    try:
        cell = Cell(**{key: record[key] for key in Cell._fields})
        wanted = identity(suite, known[cell.experiment], cell)
    except (KeyError, TypeError, StopIteration):
        return "without a result" if record == {} else "of another experiment"
    return why_foreign(record, wanted) or (None if file_name(cell) == name else "with other settings")


def why_other_settings(suite: Suite, frame: pd.DataFrame) -> pd.Series:
    """For each row of stored results, why it is not a cell of the suite as it is now; None where it is.

    Stored results may be of an earlier version: their page says so.
    """
    known = {
        (experiment.name, str(setting), method): experiment.parameters(setting, method)
        for experiment in suite.experiments
        for setting in experiment.settings
        for method in experiment.methods
    }
    found = []
    keys = zip(*(frame[column] for column in ("experiment", "setting", "method")))
    for key, parameters in zip(keys, frame["parameters"]):
        wanted = known.get(key)
        found.append(
            "of another experiment" if wanted is None else None if parameters == wanted else "with other settings"
        )
    return pd.Series(found, index=frame.index, dtype=object)


def is_former(suite: Suite, frame: pd.DataFrame) -> pd.Series:
    """Which stored cells are of a method of a former version of the library."""
    former = {(experiment.name, method) for experiment in suite.experiments for method in experiment.former}
    return pd.Series(list(zip(frame["experiment"], frame["method"])), index=frame.index, dtype=object).isin(former)


def file_name(cell: Cell) -> str:
    """File of a cell: readable, and safe on every file system."""
    return "__".join(re.sub(r"[^\w.+-]+", "-", str(part)).strip("-") or "all" for part in cell) + ".json"
