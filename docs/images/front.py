"""Draw the picture of the front page, for light and dark pages: a table with few labels, and the ranked rows.

python docs/images/front.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer

from fewlabel import AutoClassifier, hide_labels

ORANGE = "#d9661f"
BLUE = "#2a8bc9"
INK = {"front.png": "#1f1f1f", "front-dark.png": "#ececec"}
SHADES = {"front.png": "Greys", "front-dark.png": "Greys_r"}
N_SHOWN = 16
LARGE = 15  # points: the picture is read at a quarter of its size on a telephone


def draw_table(axis, rows, labels, ink, shades):
    """Cells of numbers as shades of gray, and a label column that is mostly empty."""
    n, d = rows.shape
    ranks = rows.argsort(axis=0).argsort(axis=0) / n
    axis.imshow(ranks, cmap=shades, vmin=-0.6, vmax=2.2, extent=(0, d, n, 0), aspect="auto")
    for i, label in enumerate(labels):
        color = {0: ORANGE, 1: BLUE}.get(label, "none")
        axis.fill_between([d + 0.3, d + 2.1], i, i + 1, facecolor=color, edgecolor=ink, linewidth=0.6)
    axis.set(xlim=(-0.1, d + 2.2), ylim=(n + 0.1, -0.1))
    axis.set_axis_off()
    axis.set_title("Few labels", loc="left", fontsize=LARGE, color=ink)


def draw_ranking(axis, probability, headline, ink):
    """The rows in the order of the model, the most likely positives first."""
    place = np.arange(len(probability))
    axis.barh(place, probability, color=ORANGE, height=0.72)
    axis.set(xlim=(0, 1.02), ylim=(len(probability) - 0.4, -0.6), yticks=[])
    axis.set_xticks([0, 0.5, 1], ["0", "50%", "100%"], fontsize=LARGE - 2, color=ink)
    axis.set_xlabel("probability", fontsize=LARGE - 1, color=ink)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.spines["bottom"].set_color(ink)
    axis.tick_params(colors=ink)
    axis.set_title("The rest, ranked", loc="left", fontsize=LARGE, color=ink)
    trust = f"AUC {headline['score']:.2f}\n95% interval\n{headline['low']:.2f} to {headline['high']:.2f}"
    axis.text(0.98, 0.36, trust, transform=axis.transAxes, ha="right", va="top", fontsize=LARGE, color=ink)


def main():
    data = load_breast_cancer()
    few = hide_labels(data.target, labeled=40, random_state=0)
    # The positive class of the picture is the malignant one, which the table codes as 0.
    model = AutoClassifier(random_state=0).fit(data.data, np.where(few < 0, -1, 1 - few))
    rng = np.random.default_rng(5)
    labeled = rng.permutation(np.flatnonzero(few >= 0))[:3]
    shown = rng.permutation(np.concatenate([labeled, rng.permutation(np.flatnonzero(few < 0))[: N_SHOWN - 3]]))
    unlabeled = shown[few[shown] < 0]
    probability = np.sort(model.positive_proba(data.data[unlabeled]))[::-1]
    for name, ink in INK.items():
        figure = Figure(figsize=(7.2, 3.7), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.05])
        draw_table(left, data.data[shown, :9], few[shown], ink, SHADES[name])
        draw_ranking(right, probability, model.headline_, ink)
        figure.savefig(Path(__file__).with_name(name), dpi=160, transparent=True)


if __name__ == "__main__":
    main()
