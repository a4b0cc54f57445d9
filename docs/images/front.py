"""Draw the picture of the front page: a table with few labels, and the ranking of methods that comes out of it."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from fewlabel import AutoClassifier, hide_labels

BLUE, ORANGE, GRAY = "#0067a8", "#c4500c", "#8a8a8a"


def draw_table(axis, rows, labels):
    """Cells of numbers as shades of gray, and a label column that is mostly empty."""
    n, d = rows.shape
    shades = rows.argsort(axis=0).argsort(axis=0) / n
    axis.imshow(shades, cmap="Greys", vmin=-0.6, vmax=2.2, extent=(0, d, n, 0), aspect="auto")
    for i, label in enumerate(labels):
        color = {"malignant": ORANGE, "benign": BLUE}.get(label, "white")
        axis.fill_between([d + 0.4, d + 2.4], i, i + 1, facecolor=color, edgecolor=GRAY, linewidth=0.4)
    axis.set(xlim=(-0.1, d + 2.5), ylim=(n + 0.1, -0.1))
    axis.set_axis_off()
    axis.set_title("A table with a label column\nthat is mostly empty", loc="left", fontsize=11)


def draw_leaderboard(axis, board):
    board = board.iloc[::-1].reset_index(drop=True)
    for i, row in board.iterrows():
        color = ORANGE if row["method"] == "AutoClassifier" else BLUE
        axis.plot([row["low"], row["high"]], [i, i], color=color, linewidth=2, alpha=0.5)
        axis.plot(row["score"], i, "o", color=color)
    axis.set_yticks(range(len(board)), board["method"])
    axis.set_xlabel("AUC on labeled rows that the model was not fitted to, 95% interval")
    axis.set_title(
        "Which method ranks the rows best, how sure that is,\nand a model for the rest", loc="left", fontsize=11
    )
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="x", alpha=0.25)


def main():
    data = load_breast_cancer(as_frame=True)
    X, _, y, _ = train_test_split(data.data, data.target_names[data.target], test_size=0.3, random_state=0)
    few = hide_labels(y, labeled=40, random_state=0)
    members = [
        "logistic regression",
        "naive Bayes",
        "RankBoost",
        "RBF-SVM",
        "extra trees",
        "PNU-AUCBoost",
        "path neighbors",
    ]
    model = AutoClassifier(members, random_state=0).fit(X, few)
    shown = np.random.default_rng(3).permutation(len(X))[:34]
    figure = Figure(figsize=(10.5, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.9])
    draw_table(left, X.to_numpy()[shown, :12], np.asarray(few, dtype=object)[shown])
    draw_leaderboard(right, model.leaderboard_)
    figure.savefig(Path(__file__).with_name("front.png"), dpi=130)


if __name__ == "__main__":
    main()
