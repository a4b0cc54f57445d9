"""Labels that arrive after the rows: which row each belongs to, and when it was known."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from fewlabel.active.answers import LABEL, TIME, as_text, merge_answers, row_keys
from fewlabel.cli.paths import require_column
from fewlabel.files import column_names, read_table
from fewlabel.tables.kinds import as_moments
from fewlabel.text import short


def read_late_labels(
    paths: Sequence[Path],
    rows: pd.DataFrame,
    target: str,
    *,
    key: str | None = None,
    as_of: str | None = None,
    day_first: bool | None = None,
) -> tuple[pd.Series, list[str]]:
    """The label of each row, None where it has not arrived, and notes.

    Parameters
    ----------
    paths : sequence of Path
        Files of answers; with `key`, any tables with this column and a column of labels.
    rows : DataFrame
        The new rows. Their own label column is not looked at.
    target : str
        Name of the label column at fit.
    key : str, default=None
        The column that names a row, in the table and in the files.
    as_of : str, default=None
        Labels with a later time are not used, nor are those without one.
    day_first : bool, default=None
        How dates are written.
    """
    until = None if as_of is None else _moment(as_of, day_first)
    if key is None:
        columns = rows.drop(columns=[target], errors="ignore")
        merged = merge_answers(pd.Series("", index=range(len(rows)), dtype=object), row_keys(columns), paths, until)
        arrived = merged.column
        notes = merged.notes
    else:
        require_column(key, [str(name) for name in rows.columns], "--key")
        labels, notes = _labels_by_key(paths, key, target, until, day_first)
        names = as_text(rows[key])
        repeated = names[names.duplicated() & (names != "")]
        if len(repeated):
            raise typer.BadParameter(
                f"column {short(key)!r} has {short(repeated.iloc[0])!r} more than once: name one with a value per row",
                param_hint="--key",
            )
        arrived = names.map(labels).fillna("")
        notes.append(f"{int((arrived != '').sum())} rows have labels by column {short(key)!r}")
    return arrived.where(arrived != "", None).reset_index(drop=True), notes


def _labels_by_key(
    paths: Sequence[Path], key: str, target: str, until: np.datetime64 | None, day_first: bool | None
) -> tuple[dict[str, str], list[str]]:
    """The label of each key; keys whose labels contradict each other have none."""
    labels: dict[str, str] = {}
    contradicted = set()
    for path in paths:
        names = [str(name) for name in column_names(path)]
        require_column(key, names, "--key")
        label = target if target in names else LABEL
        require_column(label, names, "--labels")
        table = read_table(path, verbatim=[key, label])
        if until is not None:
            require_column(TIME, names, "--as-of")
            moments = as_moments(table[TIME], TIME, day_first)
            table = table[moments <= until]  # False where there is no time
        for name, value in zip(as_text(table[key]), as_text(table[label]).str.strip()):
            if value and labels.setdefault(name, value) != value:
                contradicted.add(name)
    for name in contradicted:
        del labels[name]
    notes = [f"{len(contradicted)} key(s) have contradicting labels and count as unlabeled"] if contradicted else []
    return labels, notes


def _moment(text: str, day_first: bool | None) -> np.datetime64:
    """The end of a day, or a moment."""
    try:
        [moment] = as_moments([text], "--as-of", day_first)
        if not isinstance(moment, np.datetime64) or np.isnat(moment):
            raise ValueError(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a date, such as 2024-03-31", param_hint="--as-of") from error
    is_day = moment == moment.astype("datetime64[D]")
    return moment + np.timedelta64(1, "D") - np.timedelta64(1, "us") if is_day else moment
