"""What of a paper is here, what differs, and what is missing: worked out from its list of parts and the results.

The file of published numbers lists every numbered part of the paper (``[paper.parts]``): tables, figures, algorithms,
theorems. A part is reproduced by the experiments that cover it, or by what its entry names: `page` (of the
documentation), `test` (of the repository) or `code` (a public name). Its entry may say what `differs`, or why it is
`missing`. A part with none of these is an error, as is an experiment that covers a part that is not listed.
"""

from typing import Any

import pandas as pd

from benchmarks.harness.experiment import Experiment, Suite

_PLACES = ("code", "page", "test")
_KEYS = {*_PLACES, "differs", "missing"}


def coverage(suite: Suite, frame: pd.DataFrame) -> pd.DataFrame:
    """Status of every part of a suite's paper.

    Parameters
    ----------
    suite : Suite
    frame : DataFrame
        Its results, one row per cell.

    Returns
    -------
    DataFrame
        One row per part: `status` ("there", "differs" or "missing"), `where`, `cells`, `repeats` (ours / the paper's)
        and `reason`. Empty if the suite has no paper.
    """
    if "paper" not in suite.published:
        return pd.DataFrame()
    parts: dict[str, dict[str, str]] = suite.published["paper"]["parts"]
    by_part: dict[str, list[Experiment]] = {part: [] for part in parts}
    for experiment in suite.experiments:
        for part in experiment.covers:
            if part not in parts:
                raise ValueError(f"{suite.name}: {experiment.name} covers {part}, which [paper.parts] does not list")
            by_part[part].append(experiment)
    rows = {part: _row(f"{suite.name}: {part}", entry, by_part[part], frame) for part, entry in parts.items()}
    return pd.DataFrame.from_dict(rows, orient="index")


def _row(name: str, entry: dict[str, str], experiments: list[Experiment], frame: pd.DataFrame) -> dict[str, str]:
    unknown = set(entry) - _KEYS
    if unknown:
        raise ValueError(f"{name}: {sorted(unknown)[0]!r} is not one of {', '.join(sorted(_KEYS))}")
    places = [_place(key, entry[key]) for key in _PLACES if key in entry]
    if "missing" in entry:
        if experiments or places:
            raise ValueError(f"{name} is listed as missing, but is here: say what differs instead")
        return {"status": "missing", "where": "", "cells": "", "repeats": "", "reason": entry["missing"]}
    if not experiments and not places:
        raise ValueError(f"{name} has no experiment, {', '.join(_PLACES)}: name one, or say why it is missing")
    found = [_cells(experiment, frame[frame["experiment"] == experiment.name]) for experiment in experiments]
    reasons = [entry["differs"]] if "differs" in entry else []
    reasons += [reason for one in found for reason in one["reasons"]]
    return {
        "status": "differs" if reasons else "there",
        "where": ", ".join([*(f"experiment {e.name}" for e in experiments), *places]),
        "cells": ", ".join(one["cells"] for one in found),
        "repeats": ", ".join(one["repeats"] for one in found),
        "reason": " ".join(dict.fromkeys(reasons)),
    }


def _place(key: str, value: str) -> str:
    return f"[{value}](../{value})" if key == "page" else f"`{value}`"


def _cells(experiment: Experiment, frame: pd.DataFrame) -> dict[str, Any]:
    """How many cells and repeats of an experiment are there, and what is lacking."""
    ours = frame[frame["score"].notna()].groupby(["dataset", "setting", "method"]).size()
    wanted = {(c.dataset, c.setting, c.method) for c in experiment.cells(experiment.datasets, experiment.methods, 1)}
    have = wanted & set(ours.index)
    least, most = (int(ours.min()), int(ours.max())) if len(ours) else (0, 0)
    reasons = [] if have == wanted else [f"{len(wanted - have)} cells were not run."]
    fewer = {dataset for (dataset, _, _), n in ours.items() if n < experiment.published_repeats}
    if fewer:
        sets = ", ".join(d for d in experiment.datasets if d in fewer)
        where = "" if fewer == {dataset for dataset, _, _ in have} else f" on {sets}"
        reasons.append(f"Fewer repeats than published{where}.")
    return {
        "cells": f"{len(have)} of {len(wanted)}",
        "repeats": f"{least if least == most else f'{least} to {most}'} / {experiment.published_repeats}",
        "reasons": reasons,
    }
