"""Draw the pictures of multiview.md: Figures 2 and 3 of the BSSEL paper from our own runs, views, and rounds.

Figures 2 and 3 are drawn from ../../benchmarks/results_bssel.csv, which benchmarks/bssel.py writes.

    python docs/methods/multiview.py
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fewlabel import BalancedMultiviewClassifier, VariableClusterer, make_multiview_credit

HERE = Path(__file__).parent
IMAGES = HERE / "images"
RESULTS = HERE.parents[1] / "benchmarks" / "results_bssel.csv"
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0067a8", "#c4500c", "#3a7d1e", "#7b3f98", "#6b7280"
TITLES = {
    "generator": "make_multiview_credit",
    "default-credit-card": "default-credit-card",
    "give-me-some-credit": "give-me-some-credit",
    "creditcard-fraud": "creditcard-fraud",
}
CURVES = {
    "BSSEL-LS": dict(color=BLUE, marker="o", linestyle="-"),
    "BSSEL-SVM": dict(color=ORANGE, marker="s", linestyle="-"),
    "MVL-LS": dict(color=GREEN, marker="^", linestyle="--"),
    "MVL-LS, balanced weights": dict(color=PURPLE, marker="D", linestyle="--"),
}
STANDARDS = {
    "gold standard": dict(color="#b8860b", marker="*", markersize=8, linestyle="-"),
    "silver standard": dict(color=GREY, marker="P", linestyle="-"),
    "BSSEL-LS": CURVES["BSSEL-LS"],
    "MVL-LS": CURVES["MVL-LS"],
}
LEVELS = {
    "LDA": "LDA",
    "naive Bayes": "NB",
    "logistic regression": "LR",
    "SVM": "SVM",
    "random forest": "RF",
    "histogram boosting": "HGB",
}


def save(figure, name):
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / f"{name}.png", dpi=130)


def draw_curves(axis, part, curves):
    for method, style in curves.items():
        own = part[part.method == method].sort_values("ratio")
        places = np.arange(len(own))
        axis.plot(places, own["mean"], label=method, linewidth=1.6, **{"markersize": 5, **style})
        axis.set_xticks(places, [f"{r:g}" for r in own.ratio])


def draw_levels(axis, part):
    """Models of the labelled rows as thin lines, named at the right edge, apart from each other."""
    levels = part[part.method.isin(LEVELS)].sort_values("mean")
    low, high = axis.get_ylim()
    low, high = min(low, levels["mean"].min()), max(high, levels["mean"].max())
    axis.set_ylim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    places = apart(levels["mean"].to_numpy(), 0.055 * (high - low))
    right = axis.get_xlim()[1]
    for method, value, place in zip(levels.method, levels["mean"], places):
        axis.axhline(value, color=GREY, linewidth=0.7, linestyle=":")
        axis.annotate(
            LEVELS[method], (right, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=8
        )


def apart(values, step):
    """Ascending values, moved apart until neighbours differ by a step."""
    places = values.copy()
    for _ in range(500):
        lack = np.maximum(step - np.diff(places), 0) / 2
        places[:-1] -= lack
        places[1:] += lack
    return places


def figures_2_and_3(results):
    simulation = results[results.experiment == "simulation"]
    for name, curves, levels in (("multiview_unlabeled", CURVES, True), ("multiview_standards", STANDARDS, False)):
        figure = Figure(figsize=(10, 7), layout="constrained")
        for axis, (key, title) in zip(figure.subplots(2, 2).ravel(), TITLES.items()):
            part = simulation[simulation.set == key]
            draw_curves(axis, part, curves)
            if levels:
                draw_levels(axis, part)
            axis.set_title(title, loc="left")
            axis.set(xlabel="unlabelled rows for each labelled one, u / l", ylabel="AUC on test rows")
            axis.grid(alpha=0.2, axis="y")
        handles, labels = axis.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        save(figure, name)


def views_and_rounds(n_draws=6, n_rounds=10):
    """Left: how stable each number of views is. Right: AUC of hidden rows and the score that stops, by round."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    X, _, views = make_multiview_credit(3000, return_views=True, random_state=0)
    tables = ((views >= 0, "four views", "o-", BLUE), (views >= -1, "and four columns of noise", "s--", ORANGE))
    for keep, label, style, colour in tables:
        found = VariableClusterer(random_state=0).fit(X[:, keep])
        left.plot(*found.stability_.T, style, color=colour, label=f"{label}: {found.n_clusters_} chosen")
    left.set(xlabel="number of views", ylabel="mean adjusted Rand index", ylim=(0, 1.05))
    left.set_title("Stability of the views", loc="left")
    left.legend(frameon=False, loc="lower right")
    scores = np.array([rounds_of_draw(draw, n_rounds) for draw in range(n_draws)])
    places = np.arange(1, n_rounds + 1)
    for row, label, style, colour in ((0, "hidden rows", "o-", BLUE), (1, "the score that stops", "s--", ORANGE)):
        right.plot(places, scores[:, row].T, color=colour, alpha=0.25, linewidth=0.9)
        right.plot(places, scores[:, row].mean(axis=0), style, color=colour, label=label)
    right.set(xlabel="round", ylabel="AUC", xticks=places, ylim=(0.5, 0.95))
    right.set_title(f"BSSEL-LS by round: {n_draws} draws and their mean", loc="left")
    right.legend(frameon=False, loc="lower center", ncols=2)
    save(figure, "multiview_rounds")


def rounds_of_draw(draw, n_rounds):
    """Two runs with the same seeds: one is scored on the hidden rows, as a validation set, one on its own terms."""
    X, y, true, views = make_multiview_credit(1470, missing=0.0, return_true=True, return_views=True, random_state=draw)
    columns = [np.flatnonzero(views == v).tolist() for v in range(4)]
    hidden = y == -1
    model = BalancedMultiviewClassifier(views=columns, max_iter=n_rounds, tol=0.0, random_state=draw)
    watched = model.fit(X, y, X_val=X[hidden], y_val=true[hidden]).history_
    own = model.fit(X, y).history_
    curves = [[entry["score"] for entry in history] for history in (watched, own)]
    return [curve + curve[-1:] * (n_rounds - len(curve)) for curve in curves]  # a run may end early


def main():
    if RESULTS.exists():
        figures_2_and_3(pd.read_csv(RESULTS))
    else:
        print(f"figures 2 and 3 skipped: run benchmarks/bssel.py, which writes {RESULTS.name}")
    views_and_rounds()


if __name__ == "__main__":
    main()
