"""Figures of a suite's results."""

import io
import re
from collections.abc import Iterable
from typing import Any

import matplotlib.figure
import pandas as pd
from matplotlib.axes import Axes

from benchmarks.harness.experiment import Experiment, Figure, Suite
from benchmarks.harness.tables import ResultTable
from fewlabel.metrics import plot_critical_difference


def draw(suite: Suite, frame: pd.DataFrame, tables: Iterable[ResultTable]) -> dict[str, bytes]:
    """All pictures as PNG, by file stem: a critical-difference diagram per table, and the figures."""
    pictures = {}
    for table in tables:
        if (comparison := table.comparison) is not None:
            size = (9, 1.6 + 0.24 * len(comparison.ranks))
            diagram = matplotlib.figure.Figure(figsize=size)
            plot_critical_difference(comparison, ax=diagram.subplots())
            pictures[stem(f"ranks {table.title}")] = _png(diagram)
    for experiment in suite.experiments:
        for figure in experiment.figures:
            lines = (
                _recorded(experiment, figure, frame)
                if not figure.along
                else _by_setting(suite, experiment, figure, frame)
            )
            if not lines.empty:
                pictures[stem(figure.name)] = _draw_lines(experiment, figure, lines)
    return pictures


def draw_leading(table: ResultTable) -> bytes:
    """Mean scores of the leading methods of a table, the best on top; dots, since the axis does not start at 0."""
    means = table.leading()[::-1]
    drawn = matplotlib.figure.Figure(figsize=(7, 0.7 + 0.34 * len(means)), layout="constrained")
    ax = drawn.subplots()
    ax.scatter(means, means.index, color="C0", s=50, zorder=2)
    for method, mean in means.items():
        ax.annotate(table.show(mean), (mean, method), (8, 0), textcoords="offset points", va="center")
    ax.margins(x=0.25, y=0.15)
    ax.grid(axis="y", alpha=0.4)
    ax.set_xlabel(f"{table.experiment.metric}, mean of {table.n_sets} data sets")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return _png(drawn)


def stem(name: str) -> str:
    """File name of a picture, without its ending."""
    return re.sub(r"\W+", "-", name.lower()).strip("-")


def _by_setting(suite: Suite, experiment: Experiment, figure: Figure, frame: pd.DataFrame) -> pd.DataFrame:
    """One row per cell and place: the score of each setting, or its mean over the datasets that all methods have."""
    parts = []
    for one in (experiment, *(suite[name] for name in figure.also)):
        here = frame[(frame["experiment"] == one.name) & frame["score"].notna()]
        here = here[here["method"].isin(figure.methods or one.methods)]
        places = {str(setting): getattr(setting, figure.along) for setting in one.settings}
        parts.append(here.assign(x=here["setting"].map(places), y=here["score"], what=experiment.metric))
    lines = pd.concat(parts, ignore_index=True)
    if figure.mean and len(lines):
        means = lines.groupby(["dataset", "method", "x"])["y"].mean().unstack(["method", "x"]).dropna()
        lines = (
            means.mean().rename("y").reset_index().assign(dataset=f"mean of {len(means)} sets", what=experiment.metric)
        )
    return lines


def _recorded(experiment: Experiment, figure: Figure, frame: pd.DataFrame) -> pd.DataFrame:
    """One row per cell and place, of the lines that the cells record."""
    if "curves" not in frame:
        return pd.DataFrame()
    here = frame[(frame["experiment"] == experiment.name) & frame["curves"].notna()]
    parts = [
        pd.DataFrame({"dataset": cell.dataset, "method": cell.method, "what": what, "x": places, "y": values})
        for cell in here.itertuples()
        if cell.method in figure.methods or not figure.methods
        for what, (places, values) in cell.curves.items()
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _draw_lines(experiment: Experiment, figure: Figure, lines: pd.DataFrame) -> bytes:
    """One panel per dataset and quantity; the line is the mean over the repeats, the band their range."""
    rows, columns = lines["what"].unique(), list(dict.fromkeys(lines["dataset"]))
    columns.sort(key=lambda d: experiment.datasets.index(d) if d in experiment.datasets else -1)
    places = [(row, column) for row in rows for column in columns]
    shape = len(rows), len(columns)
    if len(rows) == 1:  # many panels in lines of three
        width = 2 if len(columns) == 4 else min(3, len(columns))
        shape = -(-len(columns) // width), width
    size = (8, 4.5) if len(places) == 1 else (3.6 * shape[1], 2.8 * shape[0])
    drawn = matplotlib.figure.Figure(figsize=size, layout="constrained")
    panels = drawn.subplots(*shape, squeeze=False).ravel()
    order = figure.methods or experiment.methods
    methods = sorted(set(lines["method"]), key=order.index)
    for ax, (what, dataset) in zip(panels, places):
        _draw_panel(ax, lines[(lines["what"] == what) & (lines["dataset"] == dataset)], methods)
        ax.set(title=dataset, xlabel=figure.x, ylabel=what, xscale="log" if figure.log else "linear")
        ax.title.set_fontsize(10)
        ax.grid(alpha=0.3)
    for ax in panels[len(places) :]:
        ax.set_axis_off()
    drawn.legend(*panels[0].get_legend_handles_labels(), fontsize=8, loc="outside right upper")
    return _png(drawn)


def _draw_panel(ax: Axes, lines: pd.DataFrame, methods: list[str]) -> None:
    for k, method in enumerate(methods):
        values = lines[lines["method"] == method].groupby("x")["y"].agg(["mean", "min", "max"])
        style: dict[str, Any] = {"color": f"C{k % 10}", "lw": 1.4, "ls": ("-", "--", ":")[k // 10 % 3]}
        ax.plot(values.index, values["mean"], label=method, marker="" if len(values) > 20 else ".", **style)
        ax.fill_between(values.index, values["min"], values["max"], color=style["color"], alpha=0.12, lw=0)


def _png(figure: matplotlib.figure.Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100, bbox_inches="tight", metadata={"Software": None})
    return buffer.getvalue()
