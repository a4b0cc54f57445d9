"""From cells to pages: our mean beside the paper's, how many standard errors apart, and which methods differ."""

import base64
import io
import json
import platform
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import joblib
import numpy as np
import pandas as pd

from fewlabel.bench import plots
from fewlabel.bench.run import read_cells, versions
from fewlabel.bench.suite import Suite
from fewlabel.files import atomic_write
from fewlabel.metrics import compare_methods

_MANY_METHODS = 8


def collect(suite: Suite, folder: Path) -> pd.DataFrame:
    """Scores of all finished cells, with what was chosen over the repeats filled in."""
    frame = read_cells(folder)
    if frame.empty:
        raise ValueError(f"no finished cell in {folder}: run the suite first")
    for column in ("score", "error"):
        if column not in frame:
            frame[column] = np.nan
    return suite.settle(frame.drop(columns="traceback", errors="ignore"))  # paths of the machine stay in the cells


def write_pages(
    suite: Suite, folder: Path, left_out: dict[str, str] | None = None, command: str = ""
) -> dict[str, Any]:
    """Write ``results.parquet``, ``index.md`` (with pictures beside it) and ``index.html`` (self-contained).

    Parameters
    ----------
    suite : Suite
    folder : Path
        Folder of a run.
    left_out : dict, default=None
        What the run skipped, and why.
    command : str, default=""
        What made the results.

    Returns
    -------
    dict
        What the pages say, as plain data.
    """
    frame = collect(suite, folder)
    _write_parquet(frame, folder / "results.parquet")
    summary = summarize(suite, frame)
    summary |= {
        "left_out": left_out or {},
        "command": command or f"fewlabel bench {suite.name}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "machine": f"{platform.machine()}, {joblib.cpu_count()} cores",
        "versions": ", ".join(f"{name} {version}" for name, version in versions().items() if name != "machine"),
    }
    pictures = plots.draw(suite, frame, summary)
    for name, picture in pictures.items():
        with atomic_write(folder / f"{name}.png") as file:
            file.write(picture)
    curves = {plots.file_stem(curve): curve for curve in suite.curves if plots.file_stem(curve) in pictures}
    environment = jinja2.Environment(
        loader=jinja2.BaseLoader(),
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["markdown"] = _markdown
    _render(environment, "page.md.j2", folder / "index.md", suite=suite, curves=curves, **summary)
    environment.autoescape = True
    environment.filters["table"] = lambda table: table.to_html(border=0, na_rep="", escape=True)
    images = {name: base64.b64encode(picture).decode() for name, picture in pictures.items()}
    _render(environment, "page.html.j2", folder / "index.html", suite=suite, images=images, curves=curves, **summary)
    return summary


def summarize(suite: Suite, frame: pd.DataFrame) -> dict[str, Any]:
    """Tables of a page: by setting our means, those beside the paper's, and the comparison of the methods."""
    good = frame[frame["score"].notna()]
    failed = frame[frame["error"].notna()]
    sections = []
    for setting in suite.settings:
        here = good[good["setting"] == setting]
        if here.empty:
            continue
        show = _number(suite, setting)
        cells = here.groupby(["dataset", "method"])["score"].agg(["mean", "std", "count"])
        order = [d for d in suite.datasets if d in cells.index.get_level_values(0)]
        methods = [m for m in suite.methods if m in cells.index.get_level_values(1)]
        means = cells["mean"].unstack().reindex(order)[methods]
        spread = (" ± " + cells["std"].map(show)).where(cells["std"].notna(), "")
        text = (cells["mean"].map(show) + spread).unstack().reindex(order)[methods].fillna("")
        text.loc["mean"] = [show(means[m].mean()) if means[m].notna().all() else "" for m in methods]
        text.index.name = text.columns.name = None
        sections.append(
            {
                "setting": setting,
                "ours": text,
                "means": means,
                "paper": _beside_paper(suite, setting, cells, order, methods),
                **(_compare(suite, means) if setting not in suite.metrics else {"comparison": None}),
                "metric": suite.metrics.get(setting),
                "repeats": int(cells["count"].max()),
            }
        )
    errors = failed.groupby(["dataset", "setting", "method"])["error"].agg(["size", "first"]).reset_index()
    return {"sections": sections, "errors": errors.to_dict("records"), "n_cells": len(frame)}


def _beside_paper(suite: Suite, setting: str, cells: pd.DataFrame, order: list, methods: list) -> pd.DataFrame | None:
    """Our mean, the paper's, and how many standard errors of both lie between them, where the paper prints its own."""
    show = _number(suite, setting)
    rows: dict[str, dict[str, str]] = {}
    for dataset in order:
        for method in methods:
            paper = suite.paper(dataset, setting, method)
            if paper is None or (dataset, method) not in cells.index:
                continue
            mean, sd, n = cells.loc[(dataset, method), ["mean", "std", "count"]]
            error = np.sqrt(sd**2 / n + paper[1] ** 2 / suite.published_repeats)  # NaN if one side has none
            apart = f" ({(mean - paper[0]) / error:+.1f})" if error > 0 else ""
            rows.setdefault(dataset, {})[method] = f"{show(mean)} / {show(paper[0])}{apart}"
    return pd.DataFrame.from_dict(rows, orient="index").fillna("") if rows else None


def _compare(suite: Suite, means: pd.DataFrame) -> dict[str, Any]:
    """The comparison, and the p-values to print: of all pairs or, of many methods, of the best against each."""
    whole = means.dropna(axis=1)
    if whole.shape[1] < 2 or whole.shape[0] < 3:
        return {"comparison": None}
    comparison = compare_methods(whole, higher_is_better=suite.higher_is_better)
    order = comparison.ranks.index
    p_values = comparison.p_values.loc[order, order]
    if len(order) > _MANY_METHODS:
        p_values = p_values[order[:1]].drop(index=order[0]).T
    return {"comparison": comparison, "p_values": p_values.map("{:.2g}".format)}


def _number(suite: Suite, setting: str) -> Callable[[float], str]:
    """How a score is printed: shares and counts with one digit after the point, times with three, AUCs with four."""
    metric = suite.metrics.get(setting, suite.metric)
    return (
        "{:.1f}" if "percent" in metric or "columns" in metric else "{:.3g}" if "second" in metric else "{:.4f}"
    ).format


def _markdown(table: pd.DataFrame) -> str:
    rows = [[table.index.name or "", *table.columns], ["---"] * (table.shape[1] + 1), *table.reset_index().to_numpy()]
    return "\n".join("| " + " | ".join(str(value) for value in row) + " |" for row in rows)


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    flat = frame.copy()
    for column in flat:
        if flat[column].map(lambda value: isinstance(value, dict | list)).any():
            flat[column] = flat[column].map(json.dumps)
    buffer = io.BytesIO()
    flat.to_parquet(buffer)
    with atomic_write(path) as file:
        file.write(buffer.getvalue())


def _render(environment: jinja2.Environment, template: str, path: Path, **values: Any) -> None:
    source = resources.files("fewlabel.bench").joinpath("templates", template).read_text("utf-8")
    with atomic_write(path) as file:
        file.write(environment.from_string(source).render(**values).encode())


def _commit() -> str:
    """The commit of a checkout; empty elsewhere."""
    folder = Path(__file__).parent
    command = ["git", "-C", str(folder), "log", "-1", "--format=%h"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()
