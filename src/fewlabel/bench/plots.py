"""Pictures of a suite's results."""

import io
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewlabel.bench.suite import Suite
from fewlabel.metrics import plot_critical_difference


def draw(suite: Suite, frame: pd.DataFrame, summary: dict[str, Any]) -> dict[str, bytes]:
    """All pictures as PNG, by name: a critical-difference diagram a setting, and a curve over the settings."""
    pictures = {}
    for place, section in enumerate(summary["sections"], start=1):
        if section["comparison"] is not None:
            n_methods = len(section["comparison"].ranks)
            figure, ax = _figure(9, 1.6 + 0.24 * n_methods)
            plot_critical_difference(section["comparison"], ax=ax)
            pictures[f"ranks-{place}"] = _png(figure)
    if len(summary["sections"]) > 1:
        pictures["curve"] = _curve(suite, summary["sections"])
    return pictures


def _curve(suite: Suite, sections: list[dict[str, Any]]) -> bytes:
    """Mean over the datasets that every method has, by setting."""
    shared = set.intersection(*(set(section["means"].dropna().index) for section in sections))
    figure, ax = _figure(9, 4.5)
    if shared:
        means = pd.DataFrame({s["setting"]: s["means"].loc[sorted(shared)].mean() for s in sections})
        for k, (method, row) in enumerate(means.iterrows()):
            ax.plot(range(means.shape[1]), row, marker="os^vD*"[k // 10 % 6], color=f"C{k % 10}", label=method, lw=1.4)
        ax.set_xticks(range(means.shape[1]), means.columns)
    ax.set_ylabel(f"{suite.metric}, mean of {len(shared)} sets")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return _png(figure)


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height))
    return figure, figure.subplots()


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100, bbox_inches="tight")
    return buffer.getvalue()
