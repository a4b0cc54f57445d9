"""Draw the picture of selection.md: FEWLABEL_DATA=folder with dermatology.parquet and lung-cancer.parquet.

Left, the thesis's Figure 3.3 on another table: its dementia data are private, dermatology has clinical signs too.
Right, what it adds to an accuracy if the columns are selected on all rows before the folds are made.
"""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fewlabel
from benchmarks.harness.data import multiclass
from benchmarks.papers.fscrf.experiment import SUITE, naive_bayes, support

IMAGES = Path(__file__).parent / "images"
NAMES = {"all": "all columns", "CFS": "CFS", "LVF": "consistency", "Relief": "ReliefF", "FSCRF": "FSCRF"}


def diagnoses(n_draws=10):
    """Test accuracy of logistic regression and number of columns, of each method and draw of 80% for training."""
    X, y = multiclass("dermatology")
    accuracy, sizes = {}, {}
    for draw in range(n_draws):
        train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=draw)
        for method in NAMES:
            kept = support(X.iloc[train], y[train], method, draw, max_samples=120, n_neighbors=3)
            model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=2000))
            model.fit(X.iloc[train, kept], y[train])
            accuracy.setdefault(method, []).append(100 * model.score(X.iloc[test, kept], y[test]))
            sizes.setdefault(method, []).append(kept.sum())
    return accuracy, sizes


def inside_and_before(name="lung-cancer", repeats=10, n_folds=5):
    """Accuracy of naive Bayes with the columns selected on the training rows, and on all rows."""
    X, y = multiclass(name)
    options = dict(zip(("max_samples", "n_neighbors"), SUITE.published["sizes"][name][-2:]))
    inside, before = {}, {}
    for repeat in range(repeats):
        on_all = {m: support(X, y, m, repeat, **options) for m in NAMES}
        for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=repeat).split(X, y):
            for method in NAMES:
                on_train = support(X.iloc[train], y[train], method, repeat, **options)
                for result, kept in ((inside, on_train), (before, on_all[method])):
                    right = np.mean(naive_bayes(X.loc[:, kept], y[train], train, test) == y[test])
                    result.setdefault(method, []).append(100 * right)
    return inside, before


def error(values):
    return np.std(values, ddof=1) / np.sqrt(len(values))


def main():
    if not os.environ.get("FEWLABEL_DATA"):
        sys.exit("skipped: set FEWLABEL_DATA to a folder with dermatology.parquet and lung-cancer.parquet")
    warnings.simplefilter("ignore", UserWarning)
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    accuracy, sizes = diagnoses()
    places = np.arange(len(NAMES))
    means, errors = ([f(accuracy[m]) for m in NAMES] for f in (np.mean, error))
    left.errorbar(places, means, errors, fmt="o", color="#0067a8", capsize=3)
    left.set_xticks(places, [f"{name}\n{np.mean(sizes[m]):.1f} columns" for m, name in NAMES.items()], fontsize=8)
    left.set(
        xlim=(-0.5, len(NAMES) - 0.5), ylim=(88, 100), ylabel="test accuracy in percent, mean ± its standard error"
    )
    left.set_title("Dermatology: logistic regression, 10 draws of 80%", loc="left", fontsize=10)
    inside, before = inside_and_before()
    for result, place, color, label in (
        (inside, -0.2, "#0067a8", "on the training rows"),
        (before, 0.2, "#c4500c", "on all rows"),
    ):
        means, errors = zip(*[(np.mean(result[m]), error(result[m])) for m in NAMES])
        right.bar(places + place, means, 0.38, color=color, alpha=0.85, label=f"selected {label}")
        right.errorbar(places + place, means, errors, fmt="none", color="k")
        print(f"lung-cancer, selected {label}:", {m: round(float(v), 1) for m, v in zip(NAMES, means)})
    right.set_xticks(places, NAMES.values(), fontsize=8)
    right.set(ylim=(0, 100), ylabel="accuracy in percent, 10 x 5 folds")
    right.set_title("Lung cancer, 32 rows x 56 columns: naive Bayes", loc="left", fontsize=10)
    right.legend(frameon=False, fontsize=8, loc="upper left")
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.25)
    figure.savefig(IMAGES / "selection.png", dpi=130)
    for method in NAMES:
        print(
            f"dermatology, {method}: {np.mean(accuracy[method]):.2f} +- {error(accuracy[method]):.2f}, "
            f"{np.mean(sizes[method]):.1f} columns"
        )
    print(f"fewlabel {fewlabel.__version__}")


if __name__ == "__main__":
    main()
