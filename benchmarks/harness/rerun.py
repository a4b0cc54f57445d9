"""Draw stored cells at random, run them again, and compare the numbers."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness.cells import file_name, is_former
from benchmarks.harness.experiment import Cell, Suite
from benchmarks.harness.pages import read_stored
from benchmarks.harness.run import run_cells

SAME = 1e-5  # two scores that differ by less are the same number: older results were stored to five digits
_KEY = ["suite", *Cell._fields]


def draw(
    suites: Iterable[Suite], n_cells: int, most_seconds: float, seed: int, *, of_each: bool = False
) -> pd.DataFrame:
    """Stored cells, drawn at random from all that took less than a number of seconds.

    Cells without a score are left out, as are those whose score is a run time, and those of methods of a former
    version, which the present code does not run.

    Parameters
    ----------
    suites : iterable of Suite
    n_cells : int
    most_seconds : float
    seed : int
    of_each : bool, default=False
        Whether to draw `n_cells` of each method of an experiment and of each commit, rather than of all cells.

    Returns
    -------
    DataFrame
        One row per cell, in the order of the suites: its key, its commit, `chosen` (the parameters, where they are
        chosen over the repeats) and `stored`, its score.
    """
    parts = []
    for suite in suites:
        frame, _ = read_stored(suite)
        timed = [experiment.name for experiment in suite.experiments if "seconds" in experiment.metric]
        cheap = frame["score"].notna() & (frame["seconds"] < most_seconds) & ~frame["experiment"].isin(timed)
        parts.append(frame[cheap & ~is_former(suite, frame)].assign(suite=suite.name))
    found = pd.concat(parts, ignore_index=True)
    if of_each:
        shuffled = found.sample(frac=1.0, random_state=seed)
        chosen = shuffled.groupby(["suite", "experiment", "method", "commit"]).head(n_cells).index.to_numpy()
    else:
        chosen = np.random.default_rng(seed).choice(len(found), min(n_cells, len(found)), replace=False)
    # Only tuned methods have `chosen`.
    kept = found.loc[np.sort(chosen)].reindex(columns=[*_KEY, "commit", "chosen", "score"])
    return kept.rename(columns={"score": "stored"})


def rerun(suites: Iterable[Suite], drawn: pd.DataFrame, data_home: str | None = None) -> pd.DataFrame:
    """Run drawn cells again.

    Parameters
    ----------
    suites : iterable of Suite
    drawn : DataFrame
        From `draw`.
    data_home : str, default=None

    Returns
    -------
    DataFrame
        `drawn` with the columns `again`, the score of today's code, and `same`.
    """
    again = pd.Series(np.nan, index=drawn.index)
    for suite in suites:
        mine = drawn[drawn["suite"] == suite.name]
        cells = [Cell(*row[1:]) for row in mine[_KEY].itertuples(index=False)]
        with tempfile.TemporaryDirectory() as name:
            run_cells(suite, cells, Path(name), data_home=data_home)
            for place, cell, chosen in zip(mine.index, cells, mine["chosen"]):
                record = json.loads((Path(name) / "cells" / file_name(cell)).read_text("utf-8"))
                again[place] = _score(record, chosen)
    return drawn.assign(again=again, same=(again - drawn["stored"]).abs() < SAME)


def _score(record: dict[str, Any], chosen: Any) -> float:
    """Score of a record; of a tuned method that of the parameters that all repeats chose."""
    if "grid" in record:
        return float(dict(record["grid"]).get(chosen, (np.nan, np.nan))[1])
    score = record.get("score")
    return np.nan if score is None else float(score)
