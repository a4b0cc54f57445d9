"""Runs that a script keeps in a CSV file, so that a script that was stopped continues where it was."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

_DIGITS = 6


def run_missing(
    path: Path, names: Sequence[str], columns: Sequence[str], keys: Iterable[tuple], measure: Callable[..., Any]
) -> pd.DataFrame:
    """Make the runs that a file does not have yet, and add the rows of each as soon as it is done.

    Parameters
    ----------
    path : Path
        The CSV file; it is made if it is not there.
    names : sequence of str
        Columns that name a run.
    columns : sequence of str
        The other columns.
    keys : iterable of tuple
        Values of `names`, one tuple per run.
    measure : callable
        Called with the values of a key; returns a list of rows (values of `columns`, or dictionaries). A run without
        rows leaves no trace, and is made again.

    Returns
    -------
    DataFrame
        All runs of the file.
    """
    done = set()
    if path.exists():
        done = set(pd.read_csv(path)[list(names)].itertuples(index=False, name=None))
    for key in keys:
        if key in done:
            continue
        rows = pd.DataFrame(measure(*key), columns=list(columns)).round(_DIGITS)
        for place, (name, value) in enumerate(zip(names, key)):
            rows.insert(place, name, value)
        rows.to_csv(path, mode="a", header=not path.exists(), index=False)
    return pd.read_csv(path)
