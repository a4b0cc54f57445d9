"""Draw the pictures of path-neighbors.md: the thesis's Figures 6.3 to 6.7 from our own runs.

Figures 6.5 and 6.7 need the sets of the semi-supervised benchmark: FEWLABEL_DATA=folder.
"""

import os
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers.paths.experiment import SUITE, Labeled
from fewlabel import PathNeighborsClassifier, make_three_circles, make_two_moons

IMAGES = Path(__file__).parent / "images"
COLORS = ("#0067a8", "#c4500c", "#3a7d1e")
NEIGHBORS = (3, 5, 10, 20, 40, 80, 160, 320)
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
        axis.scatter(*X[rest].T, marker="x", s=9, linewidth=0.6, color=COLORS[code])
        axis.scatter(*X[known].T, marker="o", s=60, color=COLORS[code], edgecolor="black", zorder=3)
    wrong = found != true
    axis.scatter(*X[wrong].T, marker="s", s=26, facecolor="none", edgecolor="black", linewidth=0.6)
    axis.set_title(f"{title}: {wrong.sum()} errors", loc="left", fontsize=10)
    axis.set_aspect("equal")
    axis.set_axis_off()


def figure_6_3_and_6_4():
    figure = Figure(figsize=(13, 2.9), layout="constrained")
    axes = figure.subplots(1, 4, width_ratios=[1.5, 1.5, 1, 1])
    for (left, right), make in zip((axes[:2], axes[2:]), (make_two_moons, make_three_circles)):
        X, y, true = make(return_true=True, random_state=np.random.RandomState(0))
        found = PathNeighborsClassifier().fit(X, y).transduction_
        show_rows(left, X, y, true, found, "Path neighbors")
        show_rows(right, X, y, true, nearest(X, y), "Nearest labeled row")
    save(figure, "path_neighbors_toys")


def errors_by_noise(n_seeds=20):
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    forms = {
        "path neighbors": PathNeighborsClassifier(),
        "two steps, as printed": PathNeighborsClassifier(path="shortest"),
        "shortest path (MSNN)": PathNeighborsClassifier(cost="length"),
    }
    noises = (0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2)
    for axis, make, name in zip(figure.subplots(1, 2), (make_two_moons, make_three_circles), ("Two moons", "Circles")):
        for (form, model), shape, color in zip(forms.items(), SHAPES, COLORS):
            mean = [np.mean([_error(model, make, noise, s) for s in range(n_seeds)]) for noise in noises]
            axis.plot(noises, mean, shape, color=color, label=form)
            print(f"{name}, {form}: error in percent by noise {dict(zip(noises, np.round(mean, 2).tolist()))}")
        rows = [
            make(noise=noise, return_true=True, random_state=np.random.RandomState(s))
            for noise in noises
            for s in range(n_seeds)
        ]
        one = np.array([100 * np.mean((nearest(X, y) != true)[y < 0]) for X, y, true in rows]).reshape(len(noises), -1)
        axis.plot(noises, one.mean(axis=1), color="gray", label="nearest labeled row")
        axis.set(xlabel="noise (standard deviation)", ylabel="error in percent, mean of 20 seeds")
        axis.set_title(name, loc="left")
        axis.grid(alpha=0.25)
    axis.legend(frameon=False, fontsize=8)
    save(figure, "path_neighbors_noise")


def _error(model, make, noise, seed):
    X, y, true = make(noise=noise, return_true=True, random_state=np.random.RandomState(seed))
    return 100 * np.mean((model.fit(X, y).transduction_ != true)[y < 0])


def cheapest_path(X, y, row, code, **form):
    """The path from a row to the labeled rows of one class, and the logarithm of its cost."""
    # A fit in which the only row of the other class cannot be reached.
    far = np.vstack([X, X.mean(axis=0) + 1e3])
    model = PathNeighborsClassifier(scale=False, **form).fit(far, np.r_[np.where(y == code, code, -1), 1 - code])
    rows = [row]
    while model.successors_[rows[-1]] >= 0:
        rows.append(model.successors_[rows[-1]])
    return far[rows], model.path_costs_[row, code]


def figure_6_6():
    """The paths of one row to either class: few neighbors; all rows as neighbors; and then the cheapest path."""
    X, y, true = make_two_moons(noise=0.1, return_true=True, random_state=np.random.RandomState(2))
    everyone = len(X) - 1
    few = PathNeighborsClassifier(scale=False, path="shortest").fit(X, y)
    # One delta for all three: the median edge grows with the number of neighbors.
    delta = 0.2 * few.delta_ / PathNeighborsClassifier(everyone, scale=False).fit(X, y).delta_
    forms = {
        "K = 10, two steps, as printed": dict(n_neighbors=10, path="shortest"),
        f"K = {everyone}, two steps, as printed": dict(n_neighbors=everyone, delta=delta, path="shortest"),
        f"K = {everyone}, the cheapest path": dict(n_neighbors=everyone, delta=delta),
    }
    found = [PathNeighborsClassifier(scale=False, **form).fit(X, y).transduction_ for form in forms.values()]
    for name, classes in zip(forms, found):
        print(f"{name}: {np.count_nonzero(classes != true)} errors")
    candidates = np.flatnonzero((found[0] == true) & (found[1] != true) & (found[2] == true))
    own = [np.abs(X[y == true[i]] - X[i]).sum(axis=1).min() for i in candidates]
    row = candidates[int(np.argmax(own))]  # the one furthest from the labels of its own class
    figure = Figure(figsize=(12, 2.8), layout="constrained")
    for axis, (title, form) in zip(figure.subplots(1, 3), forms.items()):
        ways = [cheapest_path(X, y, row, code, **form) for code in (0, 1)]
        costs = [cost for _, cost in ways]
        for code in (0, 1):
            axis.scatter(*X[true == code].T, marker="x", s=9, linewidth=0.6, color=COLORS[code], alpha=0.5)
            axis.scatter(*X[y == code].T, marker="o", s=60, color=COLORS[code], edgecolor="black", zorder=3)
        for code, width in zip(np.argsort(costs)[::-1], (3.5, 1.8)):  # the cheaper path on top, where the paths overlap
            axis.plot(*ways[code][0].T, "-", color=COLORS[code], linewidth=width)
        axis.scatter(*X[row], s=130, marker="*", color="black", zorder=4)
        axis.set_title(f"{title}\nlog cost: blue {costs[0]:.2f}, orange {costs[1]:.2f}", loc="left", fontsize=10)
        axis.set_aspect("equal")
        axis.set_axis_off()
    save(figure, "path_neighbors_paths")


def figure_6_5_and_6_7():
    """Accuracy by the number of neighbors, 100 labeled rows, mean of the benchmark's 12 splits."""
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    groups = {"Manifolds": ("Digit1", "USPS", "COIL"), "Clusters": ("g241c", "g241d", "Text")}
    for axis, (title, names) in zip(figure.subplots(1, 2), groups.items()):
        for name, color, shape in zip(names, COLORS, SHAPES):
            problems = [SUITE.experiments[0].problem(f"ssl-{name}", Labeled(100), split) for split in range(12)]
            mean = []
            for k in NEIGHBORS:
                found = [PathNeighborsClassifier(k).fit(p.X, p.few).transduction_ for p in problems]
                mean.append(np.mean([100 * np.mean((f == p.y)[p.test]) for f, p in zip(found, problems)]))
            axis.plot(NEIGHBORS, mean, shape, color=color, label=name)
            print(f"{name}: accuracy by K {dict(zip(NEIGHBORS, np.round(mean, 1).tolist()))}")
        axis.set(xscale="log", xlabel="K, the number of neighbors", ylabel="accuracy in percent")
        axis.set_xticks(NEIGHBORS, NEIGHBORS)
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
