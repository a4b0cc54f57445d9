"""Pictures of a suite's results."""

import io
import re
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewlabel.bench.suite import Curve, Suite
from fewlabel.metrics import plot_critical_difference


def draw(suite: Suite, frame: pd.DataFrame, summary: dict[str, Any]) -> dict[str, bytes]:
    """All pictures as PNG, by name: a critical-difference diagram a setting, and the curves."""
    pictures = {}
    for place, section in enumerate(summary["sections"], start=1):
        if section["comparison"] is not None:
            n_methods = len(section["comparison"].ranks)
            figure, ax = _figure(9, 1.6 + 0.24 * n_methods)
            plot_critical_difference(section["comparison"], ax=ax)
            pictures[f"ranks-{place}"] = _png(figure)
    for curve in suite.curves:
        lines = _recorded(curve, frame) if curve.recorded else _by_setting(suite, curve, frame)
        if not lines.empty:
            pictures[file_stem(curve)] = _draw_lines(suite, curve, lines)
    return pictures


def file_stem(curve: Curve) -> str:
    """Name of a curve's picture."""
    return re.sub(r"\W+", "-", curve.name.lower()).strip("-")


def _by_setting(suite: Suite, curve: Curve, frame: pd.DataFrame) -> pd.DataFrame:
    """One row a cell and place: the score of each setting, or its mean over the datasets that all methods have."""
    here = frame[frame["setting"].isin(curve.settings) & frame["score"].notna()]
    here = here[here["method"].isin(curve.methods or suite.methods)]
    lines = here.assign(x=here["setting"].map(curve.settings), y=here["score"], what=suite.metric)
    if curve.mean and len(lines):
        means = lines.groupby(["dataset", "method", "x"])["y"].mean().unstack(["method", "x"]).dropna()
        lines = means.mean().rename("y").reset_index().assign(dataset=f"mean of {len(means)} sets", what=suite.metric)
    return lines


def _recorded(curve: Curve, frame: pd.DataFrame) -> pd.DataFrame:
    """One row a cell and place, of the lines that the cells record."""
    if "curves" not in frame:
        return pd.DataFrame()
    here = frame[frame["setting"].isin(curve.settings) & frame["curves"].notna()]
    parts = [
        pd.DataFrame({"dataset": cell.dataset, "method": cell.method, "what": what, "x": places, "y": values})
        for cell in here.itertuples()
        if cell.method in curve.methods or not curve.methods
        for what, (places, values) in cell.curves.items()
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _draw_lines(suite: Suite, curve: Curve, lines: pd.DataFrame) -> bytes:
    """A panel a dataset and quantity; the line is the mean over the repeats, the band their range."""
    rows, columns = lines["what"].unique(), list(dict.fromkeys(lines["dataset"]))
    columns.sort(key=lambda d: suite.datasets.index(d) if d in suite.datasets else -1)
    if len(rows) == 1:  # many panels in lines of three
        width = 2 if len(columns) == 4 else min(3, len(columns))
        shape, places = (-(-len(columns) // width), width), [(rows[0], column) for column in columns]
    else:
        shape, places = (len(rows), len(columns)), [(row, column) for row in rows for column in columns]
    single = len(places) == 1
    figure = Figure(figsize=(8 if single else 3.6 * shape[1], 4.5 if single else 2.8 * shape[0]), layout="constrained")
    panels = figure.subplots(*shape, squeeze=False).ravel()
    methods = [m for m in suite.methods if m in set(lines["method"])]
    for ax, (what, dataset) in zip(panels, places):
        here = lines[(lines["what"] == what) & (lines["dataset"] == dataset)]
        for k, method in enumerate(methods):
            values = here[here["method"] == method].groupby("x")["y"].agg(["mean", "min", "max"])
            style = {"color": f"C{k % 10}", "lw": 1.4, "ls": ("-", "--", ":")[k // 10 % 3]}
            ax.plot(values.index, values["mean"], label=method, marker="" if len(values) > 20 else ".", **style)
            ax.fill_between(values.index, values["min"], values["max"], color=style["color"], alpha=0.12, lw=0)
        ax.set(title=dataset, xlabel=curve.x, ylabel=what, xscale="log" if curve.log else "linear")
        ax.title.set_fontsize(10)
        ax.grid(alpha=0.3)
    for ax in panels[len(places) :]:
        ax.set_axis_off()
    figure.legend(*panels[0].get_legend_handles_labels(), fontsize=8, loc="outside right upper")
    return _png(figure)


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height))
    return figure, figure.subplots()


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100, bbox_inches="tight")
    return buffer.getvalue()
