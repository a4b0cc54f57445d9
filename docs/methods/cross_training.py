"""Draw the pictures of cross-training.md: the thesis's Figures 4.4 and 4.5 from our stored results, and the
gain that the guard's score predicts beside the gain on test rows, on data that ships with scikit-learn."""

import warnings
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from benchmarks.harness import get_suite, read_stored
from fewlabel import CrossTrainingClassifier, hide_labels
from fewlabel.wrappers._loop import _beats

IMAGES = Path(__file__).parent / "images"
LINES = {
    "labels only": ("black", "-"),
    "NC-T, guard": ("#0067a8", "-"),
    "NC-T": ("#0067a8", "--"),
    "ICT": ("#c4500c", "--"),
    "Co-T": ("#3a7d1e", "--"),
    "Se-T": ("#8a5aa8", "--"),
    "tri-training": ("#b8860b", "--"),
    "NC-T, thesis": ("gray", ":"),
}
SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
BASES = {"naive Bayes": GaussianNB(), "tree": DecisionTreeClassifier(min_samples_leaf=2, random_state=0)}


def mean_rows():
    """{(experiment, percent): {method: mean accuracy}} of the stored results, and the thesis's NC-T."""
    suite = get_suite("cross-training")
    frame, _ = read_stored(suite)
    means = {}
    for experiment in suite.experiments:
        for setting in experiment.settings:
            here = frame[(frame["experiment"] == experiment.name) & (frame["setting"] == str(setting))]
            found = here.groupby("method")["score"].mean().to_dict()
            thesis = [experiment.paper(dataset, setting, "NC-T")[0] for dataset in experiment.datasets]
            means[experiment.base, setting.percent] = {**found, "NC-T, thesis": np.mean(thesis)}
    return means


def figures_4_4_and_4_5():
    means = mean_rows()
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, base, title in zip(axes, ("rbf", "tree"), ("Network of radial basis functions", "Decision tree")):
        rates = sorted(rate for name, rate in means if name == base)
        for method, (color, style) in LINES.items():
            axis.plot(
                rates, [means[base, r][method] for r in rates], style, marker="o", ms=4, color=color, label=method
            )
        axis.set(xlabel="share of labels kept, percent", xticks=rates)
        axis.set_title(title, loc="left")
    axes[0].set_ylabel("test accuracy in percent, mean of 12 sets")
    axes[1].legend(frameon=False, fontsize=8, ncols=2)
    save(figure, "cross_training_tables")


def fit_best_round(model, X, y):
    """Fit with the labels of the best round whatever the guard decides, so that rejected runs are seen too."""
    verdicts = []

    def take(right, start, n_rounds):
        verdicts.append(_beats(right, start, n_rounds))
        return True

    with patch("fewlabel.wrappers._loop._beats", take):
        return model.fit(X, y), verdicts[-1]  # the first says whether any round could be accepted


def promise_and_truth(n_draws=10, labeled=0.1):
    """Base, set, gain of the best out-of-fold score and gain on test rows, in points, and the verdict of each run."""
    for (base_name, base), (name, load) in product(BASES.items(), SETS.items()):
        X, y = load(return_X_y=True)
        for seed in range(n_draws):
            A, B, a, b = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
            few = hide_labels(a, labeled=labeled, mechanism="per-class", random_state=np.random.RandomState(seed))
            alone = clone(base).fit(A[few >= 0], few[few >= 0]).score(B, b)
            model, verdict = fit_best_round(CrossTrainingClassifier(base, random_state=seed), A, few)
            scores = [entry["score"] for entry in model.history_]
            yield base_name, name, 100 * (max(scores) - scores[0]), 100 * (model.score(B, b) - alone), verdict


def figure_of_the_guard():
    rows = list(promise_and_truth())
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for axis, base in zip(axes, BASES):
        here = [row for row in rows if row[0] == base]
        for name, color in zip(SETS, ("#0067a8", "#c4500c", "#3a7d1e", "#8a5aa8")):
            points = np.array([row[2:] for row in here if row[1] == name])
            took = points[:, 2] > 0
            axis.scatter(*points[took, :2].T, s=26, color=color)
            axis.scatter(*points[~took, :2].T, s=26, facecolor="none", edgecolor=color, label=name)
        axis.axline((0, 0), slope=1, color="gray", linewidth=0.8, linestyle=":")
        axis.axhline(0, color="gray", linewidth=0.8)
        axis.set(xlabel="gain of the out-of-fold score, points")
        axis.set_title(base, loc="left")
        took, refused = (np.array([row[2:4] for row in here if row[4] == verdict and row[2] > 0]) for verdict in (1, 0))
        for name, runs in (("taken", took), ("refused", refused)):
            if not len(runs):
                print(f"{base}, {name}: none of {len(here)} runs")
                continue
            harmed, helped = np.count_nonzero(runs[:, 1] < 0), np.count_nonzero(runs[:, 1] > 0)
            promised, gave = runs.mean(axis=0)
            print(f"{base}, {name} in {len(runs)} of {len(here)} runs: promised {promised:.1f} points, gave {gave:.1f}")
            print(f"  harmed in {harmed}, helped in {helped}")
    axes[0].set_ylabel("gain of test accuracy over labels only, points")
    axes[0].legend(frameon=False, fontsize=8, title="hollow: not accepted by the guard")
    save(figure, "cross_training_guard")


def save(figure, name):
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
    figure.savefig(IMAGES / f"{name}.png", dpi=130)


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    figures_4_4_and_4_5()
    figure_of_the_guard()
