"""Draw the picture of auto.md: what experience expects of the members, what labels show, and both together."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from fewlabel import AutoClassifier, hide_labels

IMAGES = Path(__file__).parent / "images"
COLUMNS = {"prior": ("gray", "|", "experience alone"), "score": ("#c4500c", "o", "out of fold, these labels")}
COLUMNS |= {"posterior": ("#0067a8", "D", "both together")}


def main():
    X, digit = load_digits(return_X_y=True)
    few = hide_labels((digit % 2 == 0).astype(int), labeled=40, random_state=0)
    board = AutoClassifier(random_state=0).fit(X, few).leaderboard_
    board = board.dropna(subset=["posterior"]).sort_values("posterior", ignore_index=True)
    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    axis = figure.subplots()
    places = np.arange(len(board))
    for name, (color, shape, label) in COLUMNS.items():
        size = 220 if shape == "|" else 46
        axis.scatter(board[name], places, color=color, marker=shape, s=size, label=label, zorder=3)
    axis.hlines(places, board[list(COLUMNS)].min(axis=1), board[list(COLUMNS)].max(axis=1), color="lightgray")
    weights = board["weight"].fillna(0)
    names = [f"{m} ({w:.2f})" if w > 0 else m for m, w in zip(board["method"], weights)]
    axis.set_yticks(places, names, fontsize=11)
    axis.set_xlabel("AUC (in brackets: the weight)", fontsize=12)
    axis.tick_params(axis="x", labelsize=12)
    axis.grid(axis="x", alpha=0.25)
    axis.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=11, handletextpad=0.1, columnspacing=1)
    figure.savefig(IMAGES / "auto.png", dpi=130)


if __name__ == "__main__":
    main()
