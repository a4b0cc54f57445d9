"""Draw the picture of unlabeled.md from the results of ``python -m benchmarks experience``."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

IMAGES = Path(__file__).parent / "images"
RESULTS = Path(__file__).parents[2] / "benchmarks" / "quality" / "experience.csv"


def main():
    cells = pd.read_csv(RESULTS)
    gain = (cells["extra trees, leaf 1 + components"] - cells["extra trees"]).dropna()
    by_table = gain.groupby(cells["table"]).mean().sort_values(ascending=False)
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axis = figure.subplots()
    places = np.arange(len(by_table))
    axis.bar(places, by_table, color=np.where(by_table > 0, "#0067a8", "#c4500c"))
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_xticks([])
    axis.set_xlabel(f"{len(by_table)} tables", fontsize=13)
    axis.set_ylabel("AUC with components minus without", fontsize=13)
    axis.tick_params(labelsize=12)
    axis.spines[["top", "right", "bottom"]].set_visible(False)
    figure.savefig(IMAGES / "unlabeled.png", dpi=130)


if __name__ == "__main__":
    main()
