"""Draw the picture of intervals.md from the runs of ``python -m benchmarks.quality.estimates``."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

IMAGES = Path(__file__).parent / "images"
RESULTS = Path(__file__).parents[2] / "benchmarks" / "quality" / "estimates.csv"
N_SHOWN = 25  # runs of each number of labels
BLUE = "#0067a8"
ORANGE = "#c4500c"


def draw_runs(axis, runs, title):
    """The interval of each run as a line, and the AUC that the model had on the other rows as a dot."""
    runs = runs.sort_values("truth", ignore_index=True)
    is_missed = (runs["truth"] < runs["low"]) | (runs["truth"] > runs["high"])
    color = np.where(is_missed, ORANGE, BLUE)
    axis.hlines(runs.index, runs["low"], runs["high"], color=color, linewidth=2, alpha=0.55)
    axis.scatter(runs["truth"], runs.index, color=color, s=14, zorder=3)
    axis.set_title(title, loc="left", fontsize=13)
    axis.set_xlabel("AUC", fontsize=12)
    axis.set(xlim=(0.38, 1.01), yticks=[])
    axis.set_xticks([0.4, 0.6, 0.8, 1], ["0.4", "0.6", "0.8", "1"], fontsize=12)
    axis.grid(axis="x", alpha=0.25)
    axis.spines[["top", "right", "left"]].set_visible(False)


def main():
    runs = pd.read_csv(RESULTS)
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    for axis, n_labels in zip(figure.subplots(1, 3, sharey=True), (15, 100, 300)):
        own = runs[runs["labels"] == n_labels].sample(N_SHOWN, random_state=0)
        draw_runs(axis, own, f"{n_labels} labels")
    figure.savefig(IMAGES / "intervals.png", dpi=130)


if __name__ == "__main__":
    main()
