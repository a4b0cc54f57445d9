"""Draw the pictures of path-neighbors.md: the thesis's Figures 6.3 to 6.7 from our own runs.

Figures 6.5 and 6.7 need the sets of the semi-supervised benchmark: FEWLABEL_DATA=folder.
"""

import os
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.neighbors import KNeighborsClassifier

from fewlabel import PathNeighborsClassifier, make_three_circles, make_two_moons

IMAGES = Path(__file__).parent / "images"
COLOURS = ("#0067a8", "#c4500c", "#3a7d1e")
NEIGHBOURS = (3, 5, 10, 20, 40, 80, 160, 320)
SHAPES = ("o-", "s--", "^:")


def save(figure, name):
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / f"{name}.png", dpi=130)


def nearest(X, y):
    return KNeighborsClassifier(1).fit(X[y >= 0], y[y >= 0]).predict(X)


def show_rows(axis, X, y, true, found, title):
    for code in np.unique(true):
        rest, known = (found == code) & (y < 0), y == code
        axis.scatter(*X[rest].T, marker="x", s=9, linewidth=0.6, color=COLOURS[code])
        axis.scatter(*X[known].T, marker="o", s=60, color=COLOURS[code], edgecolor="black", zorder=3)
    wrong = found != true
    axis.scatter(*X[wrong].T, marker="s", s=26, facecolor="none", edgecolor="black", linewidth=0.6)
    axis.set_title(f"{title}: {wrong.sum()} errors", loc="left")
    axis.set_aspect("equal")
    axis.set(xticks=[], yticks=[])


def figure_6_3_and_6_4():
    figure = Figure(figsize=(10, 8), layout="constrained")
    axes = figure.subplots(2, 2, height_ratios=[1, 1.7])
    for (left, right), make, name in zip(axes, (make_two_moons, make_three_circles), ("Two moons", "Three circles")):
        X, y, true = make(return_true=True, random_state=0)
        found = PathNeighborsClassifier().fit(X, y).transduction_
        show_rows(left, X, y, true, found, f"{name}, path neighbours")
        show_rows(right, X, y, true, nearest(X, y), f"{name}, nearest labelled row")
    save(figure, "path_neighbors_toys")


def errors_by_noise(n_seeds=20):
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    forms = {
        "path neighbours": PathNeighborsClassifier(),
        "two steps, as printed": PathNeighborsClassifier(search="two-step"),
        "shortest path (MSNN)": PathNeighborsClassifier(cost="length"),
    }
    noises = (0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2)
    for axis, make, name in zip(figure.subplots(1, 2), (make_two_moons, make_three_circles), ("Two moons", "Circles")):
        for (form, model), shape, colour in zip(forms.items(), SHAPES, COLOURS):
            mean = [np.mean([_error(model, make, noise, s) for s in range(n_seeds)]) for noise in noises]
            axis.plot(noises, mean, shape, color=colour, label=form)
            print(f"{name}, {form}: error in percent by noise {dict(zip(noises, np.round(mean, 2).tolist()))}")
        rows = [make(noise=noise, return_true=True, random_state=s) for noise in noises for s in range(n_seeds)]
        one = np.array([100 * np.mean((nearest(X, y) != true)[y < 0]) for X, y, true in rows]).reshape(len(noises), -1)
        axis.plot(noises, one.mean(axis=1), color="grey", label="nearest labelled row")
        axis.set(xlabel="noise (standard deviation)", ylabel="error in percent, mean of 20 seeds")
        axis.set_title(name, loc="left")
        axis.grid(alpha=0.25)
    axis.legend(frameon=False, fontsize=8)
    save(figure, "path_neighbors_noise")


def _error(model, make, noise, seed):
    X, y, true = make(noise=noise, return_true=True, random_state=seed)
    return 100 * np.mean((model.fit(X, y).transduction_ != true)[y < 0])


def path_of(model, row):
    """The rows on the path from a row to the labelled row it takes its class from."""
    rows = [row]
    while model.successors_[rows[-1]] >= 0:
        rows.append(model.successors_[rows[-1]])
    return rows


def figure_6_6():
    """The path of one row to either class, with few neighbours and with all rows as neighbours."""
    X, y, true = make_two_moons(noise=0.07, return_true=True, random_state=4)
    small = PathNeighborsClassifier(10).fit(X, y)
    all_rows = PathNeighborsClassifier(len(X) - 1, delta=5.0).fit(X, y)
    row = np.flatnonzero((all_rows.transduction_ != true) & (small.transduction_ == true))[0]
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    settings = (("K = 10", 10, 0.2), ("all rows are neighbours, steps hardly cost by their length", len(X) - 1, 5.0))
    for axis, (title, k, delta) in zip(figure.subplots(1, 2), settings):
        costs = []
        for code in (0, 1):
            axis.scatter(*X[true == code].T, marker="x", s=9, linewidth=0.6, color=COLOURS[code], alpha=0.6)
            axis.scatter(*X[y == code].T, marker="o", s=60, color=COLOURS[code], edgecolor="black", zorder=3)
            # A fit in which the other class has no row but a far one gives the path to this class.
            only = np.where(y == code, code, -1)
            far = np.vstack([X, X.mean(axis=0) + 1e3])
            model = PathNeighborsClassifier(k, delta=delta, scale=False).fit(far, np.r_[only, 1 - code])
            way = path_of(model, row)
            axis.plot(*far[way].T, "-", color=COLOURS[code], linewidth=2)
            costs.append(model.path_costs_[row, code])
        axis.scatter(*X[row], s=110, marker="*", color="black", zorder=4)
        axis.set_title(f"{title}: log cost {costs[0]:.2f} (blue), {costs[1]:.2f} (orange)", loc="left", fontsize=9)
        axis.set_aspect("equal")
        axis.set(xticks=[], yticks=[])
    save(figure, "path_neighbors_paths")


def figure_6_5_and_6_7():
    """Accuracy by the number of neighbours, 100 labelled rows, mean of the benchmark's 12 splits."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    from paths import load, splits

    figure = Figure(figsize=(10, 3.8), layout="constrained")
    groups = {"Manifolds": ("Digit1", "USPS", "COIL"), "Clusters": ("g241c", "g241d", "Text")}
    for axis, (title, names) in zip(figure.subplots(1, 2), groups.items()):
        for name, colour, shape in zip(names, COLOURS, SHAPES):
            X, y = load(name)
            mean = []
            for k in NEIGHBOURS:
                right = []
                for chosen in splits(name, 100):
                    few = np.full(len(y), -1)
                    few[chosen] = y[chosen]
                    found = PathNeighborsClassifier(k).fit(X, few).transduction_
                    right.append(100 * np.mean((found == y)[few < 0]))
                mean.append(np.mean(right))
            axis.plot(NEIGHBOURS, mean, shape, color=colour, label=name)
            print(f"{name}: accuracy by K {dict(zip(NEIGHBOURS, np.round(mean, 1).tolist()))}")
        axis.set(xscale="log", xlabel="K, the number of neighbours", ylabel="accuracy in percent")
        axis.set_xticks(NEIGHBOURS, NEIGHBOURS)
        axis.minorticks_off()
        axis.set_title(title, loc="left")
        axis.grid(alpha=0.25)
        axis.legend(frameon=False)
    save(figure, "path_neighbors_k")


def main():
    figure_6_3_and_6_4()
    errors_by_noise()
    figure_6_6()
    if os.environ.get("FEWLABEL_DATA"):
        figure_6_5_and_6_7()
    else:
        print(
            "figures 6.5 and 6.7 skipped: set FEWLABEL_DATA to a folder with ssl-Digit1.parquet, ...", file=sys.stderr
        )


if __name__ == "__main__":
    main()
