"""Draw the picture of label-spreading.md from the results of benchmarks/quality/ssl_book.py."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

IMAGES = Path(__file__).parent / "images"
RESULTS = Path(__file__).parents[2] / "benchmarks" / "quality" / "ssl_book.csv"
SETS = ("Digit1", "USPS", "COIL", "BCI", "g241c", "g241d", "Text")
METHODS = {"paths": ("#c4500c", "s"), "label spreading": ("#0067a8", "o"), "scikit-learn": ("gray", "D")}


def main():
    frame = pd.read_csv(RESULTS)
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    for axis, (n_labeled, part) in zip(figure.subplots(1, 2), frame.groupby("labeled")):
        by_set = part.groupby("set")
        for shift, (method, (color, shape)) in zip((-0.2, 0, 0.2), METHODS.items()):
            mean, error = by_set[method].mean().loc[list(SETS)], by_set[method].sem().loc[list(SETS)]
            name = "scikit-learn's, tuned" if method == "scikit-learn" else method
            places = np.arange(len(SETS)) + shift
            axis.errorbar(places, mean, error, fmt=shape, ms=5, color=color, label=name, capsize=2)
        axis.set_xticks(range(len(SETS)), SETS)
        axis.set_ylim(0)
        axis.grid(axis="y", alpha=0.25)
        axis.set_title(f"{n_labeled} labeled rows", loc="left")
        axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9, loc="upper left")
    figure.axes[0].set_ylabel("error in percent, 12 splits")
    figure.savefig(IMAGES / "label_spreading.png", dpi=130)


if __name__ == "__main__":
    main()
